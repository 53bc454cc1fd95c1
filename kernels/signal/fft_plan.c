/*
 * fft_plan.c - see fft_plan.h.
 *
 * The mixed-radix transform is Stockham's, which needs no reordering: a pass of
 * radix p over a length n = p m, of which `stride` are done side by side, reads
 *
 *     a[j] = x[k + stride (q + m j)]              j < p, q < m, k < stride
 *
 * and writes the transform of these p, turned by roots of unity,
 *
 *     y[k + stride (p q + r)] = exp(-2 pi i q r / n) sum of a[j] w^(j r)
 *
 * so that m is the length of the next pass and p stride its stride.
 *
 * Bluestein's: j k = (j^2 + k^2 - (k - j)^2) / 2 makes of the transform a
 * convolution with the chirp exp(pi i j^2 / n), which is done by transforms of
 * a power of two; that of the chirp is in the plan.
 */
#include "kernels/signal/fft_plan.h"

#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "common/thread/lock.h"
#include "config/limits.h"
#include "kernels/signal/fft_pairs.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FACTORS_MAX 64 /* of a number of 64 bits */
#define RADIX_MAX 13
#define ARRAYS_MAX 3
#define ROOTS_BETWEEN_LOOKS 65536

static_assert(TFD_FFT_LENGTH_MAX < INT64_C(1) << 31, "its square fits");

struct tfd_fft_plan {
    int refs; /* atomic */
    int64_t length;
    int count;
    int64_t factor[FACTORS_MAX];
    /* Of all passes: m (p - 1) roots each, those of one q side by side. */
    struct tfd_complex *turns;
    struct tfd_complex roots[RADIX_MAX + 1][RADIX_MAX]; /* of small radices */
    /* Bluestein's; NULL for the others. */
    struct tfd_fft_plan *inner;
    struct tfd_complex *chirp, *filter;
    struct tfd_buffer *array[ARRAYS_MAX]; /* where these three lie */
    int array_count;
    size_t size;  /* bytes, with those of `inner` */
    int64_t used; /* the cache's: when */
};

/* ---- Complex numbers ----------------------------------------------------- */

static inline struct tfd_complex plus(struct tfd_complex a,
                                      struct tfd_complex b)
{
    return (struct tfd_complex){a.re + b.re, a.im + b.im};
}

static inline struct tfd_complex minus(struct tfd_complex a,
                                       struct tfd_complex b)
{
    return (struct tfd_complex){a.re - b.re, a.im - b.im};
}

static inline struct tfd_complex times(struct tfd_complex a,
                                       struct tfd_complex b)
{
    return (struct tfd_complex){a.re * b.re - a.im * b.im,
                                a.re * b.im + a.im * b.re};
}

static inline struct tfd_complex scaled(struct tfd_complex a, double by)
{
    return (struct tfd_complex){a.re * by, a.im * by};
}

/* a times -i. */
static inline struct tfd_complex turned(struct tfd_complex a)
{
    return (struct tfd_complex){a.im, -a.re};
}

static inline struct tfd_complex swapped(struct tfd_complex a)
{
    return (struct tfd_complex){a.im, a.re};
}

/* exp(-2 pi i part / whole), 0 <= part < whole; from an angle of at most an
 * eighth of a turn, so that both parts are right to the last bit. */
static struct tfd_complex root_of_unity(int64_t part, int64_t whole)
{
    const long double tau = 6.283185307179586476925286766559005768L;
    int quarters = ((int)(8 * part / whole) + 1) / 2;
    /* Exact: the numbers are below 2^62, and a long double has 64 bits. */
    long double from = (long double)(4 * part - quarters * whole) / 4;
    long double angle = tau * from / (long double)whole;
    double c = (double)cosl(angle), s = (double)sinl(angle);

    switch (quarters % 4) {
    case 0:
        return (struct tfd_complex){c, -s};
    case 1:
        return (struct tfd_complex){-s, -c};
    case 2:
        return (struct tfd_complex){-c, s};
    default:
        return (struct tfd_complex){s, c};
    }
}

/* ---- Passes -------------------------------------------------------------- */

