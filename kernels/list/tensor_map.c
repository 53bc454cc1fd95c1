/*
 * tensor_map.c - maps of tensors (TensorMap): made, filled, asked, emptied.
 *
 * A map that nobody else has is changed in place, as lists are.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/kept.h"
#include "kernels/core/summarize.h"
#include "kernels/list/tensor_list.h"

#include "common/thread/halt.h"

static const struct tfd_shape scalar = {0, {0}};

/* ---- Maps and keys ------------------------------------------------------- */

static enum tfd_code get_map(const struct tfd_kctx *k, struct tfd_variant **out,
                             struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    *out = NULL;
    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input map must be a scalar. Saw: %s",
                        tfd_shape_text(&k->in[0].shape, text));
    *out = tfd_variant_of(&k->in[0]);
    if (*out && (*out)->kind == TFD_VARIANT_MAP)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input handle is not a map. Saw: '%s'",
                    tfd_list_other(*out));
}

/* The map to be changed: itself when nobody else has it, else a copy. */
static enum tfd_code take_map(struct tfd_kctx *k, struct tfd_variant **out,
                              struct tfd_status *st)
{
    struct tfd_variant *m;

    TFD_TRY(get_map(k, &m, st));
    *out = tfd_buffer_sole(k->in[0].buffer) && tfd_variant_sole(m)
               ? tfd_variant_ref(m)
               : tfd_variant_copy(m, st);
    return *out ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* Keys are bytes or strings: of another type there is none. */
static int32_t find_key(const struct tfd_variant *m,
                        const struct tfd_tensor *key)
{
    bool possible = key->dtype == TFD_STRING || tfd_dtype_is_pod(key->dtype);

    return possible ? tfd_variant_map_find(m, key) : -1;
}

#define KEYS_SHOWN 100

static enum tfd_code no_key(const struct tfd_kctx *k, const char *what,
                            struct tfd_status *st)
{
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, 4 * TFD_STATUS_TEXT_MAX); /* the status cuts it */
    tfd_summarize(&text, &k->in[1], KEYS_SHOWN);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Trying to %s. Could not find key \"" TFD_STR_FMT "\".", what,
                  TFD_STR_ARG(tfd_bytes_view(&text)));
    tfd_bytes_deinit(&text);
    return rc;
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code empty_map_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_variant *m = tfd_variant_new(TFD_VARIANT_MAP, st);

    return m ? tfd_variant_tensor(m, &k->out[0], st) : TFD_RESOURCE_EXHAUSTED;
}

static enum tfd_code insert_pair_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_tensor value;
    struct tfd_variant *m;
    enum tfd_code rc;

    TFD_TRY(take_map(k, &m, st));
    rc = tfd_kept_put(k, 2, &value, st);
    if (rc == TFD_OK)
        rc = tfd_variant_map_put(m, &k->in[1], &value, st);
    if (rc == TFD_OK)
        return tfd_variant_tensor(m, &k->out[0], st);
    tfd_variant_unref(m);
    return rc;
}

static enum tfd_code erase_pair_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    struct tfd_variant *m;

    TFD_TRY(get_map(k, &m, st));
    if (find_key(m, &k->in[1]) < 0)
        return no_key(k, "erase non-existent item", st);
    TFD_TRY(take_map(k, &m, st));
    tfd_variant_map_remove(m, find_key(m, &k->in[1]));
    return tfd_variant_tensor(m, &k->out[0], st);
}

static enum tfd_code lookup_key_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    int declared = k->node->out_types[0];
    const struct tfd_tensor *value;
    struct tfd_variant *m;
    int32_t at;

    TFD_TRY(get_map(k, &m, st));
    at = find_key(m, &k->in[1]);
    if (at < 0)
        return no_key(k, "lookup non-existent key", st);
    value = &m->tensors[at + 1];
    if ((int)value->dtype != declared)
        return tfd_fail(st, TFD_INTERNAL,
                        "Output 0 of type %s does not match declared output "
                        "type %s for node {{node %s}}",
                        tfd_dtype_name((int)value->dtype),
                        tfd_dtype_name(declared), k->node->name.data);
    if (tfd_kept_is(value))
        return tfd_kept_give(k, 0, value, st);
    k->out[0] = tfd_tensor_ref(value);
    return TFD_OK;
}

