/*
 * test_fft.c - Fourier transforms against sums in extended precision: powers,
 * primes, products, 1 and 2; lines beside each other, rows, and one alone; real
 * ones by halves; there and back.
 */
#include "common/base/alloc.h"
#include "kernels/signal/fft_lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINES TFD_FFT_LANES_MAX
#define DOUBLE_ERROR 2e-15L
#define FLOAT_ERROR 1.2e-7L
/* Of which a test has some: what a line's elements are, their type, and whether
 * lines are columns, rows, or rows one by one. */
enum placed { COLUMNS, ROWS, ALONE, PLACES };

struct shape {
    int64_t length;
    enum placed placed;
    enum tfd_fft_kind from, to;
    bool inverse, is_double;
};

struct place {
    int64_t count; /* elements of a line */
    int parts;     /* numbers of an element */
    double *number;
};

static uint32_t drawn = 1;

static double draw(void)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (double)(float)((double)(int32_t)drawn / 2147483648.0);
}

/* ---- Arrays -------------------------------------------------------------- */

/* Rows one by one are taken two at a time: more than two such groups are but
 * the same again. */
static int lines_of(const struct shape *s)
{
    return s->placed == ALONE ? 4 : LINES;
}

/* Numbers of an array, at most. */
static size_t room_of(const struct shape *s, const struct place *p)
{
    return (size_t)p->count * (size_t)lines_of(s) * 2;
}

static struct place new_place(const struct shape *s, enum tfd_fft_kind kind)
{
    struct place p = {kind == TFD_FFT_HALF ? s->length / 2 + 1 : s->length,
                      kind == TFD_FFT_REAL ? 1 : 2, NULL};

    p.number = calloc(room_of(s, &p), sizeof(double));
    assert_non_null(p.number);
    return p;
}

/* Numbers of all lines are drawn, whether they are there or not, so that none
 * of another shape depends on it. */
static void fill(const struct shape *s, struct place *p)
{
    for (int64_t i = 0; i < p->count * LINES * p->parts; i++) {
        double x = draw();

        if (i < p->count * lines_of(s) * p->parts)
            p->number[i] = x;
    }
}

static int64_t number_at(const struct shape *s, const struct place *p, int line,
                         int64_t i)
{
    return p->parts *
           (s->placed == COLUMNS ? i * LINES + line : line * p->count + i);
}

/* Of as many numbers of the type of the array. */
static void *narrowed(const struct shape *s, const struct place *p)
{
    const size_t room = room_of(s, p);
    float *x = malloc(room * sizeof(double));

    assert_non_null(x);
    if (s->is_double)
        return memcpy(x, p->number, room * sizeof(double));
    for (size_t i = 0; i < room; i++)
        x[i] = (float)p->number[i];
    return x;
}

static void widen(const struct shape *s, const void *x, struct place *p)
{
    for (int64_t i = 0; i < p->count * lines_of(s) * p->parts; i++)
        p->number[i] = s->is_double ? ((const double *)x)[i]
                                    : (double)((const float *)x)[i];
}

static int64_t planned_length(const struct shape *s)
{
    bool halves = (s->from == TFD_FFT_REAL || s->to == TFD_FFT_REAL) &&
                  s->length % 2 == 0;

    return halves ? s->length / 2 : s->length;
}

/* Floats whose length is convolved are in double precision. */
static bool is_single(const struct shape *s)
{
    return !s->is_double && tfd_fft_plan_is_direct(planned_length(s));
}

static void set_ends(const struct shape *s, const struct place *p,
                     enum tfd_fft_kind kind, char *data, int first, int count,
                     struct tfd_fft_ends *e)
{
    size_t size = s->is_double ? sizeof(double) : sizeof(float);

    e->kind = kind;
    e->step = s->placed == COLUMNS ? LINES : 1;
    e->beside = s->placed == COLUMNS && p->parts == 2 &&
                count == tfd_fft_lanes_copy(is_single(s))->lanes;
    for (int i = 0; i < LINES; i++) {
        int line = i < count ? first + i : first;

        e->lane[i] = data + (size_t)number_at(s, p, line, 0) * size;
    }
}

/* Floats that are not transformed as such are widened by who has them, but for
 * lines of complex ones. */
static bool is_possible(const struct shape *s)
{
    int64_t n = planned_length(s), lanes = tfd_fft_lanes_copy(true)->lanes;

    if (s->is_double)
        return true;
    if (!tfd_fft_plan_is_direct(n))
        return s->placed != ALONE && s->from == s->to;
    return s->placed != ALONE || (n % lanes == 0 && n / lanes >= lanes);
}

/* A last group of less than all lanes has two lines, if there are so many. */
static void transform(const struct shape *s, const struct place *from,
                      struct place *to)
{
    const struct tfd_fft_copy *copy = tfd_fft_lanes_copy(is_single(s));
    struct tfd_fft_plan *plan;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_fft_group g = {.length = s->length, .inverse = s->inverse};
    void *x = narrowed(s, from), *y = narrowed(s, to);
    struct tfd_buffer *memory;
    int at_once = s->placed == ALONE ? 2 : copy->lanes;

