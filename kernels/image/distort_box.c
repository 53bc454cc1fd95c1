/*
 * distort_box.c - SampleDistortedBoundingBox, its version 2 and its stateless
 * form: a random part of an image that shows enough of one of its boxes.
 *
 * Numbers are drawn and rounded in TensorFlow's order, so that the same seeds
 * give the same parts.  Integers are 32 bits wide there and wrap around, which
 * matters for images of more than 2^31 pixels.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/random/random_number.h"
#include "kernels/random/random_stream.h"

#include <math.h>
#include <string.h>

struct distort_state {
    struct tfd_philox_source source; /* of those that have a stream */
    int64_t attempts;
    float aspect[2], area[2], covered;
    bool whole_image; /* stands for boxes where there are none */
};

/* Corners [low, high), each column and row. */
struct rectangle {
    int32_t low[2], high[2];
};

struct distorting {
    const struct distort_state *state;
    int32_t width, height;
    const float *boxes;
    int64_t box_count;
    float covered;
    struct tfd_random_draw draw;
};

/* ---- Integers as processors make them ------------------------------------ */

static int32_t wrapped(int64_t v)
{
    return (int32_t)(uint32_t)(uint64_t)v;
}

static int32_t cut(double v)
{
    return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}

/* To the nearest of 64 bits, of which the low half remains. */
static int32_t nearest(float v)
{
    return v > -9e18f && v < 9e18f ? wrapped(llrintf(v)) : 0;
}

/* ---- Rectangles ---------------------------------------------------------- */

static float area_of(const struct rectangle *r)
{
    return (float)wrapped((int64_t)wrapped((int64_t)r->high[0] - r->low[0]) *
                          wrapped((int64_t)r->high[1] - r->low[1]));
}

static struct rectangle common_part(const struct rectangle *a,
                                    const struct rectangle *b)
{
    struct rectangle r;

    for (int i = 0; i < 2; i++) {
        r.low[i] = a->low[i] < b->low[i] ? b->low[i] : a->low[i];
        r.high[i] = b->high[i] < a->high[i] ? b->high[i] : a->high[i];
    }
    if (r.low[0] > r.high[0] || r.low[1] > r.high[1])
        return (struct rectangle){{0, 0}, {0, 0}};
    return r;
}

static struct rectangle image_of(const struct distorting *d)
{
    return (struct rectangle){{0, 0}, {d->width, d->height}};
}

static struct rectangle box_at(const struct distorting *d, int64_t i)
{
    const float *box = d->boxes + 4 * i;
    const float width = (float)d->width, height = (float)d->height;

    if (d->box_count == 0)
        return image_of(d);
    return (struct rectangle){
        {cut((double)(box[1] * width)), cut((double)(box[0] * height))},
        {cut((double)(box[3] * width)), cut((double)(box[2] * height))}};
}

/* ---- Drawing ------------------------------------------------------------- */

static bool covers_a_box(const struct distorting *d, const struct rectangle *r)
{
    if (area_of(r) < 1)
        return false;
    for (int64_t i = 0; i < d->box_count || i == 0; i++) {
        const struct rectangle box = box_at(d, i);
        const struct rectangle both = common_part(r, &box);

        if ((i & 0xffff) == 0xffff && tfd_halted())
            return false;
        if (area_of(&box) >= 1 && area_of(&both) / area_of(&box) >= d->covered)
            return true;
    }
    return false;
}

/* The largest height whose width the image has, below what the area allows. */
static int32_t height_limit(const struct distorting *d, float area,
                            float aspect)
{
    int32_t height = nearest(sqrtf(area / aspect));

    if (llrintf((float)height * aspect) > d->width) {
        height = cut((d->width + 0.5 - (double)0.0000001f) / (double)aspect);
        if (llrintf((float)height * aspect) > d->width)
            height = wrapped((int64_t)height - 1);
    }
    return height > d->height ? d->height : height;
}

