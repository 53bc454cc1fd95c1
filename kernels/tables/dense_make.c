/*
 * dense_make.c - the operations that make dense hash tables: by name (a
 * resource, or a reference in old graphs) and anonymous.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/tables/lookup_table.h"

struct attributes {
    enum tfd_dtype key_dtype, value_dtype;
    struct tfd_shape value_shape;
    int64_t buckets;
    float max_load_factor;
};

struct dense_maker {
    struct tfd_owner owner;
    struct attributes of;
};

/* ---- Attributes ---------------------------------------------------------- */

#define BIT(type) (UINT32_C(1) << TFD_##type)
#define NUMBERS (BIT(INT32) | BIT(FLOAT) | BIT(DOUBLE))
#define LARGE (NUMBERS | BIT(INT64) | BIT(BOOL))

/* The values that TensorFlow has for a type of keys. */
static uint32_t dense_values(enum tfd_dtype key)
{
    if (key == TFD_STRING)
        return LARGE | BIT(RESOURCE);
    return key == TFD_INT64 ? LARGE | BIT(VARIANT) : NUMBERS;
}

static enum tfd_code read_attributes(const struct tfd_node *n,
                                     struct attributes *a,
                                     struct tfd_status *st)
{
    TFD_TRY(tfd_node_type(n, "key_dtype", &a->key_dtype, st));
    TFD_TRY(tfd_node_type(n, "value_dtype", &a->value_dtype, st));
    if (!(dense_values(a->key_dtype) >> a->value_dtype & 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No OpKernel was registered to support Op '%s' with "
                        "key_dtype=%s and value_dtype=%s",
                        n->op->name.data,
                        tfd_dtype_enum_name((int)a->key_dtype),
                        tfd_dtype_enum_name((int)a->value_dtype));
    TFD_TRY(tfd_node_shape_any(n, "value_shape", &a->value_shape, st));
    TFD_TRY(tfd_node_int(n, "initial_num_buckets", &a->buckets, st));
    return tfd_node_float(n, "max_load_factor", &a->max_load_factor, st);
}

static enum tfd_code dense_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct dense_maker *m = state;

    TFD_TRY(tfd_owner_prepare_by_node(&m->owner, p, &tfd_table_type, st));
    return read_attributes(p->node, &m->of, st);
}

static enum tfd_code anonymous_dense_prepare(const struct tfd_prepare *p,
                                             void *state, struct tfd_status *st)
{
    return read_attributes(p->node, state, st);
}

static void dense_release(void *state)
{
    tfd_owner_release(&((struct dense_maker *)state)->owner);
}

/* ---- The nodes ----------------------------------------------------------- */

/* A node's attributes, and the keys that it is given. */
struct order {
    const struct dense_maker *maker;
    struct tfd_dense_spec spec;
};

static struct tfd_dense_spec spec_of(const struct tfd_kctx *k,
                                     const struct attributes *a)
{
    return (struct tfd_dense_spec){.key_dtype = a->key_dtype,
                                   .value_dtype = a->value_dtype,
                                   .value_shape = a->value_shape,
                                   .empty = &k->in[0],
                                   .deleted = &k->in[1],
                                   .buckets = a->buckets,
                                   .max_load_factor = a->max_load_factor};
}

/* A shared name may have been given to another table before. */
static enum tfd_code match_dense(const struct tfd_kctx *k, void *arg,
                                 struct tfd_resource *r, struct tfd_status *st)
{
    const struct tfd_table_spec *have = &((struct tfd_table *)r)->spec;
    const struct order *o = arg;

    (void)k;
    if (have->key_dtype == o->spec.key_dtype &&
        have->value_dtype == o->spec.value_dtype)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Conflicting key/value dtypes %s->%s with %s-%s for table " TFD_STR_FMT,
        tfd_dtype_name((int)o->spec.key_dtype),
        tfd_dtype_name((int)o->spec.value_dtype),
        tfd_dtype_name((int)have->key_dtype),
        tfd_dtype_name((int)have->value_dtype),
        TFD_STR_ARG(o->maker->owner.name));
}

static enum tfd_code make_dense(void *arg, struct tfd_resource **out,
                                struct tfd_status *st)
{
    return tfd_table_make_dense(&((struct order *)arg)->spec, out, st);
}

static enum tfd_code dense_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct dense_maker *m = k->state;
    struct order o = {.maker = m, .spec = spec_of(k, &m->of)};

    return tfd_owner_output(k, &m->owner, make_dense, match_dense, &o, st);
}

static enum tfd_code anonymous_dense_compute(struct tfd_kctx *k,
                                             struct tfd_status *st)
{
    struct tfd_dense_spec spec = spec_of(k, k->state);
    struct tfd_resource *r;

    TFD_TRY(tfd_table_make_dense(&spec, &r, st));
    return tfd_anonymous_output(k, 0, k->node->op->name.data,
                                &((struct tfd_table *)r)->anonymous, r, st);
}

/* The first version of the op has no key for freed buckets, and TensorFlow's
 * kernel asks for one all the same. */
static enum tfd_code old_dense_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    (void)k;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unknown input name: deleted_key");
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "key_dtype: type; value_dtype: type"
#define DENSE                                                   \
    TYPES "; value_shape: shape = {}; initial_num_buckets: int" \
          " = 131072; max_load_factor: float = 0.8"
#define NAMED                                            \
    "container: string = ''; shared_name: string = ''; " \
    "use_node_name_sharing: bool = false; " DENSE
#define KEYS "empty_key: key_dtype, deleted_key: key_dtype"

#define OP(name_, inputs_, output_, attrs_, shape_)                            \
    {                                                                          \
        .name = name_, .inputs = inputs_, .outputs = output_, .attrs = attrs_, \
        .key = "key_dtype", .shape = shape_,                                   \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                         \
    }

static const struct tfd_opdef ops[] = {
    OP("MutableDenseHashTable", "empty_key: key_dtype",
       "table_handle: Ref(string)", NAMED, tfd_owner_shape),
    OP("MutableDenseHashTableV2", KEYS, "table_handle: resource", NAMED,
       tfd_shape_scalar),
    OP("AnonymousMutableDenseHashTable", KEYS, "table_handle: resource", DENSE,
       tfd_shape_scalar),
};

#define KERNELS(type_)                                                 \
    TFD_KERNEL("MutableDenseHashTable", type_, old_dense_compute,      \
               .prepare = anonymous_dense_prepare,                     \
               .state_size = sizeof(struct attributes)),               \
        TFD_KERNEL("MutableDenseHashTableV2", type_, dense_compute,    \
                   .prepare = dense_prepare, .release = dense_release, \
                   .state_size = sizeof(struct dense_maker),           \
                   .flags = TFD_KERNEL_SHARED),                        \
        TFD_KERNEL("AnonymousMutableDenseHashTable", type_,            \
                   anonymous_dense_compute,                            \
                   .prepare = anonymous_dense_prepare,                 \
                   .state_size = sizeof(struct attributes))

static const struct tfd_kernel kernels[] = {
    KERNELS(STRING),
    KERNELS(INT32),
    KERNELS(INT64),
};

const struct tfd_family tfd_family_dense_make = {
    .name = "dense_make",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
