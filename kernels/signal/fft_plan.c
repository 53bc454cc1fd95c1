/*
 * fft_plan.c - see fft_plan.h.
 *
 * Who is told to stop leaves a plan half made, and forgets it.
 */
#include "kernels/signal/fft_plan.h"

#include "common/base/alloc.h"
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "common/thread/lock.h"
#include "config/limits.h"
#include "kernels/signal/fft_lanes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOTS_BETWEEN_LOOKS 65536
/* Convolutions of at least so many have lengths that are a multiple of that
 * many, so that rows alone are done on vectors, too. */
#define ROW_LEAST 256
#define ROW_UNIT 64
/* Convolutions of less are near the processor as a whole. */
#define SQUARE_LEAST 128

static_assert(TFD_FFT_LENGTH_MAX < INT64_C(1) << 31, "its square fits");

/* ---- Roots of unity ------------------------------------------------------ */

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

/* ---- Factors ------------------------------------------------------------- */

/* About what a pass takes for an element: additions. */
static const int cost_of_radix[TFD_FFT_RADIX_MAX + 1] = {
    [2] = 4,  [3] = 6, [4] = 6,   [5] = 9,
    [7] = 12, [8] = 9, [11] = 20, [13] = 24};

/* Two of 4 are fewer steps than 8 and 2.  False: a prime factor is larger than
 * RADIX_MAX; `factor` and `count` say nothing then. */
static bool find_factors(int64_t n, int64_t *factor, int *count)
{
    static const int64_t tried[] = {4, 2, 3, 5, 7, 11, 13};

    *count = 0;
    for (; n % 8 == 0 && n / 8 != 2 && (n / 8) % 4 != 2; n /= 8)
        factor[(*count)++] = 8;
    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++)
        for (; n % tried[i] == 0; n /= tried[i])
            factor[(*count)++] = tried[i];
    return n == 1;
}

/* What a transform of this length takes; -1: its factors are too large. */
static int64_t cost_of_length(int64_t n)
{
    int64_t factor[TFD_FFT_FACTORS_MAX], cost = 0;
    int count;

    if (!find_factors(n, factor, &count))
        return -1;
    for (int i = 0; i < count; i++)
        cost += cost_of_radix[factor[i]];
    return cost * n;
}

/* The cheapest length of at least n. */
static int64_t good_length(int64_t n)
{
    const int64_t unit = n < ROW_LEAST ? 1 : ROW_UNIT;
    int64_t best = 1, least;

    while (best < n)
        best *= 2;
    least = cost_of_length(best);
    for (int64_t m = (n + unit - 1) / unit * unit, end = best; m < end;
         m += unit) {
        int64_t cost = cost_of_length(m);

        if (cost < 0 || cost >= least)
            continue;
        least = cost;
        best = m;
    }
    return best;
}

/* ---- Making a plan ------------------------------------------------------- */

static void *new_array(struct tfd_fft_plan *p, int64_t count, size_t size)
{
    struct tfd_buffer *b = tfd_buffer_new((size_t)count * size + 1);

    assert(p->array_count < TFD_FFT_ARRAYS_MAX);
    if (!b)
        return NULL;
    p->array[p->array_count++] = b;
    p->size += (size_t)count * size;
    return b->data;
}

/* Pairs of numbers. */
static struct tfd_complex *new_roots(struct tfd_fft_plan *p, int64_t count)
{
    struct tfd_complex *w = new_array(p, count, sizeof(*w));

    if (w)
        p->numbers[p->array_count - 1] = 2 * count;
    return w;
}

/* The arrays of doubles become those of floats, where they lie. */
static void narrow_arrays(struct tfd_fft_plan *p)
{
    for (int i = 0; p && i < p->array_count; i++) {
        char *at = p->array[i]->data;

        for (int64_t j = 0; j < p->numbers[i]; j++) {
            double wide;
            float number;

            memcpy(&wide, at + j * (int64_t)sizeof(wide), sizeof(wide));
            number = (float)wide;
            memcpy(at + j * (int64_t)sizeof(number), &number, sizeof(number));
        }
    }
}

static void narrow_plan(struct tfd_fft_plan *p)
{
    narrow_arrays(p);
    narrow_arrays(p->part);
}

static bool make_turns(struct tfd_fft_plan *p)
{
    const int64_t radix_roots = (TFD_FFT_RADIX_MAX + 1) * TFD_FFT_RADIX_MAX;
    struct tfd_complex *at, *roots = new_roots(p, radix_roots);
    int64_t n = p->length, count = 0;

    for (int i = 0; i < p->count; i++) {
        count += n / p->factor[i] * (p->factor[i] - 1);
        n /= p->factor[i];
    }
    p->turns = at = new_roots(p, count);
    p->roots = roots;
    if (!at || !roots)
        return false;
    memset(roots, 0, (size_t)radix_roots * sizeof(*roots));
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
            roots[radix * TFD_FFT_RADIX_MAX + r] = root_of_unity(r, radix);
        n /= radix;
    }
    return true;
}

