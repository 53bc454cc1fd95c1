/*
 * batch_matmul.cu - BatchMatMul, V2, V3 of kernels/linalg/batch_matmul.c by cuBLAS.
 *
 * cuBLAS multiplies a batch whose matrices are equal steps apart.  Dimensions
 * of the batch that are neighbours and go on in both operands as one become
 * one; where more than one is left (both operands are repeated), the longest is
 * cuBLAS's batch and the others are a loop here.
 */
#include "cuda/lib/blas.cuh"
#include "cuda/lib/complex.cuh"

extern "C" {
#include "kernels/linalg/batch_matmul.h"
}

namespace
{

/* One dimension of the batch; steps in matrices. */
struct lane {
    int64_t size, x, y, out;
};

/* Lanes of size 1 are left out; the first is the longest. */
static int make_lanes(const struct tfd_batch_matmul_plan *p, struct lane *lanes)
{
    int64_t out = 1;
    int n = 0;

    for (int d = p->shape.rank - 1; d >= 0; d--) {
        const struct lane next = {p->shape.dim[d], p->step[0][d], p->step[1][d],
                                  out};

        out *= next.size;
        if (next.size == 1)
            continue;
        if (n && next.x == lanes[n - 1].x * lanes[n - 1].size &&
            next.y == lanes[n - 1].y * lanes[n - 1].size)
            lanes[n - 1].size *= next.size;
        else
            lanes[n++] = next;
    }
    for (int i = 1; i < n; i++)
        if (lanes[i].size > lanes[0].size) {
            const struct lane longest = lanes[i];

            lanes[i] = lanes[0];
            lanes[0] = longest;
        }
    return n;
}

/* The same right matrix for all of them: one product of a taller left. */
static bool is_tall(const struct tfd_batch_matmul_plan *p,
                    const struct lane *lanes, int n)
{
    return n == 1 && lanes[0].y == 0 && lanes[0].x == 1 && !p->g.transpose_a;
}

static enum tfd_code multiply(struct tfd_kctx *k,
                              const struct tfd_batch_matmul_plan *p,
                              const void *a, const void *b,
                              struct tfd_status *st)
{
    const struct tfd_gemm *g = &p->g;
    const int64_t size = (int64_t)tfd_dtype_size(g->dtype);
    struct lane lanes[TFD_RANK_MAX] = {{1, 0, 0, 0}};
    int n = make_lanes(p, lanes);
    int64_t m = is_tall(p, lanes, n) ? g->m * p->count : g->m;
    int64_t batch = m == g->m ? lanes[0].size : 1;
    struct cuda_gemm one = {g->dtype,
                            g->transpose_a,
                            g->transpose_b,
                            m,
                            g->n,
                            g->k,
                            batch,
                            nullptr,
                            nullptr,
                            nullptr,
                            g->lda,
                            g->ldb,
                            g->ldc,
                            lanes[0].x * g->m * g->k,
                            lanes[0].y * g->k * g->n,
                            lanes[0].out * g->m * g->n,
                            true};

    for (int64_t i = 0; i < p->count / lanes[0].size; i++) {
        int64_t left = i, x = 0, y = 0, out = 0;

        for (int l = 1; l < n; l++) {
            int64_t at = left % lanes[l].size;

            left /= lanes[l].size;
            x += at * lanes[l].x;
            y += at * lanes[l].y;
            out += at * lanes[l].out;
        }
        one.a = (const char *)a + x * g->m * g->k * size;
        one.b = (const char *)b + y * g->k * g->n * size;
        one.c = out_at<char>(k, 0) + out * g->m * g->n * size;
        TFD_TRY(cuda_gemm_run(k, &one, st));
    }
    return TFD_OK;
}

static enum tfd_code run_products(struct tfd_kctx *k, const void *a, const void *b,
                         struct tfd_status *st)
{
    struct tfd_batch_matmul_plan p;

    tfd_batch_matmul_plan(k, &p);
    if (p.g.k > 0)
        return multiply(k, &p, a, b, st);
    return tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(out_at<void>(k, 0), 0, tfd_tensor_size(&k->out[0]),
                             stream_of(k)),
        k->kernel->op, st);
}

static enum tfd_code batch_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    TFD_TRY(tfd_batch_matmul_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return run_products(k, in_at<void>(k, 0), in_at<void>(k, 1), st);
}

/* ---- bfloat16 by bytes, which it holds exactly --------------------------- */

template <typename T> struct to_bfloat16 {
    __device__ __nv_bfloat16 operator()(T x) const
    {
        return narrow<__nv_bfloat16>((float)x);
    }
};

template <typename T>
static enum tfd_code run_bytes(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(&k->in[1]);
    struct tfd_buffer *b;
    enum tfd_code code;

    if (n == 0)
        return run_products(k, in_at<void>(k, 0), nullptr, st);
    b = k->memory->make(k->memory, (size_t)n * sizeof(__nv_bfloat16), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    code = run_one(k, to_bfloat16<T>(), in_at<T>(k, 1),
                   (__nv_bfloat16 *)b->data, n, st);
    if (code == TFD_OK)
        code = run_products(k, in_at<void>(k, 0), b->data, st);
    tfd_buffer_unref(b); /* who gets it next is enqueued behind */
    return code;
}

static enum tfd_code mixed_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape;

    if (k->in[1].dtype == TFD_BFLOAT16)
        return batch_gpu(k, st);
    TFD_TRY(tfd_batch_matmul_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_BFLOAT16, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return k->in[1].dtype == TFD_INT8 ? run_bytes<int8_t>(k, st)
                                      : run_bytes<uint8_t>(k, st);
}

/* ---- Table --------------------------------------------------------------- */

#define ROW(op, name, compute, prepare) \
    row(op, TFD_##name, compute, 0, prepare, sizeof(struct tfd_batch_matmul))
#define ROWS(name, T)                                              \
    ROW("BatchMatMul", name, batch_gpu, tfd_batch_matmul_prepare), \
        ROW("BatchMatMulV2", name, batch_gpu, tfd_batch_matmul_prepare),
#define V3(name, compute) \
    ROW("BatchMatMulV3", name, compute, tfd_batch_matmul_prepare_v3)

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(ROWS) CUDA_COMPLEX_DTYPES(ROWS) V3(FLOAT, batch_gpu),
    V3(DOUBLE, batch_gpu),
    V3(HALF, batch_gpu),
    V3(BFLOAT16, mixed_gpu),
    V3(COMPLEX64, batch_gpu),
    V3(COMPLEX128, batch_gpu)};

} /* namespace */

CUDA_FAMILY_OF(batch_matmul);
