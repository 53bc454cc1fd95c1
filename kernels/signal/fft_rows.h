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
    double *re, *im;
};

INLINE struct row row_at(double *memory, int64_t length)
{
    return (struct row){memory, memory + (length + 16) / 8 * 8};
}

INLINE double *row_end(struct row r, int64_t length)
{
    return r.im + (length + 16) / 8 * 8;
}

#define MOVE_ROW(T)                                                          \
    TARGET static void load_row_##T(const T *x, int64_t step, int64_t count, \
                                    struct row r)                            \
    {                                                                        \
        int64_t j = 0;                                                       \
                                                                             \
        for (; step == 1 && j + LANES <= count; j += LANES) {                \
            const lanes a = load_as_##T(x + 2 * j);                          \
            const lanes b = load_as_##T(x + 2 * j + LANES);                  \
                                                                             \
            store_lanes(__builtin_shufflevector(a, b, EVEN), r.re + j);      \
            store_lanes(__builtin_shufflevector(a, b, ODD), r.im + j);       \
        }                                                                    \
        for (; j < count; j++) {                                             \
            r.re[j] = (double)x[2 * j * step];                               \
            r.im[j] = (double)x[2 * j * step + 1];                           \
        }                                                                    \
    }                                                                        \
                                                                             \
    TARGET static void store_row_##T(struct row r, int64_t count,            \
                                     double scale, T *y, int64_t step)       \
    {                                                                        \
        int64_t j = 0;                                                       \
                                                                             \
        for (; step == 1 && j + LANES <= count; j += LANES) {                \
            const lanes a = load_lanes(r.re + j) * scale;                    \
            const lanes b = load_lanes(r.im + j) * scale;                    \
                                                                             \
            store_elements_as_##T(a, b, y + 2 * j);                          \
        }                                                                    \
        for (; j < count; j++) {                                             \
            y[2 * j * step] = (T)(r.re[j] * scale);                          \
            y[2 * j * step + 1] = (T)(r.im[j] * scale);                      \
        }                                                                    \
    }                                                                        \
                                                                             \
    TARGET static void load_real_row_##T(const T *x, int64_t step,           \
                                         int64_t count, struct row r)        \
    {                                                                        \
        for (int64_t j = 0; j < count; j++) {                                \
            r.re[j] = (double)x[j * step];                                   \
            r.im[j] = 0;                                                     \
        }                                                                    \
    }                                                                        \
                                                                             \
    TARGET static void store_real_row_##T(struct row r, int64_t count,       \
                                          double scale, T *y, int64_t step)  \
    {                                                                        \
        for (int64_t j = 0; j < count; j++)                                  \
            y[j * step] = (T)(r.re[j] * scale);                              \
    }

MOVE_ROW(float)
MOVE_ROW(double)

/* Of the transforms of every LANES'th element: elements k to k + LANES of
 * each, put together. */
INLINE void join_at(const struct tfd_fft_plan *p, const struct cell *c,
                    int64_t k, struct cell *a)
{
    const int64_t n = p->part->length;
    const double *turn_re = p->seams, *turn_im = p->seams + p->length;
    lanes re[LANES], im[LANES];

    for (int i = 0; i < LANES; i++) {
        re[i] = c[k + i].re;
        im[i] = c[k + i].im;
    }
    transpose(re);
    transpose(im);
    a[0] = (struct cell){re[0], im[0]};
    for (int i = 1; i < LANES; i++) {
        const lanes w_re = load_lanes(turn_re + i * n + k);
        const lanes w_im = load_lanes(turn_im + i * n + k);

        a[i] = (struct cell){re[i] * w_re - im[i] * w_im,
                             re[i] * w_im + im[i] * w_re};
    }
    TRANSFORM_LANES(a, NULL);
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

#define JOIN_ELEMENTS(T)                                                     \
    INLINE void join_loop_##T(const struct tfd_fft_plan *p,                  \
                              const struct cell *c, bool flip, double scale, \
                              T *y)                                          \
    {                                                                        \
        const int64_t n = p->part->length;                                   \
                                                                             \
        for (int64_t next = 0; next < n; next += LANES) {                    \
            const int64_t k = join_begin(next, n);                           \
            struct cell a[LANES];                                            \
                                                                             \
            join_at(p, c, k, a);                                             \
            for (int i = 0; i < LANES; i++) {                                \
                const lanes re = (flip ? a[i].im : a[i].re) * scale;         \
                const lanes im = (flip ? a[i].re : a[i].im) * scale;         \
                store_elements_as_##T(re, im, y + 2 * (i * n + k));          \
            }                                                                \
        }                                                                    \
    }                                                                        \
                                                                             \
    TARGET static void join_elements_##T(const struct tfd_fft_plan *p,       \
                                         const struct cell *c, bool flip,    \
                                         double scale, T *y)                 \
    {                                                                        \
        if (flip)                                                            \
            join_loop_##T(p, c, true, scale, y);                             \
        else                                                                 \
            join_loop_##T(p, c, false, 1, y);                                \
    }