/* Where rounding has led out of the allowed areas, one row more or less. */
static bool adjust_height(const struct distorting *d, float aspect,
                          const float *areas, int32_t *height, int32_t *width)
{
    float area = (float)wrapped((int64_t)*width * *height);

    if (area < areas[0]) {
        *height = wrapped((int64_t)*height + 1);
        *width = nearest((float)*height * aspect);
        area = (float)wrapped((int64_t)*width * *height);
    }
    if (area > areas[1]) {
        *height = wrapped((int64_t)*height - 1);
        *width = nearest((float)*height * aspect);
        area = (float)wrapped((int64_t)*width * *height);
    }
    return !(area < areas[0] || area > areas[1] || *width > d->width ||
             *height > d->height || *width <= 0 || *height <= 0);
}

static bool draw_rectangle(struct distorting *d, float aspect,
                           struct rectangle *out)
{
    const float *part = d->state->area;
    float areas[2];
    int32_t height, limit, width, x = 0, y = 0;

    if (part[1] <= 0 || aspect <= 0 || d->width <= 0 || d->height <= 0 ||
        part[0] > part[1])
        return false;
    for (int i = 0; i < 2; i++)
        areas[i] = part[i] * (float)d->width * (float)d->height;
    height = nearest(sqrtf(areas[0] / aspect));
    limit = height_limit(d, areas[1], aspect);
    if (height >= limit)
        height = limit;
    else
        height =
            wrapped((int64_t)height +
                    tfd_random_below32(&d->draw, (uint32_t)limit -
                                                     (uint32_t)height + 1u));
    width = nearest((float)height * aspect);
    if (!adjust_height(d, aspect, areas, &height, &width))
        return false;
    if (height < d->height)
        y = (int32_t)tfd_random_below32(&d->draw,
                                        (uint32_t)(d->height - height));
    if (width < d->width)
        x = (int32_t)tfd_random_below32(&d->draw, (uint32_t)(d->width - width));
    *out = (struct rectangle){{x, y}, {x + width, y + height}};
    return true;
}

static struct rectangle find_rectangle(struct distorting *d)
{
    const float *range = d->state->aspect;
    struct rectangle r;

    for (int64_t i = 0; i < d->state->attempts && !tfd_halted(); i++) {
        const float aspect =
            tfd_random_draw_float(&d->draw) * (range[1] - range[0]) + range[0];

        if (draw_rectangle(d, aspect, &r) && covers_a_box(d, &r))
            return r;
    }
    return image_of(d);
}

/* ---- Inputs -------------------------------------------------------------- */

/* Element i, as 64 bits without a sign. */
static uint64_t size_at(const struct tfd_tensor *t, int i)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_UINT8:
        return ((const uint8_t *)data)[i];
    case TFD_INT8:
        return (uint64_t)((const int8_t *)data)[i];
    case TFD_INT16:
        return (uint64_t)((const int16_t *)data)[i];
    default:
        return (uint64_t)tfd_check_int_at(t, i);
    }
}

static enum tfd_code read_image_size(const struct tfd_tensor *t,
                                     struct distorting *d,
                                     struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image_size must be 1-dimensional%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image_size must contain 3 elements%s",
                        tfd_shape_text(&t->shape, text));
    if (size_at(t, 0) >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image height cannot be >= int32 max");
    if (size_at(t, 1) >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "image width cannot be >= int32 max");
    d->height = (int32_t)size_at(t, 0);
    d->width = (int32_t)size_at(t, 1);
    return TFD_OK;
}

