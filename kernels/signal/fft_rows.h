/*
 * fft_rows.h - rows from an array to an array, a row of elements on as many
 * lanes; the end of the template that fft_passes.h begins.
 *
 * A row has its real parts and its imaginary ones in arrays of their own, where
 * it is not loaded to cells at once.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_ROWS_H
#define TFD_KERNELS_SIGNAL_FFT_ROWS_H

#include "kernels/signal/fft_run.h"

/* ---- A row --------------------------------------------------------------- */

/* Real and imaginary parts. */
struct row {
    number *re, *im;
};

INLINE struct row row_at(number *memory, int64_t length)
{
    return (struct row){memory, memory + (length + 32) / 16 * 16};
}

INLINE number *row_end(struct row r, int64_t length)
{
    return r.im + (length + 32) / 16 * 16;
}

TARGET static void load_row(const number *x, int64_t step, int64_t count,
                            struct row r)
{
    int64_t j = 0;

    for (; step == 1 && j + LANES <= count; j += LANES) {
        const lanes a = load_lanes(x + 2 * j);
        const lanes b = load_lanes(x + 2 * j + LANES);

        store_lanes(__builtin_shufflevector(a, b, EVEN), r.re + j);
        store_lanes(__builtin_shufflevector(a, b, ODD), r.im + j);
    }
    for (; j < count; j++) {
        r.re[j] = x[2 * j * step];
        r.im[j] = x[2 * j * step + 1];
    }
}

TARGET static void store_row(struct row r, int64_t count, number scale,
                             number *y, int64_t step)
{
    int64_t j = 0;

    for (; step == 1 && j + LANES <= count; j += LANES) {
        const lanes a = load_lanes(r.re + j) * scale;
        const lanes b = load_lanes(r.im + j) * scale;

        store_elements(a, b, y + 2 * j);
    }
    for (; j < count; j++) {
        y[2 * j * step] = r.re[j] * scale;
        y[2 * j * step + 1] = r.im[j] * scale;
    }
}

TARGET static void load_real_row(const number *x, int64_t step, int64_t count,
                                 struct row r)
{
    for (int64_t j = 0; j < count; j++) {
        r.re[j] = x[j * step];
        r.im[j] = 0;
    }
}

TARGET static void store_real_row(struct row r, int64_t count, number scale,
                                  number *y, int64_t step)
{
    for (int64_t j = 0; j < count; j++)
        y[j * step] = r.re[j] * scale;
}

/* Of the transforms of every LANES'th element: elements k to k + LANES of
 * each, put together.  Not inlined: it is long where there are many lanes, and
 * has more numbers than there are registers. */
TARGET static __attribute__((noinline)) void
join_at(const struct tfd_fft_plan *p, const struct cell *c, int64_t k,
        struct cell *a)
{
    const int64_t n = p->part->length;
    const number *turn_re = p->seams, *turn_im = turn_re + p->length;
    lanes re[LANES], im[LANES];
    struct cell b[LANES];

    for (int i = 0; i < LANES; i++) {
        re[i] = c[k + i].re;
        im[i] = c[k + i].im;
    }
    transpose(re);
    transpose(im);
    b[0] = (struct cell){re[0], im[0]};
    for (int i = 1; i < LANES; i++) {
        const lanes w_re = load_lanes(turn_re + i * n + k);
        const lanes w_im = load_lanes(turn_im + i * n + k);

        b[i] = (struct cell){FUSED_MINUS(re[i], w_re, im[i] * w_im),
                             FUSED(re[i], w_im, im[i] * w_re)};
    }
    TRANSFORM_LANES(b, NULL);
    for (int i = 0; i < LANES; i++)
        a[i] = b[i];
}

/* Where the LANES begin that are the next; the last ones: some once more. */
INLINE int64_t join_begin(int64_t next, int64_t n)
{
    return next + LANES <= n ? next : n - LANES;
}

TARGET static void join_lanes(const struct tfd_fft_plan *p,
                              const struct cell *c, struct row r)
{
    const int64_t n = p->part->length;

    for (int64_t next = 0; next < n; next += LANES) {
        const int64_t k = join_begin(next, n);
        struct cell a[LANES];

        join_at(p, c, k, a);
        for (int i = 0; i < LANES; i++) {
            store_lanes(a[i].re, r.re + i * n + k);
            store_lanes(a[i].im, r.im + i * n + k);
        }
    }
}