JOIN_ELEMENTS(float)
JOIN_ELEMENTS(double)

TARGET static void load_parts(struct row r, int64_t n, struct cell *c)
{
    for (int64_t j = 0; j < n; j++)
        c[j] = (struct cell){load_lanes(r.re + j * LANES),
                             load_lanes(r.im + j * LANES)};
}

TARGET static void run_parts(const struct tfd_fft_plan *p, struct row r,
                             double *memory)
{
    struct cell *c = (struct cell *)memory;
    const int64_t n = p->part->length;

    load_parts(r, n, c);
    join_lanes(p, run_passes(p->part, c, c + n), r);
}

/* Number by number. */
TARGET static void run_line(const struct tfd_fft_plan *p, struct row r,
                            double *memory)
{
    struct tfd_complex *x = (struct tfd_complex *)memory;

    for (int64_t j = 0; j < p->length; j++)
        x[j] = (struct tfd_complex){r.re[j], r.im[j]};
    tfd_fft_line_run(p, x, x + p->length);
    for (int64_t j = 0; j < p->length; j++) {
        r.re[j] = x[j].re;
        r.im[j] = x[j].im;
    }
}

/* c times w, of which all lie in arrays. */
INLINE void turn_row(struct row to, struct row from, int64_t count,
                     const struct tfd_complex *w)
{
    for (int64_t j = 0; j < count; j++) {
        const double re = from.re[j], im = from.im[j];

        to.re[j] = re * w[j].re - im * w[j].im;
        to.im[j] = re * w[j].im + im * w[j].re;
    }
}

/* As convolve() of fft_passes.h, in place, and without the swap. */
TARGET static void convolve_row(const struct tfd_fft_plan *p, struct row a,
                                struct tfd_complex first,
                                struct tfd_complex *sum, double *memory)
{
    run_parts(p->inner, a, memory);
    *sum = (struct tfd_complex){first.re + a.re[0], first.im + a.im[0]};
    turn_row(a, a, p->inner->length, p->filter);
    a.re[0] += first.re;
    a.im[0] += first.im;
    run_parts(p->inner, (struct row){a.im, a.re}, memory);
}

TARGET static void run_chirp_row(const struct tfd_fft_plan *p, struct row r,
                                 double *memory)
{
    const int64_t n = p->length, m = p->inner->length;
    const struct row a = row_at(memory, m);
    struct tfd_complex sum;

    turn_row(a, r, n, p->chirp);
    memset(a.re + n, 0, (size_t)(m - n) * sizeof(double));
    memset(a.im + n, 0, (size_t)(m - n) * sizeof(double));
    convolve_row(p, a, (struct tfd_complex){0, 0}, &sum, row_end(a, m));
    turn_row(r, a, n, p->chirp);
}

TARGET static void run_prime_row(const struct tfd_fft_plan *p, struct row r,
                                 double *memory)
{
    const int64_t m = p->inner->length;
    const struct row a = row_at(memory, m);
    const struct tfd_complex first = {r.re[0], r.im[0]};
    struct tfd_complex sum;

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
                               double *memory)
{
    if (!p->inner || !p->inner->part)
        run_line(p, r, memory);
    else if (p->chirp)
        run_chirp_row(p, r, memory);
    else
        run_prime_row(p, r, memory);
}

/* ---- A row of real numbers ----------------------------------------------- */

