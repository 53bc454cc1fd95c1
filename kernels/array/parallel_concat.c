/*
 * parallel_concat.c - ParallelConcat: rows of one tensor, each from an input of
 * its own; and what TensorFlow makes of it before it runs, _ParallelConcatStart
 * with a chain of _ParallelConcatUpdates, which graphs that it has written
 * hold.
 *
 * The shape of the whole is an attribute.  An update changes its input's memory
 * where it is the only reader, and a copy of it elsewhere.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"

struct whole {
    struct tfd_shape shape;
};

static enum tfd_code whole_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return tfd_check_attr_shape(p->node, &((struct whole *)state)->shape, st);
}

/* Whether `update` may be row `row` of `value`. */
static enum tfd_code check_update(const struct tfd_shape *value,
                                  const struct tfd_shape *update, int64_t row,
                                  struct tfd_status *st)
{
    char own[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (value->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "value should be at least rank 1.");
    if (value->dim[0] <= row)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "0th dimension of value = %lld must be greater than "
                        "loc_ = %lld",
                        (long long)value->dim[0], (long long)row);
    if (value->rank != update->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "value and update shape doesn't match: %s vs. %s",
                        tfd_shape_text(value, own),
                        tfd_shape_text(update, other));
    for (int d = 1; d < value->rank; d++)
        if (value->dim[d] != update->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "value and update shape doesn't match %s vs. %s",
                            tfd_shape_text(value, own),
                            tfd_shape_text(update, other));
    if (update->dim[0] != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "update shape doesn't match: %s",
                        tfd_shape_text(update, other));
    return TFD_OK;
}

/* Row `row` of the output, which is counted round. */
static enum tfd_code put_own_row(struct tfd_kctx *k,
                                 const struct tfd_tensor *from, int64_t row,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *y = &k->out[0];
    const int64_t rows = y->shape.dim[0], n = tfd_tensor_elements(from);
    const int64_t at = (row % rows + rows) % rows;

    return tfd_elements_copy(
        y->dtype, tfd_element_at(tfd_tensor_data(y), y->dtype, at * n),
        tfd_tensor_data(from), n, st);
}

static enum tfd_code concat_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct whole *w = k->state;

    for (int i = 0; i < k->in_count; i++)
        TFD_TRY(check_update(&w->shape, &k->in[i].shape, i, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &w->shape, st));
    tfd_elements_clear(&k->out[0]);
    for (int i = 0; i < k->in_count; i++)
        TFD_TRY(put_own_row(k, &k->in[i], i, st));
    return TFD_OK;
}

static enum tfd_code begin_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct whole *w = k->state;

    TFD_TRY(tfd_kctx_output(k, 0, k->node->out_types[0], &w->shape, st));
    tfd_elements_clear(&k->out[0]);
    return TFD_OK;
}

static enum tfd_code update_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    return tfd_node_int(p->node, "loc", state, st);
}

static enum tfd_code update_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    const int64_t row = *(const int64_t *)k->state;

    TFD_TRY(check_update(&x->shape, &k->in[1].shape, row, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, x->dtype, &x->shape, st));
    if (k->out[0].buffer != x->buffer)
        TFD_TRY(tfd_elements_copy(x->dtype, tfd_tensor_data(&k->out[0]),
                                  tfd_tensor_data(x), tfd_tensor_elements(x),
                                  st));
    return x->shape.dim[0] ? put_own_row(k, &k->in[1], row, st) : TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code whole_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    return tfd_node_shape_any(s->node, "shape", &s->out[0], st);
}

/* All inputs are alike, and one row each. */
static enum tfd_code concat_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape passed;

    TFD_TRY(tfd_node_shape_any(s->node, "shape", &passed, st));
    for (int d = 0; d < passed.rank; d++)
        if (passed.dim[d] < 0)
            passed.rank = TFD_RANK_UNKNOWN;
    if (passed.rank < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape attr must be fully defined.");
    if (passed.rank == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Out of range dim_index 0 for shape with 0 dimensions");
    s->out[0] = passed;
    for (int i = 0; i < s->in_count; i++) {
        struct tfd_shape row = s->in[i];

        if (row.rank == TFD_RANK_UNKNOWN)
            continue;
        if (row.rank > 0 && row.dim[0] >= 0 && row.dim[0] != 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Size of first dimension must be 1.");
        passed.dim[0] = 1;
        TFD_TRY(tfd_shape_merge(&row, &passed, st));
    }
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "ParallelConcat",
        .inputs = "values: N * T",
        .outputs = "output: T",
        .attrs = "N: int >= 1; T: type; shape: shape",
        .shape = concat_shape,
    },
    {
        .name = "_ParallelConcatStart",
        .outputs = "output: dtype",
        .attrs = "shape: shape; dtype: type",
        .key = "dtype",
        .shape = whole_shape,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "_ParallelConcatUpdate",
        .inputs = "value: T, update: T",
        .outputs = "output: T",
        .attrs = "T: type; loc: int",
        .shape = tfd_shape_like_first,
    },
};

#define WHOLE .prepare = whole_prepare, .state_size = sizeof(struct whole)
#define PARALLEL_CONCAT(name)                                           \
    TFD_KERNEL("ParallelConcat", name, concat_compute, WHOLE),          \
        TFD_KERNEL("_ParallelConcatStart", name, begin_compute, WHOLE), \
        TFD_KERNEL("_ParallelConcatUpdate", name, update_compute,       \
                   .prepare = update_prepare, .state_size = sizeof(int64_t)),

static const struct tfd_kernel kernels[] = {
    PARALLEL_CONCAT(FLOAT) PARALLEL_CONCAT(DOUBLE) PARALLEL_CONCAT(HALF)
        PARALLEL_CONCAT(BFLOAT16) PARALLEL_CONCAT(INT8) PARALLEL_CONCAT(INT16)
            PARALLEL_CONCAT(INT32) PARALLEL_CONCAT(INT64) PARALLEL_CONCAT(UINT8)
                PARALLEL_CONCAT(UINT16) PARALLEL_CONCAT(UINT32)
                    PARALLEL_CONCAT(UINT64) PARALLEL_CONCAT(BOOL)
                        PARALLEL_CONCAT(COMPLEX64) PARALLEL_CONCAT(COMPLEX128)
                            PARALLEL_CONCAT(STRING)};

const struct tfd_family tfd_family_parallel_concat = {
    .name = "parallel_concat",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
