/*
 * arg.cu - ArgMax, ArgMin of kernels/arg.c: a thread for each output, which
 * takes the first of equal ones.
 */
#include "cuda/divisor.cuh"

extern "C" {
#include "kernels/outputs.h"
}

namespace
{

struct arg_state {
    enum tfd_dtype to;
};

static enum tfd_code prepare(const struct tfd_prepare *p, void *state,
                             struct tfd_status *st)
{
    return tfd_node_type(p->node, "output_type",
                         &((struct arg_state *)state)->to, st);
}

template <bool MAX, typename T, typename I>
__global__ void search(const T *x, I *y, int64_t n, int64_t size,
                       struct divisor inner)
{
    for (int64_t o = thread_index(); o < n; o += thread_count()) {
        int64_t outer = o, rest = take_rest(&inner, &outer);
        const T *at = x + outer * size * inner.by + rest;
        wide<T> best = widen(at[0]);
        int64_t found = 0;

        for (int64_t i = 1; i < size; i++) {
            wide<T> v = widen(at[i * inner.by]);

            if (MAX ? v > best : v < best) {
                best = v;
                found = i;
            }
        }
        y[o] = (I)found;
    }
}

template <bool MAX, typename T, typename I>
static enum tfd_code run(struct tfd_kctx *k, int64_t n, int64_t size,
                         int64_t inner, struct tfd_status *st)
{
    search<MAX><<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        in_at<T>(k, 0), out_at<I>(k, 0), n, size, divisor_of(inner));
    return launched(k, st);
}

template <bool MAX, typename T>
static enum tfd_code arg_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct arg_state *s = (const struct arg_state *)k->state;
    const struct tfd_shape *x = &k->in[0].shape;
    int64_t n, inner = 1;
    struct tfd_shape shape;
    int axis = 0;

    TFD_TRY(tfd_arg_axis(k, &axis, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 0, s->to, &shape, st));
    n = tfd_shape_elements(&shape);
    if (n == 0)
        return TFD_OK;
    for (int i = axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    switch (s->to) {
    case TFD_INT16:
    case TFD_UINT16:
        return run<MAX, T, uint16_t>(k, n, x->dim[axis], inner, st);
    case TFD_INT32:
        return run<MAX, T, int32_t>(k, n, x->dim[axis], inner, st);
    default:
        return run<MAX, T, int64_t>(k, n, x->dim[axis], inner, st);
    }
}

#define ROWS(name, T)                                                      \
    row("ArgMax", TFD_##name, arg_gpu<true, T>, HOST_ARG(1), prepare,      \
        sizeof(struct arg_state)),                                         \
        row("ArgMin", TFD_##name, arg_gpu<false, T>, HOST_ARG(1), prepare, \
            sizeof(struct arg_state)),

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)
                                                ROWS(BOOL, tfd_bool)};

} /* namespace */

CUDA_FAMILY_OF(arg);