/* Elements k and n - k of a line of halves, from those of n complex ones. */
INLINE void part_pair(struct tfd_complex *a, struct tfd_complex *b,
                      struct tfd_complex w)
{
    const double re = (a->re + b->re) * 0.5, im = (a->im - b->im) * 0.5;
    const double x = (a->im + b->im) * 0.5, y = (b->re - a->re) * 0.5;
    const double odd_re = x * w.re - y * w.im, odd_im = x * w.im + y * w.re;

    *a = (struct tfd_complex){re + odd_re, im + odd_im};
    *b = (struct tfd_complex){re - odd_re, odd_im - im};
}

/* Of LANES pairs; w: a lane each. */
INLINE void part_pairs(struct cell *a, struct cell *b, struct cell w)
{
    const lanes re = (a->re + b->re) * 0.5, im = (a->im - b->im) * 0.5;
    const lanes x = (a->im + b->im) * 0.5, y = (b->re - a->re) * 0.5;
    const lanes odd_re = x * w.re - y * w.im, odd_im = x * w.im + y * w.re;

    *a = (struct cell){re + odd_re, im + odd_im};
    *b = (struct cell){re - odd_re, odd_im - im};
}

/* And the other way: half of n complex elements. */
INLINE void join_pair(struct tfd_complex *a, struct tfd_complex *b,
                      struct tfd_complex w)
{
    const double re = a->re + b->re, im = a->im - b->im;
    const double x = a->re - b->re, y = a->im + b->im;
    const double odd_re = x * w.re + y * w.im, odd_im = y * w.re - x * w.im;

    *a = (struct tfd_complex){re - odd_im, im + odd_re};
    *b = (struct tfd_complex){re + odd_im, odd_re - im};
}

INLINE void join_pairs(struct cell *a, struct cell *b, struct cell w)
{
    const lanes re = a->re + b->re, im = a->im - b->im;
    const lanes x = a->re - b->re, y = a->im + b->im;
    const lanes odd_re = x * w.re + y * w.im, odd_im = y * w.re - x * w.im;

    *a = (struct cell){re - odd_im, im + odd_re};
    *b = (struct cell){re + odd_im, odd_re - im};
}

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

#define HALVES(T)                                                             \
    TARGET static void part_row_##T(const struct tfd_fft_plan *p,             \
                                    struct row r, T *y)                       \
    {                                                                         \
        const int64_t n = p->length;                                          \
        int64_t k = 1;                                                        \
                                                                              \
        for (; APART(k, n); k += LANES) {                                     \
            const int64_t end = n - k - LANES + 1;                            \
            struct cell a = row_cell(r, k), b = backwards(row_cell(r, end)),  \
                        w;                                                    \
                                                                              \
            load_elements_as_double(&p->halves[k].re, &w);                    \
            part_pairs(&a, &b, w);                                            \
            b = backwards(b);                                                 \
            store_elements_as_##T(a.re, a.im, y + 2 * k);                     \
            store_elements_as_##T(b.re, b.im, y + 2 * end);                   \
        }                                                                     \
        for (; k <= n / 2; k++) {                                             \
            struct tfd_complex a = {r.re[k], r.im[k]};                        \
            struct tfd_complex b = {r.re[n - k], r.im[n - k]};                \
                                                                              \
            part_pair(&a, &b, p->halves[k]);                                  \
            y[2 * (n - k)] = (T)b.re;                                         \
            y[2 * (n - k) + 1] = (T)b.im;                                     \
            y[2 * k] = (T)a.re;                                               \
            y[2 * k + 1] = (T)a.im;                                           \
        }                                                                     \
        y[2 * n] = (T)(r.re[0] - r.im[0]);                                    \
        y[0] = (T)(r.re[0] + r.im[0]);                                        \
        y[1] = y[2 * n + 1] = 0;                                              \
    }                                                                         \
                                                                              \
    TARGET static void join_row_##T(const struct tfd_fft_plan *p, const T *x, \
                                    struct row r)                             \
    {                                                                         \
        const int64_t n = p->length;                                          \
        const double first = (double)x[0], last = (double)x[2 * n];           \
        int64_t k = 1;                                                        \
                                                                              \
        r.re[0] = first + last;                                               \
        r.im[0] = first - last;                                               \
        for (; APART(k, n); k += LANES) {                                     \
            const int64_t end = n - k - LANES + 1;                            \
            struct cell a, b, w;                                              \
                                                                              \
            load_elements_as_##T(x + 2 * k, &a);                              \
            load_elements_as_##T(x + 2 * end, &b);                            \
            load_elements_as_double(&p->halves[k].re, &w);                    \
            b = backwards(b);                                                 \
            join_pairs(&a, &b, w);                                            \
            store_row_cell(a, r, k);                                          \
            store_row_cell(backwards(b), r, end);                             \
        }                                                                     \
        for (; k <= n / 2; k++) {                                             \
            struct tfd_complex a = {(double)x[2 * k], (double)x[2 * k + 1]};  \
            struct tfd_complex b = {(double)x[2 * (n - k)],                   \
                                    (double)x[2 * (n - k) + 1]};              \
                                                                              \
            join_pair(&a, &b, p->halves[k]);                                  \
            r.re[n - k] = b.re;                                               \
            r.im[n - k] = b.im;                                               \
            r.re[k] = a.re;                                                   \
            r.im[k] = a.im;                                                   \
        }                                                                     \
    }

