/*
 * resize_area.c - images of another size by the average of what each pixel
 * covers: ResizeArea.
 *
 * A pixel covers whole pixels of the image and, at its borders, parts of some;
 * along each axis it is a span of pixels with the weights of first and last.
 */
#include "common/thread/halt.h"
#include "kernels/core/families.h"
#include "kernels/image/resize.h"

/* Pixels [start, end), which may stand out of the image by rounding; then its
 * last pixel counts again. */
struct span {
    int64_t start, end;
    float first, last;
};

struct job {
    struct tfd_resize r;
    const struct span *columns;
    float scale;
};

/* A pixel from `at` to `to` covers this much of pixel i. */
static float part(int64_t i, float at, float to, float whole)
{
    if ((float)i < at)
        return (float)(i + 1) > to ? whole : (float)(i + 1) - at;
    return (float)(i + 1) > to ? to - (float)i : 1;
}

static struct span span_at(int64_t i, float scale)
{
    const float at = (float)i * scale, to = (float)(i + 1) * scale;
    struct span s = {.start = (int64_t)floorf(at), .end = (int64_t)ceilf(to)};

    s.first = part(s.start, at, to, scale);
    s.last = (float)s.end > to ? to - (float)(s.end - 1) : 1;
    return s;
}

/* ---- Loops --------------------------------------------------------------- */

#define AREA(name, T, TO)                                                     \
    static inline float sum_of_##name(const T *row, int64_t depth,            \
                                      int64_t width, const struct span *s)    \
    {                                                                         \
        const int64_t last = tfd_resize_bound(s->end - 1, width);             \
        float sum =                                                           \
            TO(row[tfd_resize_bound(s->start, width) * depth]) * s->first;    \
                                                                              \
        if (s->start + 1 == s->end)                                           \
            return sum;                                                       \
        for (int64_t x = s->start + 1; x < s->end - 1; x++)                   \
            sum += TO(row[(x < width ? x : width - 1) * depth]);              \
        return sum + TO(row[last * depth]) * s->last;                         \
    }                                                                         \
                                                                              \
    static inline __attribute__((always_inline)) void add_row_##name(         \
        const struct job *j, const T *row, int64_t depth, float weight,       \
        float *y)                                                             \
    {                                                                         \
        for (int64_t x = 0; x < j->r.out[1]; x++, y += depth)                 \
            for (int64_t c = 0; c < depth; c++)                               \
                y[c] += sum_of_##name(row + c, depth, j->r.in[1],             \
                                      &j->columns[x]) *                       \
                        weight;                                               \
    }                                                                         \
                                                                              \
    static void area_row_##name(const struct job *j, const T *image,          \
                                int64_t i, float *y)                          \
    {                                                                         \
        const int64_t depth = j->r.channels, n = j->r.out[1] * depth;         \
        const float scale = j->r.scale[0];                                    \
        const float at = (float)i * scale, to = (float)(i + 1) * scale;       \
                                                                              \
        for (int64_t e = 0; e < n; e++)                                       \
            y[e] = 0;                                                         \
        for (int64_t v = (int64_t)floorf(at);                                 \
             v < (int64_t)ceilf(to) && !tfd_halted(); v++) {                  \
            const T *row =                                                    \
                image + tfd_resize_bound(v, j->r.in[0]) * j->r.in[1] * depth; \
                                                                              \
            if (depth == 3)                                                   \
                add_row_##name(j, row, 3, part(v, at, to, scale), y);         \
            else                                                              \
                add_row_##name(j, row, depth, part(v, at, to, scale), y);     \
        }                                                                     \
        for (int64_t e = 0; e < n; e++)                                       \
            y[e] *= j->scale;                                                 \
    }                                                                         \
                                                                              \
    static void area_##name(void *arg, int64_t begin, int64_t end)            \
    {                                                                         \
        const struct job *j = arg;                                            \
        const int64_t high = j->r.out[0], depth = j->r.channels;              \
                                                                              \
        for (int64_t i = begin; i < end; i++)                                 \
            area_row_##name(j,                                                \
                            (const T *)j->r.x +                               \
                                i / high * j->r.in[0] * j->r.in[1] * depth,   \
                            i % high,                                         \
                            (float *)j->r.y + i * j->r.out[1] * depth);       \
    }
TFD_IMAGE_TYPES_AND_BFLOAT16(AREA)

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code new_spans(const struct tfd_resize *r,
                               struct tfd_buffer **out, struct tfd_status *st)
{
    *out = tfd_buffer_new((size_t)r->out[1] * sizeof(struct span));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the weights of %lld columns",
                        (long long)r->out[1]);
    for (int64_t i = 0; i < r->out[1]; i++)
        ((struct span *)(*out)->data)[i] = span_at(i, r->scale[1]);
    return TFD_OK;
}

static enum tfd_code area_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j;
    struct tfd_buffer *spans;
    double cost; /* of every pixel of the image, or of the result */

    TFD_TRY(tfd_resize_begin(k, &j.r, TFD_FLOAT, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(new_spans(&j.r, &spans, st));
    j.columns = spans->data;
    j.scale = (float)(1.0 / (double)(j.r.scale[0] * j.r.scale[1]));
    cost = 3 * (double)(j.r.scale[0] > 1 ? j.r.scale[0] : 1) *
           (double)j.r.channels *
           (double)(j.r.in[1] > j.r.out[1] ? j.r.in[1] : j.r.out[1]);
    tfd_kctx_parallel(k, j.r.batch * j.r.out[0], tfd_resize_cost(cost),
                      k->kernel->range, &j);
    tfd_buffer_unref(spans);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ResizeArea",
        .inputs = "images: T, size: int32",
        .outputs = "resized_images: float",
        .attrs = "T: {int8, uint8, int16, uint16, int32, int64, half, float, "
                 "double, bfloat16}; align_corners: bool = false",
        .shape = tfd_resize_shape,
    },
};

#define KERNELS(name, T, TO)                                  \
    TFD_KERNEL("ResizeArea", name, area_compute, area_##name, \
               .prepare = tfd_resize_prepare,                 \
               .state_size = sizeof(struct tfd_resize_state)),

static const struct tfd_kernel kernels[] = {
    TFD_IMAGE_TYPES_AND_BFLOAT16(KERNELS)};

const struct tfd_family tfd_family_resize_area = {
    .name = "resize_area",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