TARGET static void join_elements(const struct tfd_fft_plan *p,
                                 const struct cell *c, int flip, number scale,
                                 number *y)
{
    const int64_t n = p->part->length;

    for (int64_t next = 0; next < n; next += LANES) {
        const int64_t k = join_begin(next, n);
        struct cell a[LANES];

        join_at(p, c, k, a);
        for (int i = 0; i < LANES; i++) {
            const lanes *from = &a[i].re;

            store_elements(from[flip] * scale, from[1 - flip] * scale,
                           y + 2 * (i * n + k));
        }
    }
}

TARGET static void load_parts(struct row r, int64_t n, struct cell *c)
{
    for (int64_t j = 0; j < n; j++)
        c[j] = (struct cell){load_lanes(r.re + j * LANES),
                             load_lanes(r.im + j * LANES)};
}

TARGET static void run_parts(const struct tfd_fft_plan *p, struct row r,
                             number *memory)
{
    struct cell *c = (struct cell *)memory;
    const int64_t n = p->part->length;

    load_parts(r, n, c);
    join_lanes(p, run_passes(p->part, c, c + n), r);
}

/* Number by number. */
TARGET static void run_line(const struct tfd_fft_plan *p, struct row r,
                            number *memory)
{
    struct root *x = (struct root *)memory;

    for (int64_t j = 0; j < p->length; j++)
        x[j] = (struct root){r.re[j], r.im[j]};
    tfd_fft_line_run(p, x, x + p->length);
    for (int64_t j = 0; j < p->length; j++) {
        r.re[j] = x[j].re;
        r.im[j] = x[j].im;
    }
}

/* c times w, of which all lie in arrays. */
INLINE void turn_row(struct row to, struct row from, int64_t count,
                     const struct root *w)
{
    for (int64_t j = 0; j < count; j++) {
        const number re = from.re[j], im = from.im[j];

        to.re[j] = re * w[j].re - im * w[j].im;
        to.im[j] = re * w[j].im + im * w[j].re;
    }
}

/* As convolve() of fft_passes.h, in place, and without the swap. */
TARGET static void convolve_row(const struct tfd_fft_plan *p, struct row a,
                                struct root first, struct root *sum,
                                number *memory)
{
    run_parts(p->inner, a, memory);
    *sum = (struct root){first.re + a.re[0], first.im + a.im[0]};
    turn_row(a, a, p->inner->length, p->filter);
    a.re[0] += first.re;
    a.im[0] += first.im;
    run_parts(p->inner, (struct row){a.im, a.re}, memory);
}

TARGET static void run_chirp_row(const struct tfd_fft_plan *p, struct row r,
                                 number *memory)
{
    const int64_t n = p->length, m = p->inner->length;
    const struct row a = row_at(memory, m);
    struct root sum;

    turn_row(a, r, n, p->chirp);
    memset(a.re + n, 0, (size_t)(m - n) * sizeof(number));
    memset(a.im + n, 0, (size_t)(m - n) * sizeof(number));
    convolve_row(p, a, (struct root){0, 0}, &sum, row_end(a, m));
    turn_row(r, a, n, p->chirp);
}

TARGET static void run_prime_row(const struct tfd_fft_plan *p, struct row r,
                                 number *memory)
{
    const int64_t m = p->inner->length;
    const struct row a = row_at(memory, m);
    const struct root first = {r.re[0], r.im[0]};
    struct root sum;

    for (int64_t j = 0; j < m; j++) {
        a.re[j] = r.re[p->order_in[j]];
        a.im[j] = r.im[p->order_in[j]];
    }
    convolve_row(p, a, first, &sum, row_end(a, m));
    r.re[0] = sum.re;
    r.im[0] = sum.im;
    for (int64_t j = 0; j < m; j++) {
        r.re[p->order_out[j]] = a.re[j];
        r.im[p->order_out[j]] = a.im[j];
    }
}

