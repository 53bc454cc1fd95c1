/*
 * transpose.c - Transpose, which reorders dimensions, ConjugateTranspose, which
 * conjugates as well, and InvertPermutation, which gives the order that undoes
 * another one.
 */
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/outputs.h"
#include "kernels/vector/simd.h"

#include <stdio.h>
#include <string.h>

/* ---- Transpose ----------------------------------------------------------- */

static enum tfd_code fail_missing_dim(const int *perm, int rank, int missing,
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
            return fail_missing_dim(out, rank, d, st);
    return TFD_OK;
}

/* fresh: the output is memory of its own even where nothing moves. */
static enum tfd_code permute(struct tfd_kctx *k, bool fresh,
                             struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t to[TFD_RANK_MAX], own[TFD_RANK_MAX], from[TFD_RANK_MAX];
    struct tfd_shape out = x->shape;
    int perm[TFD_RANK_MAX], last = -1;
    bool same = true; /* dimensions of 1 may go anywhere */

    TFD_TRY(tfd_transpose_perm(&k->in[1], x->shape.rank, perm, st));
    tfd_element_strides(&x->shape, own);
    for (int d = 0; d < out.rank; d++) {
        out.dim[d] = x->shape.dim[perm[d]];
        from[d] = own[perm[d]];
        if (out.dim[d] == 1)
            continue;
        same = same && perm[d] > last;
        last = perm[d];
    }
    if (same && !fresh) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &out, st));
    tfd_element_strides(&out, to);
    return tfd_elements_box(k, x->dtype, &out, tfd_tensor_data(&k->out[0]), to,
                            tfd_tensor_data(x), from, st);
}

static enum tfd_code transpose_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    return permute(k, false, st);
}

/* ---- ConjugateTranspose -------------------------------------------------- */

#define CONJUGATE(name, number, T)                                      \
    static void conjugate_##name(void *arg, int64_t begin, int64_t end) \
    {                                                                   \
        T *y = arg;                                                     \
                                                                        \
        for (int64_t i = begin; i < end; i++)                           \
            y[i].im = -y[i].im;                                         \
    }
TFD_COMPLEX_DTYPES(CONJUGATE)

static enum tfd_code conjugate_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const enum tfd_dtype dtype = k->in[0].dtype;
    const bool complex = dtype == TFD_COMPLEX64 || dtype == TFD_COMPLEX128;

    TFD_TRY(permute(k, complex, st));
    if (!complex)
        return TFD_OK;
    tfd_kctx_parallel_bytes(
        k, tfd_tensor_elements(&k->out[0]), 2 * (int)tfd_dtype_size(dtype),
        dtype == TFD_COMPLEX64 ? conjugate_COMPLEX64 : conjugate_COMPLEX128,
        tfd_tensor_data(&k->out[0]));
    return TFD_OK;
}

/* ---- Shapes, gradients --------------------------------------------------- */

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
    return tfd_grad_emit(g, g->node->op->name.data, in, 2, &g->dx[0], st);
}

/* ---- InvertPermutation --------------------------------------------------- */

struct inversion {
    const void *x;
    void *y;
    int64_t n;
    int bad; /* not a permutation */
};

#define SLOT_COST_NS 2 /* most of it waits for memory */

/* Elements from begin on, up to the one that is returned, eight at once: where
 * they count upwards, as a rolled row or one that was in order already has
 * them, they are one store.  There is a path for int32, in AVX2. */
#if defined(__x86_64__) && !defined(TFD_SIMD_ALIKE)
#include <immintrin.h>

#define RUN 8

