/*
 * narrow_loops.c - see narrow_loops.h.
 */
#include "kernels/vector/narrow_loops.h"

#include "kernels/vector/narrow.h"

/* Elements [at, at + n) of an operand, or the one that stands for all, which
 * is there from the first block on. */
static void widen_operand(enum tfd_dtype t, const void *x, int step, int64_t at,
                          int64_t n, bool first, float *wide)
{
    const uint16_t *narrow = x;

    if (step)
        tfd_narrow_widen(t, narrow + at, wide, n);
    else if (first)
        tfd_narrow_widen(t, narrow, wide, 1);
}

/* size: of an element of y; rounds: it is of type t. */
static void run_blocks(enum tfd_dtype t, tfd_range_fn *wide,
                       const struct tfd_row *row, int64_t begin, int64_t end,
                       size_t size, bool rounds)
{
    float a[TFD_NARROW_BLOCK], b[TFD_NARROW_BLOCK], y[TFD_NARROW_BLOCK];
    struct tfd_row block = *row;

    block.a = a;
    block.b = row->b ? b : NULL;
    block.y = y;
    block.far = false;
    for (int64_t at = begin, n; at < end; at += n) {
        void *to = (char *)row->y + (size_t)at * size;

        n = end - at < TFD_NARROW_BLOCK ? end - at : TFD_NARROW_BLOCK;
        widen_operand(t, row->a, row->a_step, at, n, at == begin, a);
        if (row->b)
            widen_operand(t, row->b, row->b_step, at, n, at == begin, b);
        if (!rounds)
            block.y = to;
        wide(&block, 0, n);
        if (rounds)
            tfd_narrow_round(t, y, to, n);
    }
}

void tfd_narrow_row(enum tfd_dtype t, tfd_range_fn *wide,
                    const struct tfd_row *row, int64_t begin, int64_t end)
{
    run_blocks(t, wide, row, begin, end, sizeof(uint16_t), true);
}

void tfd_narrow_into(enum tfd_dtype t, tfd_range_fn *wide, size_t size,
                     const struct tfd_row *row, int64_t begin, int64_t end)
{
    run_blocks(t, wide, row, begin, end, size, false);
}