static void pass_2(const struct tfd_fft_pass *s)
{
    for (int64_t q = 0; q < s->m; q++) {
        const struct tfd_complex w = s->turns[q];
        const struct tfd_complex *x = s->x + s->stride * q;
        struct tfd_complex *y = s->y + s->stride * 2 * q;
        const int64_t next = s->stride * s->m;

        for (int64_t k = 0; k < s->stride; k++) {
            struct tfd_complex a = x[k], b = x[k + next];

            y[k] = plus(a, b);
            y[k + s->stride] = times(minus(a, b), w);
        }
    }
}

static void pass_3(const struct tfd_fft_pass *s)
{
    const double sine = 0.86602540378443864676; /* of a third of a turn */
    const int64_t next = s->stride * s->m;

    for (int64_t q = 0; q < s->m; q++) {
        const struct tfd_complex *w = s->turns + 2 * q;
        const struct tfd_complex *x = s->x + s->stride * q;
        struct tfd_complex *y = s->y + s->stride * 3 * q;

        for (int64_t k = 0; k < s->stride; k++) {
            struct tfd_complex a = x[k], b = x[k + next], c = x[k + 2 * next];
            struct tfd_complex sum = plus(b, c);
            struct tfd_complex mid = minus(a, scaled(sum, 0.5));
            struct tfd_complex off = turned(scaled(minus(b, c), sine));

            y[k] = plus(a, sum);
            y[k + s->stride] = times(plus(mid, off), w[0]);
            y[k + 2 * s->stride] = times(minus(mid, off), w[1]);
        }
    }
}

static void pass_4(const struct tfd_fft_pass *s)
{
    const int64_t next = s->stride * s->m;

    for (int64_t q = 0; q < s->m; q++) {
        const struct tfd_complex *w = s->turns + 3 * q;
        const struct tfd_complex *x = s->x + s->stride * q;
        struct tfd_complex *y = s->y + s->stride * 4 * q;

        for (int64_t k = 0; k < s->stride; k++) {
            struct tfd_complex a = x[k], b = x[k + next];
            struct tfd_complex c = x[k + 2 * next], d = x[k + 3 * next];
            struct tfd_complex even = plus(a, c), odd = plus(b, d);
            struct tfd_complex rest = minus(a, c), off = turned(minus(b, d));

            y[k] = plus(even, odd);
            y[k + s->stride] = times(plus(rest, off), w[0]);
            y[k + 2 * s->stride] = times(minus(even, odd), w[1]);
            y[k + 3 * s->stride] = times(minus(rest, off), w[2]);
        }
    }
}

/* Any other radix: p sums of p each. */
static void pass_any(const struct tfd_fft_pass *s)
{
    const int64_t next = s->stride * s->m, p = s->p;

    for (int64_t i = 0; i < s->stride * s->m; i++) {
        const int64_t q = i / s->stride, k = i % s->stride;
        const struct tfd_complex *x = s->x + i;
        struct tfd_complex *y = s->y + s->stride * p * q + k;
        struct tfd_complex a[RADIX_MAX];

        for (int64_t j = 0; j < p; j++)
            a[j] = x[j * next];
        for (int64_t r = 0; r < p; r++) {
            struct tfd_complex sum = a[0];

            for (int64_t j = 1, at = r; j < p; j++) {
                sum = plus(sum, times(a[j], s->roots[at]));
                at += r;
                at -= at >= p ? p : 0;
            }
            y[r * s->stride] =
                r == 0 ? sum : times(sum, s->turns[(p - 1) * q + r - 1]);
        }
    }
}

static void run_pass(const struct tfd_fft_pass *s)
{
    if (tfd_fft_pass_pairs(s))
        return;
    if (s->p == 4)
        pass_4(s);
    else if (s->p == 2)
        pass_2(s);
    else if (s->p == 3)
        pass_3(s);
    else
        pass_any(s);
}

static void run_passes(const struct tfd_fft_plan *plan, struct tfd_complex *x,
                       struct tfd_complex *work)
{
    struct tfd_fft_pass s = {
        .m = plan->length, .stride = 1, .turns = plan->turns};
    struct tfd_complex *from = x, *to = work, *other;

    for (int i = 0; i < plan->count && !tfd_halted(); i++) {
        s.p = plan->factor[i];
        s.m /= s.p;
        s.roots = plan->roots[s.p];
        s.x = from;
        s.y = to;
        run_pass(&s);
        s.turns += s.m * (s.p - 1);
        s.stride *= s.p;
        other = from;
        from = to;
        to = other;
    }
    if (from != x)
        memcpy(x, from, (size_t)plan->length * sizeof(*x));
}

