/*
 * transpose.c - other arrangements of the elements: Transpose, OneHot,
 * InvertPermutation.
 */
#include "common/halt.h"
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/outputs.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- Transpose ----------------------------------------------------------- */

static enum tfd_code fail_missing(const int *perm, int rank, int missing,
                                  struct tfd_status *st)
{
    char text[16 * TFD_RANK_MAX];
    size_t used = 0;

    for (int d = 0; d < rank; d++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d",
                                 d ? "," : "", perm[d]);
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%d is missing from {%s}.",
                    missing, text);
}

enum tfd_code tfd_transpose_perm(const struct tfd_tensor *perm, int rank,
                                 int *out, struct tfd_status *st)
{
    bool seen[TFD_RANK_MAX] = {false};

    if (tfd_tensor_elements(perm) != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "transpose expects a vector of size %d. But input(1) "
                        "is a vector of size %lld",
                        rank, (long long)tfd_tensor_elements(perm));
    for (int d = 0; d < rank; d++) {
        int64_t at = tfd_check_int_at(perm, d);

        at = at < 0 ? at + rank : at;
        if (at < 0 || at >= rank)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%lld is out of range [0 .. %d)",
                            (long long)tfd_check_int_at(perm, d), rank);
        seen[at] = true;
        out[d] = (int)at;
    }
    for (int d = 0; d < rank; d++)
        if (!seen[d])
            return fail_missing(out, rank, d, st);
    return TFD_OK;
}

static enum tfd_code transpose_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t to[TFD_RANK_MAX], own[TFD_RANK_MAX], from[TFD_RANK_MAX];
    struct tfd_shape out = x->shape;
    int perm[TFD_RANK_MAX], last = -1;
    bool same = true; /* dimensions of 1 may go anywhere */

    TFD_TRY(tfd_transpose_perm(&k->in[1], x->shape.rank, perm, st));
    tfd_shape_strides(&x->shape, own);
    for (int d = 0; d < out.rank; d++) {
        out.dim[d] = x->shape.dim[perm[d]];
        from[d] = own[perm[d]];
        if (out.dim[d] == 1)
            continue;
        same = same && perm[d] > last;
        last = perm[d];
    }
    if (same) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    tfd_shape_strides(&out, to);
    return tfd_elements_box(k, x->dtype, &out, tfd_tensor_data(&k->out[0]), to,
                            tfd_tensor_data(x), from, st);
}

static enum tfd_code transpose_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    int perm[TFD_RANK_MAX];

    if (s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    s->out[0] = s->in[0];
    if (!s->value || !s->value[1]) {
        for (int d = 0; d < s->out[0].rank; d++)
            s->out[0].dim[d] = TFD_DIM_UNKNOWN;
        return TFD_OK;
    }
    TFD_TRY(tfd_transpose_perm(s->value[1], s->in[0].rank, perm, st));
    for (int d = 0; d < s->out[0].rank; d++)
        s->out[0].dim[d] = s->in[0].dim[perm[d]];
    return TFD_OK;
}

static enum tfd_code transpose_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_edge in[2] = {g->dy[0], TFD_EDGE_NONE};

    TFD_TRY(tfd_grad_emit(g, "InvertPermutation", &g->x[1], 1, &in[1], st));
    return tfd_grad_emit(g, "Transpose", in, 2, &g->dx[0], st);
}

/* ---- InvertPermutation --------------------------------------------------- */

#define INVERT(T)                                                              \
    static enum tfd_code invert_##T(struct tfd_kctx *k, struct tfd_status *st) \
    {                                                                          \
        const T *x = tfd_tensor_data(&k->in[0]);                               \
        int64_t n = tfd_tensor_elements(&k->in[0]);                            \
        T *y;                                                                  \
                                                                               \
        TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));   \
        y = tfd_tensor_data(&k->out[0]);                                       \
        for (int64_t i = 0; i < n; i++)                                        \
            y[i] = -1;                                                         \
        for (int64_t i = 0; i < n; i++) {                                      \
            if (x[i] < 0 || x[i] >= n)                                         \
                return tfd_fail(st, TFD_INVALID_ARGUMENT,                      \
                                "%lld is not between 0 and %lld",              \
                                (long long)x[i], (long long)n);                \
            if (y[x[i]] != -1)                                                 \
                return tfd_fail(st, TFD_INVALID_ARGUMENT,                      \
                                "%lld is duplicated in the input.",            \
                                (long long)x[i]);                              \
            y[x[i]] = (T)i;                                                    \
        }                                                                      \
        return TFD_OK;                                                         \
    }

INVERT(int32_t)
INVERT(int64_t)

/* ---- OneHot -------------------------------------------------------------- */

enum tfd_code tfd_one_hot_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_one_hot_state *s = state;

    return tfd_node_int(p->node, "axis", &s->axis, st);
}

static int64_t class_at(const struct tfd_tensor *t, int64_t i)
{
    if (t->dtype == TFD_UINT8)
        return ((const uint8_t *)tfd_tensor_data(t))[i];
    if (t->dtype == TFD_INT8)
        return ((const int8_t *)tfd_tensor_data(t))[i];
    return tfd_check_int_at(t, i);
}

static enum tfd_code one_hot_shape_of(const struct tfd_shape *in, int64_t axis,
                                      int64_t depth, struct tfd_shape *out,
                                      int *at, struct tfd_status *st)
{
    if (axis < -1 || axis > in->rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected axis to be -1 or between [0, %d).  But "
                        "received: %lld",
                        in->rank + 1, (long long)axis);
    if (in->rank == TFD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "OneHot of a tensor with %d dimensions", in->rank);
    *at = axis == -1 ? in->rank : (int)axis;
    out->rank = in->rank + 1;
    for (int d = 0; d < out->rank; d++)
        out->dim[d] = d < *at ? in->dim[d] : d == *at ? depth : in->dim[d - 1];
    return TFD_OK;
}

