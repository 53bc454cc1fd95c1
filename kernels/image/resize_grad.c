/*
 * resize_grad.c - gradients of images resized by filters: ResizeBilinearGrad
 * and ResizeBicubicGrad.
 *
 * Each pixel of the gradient is added to the pixels that it was made of, with
 * the weights that they had.  Rows of the result are shared out; each thread
 * goes through all rows of the gradient and adds to rows of its own, so that
 * an element gets its terms in the same order by however many threads.
 */
#include "common/thread/halt.h"
#include "kernels/core/families.h"
#include "kernels/image/resize.h"
#include "kernels/vector/narrow.h"

#include <string.h>

/* r: in is the size of the image, out that of the gradient. */
struct job {
    struct tfd_resize r;
    const struct tfd_resize_taps *columns;
    const float *runs; /* NULL: none */
    tfd_resize_tap_fn *taps;
    int tap_count;
};

/* Of one or three channels the taps of a column lie in one run, borders apart:
 * all numbers of it are added to at once, with a weight for each in j->runs.
 * Every element gets the same terms in the same order as one by one. */
#define RUN_MAX (3 * TFD_RESIZE_TAPS)

static bool is_run(const struct tfd_resize_taps *t, int n)
{
    return t->at[n - 1] - t->at[0] == n - 1;
}

/* A row of the gradient, to those of the four rows that are not NULL, none of
 * which is anything that is read. */
#define SPREAD(name, T, P)                                                     \
    static inline __attribute__((always_inline)) void run_##name(              \
        const float *restrict dy, const float *restrict weights,               \
        const struct tfd_resize_taps *restrict rows, T *const *restrict to,    \
        int64_t first, int n, int depth)                                       \
    {                                                                          \
        float d[RUN_MAX];                                                      \
                                                                               \
        for (int i = 0; i < n * depth; i++)                                    \
            d[i] = dy[i % depth];                                              \
        for (int e = 0; e < n; e++) {                                          \
            T *restrict y = to[e] ? to[e] + first * depth : NULL;              \
                                                                               \
            for (int i = 0; y && i < n * depth; i++)                           \
                y[i] += (T)((P)d[i] * rows->weight[e] * weights[i]);           \
        }                                                                      \
    }                                                                          \
                                                                               \
    static inline __attribute__((always_inline)) void add_##name(              \
        const struct job *j, const float *restrict dy,                         \
        const struct tfd_resize_taps *restrict rows, T *const *restrict to,    \
        int n, int64_t depth)                                                  \
    {                                                                          \
        for (int64_t x = 0; x < j->r.out[1]; x++, dy += depth) {               \
            const struct tfd_resize_taps *restrict t = &j->columns[x];         \
                                                                               \
            if (depth <= 3 && j->runs && is_run(t, n)) {                       \
                run_##name(dy, j->runs + x * n * depth, rows, to, t->at[0], n, \
                           (int)depth);                                        \
                continue;                                                      \
            }                                                                  \
            for (int e = 0; e < n; e++)                                        \
                for (int f = 0; to[e] && f < n; f++) {                         \
                    T *y = to[e] + t->at[f] * depth;                           \
                                                                               \
                    for (int64_t c = 0; c < depth; c++)                        \
                        y[c] +=                                                \
                            (T)((P)dy[c] * rows->weight[e] * t->weight[f]);    \
                }                                                              \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void spread_row_##name(const struct job *j, const float *dy,        \
                                  const struct tfd_resize_taps *rows,          \
                                  T *const *to)                                \
    {                                                                          \
        if (j->r.channels == 3 && j->tap_count == 2)                           \
            add_##name(j, dy, rows, to, 2, 3);                                 \
        else if (j->r.channels == 3)                                           \
            add_##name(j, dy, rows, to, TFD_RESIZE_TAPS, 3);                   \
        else if (j->runs && j->tap_count == 2)                                 \
            add_##name(j, dy, rows, to, 2, 1);                                 \
        else if (j->runs)                                                      \
            add_##name(j, dy, rows, to, TFD_RESIZE_TAPS, 1);                   \
        else                                                                   \
            add_##name(j, dy, rows, to, j->tap_count, j->r.channels);          \
    }                                                                          \
                                                                               \
    static void spread_##name(void *arg, int64_t begin, int64_t end)           \
    {                                                                          \
        const struct job *j = arg;                                             \
        const int64_t high = j->r.in[0], line = j->r.in[1] * j->r.channels;    \
        const int64_t dy_line = j->r.out[1] * j->r.channels;                   \
        T *y = j->r.y;                                                         \
                                                                               \
        memset(y + begin * line, 0,                                            \
               (size_t)((end - begin) * line) * sizeof(T));                    \
        for (int64_t i = begin / high * j->r.out[0];                           \
             i / j->r.out[0] * high < end && !tfd_halted(); i++) {             \
            const struct tfd_resize_taps t =                                   \
                j->taps(&j->r, TFD_RESIZE_HIGH, i % j->r.out[0]);              \
            T *to[TFD_RESIZE_TAPS] = {NULL};                                   \
            bool any = false;                                                  \
                                                                               \
            for (int e = 0; e < j->tap_count; e++) {                           \
                const int64_t row = i / j->r.out[0] * high + t.at[e];          \
                                                                               \
                to[e] = row >= begin && row < end ? y + row * line : NULL;     \
                any = any || to[e];                                            \
            }                                                                  \
            if (any)                                                           \
                spread_row_##name(j, (const float *)j->r.x + i * dy_line, &t,  \
                                  to);                                         \
        }                                                                      \
    }

