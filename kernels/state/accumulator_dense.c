/*
 * accumulator_dense.c - accumulators of tensors, and the arithmetic that sparse
 * ones use, too: see accumulator_core.h.
 *
 * The first gradient is adopted as it is; nothing is copied until a second one
 * is added to it, and then in place if nobody else sees it.
 */
#include "kernels/state/accumulator_core.h"

#include "common/base/alloc.h"
#include "common/base/half.h"
#include "kernels/core/elementwise.h"
#include "kernels/vector/simd.h"

/* ---- Arithmetic ---------------------------------------------------------- */

/* Of a power of two the reciprocal is exact, and so is the quotient by it: a
 * division takes several times a product's time. */

#define NUMBER_LOOPS(T)                              \
    TFD_SIMD_LOOP(add_##T)                           \
    {                                                \
        const struct tfd_accumulate_add *j = arg;    \
        const T *a = j->a, *b = j->b;                \
        T *y = j->y;                                 \
                                                     \
        for (int64_t i = begin; i < end; i++)        \
            y[i] = a[i] + b[i];                      \
    }                                                \
    TFD_SIMD_CLONES(add_##T)                         \
                                                     \
    TFD_SIMD_LOOP(divide_##T)                        \
    {                                                \
        const struct tfd_accumulate_divide *j = arg; \
        const T by = (T)j->divisor, part = 1 / by;   \
        T *y = j->y;                                 \
                                                     \
        if ((j->divisor & (j->divisor - 1)) == 0)    \
            for (int64_t i = begin; i < end; i++)    \
                y[i] = y[i] * part;                  \
        else                                         \
            for (int64_t i = begin; i < end; i++)    \
                y[i] = y[i] / by;                    \
    }                                                \
    TFD_SIMD_CLONES(divide_##T)

NUMBER_LOOPS(float)
NUMBER_LOOPS(double)

static void add_half(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_accumulate_add *j = arg;
    const tfd_half *a = j->a, *b = j->b;
    tfd_half *y = j->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = tfd_half_from_float(tfd_half_to_float(a[i]) +
                                   tfd_half_to_float(b[i]));
}

static void divide_half(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_accumulate_divide *j = arg;
    /* The number of gradients is rounded to the type, as TensorFlow does. */
    float by = tfd_half_to_float(tfd_half_from_float((float)j->divisor));
    tfd_half *y = j->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = tfd_half_from_float(tfd_half_to_float(y[i]) / by);
}

tfd_range_fn *tfd_accumulate_add_fn(enum tfd_dtype dtype)
{
    return dtype == TFD_FLOAT    ? add_float
           : dtype == TFD_DOUBLE ? add_double
                                 : add_half;
}

tfd_range_fn *tfd_accumulate_divide_fn(enum tfd_dtype dtype)
{
    return dtype == TFD_FLOAT    ? divide_float
           : dtype == TFD_DOUBLE ? divide_double
                                 : divide_half;
}

bool tfd_accumulator_writable(const struct tfd_tensor *t)
{
    return !t->buffer || (t->buffer->release == tfd_buffer_release &&
                          tfd_buffer_sole(t->buffer));
}

/* ---- The kind ------------------------------------------------------------ */

#define GRADIENT 2 /* the input */

static enum tfd_code mismatch(const struct tfd_shape *want,
                              const struct tfd_shape *have,
                              struct tfd_status *st)
{
    char a[TFD_SHAPE_TEXT_MAX], b[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Shape mismatch: expected %s, got %s",
                    tfd_shape_text(want, a), tfd_shape_text(have, b));
}

static enum tfd_code check_dense(const struct tfd_accumulator *a,
                                 const struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    const struct tfd_shape *have = &k->in[GRADIENT].shape;
    struct tfd_shape want = a->spec.shape;

    if (a->sum.count > 0 && !tfd_shape_equal(&a->sum.values.shape, have))
        return mismatch(&a->sum.values.shape, have, st);
    if (tfd_shape_merge(&want, have, NULL) != TFD_OK)
        return mismatch(&a->spec.shape, have, st);
    return TFD_OK;
}

static enum tfd_code add_dense(struct tfd_accumulator *a, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    struct tfd_tensor *sum = &a->sum.values, *by = &k->in[GRADIENT];
    struct tfd_tensor y = TFD_TENSOR_INIT;
    struct tfd_accumulate_add job;

    if (a->sum.count == 0) {
        *sum = tfd_tensor_ref(by);
        return TFD_OK;
    }
    if (tfd_accumulator_writable(sum))
        y = tfd_tensor_ref(sum);
    else
        TFD_TRY(tfd_tensor_new(&y, sum->dtype, &sum->shape, st));
    job = (struct tfd_accumulate_add){tfd_tensor_data(sum), tfd_tensor_data(by),
                                      tfd_tensor_data(&y)};
    tfd_elementwise_streams(k, sum->dtype, 3, tfd_tensor_elements(&y),
                            tfd_accumulate_add_fn(sum->dtype), &job);
    tfd_tensor_unref(sum);
    *sum = y;
    return TFD_OK;
}

static enum tfd_code hand_out(const struct tfd_accumulator *a,
                              struct tfd_accumulated *taken, struct tfd_kctx *k,
                              struct tfd_status *st)
{
    struct tfd_accumulate_divide job = {tfd_tensor_data(&taken->values),
                                        taken->count};

    (void)st;
    /* More than one have been added up, so the sum is our own. */
    if (a->spec.mean && taken->count > 1)
        tfd_kctx_parallel(k, tfd_tensor_elements(&taken->values), 1,
                          tfd_accumulate_divide_fn(taken->values.dtype), &job);
    k->out[0] = taken->values;
    taken->values = (struct tfd_tensor)TFD_TENSOR_INIT;
    return TFD_OK;
}

const struct tfd_accumulator_kind tfd_accumulator_dense = {
    .name = "dense",
    .check = check_dense,
    .add = add_dense,
    .hand_out = hand_out,
};
