/*
 * fft_lines.c - see fft_lines.h.
 *
 * Lines are copied to memory of a thread, transformed, and copied to where they
 * belong: as many at once as a vector has lanes, or, where there are fewer or
 * so long ones that they would leave the cache, one.
 */
#include "kernels/signal/fft_lines.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"

#include <string.h>

/* Lines whose cells take more are transformed one by one. */
#define COLUMNS_SIZE_MAX ((size_t)16 << 20)
/* And rows that have parts; in double precision lanes win only where all lines
 * together leave the cache, as they ask memory for more at a time, and in
 * single precision so do somewhat longer ones. */
#define PARTED_SIZE_MAX ((size_t)96 << 10)
#define PARTED_FAR_SIZE_MAX ((size_t)192 << 10)
#define CACHED_SIZE_MAX ((size_t)2 << 20)
/* And those that are convolved: they leave the cache. */
#define CONVOLVED_SIZE_MAX ((size_t)192 << 10)
/* So many bytes of rows are transformed at once. */
#define ROWS_SIZE_MAX ((size_t)4 << 10)

/* Lines of fewer real numbers are transformed in double precision. */
#define SINGLE_REALS_MIN 16

struct job {
    const struct tfd_fft_copy *copy;
    const struct tfd_fft_lines *lines;
    const struct tfd_fft_plan *plan;
    int64_t count; /* lines */
    int at_once;
    bool rows;
    bool floats;   /* whose plan has doubles, */
    bool widened;  /* which they become first */
    size_t memory; /* bytes */
};

struct tfd_fft_side tfd_fft_side(void *data, const int64_t *size,
                                 enum tfd_fft_kind kind)
{
    struct tfd_fft_side s = {.data = data, .kind = kind};
    int64_t stride = 1;

    for (int i = TFD_FFT_AXES - 1; i >= 0; i--) {
        s.stride[i] = stride;
        stride *= size[i];
    }
    return s;
}

/* How far from the first element the line of this number begins. */
static int64_t line_offset(const struct tfd_fft_lines *l, int64_t line,
                           const struct tfd_fft_side *side)
{
    int64_t offset = 0;

    for (int i = TFD_FFT_AXES - 1; i > 0; i--) {
        if (i == l->axis || l->count[i] == 1)
            continue;
        offset += line % l->count[i] * side->stride[i];
        line /= l->count[i];
    }
    return offset + line * side->stride[0];
}

/* The axis along which lines follow each other. */
static int next_axis(const struct tfd_fft_lines *l)
{
    int i = TFD_FFT_AXES - 1;

    while (i > 0 && (i == l->axis || l->count[i] == 1))
        i--;
    return i;
}

/* The offsets of `count` lines from the first one on; lanes that are too many
 * have that of the first. */
static void find_offsets(const struct job *j, const struct tfd_fft_side *side,
                         int64_t first, int count, int64_t *offset)
{
    const struct tfd_fft_lines *l = j->lines;
    const int axis = next_axis(l);
    const bool in_a_row = count == 1 || axis == 0 ||
                          first % l->count[axis] + count <= l->count[axis];

    offset[0] = line_offset(l, first, side);
    for (int i = 1; i < j->at_once; i++)
        offset[i] = i >= count ? offset[0]
                    : in_a_row ? offset[0] + i * side->stride[axis]
                               : line_offset(l, first + i, side);
}

static void find_ends(const struct job *j, const struct tfd_fft_side *side,
                      int64_t first, int count, struct tfd_fft_ends *e)
{
    const size_t size = (j->lines->is_double ? sizeof(double) : sizeof(float)) *
                        (side->kind == TFD_FFT_REAL ? 1 : 2);
    int64_t offset[TFD_FFT_LANES_MAX];

    find_offsets(j, side, first, count, offset);
    e->step = side->stride[j->lines->axis];
    e->kind = side->kind;
    e->beside = count == j->copy->lanes && side->kind == TFD_FFT_COMPLEX;
    for (int i = 0; i < j->at_once; i++) {
        e->lane[i] = (char *)side->data + (size_t)offset[i] * size;
        e->beside = e->beside && offset[i] == offset[0] + i;
    }
}

