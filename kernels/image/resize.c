/*
 * resize.c - images of another size by filters: ResizeBilinear and
 * ResizeBicubic, whose results are floats.
 *
 * A row of the result is made from two rows of the image, or from four; those
 * are made one first, so that long loops go over columns and channels at once.
 * Where bilinear rows of the result are as many as the image's, or more, a row
 * of the image is stretched once for all that are made from it.
 */
#include "common/thread/halt.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/image/resize.h"
#include "kernels/vector/simd.h"

struct job {
    struct tfd_resize r;
    const struct tfd_resize_taps *columns;
    bool same; /* nothing changes but the type */
};

/* ---- ResizeBilinear ------------------------------------------------------ */

/* The first channel of the next pixel is computed for nothing, and then written
 * by its own turn. */
#define LANES(name, p) tfd_resize_lanes_##name(p)

#define STRETCHED_MAX 4096 /* floats of a row; two lie on the stack */

struct mix {
    const float *above, *below;
    float *y, weight;
};

TFD_SIMD_LOOP(mix_rows)
{
    const struct mix *m = arg;
    float *restrict y = m->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = m->above[i] + (m->below[i] - m->above[i]) * m->weight;
}
TFD_SIMD_CLONES(mix_rows)

static bool is_stretched(const struct job *j)
{
    return j->r.out[0] >= j->r.in[0] && j->r.out[1] <= STRETCHED_MAX &&
           j->r.channels <= STRETCHED_MAX / j->r.out[1];
}

