/*
 * xent_halves.c - cross entropies of half and bfloat16, see xent_rows.h.
 *
 * Computed in float by the functions of floats; a block of rows at a time is
 * widened, for which processors have instructions.
 */
#include "kernels/nn/xent/xent_rows.h"

#include "kernels/vector/narrow.h"

#include <math.h>

#define FLOAT_ONLY(X) \
    X(FLOAT, float, float, TFD_ROW_SELF, TFD_ROW_SELF, tfd_row_exp, logf)

FLOAT_ONLY(TFD_ROW_FUNCTIONS)
FLOAT_ONLY(TFD_XENT_SUMS)

#define PART_ROWS 32

/* Some rows, or a part of one that is long, as floats that stay in the first
 * cache. */
struct part {
    float x[TFD_NARROW_BLOCK], labels[TFD_NARROW_BLOCK];
    int64_t n;  /* elements of a row */
    bool dense; /* there are labels */
    struct {
        float max, sum, weight, dot; /* up to here */
    } row[PART_ROWS];
};

TFD_SIMD_LOOP(raise_max)
{
    struct part *p = arg;

    for (int64_t r = begin; r < end; r++) {
        const float max = row_max_FLOAT(p->x + r * p->n, 1, p->n);

        p->row[r].max = TFD_ROW_LARGER(p->row[r].max, max);
    }
}
TFD_SIMD_CLONES_WIDE(raise_max)

/* What is left in x are exponentials. */
TFD_SIMD_LOOP(add_sums)
{
    struct part *p = arg;
    const int64_t n = p->n;

    for (int64_t r = begin; r < end; r++) {
        const float max = p->row[r].max;
        float *x = p->x + r * n, weight = 0;

        if (p->dense)
            p->row[r].dot +=
                xent_sums_FLOAT(x, 1, max, p->labels + r * n, 1, n, &weight);
        p->row[r].weight += weight;
        p->row[r].sum += row_exp_FLOAT(x, 1, n, max, x);
    }
}
TFD_SIMD_CLONES_WIDE(add_sums)

TFD_SIMD_LOOP(make_backprop)
{
    struct part *p = arg;

    for (int64_t r = begin; r < end; r++) {
        const float scale = 1 / p->row[r].sum;

        for (int64_t i = r * p->n; i < (r + 1) * p->n; i++)
            p->x[i] = p->x[i] * scale - p->labels[i];
    }
}
TFD_SIMD_CLONES_WIDE(make_backprop)

/* Columns [at, at + p->n) of `count` rows.  Rows that follow each other are
 * widened as one. */
static void widen_part(enum tfd_dtype t, const uint16_t *x, int64_t row,
                       int64_t step, int64_t at, int64_t count, int64_t n,
                       float *wide)
{
    if (step && row == n) {
        tfd_narrow_widen(t, x + at, wide, count * n);
        return;
    }
    for (int64_t r = 0; r < count; r++, wide += n) {
        tfd_narrow_widen(t, x + r * row + at * step, wide, step ? n : 1);
        for (int64_t i = 1; !step && i < n; i++)
            wide[i] = wide[0];
    }
}

static void widen_x(const struct tfd_xent_rows *rows, int64_t first,
                    int64_t count, int64_t at, struct part *p)
{
    widen_part(rows->dtype, (const uint16_t *)rows->x + first * rows->x_row,
               rows->x_row, rows->x_step, at, count, p->n, p->x);
}

static void widen_labels(const struct tfd_xent_rows *rows, int64_t first,
                         int64_t count, int64_t at, struct part *p)
{
    if (p->dense)
        widen_part(rows->dtype,
                   (const uint16_t *)rows->labels + first * rows->labels_row,
                   rows->labels_row, rows->labels_step, at, count, p->n,
                   p->labels);
}

/* The backprop of `count` rows, one where they are long, and the sums of each.
 * Exponentials are rounded where they wait for the sum of all.  What is not
 * long is widened once. */
static void run_part(const struct tfd_xent_rows *rows, int64_t first,
                     int64_t count, struct part *p)
{
    const int64_t size = rows->size, block = TFD_NARROW_BLOCK;
    uint16_t *y = (uint16_t *)rows->backprop + first * size;
    const enum tfd_dtype t = rows->dtype;

    for (int64_t r = 0; r < count; r++) {
        p->row[r].max = -INFINITY;
        p->row[r].sum = p->row[r].weight = p->row[r].dot = 0;
    }
    for (int64_t at = 0; at < size; at += block) {
        p->n = size - at < block ? size - at : block;
        widen_x(rows, first, count, at, p);
        raise_max(p, 0, count);
    }
    for (int64_t at = 0; at < size; at += block) {
        p->n = size - at < block ? size - at : block;
        if (size > block)
            widen_x(rows, first, count, at, p);
        widen_labels(rows, first, count, at, p);
        add_sums(p, 0, count);
        tfd_narrow_round(t, p->x, y + at, count * p->n);
    }
    for (int64_t at = 0; at < size; at += block) {
        p->n = size - at < block ? size - at : block;
        if (size > block)
            widen_labels(rows, first, count, at, p);
        tfd_narrow_widen(t, y + at, p->x, count * p->n);
        make_backprop(p, 0, count);
        tfd_narrow_round(t, p->x, y + at, count * p->n);
    }
}

/* How many of n rows are a part. */
static int64_t rows_of_part(const struct tfd_xent_rows *rows, int64_t n)
{
    int64_t most = TFD_NARROW_BLOCK / rows->size;

    most = most < 1 ? 1 : most > PART_ROWS ? PART_ROWS : most;
    return n < most ? n : most;
}

void tfd_xent_dense_halves(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_xent_rows *rows = arg;
    float loss[PART_ROWS];
    struct part p = {.dense = true};

    for (int64_t at = begin, n; at < end; at += n) {
        n = rows_of_part(rows, end - at);
        run_part(rows, at, n, &p);
        for (int64_t r = 0; r < n; r++)
            loss[r] = logf(p.row[r].sum) * p.row[r].weight - p.row[r].dot;
        tfd_narrow_round(rows->dtype, loss, (uint16_t *)rows->loss + at, n);
    }
}

/* Of the one label, which is 1, the loss and the backprop are made alone; its
 * logit is read before backprop may lie there. */
void tfd_xent_sparse_halves(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_xent_rows *rows = arg;
    const enum tfd_dtype t = rows->dtype;
    uint16_t *const backprop = rows->backprop;
    float loss[PART_ROWS], hit[PART_ROWS];
    struct part p = {.dense = false};

    for (int64_t at = begin, n; at < end; at += n) {
        n = rows_of_part(rows, end - at);
        for (int64_t r = 0; r < n; r++)
            tfd_narrow_widen(t,
                             (const uint16_t *)rows->x + (at + r) * rows->size +
                                 tfd_xent_label(rows, at + r),
                             &hit[r], 1);
        run_part(rows, at, n, &p);
        for (int64_t r = 0; r < n; r++) {
            const int64_t label = tfd_xent_label(rows, at + r);
            float other;

            hit[r] -= p.row[r].max;
            loss[r] = logf(p.row[r].sum) - hit[r];
            other = tfd_row_exp(hit[r]) * (1 / p.row[r].sum) - 1;
            tfd_narrow_round(t, &other,
                             backprop + (at + r) * rows->size + label, 1);
        }
        tfd_narrow_round(t, loss, (uint16_t *)rows->loss + at, n);
    }
}
