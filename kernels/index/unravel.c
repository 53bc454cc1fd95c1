/*
 * unravel.c - places in a tensor from numbers of elements: UnravelIndex.
 *
 * The output is one row for each dimension.
 */
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/vector/simd.h"

#include <stdio.h>

/* ---- Arguments ----------------------------------------------------------- */

#define DIMS_TEXT_MAX 256

static enum tfd_code fail_product(const struct tfd_tensor *dims,
                                  struct tfd_status *st)
{
    char text[DIMS_TEXT_MAX] = "";
    size_t used = 0;

    for (int64_t i = 0;
         i < tfd_tensor_elements(dims) && used < DIMS_TEXT_MAX - 32; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld",
                                 i ? " " : "",
                                 (long long)tfd_check_int_at(dims, i));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Input dims product is causing integer overflow: (%s)",
                    text);
}

/* The product of the dimensions, each of which is positive. */
static enum tfd_code read_dims(const struct tfd_tensor *dims, int64_t *product,
                               struct tfd_status *st)
{
    *product = 1;
    for (int64_t i = 0; i < tfd_tensor_elements(dims); i++) {
        int64_t dim = tfd_check_int_at(dims, i);

        if (dim == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input dims cannot contain a dim of zero, but dims "
                            "contains zero at index %lld",
                            (long long)i);
        if (dim < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input dims cannot be negative. Got dim = %lld at "
                            "index %lld",
                            (long long)dim, (long long)i);
        if (__builtin_mul_overflow(*product, dim, product) ||
            (dims->dtype == TFD_INT32 && *product > INT32_MAX))
            return fail_product(dims, st);
    }
    return TFD_OK;
}

/* The least and the greatest; 0 where there is none. */
#define ENDS(T)                                                          \
    static void ends_##T(const void *indices, int64_t n, int64_t *least, \
                         int64_t *most)                                  \
    {                                                                    \
        const T *x = indices;                                            \
        T low = n > 0 ? x[0] : 0, high = low;                            \
                                                                         \
        for (int64_t i = 1; i < n; i++) {                                \
            low = x[i] < low ? x[i] : low;                               \
            high = x[i] > high ? x[i] : high;                            \
        }                                                                \
        *least = low;                                                    \
        *most = high;                                                    \
    }
ENDS(int32_t)
ENDS(int64_t)

/* *narrow: all numbers there are fit in an int32. */
static enum tfd_code check_indices(const struct tfd_tensor *indices,
                                   int64_t product, bool *narrow,
                                   struct tfd_status *st)
{
    int64_t least, most;

    (indices->dtype == TFD_INT64 ? ends_int64_t : ends_int32_t)(
        tfd_tensor_data(indices), tfd_tensor_elements(indices), &least, &most);
    *narrow = product <= INT32_MAX && least >= INT32_MIN;
    if (most >= product) /* one below 0 has a negative remainder */
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "index is out of bound as with dims");
    return TFD_OK;
}

static enum tfd_code check_ranks(const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[0].shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The indices can only be scalar or vector, got \"%s\"",
                        tfd_shape_text(&k->in[0].shape, text));
    if (tfd_tensor_elements(&k->in[0]) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "received empty tensor indices: Tensor<type: %s shape: "
                        "%s values: >",
                        tfd_dtype_name((int)k->in[0].dtype),
                        tfd_shape_text(&k->in[0].shape, text));
    if (k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The indices can only be 1-D, got \"%s\"",
                        tfd_shape_text(&k->in[1].shape, text));
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

struct unravel {
    const void *x, *dims;
    void *y;
    int64_t n, rank;
    bool narrow;
};

#define UNRAVEL_NS 3 /* of a dimension */
#define RANK_COST_MAX 10000000
#define BLOCK 1024 /* elements; what is left of them stays in the cache */

struct dividing {
    int32_t *restrict rest;
    void *restrict y;
    int64_t dim;
};

/* A dimension of a block: *rest is divided.  The quotient of two int32 in
 * double has more digits than it takes to tell it from a whole number, so what
 * is cut off is right; and there are vectors for it, which whole numbers lack.
 */
