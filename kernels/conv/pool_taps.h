/*
 * pool_taps.h - the elements that windows over images meet, for loops that run
 * along the channels; and rows of their results, whose windows are told once
 * where neighbours have the same.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_POOL_TAPS_H
#define TFD_KERNELS_POOL_TAPS_H

#include "common/thread/halt.h"
#include "kernels/conv/pool_loops.h"

/* The elements of a window that exist: rows and columns of the input. */
struct span {
    int64_t row, rows, column, columns;
    bool large; /* worth asking for each row of it whether to stop */
};

static inline struct span span_of(const struct tfd_pooling_window *p, int64_t y,
                                  int64_t x)
{
    int64_t first, last;
    struct span s;

    tfd_window_inside(&p->row, y, &first, &last);
    s.row = y * p->row.stride - p->row.before + first;
    s.rows = last - first;
    tfd_window_inside(&p->column, x, &first, &last);
    s.column = x * p->column.stride - p->column.before + first;
    s.columns = last - first;
    s.large = s.rows * s.columns > TFD_HALT_BLOCK_ELEMENTS / p->channels;
    return s;
}

static inline bool stops(const struct span *s)
{
    return s->large && tfd_halted();
}

/* Offset of element `i` of a span in its image. */
static inline int64_t offset_of(const struct tfd_pooling_window *p,
                                const struct span *s, int64_t i, int64_t j)
{
    return ((s->row + i) * p->column.in + s->column + j) * p->channels;
}

/* ---- Rows of results -----------------------------------------------------
 *
 * What the elements of a window come to stays in registers, for some channels
 * at a time.  Where windows move by one column, those that lie inside are one
 * run: their pixels are further channels of the first, which meet the same
 * taps.
 */

#define INLINE static inline __attribute__((always_inline))

#define SIZE(T) ((int)sizeof(T))
#define TAPS_MAX 128 /* elements of a window whose places are written down */
#define FEW 8        /* elements of a row, for which that does not pay */

/* What meets an element of y: the offsets of as many elements of x. */
struct taps {
    int count;
    int64_t at[TAPS_MAX];
};

/* Not more than TAPS_MAX. */
static inline void list_taps(const struct tfd_pooling_window *p,
                             const struct span *s, struct taps *taps)
{
    taps->count = 0;
    for (int64_t a = 0; a < s->rows; a++)
        for (int64_t b = 0; b < s->columns; b++)
            taps->at[taps->count++] = offset_of(p, s, a, b);
}

static inline bool is_listed(const struct tfd_pooling_window *p)
{
    return p->row.size <= TAPS_MAX / p->column.size &&
           p->column.out >= FEW / p->channels;
}

/* How many windows from `at` on have the same taps but for where they begin:
 * one, or all those that lie inside. */
static inline int64_t alike(const struct tfd_window_side *c, int64_t at)
{
    const int64_t room = c->in - c->size + c->before;
    int64_t end = room < 0 ? 0 : room / c->stride + 1;

    if (end > c->out)
        end = c->out;
    return at * c->stride >= c->before && at < end ? end - at : 1;
}

/* n neighbours of y, whose taps in x lie side by side. */
typedef void neighbours(const void *x, const struct taps *taps, int64_t n,
                        void *y);

#define AHEAD_SIZE 2048 /* bytes that are asked for at a time */

/* The same in pieces, before each of which as much of the row below is asked
 * for, which is so many bytes behind the last of the taps. */
INLINE void make_run_ahead(const char *x, const struct taps *taps, int64_t n,
                           char *y, int64_t size, int64_t below,
                           neighbours *make)
{
    const int64_t last = taps->at[taps->count - 1] * size + below;

    for (int64_t at = 0, few; at < n; at += few) {
        few = n - at < AHEAD_SIZE / size ? n - at : AHEAD_SIZE / size;
        for (int64_t b = 0; b < few * size; b += 64)
            __builtin_prefetch(x + at * size + last + b);
        make(x + at * size, taps, few, y + at * size);
    }
}

/* Rows, or columns, between the end of a window and what the next one is the
 * first to meet. */
static inline int64_t gap_of(const struct tfd_window_side *s)
{
    return s->stride > s->size ? s->stride - s->size : 0;
}

/* Of a window that moves by more than one column: the rows below it that the
 * one below meets first, as many columns of them as it meets first, too. */
INLINE void ask_below(const struct tfd_pooling_window *p, const struct span *s,
                      const char *x, int64_t size)
{
    const int64_t pitch = p->column.in * p->channels * size;
    const int64_t columns = p->column.stride - gap_of(&p->column);
    const int64_t step = columns * p->channels * size;
    const int64_t end = s->row + s->rows + p->row.stride;

    for (int64_t r = s->row + s->rows + gap_of(&p->row);
         r < end && r < p->row.in; r++)
        for (int64_t b = 0; b < step; b += 64)
            __builtin_prefetch(x + r * pitch + b);
}

/* A row of y, of elements of so many bytes. */
INLINE void make_row(const struct tfd_pooling_window *p, const void *x,
                     int64_t row, void *y, int64_t size, neighbours *make)
{
    const int64_t n = p->channels, gap = gap_of(&p->row);
    int64_t since = 0;
    struct taps taps;

    for (int64_t i = 0, same, run; i < p->column.out; i += same) {
        const struct span s = span_of(p, row, i);

        same = alike(&p->column, i);
        list_taps(p, &s, &taps);
        run = p->column.stride == 1 ? same : 1;
        if (tfd_halted_after(same * n * taps.count, &since))
            return;
        if (p->ahead && run == same && s.row + s.rows + gap < p->row.in &&
            taps.count > 0) {
            make_run_ahead(x, &taps, same * n, (char *)y + i * n * size, size,
                           (1 + gap) * p->column.in * n * size, make);
            continue;
        }
        for (int64_t j = 0; j < same; j += run) {
            const char *from =
                (const char *)x + j * p->column.stride * n * size;

            if (p->ahead && run < same)
                ask_below(p, &s, from + s.column * n * size, size);
            make(from, &taps, run * n, (char *)y + (i + j) * n * size);
        }
    }
}

#endif