static enum tfd_code map_size_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *m;

    TFD_TRY(get_map(k, &m, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = m->pairs;
    return TFD_OK;
}

static enum tfd_code has_key_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant *m;

    TFD_TRY(get_map(k, &m, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = find_key(m, &k->in[1]) >= 0;
    return TFD_OK;
}

/* ---- All keys ------------------------------------------------------------ */

/* All have the type of the node's output and the shape of the first. */
static enum tfd_code check_keys(const struct tfd_kctx *k,
                                const struct tfd_variant *m,
                                struct tfd_shape *shape, struct tfd_status *st)
{
    bool is_first = true;

    for (int32_t i = 0; i < m->count && !tfd_halted(); i += 2) {
        const struct tfd_tensor *key = &m->tensors[i];

        if (key->dtype == TFD_DTYPE_INVALID)
            continue;
        if (is_first)
            *shape = key->shape;
        is_first = false;
        if ((int)key->dtype != k->node->out_types[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Key does not match requested dtype.");
        if (!tfd_shape_equal(&key->shape, shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Keys must all have the same shape.");
    }
    return TFD_OK;
}

static enum tfd_code stack_keys_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[0];
    struct tfd_shape shape = scalar, all;
    struct tfd_variant *m;
    int64_t row, done = 0;

    TFD_TRY(get_map(k, &m, st));
    if (m->pairs == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "TensorMapStackKeys cannot be called on empty map.");
    TFD_TRY(check_keys(k, m, &shape, st));
    TFD_TRY(tfd_list_rows_shape(&shape, m->pairs, &all, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &all, st));
    row = tfd_shape_elements(&shape);
    for (int32_t i = 0; i < m->count && !tfd_halted(); i += 2) {
        void *to = tfd_tensor_data(&k->out[0]);

        if (m->tensors[i].dtype == TFD_DTYPE_INVALID)
            continue;
        TFD_TRY(tfd_elements_copy(dtype, tfd_element_at(to, dtype, done),
                                  tfd_tensor_data(&m->tensors[i]), row, st));
        done += row;
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* A node of maps with the types of key and value, by the forward node. */
static struct tfd_edge of_pair(struct tfd_gradient *b, const char *op,
                               const struct tfd_edge *in, int in_count)
{
    static const char *const names[] = {"key_dtype", "value_dtype", NULL};
    struct tfd_edge out;

    tfd_gradient_copying(b, op, in, in_count, names, &out, 1);
    return out;
}

static enum tfd_code lookup_key_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {
        tfd_gradient_op(&b, "EmptyTensorMap", NULL, 0), g->x[1], g->dy[0]};

    g->dx[0] = of_pair(&b, "TensorMapInsert", in, 3);
    return b.code;
}

static enum tfd_code erase_pair_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    (void)st;
    g->dx[0] = g->dy[0];
    return TFD_OK;
}

/* x where `there` is false, and where it is true. */
static void part_by(struct tfd_gradient *b, struct tfd_edge x,
                    struct tfd_edge there, struct tfd_edge *out)
{
    static const char *const none[] = {NULL};
    const struct tfd_edge in[] = {x, there};

    tfd_gradient_copying(b, "Switch", in, 2, none, out, 2);
}

/* What comes of one of two branches. */
static struct tfd_edge one_of(struct tfd_gradient *b, struct tfd_edge no,
                              struct tfd_edge yes)
{
    static const char *const none[] = {NULL};
    const struct tfd_edge in[] = {no, yes};
    struct tfd_edge out[2];

    tfd_gradient_copying(b, "Merge", in, 2, none, out, 2);
    return out[0];
}

/* Where the key is in the map that arrived: its value, and the map without it.
 * Else zeros and the map. */
static enum tfd_code insert_pair_gradient(struct tfd_grad *g,
                                          struct tfd_status *st)
{
    static const char *const key_type[] = {"key_dtype", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[] = {g->dy[0], g->x[1]}, there, map[2], key[2], value[2];

    tfd_gradient_copying(&b, "TensorMapHasKey", in, 2, key_type, &there, 1);
    part_by(&b, g->dy[0], there, map);
    part_by(&b, g->x[1], there, key);
    part_by(&b, g->x[2], there, value);
    in[0] = map[1];
    in[1] = key[1];
    g->dx[0] = one_of(&b, map[0], of_pair(&b, "TensorMapErase", in, 2));
    g->dx[2] = one_of(&b, tfd_gradient_op1(&b, "ZerosLike", value[0]),
                      of_pair(&b, "TensorMapLookup", in, 2));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define MAP "input_handle: variant"
#define KEYED MAP ", key: key_dtype"
#define OUT "output_handle: variant"
#define KEY "key_dtype: type"
#define BOTH KEY "; value_dtype: type"

static const struct tfd_opdef ops[] = {
    {
        .name = "EmptyTensorMap",
        .outputs = "handle: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "TensorMapSize",
        .inputs = MAP,
        .outputs = "size: int32",
        .shape = tfd_shape_scalar,
    },
    {
        .name = "TensorMapLookup",
        .inputs = KEYED,
        .outputs = "value: value_dtype",
        .attrs = BOTH,
        .grad = lookup_key_gradient,
    },
    {
        .name = "TensorMapInsert",
        .inputs = KEYED ", value: value_dtype",
        .outputs = OUT,
        .attrs = BOTH,
        .shape = tfd_shape_scalar,
        .grad = insert_pair_gradient,
    },
    {
        .name = "TensorMapErase",
        .inputs = KEYED,
        .outputs = OUT,
        .attrs = BOTH,
        .shape = tfd_shape_scalar,
        .grad = erase_pair_gradient,
    },
    {
        .name = "TensorMapHasKey",
        .inputs = KEYED,
        .outputs = "has_key: bool",
        .attrs = KEY,
        .shape = tfd_shape_scalar,
    },
    {
        .name = "TensorMapStackKeys",
        .inputs = MAP,
        .outputs = "keys: key_dtype",
        .attrs = KEY,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("EmptyTensorMap", empty_map_compute),
    TFD_KERNEL_ANY("TensorMapSize", map_size_compute),
    TFD_KERNEL_ANY("TensorMapLookup", lookup_key_compute),
    TFD_KERNEL_ANY("TensorMapInsert", insert_pair_compute),
    TFD_KERNEL_ANY("TensorMapErase", erase_pair_compute),
    TFD_KERNEL_ANY("TensorMapHasKey", has_key_compute),
    TFD_KERNEL_ANY("TensorMapStackKeys", stack_keys_compute),
};

const struct tfd_family tfd_family_tensor_map = {
    .name = "tensor_map",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