static enum tfd_code read_covered(const struct tfd_kctx *k,
                                  struct distorting *d, struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    d->covered = d->state->covered;
    if (k->in_count < 3)
        return TFD_OK;
    if (k->in[2].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "min_object_covered must be 0-D, got shape %s",
                        tfd_shape_text(&k->in[2].shape, text));
    d->covered = *(const float *)tfd_tensor_data(&k->in[2]);
    if (!(d->covered >= 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Min object covered must be non-negative: %g",
                        (double)d->covered);
    return TFD_OK;
}

static enum tfd_code check_box_shape(const struct tfd_tensor *t,
                                     struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input boxes must be 3-dimensional [batch, num_boxes, "
                        "coords]: %s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[2] != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "bounding boxes must have shape [4] or [*, 4], got %s",
                        tfd_shape_text(&t->shape, text));
    return TFD_OK;
}

static enum tfd_code take_boxes(const struct tfd_tensor *t,
                                struct distorting *d, struct tfd_status *st)
{
    d->boxes = tfd_tensor_data(t);
    d->box_count = tfd_tensor_elements(t) / 4;
    for (int64_t i = 0; i < 4 * d->box_count; i++)
        if (!(d->boxes[i] >= 0 && d->boxes[i] <= 1))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All bounding box coordinates must be in [0.0, "
                            "1.0]: %g",
                            (double)d->boxes[i]);
    if (d->box_count == 0 && !d->state->whole_image)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "No bounding boxes provided as input. One must enable "
                        "use_image_if_no_bounding_boxes if you wish to not "
                        "provide any bounding boxes.");
    return TFD_OK;
}

/* ---- Output -------------------------------------------------------------- */

static void put_size(struct tfd_tensor *t, int i, int32_t v)
{
    void *data = tfd_tensor_data(t);

    if (t->dtype == TFD_UINT8 || t->dtype == TFD_INT8)
        ((uint8_t *)data)[i] = (uint8_t)v;
    else if (t->dtype == TFD_INT16)
        ((uint16_t *)data)[i] = (uint16_t)v;
    else if (t->dtype == TFD_INT32)
        ((int32_t *)data)[i] = v;
    else
        ((int64_t *)data)[i] = v;
}

/* As Slice wants it: begin and size, all channels. */
static enum tfd_code put_rectangle(struct tfd_kctx *k,
                                   const struct distorting *d,
                                   const struct rectangle *r,
                                   struct tfd_status *st)
{
    static const struct tfd_shape three = {1, {3}}, box = {3, {1, 1, 4}};
    const int32_t sides[] = {d->width, d->height};
    float *part;

    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &three, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[0].dtype, &three, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_FLOAT, &box, st));
    part = tfd_tensor_data(&k->out[2]);
    for (int i = 0; i < 2; i++) {
        put_size(&k->out[0], i, r->low[1 - i]);
        put_size(&k->out[1], i, r->high[1 - i] - r->low[1 - i]);
        part[i] = (float)r->low[1 - i] / (float)sides[1 - i];
        part[2 + i] = (float)r->high[1 - i] / (float)sides[1 - i];
    }
    put_size(&k->out[0], 2, 0);
    put_size(&k->out[1], 2, -1);
    return TFD_OK;
}

/* ---- The ops ------------------------------------------------------------- */

static enum tfd_code distort_image(struct tfd_kctx *k, struct distorting *d,
                                   struct tfd_status *st)
{
    struct rectangle r;

    TFD_TRY(read_image_size(&k->in[0], d, st));
    TFD_TRY(check_box_shape(&k->in[1], st));
    TFD_TRY(read_covered(k, d, st));
    TFD_TRY(take_boxes(&k->in[1], d, st));
    r = find_rectangle(d);
    return put_rectangle(k, d, &r, st);
}

static enum tfd_code distort_of_stream(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct distort_state *s = k->state;
    struct distorting d = {.state = s,
                           .draw = tfd_random_draw_of(tfd_philox_reserve_blocks(
                               &s->source, (uint64_t)s->attempts))};

    return distort_image(k, &d, st);
}

static enum tfd_code distort_of_seeds(struct tfd_kctx *k, struct tfd_status *st)
{
    struct distorting d = {.state = k->state};
    struct tfd_philox g;

    TFD_TRY(tfd_random_seeds(k, 3, &g, st));
    d.draw = tfd_random_draw_of(g);
    return distort_image(k, &d, st);
}

/* Of which more than two are wrong. */
#define RANGE_MAX 16

static enum tfd_code read_range(const struct tfd_node *n, const char *attr,
                                const char *name, float *out,
                                struct tfd_status *st)
{
    float values[RANGE_MAX];
    int count;