TARGET static void run_any_row(const struct tfd_fft_plan *p, struct row r,
                               number *memory)
{
    if (!p->inner || !p->inner->part)
        run_line(p, r, memory);
    else if (p->chirp)
        run_chirp_row(p, r, memory);
    else
        run_prime_row(p, r, memory);
}

/* ---- A row of real numbers ----------------------------------------------- */

INLINE struct cell row_cell(struct row r, int64_t k)
{
    return (struct cell){load_lanes(r.re + k), load_lanes(r.im + k)};
}

INLINE void store_row_cell(struct cell a, struct row r, int64_t k)
{
    store_lanes(a.re, r.re + k);
    store_lanes(a.im, r.im + k);
}

/* Pairs of LANES elements that do not meet. */
#define APART(k, n) (2 * ((k) + LANES) - 2 < (n))

TARGET static void part_row(const struct tfd_fft_plan *p, struct row r,
                            number *y)
{
    const int64_t n = p->length;
    int64_t k = 1;

    for (; APART(k, n); k += LANES) {
        const int64_t end = n - k - LANES + 1;
        struct cell a = row_cell(r, k), b = backwards(row_cell(r, end));

        part_pairs(&a, &b, &p->halves[k], true);
        b = backwards(b);
        store_elements(a.re, a.im, y + 2 * k);
        store_elements(b.re, b.im, y + 2 * end);
    }
    for (; k <= n / 2; k++) {
        struct tfd_complex a = {(double)r.re[k], (double)r.im[k]};
        struct tfd_complex b = {(double)r.re[n - k], (double)r.im[n - k]};

        part_pair(&a, &b, p->halves[k]);
        y[2 * (n - k)] = (number)b.re;
        y[2 * (n - k) + 1] = (number)b.im;
        y[2 * k] = (number)a.re;
        y[2 * k + 1] = (number)a.im;
    }
    y[2 * n] = r.re[0] - r.im[0];
    y[0] = r.re[0] + r.im[0];
    y[1] = y[2 * n + 1] = 0;
}

TARGET static void join_row(const struct tfd_fft_plan *p, const number *x,
                            struct row r)
{
    const int64_t n = p->length;
    const number first = x[0], last = x[2 * n];
    int64_t k = 1;

    r.re[0] = first + last;
    r.im[0] = first - last;
    for (; APART(k, n); k += LANES) {
        const int64_t end = n - k - LANES + 1;
        struct cell a, b;

        load_elements(x + 2 * k, &a);
        load_elements(x + 2 * end, &b);
        b = backwards(b);
        join_pairs(&a, &b, &p->halves[k], true);
        store_row_cell(a, r, k);
        store_row_cell(backwards(b), r, end);
    }
    for (; k <= n / 2; k++) {
        struct tfd_complex a = {(double)x[2 * k], (double)x[2 * k + 1]};
        struct tfd_complex b = {(double)x[2 * (n - k)],
                                (double)x[2 * (n - k) + 1]};

        join_pair(&a, &b, p->halves[k]);
        r.re[n - k] = (number)b.re;
        r.im[n - k] = (number)b.im;
        r.re[k] = (number)a.re;
        r.im[k] = (number)a.im;
    }
}

TARGET static void mirror_row(struct row r, int64_t length)
{
    r.im[0] = 0;
    for (int64_t j = 1; j <= length / 2; j++) {
        r.re[length - j] = r.re[j];
        r.im[length - j] = -r.im[j];
    }
}

TARGET static void load_any_row(const struct tfd_fft_group *g, int line,
                                struct row r)
{
    const bool half = g->from.kind == TFD_FFT_HALF;
    const int64_t n = half ? g->length / 2 + 1 : g->plan->length;
    const void *x = g->from.lane[line];

    if (half && of_halves(g))
        join_row(g->plan, x, r);
    else if (g->from.kind == TFD_FFT_REAL && !of_halves(g))
        load_real_row(x, g->from.step, n, r);
    else
        load_row(x, g->from.step, n, r);
    if (half && !of_halves(g))
        mirror_row(r, g->length);
}

TARGET static void store_any_row(const struct tfd_fft_group *g, int line,
                                 struct row r)
{
    const bool half = g->to.kind == TFD_FFT_HALF;
    const int64_t n = half ? g->length / 2 + 1 : g->plan->length;
    const number scale = scale_of(g);
    void *y = g->to.lane[line];

