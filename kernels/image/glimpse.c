/*
 * glimpse.c - ExtractGlimpse, ExtractGlimpseV2: windows of images around given
 * places, with noise where a window stands out of its image.
 *
 * The first version moves a window by half of its size in every case, the
 * second one only where offsets are normalized and centered.
 *
 * Noise has TensorFlow's distributions (uniform between the least and the
 * largest value of the image; or normal with each channel's mean and deviation,
 * and bounded by its values), but numbers of its own: TensorFlow's come from
 * the clock, and no attribute is a seed.
 */
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "common/thread/pool.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "kernels/random/random_number.h"

#include <math.h>
#include <string.h>

#define NUMBER_COST_NS 10

enum noise { NOISE_UNIFORM, NOISE_GAUSSIAN, NOISE_ZERO };

struct glimpse_state {
    struct tfd_philox_source source;
    bool first_version, centered, normalized;
    enum noise noise;
};

struct glimpsing {
    const struct glimpse_state *state;
    const float *x, *offsets;
    float *y;
    int64_t in[2], out[2]; /* rows, columns */
    int64_t depth;
    struct tfd_philox generator;
    uint64_t blocks; /* of each image */
};

/* ---- Where a window lies ------------------------------------------------- */

static int64_t window_offset(const struct glimpsing *g, int axis, float at)
{
    const struct glimpse_state *s = g->state;
    const float in = (float)g->in[axis], out = (float)g->out[axis];

    if (s->normalized)
        at *= in;
    if (s->centered && (s->normalized || s->first_version))
        at /= 2.0f;
    if (s->centered)
        at += in / 2.0f;
    if (s->first_version || (s->normalized && s->centered))
        at -= out / 2.0f;
    return at > -9e18f && at < 9e18f ? (int64_t)at : INT64_MIN;
}

/* Rows or columns [first, first + count) of the image are `to` and those behind
 * it of the window.  True: TensorFlow fills the window with noise before, which
 * it also does where a window touches the image's end. */
struct overlap {
    int64_t first, to, count;
};

static bool find_overlap(int64_t offset, int64_t in, int64_t out,
                         struct overlap *o)
{
    const bool before = offset < 0;
    const int64_t room = before ? (offset > -out ? out + offset : 0)
                                : (offset < in ? in - offset : 0);
    const int64_t wanted = before ? in : out;

    o->first = before ? 0 : offset;
    o->to = before ? out - room : 0;
    o->count = room < wanted ? room : wanted;
    return before || room <= out;
}

/* ---- Noise --------------------------------------------------------------- */

static void fill_uniform(const struct glimpsing *g, const float *x, float *y,
                         struct tfd_random_draw *draw)
{
    const int64_t count = g->in[0] * g->in[1] * g->depth;
    const int64_t n = g->out[0] * g->out[1] * g->depth;
    float least = INFINITY, most = -INFINITY;

    for (int64_t i = 0; i < count; i++) {
        least = x[i] < least ? x[i] : least;
        most = most < x[i] ? x[i] : most;
    }
    for (int64_t i = 0; i < n; i++) {
        if ((i & 0xfffff) == 0 && tfd_halted())
            return;
        y[i] = least + tfd_random_draw_float(draw) * (most - least);
    }
}

struct channel {
    float mean, deviation, least, most;
};

static struct channel measure_channel(const struct glimpsing *g, const float *x)
{
    const int64_t n = g->in[0] * g->in[1];
    struct channel c = {.least = INFINITY, .most = -INFINITY};
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < n; i++) {
        const float v = x[i * g->depth];

        sum += (double)v;
        c.least = v < c.least ? v : c.least;
        c.most = c.most < v ? v : c.most;
    }
    c.mean = (float)(sum / (double)n);
    for (int64_t i = 0; i < n; i++) {
        const double from_mean = (double)(x[i * g->depth] - c.mean);

        squares += from_mean * from_mean;
    }
    c.deviation = (float)sqrt(squares / (double)n);
    return c;
}

/* By Box and Muller: of two uniform numbers, the first of which is not 0. */
static float draw_normal(struct tfd_random_draw *draw)
{
    const float u = 1.0f - tfd_random_draw_float(draw);
    const float turn = 6.2831853f * tfd_random_draw_float(draw);

    return sqrtf(-2.0f * logf(u)) * cosf(turn);
}

static void fill_normal(const struct glimpsing *g, const float *x, float *y,
                        struct tfd_random_draw *draw)
{
    const int64_t n = g->out[0] * g->out[1];

    for (int64_t j = 0; j < g->depth && !tfd_halted(); j++) {
        const struct channel c = measure_channel(g, x + j);

        for (int64_t i = 0; i < n; i++) {
            float v = c.mean + draw_normal(draw) * c.deviation;

            if ((i & 0xfffff) == 0xfffff && tfd_halted())
                return;
            v = c.most < v ? c.most : v;
            y[i * g->depth + j] = v < c.least ? c.least : v;
        }
    }
}