/* Doubles of a widened line. */
static int64_t wide_line(const struct tfd_fft_lines *l)
{
    return (2 * l->length + 2 + 7) / 8 * 8;
}

/* Elements of a line on a side, and numbers of one. */
static int64_t elements_of(const struct tfd_fft_lines *l,
                           const struct tfd_fft_side *side)
{
    return side->kind == TFD_FFT_HALF ? l->length / 2 + 1 : l->length;
}

static int parts_of(const struct tfd_fft_side *side)
{
    return side->kind == TFD_FFT_REAL ? 1 : 2;
}

static bool are_complex(const struct tfd_fft_lines *l)
{
    return l->from.kind == TFD_FFT_COMPLEX && l->to.kind == TFD_FFT_COMPLEX;
}

static void widen_line(const float *x, int64_t step, int64_t count, int parts,
                       double *y)
{
    if (step == 1) {
        for (int64_t j = 0; j < count * parts; j++)
            y[j] = (double)x[j];
        return;
    }
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < parts; i++)
            y[parts * j + i] = (double)x[parts * j * step + i];
}

static void narrow_line(const double *x, int64_t count, int parts, float *y,
                        int64_t step)
{
    if (step == 1) {
        for (int64_t j = 0; j < count * parts; j++)
            y[j] = (float)x[j];
        return;
    }
    for (int64_t j = 0; j < count; j++)
        for (int i = 0; i < parts; i++)
            y[parts * j * step + i] = (float)x[parts * j + i];
}

static void run_group(const struct job *j, const struct tfd_fft_group *g)
{
    if (j->rows)
        j->copy->run_rows(g);
    else if (j->floats)
        j->copy->run_floats(g);
    else
        j->copy->run_lanes(g);
}

/* By way of doubles at `wide`, in place. */
static void run_widened(const struct job *j, const struct tfd_fft_group *given,
                        double *wide)
{
    const struct tfd_fft_lines *l = j->lines;
    struct tfd_fft_group g = *given;

    for (int i = 0; i < j->at_once; i++) {
        double *at = wide + (i < g.count ? i : 0) * wide_line(l);

        if (i < g.count)
            widen_line(g.from.lane[i], g.from.step, elements_of(l, &l->from),
                       parts_of(&l->from), at);
        g.from.lane[i] = g.to.lane[i] = at;
    }
    g.from.step = g.to.step = 1;
    g.from.beside = g.to.beside = false;
    run_group(j, &g);
    for (int i = 0; i < g.count; i++)
        narrow_line(g.to.lane[i], elements_of(l, &l->to), parts_of(&l->to),
                    given->to.lane[i], given->to.step);
}

static enum tfd_code run_groups(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    const struct job *j = arg;
    const struct tfd_fft_lines *l = j->lines;
    struct tfd_fft_group g = {
        .plan = j->plan, .length = l->length, .inverse = l->inverse};
    struct tfd_buffer *b = tfd_buffer_new(j->memory);

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a Fourier transform of length %lld",
                        (long long)l->length);
    g.memory = b->data;
    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        const int64_t first = i * j->at_once, left = j->count - first;

        g.count = left < j->at_once ? (int)left : j->at_once;
        find_ends(j, &l->from, first, g.count, &g.from);
        find_ends(j, &l->to, first, g.count, &g.to);
        if (j->widened)
            run_widened(j, &g,
                        (double *)((char *)b->data + j->memory) -
                            j->at_once * wide_line(l));
        else
            run_group(j, &g);
    }
    tfd_buffer_unref(b);
    return TFD_OK;
}

/* Nanoseconds, about. */
static int cost_of_line(int64_t length)
{
    int64_t cost = length;

    for (int64_t n = length; n > 1; n /= 4)
        cost += length / 2;
    return cost < INT32_MAX ? (int)cost : INT32_MAX;
}

/* Rows that can be transformed on vectors are, one by one, where lanes of them
 * would take too much of the cache: their cells take a part of that, and are
 * transposed once.  Convolutions are, too, if there are few: gathering numbers
 * takes longer. */
