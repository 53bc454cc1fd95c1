/*
 * scale_and_translate.c - ScaleAndTranslate and ScaleAndTranslateGrad: images
 * sampled anew by one of several curves, first along columns, then along rows.
 *
 * A thread makes one row of the result after another: it sums up the rows that
 * it is made of, then the pixels of that sum, in TensorFlow's order.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/image/resize.h"
#include "kernels/image/sampling.h"

#include <string.h>

struct translate_state {
    const struct tfd_sampling *curve;
    bool antialias;
};

typedef void add_row_fn(const void *row, int64_t first, int64_t count,
                        float weight, float *sum);

/* in, out: of the loops, so of a gradient its own size and the image's. */
struct translating {
    const char *x;
    float *y;
    add_row_fn *add_row;
    int64_t batch, channels;
    int64_t in[2], out[2];
    struct tfd_spans spans[2];
};

/* ---- Loops --------------------------------------------------------------- */

#define ADDS(name, T, TO)                                                     \
    static void add_row_##name(const void *row, int64_t first, int64_t count, \
                               float weight, float *sum)                      \
    {                                                                         \
        const T *x = (const T *)row + first;                                  \
                                                                              \
        for (int64_t i = 0; i < count; i++)                                   \
            sum[i] += weight * TO(x[i]);                                      \
    }
TFD_IMAGE_TYPES_AND_BFLOAT16(ADDS)

/* Spans may stand out of the image, where their weights are 0. */
static int64_t length_at(const struct tfd_spans *s, int64_t i, int64_t in)
{
    const int64_t left = in - s->starts[i];

    return s->size < left ? s->size : left;
}

static void sum_rows(const struct translating *t, int64_t image, int64_t y,
                     float *sum)
{
    const struct tfd_spans *s = &t->spans[0];
    const int64_t n = length_at(s, y, t->in[0]);
    const int64_t width = t->in[1] * t->channels;

    memset(sum, 0, (size_t)width * sizeof(*sum));
    for (int64_t i = 0; i < n && !tfd_halted(); i++)
        t->add_row(t->x, (image * t->in[0] + s->starts[y] + i) * width, width,
                   s->weights[y * s->size + i], sum);
}

#define PIXELS_A_LOOK 64
#define HEAVY_PIXEL 4096 /* products; after each it is asked who has ended */

static inline __attribute__((always_inline)) void
sum_columns(const struct translating *t, const float *row, int64_t channels,
            float *y)
{
    const struct tfd_spans *s = &t->spans[1];

    for (int64_t i = 0; i < t->out[1]; i++, y += channels) {
        const int64_t n = length_at(s, i, t->in[1]);
        const float *x = row + s->starts[i] * channels;
        const float *weights = s->weights + i * s->size;

        if ((i % PIXELS_A_LOOK == 0 || n * channels > HEAVY_PIXEL) &&
            tfd_halted())
            return;
        for (int64_t c = 0; c < channels; c++)
            y[c] = 0;
        for (int64_t j = 0; j < n; j++, x += channels)
            for (int64_t c = 0; c < channels; c++)
                y[c] += weights[j] * x[c];
    }
}

static enum tfd_code translate_rows(void *arg, int64_t begin, int64_t end,
                                    struct tfd_status *st)
{
    const struct translating *t = arg;
    struct tfd_buffer *sum = NULL;
    size_t width;

    if (!__builtin_mul_overflow(t->in[1], t->channels, &width) &&
        width <= SIZE_MAX / sizeof(float))
        sum = tfd_buffer_new(width * sizeof(float));
    if (!sum)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating a row of %lld pixels",
                        (long long)t->in[1]);
    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        float *y = t->y + i * t->out[1] * t->channels;

        sum_rows(t, i / t->out[0], i % t->out[0], sum->data);
        if (t->channels == 3)
            sum_columns(t, sum->data, 3, y);
        else if (t->channels == 1)
            sum_columns(t, sum->data, 1, y);
        else
            sum_columns(t, sum->data, t->channels, y);
    }
    tfd_buffer_unref(sum);
    return TFD_OK;
}

static enum tfd_code translate_images(struct tfd_kctx *k, struct translating *t,
                                      struct tfd_status *st)
{
    const double cost = 0.3 * (double)t->channels *
                        ((double)t->in[1] * (double)t->spans[0].size +
                         (double)t->out[1] * (double)t->spans[1].size);