static bool make_halves(struct tfd_fft_plan *p)
{
    struct tfd_complex *w = new_array(p, p->length / 2 + 1, sizeof(*w));

    p->halves = w;
    for (int64_t k = 0; w && k <= p->length / 2; k++) {
        if (k % ROOTS_BETWEEN_LOOKS == 0 && tfd_halted())
            return true;
        w[k] = root_of_unity(k, 2 * p->length);
    }
    return w;
}

/* Plans in it have fewer of their own: three deep they end. */
static void free_plan(struct tfd_fft_plan *p)
{
    if (!p)
        return;
    struct tfd_fft_plan *const inside[] = {p->inner, p->part, p->down,
                                           p->along};

    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
        free_plan(inside[i]);
    for (int i = 0; i < p->array_count; i++)
        tfd_buffer_unref(p->array[i]);
    free(p);
}

/* Without turns where the factors are too large. */
static struct tfd_fft_plan *new_direct(int64_t length, bool single)
{
    struct tfd_fft_plan *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->refs = 1;
    p->size = sizeof(*p);
    p->length = length;
    p->single = single;
    if (find_factors(length, p->factor, &p->count) && !make_turns(p)) {
        free_plan(p);
        return NULL;
    }
    return p;
}

/* Of a plan with turns whose length allows it. */
static bool make_part(struct tfd_fft_plan *p)
{
    const int64_t lanes = tfd_fft_lanes_copy(p->single)->lanes,
                  n = p->length / lanes;
    double *w;

    if (!p->turns || p->length % lanes != 0 || n < lanes)
        return true;
    p->part = new_direct(n, p->single);
    p->seams = w = (double *)new_roots(p, p->length);
    if (!p->part || !w)
        return false;
    p->size += p->part->size;
    for (int64_t i = 0; i < p->length; i++) {
        struct tfd_complex root = root_of_unity(i / n * (i % n), p->length);

        if (i % ROOTS_BETWEEN_LOOKS == 0 && tfd_halted())
            return true;
        w[i] = root.re;
        w[p->length + i] = root.im;
    }
    return true;
}

/* How many rows a convolution has: about as many as columns.  One that the
 * processor has near has a single one. */
static int64_t rows_of(int64_t length)
{
    int64_t rows = 1;

    if (length < SQUARE_LEAST)
        return 1;
    while (rows * rows < length || length % rows != 0)
        rows++;
    return rows;
}

/* Of an inner plan. */
static bool make_square(struct tfd_fft_plan *p)
{
    const int64_t a = rows_of(p->length), b = p->length / a;
    struct tfd_complex *w = new_roots(p, p->length);

    p->twists = w;
    p->down = new_direct(a, p->single);
    p->along = new_direct(b, p->single);
    if (!w || !p->down || !p->along)
        return false;
    p->size += p->down->size + p->along->size;
    for (int64_t j = 0; j < b && !tfd_halted(); j++)
        for (int64_t k = 0; k < a; k++)
            *w++ = root_of_unity(j * k, p->length);
    return true;
}

/* The filter in the order of rows. */
static bool sort_filter(struct tfd_fft_plan *p,
                        const struct tfd_complex *filter)
{
    const int64_t a = p->inner->down->length, b = p->inner->along->length;
    struct tfd_complex *w = new_roots(p, a * b);

    p->filter_rows = w;
    for (int64_t i = 0; w && i < a; i++)
        for (int64_t k = 0; k < b; k++)
            *w++ = filter[i + k * a];
    return w;
}

/* Of the convolution, whose numbers lie in `filter` in the order of time. */
static bool transform_filter(struct tfd_fft_plan *p, struct tfd_complex *filter)
{
    int64_t m = p->inner->length;
    struct tfd_buffer *work = tfd_buffer_new((size_t)m * sizeof(*filter));

    if (!work)
        return false;
    for (int64_t j = 0; j < m; j++) {
        filter[j].re /= (double)m;
        filter[j].im /= (double)m;
    }
    tfd_fft_line_run(p->inner, filter, work->data);
    tfd_buffer_unref(work);
    p->filter = filter;
    return sort_filter(p, filter);
}

static bool make_inner(struct tfd_fft_plan *p, int64_t length)
{
    p->inner = new_direct(length, p->single);
    if (!p->inner || !make_part(p->inner) || !make_square(p->inner))
        return false;
    p->size += p->inner->size;
    return true;
}

