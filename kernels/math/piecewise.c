/*
 * piecewise.c - see piecewise.h.
 *
 * A block goes through three loops: vectors say where each number lies, scalars
 * take that part's polynomial (lines of memory that vectors would have to
 * gather), vectors multiply by the factor.
 */
#include "kernels/math/piecewise.h"

#include "kernels/core/elementwise.h"
#include "kernels/vector/double_functions.h"

#include <pthread.h>

#define TERMS TFD_PIECEWISE_TERMS
#define TERMS_MAX TFD_PIECEWISE_TERMS_MAX
#define BLOCK TFD_PIECEWISE_BLOCK
#define PI 3.14159265358979323846L

/* ---- Tables -------------------------------------------------------------- */

/* Where in a part the polynomial meets the function: in (-1/2, 1/2). */
static void find_nodes(long double *t, int count)
{
    for (int i = 0; i < count; i++)
        t[i] = cosl(PI * (i + 0.5L) / count) / 2;
}

/* Values at the nodes to Newton's divided differences. */
static void divide_differences(const long double *t, long double *value,
                               int count)
{
    for (int order = 1; order < count; order++)
        for (int i = count - 1; i >= order; i--)
            value[i] = (value[i] - value[i - 1]) / (t[i] - t[i - order]);
}

/* Newton's form to powers of t, from the innermost bracket outwards. */
static void expand(const long double *t, const long double *newton, int count,
                   double *out)
{
    long double c[TERMS_MAX] = {newton[count - 1]};

    for (int i = count - 2; i >= 0; i--) {
        for (int k = count - 1 - i; k > 0; k--)
            c[k] = c[k - 1] - c[k] * t[i];
        c[0] = newton[i] - c[0] * t[i];
    }
    for (int k = 0; k < count; k++)
        out[k] = (double)c[k];
}

static void fill_table(struct tfd_piecewise *p)
{
    const int steps = 1 << p->bits;
    long double t[TERMS_MAX], value[TERMS_MAX];

    find_nodes(t, p->count);
    for (int part = 0; part < p->parts; part++) {
        const long double width =
            ldexpl(1.0L / steps, p->exponent + (part >> p->bits));
        const long double middle = width * (steps + part % steps + 0.5L);

        for (int i = 0; i < p->count; i++)
            value[i] = p->of(middle + width * t[i]);
        divide_differences(t, value, p->count);
        expand(t, value, p->count, p->terms + (int64_t)part * p->count);
    }
}

/* Rare enough for one lock of all tables. */
static void make_table(struct tfd_piecewise *p)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    if (TFD_LOAD_ACQUIRE(&p->made))
        return;
    pthread_mutex_lock(&lock);
    if (!TFD_LOAD_RELAXED(&p->made))
        fill_table(p);
    TFD_STORE_RELEASE(&p->made, 1);
    pthread_mutex_unlock(&lock);
}

/* ---- Where numbers lie --------------------------------------------------- */

struct block {
    const struct tfd_piecewise *p;
    int64_t rare; /* some are outside of the table */
    int64_t part[BLOCK];
    double x[BLOCK], t[BLOCK], y[BLOCK];
};

static inline double z_of(double x, enum tfd_piecewise_z kind)
{
    switch (kind) {
    case TFD_PIECEWISE_FROM_0:
    case TFD_PIECEWISE_FROM_0_EXACT:
        return fabs(x) + 1;
    case TFD_PIECEWISE_FROM_1:
        return 1 - fabs(x);
    case TFD_PIECEWISE_ENDS:
        return x < 0.5 ? x : 1 - x;
    default:
        return x;
    }
}

/* Its part, and t in [-1/2, 1/2). */
TFD_VECTOR int64_t find_part(double z, int exponent, int bits, double *t)
{
    const uint64_t all = tfd_double_bits(z);
    const uint64_t place = (all << bits) & UINT64_C(0xfffffffffffff);

    *t = tfd_double_of(place | UINT64_C(1023) << 52) - 1.5;
    return (int64_t)(all >> (52 - bits)) - ((int64_t)(1023 + exponent) << bits);
}

/* How far t lies from that of |x|, where z is |x| + 1 rounded. */
TFD_VECTOR double lost_of(double x, double z, int bits)
{
    const uint64_t octave = tfd_double_bits(z) & UINT64_C(0x7ff) << 52;
    const uint64_t parts = (UINT64_C(2046) << 52) - octave;

    return (fabs(x) - (z - 1)) * tfd_double_of(parts + ((uint64_t)bits << 52));
}