    t->x = tfd_tensor_data(&k->in[0]);
    t->y = tfd_tensor_data(&k->out[0]);
    return tfd_kctx_try(k, t->batch * t->out[0], tfd_resize_cost(cost),
                        translate_rows, t, st);
}

/* ---- Inputs -------------------------------------------------------------- */

/* Inputs 2 and 3. */
static enum tfd_code read_pair(const struct tfd_kctx *k, int arg, float *out,
                               struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "t must be 1-dimensional%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "t must have two elements%s",
                        tfd_shape_text(&t->shape, text));
    memcpy(out, tfd_tensor_data(t), 2 * sizeof(*out));
    return TFD_OK;
}

static enum tfd_code read_move(const struct tfd_kctx *k,
                               struct tfd_sampling_axis *axes,
                               struct tfd_status *st)
{
    float scale[2], translation[2];

    TFD_TRY(read_pair(k, 2, scale, st));
    if (!(scale[0] > 0 && scale[1] > 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Scale must be greater than zero.");
    TFD_TRY(read_pair(k, 3, translation, st));
    for (int i = 0; i < 2; i++) {
        axes[i].scale = scale[i];
        axes[i].translation = translation[i];
    }
    return TFD_OK;
}

static enum tfd_code read_new_size(const struct tfd_kctx *k, int64_t *out,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[1];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output_shape_t must be 1-dimensional%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output_shape_t must have two elements%s",
                        tfd_shape_text(&t->shape, text));
    out[0] = tfd_check_int_at(t, 0);
    out[1] = tfd_check_int_at(t, 1);
    return TFD_OK;
}

static enum tfd_code check_image(const struct tfd_shape *x, const int64_t *out,
                                 struct tfd_status *st)
{
    if (x->dim[1] >= INT32_MAX || x->dim[2] >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input sizes must be between 0 and max int32");
    if (out[0] <= 0 || out[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output dimensions must be positive");
    if (x->dim[3] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image must have at least one channel");
    if (x->dim[1] <= 0 || x->dim[2] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input image must be of non-zero size");
    return TFD_OK;
}

/* ---- ScaleAndTranslate --------------------------------------------------- */

static enum tfd_code begin_translating(struct tfd_kctx *k,
                                       struct translating *t,
                                       struct tfd_sampling_axis *axes,
                                       struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;

    if (x->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 4-dimensional%s",
                        tfd_shape_text(x, text));
    TFD_TRY(read_new_size(k, t->out, st));
    TFD_TRY(check_image(x, t->out, st));
    TFD_TRY(read_move(k, axes, st));
    t->batch = x->dim[0];
    t->channels = x->dim[3];
    for (int i = 0; i < 2; i++) {
        axes[i].in = t->in[i] = x->dim[1 + i];
        axes[i].out = t->out[i];
    }
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){t->batch, t->out[0], t->out[1], t->channels}, 4, st));
    return tfd_kctx_output(k, 0, TFD_FLOAT, &out, st);
}

/* The type's loop, which the kernel's row cannot hold as it is none of ranges.
 */
static add_row_fn *add_row_of(enum tfd_dtype dtype)
{
    switch (dtype) {
#define CASE(name, T, TO) \
    case TFD_##name:      \
        return add_row_##name;
        TFD_IMAGE_TYPES_AND_BFLOAT16(CASE)
#undef CASE
    default:
        return NULL;
    }
}

static enum tfd_code translate_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct translate_state *s = k->state;
    struct translating t = {.add_row = add_row_of(k->in[0].dtype)};
    struct tfd_sampling_axis axes[2];
    enum tfd_code rc = TFD_OK;

    TFD_TRY(begin_translating(k, &t, axes, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    for (int i = 1; i >= 0 && rc == TFD_OK; i--)
        rc = tfd_spans_make(k, s->curve, s->antialias, &axes[i], &t.spans[i],
                            st);
    if (rc == TFD_OK)
        rc = translate_images(k, &t, st);
    for (int i = 0; i < 2; i++)
        tfd_spans_release(&t.spans[i]);
    return rc;
}

/* ---- ScaleAndTranslateGrad ----------------------------------------------- */

static enum tfd_code begin_gradient(struct tfd_kctx *k, struct translating *t,
                                    struct tfd_sampling_axis *axes,
                                    struct tfd_status *st)
{
    static const char *const names[] = {"input_grad", "original_image"};
    const struct tfd_shape *dy = &k->in[0].shape, *x = &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 4)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be 4-dimensional%s", names[i],
                            tfd_shape_text(&k->in[i].shape, text));
    if (x->dim[1] >= INT32_MAX || x->dim[2] >= INT32_MAX ||
        dy->dim[1] >= INT32_MAX || dy->dim[2] >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "original sizes must be between 0 and max int32");
    TFD_TRY(read_move(k, axes, st));
    t->batch = dy->dim[0];
    t->channels = dy->dim[3];
    for (int i = 0; i < 2; i++) {
        axes[i].in = t->out[i] = x->dim[1 + i];
        axes[i].out = t->in[i] = dy->dim[1 + i];
    }
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){t->batch, t->out[0], t->out[1], t->channels}, 4, st));
    return tfd_kctx_output(k, 0, TFD_FLOAT, &out, st);
}

