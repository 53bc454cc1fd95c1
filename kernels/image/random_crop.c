/*
 * random_crop.c - RandomCrop, which graphs of before 2015 have: a random part
 * of one image.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"

#include <string.h>

static enum tfd_code read_target(const struct tfd_kctx *k, int64_t *out,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0], *size = &k->in[1];
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->shape.rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 3-dimensional%s",
                        tfd_shape_text(&x->shape, text));
    if (size->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape_t must be 1-dimensional%s",
                        tfd_shape_text(&size->shape, text));
    if (size->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape_t must have two elements%s",
                        tfd_shape_text(&size->shape, text));
    for (int i = 0; i < 2; i++) {
        out[i] = tfd_check_int_at(size, i);
        if (out[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected a non-negative size, got %lld",
                            (long long)out[i]);
    }
    return TFD_OK;
}

static enum tfd_code check_target(const struct tfd_shape *x, const int64_t *to,
                                  struct tfd_status *st)
{
    if (x->dim[1] < to[1])
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "width must be >= target_width: width = %lld, "
                        "target_width = %lld",
                        (long long)x->dim[1], (long long)to[1]);
    if (x->dim[0] < to[0])
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "height must be >= target_height: height = %lld, "
                        "target_height = %lld",
                        (long long)x->dim[0], (long long)to[0]);
    if (x->dim[0] > INT32_MAX || x->dim[1] > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an image of %lld x %lld pixels has a side above %d",
                        (long long)x->dim[0], (long long)x->dim[1], INT32_MAX);
    return TFD_OK;
}

static enum tfd_code crop_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct tfd_random_draw draw =
        tfd_random_draw_of(tfd_philox_reserve_blocks(k->state, 1));
    int64_t to[2], at[2] = {0, 0}, pixel;
    struct tfd_shape out;

    TFD_TRY(read_target(k, to, st));
    TFD_TRY(check_target(x, to, st));
    TFD_TRY(tfd_shape_make(&out, (int64_t[]){to[0], to[1], x->dim[2]}, 3, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    for (int i = 1; i >= 0; i--)
        if (x->dim[i] > to[i])
            at[i] =
                tfd_random_draw32(&draw) % (uint32_t)(x->dim[i] - to[i] + 1);
    pixel = x->dim[2] * (int64_t)tfd_dtype_size(k->in[0].dtype);
    for (int64_t y = 0;
         y < to[0] && tfd_tensor_elements(&k->out[0]) > 0 && !tfd_halted(); y++)
        memcpy((char *)tfd_tensor_data(&k->out[0]) + y * to[1] * pixel,
               (const char *)tfd_tensor_data(&k->in[0]) +
                   ((at[0] + y) * x->dim[1] + at[1]) * pixel,
               (size_t)(to[1] * pixel));
    return TFD_OK;
}

static enum tfd_code crop_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;
    struct tfd_shape image = {3, {any, any, any}};

    TFD_TRY(tfd_shape_merge(&image, &s->in[0], st));
    image.dim[0] = image.dim[1] = any;
    s->out[0] = image;
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "RandomCrop",
        .inputs = "image: T, size: int64",
        .outputs = "output: T",
        .attrs = "T: {uint8, int8, int16, int32, int64, float, double}; "
                 "seed: int = 0; seed2: int = 0",
        .shape = crop_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define KERNEL(name)                                           \
    TFD_KERNEL("RandomCrop", name, crop_compute,               \
               .prepare = tfd_random_stream_prepare,           \
               .state_size = sizeof(struct tfd_philox_source), \
               .flags = TFD_KERNEL_SHARED)

static const struct tfd_kernel kernels[] = {
    KERNEL(UINT8), KERNEL(INT8),  KERNEL(INT16),  KERNEL(INT32),
    KERNEL(INT64), KERNEL(FLOAT), KERNEL(DOUBLE),
};

const struct tfd_family tfd_family_random_crop = {
    .name = "random_crop",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