    assert_int_equal(
        tfd_fft_plan_get(planned_length(s), is_single(s), &plan, &st), 0);
    g.plan = plan;
    memory = tfd_buffer_new(
        (tfd_fft_lanes_memory(plan) + 2 * tfd_fft_row_memory(plan)) *
        sizeof(double));
    assert_non_null(memory);
    g.memory = memory->data;
    for (int i = 0; i < lines_of(s); i += g.count) {
        g.count = s->placed == ROWS && i == 0 && at_once > 2 ? 2 : at_once;
        g.count = i + g.count > lines_of(s) ? lines_of(s) - i : g.count;
        set_ends(s, from, s->from, x, i, g.count, &g.from);
        set_ends(s, to, s->to, y, i, g.count, &g.to);
        if (s->placed == ALONE)
            copy->run_rows(&g);
        else if (!s->is_double && !is_single(s))
            copy->run_floats(&g);
        else
            copy->run_lanes(&g);
    }
    widen(s, y, to);
    free(x);
    free(y);
    tfd_buffer_unref(memory);
    tfd_fft_plan_unref(plan);
}

/* ---- The reference ------------------------------------------------------- */

struct wide {
    long double re, im;
};

static struct wide *new_roots(int64_t n)
{
    struct wide *w = malloc((size_t)n * sizeof(*w));

    assert_non_null(w);
    for (int64_t i = 0; i < n; i++) {
        long double angle =
            6.283185307179586476925286766559L * (long double)i / (long double)n;

        w[i] = (struct wide){cosl(angle), sinl(angle)};
    }
    return w;
}

/* Element j of a line, of which halves give but a part. */
static struct wide element(const struct shape *s, const struct place *p,
                           int line, int64_t j)
{
    bool mirrored = s->from == TFD_FFT_HALF && j > s->length / 2;
    int64_t at = number_at(s, p, line, mirrored ? s->length - j : j);
    struct wide v = {p->number[at], p->parts == 2 ? p->number[at + 1] : 0};

    if (s->from == TFD_FFT_HALF && (j == 0 || 2 * j == s->length))
        v.im = 0;
    return mirrored ? (struct wide){v.re, -v.im} : v;
}

static struct wide sum_at(const struct shape *s, const struct place *from,
                          int line, int64_t k, const struct wide *roots)
{
    struct wide sum = {0, 0};
    int64_t n = s->length;

    for (int64_t j = 0; j < n; j++) {
        struct wide v = element(s, from, line, j), w = roots[j * k % n];

        w.im = s->inverse ? w.im : -w.im;
        sum.re += v.re * w.re - v.im * w.im;
        sum.im += v.re * w.im + v.im * w.re;
    }
    if (s->inverse) {
        sum.re /= (long double)n;
        sum.im /= (long double)n;
    }
    return sum;
}

/* Of results whose mean square is about that of as many as are added. */
static void compare(const struct shape *s, const struct place *from,
                    const struct place *to, int line, int64_t k,
                    const struct wide *roots)
{
    struct wide sum = sum_at(s, from, line, k, roots);
    const double *y = to->number + number_at(s, to, line, k);
    long double size = sqrtl((long double)s->length);
    long double error = fabsl(y[0] - sum.re);

    if (to->parts == 2)
        error = fmaxl(error, fabsl(y[1] - sum.im));
    size = s->inverse ? 1 / size : size;
    size *= s->is_double
                ? DOUBLE_ERROR
                : FLOAT_ERROR * (1 + log2l((long double)s->length) / 2) *
                      fmaxl(1, hypotl(sum.re, sum.im) / size);
    if (error > size)
        fail_msg("length %lld, place %d, kind %d to %d, inverse %d, double %d: "
                 "element %lld of line %d is off by %Lg, at most %Lg",
                 (long long)s->length, s->placed, s->from, s->to, s->inverse,
                 s->is_double, (long long)k, line, error, size);
}

/* Lines 0 and the last, and `looked` elements of them. */
static void check(const struct shape *s, int64_t looked,
                  const struct wide *roots)
{
    struct place from = new_place(s, s->from), to = new_place(s, s->to);
    int64_t step = to.count > looked ? to.count / looked : 1;

    fill(s, &from);
    transform(s, &from, &to);
    for (int64_t k = 0; k < to.count; k += step) {
        compare(s, &from, &to, 0, k, roots);
        compare(s, &from, &to, lines_of(s) - 1, to.count - 1 - k, roots);
    }
    free(from.number);
    free(to.number);
}

static void check_kinds(int64_t length, enum placed placed, bool is_double,
                        int64_t looked, const struct wide *roots)
{
    const struct shape shapes[] = {
        {length, placed, TFD_FFT_COMPLEX, TFD_FFT_COMPLEX, false, is_double},
        {length, placed, TFD_FFT_COMPLEX, TFD_FFT_COMPLEX, true, is_double},
        {length, placed, TFD_FFT_REAL, TFD_FFT_HALF, false, is_double},
        {length, placed, TFD_FFT_HALF, TFD_FFT_REAL, true, is_double}};

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if ((placed != COLUMNS || i < 2) && is_possible(&shapes[i]))
            check(&shapes[i], looked, roots);
}

