/*
 * inplace.c - rows of a tensor that are replaced, or to which others are added:
 * InplaceUpdate, InplaceAdd, InplaceSub; and DeepCopy, which gives such an op
 * memory of its own.
 *
 * TensorFlow changes its input's memory, whoever else reads it.  Here the input
 * is changed where this op is its only reader, and a copy of it elsewhere, so
 * that values which others hold stay as they are.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/elementwise.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"

/* ---- Arguments ----------------------------------------------------------- */

static enum tfd_code check_inplace(const struct tfd_kctx *k,
                                   struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *i = &k->in[1].shape;
    const struct tfd_shape *v = &k->in[2].shape;
    char own[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (i->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "i must be a vector. %s",
                        tfd_shape_text(i, own));
    if (x->rank != v->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "x and v shape doesn't match (ranks differ): %s vs. %s",
                        tfd_shape_text(x, own), tfd_shape_text(v, other));
    for (int d = 1; d < x->rank; d++)
        if (x->dim[d] != v->dim[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "x and v shape doesn't match at index %d : %s vs. "
                            "%s",
                            d, tfd_shape_text(x, own),
                            tfd_shape_text(v, other));
    if (x->rank < 1 || i->dim[0] != v->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "i and x shape doesn't match at index 0: %s vs. %s",
                        tfd_shape_text(i, own), tfd_shape_text(v, other));
    return TFD_OK;
}

/* Output 0 with the elements of input 0, in its memory where that is free. */
static enum tfd_code take_input(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];

    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, x->dtype, &x->shape, st));
    if (k->out[0].buffer == x->buffer)
        return TFD_OK;
    return tfd_elements_copy(x->dtype, tfd_tensor_data(&k->out[0]),
                             tfd_tensor_data(x), tfd_tensor_elements(x), st);
}

/* Rows are counted round, from the end as well. */
static int64_t row_at(const struct tfd_tensor *i, int64_t at, int64_t rows)
{
    const int64_t row = tfd_check_int_at(i, at) % rows;

    return row < 0 ? row + rows : row;
}

/* ---- Kernels ------------------------------------------------------------- */

struct inplace {
    tfd_range_fn *loop; /* of a sum or a difference; NULL: rows are copied */
};

/* Row `to` of the output and row `from` of v, of n elements. */
static enum tfd_code change_row(struct tfd_kctx *k, int64_t to, int64_t from,
                                int64_t n, struct tfd_status *st)
{
    const struct inplace *s = k->state;
    const struct tfd_tensor *v = &k->in[2];
    void *y = tfd_element_at(tfd_tensor_data(&k->out[0]), v->dtype, to * n);
    const void *x = tfd_element_of(tfd_tensor_data(v), v->dtype, from * n);
    int failed = 0;
    struct tfd_row row = {
        .a = y, .b = x, .y = y, .a_step = 1, .b_step = 1, .failed = &failed};

    if (!s->loop)
        return tfd_elements_copy(v->dtype, y, x, n, st);
    s->loop(&row, 0, n);
    return TFD_OK;
}

static enum tfd_code inplace_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t rows, n;

    TFD_TRY(check_inplace(k, st));
    if (!x->buffer || !k->in[2].buffer) {
        tfd_kctx_output_alias(k, 0, 0, &x->shape);
        return TFD_OK;
    }
    TFD_TRY(take_input(k, st));
    rows = x->shape.dim[0];
    n = tfd_tensor_elements(x) / rows;
    for (int64_t i = 0; i < k->in[1].shape.dim[0]; i++)
        TFD_TRY(change_row(k, row_at(&k->in[1], i, rows), i, n, st));
    return TFD_OK;
}

static enum tfd_code loop_of(const struct tfd_prepare *p, void *state,
                             const char *op, struct tfd_status *st)
{
    struct inplace *s = state;
    enum tfd_dtype dtype;

    TFD_TRY(tfd_node_type(p->node, "T", &dtype, st));
    s->loop = dtype == TFD_STRING || !p->loop ? NULL : p->loop(op, dtype);
    if (!s->loop)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Unsupported dtype: %s",
                        tfd_dtype_name((int)dtype));
    return TFD_OK;
}

static enum tfd_code add_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    return loop_of(p, state, "AddV2", st);
}

static enum tfd_code sub_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    return loop_of(p, state, "Sub", st);
}

static enum tfd_code copy_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];

    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    return tfd_op_memory_copy(k, x->dtype, tfd_tensor_data(&k->out[0]),
                              tfd_tensor_data(x), tfd_tensor_elements(x), st);
}

/* ---- Tables -------------------------------------------------------------- */

#define INPLACE(name_)                                                      \
    {                                                                       \
        .name = name_, .inputs = "x: T, i: int32, v: T", .outputs = "y: T", \
        .attrs = "T: type", .shape = tfd_shape_like_first,                  \
    }

static const struct tfd_opdef ops[] = {
    INPLACE("InplaceUpdate"),
    INPLACE("InplaceAdd"),
    INPLACE("InplaceSub"),
    {
        .name = "DeepCopy",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: type",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_STATEFUL,
    },
};

#define STATE .state_size = sizeof(struct inplace)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("InplaceUpdate", inplace_compute, STATE),
    TFD_KERNEL_ANY("InplaceAdd", inplace_compute, .prepare = add_prepare,
                   STATE),
    TFD_KERNEL_ANY("InplaceSub", inplace_compute, .prepare = sub_prepare,
                   STATE),
    TFD_KERNEL_ANY("DeepCopy", copy_compute),
};

const struct tfd_family tfd_family_inplace = {
    .name = "inplace",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
