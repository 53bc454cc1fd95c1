/*
 * fft_run.h - a group of lines from an array to an array, the end of the
 * template that fft_passes.h and fft_moves.h begin.
 *
 * The inverse transform is the forward one with real and imaginary parts
 * swapped before and behind it.  Of 2 n real numbers, those at even places are
 * real parts and the others imaginary ones of n, whose transform z has that of
 * both:
 *
 *     y[k] = (z[k] + z*[n - k]) / 2 - i exp(-pi i k / n) (z[k] - z*[n - k]) / 2
 *
 * A row alone has its real parts and its imaginary ones in arrays of their own.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SIGNAL_FFT_RUN_H
#define TFD_KERNELS_SIGNAL_FFT_RUN_H

#include "kernels/signal/fft_moves.h"

INLINE struct cell conjugate(struct cell a)
{
    return (struct cell){a.re, -a.im};
}

INLINE struct cell halved(struct cell a)
{
    return (struct cell){a.re * 0.5, a.im * 0.5};
}

/* As many lines of complex numbers stand for those of real ones. */
INLINE bool of_halves(const struct tfd_fft_group *g)
{
    return g->plan->length != g->length;
}

INLINE double scale_of(const struct tfd_fft_group *g)
{
    return g->inverse ? 1.0 / (double)g->length : 1.0;
}

/* ---- LANES lines --------------------------------------------------------- */

TARGET static void part_halves(const struct tfd_fft_plan *p, struct cell *c)
{
    const int64_t n = p->length;
    const struct cell first = c[0];
    const lanes none = {0};

    c[0] = (struct cell){first.re + first.im, none};
    c[n] = (struct cell){first.re - first.im, none};
    for (int64_t k = 1; k <= n / 2; k++) {
        const struct cell a = c[k], b = conjugate(c[n - k]);
        const struct cell even = halved(plus(a, b));
        const struct cell odd =
            turned(quarter(halved(minus(a, b))), p->halves[k]);

        c[k] = plus(even, odd);
        c[n - k] = conjugate(minus(even, odd));
    }
}

/* Swaps parts, too. */
TARGET static void join_halves(const struct tfd_fft_plan *p, struct cell *c)
{
    const int64_t n = p->length;
    const lanes first = c[0].re, last = c[n].re;

    c[0] = (struct cell){first - last, first + last};
    for (int64_t k = 1; k <= n / 2; k++) {
        const struct tfd_complex w = {p->halves[k].re, -p->halves[k].im};
        const struct cell a = c[k], b = conjugate(c[n - k]);
        const struct cell even = plus(a, b), odd = turned(minus(a, b), w);

        c[k] = swapped(plus_turned(even, odd));
        c[n - k] = swapped(conjugate(minus_turned(even, odd)));
    }
}

/* Of an odd length: all of the line, with swapped parts. */
TARGET static void mirror_half(struct cell *c, int64_t length)
{
    const lanes none = {0};

    c[0] = (struct cell){none, c[0].re};
    for (int64_t j = 1; j <= length / 2; j++) {
        const struct cell a = c[j];

        c[j] = swapped(a);
        c[length - j] = swapped(conjugate(a));
    }
}

TARGET static void load_group(const struct tfd_fft_group *g, struct cell *c)
{
    const int64_t n =
        g->from.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const int flip = g->inverse && g->from.kind == TFD_FFT_COMPLEX;

    if (g->from.kind == TFD_FFT_REAL && !of_halves(g)) {
        if (g->is_double)
            load_reals_double(&g->from, n, c);
        else
            load_reals_float(&g->from, n, c);
    } else if (g->is_double) {
        load_lines_double(&g->from, n, flip, c);
    } else {
        load_lines_float(&g->from, n, flip, c);
    }
    if (g->from.kind == TFD_FFT_HALF && of_halves(g))
        join_halves(g->plan, c);
    else if (g->from.kind == TFD_FFT_HALF)
        mirror_half(c, g->length);
}

TARGET static void store_group(const struct tfd_fft_group *g, struct cell *c)
{
    const int64_t n =
        g->to.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const double scale = scale_of(g);

    if (g->to.kind == TFD_FFT_HALF && of_halves(g))
        part_halves(g->plan, c);
    if (g->to.kind == TFD_FFT_REAL && !of_halves(g)) {
        if (g->is_double)
            store_reals_double(c, n, g->inverse, scale, &g->to, g->count);
        else
            store_reals_float(c, n, g->inverse, scale, &g->to, g->count);
    } else if (g->is_double) {
        store_lines_double(c, n, g->inverse, scale, &g->to, g->count);
    } else {
        store_lines_float(c, n, g->inverse, scale, &g->to, g->count);
    }
}

/* Either array has room for one more than the length: the last of halves. */
TARGET static void run_lanes(const struct tfd_fft_group *g)
{
    struct cell *c = (struct cell *)g->memory;

    load_group(g, c);
    store_group(g, run_cells(g->plan, c, c + g->plan->length + 1));
}

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