static void choose_way(struct job *j)
{
    const struct tfd_fft_plan *p = j->plan;
    const size_t number = p->single ? sizeof(float) : sizeof(double);
    const size_t size = (size_t)p->length * number * 2;
    const size_t lanes_size = size * (size_t)j->copy->lanes;
    const bool few = j->count < j->copy->lanes;
    const bool cached = size * (size_t)j->count <= CACHED_SIZE_MAX;
    const size_t most =
        p->single && !cached ? PARTED_FAR_SIZE_MAX : PARTED_SIZE_MAX;
    const bool alone = p->part
                           ? few || lanes_size > most || (cached && !p->single)
                           : p->inner && p->inner->part &&
                                 (few || lanes_size > CONVOLVED_SIZE_MAX);
    const bool rows = j->lines->from.stride[j->lines->axis] == 1;
    int at_once = (int)(ROWS_SIZE_MAX / size);

    j->rows = lanes_size > COLUMNS_SIZE_MAX || j->count < 2 || (alone && rows);
    at_once = at_once < 1 || !p->part       ? 1
              : at_once > TFD_FFT_LANES_MAX ? TFD_FFT_LANES_MAX
                                            : at_once;
    j->at_once = j->rows ? at_once : j->copy->lanes;
    j->memory = number * (j->rows ? (size_t)at_once * tfd_fft_row_memory(p)
                                  : tfd_fft_lanes_memory(p));
    j->memory = (j->memory + 63) / 64 * 64;
    j->widened = !p->single && !j->lines->is_double;
    j->floats = j->widened && !j->rows && p->inner && are_complex(j->lines);
    j->widened = j->widened && !j->floats;
    if (j->widened)
        j->memory += (size_t)j->at_once * (size_t)wide_line(j->lines) * number;
}

/* The plan's length: of real numbers pairs are one complex number each. */
static int64_t planned_length(const struct tfd_fft_lines *l)
{
    bool reals = l->from.kind == TFD_FFT_REAL || l->to.kind == TFD_FFT_REAL;

    return reals && l->length % 2 == 0 ? l->length / 2 : l->length;
}

/* Whether lines are transformed in single precision.  Of few real numbers those
 * that TensorFlow makes of real ones alone would be nearer. */
static bool is_single(const struct job *j, int64_t length)
{
    const struct tfd_fft_lines *l = j->lines;
    const bool reals = parts_of(&l->from) == 1 || parts_of(&l->to) == 1;
    const int64_t lanes = tfd_fft_lanes_copy(true)->lanes;
    const bool parted = length % lanes == 0 && length / lanes >= lanes;
    const size_t size = 2 * sizeof(float) * (size_t)(length * lanes);

    return !l->is_double && tfd_fft_plan_is_direct(length) &&
           !(reals && l->length < SINGLE_REALS_MIN) &&
           (parted || (j->count > 1 && size <= COLUMNS_SIZE_MAX));
}

enum tfd_code tfd_fft_lines_run(struct tfd_kctx *k,
                                const struct tfd_fft_lines *lines,
                                struct tfd_status *st)
{
    const int64_t length = planned_length(lines);
    struct job j = {.lines = lines, .count = 1};
    struct tfd_fft_plan *plan;
    int64_t cost;
    bool single;
    enum tfd_code rc;

    for (int i = 0; i < TFD_FFT_AXES; i++)
        j.count *= i == lines->axis ? 1 : lines->count[i];
    single = is_single(&j, length);
    TFD_TRY(tfd_fft_plan_get(length, single, &plan, st));
    j.plan = plan;
    j.copy = tfd_fft_lanes_copy(single);
    choose_way(&j);
    cost = (int64_t)cost_of_line(lines->length) * j.at_once;
    rc = tfd_kctx_try(k, (j.count + j.at_once - 1) / j.at_once,
                      cost < INT32_MAX ? (int)cost : INT32_MAX, run_groups, &j,
                      st);
    tfd_fft_plan_unref(plan);
    return rc;
}
