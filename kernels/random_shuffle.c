/*
 * random_shuffle.c - RandomShuffle: the rows of a tensor in another order.
 *
 * Fisher and Yates: position i gets one of those from i on, the remainder of a
 * number of 32 bits divided by how many there are.  The node's stream
 * (random_stream.h) is used up by four rows a block.
 */
#include "common/alloc.h"
#include "kernels/check.h"
#include "kernels/element.h"
#include "kernels/families.h"
#include "kernels/random_number.h"
#include "kernels/random_stream.h"

static void permute(int64_t *order, int64_t rows, struct tfd_philox g)
{
    struct tfd_random_draw draw = tfd_random_draw_of(g);

    for (int64_t i = 0; i < rows; i++)
        order[i] = i;
    for (int64_t i = 0; i + 1 < rows; i++) {
        int64_t other = i + tfd_random_draw32(&draw) % (uint32_t)(rows - i);
        int64_t row = order[i];

        order[i] = order[other];
        order[other] = row;
    }
}

static enum tfd_code gather_rows(struct tfd_kctx *k, const int64_t *order,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    int64_t rows = x->shape.dim[0], size = tfd_tensor_elements(x) / rows;
    void *y;

    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &x->shape, st));
    y = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < rows; i++)
        TFD_TRY(tfd_elements_copy(
            x->dtype, tfd_element_at(y, x->dtype, i * size),
            tfd_element_of(tfd_tensor_data(x), x->dtype, order[i] * size), size,
            st));
    return TFD_OK;
}

static enum tfd_code shuffle_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape shape = k->in[0].shape;
    int64_t rows = shape.rank ? shape.dim[0] : 1;
    struct tfd_buffer *order;
    enum tfd_code code;

    if (tfd_shape_elements(&shape) <= 1 || rows <= 1) {
        tfd_kctx_output_alias(k, 0, 0, &shape);
        return TFD_OK;
    }
    if (rows > UINT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "value has %lld rows; at most %lld can be shuffled",
                        (long long)rows, (long long)UINT32_MAX);
    order = tfd_buffer_new((size_t)rows * sizeof(int64_t));
    if (!order)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when shuffling %lld rows", (long long)rows);
    permute(order->data, rows,
            tfd_philox_reserve_blocks(k->state, ((uint64_t)rows + 2) / 4));
    code = gather_rows(k, order->data, st);
    tfd_buffer_unref(order);
    return code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RandomShuffle",
        .inputs = "value: T",
        .outputs = "output: T",
        .attrs = "seed: int = 0; seed2: int = 0; T: type",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RandomShuffle", shuffle_compute,
                   .prepare = tfd_random_stream_prepare,
                   .state_size = sizeof(struct tfd_philox_source),
                   .flags = TFD_KERNEL_SHARED),
};

const struct tfd_family tfd_family_random_shuffle = {
    .name = "random_shuffle",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
