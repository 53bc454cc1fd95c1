/*
 * sparse_softmax.c - SparseSoftmax: softmax over the elements that each row of
 * the last dimension has.
 *
 * The result is in row-major order, as in TensorFlow, also where the indices
 * are not.
 */
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/summarize.h"
#include "kernels/sparse/sparse_order.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <math.h>

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code fail_rank(const struct tfd_tensor *dims,
                               struct tfd_status *st)
{
    struct tfd_bytes b;
    enum tfd_code rc;

    tfd_bytes_init(&b, TFD_STATUS_TEXT_MAX);
    tfd_summarize(&b, dims, 3);
    rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                  "Input should have rank >= 2, but received shape: %.*s",
                  (int)tfd_bytes_view(&b).size, tfd_bytes_view(&b).data);
    tfd_bytes_deinit(&b);
    return rc;
}

static enum tfd_code check_softmax_parts(const struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[0].shape, *v = &k->in[1].shape,
                           *s = &k->in[2].shape;

    TFD_TRY(tfd_sparse_check_ranks(k, st));
    if (s->dim[0] < 2)
        return fail_rank(&k->in[2], st);
    TFD_TRY(tfd_sparse_check_dims(tfd_tensor_data(&k->in[2]), s->dim[0], st));
    if (i->dim[0] != v->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices and values rows (indexing dimension) must "
                        "match. (indices = %" PRId64 ", values = %" PRId64 ")",
                        i->dim[0], v->dim[0]);
    if (i->dim[1] != s->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Order length must be SparseTensor rank.");
    return TFD_OK;
}

/* ---- Rows ---------------------------------------------------------------- */

/* Of elements order[begin] to order[end - 1]; y from `begin` on. */
#define SOFTMAX(name, T, A, TO, FROM, EXP)                          \
    static void softmax_##name(const void *from, void *to,          \
                               const int64_t *order, int64_t begin, \
                               int64_t end)                         \
    {                                                               \
        const T *x = from;                                          \
        T *y = to;                                                  \
        A top = TO(x[order[begin]]), sum = 0;                       \
                                                                    \
        for (int64_t i = begin + 1; i < end; i++)                   \
            top = TO(x[order[i]]) > top ? TO(x[order[i]]) : top;    \
        for (int64_t i = begin; i < end; i++)                       \
            sum += EXP(TO(x[order[i]]) - top);                      \
        for (int64_t i = begin; i < end; i++)                       \
            y[i] = FROM(EXP(TO(x[order[i]]) - top) / sum);          \
    }
#define SAME(x) (x)
SOFTMAX(FLOAT, float, float, SAME, SAME, expf)
SOFTMAX(DOUBLE, double, double, SAME, SAME, exp)
SOFTMAX(HALF, tfd_half, float, tfd_half_to_float, tfd_half_from_float, expf)

typedef void softmax_fn(const void *from, void *to, const int64_t *order,
                        int64_t begin, int64_t end);

static enum tfd_code do_rows(const struct tfd_sparse *s, const int64_t *order,
                             softmax_fn *softmax, void *y,
                             struct tfd_status *st)
{
    const void *x = tfd_tensor_data(s->values);
    int64_t begin = 0;

    for (int64_t i = 1; i <= s->count; i++) {
        if (tfd_sparse_stops(i))
            return tfd_halt_fail(st);
        if (i < s->count &&
            tfd_sparse_compare(s->index + order[begin] * s->rank,
                               s->index + order[i] * s->rank, s->rank - 1) == 0)
            continue;
        softmax(x, y, order, begin, i);
        begin = i;
    }
    return TFD_OK;
}

static enum tfd_code put_softmax(struct tfd_kctx *k, const struct tfd_sparse *s,
                                 int64_t *order, struct tfd_status *st)
{
    enum tfd_dtype dtype = s->values->dtype;
    softmax_fn *softmax = dtype == TFD_FLOAT    ? softmax_FLOAT
                          : dtype == TFD_DOUBLE ? softmax_DOUBLE
                                                : softmax_HALF;

    if (!tfd_sparse_in_order(k, s))
        TFD_TRY(tfd_sparse_order(s, order, st));
    else
        for (int64_t i = 0; i < s->count; i++)
            order[i] = i;
    return do_rows(s, order, softmax, tfd_tensor_data(&k->out[0]), st);
}

static enum tfd_code softmax_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor order = TFD_TENSOR_INIT;
    struct tfd_sparse s;
    enum tfd_code rc;

    TFD_TRY(check_softmax_parts(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_kctx_output(k, 0, s.values->dtype, &s.values->shape, st));
    TFD_TRY(tfd_sparse_numbers(&order, s.count, st));
    rc = put_softmax(k, &s, tfd_tensor_data(&order), st);
    tfd_tensor_unref(&order);
    return rc;
}

/* y * (dy - sum(y * dy)), the sum by rows. */
static enum tfd_code softmax_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const kept[] = {"keep_dims", NULL};
    const int32_t last = -1;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[4] = {g->x[0], g->dy[0], g->x[2], g->dy[0]};

    in[1] = tfd_gradient_op2(&b, "Mul", g->y[0], g->dy[0]);
    in[3] = tfd_gradient_ints(&b, &last, 1);
    in[3] = tfd_gradient_op1(
        &b, "Neg", tfd_gradient_op_flags(&b, "SparseReduceSum", in, 4, kept));
    in[1] = g->dy[0];
    g->dx[1] = tfd_gradient_op2(
        &b, "Mul", tfd_gradient_op(&b, "SparseDenseCwiseAdd", in, 4), g->y[0]);
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "SparseSoftmax",
        .inputs = "sp_indices: int64, sp_values: T, sp_shape: int64",
        .outputs = "output: T",
        .attrs = "T: {half, float, double}",
        .grad = softmax_gradient,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("SparseSoftmax", FLOAT, softmax_compute),
    TFD_KERNEL("SparseSoftmax", DOUBLE, softmax_compute),
    TFD_KERNEL("SparseSoftmax", HALF, softmax_compute),
};

const struct tfd_family tfd_family_sparse_softmax = {
    .name = "sparse_softmax",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