static void fill_noise(const struct glimpsing *g, int64_t image, const float *x,
                       float *y)
{
    struct tfd_philox generator = g->generator;
    struct tfd_random_draw draw;

    tfd_philox_skip(&generator, g->blocks * (uint64_t)image);
    draw = tfd_random_draw_of(generator);
    switch (g->state->noise) {
    case NOISE_UNIFORM:
        fill_uniform(g, x, y, &draw);
        break;
    case NOISE_GAUSSIAN:
        fill_normal(g, x, y, &draw);
        break;
    case NOISE_ZERO:
        memset(y, 0, (size_t)(g->out[0] * g->out[1] * g->depth) * sizeof(*y));
        break;
    }
}

/* ---- Windows ------------------------------------------------------------- */

/* Finds where image n and its window overlap.  True: there is noise. */
static bool place_window(const struct glimpsing *g, int64_t n,
                         struct overlap o[2])
{
    bool noisy = false;

    for (int i = 0; i < 2; i++)
        if (find_overlap(window_offset(g, i, g->offsets[2 * n + i]), g->in[i],
                         g->out[i], &o[i]))
            noisy = true;
    return noisy;
}

static bool any_noisy(const struct glimpsing *g, int64_t images)
{
    struct overlap o[2];

    for (int64_t n = 0; n < images; n++)
        if (place_window(g, n, o))
            return true;
    return false;
}

static void add_noise(void *arg, int64_t begin, int64_t end)
{
    const struct glimpsing *g = arg;
    struct overlap o[2];

    for (int64_t n = begin; n < end && !tfd_halted(); n++)
        if (place_window(g, n, o))
            fill_noise(g, n, g->x + n * g->in[0] * g->in[1] * g->depth,
                       g->y + n * g->out[0] * g->out[1] * g->depth);
}

/* Rows [begin, end) of the window of image n. */
static void copy_part(const struct glimpsing *g, int64_t n, int64_t begin,
                      int64_t end)
{
    const float *x = g->x + n * g->in[0] * g->in[1] * g->depth;
    float *y = g->y + n * g->out[0] * g->out[1] * g->depth;
    struct overlap o[2];
    int64_t row, last;

    (void)place_window(g, n, o);
    row = tfd_max(begin, o[0].to);
    last = tfd_min(end, o[0].to + o[0].count);
    for (; row < last && o[1].count > 0; row++)
        memcpy(y + (row * g->out[1] + o[1].to) * g->depth,
               x + ((o[0].first + row - o[0].to) * g->in[1] + o[1].first) *
                       g->depth,
               (size_t)(o[1].count * g->depth) * sizeof(*y));
}

/* Rows of all windows, one image after the other. */
static void copy_windows(void *arg, int64_t begin, int64_t end)
{
    const struct glimpsing *g = arg;
    const int64_t rows = g->out[0];

    while (begin < end && !tfd_halted()) {
        const int64_t n = begin / rows, row = begin % rows;
        const int64_t count = tfd_min(rows - row, end - begin);

        copy_part(g, n, row, row + count);
        begin += count;
    }
}

#define SHARED_SIZE (1 << 20) /* bytes from which sharing pays */
#define PIECE_SIZE (1 << 24)  /* of one at most */

/* A piece for each thread: of more pieces the event loop's, which has begun,
 * and all those it wakes would take some, and be more than there are
 * processors (4 MB: 44 us in place of 80).  With the help of the only one it is
 * no faster. */
static void share_windows(struct tfd_kctx *k, struct glimpsing *g,
                          int64_t images)
{
    struct tfd_pool *pool = k->rt ? tfd_rt_pool(k->rt) : NULL;
    const int64_t threads = tfd_max(1, tfd_pool_threads(pool));
    const int64_t rows = images * g->out[0];
    const int64_t row = (int64_t)sizeof(*g->y) * g->out[1] * g->depth;
    const int64_t most = PIECE_SIZE / row + 1;

    if (threads > 1 && rows > SHARED_SIZE / row)
        tfd_pool_parallel(pool, rows,
                          tfd_min(most, (rows + threads - 1) / threads),
                          copy_windows, g);
    else
        copy_windows(g, 0, rows);
}

/* numbers: of a window. */
static void extract_glimpses(struct tfd_kctx *k, struct glimpsing *g,
                             int64_t images, int64_t numbers)
{
    if (any_noisy(g, images))
        tfd_kctx_parallel(k, images,
                          (int)tfd_min(numbers, INT32_MAX / NUMBER_COST_NS) *
                              NUMBER_COST_NS,
                          add_noise, g);
    share_windows(k, g, images);
}

/* ---- Inputs -------------------------------------------------------------- */

static enum tfd_code check_shapes(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *size = &k->in[1].shape;
    const struct tfd_shape *at = &k->in[2].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be 4-dimensional (batch_size, height, "
                        "width, depth)%s",
                        tfd_shape_text(x, text));
    if (size->rank != 1 || size->dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be a vector of size 2 (height, width)%s",
                        tfd_shape_text(size, text));
    for (int i = 0; i < 2; i++)
        if (tfd_check_int_at(&k->in[1], i) < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expected a non-negative size, got %lld",
                            (long long)tfd_check_int_at(&k->in[1], i));
    if (at->rank != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "input must be a matrix%s",
                        tfd_shape_text(at, text));
    if (at->dim[0] != x->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "first dimension should be batch%s",
                        tfd_shape_text(at, text));
    if (at->dim[1] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "second dimension should be of size 2 (y,x)%s",
                        tfd_shape_text(at, text));
    return TFD_OK;
}