/* A row of the image with the columns of the result. */
#define STRETCH(name, T, TO)                                                   \
    static inline __attribute__((always_inline)) void stretch_from_##name(     \
        const struct job *j, int64_t first, const T *row, int64_t depth,       \
        float *restrict y)                                                     \
    {                                                                          \
        y += first * depth;                                                    \
        for (int64_t x = first; x < j->r.out[1]; x++, y += depth) {            \
            const struct tfd_resize_taps *t = &j->columns[x];                  \
            const int64_t left = t->at[0] * depth, right = t->at[1] * depth;   \
                                                                               \
            for (int64_t c = 0; c < depth; c++) {                              \
                const float a = TO(row[left + c]);                             \
                                                                               \
                y[c] = a + (TO(row[right + c]) - a) * t->weight[1];            \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    /* As blend_lanes. */                                                      \
    static int64_t stretch_lanes_##name(const struct job *j, const T *row,     \
                                        float *y)                              \
    {                                                                          \
        const int64_t last = j->r.in[1] - 1;                                   \
        int64_t x = 0;                                                         \
                                                                               \
        for (; x + 1 < j->r.out[1]; x++, y += 3) {                             \
            const struct tfd_resize_taps *t = &j->columns[x];                  \
            tfd_resize_lanes a;                                                \
                                                                               \
            if (t->at[0] >= last || t->at[1] >= last)                          \
                break;                                                         \
            a = LANES(name, row + t->at[0] * 3);                               \
            a += (LANES(name, row + t->at[1] * 3) - a) * t->weight[1];         \
            memcpy(y, &a, sizeof(a));                                          \
        }                                                                      \
        return x;                                                              \
    }                                                                          \
                                                                               \
    static void stretch_##name(const struct job *j, const T *row, float *y)    \
    {                                                                          \
        int64_t first = 0;                                                     \
                                                                               \
        if (j->r.channels == 3 && TFD_RESIZE_IN_LANES(T))                      \
            first = stretch_lanes_##name(j, row, y);                           \
        if (j->r.channels == 3)                                                \
            stretch_from_##name(j, first, row, 3, y);                          \
        else if (j->r.channels == 1)                                           \
            stretch_from_##name(j, 0, row, 1, y);                              \
        else                                                                   \
            stretch_from_##name(j, 0, row, j->r.channels, y);                  \
    }                                                                          \
                                                                               \
    static void bilinear_stretched_##name(const struct job *j, int64_t begin,  \
                                          int64_t end)                         \
    {                                                                          \
        const int64_t line = j->r.in[1] * j->r.channels;                       \
        const int64_t out_line = j->r.out[1] * j->r.channels;                  \
        float stretched[2][STRETCHED_MAX];                                     \
        const T *of[2] = {NULL, NULL};                                         \
                                                                               \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {               \
            const struct tfd_resize_taps t =                                   \
                tfd_resize_linear(&j->r, TFD_RESIZE_HIGH, i % j->r.out[0]);    \
            const T *image =                                                   \
                (const T *)j->r.x + i / j->r.out[0] * j->r.in[0] * line;       \
            const T *row[] = {image + t.at[0] * line, image + t.at[1] * line}; \
            const int top = of[1] == row[0],                                   \
                      low = row[1] == row[0] ? top : !top;                     \
            struct mix m = {stretched[top], stretched[low],                    \
                            (float *)j->r.y + i * out_line, t.weight[1]};      \
                                                                               \
            if (of[top] != row[0])                                             \
                stretch_##name(j, row[0], stretched[top]);                     \
            of[top] = row[0];                                                  \
            if (of[low] != row[1])                                             \
                stretch_##name(j, row[1], stretched[low]);                     \
            of[low] = row[1];                                                  \
            mix_rows(&m, 0, out_line);                                         \
        }                                                                      \
    }
TFD_IMAGE_TYPES_AND_BFLOAT16(STRETCH)

/* A pixel between four: left and right first, then top and bottom. */
#define BILINEAR(name, T, TO)                                                \
    static inline __attribute__((always_inline)) void blend_##name(          \
        const struct job *j, int64_t first, const T *top, const T *low,      \
        float weight, int64_t depth, float *restrict y)                      \
    {                                                                        \
        y += first * depth;                                                  \
        for (int64_t x = first; x < j->r.out[1]; x++, y += depth) {          \
            const struct tfd_resize_taps *t = &j->columns[x];                \
            const int64_t left = t->at[0] * depth, right = t->at[1] * depth; \
            const float across = t->weight[1];                               \
                                                                             \
            for (int64_t c = 0; c < depth; c++) {                            \
                const float a = TO(top[left + c]), b = TO(low[left + c]);    \
                const float above = a + (TO(top[right + c]) - a) * across;   \
                const float below = b + (TO(low[right + c]) - b) * across;   \
                                                                             \
                y[c] = above + (below - above) * weight;                     \
            }                                                                \
        }                                                                    \
    }                                                                        \
                                                                             \
    /* Those that have a next pixel, in the result and in the image. */      \
    static int64_t blend_lanes_##name(const struct job *j, const T *top,     \
                                      const T *low, float weight, float *y)  \
    {                                                                        \
        const int64_t last = j->r.in[1] - 1;                                 \
        int64_t x = 0;                                                       \
                                                                             \
        for (; x + 1 < j->r.out[1]; x++, y += 3) {                           \
            const struct tfd_resize_taps *t = &j->columns[x];                \
            const int64_t left = t->at[0] * 3, right = t->at[1] * 3;         \
            const float across = t->weight[1];                               \
            tfd_resize_lanes a, b;                                           \
                                                                             \
            if (t->at[0] >= last || t->at[1] >= last)                        \
                break;                                                       \
            a = LANES(name, top + left);                                     \
            b = LANES(name, low + left);                                     \
            a += (LANES(name, top + right) - a) * across;                    \
            b += (LANES(name, low + right) - b) * across;                    \
            a += (b - a) * weight;                                           \
            memcpy(y, &a, sizeof(a));                                        \
        }                                                                    \
        return x;                                                            \
    }                                                                        \
                                                                             \
    static void blend_row_##name(const struct job *j, const T *image,        \
                                 const struct tfd_resize_taps *t, float *y)  \
    {                                                                        \
        const int64_t line = j->r.in[1] * j->r.channels;                     \
        const T *top = image + t->at[0] * line,                              \
                *low = image + t->at[1] * line;                              \
        const float weight = t->weight[1];                                   \
        int64_t first = 0;                                                   \
                                                                             \
        if (j->r.channels == 3 && TFD_RESIZE_IN_LANES(T))                    \
            first = blend_lanes_##name(j, top, low, weight, y);              \
        if (j->r.channels == 3)                                              \
            blend_##name(j, first, top, low, weight, 3, y);                  \
        else if (j->r.channels == 1)                                         \
            blend_##name(j, 0, top, low, weight, 1, y);                      \
        else                                                                 \
            blend_##name(j, 0, top, low, weight, j->r.channels, y);          \
    }                                                                        \
                                                                             \
    static void bilinear_##name(void *arg, int64_t begin, int64_t end)       \
    {                                                                        \
        const struct job *j = arg;                                           \
        const int64_t line = j->r.in[1] * j->r.channels;                     \
        const int64_t out_line = j->r.out[1] * j->r.channels;                \
                                                                             \
        if (!j->same && is_stretched(j)) {                                   \
            bilinear_stretched_##name(j, begin, end);                        \
            return;                                                          \
        }                                                                    \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {             \
            const struct tfd_resize_taps t =                                 \
                tfd_resize_linear(&j->r, TFD_RESIZE_HIGH, i % j->r.out[0]);  \
            const T *image =                                                 \
                (const T *)j->r.x + i / j->r.out[0] * j->r.in[0] * line;     \
            float *y = (float *)j->r.y + i * out_line;                       \
                                                                             \
            if (j->same)                                                     \
                for (int64_t e = 0; e < out_line; e++)                       \
                    y[e] = TO(image[t.at[0] * line + e]);                    \
            else                                                             \
                blend_row_##name(j, image, &t, y);                           \
        }                                                                    \
    }
