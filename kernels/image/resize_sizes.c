/*
 * resize_sizes.c - see resize.h.
 */
#include "kernels/core/check.h"
#include "kernels/image/resize.h"

/* ---- Attributes and sizes ------------------------------------------------ */

enum tfd_code tfd_resize_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct tfd_resize_state *s = state;
    struct tfd_str ignored;

    TFD_TRY(tfd_node_bool(p->node, "align_corners", &s->align_corners, st));
    if (!tfd_node_attr(p->node, "half_pixel_centers", &ignored))
        return TFD_OK;
    return tfd_node_bool(p->node, "half_pixel_centers", &s->half_pixel_centers,
                         st);
}

float tfd_resize_scale(int64_t in, int64_t out, bool align_corners)
{
    return align_corners && out > 1 && in > 1
               ? (float)(in - 1) / (float)(out - 1)
               : (float)in / (float)out;
}

enum tfd_code tfd_resize_check_state(const struct tfd_resize_state *s,
                                     struct tfd_status *st)
{
    if (s->align_corners && s->half_pixel_centers)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If half_pixel_centers is True, align_corners must be "
                        "False.");
    return TFD_OK;
}

enum tfd_code tfd_resize_sizes(const struct tfd_kctx *k, int arg, int64_t *out,
                               struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[arg];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape_t must be 1-dimensional%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "shape_t must have two elements%s",
                        tfd_shape_text(&t->shape, text));
    out[0] = tfd_check_int_at(t, 0);
    out[1] = tfd_check_int_at(t, 1);
    return TFD_OK;
}

static enum tfd_code check_sizes(const struct tfd_resize *r,
                                 struct tfd_status *st)
{
    if (r->in[0] >= INT32_MAX || r->in[1] >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input sizes must be between 0 and max int32");
    if (r->out[0] <= 0 || r->out[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output dimensions must be positive");
    if (r->channels <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image must have at least one channel");
    if (r->in[0] <= 0 || r->in[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input image must be of non-zero size");
    return TFD_OK;
}

enum tfd_code tfd_resize_begin_any(struct tfd_kctx *k, struct tfd_resize *r,
                                   enum tfd_dtype dtype, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct tfd_shape out;
    char text[TFD_SHAPE_TEXT_MAX];

    *r =
        (struct tfd_resize){.state = k->state, .x = tfd_tensor_data(&k->in[0])};
    if (x->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 4-dimensional%s",
                        tfd_shape_text(x, text));
    TFD_TRY(tfd_resize_sizes(k, 1, r->out, st));
    r->batch = x->dim[0];
    r->channels = x->dim[3];
    for (int i = 0; i < 2; i++) {
        r->in[i] = x->dim[1 + i];
        r->scale[i] =
            tfd_resize_scale(r->in[i], r->out[i], r->state->align_corners);
    }
    TFD_TRY(check_sizes(r, st));
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){r->batch, r->out[0], r->out[1], r->channels}, 4, st));
    TFD_TRY(tfd_kctx_output(k, 0, dtype, &out, st));
    r->y = tfd_tensor_data(&k->out[0]);
    return TFD_OK;
}

enum tfd_code tfd_resize_begin(struct tfd_kctx *k, struct tfd_resize *r,
                               enum tfd_dtype dtype, struct tfd_status *st)
{
    TFD_TRY(tfd_resize_check_state(k->state, st));
    return tfd_resize_begin_any(k, r, dtype, st);
}

enum tfd_code tfd_resize_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape image = {
        4,
        {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape two = {1, {2}};
    const struct tfd_tensor *size = s->value ? s->value[1] : NULL;

    TFD_TRY(tfd_shape_merge(&image, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&two, &s->in[1], st));
    for (int i = 0; i < 2; i++)
        image.dim[1 + i] = size ? tfd_check_int_at(size, i) : TFD_DIM_UNKNOWN;
    return tfd_shape_make_partial(&s->out[0], image.dim, 4, st);
}

/* ---- Taps ---------------------------------------------------------------- */

struct tfd_resize_taps tfd_resize_linear(const struct tfd_resize *r, int axis,
                                         int64_t i)
{
    const float at = tfd_resize_at(r->state, i, r->scale[axis]);
    const float low = floorf(at);

    return (struct tfd_resize_taps){
        .at = {tfd_resize_bound((int64_t)low, r->in[axis]),
               tfd_resize_bound((int64_t)ceilf(at), r->in[axis])},
        .weight = {1 - (at - low), at - low}};
}

/* Weights come from a curve at 1024 steps, of which the two halves of
 * TensorFlow's table are these: for a distance below 1, and for one between 1
 * and 2. */
#define CURVE_STEPS 1024

static float near_weight(int64_t step, double a)
{
    const float x = (float)((double)step * 1.0 / CURVE_STEPS);

    return (float)(((a + 2) * (double)x - (a + 3)) * (double)x * (double)x + 1);
}

static float far_weight(int64_t step, double a)
{
    float x = (float)((double)step * 1.0 / CURVE_STEPS);

    x = (float)((double)x + 1.0);
    return (float)(((a * (double)x - 5 * a) * (double)x + 8 * a) * (double)x -
                   4 * a);
}

/* Keys' curve puts no weight on what lies outside of the image, and the rest is
 * made to sum up to 1. */
static void drop_outside(struct tfd_resize_taps *t, int64_t first)
{
    float sum, one_over;

    for (int j = 0; j < TFD_RESIZE_TAPS; j++)
        if (t->at[j] != first + j)
            t->weight[j] = 0;
    sum = t->weight[0] + t->weight[1] + t->weight[2] + t->weight[3];
    if (fabsf(sum) < 1000.0f * 1.17549435e-38f)
        return;
    one_over = 1.0f / sum;
    for (int j = 0; j < TFD_RESIZE_TAPS; j++)
        t->weight[j] *= one_over;
}

struct tfd_resize_taps tfd_resize_cubic(const struct tfd_resize *r, int axis,
                                        int64_t i)
{
    const bool keys = r->state->half_pixel_centers;
    const double a = keys ? -0.5 : -0.75;
    const float at = tfd_resize_at(r->state, i, r->scale[axis]);
    const int64_t low = (int64_t)floorf(at);
    const int64_t step = lrintf((at - (float)low) * CURVE_STEPS);
    struct tfd_resize_taps t = {.weight = {far_weight(step, a),
                                           near_weight(step, a),
                                           near_weight(CURVE_STEPS - step, a),
                                           far_weight(CURVE_STEPS - step, a)}};

    for (int j = 0; j < TFD_RESIZE_TAPS; j++)
        t.at[j] = tfd_resize_bound(low - 1 + j, r->in[axis]);
    if (keys)
        drop_outside(&t, low - 1);
    return t;
}

enum tfd_code tfd_resize_columns(const struct tfd_resize *r,
                                 tfd_resize_tap_fn *taps,
                                 struct tfd_buffer **out, struct tfd_status *st)
{
    const int64_t n = r->out[TFD_RESIZE_WIDE];
    struct tfd_resize_taps *column;

    *out = tfd_buffer_new((size_t)n * sizeof(*column));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the weights of %lld columns",
                        (long long)n);
    column = (*out)->data;
    for (int64_t i = 0; i < n; i++)
        column[i] = taps(r, TFD_RESIZE_WIDE, i);
    return TFD_OK;
}