static enum tfd_code glimpse_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct glimpse_state *s = k->state;
    struct glimpsing g = {.state = s};
    struct tfd_shape out = k->in[0].shape;
    int64_t numbers; /* of an image */

    TFD_TRY(check_shapes(k, st));
    for (int i = 0; i < 2; i++) {
        g.in[i] = out.dim[1 + i];
        g.out[i] = out.dim[1 + i] = tfd_check_int_at(&k->in[1], i);
    }
    g.depth = out.dim[3];
    TFD_TRY(tfd_shape_make(&out, out.dim, 4, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &out, st));
    numbers = tfd_tensor_elements(&k->out[0]);
    if (numbers == 0)
        return TFD_OK;
    numbers /= out.dim[0];
    g.blocks = (uint64_t)numbers / 2 + 1;
    g.generator =
        tfd_philox_reserve_blocks(&s->source, g.blocks * (uint64_t)out.dim[0]);
    g.x = tfd_tensor_data(&k->in[0]);
    g.offsets = tfd_tensor_data(&k->in[2]);
    g.y = tfd_tensor_data(&k->out[0]);
    extract_glimpses(k, &g, out.dim[0], numbers);
    return TFD_OK;
}

/* ---- The ops ------------------------------------------------------------- */

static enum tfd_code read_noise(const struct tfd_node *n,
                                struct glimpse_state *s, struct tfd_status *st)
{
    static const char *const names[] = {"uniform", "gaussian", "zero"};
    bool uniform;
    struct tfd_str noise;
    int i = 0;

    TFD_TRY(tfd_node_bool(n, "uniform_noise", &uniform, st));
    TFD_TRY(tfd_node_str(n, "noise", &noise, st));
    if (uniform && noise.size > 0 && !tfd_str_is(noise, "uniform"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The uniform_noise and noise could not be specified at "
                        "the same time");
    if (noise.size == 0) {
        s->noise = uniform ? NOISE_UNIFORM : NOISE_GAUSSIAN;
        return TFD_OK;
    }
    while (i < TFD_COUNT(names) && !tfd_str_is(noise, names[i]))
        i++;
    if (i == TFD_COUNT(names))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The noise could only be uniform, gaussian, or zero, "
                        "got" TFD_STR_FMT,
                        TFD_STR_ARG(noise));
    s->noise = (enum noise)i;
    return TFD_OK;
}

static enum tfd_code glimpse_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct glimpse_state *s = state;

    s->first_version = tfd_str_is(p->node->op->name, "ExtractGlimpse");
    TFD_TRY(tfd_node_bool(p->node, "normalized", &s->normalized, st));
    TFD_TRY(tfd_node_bool(p->node, "centered", &s->centered, st));
    TFD_TRY(read_noise(p->node, s, st));
    return tfd_philox_source_init(&s->source, 0, 0, st);
}

static enum tfd_code glimpse_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;
    const struct tfd_tensor *size = s->value ? s->value[1] : NULL;
    struct tfd_shape image = {4, {any, any, any, any}}, two = {1, {2}};
    struct tfd_shape offsets = {2, {any, 2}};

    TFD_TRY(tfd_shape_merge(&image, &s->in[0], st));
    TFD_TRY(tfd_shape_merge(&two, &s->in[1], st));
    TFD_TRY(tfd_shape_merge(&offsets, &s->in[2], st));
    if (image.dim[0] == any)
        image.dim[0] = offsets.dim[0];
    for (int i = 0; i < 2; i++)
        image.dim[1 + i] = size ? tfd_check_int_at(size, i) : any;
    return tfd_shape_make_partial(&s->out[0], image.dim, 4, st);
}

#define GLIMPSES(op, flags_)                                               \
    {                                                                      \
        .name = op, .inputs = "input: float, size: int32, offsets: float", \
        .outputs = "glimpse: float",                                       \
        .attrs = "centered: bool = true; normalized: bool = true; "        \
                 "uniform_noise: bool = true; noise: string = 'uniform'",  \
        .shape = glimpse_shape, .flags = flags_,                           \
    }

static const struct tfd_opdef ops[] = {
    GLIMPSES("ExtractGlimpse", TFD_OP_NO_GRADIENT),
    GLIMPSES("ExtractGlimpseV2", 0),
};

#define STATE \
    .prepare = glimpse_prepare, .state_size = sizeof(struct glimpse_state)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ExtractGlimpse", glimpse_compute, STATE),
    TFD_KERNEL_ANY("ExtractGlimpseV2", glimpse_compute, STATE),
};

const struct tfd_family tfd_family_glimpse = {
    .name = "glimpse",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
