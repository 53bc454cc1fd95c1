/*
 * eigen.c - Eig: values and vectors of square matrices that need not be
 * symmetric, by LAPACK's GEEV of complex numbers, as TensorFlow takes real ones
 * for complex, too; small ones by schur.h.
 *
 * Columns are what LAPACK reads and writes, so matrices are transposed on the
 * way in and out.  Vectors have the length 1; their phases and the order of the
 * values are those in which steps of QR find them, as no two libraries do.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linalg_check.h"
#include "kernels/linalg/linalg_grad.h"
#include "kernels/linalg/linalg_shape.h"
#include "kernels/linalg/schur/schur.h"

#include <math.h>
#include <string.h>

struct eigen {
    int n;
    bool vectors;
    const void *a;
    void *values, *v;
};

/* LAPACK's least is 2 n. */
#define WORK_COLUMNS 34

#define EIGEN(p, C, R, suffix, T, re_of, im_of)                                \
    /* Columns of a matrix; false: not all are numbers. */                     \
    static bool columns_##suffix(const T *a, int64_t n, C *columns)            \
    {                                                                          \
        bool fine = true;                                                      \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t j = 0; j < n; j++) {                                  \
                const T x = a[i * n + j];                                      \
                                                                               \
                columns[j * n + i] = (C){re_of(x), im_of(x)};                  \
                fine = fine && isfinite((R)re_of(x)) && isfinite((R)im_of(x)); \
            }                                                                  \
        return fine;                                                           \
    }                                                                          \
    /* False: it is left to LAPACK. */                                         \
    static bool eigen_small_##suffix(const struct eigen *e, int64_t at,        \
                                     struct tfd_schur *s)                      \
    {                                                                          \
        const int64_t n = e->n;                                                \
        const T *a = (const T *)e->a + at * n * n;                             \
        C *values = (C *)e->values + at * n, *v = (C *)e->v + at * n * n;      \
                                                                               \
        tfd_schur_clear(s, e->n,                                               \
                        e->vectors ? TFD_SCHUR_VECTORS : TFD_SCHUR_VALUES);    \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int64_t j = 0; j < n; j++)                                    \
                s->t[i * s->stride + j] = (tfd_complex128){                    \
                    (double)re_of(a[i * n + j]), (double)im_of(a[i * n + j])}; \
        if (!tfd_schur_decompose(s))                                           \
            return false;                                                      \
        for (int64_t i = 0; i < n; i++) {                                      \
            const tfd_complex128 value = s->t[i * (s->stride + 1)];            \
                                                                               \
            values[i] = (C){(R)value.re, (R)value.im};                         \
            for (int64_t j = 0; e->vectors && j < n; j++) {                    \
                const tfd_complex128 x = s->q[j * s->stride + i];              \
                                                                               \
                v[i * n + j] = (C){(R)x.re, (R)x.im};                          \
            }                                                                  \
        }                                                                      \
        return true;                                                           \
    }                                                                          \
    static bool eigen_one_##suffix(const struct eigen *e, int64_t at, C *room, \
                                   struct tfd_schur *s)                        \
    {                                                                          \
        const int n = e->n, one = 1, work_size = WORK_COLUMNS * n;             \
        const int64_t size = (int64_t)n * n;                                   \
        C *columns = room, *v = room + size, *work = v + size;                 \
        R *real_work = (R *)(void *)(work + work_size);                        \
        C *out = (C *)e->v + at * size;                                        \
        int info;                                                              \
                                                                               \
        if (s && eigen_small_##suffix(e, at, s))                               \
            return true;                                                       \
        if (!columns_##suffix((const T *)e->a + at * size, n, columns))        \
            return false;                                                      \
        p##geev_("N", e->vectors ? "V" : "N", &n, columns, &n,                 \
                 (C *)e->values + at * n, NULL, &one, v, &n, work, &work_size, \
                 real_work, &info, 1, 1);                                      \
        for (int64_t i = 0; e->vectors && i < size; i++)                       \
            out[i % n * n + i / n] = v[i];                                     \
        return info == 0;                                                      \
    }                                                                          \
    static enum tfd_code eigen_##suffix(void *arg, int64_t begin, int64_t end, \
                                        struct tfd_status *st)                 \
    {                                                                          \
        const struct eigen *e = arg;                                           \
        const size_t n = (size_t)e->n;                                         \
        const size_t few = n <= TFD_SCHUR_MAX ? sizeof(struct tfd_schur) : 0;  \
        struct tfd_buffer *room =                                              \
            tfd_buffer_new(few + sizeof(C) * n * (2 * n + WORK_COLUMNS + 1));  \
        bool fine = true;                                                      \
                                                                               \
        if (!room)                                                             \
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,                        \
                            "OOM when decomposing a matrix of %d x %d", e->n,  \
                            e->n);                                             \
        for (int64_t i = begin; i < end && fine && !tfd_halted(); i++)         \
            fine = eigen_one_##suffix(e, i,                                    \
                                      (C *)(void *)((char *)room->data + few), \
                                      few > 0 ? room->data : NULL);            \
        tfd_buffer_unref(room);                                                \
        return fine ? TFD_OK                                                   \
                    : tfd_fail(st, TFD_INVALID_ARGUMENT,                       \
                               "Eigen decomposition was not successful. The "  \
                               "input might not be valid.");                   \
    }