/* Products are floats, but those of ResizeBicubicGrad in double are not. */
SPREAD(FLOAT, float, float)
SPREAD(DOUBLE, double, float)
SPREAD(WIDE, double, double)

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code check_images(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    static const char *const names[] = {"input_grad", "original_image"};
    static const char *const dims[] = {"resized", "original"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.rank != 4)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be 4-dimensional%s", names[i],
                            tfd_shape_text(&k->in[i].shape, text));
    for (int i = 0; i < 2; i++)
        if (k->in[i].shape.dim[1] <= 0 || k->in[i].shape.dim[2] <= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s dimensions must be positive", dims[i]);
    return TFD_OK;
}

/* The image gives the size alone; batch and channels are the gradient's. */
static enum tfd_code begin(struct tfd_kctx *k, struct tfd_resize *r,
                           struct tfd_status *st)
{
    struct tfd_shape out;

    *r =
        (struct tfd_resize){.state = k->state, .x = tfd_tensor_data(&k->in[0])};
    TFD_TRY(tfd_resize_check_state(r->state, st));
    TFD_TRY(check_images(k, st));
    out = k->in[0].shape;
    r->batch = out.dim[0];
    r->channels = out.dim[3];
    for (int i = 0; i < 2; i++) {
        r->out[i] = k->in[0].shape.dim[1 + i];
        r->in[i] = k->in[1].shape.dim[1 + i];
        r->scale[i] =
            tfd_resize_scale(r->in[i], r->out[i], r->state->align_corners);
    }
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){r->batch, r->in[0], r->in[1], r->channels}, 4, st));
    return tfd_kctx_output(k, 0, k->in[1].dtype, &out, st);
}

/* j->runs, for channels that have any. */
static enum tfd_code make_runs(struct job *j, struct tfd_buffer **out,
                               struct tfd_status *st)
{
    const int64_t depth = j->r.channels, taps = j->tap_count;
    float *to;

    *out = NULL;
    if (depth != 1 && depth != 3)
        return TFD_OK;
    *out = tfd_buffer_new((size_t)(j->r.out[1] * taps * depth) * sizeof(*to));
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the weights of %lld columns",
                        (long long)j->r.out[1]);
    j->runs = to = (*out)->data;
    for (int64_t x = 0; x < j->r.out[1]; x++)
        for (int64_t i = 0; i < taps * depth; i++)
            *to++ = j->columns[x].weight[i / depth];
    return TFD_OK;
}