#define DIVIDE(T)                                                   \
    TFD_SIMD_LOOP(divide_##T)                                       \
    {                                                               \
        const struct dividing *d = arg;                             \
        const double dim = (double)d->dim;                          \
        const int32_t whole = (int32_t)d->dim;                      \
        T *y = d->y;                                                \
                                                                    \
        for (int64_t i = begin; i < end; i++) {                     \
            const int32_t rest = d->rest[i];                        \
            const int32_t quotient = (int32_t)((double)rest / dim); \
                                                                    \
            y[i] = rest - quotient * whole;                         \
            d->rest[i] = quotient;                                  \
        }                                                           \
    }                                                               \
    TFD_SIMD_CLONES_WIDE(divide_##T)

DIVIDE(int32_t)
DIVIDE(int64_t)

/* From the last dimension to the first. */
#define UNRAVEL(T)                                                            \
    static void narrow_##T(const struct unravel *u, int64_t at, int64_t n)    \
    {                                                                         \
        const T *x = (const T *)u->x + at, *dims = u->dims;                   \
        int32_t rest[BLOCK];                                                  \
                                                                              \
        for (int64_t i = 0; i < n; i++)                                       \
            rest[i] = (int32_t)x[i];                                          \
        for (int64_t d = u->rank - 1; d >= 0; d--) {                          \
            struct dividing one = {rest, (T *)u->y + d * u->n + at, dims[d]}; \
                                                                              \
            divide_##T(&one, 0, n);                                           \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void wide_##T(const struct unravel *u, int64_t at, int64_t n)      \
    {                                                                         \
        const T *x = u->x, *dims = u->dims;                                   \
        T *y = u->y;                                                          \
                                                                              \
        for (int64_t i = at; i < at + n; i++) {                               \
            T rest = x[i];                                                    \
                                                                              \
            for (int64_t d = u->rank - 1; d >= 0; d--) {                      \
                y[d * u->n + i] = rest % dims[d];                             \
                rest /= dims[d];                                              \
            }                                                                 \
        }                                                                     \
    }                                                                         \
                                                                              \
    static void unravel_##T(void *arg, int64_t begin, int64_t end)            \
    {                                                                         \
        const struct unravel *u = arg;                                        \
                                                                              \
        for (int64_t n; begin < end && !tfd_halted(); begin += n) {           \
            n = tfd_min(end - begin, BLOCK);                                  \
            (u->narrow ? narrow_##T : wide_##T)(u, begin, n);                 \
        }                                                                     \
    }
UNRAVEL(int32_t)
UNRAVEL(int64_t)

static enum tfd_code unravel_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *dims = &k->in[1];
    struct unravel u = {.x = tfd_tensor_data(x), .dims = tfd_tensor_data(dims)};
    struct tfd_shape out = {1, {0}};
    int64_t product;

    TFD_TRY(check_ranks(k, st));
    TFD_TRY(read_dims(dims, &product, st));
    TFD_TRY(check_indices(x, product, &u.narrow, st));
    u.rank = out.dim[0] = dims->shape.dim[0];
    u.n = tfd_tensor_elements(x);
    if (x->shape.rank == 1)
        out.dim[out.rank++] = u.n;
    TFD_TRY(tfd_shape_make(&out, out.dim, out.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    u.y = tfd_tensor_data(&k->out[0]);
    if (u.y)
        tfd_kctx_parallel(
            k, u.n,
            UNRAVEL_NS * (u.rank < RANK_COST_MAX ? (int)u.rank : RANK_COST_MAX),
            k->kernel->range, &u);
    return TFD_OK;
}

static enum tfd_code unravel_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const struct tfd_shape *x = &s->in[0];
    struct tfd_shape dims = {1, {TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&dims, &s->in[1], st));
    if (x->rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    s->out[0].rank = x->rank == 0 ? 1 : 2;
    s->out[0].dim[0] = dims.dim[0];
    s->out[0].dim[1] = x->rank == 1 ? x->dim[0] : TFD_DIM_UNKNOWN;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UnravelIndex",
        .inputs = "indices: Tidx, dims: Tidx",
        .outputs = "output: Tidx",
        .attrs = "Tidx: {int32, int64} = DT_INT32",
        .key = "Tidx",
        .shape = unravel_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("UnravelIndex", INT32, unravel_compute, unravel_int32_t),
    TFD_KERNEL("UnravelIndex", INT64, unravel_compute, unravel_int64_t),
};

const struct tfd_family tfd_family_unravel = {
    .name = "unravel",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