TFD_VECTOR void find_parts(struct block *b, int64_t begin, int64_t end,
                           enum tfd_piecewise_z kind)
{
    const int exponent = b->p->exponent, bits = b->p->bits;
    const int64_t parts = b->p->parts;
    int64_t rare = 0;

    for (int64_t i = begin; i < end; i++) {
        const double z = z_of(b->x[i], kind);
        int64_t at = find_part(z, exponent, bits, &b->t[i]);
        int64_t outside = -(int64_t)((at < 0) | (at >= parts));

        if (kind == TFD_PIECEWISE_FROM_0_EXACT)
            b->t[i] += lost_of(b->x[i], z, bits);
        rare |= outside;
        b->part[i] = (at & ~outside) | (parts & outside);
    }
    b->rare = rare;
}

/* One loop for each kind: the kind is a constant in each. */
TFD_SIMD_LOOP(find)
{
    struct block *b = arg;

    switch (b->p->z) {
    case TFD_PIECEWISE_FROM_0:
        find_parts(b, begin, end, TFD_PIECEWISE_FROM_0);
        break;
    case TFD_PIECEWISE_FROM_0_EXACT:
        find_parts(b, begin, end, TFD_PIECEWISE_FROM_0_EXACT);
        break;
    case TFD_PIECEWISE_FROM_1:
        find_parts(b, begin, end, TFD_PIECEWISE_FROM_1);
        break;
    case TFD_PIECEWISE_ENDS:
        find_parts(b, begin, end, TFD_PIECEWISE_ENDS);
        break;
    default:
        find_parts(b, begin, end, TFD_PIECEWISE_X);
    }
}
TFD_SIMD_CLONES_WIDE(find)

/* ---- Polynomials --------------------------------------------------------- */

/* Even and odd powers apart, so that neither waits for the other. */
static inline double sum_terms(const double *c, double t)
{
    const double square = t * t;
    const double even =
        ((c[6] * square + c[4]) * square + c[2]) * square + c[0];
    const double odd = ((c[7] * square + c[5]) * square + c[3]) * square + c[1];

    return even + odd * t;
}

static inline double sum_many_terms(const double *c, double t)
{
    const double square = t * t;
    double even = c[10] * square + c[8], odd = c[11] * square + c[9];

    for (int k = 6; k > 0; k -= 2) {
        even = even * square + c[k];
        odd = odd * square + c[k + 1];
    }
    odd = odd * square + c[1];
    return even * square + odd * t + c[0];
}

static void sum_parts(struct block *b, int64_t n)
{
    const double *terms = b->p->terms;

    for (int64_t i = 0; i < n; i++)
        b->y[i] = sum_terms(terms + b->part[i] * TERMS, b->t[i]);
}

static void sum_double_parts(struct block *b, int64_t n)
{
    const double *terms = b->p->terms;

    for (int64_t i = 0; i < n; i++)
        b->y[i] = sum_many_terms(terms + b->part[i] * TERMS_MAX, b->t[i]);
}

/* ---- Factors ------------------------------------------------------------- */

static inline double factor_of(double x, enum tfd_piecewise_factor kind)
{
    const double a = fabs(x), in = a < 690 ? a : 690;

    switch (kind) {
    case TFD_PIECEWISE_BY_X:
    case TFD_PIECEWISE_BY_X_GROWTH:
        return x;
    case TFD_PIECEWISE_BY_CUBE:
        return x * x * x;
    case TFD_PIECEWISE_BY_EXP:
        return tfd_quick_exp(in);
    case TFD_PIECEWISE_BY_REST:
        return 1 - x;
    case TFD_PIECEWISE_BY_CENTERED:
        return x - 0.5;
    default:
        return 1;
    }
}

TFD_VECTOR void multiply_kind(struct block *b, int64_t begin, int64_t end,
                              enum tfd_piecewise_factor kind)
{
    for (int64_t i = begin; i < end; i++)
        b->y[i] *= factor_of(b->x[i], kind);
}

#define FACTORS(X)           \
    X(TFD_PIECEWISE_BY_CUBE) \
    X(TFD_PIECEWISE_BY_EXP)  \
    X(TFD_PIECEWISE_BY_REST) \
    X(TFD_PIECEWISE_BY_CENTERED)