static bool make_chirp(struct tfd_fft_plan *p)
{
    const int64_t n = p->length, m = good_length(2 * n - 1);
    struct tfd_complex *chirp = new_roots(p, n), *filter = new_roots(p, m);
    int32_t *order = new_array(p, n, sizeof(*order));

    p->chirp = chirp;
    p->order_in = p->order_out = order;
    if (!chirp || !filter || !order || !make_inner(p, m))
        return false;
    memset(filter, 0, (size_t)m * sizeof(*filter));
    for (int64_t j = 0; j < n; j++) {
        struct tfd_complex w = root_of_unity(j * j % (2 * n), 2 * n);

        if (j % ROOTS_BETWEEN_LOOKS == 0 && tfd_halted())
            return true;
        order[j] = (int32_t)j;
        chirp[j] = w;
        w.im = -w.im;
        filter[j] = w;
        if (j > 0)
            filter[m - j] = w;
    }
    return transform_filter(p, filter);
}

/* ---- Primes -------------------------------------------------------------- */

static bool is_prime(int64_t n)
{
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n > 1;
}

static int64_t power_of(int64_t base, int64_t exponent, int64_t modulus)
{
    int64_t result = 1;

    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1)
            result = result * base % modulus;
        base = base * base % modulus;
    }
    return result;
}

/* The least whose powers are all numbers below the prime p but 0: of no prime
 * factor f of p - 1 is its (p - 1) / f'th power 1. */
static int64_t primitive_root(const struct tfd_fft_plan *p)
{
    const struct tfd_fft_plan *all = p->inner;

    for (int64_t g = 2;; g++) {
        bool found = true;

        for (int i = 0; i < all->count && found; i++) {
            int64_t f = all->factor[i] % 2 == 0 ? 2 : all->factor[i];

            found = power_of(g, all->length / f, p->length) != 1;
        }
        if (found)
            return g;
    }
}

static bool make_prime(struct tfd_fft_plan *p)
{
    const int64_t m = p->length - 1;
    int32_t *in = new_array(p, m, sizeof(*in));
    int32_t *out = new_array(p, m, sizeof(*out));
    struct tfd_complex *filter = new_roots(p, m);
    int64_t g, at = 1;

    p->order_in = in;
    p->order_out = out;
    if (!in || !out || !filter || !make_inner(p, m))
        return false;
    if (tfd_halted())
        return true;
    g = primitive_root(p);
    for (int64_t j = 0; j < m; j++) {
        if (j % ROOTS_BETWEEN_LOOKS == 0 && tfd_halted())
            return true;
        in[j] = (int32_t)at;
        out[(m - j) % m] = (int32_t)at;
        filter[(m - j) % m] = root_of_unity(at, p->length);
        at = at * g % p->length;
    }
    return transform_filter(p, filter);
}

/* Rader's is of half of Bluestein's length. */
static bool by_prime(int64_t n)
{
    int64_t cost = cost_of_length(n - 1);

    return cost >= 0 && is_prime(n) &&
           cost <= cost_of_length(good_length(2 * n - 1));
}

static bool complete_plan(struct tfd_fft_plan *p)
{
    if (!make_halves(p))
        return false;
    if (p->turns)
        return make_part(p);
    return by_prime(p->length) ? make_prime(p) : make_chirp(p);
}

static struct tfd_fft_plan *new_plan(int64_t length, bool single)
{
    struct tfd_fft_plan *p = new_direct(length, single);

    if (p && !complete_plan(p)) {
        free_plan(p);
        return NULL;
    }
    if (p && single && !tfd_halted())
        narrow_plan(p);
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

bool tfd_fft_plan_is_direct(int64_t length)
{
    int64_t factor[TFD_FFT_FACTORS_MAX];
    int count;

    return find_factors(length, factor, &count);
}

static struct tfd_fft_plan *find_plan(int64_t length, bool single)
{
    for (int i = 0; i < TFD_FFT_PLANS_MAX; i++)
        if (cache.plan[i] && cache.plan[i]->length == length &&
            cache.plan[i]->single == single) {
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

enum tfd_code tfd_fft_plan_get(int64_t length, bool single,
                               struct tfd_fft_plan **out, struct tfd_status *st)
{
    assert(length >= 1 && (!single || tfd_fft_plan_is_direct(length)));
    if (length > TFD_FFT_LENGTH_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a Fourier transform of length %lld; at most %lld is "
                        "possible",
                        (long long)length, (long long)TFD_FFT_LENGTH_MAX);
    tfd_lock(&cache.lock);
    *out = find_plan(length, single);
    tfd_unlock(&cache.lock);
    if (*out)
        return TFD_OK;
    *out = new_plan(length, single);
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