__attribute__((target("avx2"))) static int64_t
place_runs_avx2(const struct inversion *v, int64_t begin, int64_t end)
{
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const uint64_t n = (uint64_t)v->n;
    const int32_t *x = v->x;
    int32_t *y = v->y;

    for (; begin + RUN <= end; begin += RUN) {
        const int32_t *from = x + begin;
        const __m256i run = _mm256_add_epi32(iota, _mm256_set1_epi32(from[0]));
        const __m256i differ = _mm256_xor_si256(
            run, _mm256_loadu_si256((const __m256i *)(const void *)from));

        if (_mm256_testz_si256(differ, differ)) {
            if (from[0] < 0 || (uint64_t)from[0] + RUN > n)
                break;
            _mm256_storeu_si256(
                (__m256i *)(void *)(y + from[0]),
                _mm256_add_epi32(iota, _mm256_set1_epi32((int32_t)begin)));
            continue;
        }
#pragma GCC unroll 1
        for (int i = 0; i < RUN; i += 4) {
            const int64_t a = from[i], b = from[i + 1];
            const int64_t c = from[i + 2], d = from[i + 3];

            if ((uint64_t)a >= n || (uint64_t)b >= n || (uint64_t)c >= n ||
                (uint64_t)d >= n)
                return begin;
            TFD_STORE_RELAXED(&y[a], (int32_t)(begin + i));
            TFD_STORE_RELAXED(&y[b], (int32_t)(begin + i + 1));
            TFD_STORE_RELAXED(&y[c], (int32_t)(begin + i + 2));
            TFD_STORE_RELAXED(&y[d], (int32_t)(begin + i + 3));
        }
    }
    return begin;
}

static int64_t place_runs_int32_t(const struct inversion *v, int64_t begin,
                                  int64_t end)
{
    return TFD_SIMD_HAS_AVX2() ? place_runs_avx2(v, begin, end) : begin;
}
#else
static int64_t place_runs_int32_t(const struct inversion *v, int64_t begin,
                                  int64_t end)
{
    (void)v;
    (void)end;
    return begin;
}
#endif

static int64_t place_runs_int64_t(const struct inversion *v, int64_t begin,
                                  int64_t end)
{
    (void)v;
    (void)end;
    return begin;
}

/* Places are written in any order: of two alike one wins, which leaves another
 * place as it was, and is found then.  Four at once, while all are right: of a
 * loop over one alone the time depends on where its code lies. */