static enum tfd_code make_swapped(const struct tfd_kctx *k,
                                  const struct tfd_sampling_axis *axis,
                                  struct tfd_spans *out, struct tfd_status *st)
{
    const struct translate_state *s = k->state;
    struct tfd_spans forward = {.size = 0};
    enum tfd_code rc =
        tfd_spans_make(k, s->curve, s->antialias, axis, &forward, st);

    if (rc == TFD_OK)
        rc = tfd_spans_swap(k, &forward, axis->in, out, st);
    tfd_spans_release(&forward);
    return rc;
}

static enum tfd_code gradient_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct translating t = {.add_row = add_row_FLOAT};
    struct tfd_sampling_axis axes[2];
    enum tfd_code rc = TFD_OK;

    TFD_TRY(begin_gradient(k, &t, axes, st));
    for (int i = 1; i >= 0 && rc == TFD_OK; i--)
        rc = make_swapped(k, &axes[i], &t.spans[i], st);
    if (rc == TFD_OK && tfd_tensor_elements(&k->in[0]) == 0)
        tfd_halt_clear(tfd_tensor_data(&k->out[0]),
                       tfd_tensor_size(&k->out[0]));
    else if (rc == TFD_OK && tfd_tensor_elements(&k->out[0]) > 0)
        rc = translate_images(k, &t, st);
    for (int i = 0; i < 2; i++)
        tfd_spans_release(&t.spans[i]);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code translate_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct translate_state *s = state;
    struct tfd_str name;

    TFD_TRY(tfd_node_bool(p->node, "antialias", &s->antialias, st));
    TFD_TRY(tfd_node_str(p->node, "kernel_type", &name, st));
    s->curve = tfd_sampling_named(name);
    if (s->curve)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unrecognized kernel type: " TFD_STR_FMT,
                    TFD_STR_ARG(name));
}

static enum tfd_code gradient_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;
    struct tfd_shape image = {4, {any, any, any, any}};

    TFD_TRY(tfd_shape_merge(&image, &s->in[1], st));
    s->out[0] = image;
    return TFD_OK;
}

static enum tfd_code translate_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    static const char *const names[] = {"kernel_type", "antialias", NULL};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[0], g->x[2], g->x[3]};

    tfd_gradient_copying(&b, "ScaleAndTranslateGrad", in, 4, names, &g->dx[0],
                         1);
    return b.code;
}

#define CURVE "; kernel_type: string = 'lanczos3'; antialias: bool = true"

static const struct tfd_opdef ops[] = {
    {
        .name = "ScaleAndTranslate",
        .inputs = "images: T, size: int32, scale: float, translation: float",
        .outputs = "resized_images: float",
        .attrs = "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, "
                 "half, float, double}" CURVE,
        .shape = tfd_resize_shape,
        .grad = translate_gradient,
    },
    {
        .name = "ScaleAndTranslateGrad",
        .inputs = "grads: T, original_image: T, scale: float, "
                  "translation: float",
        .outputs = "output: T",
        .attrs = "T: {float}" CURVE,
        .shape = gradient_shape,
    },
};

#define STATE \
    .prepare = translate_prepare, .state_size = sizeof(struct translate_state)
#define KERNELS(name, T, TO) \
    TFD_KERNEL("ScaleAndTranslate", name, translate_compute, STATE),

static const struct tfd_kernel kernels[] = {
    TFD_IMAGE_TYPES_AND_BFLOAT16(KERNELS)
        TFD_KERNEL("ScaleAndTranslateGrad", FLOAT, gradient_compute, STATE),
};

const struct tfd_family tfd_family_scale_and_translate = {
    .name = "scale_and_translate",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