/* ---- Bluestein's --------------------------------------------------------- */

/* The second transform is the inverse: one of the swapped parts. */
static void run_chirp(const struct tfd_fft_plan *p, struct tfd_complex *x,
                      struct tfd_complex *work)
{
    int64_t n = p->length, m = p->inner->length;
    struct tfd_complex *a = work, *rest = work + m;

    for (int64_t j = 0; j < n; j++)
        a[j] = times(x[j], p->chirp[j]);
    memset(a + n, 0, (size_t)(m - n) * sizeof(*a));
    run_passes(p->inner, a, rest);
    for (int64_t j = 0; j < m; j++)
        a[j] = swapped(times(a[j], p->filter[j]));
    run_passes(p->inner, a, rest);
    for (int64_t j = 0; j < n; j++)
        x[j] = times(swapped(a[j]), p->chirp[j]);
}

size_t tfd_fft_work_count(const struct tfd_fft_plan *p)
{
    return (size_t)(p->inner ? 2 * p->inner->length : p->length);
}

void tfd_fft_run(const struct tfd_fft_plan *p, struct tfd_complex *x,
                 struct tfd_complex *work)
{
    if (p->inner)
        run_chirp(p, x, work);
    else
        run_passes(p, x, work);
}

/* ---- Making a plan ------------------------------------------------------- */

/* Who is told to stop leaves a plan half made, and forgets it. */

/* False: a prime factor is larger than RADIX_MAX. */
static bool find_factors(struct tfd_fft_plan *p)
{
    static const int64_t tried[] = {4, 2, 3, 5, 7, 11, 13};
    int64_t n = p->length;

    p->count = 0;
    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++)
        for (; n % tried[i] == 0; n /= tried[i])
            p->factor[p->count++] = tried[i];
    return n == 1;
}

static struct tfd_complex *new_array(struct tfd_fft_plan *p, int64_t count)
{
    struct tfd_buffer *b =
        tfd_buffer_new((size_t)count * sizeof(struct tfd_complex) + 1);

    assert(p->array_count < ARRAYS_MAX);
    if (!b)
        return NULL;
    p->array[p->array_count++] = b;
    p->size += (size_t)count * sizeof(struct tfd_complex);
    return b->data;
}

static bool make_turns(struct tfd_fft_plan *p)
{
    struct tfd_complex *at;
    int64_t n = p->length, count = 0;

    for (int i = 0; i < p->count; i++) {
        count += n / p->factor[i] * (p->factor[i] - 1);
        n /= p->factor[i];
    }
    at = p->turns = new_array(p, count);
    if (!at)
        return false;
    n = p->length;
    for (int i = 0; i < p->count; i++) {
        int64_t radix = p->factor[i];

        for (int64_t q = 0; q < n / radix; q++) {
            if (q % ROOTS_BETWEEN_LOOKS == 0 && tfd_halted())
                return true;
            for (int64_t r = 1; r < radix; r++)
                *at++ = root_of_unity(q * r, n);
        }
        for (int64_t r = 0; r < radix; r++)
            p->roots[radix][r] = root_of_unity(r, radix);
        n /= radix;
    }
    return true;
}

static void free_plan(struct tfd_fft_plan *p)
{
    if (!p)
        return;
    free_plan(p->inner); /* which has none */
    for (int i = 0; i < p->array_count; i++)
        tfd_buffer_unref(p->array[i]);
    free(p);
}

static struct tfd_fft_plan *new_direct(int64_t length)
{
    struct tfd_fft_plan *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->refs = 1;
    p->size = sizeof(*p);
    p->length = length;
    if (find_factors(p) && !make_turns(p)) {
        free_plan(p);
        return NULL;
    }
    return p;
}