    TFD_TRY(tfd_node_floats(n, attr, values, RANGE_MAX, &count, st));
    if (count != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s range field must specify 2 dimensions", name);
    memcpy(out, values, 2 * sizeof(*out));
    if (!(out[0] > 0 && out[1] > 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s range must be non-negative: [%g, %g]", name,
                        (double)out[0], (double)out[1]);
    return TFD_OK;
}

static enum tfd_code distort_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct distort_state *s = state;
    struct tfd_str ignored;

    if (tfd_node_attr(p->node, "min_object_covered", &ignored))
        TFD_TRY(tfd_node_float(p->node, "min_object_covered", &s->covered, st));
    if (!(s->covered >= 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Min object covered must be non-negative: %g",
                        (double)s->covered);
    TFD_TRY(tfd_node_bool(p->node, "use_image_if_no_bounding_boxes",
                          &s->whole_image, st));
    TFD_TRY(read_range(p->node, "aspect_ratio_range", "Aspect ratio", s->aspect,
                       st));
    TFD_TRY(read_range(p->node, "area_range", "Area", s->area, st));
    if (!(s->area[0] <= 1 && s->area[1] <= 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Area range must be less then or equal to 1.0: [%g, "
                        "%g]",
                        (double)s->area[0], (double)s->area[1]);
    TFD_TRY(tfd_node_int(p->node, "max_attempts", &s->attempts, st));
    if (s->attempts <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Max attempts must be non-negative: %lld",
                        (long long)s->attempts);
    if (!tfd_node_attr(p->node, "seed", &ignored))
        return TFD_OK;
    return tfd_random_stream_init(p, &s->source, st);
}

static enum tfd_code distort_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape three = {1, {3}};

    TFD_TRY(tfd_shape_merge(&three, &s->in[0], st));
    s->out[0] = s->out[1] = three;
    s->out[2] = (struct tfd_shape){3, {1, 1, 4}};
    return TFD_OK;
}

#define SIZES "T: {uint8, int8, int16, int32, int64}; "
#define SEEDS "seed: int = 0; seed2: int = 0; "
#define RANGES                                         \
    "aspect_ratio_range: list(float) = [0.75, 1.33]; " \
    "area_range: list(float) = [0.05, 1]; "            \
    "max_attempts: int = 100; "                        \
    "use_image_if_no_bounding_boxes: bool = false"
#define DISTORTS(op, in, attrs_, flags_)                                 \
    {                                                                    \
        .name = op, .inputs = "image_size: T, bounding_boxes: float" in, \
        .outputs = "begin: T, size: T, bboxes: float", .attrs = attrs_,  \
        .shape = distort_shape, .flags = flags_,                         \
    }

static const struct tfd_opdef ops[] = {
    DISTORTS("SampleDistortedBoundingBox", "",
             SIZES SEEDS "min_object_covered: float = 0.1; " RANGES,
             TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT),
    DISTORTS("SampleDistortedBoundingBoxV2", ", min_object_covered: float",
             SIZES SEEDS RANGES, TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT),
    DISTORTS("StatelessSampleDistortedBoundingBox",
             ", min_object_covered: float, seed: Tseed",
             SIZES "Tseed: {int32, int64}; " RANGES, 0),
};

#define STATE \
    .prepare = distort_prepare, .state_size = sizeof(struct distort_state)
#define KERNELS(name)                                                        \
    TFD_KERNEL("SampleDistortedBoundingBox", name, distort_of_stream, STATE, \
               .flags = TFD_KERNEL_SHARED),                                  \
        TFD_KERNEL("SampleDistortedBoundingBoxV2", name, distort_of_stream,  \
                   STATE, .flags = TFD_KERNEL_SHARED),                       \
        TFD_KERNEL("StatelessSampleDistortedBoundingBox", name,              \
                   distort_of_seeds, STATE)

static const struct tfd_kernel kernels[] = {
    KERNELS(UINT8), KERNELS(INT8),  KERNELS(INT16),
    KERNELS(INT32), KERNELS(INT64),
};

const struct tfd_family tfd_family_distort_box = {
    .name = "distort_box",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