#define ITSELF(x) (x)
#define NOTHING(x) 0
#define RE(x) ((x).re)
#define IM(x) ((x).im)

EIGEN(c, tfd_complex64, float, s, float, ITSELF, NOTHING)
EIGEN(z, tfd_complex128, double, d, double, ITSELF, NOTHING)
EIGEN(c, tfd_complex64, float, c, tfd_complex64, RE, IM)
EIGEN(z, tfd_complex128, double, z, tfd_complex128, RE, IM)

static enum tfd_code make_eigen(struct tfd_kctx *k, struct eigen *e,
                                struct tfd_status *st)
{
    const struct tfd_shape *s = &k->in[0].shape;
    const enum tfd_dtype out = (enum tfd_dtype)k->node->out_types[0];
    struct tfd_shape values, v = {.rank = 0};

    values = tfd_linalg_batch_of(s, e->n, -1);
    if (e->vectors)
        v = *s;
    TFD_TRY(tfd_kctx_output(k, 0, out, &values, st));
    TFD_TRY(tfd_kctx_output(k, 1, out, &v, st));
    e->values = tfd_tensor_data(&k->out[0]);
    e->v = tfd_tensor_data(&k->out[1]);
    if (!e->vectors)
        tfd_elements_zero(out, e->v, 1);
    return TFD_OK;
}

static enum tfd_code eig_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static tfd_try_fn *const loops[TFD_DTYPE_END] = {
        [TFD_FLOAT] = eigen_s,
        [TFD_DOUBLE] = eigen_d,
        [TFD_COMPLEX64] = eigen_c,
        [TFD_COMPLEX128] = eigen_z,
    };
    const struct tfd_shape *s = &k->in[0].shape;
    struct eigen e = {.vectors = *(const bool *)k->state};
    double ns;

    TFD_TRY(tfd_linalg_check_square(k, 0, st));
    e.n = (int)s->dim[s->rank - 1];
    TFD_TRY(make_eigen(k, &e, st));
    e.a = tfd_tensor_data(&k->in[0]);
    if (tfd_tensor_elements(&k->in[0]) == 0)
        return TFD_OK;
    ns = 2000 + 20.0 * e.n * e.n * e.n;
    return tfd_kctx_try(k, tfd_linalg_matrices(s),
                        ns < INT32_MAX ? (int)ns : INT32_MAX,
                        loops[k->in[0].dtype], &e, st);
}

static enum tfd_code eig_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    const int in = p->node->in_types[0], out = p->node->out_types[0];
    const bool wide = in == TFD_DOUBLE || in == TFD_COMPLEX128;

    tfd_gemm_init();
    if (out != (wide ? TFD_COMPLEX128 : TFD_COMPLEX64))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Eig of %s has no values of type %s",
                        tfd_dtype_name(in), tfd_dtype_name(out));
    return tfd_node_bool(p->node, "compute_v", state, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "Eig",
        .inputs = "input: T",
        .outputs = "e: Tout, v: Tout",
        .attrs = "compute_v: bool = true; "
                 "T: {float, double, complex64, complex128}; "
                 "Tout: {complex64, complex128}",
        .key = "T",
        .shape = tfd_linalg_shape_eigen,
        .grad = tfd_linalg_eig_gradient,
    },
};

#define KERNEL(type)                                             \
    TFD_KERNEL("Eig", type, eig_compute, .prepare = eig_prepare, \
               .state_size = sizeof(bool), .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    KERNEL(FLOAT),
    KERNEL(DOUBLE),
    KERNEL(COMPLEX64),
    KERNEL(COMPLEX128),
};

const struct tfd_family tfd_family_eigen = {
    .name = "eigen",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