#define INVERT(T)                                                              \
    static void clear_##T(void *arg, int64_t begin, int64_t end)               \
    {                                                                          \
        T *y = ((struct inversion *)arg)->y;                                   \
                                                                               \
        memset(y + begin, 0xff, (size_t)(end - begin) * sizeof(T)); /* -1 */   \
    }                                                                          \
                                                                               \
    static void place_some_##T(void *arg, int64_t begin, int64_t end)          \
    {                                                                          \
        struct inversion *v = arg;                                             \
        const uint64_t n = (uint64_t)v->n; /* negative ones are above it */    \
        const T *x = v->x;                                                     \
        T *y = v->y;                                                           \
                                                                               \
        for (int64_t i = begin; i < end; i++)                                  \
            if ((uint64_t)(int64_t)x[i] >= n)                                  \
                TFD_STORE_RELAXED(&v->bad, 1);                                 \
            else                                                               \
                TFD_STORE_RELAXED(&y[x[i]], (T)i);                             \
    }                                                                          \
                                                                               \
    static void place_##T(void *arg, int64_t begin, int64_t end)               \
    {                                                                          \
        const struct inversion *v = arg;                                       \
        const uint64_t n = (uint64_t)v->n;                                     \
        const T *x = v->x;                                                     \
        T *y = v->y;                                                           \
                                                                               \
        begin = place_runs_##T(v, begin, end);                                 \
        for (; begin + 4 <= end; begin += 4) {                                 \
            const int64_t a = x[begin], b = x[begin + 1];                      \
            const int64_t c = x[begin + 2], d = x[begin + 3];                  \
                                                                               \
            if ((uint64_t)a >= n || (uint64_t)b >= n || (uint64_t)c >= n ||    \
                (uint64_t)d >= n)                                              \
                break;                                                         \
            TFD_STORE_RELAXED(&y[a], (T)begin);                                \
            TFD_STORE_RELAXED(&y[b], (T)(begin + 1));                          \
            TFD_STORE_RELAXED(&y[c], (T)(begin + 2));                          \
            TFD_STORE_RELAXED(&y[d], (T)(begin + 3));                          \
        }                                                                      \
        place_some_##T(arg, begin, end);                                       \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(check_##T)                                                   \
    {                                                                          \
        struct inversion *v = arg;                                             \
        const T *y = v->y;                                                     \
        T any = 0;                                                             \
                                                                               \
        for (int64_t i = begin; i < end; i++)                                  \
            any |= y[i]; /* the sign of one that was not written */            \
        if (any < 0)                                                           \
            TFD_STORE_RELAXED(&v->bad, 1);                                     \
    }                                                                          \
    TFD_SIMD_CLONES(check_##T)                                                 \
                                                                               \
    /* The first fault in the order of the elements. */                        \
    static enum tfd_code fault_##T(const struct inversion *v,                  \
                                   struct tfd_status *st)                      \
    {                                                                          \
        const T *x = v->x;                                                     \
        T *y = v->y;                                                           \
                                                                               \
        clear_##T((void *)(uintptr_t)v, 0, v->n);                              \
        for (int64_t i = 0; i < v->n; i++) {                                   \
            if (x[i] < 0 || x[i] >= v->n)                                      \
                return tfd_fail(st, TFD_INVALID_ARGUMENT,                      \
                                "%lld is not between 0 and %lld",              \
                                (long long)x[i], (long long)v->n);             \
            if (y[x[i]] != -1)                                                 \
                return tfd_fail(st, TFD_INVALID_ARGUMENT,                      \
                                "%lld is duplicated in the input.",            \
                                (long long)x[i]);                              \
            y[x[i]] = (T)i;                                                    \
        }                                                                      \
        return TFD_OK;                                                         \
    }                                                                          \
                                                                               \
    static enum tfd_code invert_##T(struct tfd_kctx *k, struct tfd_status *st) \
    {                                                                          \
        struct inversion v = {.x = tfd_tensor_data(&k->in[0]),                 \
                              .n = tfd_tensor_elements(&k->in[0])};            \
                                                                               \
        TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &k->in[0].shape, st));   \
        v.y = tfd_tensor_data(&k->out[0]);                                     \
        if (v.n == 0)                                                          \
            return TFD_OK;                                                     \
        tfd_kctx_parallel_bytes(k, v.n, sizeof(T), clear_##T, &v);             \
        tfd_kctx_parallel(k, v.n, SLOT_COST_NS, place_##T, &v);                \
        tfd_kctx_parallel_bytes(k, v.n, sizeof(T), check_##T, &v);             \
        return v.bad ? fault_##T(&v, st) : TFD_OK;                             \
    }

INVERT(int32_t)
INVERT(int64_t)

/* ---- Tables -------------------------------------------------------------- */

#define TRANSPOSE(name_)                                                 \
    {                                                                    \
        .name = name_, .inputs = "x: T, perm: Tperm", .outputs = "y: T", \
        .attrs = "T: type; Tperm: {int32, int64} = DT_INT32",            \
        .checks = "perm: vector 'perm must be rank 1, got shape %s'",    \
        .shape = transpose_shape, .grad = transpose_gradient,            \
    }

static const struct tfd_opdef ops[] = {
    TRANSPOSE("Transpose"),
    TRANSPOSE("ConjugateTranspose"),
    {
        .name = "InvertPermutation",
        .inputs = "x: T",
        .outputs = "y: T",
        .attrs = "T: {int32, int64} = DT_INT32",
        .checks = "x: vector 'invert_permutation expects a 1D vector.'",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Transpose", transpose_compute),
    TFD_KERNEL_ANY("ConjugateTranspose", conjugate_compute),
    TFD_KERNEL("InvertPermutation", INT32, invert_int32_t),
    TFD_KERNEL("InvertPermutation", INT64, invert_int64_t),
};

const struct tfd_family tfd_family_transpose = {
    .name = "transpose",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
