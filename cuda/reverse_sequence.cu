/*
 * reverse_sequence.cu - ReverseSequence of kernels/reverse_sequence.c.  Lengths
 * lie on the device and are not checked, as in TensorFlow; one that is out of
 * range is taken for the nearest that is not.
 */
#include "cuda/divisor.cuh"
#include "cuda/item.cuh"

extern "C" {
#include "kernels/reverse_sequence.h"
}

namespace
{

struct axis {
    struct divisor size, stride;

    /* The coordinate of element i. */
    __device__ int64_t operator()(int64_t i) const
    {
        i = divide(&stride, i);
        return take_rest(&size, &i);
    }
};

template <typename T, typename L>
__global__ void reverse(const T *x, const L *lengths, T *y, int64_t n,
                        struct axis sequence, struct axis batch)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t at = sequence(i), from = i;
        int64_t length = (int64_t)lengths[batch(i)];

        length = length < sequence.size.by ? length : sequence.size.by;
        if (at < length)
            from += (length - 1 - 2 * at) * sequence.stride.by;
        y[i] = x[from];
    }
}

static struct axis axis_of(const struct tfd_shape *s, int64_t at)
{
    int64_t stride = 1;

    for (int64_t d = at + 1; d < s->rank; d++)
        stride *= s->dim[d];
    return {divisor_of(s->dim[at]), divisor_of(stride)};
}

template <typename T>
static enum tfd_code run(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_reverse_sequence *a =
        (const struct tfd_reverse_sequence *)k->state;
    struct axis sequence = axis_of(&k->in[0].shape, a->sequence);
    struct axis batch = axis_of(&k->in[0].shape, a->batch);
    int64_t n = tfd_tensor_elements(&k->in[0]);

    if (k->in[1].dtype == TFD_INT32)
        reverse<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), in_at<int32_t>(k, 1), out_at<T>(k, 0), n, sequence,
            batch);
    else
        reverse<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            in_at<T>(k, 0), in_at<int64_t>(k, 1), out_at<T>(k, 0), n, sequence,
            batch);
    return launched(k, st);
}

static enum tfd_code reverse_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_dtype dtype = k->in[0].dtype;

    TFD_TRY(tfd_reverse_sequence_check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &k->in[0].shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return BY_SIZE(tfd_dtype_size(dtype), run, k, st);
}

#define ROW(name)                                      \
    row("ReverseSequence", TFD_##name, reverse_gpu, 0, \
        tfd_reverse_sequence_prepare, sizeof(struct tfd_reverse_sequence)),

static const struct tfd_kernel kernels[] = {ROW(FLOAT) ROW(DOUBLE) ROW(HALF)
                                                ROW(BFLOAT16) ROW(BOOL)};

} /* namespace */

CUDA_FAMILY_OF(reverse_sequence);