    if (half && of_halves(g))
        part_row(g->plan, r, y);
    else if (g->to.kind == TFD_FFT_REAL && !of_halves(g))
        store_real_row(r, n, scale, y, g->to.step);
    else
        store_row(r, n, scale, y, g->to.step);
}

/* A side whose elements are those of the plan, one behind the other. */
INLINE bool is_plain(const struct tfd_fft_group *g,
                     const struct tfd_fft_ends *e)
{
    return e->step == 1 && e->kind != TFD_FFT_HALF &&
           (e->kind == TFD_FFT_COMPLEX || of_halves(g));
}

/* Where the cells of a row begin: behind its parts, which it has where one of
 * its sides is not plain. */
INLINE struct cell *cells_of(const struct tfd_fft_group *g, int line,
                             struct row *r)
{
    const int64_t n = g->plan->length;

    *r = row_at(
        (number *)g->memory + line * (int64_t)tfd_fft_row_memory(g->plan), n);
    return (struct cell *)row_end(*r, n);
}

/* Of the inverse transform parts change places. */
INLINE struct row turned_row(const struct tfd_fft_group *g, struct row r)
{
    return g->inverse ? (struct row){r.im, r.re} : r;
}

TARGET static void load_cells(const struct tfd_fft_group *g, int line)
{
    const int64_t n = g->plan->part->length;
    struct row r;
    struct cell *c = cells_of(g, line, &r);

    if (!is_plain(g, &g->from)) {
        load_any_row(g, line, r);
        load_parts(turned_row(g, r), n, c);
    } else {
        load_beside(g->from.lane[line], LANES, n, g->inverse, c);
    }
}

TARGET static void store_cells(const struct tfd_fft_group *g, int line,
                               const struct cell *c)
{
    struct row r;

    (void)cells_of(g, line, &r);
    if (!is_plain(g, &g->to)) {
        join_lanes(g->plan, c, turned_row(g, r));
        store_any_row(g, line, r);
    } else {
        join_elements(g->plan, c, g->inverse, scale_of(g), g->to.lane[line]);
    }
}

/* From array to array, if these are plain, by way of the cells only. */
TARGET static void run_row_parts(const struct tfd_fft_group *g)
{
    const struct tfd_fft_plan *p = g->plan->part;
    const int64_t gap = (int64_t)(tfd_fft_row_memory(g->plan) * sizeof(number) /
                                  sizeof(struct cell));
    struct row r;
    struct cell *c = cells_of(g, 0, &r);

    for (int i = 0; i < g->count; i++)
        load_cells(g, i);
    c = run_passes_of(p, c, c + p->length, g->count, gap);
    for (int i = 0; i < g->count; i++)
        store_cells(g, i, c + i * gap);
}

/* The same number by number. */
TARGET static void run_plain_line(const struct tfd_fft_group *g, int line)
{
    const int64_t n = g->plan->length;
    const int flip = g->inverse;
    const number *x = g->from.lane[line];
    number *at = g->memory, *y = g->to.lane[line];
    const number scale = scale_of(g);

    for (int64_t j = 0; j < 2 * n; j += 2) {
        at[j] = x[j + flip];
        at[j + 1] = x[j + 1 - flip];
    }
    tfd_fft_line_run(g->plan, at, at + 2 * n);
    for (int64_t j = 0; j < 2 * n; j += 2) {
        y[j] = at[j + flip] * scale;
        y[j + 1] = at[j + 1 - flip] * scale;
    }
}

TARGET static void run_rows(const struct tfd_fft_group *g)
{
    const int64_t n = g->plan->length;
    const struct row r = row_at(g->memory, n);

    if (g->plan->part || sizeof(number) < sizeof(double)) {
        run_row_parts(g);
        return;
    }
    for (int i = 0; i < g->count; i++) {
        if (!g->plan->inner && is_plain(g, &g->from) && is_plain(g, &g->to)) {
            run_plain_line(g, i);
            continue;
        }
        load_any_row(g, i, r);
        run_any_row(g->plan, turned_row(g, r), row_end(r, n));
        store_any_row(g, i, r);
    }
}

#endif