HALVES(float)
HALVES(double)

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

    if (half && of_halves(g) && g->is_double)
        join_row_double(g->plan, x, r);
    else if (half && of_halves(g))
        join_row_float(g->plan, x, r);
    else if (g->from.kind == TFD_FFT_REAL && !of_halves(g) && g->is_double)
        load_real_row_double(x, g->from.step, n, r);
    else if (g->from.kind == TFD_FFT_REAL && !of_halves(g))
        load_real_row_float(x, g->from.step, n, r);
    else if (g->is_double)
        load_row_double(x, g->from.step, n, r);
    else
        load_row_float(x, g->from.step, n, r);
    if (half && !of_halves(g))
        mirror_row(r, g->length);
}

TARGET static void store_any_row(const struct tfd_fft_group *g, int line,
                                 struct row r)
{
    const bool half = g->to.kind == TFD_FFT_HALF;
    const int64_t n = half ? g->length / 2 + 1 : g->plan->length;
    const double scale = scale_of(g);
    void *y = g->to.lane[line];

    if (half && of_halves(g) && g->is_double)
        part_row_double(g->plan, r, y);
    else if (half && of_halves(g))
        part_row_float(g->plan, r, y);
    else if (g->to.kind == TFD_FFT_REAL && !of_halves(g) && g->is_double)
        store_real_row_double(r, n, scale, y, g->to.step);
    else if (g->to.kind == TFD_FFT_REAL && !of_halves(g))
        store_real_row_float(r, n, scale, y, g->to.step);
    else if (g->is_double)
        store_row_double(r, n, scale, y, g->to.step);
    else
        store_row_float(r, n, scale, y, g->to.step);
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

    *r = row_at(g->memory + line * (int64_t)tfd_fft_row_memory(g->plan), n);
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
    } else if (g->is_double) {
        load_beside_double(g->from.lane[line], LANES, n, g->inverse, c);
    } else {
        load_beside_float(g->from.lane[line], LANES, n, g->inverse, c);
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
    } else if (g->is_double) {
        join_elements_double(g->plan, c, g->inverse, scale_of(g),
                             g->to.lane[line]);
    } else {
        join_elements_float(g->plan, c, g->inverse, scale_of(g),
                            g->to.lane[line]);
    }
}

/* From array to array, if these are plain, by way of the cells only. */
TARGET static void run_row_parts(const struct tfd_fft_group *g)
{
    const struct tfd_fft_plan *p = g->plan->part;
    const int64_t gap = (int64_t)(tfd_fft_row_memory(g->plan) * sizeof(double) /
                                  sizeof(struct cell));
    struct row r;
    struct cell *c = cells_of(g, 0, &r);

    for (int i = 0; i < g->count; i++)
        load_cells(g, i);
    c = run_passes_of(p, c, c + p->length, g->count, gap);
    for (int i = 0; i < g->count; i++)
        store_cells(g, i, c + i * gap);
}

TARGET static void run_rows(const struct tfd_fft_group *g)
{
    const int64_t n = g->plan->length;
    const struct row r = row_at(g->memory, n);

    if (g->plan->part) {
        run_row_parts(g);
        return;
    }
    for (int i = 0; i < g->count; i++) {
        load_any_row(g, i, r);
        run_any_row(g->plan, turned_row(g, r), row_end(r, n));
        store_any_row(g, i, r);
    }
}

#endif
