/*
 * lin_space.c - LinSpace: numbers at equal distances; the last is `stop` to
 * the bit.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/vector/simd.h"

struct job {
    const void *start, *stop;
    void *y;
    int64_t count;
};

#define LOOP(name, number, T)                                                 \
    TFD_SIMD_LOOP(fill_##name)                                                \
    {                                                                         \
        const struct job *j = arg;                                            \
        const T start = *(const T *)j->start;                                 \
        const T stop = *(const T *)j->stop;                                   \
        const T step = j->count > 1 ? (stop - start) / (T)(j->count - 1) : 0; \
        T *y = j->y;                                                          \
                                                                              \
        if (end <= INT32_MAX) /* whose conversion is an instruction */        \
            for (int32_t i = (int32_t)begin; i < (int32_t)end; i++)           \
                y[i] = start + step * (T)i;                                   \
        else                                                                  \
            for (int64_t i = begin; i < end; i++)                             \
                y[i] = start + step * (T)i;                                   \
        if (end == j->count && j->count > 1)                                  \
            y[end - 1] = stop;                                                \
    }                                                                         \
                                                                              \
    TFD_SIMD_CLONES(fill_##name)

TFD_FLOAT_DTYPES(LOOP)

static enum tfd_code lin_space(struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"start", "stop", "num"};
    struct job j = {.y = NULL};
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape shape;

    for (int i = 0; i < TFD_COUNT(names); i++)
        if (k->in[i].shape.rank != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a scalar, not shape %s", names[i],
                            tfd_shape_text(&k->in[i].shape, text));
    TFD_TRY(tfd_check_int(k, 2, &j.count, st));
    if (j.count <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires num > 0: %lld",
                        (long long)j.count);
    TFD_TRY(tfd_shape_make(&shape, &j.count, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    j.start = tfd_tensor_data(&k->in[0]);
    j.stop = tfd_tensor_data(&k->in[1]);
    j.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel_bytes(k, j.count, 2 * (int)tfd_dtype_size(k->in[0].dtype),
                            k->kernel->range, &j);
    return TFD_OK;
}

static enum tfd_code lin_space_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    int64_t count = TFD_DIM_UNKNOWN;

    if (s->value && s->value[2] && tfd_tensor_elements(s->value[2]) == 1) {
        count = tfd_check_int_at(s->value[2], 0);
        if (count <= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT, "Requires num > 0: %lld",
                            (long long)count);
    }
    return tfd_shape_make_partial(&s->out[0], &count, 1, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "LinSpace",
        .inputs = "start: T, stop: T, num: Tidx",
        .outputs = "output: T",
        .attrs = "T: {bfloat16, half, float, double}; "
                 "Tidx: {int32, int64} = DT_INT32",
        .shape = lin_space_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define ROW(name, number, T) \
    TFD_KERNEL("LinSpace", name, lin_space, fill_##name),

static const struct tfd_kernel kernels[] = {TFD_FLOAT_DTYPES(ROW)};

const struct tfd_family tfd_family_lin_space = {
    .name = "lin_space",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
