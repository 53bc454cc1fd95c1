/*
 * in_topk.c - InTopK, InTopKV2: is the target among the k best of its row?
 */
#include "kernels/reduce/topk.h"

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/vector/simd.h"

#include <float.h>
#include <math.h>

struct lookup {
    const float *x;
    const struct tfd_tensor *targets;
    tfd_bool *y;
    int64_t classes, k;
};

#define BLOCK 64 /* numbers between two looks at what was found */

/* Of n numbers: how many are better than `than`; whether all are finite. */
static inline __attribute__((always_inline)) int
count_better(const float *x, int n, float than, bool *finite)
{
    int better = 0, odd = 0;

    for (int i = 0; i < n; i++) {
        better += x[i] > than;
        odd += !(fabsf(x[i]) <= FLT_MAX);
    }
    *finite = odd == 0;
    return better;
}

/* False where it cannot be said: no such class, or a number of its row is not
 * finite; where that one stands behind k better ones, it is false anyway. */
static inline __attribute__((always_inline)) bool
is_in_top(const float *x, int64_t classes, int64_t target, int64_t k)
{
    int64_t better = 0, i = 0;
    bool finite = true;

    if (target < 0 || target >= classes || !isfinite(x[target]))
        return false;
    for (; i + BLOCK <= classes && finite && better < k; i += BLOCK)
        better += count_better(x + i, BLOCK, x[target], &finite);
    if (finite && better < k)
        better += count_better(x + i, (int)(classes - i), x[target], &finite);
    return finite && better < k;
}

/* Nanoseconds for a row. */
static int row_cost(int64_t classes)
{
    return classes < 4000000 ? (int)classes / 4 + 20 : 1000000;
}

TFD_SIMD_LOOP(lookup_rows)
{
    const struct lookup *l = arg;

    for (int64_t i = begin; i < end; i++)
        l->y[i] = is_in_top(l->x + i * l->classes, l->classes,
                            tfd_check_int_at(l->targets, i), l->k);
}
TFD_SIMD_CLONES_WIDE(lookup_rows)

enum tfd_code tfd_topk_lookup_output(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *t = &k->in[1].shape;

    if (x->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "predictions must be 2-dimensional");
    if (t->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "targets must be 1-dimensional");
    if (x->dim[0] != t->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "First dimension of predictions %lld must match length "
                        "of targets %lld",
                        (long long)x->dim[0], (long long)t->dim[0]);
    return tfd_kctx_output(k, 0, TFD_BOOL, t, st);
}

static enum tfd_code in_top_k(struct tfd_kctx *k, int64_t count,
                              struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct lookup l = {.targets = &k->in[1], .k = count};

    TFD_TRY(tfd_topk_lookup_output(k, st));
    l.x = tfd_tensor_data(&k->in[0]);
    l.y = tfd_tensor_data(&k->out[0]);
    l.classes = x->dim[1];
    tfd_kctx_parallel(k, x->dim[0], row_cost(l.classes), lookup_rows, &l);
    return TFD_OK;
}

static enum tfd_code in_attr_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return in_top_k(k, *(const int64_t *)k->state, st);
}

static enum tfd_code in_input_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t count;

    TFD_TRY(tfd_topk_read_k(k, 2, "0-D", &count, st));
    return in_top_k(k, count, st);
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code in_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[1];
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "InTopK",
        .inputs = "predictions: float, targets: T",
        .outputs = "precision: bool",
        .attrs = "k: int; T: {int32, int64} = DT_INT32",
        .shape = in_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "InTopKV2",
        .inputs = "predictions: float, targets: T, k: T",
        .outputs = "precision: bool",
        .attrs = "T: {int32, int64} = DT_INT32",
        .shape = in_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("InTopK", in_attr_compute, .prepare = tfd_topk_prepare,
                   .state_size = sizeof(int64_t)),
    TFD_KERNEL_ANY("InTopKV2", in_input_compute),
};

const struct tfd_family tfd_family_in_topk = {
    .name = "in_topk",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