/* Into j->r.y, by the kernel's loop. */
static enum tfd_code run(struct tfd_kctx *k, struct job *j,
                         struct tfd_status *st)
{
    struct tfd_buffer *columns, *runs;
    enum tfd_code rc;
    const int64_t rows = j->r.batch * j->r.in[0];
    const double cost = 2.0 * j->tap_count * j->tap_count *
                        (double)tfd_tensor_elements(&k->in[0]) / (double)rows;

    TFD_TRY(tfd_resize_columns(&j->r, j->taps, &columns, st));
    j->columns = columns->data;
    rc = make_runs(j, &runs, st);
    if (rc == TFD_OK)
        tfd_kctx_parallel(k, rows, tfd_resize_cost(cost), k->kernel->range, j);
    tfd_buffer_unref(runs);
    tfd_buffer_unref(columns);
    return rc;
}

/* Sums of halves are floats until they are whole. */
static enum tfd_code run_halves(struct tfd_kctx *k, struct job *j,
                                struct tfd_status *st)
{
    struct tfd_tensor sums = TFD_TENSOR_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_tensor_new(&sums, TFD_FLOAT, &k->out[0].shape, st));
    j->r.y = tfd_tensor_data(&sums);
    rc = run(k, j, st);
    if (rc == TFD_OK && !tfd_halted())
        tfd_narrow_round(k->out[0].dtype, j->r.y, tfd_tensor_data(&k->out[0]),
                         tfd_tensor_elements(&k->out[0]));
    tfd_tensor_unref(&sums);
    return rc;
}

static enum tfd_code compute(struct tfd_kctx *k, struct job *j,
                             struct tfd_status *st)
{
    TFD_TRY(begin(k, &j->r, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    if (k->in[1].dtype == TFD_HALF || k->in[1].dtype == TFD_BFLOAT16)
        return run_halves(k, j, st);
    j->r.y = tfd_tensor_data(&k->out[0]);
    return run(k, j, st);
}

static enum tfd_code bilinear_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return compute(k, &(struct job){.taps = tfd_resize_linear, .tap_count = 2},
                   st);
}

static enum tfd_code bicubic_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return compute(k, &(struct job){.taps = tfd_resize_cubic, .tap_count = 4},
                   st);
}

static enum tfd_code grad_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->in[1];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define GRAD(name_, types_, flags_)                                 \
    {                                                               \
        .name = name_, .inputs = "grads: float, original_image: T", \
        .outputs = "output: T",                                     \
        .attrs = "T: {" types_ "}; align_corners: bool = false; "   \
                 "half_pixel_centers: bool = false",                \
        .shape = grad_shape, .flags = flags_,                       \
    }

static const struct tfd_opdef ops[] = {
    GRAD("ResizeBilinearGrad", "float, bfloat16, half, double",
         TFD_OP_NO_GRADIENT),
    GRAD("ResizeBicubicGrad", "float, double", 0),
};

#define STATE \
    .prepare = tfd_resize_prepare, .state_size = sizeof(struct tfd_resize_state)
#define LINEAR(name, loop) \
    TFD_KERNEL("ResizeBilinearGrad", name, bilinear_compute, loop, STATE)
#define CUBIC(name, loop) \
    TFD_KERNEL("ResizeBicubicGrad", name, bicubic_compute, loop, STATE)

static const struct tfd_kernel kernels[] = {
    LINEAR(FLOAT, spread_FLOAT), LINEAR(DOUBLE, spread_DOUBLE),
    LINEAR(HALF, spread_FLOAT),  LINEAR(BFLOAT16, spread_FLOAT),
    CUBIC(FLOAT, spread_FLOAT),  CUBIC(DOUBLE, spread_WIDE),
};

const struct tfd_family tfd_family_resize_grad = {
    .name = "resize_grad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