static void check_length(int64_t length, int64_t looked, enum placed first)
{
    struct wide *roots = new_roots(length);

    for (int placed = first; placed < PLACES; placed++) {
        check_kinds(length, (enum placed)placed, false, looked, roots);
        check_kinds(length, (enum placed)placed, true, looked, roots);
    }
    free(roots);
}

/* The root of the mean square of a line's errors, by that of its elements. */
static long double mean_error(const struct shape *s, const struct place *from,
                              const struct place *to, int line,
                              const struct wide *roots)
{
    long double errors = 0, squares = 0;

    for (int64_t k = 0; k < to->count; k++) {
        struct wide sum = sum_at(s, from, line, k, roots);
        const double *y = to->number + number_at(s, to, line, k);
        long double im = to->parts == 2 ? y[1] - sum.im : 0;

        errors += (y[0] - sum.re) * (y[0] - sum.re) + im * im;
        squares += sum.re * sum.re + (to->parts == 2 ? sum.im * sum.im : 0);
    }
    return sqrtl(errors / squares);
}

/* Of two lines: a little more than that of many. */
static void check_mean(const struct shape *s, double units,
                       const struct wide *roots)
{
    struct place from = new_place(s, s->from), to = new_place(s, s->to);
    const long double most = 1.12L * (long double)units / (1 << 24);
    long double error;

    fill(s, &from);
    transform(s, &from, &to);
    error = hypotl(mean_error(s, &from, &to, 0, roots),
                   mean_error(s, &from, &to, lines_of(s) - 1, roots)) /
            sqrtl(2);
    free(from.number);
    free(to.number);
    if (error > most)
        fail_msg("length %lld, place %d, kind %d to %d, inverse %d: a mean "
                 "error of %Lg, at most %Lg",
                 (long long)s->length, s->placed, s->from, s->to, s->inverse,
                 error, most);
}

/* ---- Tests --------------------------------------------------------------- */

static void every_short_length(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 80; n++)
        check_length(n, n, COLUMNS);
}

/* Rader's (97, 1009, 4093 has 11 and 31 in it), Bluestein's (2 * 1009, 59 *
 * 61), all radices, odd ones, powers. */
static void longer_ones(void **state)
{
    static const int64_t lengths[] = {
        221,  256,  343,  360,  480,  486,  512,  640,  720,  729,  1000,
        1001, 1009, 1024, 1155, 1331, 2018, 2048, 2187, 2197, 2310, 2560,
        3125, 3599, 4093, 4096, 4410, 6144, 8191, 8192, 10007};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        check_length(lengths[i], 5, COLUMNS);
}

static void a_million(void **state)
{
    static const int64_t lengths[] = {1 << 20, 65537};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        check_length(lengths[i], 1, ALONE);
}

/* Mean errors of TensorFlow's transforms of floats in units of 2^-24, as
 * measured on 32 lines and more of normal numbers: of complex numbers, their
 * inverse, of real ones, theirs. */
static const struct {
    int64_t length;
    double units[4];
} tensorflows[] = {
    {64, {1.408, 1.364, 1.296, 1.317}},  {100, {1.651, 1.657, 1.548, 1.565}},
    {250, {1.900, 2.252, 1.829, 2.173}}, {256, {1.664, 1.653, 1.562, 1.613}},
    {480, {1.880, 2.133, 1.837, 2.119}}, {512, {1.770, 1.768, 1.723, 1.717}},
    {1024, {1.894, 1.903, 1.807, 1.799}}};

static void floats_as_near_as_tensorflows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tensorflows) / sizeof(tensorflows[0]); i++) {
        const int64_t n = tensorflows[i].length;
        const struct shape shapes[] = {
            {n, COLUMNS, TFD_FFT_COMPLEX, TFD_FFT_COMPLEX, false, false},
            {n, ROWS, TFD_FFT_COMPLEX, TFD_FFT_COMPLEX, true, false},
            {n, ROWS, TFD_FFT_REAL, TFD_FFT_HALF, false, false},
            {n, ROWS, TFD_FFT_HALF, TFD_FFT_REAL, true, false}};
        struct wide *roots = new_roots(n);

        for (size_t j = 0; j < sizeof(shapes) / sizeof(shapes[0]); j++)
            check_mean(&shapes[j], tensorflows[i].units[j], roots);
        free(roots);
    }
}

static void too_long(void **state)
{
    struct tfd_fft_plan *plan = NULL;
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    assert_int_equal(
        tfd_fft_plan_get((INT64_C(1) << 24) + 1, false, &plan, &st),
        TFD_RESOURCE_EXHAUSTED);
    assert_null(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_length), cmocka_unit_test(longer_ones),
        cmocka_unit_test(a_million),
        cmocka_unit_test(floats_as_near_as_tensorflows),
        cmocka_unit_test(too_long)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