TFD_SIMD_LOOP(multiply)
{
    struct block *b = arg;

    switch (b->p->factor) {
#define MULTIPLY(kind)                      \
    case kind:                              \
        multiply_kind(b, begin, end, kind); \
        break;
    case TFD_PIECEWISE_BY_X_GROWTH:
        MULTIPLY(TFD_PIECEWISE_BY_X)
        FACTORS(MULTIPLY)
#undef MULTIPLY
    default:
        break;
    }
}
TFD_SIMD_CLONES_WIDE(multiply)

TFD_SIMD_LOOP(grow)
{
    struct block *b = arg;
    const double sign = b->p->factor == TFD_PIECEWISE_BY_DECAY ? -1 : 1;

    for (int64_t i = begin; i < end; i++)
        b->y[i] *= tfd_double_exp(sign * fabs(b->x[i]));
}
TFD_SIMD_CLONES_WIDE(grow)

/* ---- All ----------------------------------------------------------------- */

struct floats {
    struct block *b;
    const float *x;
    float *y;
};

TFD_SIMD_LOOP(widen)
{
    const struct floats *f = arg;

    for (int64_t i = begin; i < end; i++)
        f->b->x[i] = (double)f->x[i];
}
TFD_SIMD_CLONES_WIDE(widen)

TFD_SIMD_LOOP(narrow)
{
    const struct floats *f = arg;

    for (int64_t i = begin; i < end; i++)
        f->y[i] = (float)f->b->y[i];
}
TFD_SIMD_CLONES_WIDE(narrow)

static void compute_any(const struct tfd_piecewise *p, const double *x,
                        double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)p->any((long double)x[i]);
}

/* Put together first: no branch goes now this way and now that. */
static __attribute__((noinline)) void compute_rare(struct block *b, int64_t n)
{
    const struct tfd_piecewise *p = b->p;
    int64_t at[BLOCK], count = 0;
    double x[BLOCK], y[BLOCK];

    for (int64_t i = 0; i < n; i++) {
        at[count] = i;
        x[count] = b->x[i];
        count += b->part[i] == p->parts;
    }
    if (p->rare)
        p->rare(x, y, count);
    else
        compute_any(p, x, y, count);
    for (int64_t i = 0; i < count; i++)
        b->y[at[i]] = y[i];
}

void tfd_piecewise_floats(struct tfd_piecewise *p, const float *x, float *y,
                          int64_t n)
{
    struct block b;
    struct floats f = {&b, x, y};

    b.p = p;
    make_table(p);
    for (int64_t count; n > 0; n -= count) {
        count = n < BLOCK ? n : BLOCK;
        widen(&f, 0, count);
        find(&b, 0, count);
        sum_parts(&b, count);
        multiply(&b, 0, count);
        if (b.rare)
            compute_rare(&b, count);
        narrow(&f, 0, count);
        f.x += count;
        f.y += count;
    }
}

void tfd_piecewise_row(struct tfd_piecewise *p, const void *row, int64_t begin,
                       int64_t end)
{
    const struct tfd_row *r = row;

    if (begin < end)
        tfd_piecewise_floats(p, (const float *)r->a + begin,
                             (float *)r->y + begin, end - begin);
}

static void compute_doubles(struct tfd_piecewise *p, const double *x, double *y,
                            int64_t n)
{
    struct block b;

    b.p = p;
    make_table(p);
    for (int64_t count; n > 0; n -= count) {
        count = n < BLOCK ? n : BLOCK;
        memcpy(b.x, x, (size_t)count * sizeof(*x));
        find(&b, 0, count);
        sum_double_parts(&b, count);
        multiply(&b, 0, count);
        if (p->factor >= TFD_PIECEWISE_BY_GROWTH)
            grow(&b, 0, count);
        if (b.rare)
            compute_rare(&b, count);
        memcpy(y, b.y, (size_t)count * sizeof(*y));
        x += count;
        y += count;
    }
}

void tfd_piecewise_double_row(struct tfd_piecewise *p, const void *row,
                              int64_t begin, int64_t end)
{
    const struct tfd_row *r = row;

    if (begin < end)
        compute_doubles(p, (const double *)r->a + begin, (double *)r->y + begin,
                        end - begin);
}

double tfd_piecewise_look(struct tfd_piecewise *p, double z)
{
    const double *terms;
    double t;
    int64_t part;

    make_table(p);
    part = find_part(z, p->exponent, p->bits, &t);
    if (part < 0 || part >= p->parts)
        return NAN;
    terms = p->terms + part * p->count;
    return p->count == TERMS ? sum_terms(terms, t) : sum_many_terms(terms, t);
}
