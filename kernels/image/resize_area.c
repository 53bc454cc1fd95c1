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

/* The first pixel, `inner` whole ones behind it, and the last one, if there are
 * several.  A span may stand out of the image by rounding; then the image's
 * last pixel counts again, `again` times as a whole one. */
struct span {
    int64_t first_at, last_at, inner, again;
    bool several;
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

static struct span span_at(int64_t i, float scale, int64_t width)
{
    const float at = (float)i * scale, to = (float)(i + 1) * scale;
    const int64_t start = (int64_t)floorf(at), end = (int64_t)ceilf(to);
    const int64_t whole = end - 1 < width ? end - 1 : width;
    struct span s = {.first_at = tfd_resize_bound(start, width),
                     .last_at = tfd_resize_bound(end - 1, width),
                     .several = start + 1 != end};

    if (start + 1 < whole)
        s.inner = whole - start - 1;
    if (end - start - 2 > s.inner)
        s.again = end - start - 2 - s.inner;
    s.first = part(start, at, to, scale);
    s.last = (float)end > to ? to - (float)(end - 1) : 1;
    return s;
}

/* ---- Loops --------------------------------------------------------------- */

#define FEW 4 /* channels */

#define LANES(name, p) tfd_resize_lanes_##name(p)

/* Rows of the image that a row of the result covers, where they are few. */
#define LINES_MAX 8

struct lines {
    const void *row[LINES_MAX];
    float weight[LINES_MAX];
    int count;
};

#define AREA(name, T, TO)                                                      \
    static inline __attribute__((always_inline)) float sum_of_##name(          \
        const T *row, int64_t depth, int64_t width, const struct span *s)      \
    {                                                                          \
        const T *x = row + s->first_at * depth;                                \
        float sum = TO(*x) * s->first;                                         \
                                                                               \
        if (!s->several)                                                       \
            return sum;                                                        \
        for (int64_t i = 0; i < s->inner; i++)                                 \
            sum += TO(*(x += depth));                                          \
        for (int64_t i = 0; i < s->again; i++)                                 \
            sum += TO(row[(width - 1) * depth]);                               \
        return sum + TO(row[s->last_at * depth]) * s->last;                    \
    }                                                                          \
                                                                               \
    /* Of a few channels the sums of a pixel stay in registers. */             \
    static inline __attribute__((always_inline)) void add_few_##name(          \
        const struct job *j, int64_t from, const T *row, int depth,            \
        float weight, float *restrict y)                                       \
    {                                                                          \
        const T *end = row + (j->r.in[1] - 1) * depth;                         \
        const struct span *s = j->columns + from;                              \
                                                                               \
        y += from * depth;                                                     \
        for (int64_t n = j->r.out[1] - from; n > 0; n--, y += depth, s++) {    \
            const T *x = row + s->first_at * depth;                            \
            float sum[FEW];                                                    \
                                                                               \
            for (int c = 0; c < depth; c++)                                    \
                sum[c] = TO(x[c]) * s->first;                                  \
            for (int64_t i = 0; i < s->inner; i++)                             \
                for (int c = 0; c < depth; c++)                                \
                    sum[c] += TO((x + (i + 1) * depth)[c]);                    \
            for (int64_t i = 0; i < s->again; i++)                             \
                for (int c = 0; c < depth; c++)                                \
                    sum[c] += TO(end[c]);                                      \
            if (s->several)                                                    \
                for (int c = 0; c < depth; c++)                                \
                    sum[c] += TO((row + s->last_at * depth)[c]) * s->last;     \
            for (int c = 0; c < depth; c++)                                    \
                y[c] += sum[c] * weight;                                       \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void add_row_##name(const struct job *j, int64_t from,              \
                               const T *row, int64_t depth, float weight,      \
                               float *y)                                       \
    {                                                                          \
        const struct span *s = j->columns;                                     \
                                                                               \
        if (depth == 1)                                                        \
            add_few_##name(j, from, row, 1, weight, y);                        \
        else if (depth == 3)                                                   \
            add_few_##name(j, from, row, 3, weight, y);                        \
        else if (depth == 4)                                                   \
            add_few_##name(j, from, row, 4, weight, y);                        \
        else                                                                   \
            for (int64_t x = 0; x < j->r.out[1]; x++, y += depth, s++)         \
                for (int64_t c = 0; c < depth; c++)                            \
                    y[c] +=                                                    \
                        sum_of_##name(row + c, depth, j->r.in[1], s) * weight; \
    }                                                                          \
                                                                               \
    /* Of three channels, with the first of the next pixel, for nothing: it is \
     * written by its own turn.  Those that have a next pixel in the result    \
     * and in the image; how many. */                                          \
    static int64_t area_lanes_##name(const struct job *j,                      \
                                     const struct lines *l, float *y)          \
    {                                                                          \
        const struct span *s = j->columns;                                     \
        int64_t x = 0;                                                         \
                                                                               \
        for (;                                                                 \
             x + 1 < j->r.out[1] && s->last_at + 1 < j->r.in[1] && !s->again;  \
             x++, s++, y += 3) {                                               \
            tfd_resize_lanes all = {0};                                        \
                                                                               \
            for (int v = 0; v < l->count; v++) {                               \
                const T *at = (const T *)l->row[v] + s->first_at * 3;          \
                tfd_resize_lanes sum = LANES(name, at) * s->first;             \
                                                                               \
                for (int64_t i = 0; i < s->inner; i++) {                       \
                    at += 3;                                                   \
                    sum += LANES(name, at);                                    \
                }                                                              \
                at = (const T *)l->row[v] + s->last_at * 3;                    \
                if (s->several)                                                \
                    sum += LANES(name, at) * s->last;                          \
                all += sum * l->weight[v];                                     \
            }                                                                  \
            all *= j->scale;                                                   \
            memcpy(y, &all, sizeof(all));                                      \
        }                                                                      \
        return x;                                                              \
    }                                                                          \
                                                                               \
    static int64_t area_few_##name(const struct job *j, const T *image,        \
                                   int64_t i, float *y)                        \
    {                                                                          \
        const float scale = j->r.scale[0];                                     \
        const float at = (float)i * scale, to = (float)(i + 1) * scale;        \
        const int64_t begin = (int64_t)floorf(at), end = (int64_t)ceilf(to);   \
        struct lines l = {.count = 0};                                         \
                                                                               \
        if (j->r.channels != 3 || !TFD_RESIZE_IN_LANES(T) ||                   \
            end - begin > LINES_MAX)                                           \
            return 0;                                                          \
        for (int64_t v = begin; v < end; v++) {                                \
            l.row[l.count] =                                                   \
                image + tfd_resize_bound(v, j->r.in[0]) * j->r.in[1] * 3;      \
            l.weight[l.count++] = part(v, at, to, scale);                      \
        }                                                                      \
        return area_lanes_##name(j, &l, y);                                    \
    }                                                                          \
                                                                               \
    static void area_row_##name(const struct job *j, const T *image,           \
                                int64_t i, float *y)                           \
    {                                                                          \
        const int64_t depth = j->r.channels, n = j->r.out[1] * depth;          \
        const float scale = j->r.scale[0];                                     \
        const float at = (float)i * scale, to = (float)(i + 1) * scale;        \
        const int64_t from = area_few_##name(j, image, i, y);                  \
                                                                               \
        for (int64_t e = from * depth; e < n; e++)                             \
            y[e] = 0;                                                          \
        for (int64_t v = (int64_t)floorf(at);                                  \
             v < (int64_t)ceilf(to) && !tfd_halted(); v++) {                   \
            const T *row =                                                     \
                image + tfd_resize_bound(v, j->r.in[0]) * j->r.in[1] * depth;  \
                                                                               \
            add_row_##name(j, from, row, depth, part(v, at, to, scale), y);    \
        }                                                                      \
        for (int64_t e = from * depth; e < n; e++)                             \
            y[e] *= j->scale;                                                  \
    }                                                                          \
                                                                               \
    static void area_##name(void *arg, int64_t begin, int64_t end)             \
    {                                                                          \
        const struct job *j = arg;                                             \
        const int64_t high = j->r.out[0], depth = j->r.channels;               \
                                                                               \
        for (int64_t i = begin; i < end && !tfd_halted(); i++)                 \
            area_row_##name(j,                                                 \
                            (const T *)j->r.x +                                \
                                i / high * j->r.in[0] * j->r.in[1] * depth,    \
                            i % high,                                          \
                            (float *)j->r.y + i * j->r.out[1] * depth);        \
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
        ((struct span *)(*out)->data)[i] = span_at(i, r->scale[1], r->in[1]);
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
