/*
 * table_make.c - the operations that make lookup tables: static ones, mutable
 * ones, and mutable ones of vectors, each by name (a resource, or a reference
 * in old graphs) and anonymous.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/tables/lookup_table.h"

#include <stdlib.h>

struct maker {
    struct tfd_owner owner;
    struct tfd_table_spec spec;
};

/* ---- Attributes ---------------------------------------------------------- */

#define BIT(type) (UINT32_C(1) << TFD_##type)
#define NUMBERS (BIT(INT32) | BIT(FLOAT) | BIT(DOUBLE))

/* The values that TensorFlow has for a type of keys. */
static uint32_t value_types(enum tfd_table_kind kind, enum tfd_dtype key)
{
    bool is_static = kind == TFD_TABLE_STATIC;

    if (key == TFD_STRING)
        return NUMBERS | BIT(INT64) | BIT(BOOL) | (is_static ? BIT(STRING) : 0);
    if (key == TFD_INT64)
        return NUMBERS | BIT(INT64) | BIT(STRING) |
               (kind == TFD_TABLE_MUTABLE ? BIT(VARIANT) : 0);
    return NUMBERS | (is_static ? BIT(STRING) : 0);
}

static enum tfd_code check_value_shape(const struct tfd_shape *s,
                                       struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_shape_elements(s) < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape %s is not fully defined",
                        tfd_shape_text(s, text));
    if (s->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Default value must be a vector, got shape %s",
                        tfd_shape_text(s, text));
    return TFD_OK;
}

static enum tfd_code read_spec(const struct tfd_node *n,
                               enum tfd_table_kind kind,
                               struct tfd_table_spec *s, struct tfd_status *st)
{
    s->kind = kind;
    TFD_TRY(tfd_node_type(n, "key_dtype", &s->key_dtype, st));
    TFD_TRY(tfd_node_type(n, "value_dtype", &s->value_dtype, st));
    if (!(value_types(kind, s->key_dtype) >> s->value_dtype & 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op '%s' with "
                        "key_dtype=%s and value_dtype=%s",
                        n->op->name.data,
                        tfd_dtype_enum_name((int)s->key_dtype),
                        tfd_dtype_enum_name((int)s->value_dtype));
    if (kind != TFD_TABLE_OF_TENSORS)
        return TFD_OK;
    TFD_TRY(tfd_node_shape_any(n, "value_shape", &s->value_shape, st));
    return check_value_shape(&s->value_shape, st);
}

static enum tfd_code named_prepare(const struct tfd_prepare *p, struct maker *m,
                                   enum tfd_table_kind kind,
                                   struct tfd_status *st)
{
    TFD_TRY(tfd_owner_prepare_by_node(&m->owner, p, &tfd_table_type, st));
    return read_spec(p->node, kind, &m->spec, st);
}

static void named_release(void *state)
{
    tfd_owner_release(&((struct maker *)state)->owner);
}

#define PREPARE(id, kind)                                                 \
    static enum tfd_code id##_prepare(const struct tfd_prepare *p,        \
                                      void *state, struct tfd_status *st) \
    {                                                                     \
        return named_prepare(p, state, kind, st);                         \
    }                                                                     \
    static enum tfd_code id##_prepare_anonymous(                          \
        const struct tfd_prepare *p, void *state, struct tfd_status *st)  \
    {                                                                     \
        return read_spec(p->node, kind, state, st);                       \
    }

PREPARE(hash, TFD_TABLE_STATIC)
PREPARE(mutable, TFD_TABLE_MUTABLE)
PREPARE(tensors, TFD_TABLE_OF_TENSORS)

/* ---- The nodes ----------------------------------------------------------- */

/* A shared name may have been given to another table before. */
static enum tfd_code match(const struct tfd_kctx *k, void *arg,
                           struct tfd_resource *r, struct tfd_status *st)
{
    const struct tfd_table_spec *have = &((struct tfd_table *)r)->spec;
    const struct maker *m = arg;

    (void)k;
    if (have->key_dtype == m->spec.key_dtype &&
        have->value_dtype == m->spec.value_dtype)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Conflicting key/value dtypes %s->%s with %s-%s for table " TFD_STR_FMT,
        tfd_dtype_name((int)m->spec.key_dtype),
        tfd_dtype_name((int)m->spec.value_dtype),
        tfd_dtype_name((int)have->key_dtype),
        tfd_dtype_name((int)have->value_dtype), TFD_STR_ARG(m->owner.name));
}

static enum tfd_code make_named(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    return tfd_table_make(&((struct maker *)arg)->spec, out, st);
}

static enum tfd_code named_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct maker *m = k->state;

    return tfd_owner_output(k, &m->owner, make_named, match, m, st);
}

static enum tfd_code anonymous_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_resource *r;

    TFD_TRY(tfd_table_make(k->state, &r, st));
    return tfd_anonymous_output(k, 0, k->node->op->name.data,
                                &((struct tfd_table *)r)->anonymous, r, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "key_dtype: type; value_dtype: type"
#define NAMED                                            \
    "container: string = ''; shared_name: string = ''; " \
    "use_node_name_sharing: bool = false; " TYPES
#define SHAPED "; value_shape: shape = {}"

#define OP(name_, output_, attrs_, shape_)                                \
    {                                                                     \
        .name = name_, .inputs = "", .outputs = output_, .attrs = attrs_, \
        .key = "key_dtype", .shape = shape_,                              \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                    \
    }
#define RESOURCE "table_handle: resource"
#define TABLE(name_, extra_)                                               \
    OP(name_, "table_handle: Ref(string)", NAMED extra_, tfd_owner_shape), \
        OP(name_ "V2", RESOURCE, NAMED extra_, tfd_shape_scalar),          \
        OP("Anonymous" name_, RESOURCE, TYPES extra_, tfd_shape_scalar)

static const struct tfd_opdef ops[] = {
    TABLE("HashTable", ""),
    TABLE("MutableHashTable", ""),
    TABLE("MutableHashTableOfTensors", SHAPED),
};

#define MADE(name_, type_, id)                                               \
    TFD_KERNEL(name_, type_, named_compute, .prepare = id##_prepare,         \
               .release = named_release, .state_size = sizeof(struct maker), \
               .flags = TFD_KERNEL_SHARED)
#define KERNELS(name_, type_, id)                               \
    MADE(name_, type_, id), MADE(name_ "V2", type_, id),        \
        TFD_KERNEL("Anonymous" name_, type_, anonymous_compute, \
                   .prepare = id##_prepare_anonymous,           \
                   .state_size = sizeof(struct tfd_table_spec))
#define ALL(name_, id)                                     \
    KERNELS(name_, STRING, id), KERNELS(name_, INT32, id), \
        KERNELS(name_, INT64, id)

static const struct tfd_kernel kernels[] = {
    ALL("HashTable", hash),
    ALL("MutableHashTable", mutable),
    ALL("MutableHashTableOfTensors", tensors),
};

const struct tfd_family tfd_family_table_make = {
    .name = "table_make",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
