/*
 * reverse_sequence.cu - ReverseSequence of kernels/array/reverse_sequence.c.  Lengths
 * lie on the device and are not checked, as in TensorFlow; one that is out of
 * range is taken for the nearest that is not.  What lies behind both axes moves
 * by the largest items that it consists of.
 */
#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"

extern "C" {
#include "kernels/array/reverse_sequence.h"
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

static int64_t stride_of(const struct tfd_shape *s, int64_t at)
{
    int64_t stride = 1;

    for (int64_t d = at + 1; d < s->rank; d++)
        stride *= s->dim[d];
    return stride;
}

/* An item is of `elements`. */
static struct axis axis_of(const struct tfd_shape *s, int64_t at,
                           int64_t elements)
{
    return {divisor_of(s->dim[at]), divisor_of(stride_of(s, at) / elements)};
}

template <typename T>
static enum tfd_code run_reverse(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_reverse_sequence *a =
        (const struct tfd_reverse_sequence *)k->state;
    const struct tfd_tensor *in = &k->in[0];
    int64_t elements = (int64_t)(sizeof(T) / tfd_dtype_size(in->dtype));
    struct axis sequence = axis_of(&in->shape, a->sequence, elements);
    struct axis batch = axis_of(&in->shape, a->batch, elements);
    int64_t n = tfd_tensor_elements(in) / elements;

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
    const struct tfd_reverse_sequence *a =
        (const struct tfd_reverse_sequence *)k->state;
    const struct tfd_shape *shape = &k->in[0].shape;
    enum tfd_dtype dtype = k->in[0].dtype;
    int64_t last = a->sequence > a->batch ? a->sequence : a->batch;
    size_t size;

    TFD_TRY(tfd_reverse_sequence_check(k, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    size = (size_t)stride_of(shape, last) * tfd_dtype_size(dtype);
    return BY_SIZE(item_size(size, in_at<void>(k, 0), out_at<void>(k, 0)), run_reverse,
                   k, st);
}

#define ROW(name)                                      \
    row("ReverseSequence", TFD_##name, reverse_gpu, 0, \
        tfd_reverse_sequence_prepare, sizeof(struct tfd_reverse_sequence)),

static const struct tfd_kernel kernels[] = {ROW(FLOAT) ROW(DOUBLE) ROW(HALF)
                                                ROW(BFLOAT16) ROW(BOOL)};

} /* namespace */

CUDA_FAMILY_OF(reverse_sequence);