static bool make_chirp(struct tfd_fft_plan *p)
{
    int64_t n = p->length, m = 1;
    struct tfd_buffer *work;

    while (m < 2 * n - 1)
        m *= 2;
    p->inner = new_direct(m);
    p->chirp = new_array(p, n);
    p->filter = new_array(p, m);
    work = tfd_buffer_new((size_t)m * sizeof(*p->filter));
    if (!p->inner || !p->chirp || !p->filter || !work) {
        tfd_buffer_unref(work);
        return false;
    }
    p->size += p->inner->size;
    memset(p->filter, 0, (size_t)m * sizeof(*p->filter));
    for (int64_t j = 0; j < n; j++) {
        struct tfd_complex w = root_of_unity(j * j % (2 * n), 2 * n);

        if (j % ROOTS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        p->chirp[j] = w;
        w.im = -w.im;
        w = scaled(w, 1.0 / (double)m);
        p->filter[j] = w;
        if (j > 0)
            p->filter[m - j] = w;
    }
    run_passes(p->inner, p->filter, work->data);
    tfd_buffer_unref(work);
    return true;
}

static struct tfd_fft_plan *new_plan(int64_t length)
{
    struct tfd_fft_plan *p = new_direct(length);

    if (p && !p->turns && !make_chirp(p)) {
        free_plan(p);
        return NULL;
    }
    return p;
}

/* ---- The cache ----------------------------------------------------------- */

static struct {
    struct tfd_lock lock;
    struct tfd_fft_plan *plan[TFD_FFT_PLANS_MAX];
    size_t size;
    int64_t clock;
} cache = {.lock = TFD_LOCK_INIT(TFD_LOCK_ALLOC)};

void tfd_fft_plan_unref(struct tfd_fft_plan *p)
{
    if (TFD_PENDING_SUB(&p->refs, 1) == 0)
        free_plan(p);
}

static struct tfd_fft_plan *find_plan(int64_t length)
{
    for (int i = 0; i < TFD_FFT_PLANS_MAX; i++)
        if (cache.plan[i] && cache.plan[i]->length == length) {
            cache.plan[i]->used = ++cache.clock;
            TFD_COUNTER_ADD(&cache.plan[i]->refs, 1);
            return cache.plan[i];
        }
    return NULL;
}

/* A free place, or that of the plan that was not used for longest. */
static int worst_place(void)
{
    int worst = 0;

    for (int i = 0; i < TFD_FFT_PLANS_MAX; i++) {
        if (!cache.plan[i])
            return i;
        if (cache.plan[i]->used < cache.plan[worst]->used)
            worst = i;
    }
    return worst;
}

static struct tfd_fft_plan *drop_oldest(void)
{
    struct tfd_fft_plan *found = NULL;
    int at = 0;

    for (int i = 0; i < TFD_FFT_PLANS_MAX; i++)
        if (cache.plan[i] && (!found || cache.plan[i]->used < found->used)) {
            found = cache.plan[i];
            at = i;
        }
    if (found) {
        cache.plan[at] = NULL;
        cache.size -= found->size;
    }
    return found;
}

/* Another thread may have kept one of this length meanwhile: then there are
 * two, and the older one goes in its turn. */
static void keep_plan(struct tfd_fft_plan *p)
{
    struct tfd_fft_plan *gone;
    int place;

    if (p->size > TFD_FFT_PLANS_SIZE_MAX)
        return;
    for (;;) {
        gone = NULL;
        tfd_lock(&cache.lock);
        place = worst_place();
        if (cache.plan[place] ||
            cache.size + p->size > TFD_FFT_PLANS_SIZE_MAX) {
            gone = drop_oldest();
        } else {
            TFD_COUNTER_ADD(&p->refs, 1);
            p->used = ++cache.clock;
            cache.plan[place] = p;
            cache.size += p->size;
        }
        tfd_unlock(&cache.lock);
        if (!gone)
            return;
        tfd_fft_plan_unref(gone);
    }
}

enum tfd_code tfd_fft_plan_get(int64_t length, struct tfd_fft_plan **out,
                               struct tfd_status *st)
{
    assert(length >= 1);
    if (length > TFD_FFT_LENGTH_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a Fourier transform of length %lld; at most %lld is "
                        "possible",
                        (long long)length, (long long)TFD_FFT_LENGTH_MAX);
    tfd_lock(&cache.lock);
    *out = find_plan(length);
    tfd_unlock(&cache.lock);
    if (*out)
        return TFD_OK;
    *out = new_plan(length);
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a Fourier transform of length %lld",
                        (long long)length);
    if (tfd_halted()) {
        tfd_fft_plan_unref(*out);
        return tfd_halt_fail(st);
    }
    keep_plan(*out);
    return TFD_OK;
}