enum tfd_code tfd_one_hot_make(const struct tfd_kctx *k,
                               struct tfd_one_hot *out, struct tfd_status *st)
{
    int64_t axis = ((const struct tfd_one_hot_state *)k->state)->axis;
    const struct tfd_shape *in = &k->in[0].shape;
    int at = 0;

    *out = (struct tfd_one_hot){.outer = 1, .inner = 1};
    TFD_TRY(tfd_check_int(k, 1, &out->depth, st));
    if (out->depth < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "depth must be non-negative, got: %lld",
                        (long long)out->depth);
    TFD_TRY(one_hot_shape_of(in, axis, out->depth, &out->out, &at, st));
    TFD_TRY(tfd_shape_make(&out->out, out->out.dim, out->out.rank, st));
    for (int d = 0; d < in->rank; d++)
        *(d < at ? &out->outer : &out->inner) *= in->dim[d];
    return TFD_OK;
}

struct one_hot_job {
    const struct tfd_one_hot *h;
    struct tfd_kctx *k;
    atomic_int failed; /* a code: no memory for strings */
};

/* Outer rows [begin, end): depth x inner elements of "off" each, and one "on"
 * in each column. */
static void one_hot_rows(void *arg, int64_t begin, int64_t end)
{
    struct one_hot_job *j = arg;
    const struct tfd_one_hot *h = j->h;
    enum tfd_dtype dtype = j->k->out[0].dtype;
    void *y = tfd_tensor_data(&j->k->out[0]);
    const void *on = tfd_tensor_data(&j->k->in[2]);
    int64_t row = h->depth * h->inner;
    enum tfd_code rc = tfd_elements_fill(
        dtype, tfd_element_at(y, dtype, begin * row),
        tfd_tensor_data(&j->k->in[3]), (end - begin) * row, NULL);

    for (int64_t i = begin * h->inner;
         rc == TFD_OK && i < end * h->inner && !tfd_halted(); i++) {
        int64_t at = class_at(&j->k->in[0], i);
        int64_t to = i / h->inner * row + at * h->inner + i % h->inner;

        if (at >= 0 && at < h->depth)
            rc = tfd_elements_copy(dtype, tfd_element_at(y, dtype, to), on, 1,
                                   NULL);
    }
    if (rc != TFD_OK)
        atomic_store(&j->failed, (int)rc);
}

static enum tfd_code one_hot_fill(struct tfd_kctx *k,
                                  const struct tfd_one_hot *h,
                                  struct tfd_status *st)
{
    struct one_hot_job j = {.h = h, .k = k};
    int64_t cost = h->depth * h->inner / 16 + 5 * h->inner;

    tfd_kctx_parallel(k, h->outer, cost < INT32_MAX ? (int)cost : INT32_MAX,
                      one_hot_rows, &j);
    return j.failed == TFD_OK
               ? TFD_OK
               : tfd_fail(st, (enum tfd_code)j.failed,
                          "no memory for the strings of %lld rows",
                          (long long)h->outer);
}

static enum tfd_code one_hot_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_one_hot h;

    TFD_TRY(tfd_one_hot_make(k, &h, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[2].dtype, &h.out, st));
    return tfd_shape_elements(&h.out) ? one_hot_fill(k, &h, st) : TFD_OK;
}

static enum tfd_code one_hot_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    int64_t axis = -1, depth = TFD_DIM_UNKNOWN;
    int at;

    if (!s->node || s->in[0].rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    TFD_TRY(tfd_node_int(s->node, "axis", &axis, st));
    if (s->value && s->value[1] && tfd_tensor_elements(s->value[1]) == 1)
        depth = tfd_check_int_at(s->value[1], 0);
    return one_hot_shape_of(&s->in[0], axis, depth < 0 ? -1 : depth, &s->out[0],
                            &at, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Transpose",
        .inputs = "x: T, perm: Tperm",
        .outputs = "y: T",
        .attrs = "T: type; Tperm: {int32, int64} = DT_INT32",
        .checks = "perm: vector 'perm must be rank 1, got shape %s'",
        .shape = transpose_shape,
        .grad = transpose_gradient,
    },
    {
        .name = "InvertPermutation",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: {int32, int64} = DT_INT32",
        .checks = "x: vector 'invert_permutation expects a 1D vector.'",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "OneHot",
        .inputs = "indices: TI, depth: int32, on_value: T, off_value: T",
        .outputs = "output: T",
        .attrs = "axis: int = -1; T: type; "
                 "TI: {uint8, int8, int32, int64} = DT_INT64",
        .checks = "depth: scalar 'depth must be a scalar, but got: %s'; "
                  "on_value: scalar 'on_value must be a scalar, but got: %s'; "
                  "off_value: scalar 'off_value must be a scalar, but got: "
                  "%s'",
        .shape = one_hot_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Transpose", transpose_compute),
    TFD_KERNEL("InvertPermutation", INT32, invert_int32_t),
    TFD_KERNEL("InvertPermutation", INT64, invert_int64_t),
    TFD_KERNEL_ANY("OneHot", one_hot_compute, .prepare = tfd_one_hot_prepare,
                   .state_size = sizeof(struct tfd_one_hot_state)),
};

const struct tfd_family tfd_family_transpose = {
    .name = "transpose",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