TFD_IMAGE_TYPES_AND_BFLOAT16(BILINEAR)

/* ---- ResizeBicubic ------------------------------------------------------- */

static inline __attribute__((always_inline)) void
mix_pixels(const struct job *j, const float *line, int64_t depth,
           float *restrict y)
{
    for (int64_t x = 0; x < j->r.out[1]; x++, y += depth) {
        const struct tfd_resize_taps *t = &j->columns[x];
        const float *a = line + t->at[0] * depth, *b = line + t->at[1] * depth;
        const float *d = line + t->at[2] * depth, *e = line + t->at[3] * depth;

        for (int64_t c = 0; c < depth; c++)
            y[c] = a[c] * t->weight[0] + b[c] * t->weight[1] +
                   d[c] * t->weight[2] + e[c] * t->weight[3];
    }
}

/* So narrow that it takes few of the image's columns. */
static bool is_narrow(const struct job *j)
{
    return TFD_RESIZE_TAPS * j->r.out[1] < j->r.in[1];
}

static void mix_columns(const struct job *j, const float *line, float *y)
{
    if (j->r.channels == 3)
        mix_pixels(j, line, 3, y);
    else
        mix_pixels(j, line, j->r.channels, y);
}

/* Of a narrow result only the columns that it takes are mixed. */
#define BICUBIC(name, T, TO)                                                   \
    static void mix_few_##name(const struct job *j, const T *image,            \
                               const struct tfd_resize_taps *t, float *y)      \
    {                                                                          \
        const int64_t depth = j->r.channels, line = j->r.in[1] * depth;        \
        const T *a = image + t->at[0] * line, *b = image + t->at[1] * line;    \
        const T *d = image + t->at[2] * line, *e = image + t->at[3] * line;    \
                                                                               \
        for (int64_t x = 0; x < j->r.out[1]; x++) {                            \
            const struct tfd_resize_taps *h = &j->columns[x];                  \
                                                                               \
            for (int64_t c = 0; c < depth; c++) {                              \
                float v[TFD_RESIZE_TAPS];                                      \
                                                                               \
                for (int n = 0; n < TFD_RESIZE_TAPS; n++) {                    \
                    const int64_t i = h->at[n] * depth + c;                    \
                                                                               \
                    v[n] = TO(a[i]) * t->weight[0] + TO(b[i]) * t->weight[1] + \
                           TO(d[i]) * t->weight[2] + TO(e[i]) * t->weight[3];  \
                }                                                              \
                *y++ = v[0] * h->weight[0] + v[1] * h->weight[1] +             \
                       v[2] * h->weight[2] + v[3] * h->weight[3];              \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void mix_rows_##name(const T *image, int64_t line,                  \
                                const struct tfd_resize_taps *t, float *y)     \
    {                                                                          \
        const T *a = image + t->at[0] * line, *b = image + t->at[1] * line;    \
        const T *d = image + t->at[2] * line, *e = image + t->at[3] * line;    \
                                                                               \
        for (int64_t i = 0; i < line; i++)                                     \
            y[i] = TO(a[i]) * t->weight[0] + TO(b[i]) * t->weight[1] +         \
                   TO(d[i]) * t->weight[2] + TO(e[i]) * t->weight[3];          \
    }                                                                          \
                                                                               \
    static void bicubic_##name(const struct job *j, int64_t begin,             \
                               int64_t end, float *scratch)                    \
    {                                                                          \
        const int64_t line = j->r.in[1] * j->r.channels;                       \
                                                                               \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {               \
            const struct tfd_resize_taps t =                                   \
                tfd_resize_cubic(&j->r, TFD_RESIZE_HIGH, i % j->r.out[0]);     \
            const T *image =                                                   \
                (const T *)j->r.x + i / j->r.out[0] * j->r.in[0] * line;       \
            float *y = (float *)j->r.y + i * j->r.out[1] * j->r.channels;      \
                                                                               \
            if (is_narrow(j)) {                                                \
                mix_few_##name(j, image, &t, y);                               \
            } else {                                                           \
                mix_rows_##name(image, line, &t, scratch);                     \
                mix_columns(j, scratch, y);                                    \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    static enum tfd_code try_##name(void *arg, int64_t begin, int64_t end,     \
                                    struct tfd_status *st)                     \
    {                                                                          \
        struct tfd_buffer *scratch;                                            \
                                                                               \
        TFD_TRY(new_line(arg, &scratch, st));                                  \
        bicubic_##name(arg, begin, end, scratch->data);                        \
        tfd_buffer_unref(scratch);                                             \
        return TFD_OK;                                                         \
    }

static enum tfd_code new_line(const struct job *j, struct tfd_buffer **out,
                              struct tfd_status *st)
{
    const int64_t n = j->r.in[1] * j->r.channels;

    *out = tfd_buffer_new((size_t)n * sizeof(float));
    return *out ? TFD_OK
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "OOM when allocating a row of %lld floats",
                           (long long)n);
}

TFD_IMAGE_TYPES_AND_BFLOAT16(BICUBIC)

static tfd_try_fn *bicubic_of(enum tfd_dtype dtype)
{
#define BICUBIC_CASE(name, T, TO) \
    case TFD_##name:              \
        return try_##name;
    switch (dtype) {
        TFD_IMAGE_TYPES_AND_BFLOAT16(BICUBIC_CASE)
    default:
        return NULL;
    }
}

/* ---- Kernels ------------------------------------------------------------- */

static enum tfd_code bilinear_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j;
    struct tfd_buffer *columns;

    TFD_TRY(tfd_resize_begin(k, &j.r, TFD_FLOAT, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(tfd_resize_columns(&j.r, tfd_resize_linear, &columns, st));
    j.columns = columns->data;
    j.same = j.r.in[0] == j.r.out[0] && j.r.in[1] == j.r.out[1];
    tfd_kctx_parallel(k, j.r.batch * j.r.out[0],
                      tfd_resize_cost(2 * (double)(j.r.out[1] * j.r.channels)),
                      k->kernel->range, &j);
    tfd_buffer_unref(columns);
    return TFD_OK;
}

static enum tfd_code bicubic_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct job j = {.same = false};
    struct tfd_buffer *columns;
    enum tfd_code rc;
    int64_t wide;

    TFD_TRY(tfd_resize_begin(k, &j.r, TFD_FLOAT, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    TFD_TRY(tfd_resize_columns(&j.r, tfd_resize_cubic, &columns, st));
    j.columns = columns->data;
    wide =
        is_narrow(&j) ? TFD_RESIZE_TAPS * j.r.out[1] : j.r.in[1] + j.r.out[1];
    rc = tfd_kctx_try(k, j.r.batch * j.r.out[0],
                      tfd_resize_cost(4 * (double)(wide * j.r.channels)),
                      bicubic_of(k->in[0].dtype), &j, st);
    tfd_buffer_unref(columns);
    return rc;
}

/* ---- Gradients ----------------------------------------------------------- */

static const char *const grad_attrs[] = {"align_corners", "half_pixel_centers",
                                         NULL};

static enum tfd_code bilinear_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[0]};

    tfd_gradient_copying(&b, "ResizeBilinearGrad", in, 2, grad_attrs, &g->dx[0],
                         1);
    return b.code;
}

/* None for an image that is neither float nor double, as in TensorFlow. */
static enum tfd_code bicubic_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[0]};
    const enum tfd_dtype dtype = tfd_gradient_dtype(&b, g->x[0]);

    if (dtype == TFD_FLOAT || dtype == TFD_DOUBLE)
        tfd_gradient_copying(&b, "ResizeBicubicGrad", in, 2, grad_attrs,
                             &g->dx[0], 1);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define RESIZE(name_, grad_)                                              \
    {                                                                     \
        .name = name_, .inputs = "images: T, size: int32",                \
        .outputs = "resized_images: float",                               \
        .attrs = "T: {int8, uint8, int16, uint16, int32, int64, half, "   \
                 "float, double, bfloat16}; align_corners: bool = false;" \
                 " half_pixel_centers: bool = false",                     \
        .shape = tfd_resize_shape, .grad = grad_,                         \
    }

static const struct tfd_opdef ops[] = {
    RESIZE("ResizeBilinear", bilinear_gradient),
    RESIZE("ResizeBicubic", bicubic_gradient),
};

#define STATE \
    .prepare = tfd_resize_prepare, .state_size = sizeof(struct tfd_resize_state)
#define KERNELS(name, T, TO)                                              \
    TFD_KERNEL("ResizeBilinear", name, bilinear_compute, bilinear_##name, \
               STATE),                                                    \
        TFD_KERNEL("ResizeBicubic", name, bicubic_compute, STATE),

static const struct tfd_kernel kernels[] = {
    TFD_IMAGE_TYPES_AND_BFLOAT16(KERNELS)};

const struct tfd_family tfd_family_resize = {
    .name = "resize",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