/* As part_halves() and join_halves(), which does not swap here. */
TARGET static void part_row(const struct tfd_fft_plan *p, struct row r)
{
    const int64_t n = p->length;
    const double first = r.re[0], last = r.im[0];

    r.re[0] = first + last;
    r.re[n] = first - last;
    r.im[0] = r.im[n] = 0;
    for (int64_t k = 1; k <= n / 2; k++) {
        const struct tfd_complex w = p->halves[k];
        const double re = (r.re[k] + r.re[n - k]) * 0.5;
        const double im = (r.im[k] - r.im[n - k]) * 0.5;
        const double a = (r.im[k] + r.im[n - k]) * 0.5;
        const double b = -((r.re[k] - r.re[n - k]) * 0.5);
        const double odd_re = a * w.re - b * w.im;
        const double odd_im = a * w.im + b * w.re;

        r.re[k] = re + odd_re;
        r.im[k] = im + odd_im;
        r.re[n - k] = re - odd_re;
        r.im[n - k] = -(im - odd_im);
    }
}

TARGET static void join_row(const struct tfd_fft_plan *p, struct row r)
{
    const int64_t n = p->length;
    const double first = r.re[0], last = r.re[n];

    r.re[0] = first + last;
    r.im[0] = first - last;
    for (int64_t k = 1; k <= n / 2; k++) {
        const struct tfd_complex w = p->halves[k];
        const double re = r.re[k] + r.re[n - k], im = r.im[k] - r.im[n - k];
        const double a = r.re[k] - r.re[n - k], b = r.im[k] + r.im[n - k];
        const double odd_re = a * w.re + b * w.im;
        const double odd_im = b * w.re - a * w.im;

        r.re[k] = re - odd_im;
        r.im[k] = im + odd_re;
        r.re[n - k] = re + odd_im;
        r.im[n - k] = -(im - odd_re);
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

TARGET static void load_any_row(const struct tfd_fft_group *g, struct row r)
{
    const int64_t n =
        g->from.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const void *x = g->from.lane[0];

    if (g->from.kind == TFD_FFT_REAL && !of_halves(g)) {
        if (g->is_double)
            load_real_row_double(x, g->from.step, n, r);
        else
            load_real_row_float(x, g->from.step, n, r);
    } else if (g->is_double) {
        load_row_double(x, g->from.step, n, r);
    } else {
        load_row_float(x, g->from.step, n, r);
    }
    if (g->from.kind == TFD_FFT_HALF && of_halves(g))
        join_row(g->plan, r);
    else if (g->from.kind == TFD_FFT_HALF)
        mirror_row(r, g->length);
}

TARGET static void store_any_row(const struct tfd_fft_group *g, struct row r)
{
    const int64_t n =
        g->to.kind == TFD_FFT_HALF ? g->length / 2 + 1 : g->plan->length;
    const double scale = scale_of(g);
    void *y = g->to.lane[0];

    if (g->to.kind == TFD_FFT_HALF && of_halves(g))
        part_row(g->plan, r);
    if (g->to.kind == TFD_FFT_REAL && !of_halves(g)) {
        if (g->is_double)
            store_real_row_double(r, n, scale, y, g->to.step);
        else
            store_real_row_float(r, n, scale, y, g->to.step);
    } else if (g->is_double) {
        store_row_double(r, n, scale, y, g->to.step);
    } else {
        store_row_float(r, n, scale, y, g->to.step);
    }
}

/* A side whose elements are those of the plan, one behind the other. */
INLINE bool is_plain(const struct tfd_fft_group *g,
                     const struct tfd_fft_ends *e)
{
    return e->step == 1 && e->kind != TFD_FFT_HALF &&
           (e->kind == TFD_FFT_COMPLEX || of_halves(g));
}

/* From array to array, if these are plain, by way of the cells only. */
TARGET static void run_row_parts(const struct tfd_fft_group *g, struct row r,
                                 double *memory)
{
    const struct tfd_fft_plan *p = g->plan;
    const struct row back = {r.im, r.re}, to = g->inverse ? back : r;
    const int64_t n = p->part->length;
    struct cell *c = (struct cell *)memory;

    if (!is_plain(g, &g->from)) {
        load_any_row(g, r);
        load_parts(to, n, c);
    } else if (g->is_double) {
        load_beside_double(g->from.lane[0], LANES, n, g->inverse, c);
    } else {
        load_beside_float(g->from.lane[0], LANES, n, g->inverse, c);
    }
    c = run_passes(p->part, c, c + n);
    if (!is_plain(g, &g->to)) {
        join_lanes(p, c, to);
        store_any_row(g, r);
    } else if (g->is_double) {
        join_elements_double(p, c, g->inverse, scale_of(g), g->to.lane[0]);
    } else {
        join_elements_float(p, c, g->inverse, scale_of(g), g->to.lane[0]);
    }
}

TARGET static void run_row(const struct tfd_fft_group *g)
{
    const int64_t n = g->plan->length;
    const struct row r = row_at(g->memory, n), back = {r.im, r.re};

    if (g->plan->part) {
        run_row_parts(g, r, row_end(r, n));
        return;
    }
    load_any_row(g, r);
    run_any_row(g->plan, g->inverse ? back : r, row_end(r, n));
    store_any_row(g, r);
}

#endif
