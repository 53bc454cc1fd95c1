/*
 * special_lanes.c - series and fractions of eight numbers at once.
 *
 * Formulas are those of special_formulas.h without their divisions: a sum is
 * kept as one quotient, a continued fraction as the last two of its
 * convergents, both scaled down before they grow out of range.  A block of
 * arguments is sorted into lists first, so that those of one list take the same
 * way.
 *
 *     log gamma(a) = S(a + 8) - log(a (a + 1) ... (a + 7))
 *     S(z) = (z - 1/2) log z - z + log(2 pi) / 2 + 1 / 12z - ...
 */
#include "kernels/math/special_lanes.h"

#include "kernels/math/special_functions.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_double.h"

#define LANES 8
#define PAIR (2 * LANES) /* two vectors, so that neither waits for its sums */
#define BLOCK 128

#define EPSILON 0x1p-30
#define ROUNDS_MAX 500 /* of a series or fraction, EACH steps long */
#define EACH 4
#define LARGE 0x1p400

typedef double lanes __attribute__((vector_size(64), may_alias));
typedef int64_t masks __attribute__((vector_size(64), may_alias));

/* b where the mask m has ones, a where it has zeros. */
#define PICK(m, a, b) ((lanes)(((masks)(b) & (m)) | ((masks)(a) & ~(m))))
#define ALL(number) ((lanes){0} + (number))

struct list {
    int64_t count;
    _Alignas(64) double a[BLOCK], b[BLOCK], x[BLOCK], y[BLOCK];
    double from[BLOCK]; /* 1: the result is 1 - y */
    int64_t at[BLOCK];  /* whose result it is */
};

/* Arguments of a block. */
struct block {
    float in[3][BLOCK];
    int64_t n;
};

/* ---- Lists --------------------------------------------------------------- */

static void read_block(struct block *b, const struct tfd_special_lanes *s,
                       int inputs, int64_t begin, int64_t end)
{
    b->n = end - begin < BLOCK ? end - begin : BLOCK;
    for (int k = 0; k < inputs; k++)
        for (int64_t i = 0; i < b->n; i++)
            b->in[k][i] = s->in[k][(begin + i) * s->step[k]];
}

/* Written whether it is or not: no branch. */
static inline void append(struct list *l, int64_t at, int belongs)
{
    l->at[l->count] = at;
    l->count += belongs;
}

/* Up to whole pairs of vectors, by what is harmless. */
static int64_t pad(struct list *l)
{
    int64_t n = l->count;

    for (; n % PAIR != 0; n++) {
        l->a[n] = l->a[0];
        l->b[n] = l->b[0];
        l->x[n] = l->x[0];
        l->from[n] = l->from[0];
    }
    return n;
}

static void write_results(const struct list *l, float *y)
{
    for (int64_t i = 0; i < l->count; i++)
        y[l->at[i]] = (float)(l->from[i] != 0 ? l->from[i] - l->y[i] : l->y[i]);
}

/* ---- Functions of doubles ------------------------------------------------ */

#define SHIFT 8
#define HALF_LOG_2_PI 0.91893853320467274178

/* a (a + 1) ... (a + 7) */
TFD_VECTOR double rising_product(double a)
{
    double square = a * (a + 7); /* and 6, 10, 12 more are the others */

    return square * (square + 6) * ((square + 10) * (square + 12));
}

/* S(a + 8) less its constant. */
TFD_VECTOR double stirling(double a)
{
    double z = a + SHIFT, inverse = 1 / z, square = inverse * inverse;
    double p = 1.0 / 1260 - square * (1.0 / 1680);

    p = (1.0 / 12 - square * (1.0 / 360 - square * p)) * inverse;
    return (z - 0.5) * tfd_quick_log(z) - z + p;
}

TFD_VECTOR double exp_inside(double x)
{
    return tfd_quick_exp(x < -690 ? -690 : x > 690 ? 690 : x);
}

/* x^a e^-x / gamma(a) */
TFD_VECTOR double density(double a, double x)
{
    return exp_inside(a * tfd_quick_log(x) - x - stirling(a) - HALF_LOG_2_PI) *
           rising_product(a);
}

/* x^a (1 - x)^b / beta(a, b) */
TFD_VECTOR double beta_density(double a, double b, double x)
{
    double e = a * tfd_quick_log(x) + b * tfd_quick_log(1 - x);

    e += stirling(a + b) - stirling(a) - stirling(b) - HALF_LOG_2_PI;
    return exp_inside(e) * rising_product(a) * rising_product(b) /
           rising_product(a + b);
}

TFD_VECTOR int any_left(const masks *done)
{
    int64_t all = 0;

    for (int l = 0; l < LANES; l++)
        all |= ~(*done)[l];
    return all != 0;
}

/* ---- Incomplete gamma functions ------------------------------------------ */

/* Of one vector of a series: n / d is the sum, t / d its last term. */
struct sum {
    lanes c, x, n, d, t, last_n, last_d;
    masks done;
};

TFD_VECTOR int check_sum(struct sum *s)
{
    const lanes scale = PICK((masks)(s->n > LARGE), ALL(1), ALL(1 / LARGE));

    s->last_n = PICK(s->done, s->n, s->last_n);
    s->last_d = PICK(s->done, s->d, s->last_d);
    s->done |= (masks)(s->t <= s->n * EPSILON);
    s->n *= scale;
    s->d *= scale;
    s->t *= scale;
    return any_left(&s->done);
}

/* y = igamma(a, x) by the sum of x^i / (a + 1) ... (a + i). */
TFD_SIMD_LOOP(series)
{
    struct list *list = arg;

    for (int64_t i = begin; i < end; i += PAIR) {
        struct sum s[2];
        int more = 1;

        for (int k = 0; k < 2; k++) {
            s[k].c = *(const lanes *)(list->a + i + k * LANES);
            s[k].x = *(const lanes *)(list->x + i + k * LANES);
            s[k].n = s[k].d = s[k].t = s[k].last_n = s[k].last_d = ALL(1);
            s[k].done = (masks){0};
        }
        for (int round = 0; round < ROUNDS_MAX && more; round++) {
            for (int e = 0; e < EACH; e++)
                for (int k = 0; k < 2; k++) {
                    s[k].c += 1;
                    s[k].t *= s[k].x;
                    s[k].n = s[k].n * s[k].c + s[k].t;
                    s[k].d *= s[k].c;
                }
            more = check_sum(&s[0]) | check_sum(&s[1]);
        }
        for (int k = 0; k < 2; k++)
            *(lanes *)(list->y + i + k * LANES) = s[k].last_n / s[k].last_d;
    }
    for (int64_t i = begin; i < end; i++)
        list->y[i] *= density(list->a[i], list->x[i]) / list->a[i];
}
TFD_SIMD_CLONES_WIDE(series)

/* Of one vector of a fraction: its convergent p / q, the one before, and their
 * value when last looked at. */
struct fraction {
    lanes p, q, p_old, q_old, value;
    masks done;
};

TFD_VECTOR void start_fraction(struct fraction *f, const lanes *first)
{
    f->p = ALL(1);
    f->q = *first;
    f->p_old = ALL(0);
    f->q_old = ALL(1);
    f->value = ALL(0);
    f->done = (masks){0};
}

/* One level more: ... + a / b. */
TFD_VECTOR void step_fraction(struct fraction *f, const lanes *a,
                              const lanes *b)
{
    const lanes p = *b * f->p + *a * f->p_old;
    const lanes q = *b * f->q + *a * f->q_old;

    f->p_old = f->p;
    f->q_old = f->q;
    f->p = p;
    f->q = q;
}

TFD_VECTOR int check_fraction(struct fraction *f)
{
    const masks large = (masks)(f->q > LARGE) | (masks)(f->q < -LARGE);
    const lanes scale = PICK(large, ALL(1), ALL(1 / LARGE));
    const lanes value = f->p / f->q, change = value - f->value;
    const lanes near = value * EPSILON;
    const masks same = (masks)(change <= near) & (masks)(change >= -near);

    f->value = PICK(f->done, value, f->value);
    f->done |= same;
    f->p *= scale;
    f->q *= scale;
    f->p_old *= scale;
    f->q_old *= scale;
    return any_left(&f->done);
}

/* y = igammac(a, x) by 1 / (x + 1 - a + 1 (a - 1) / (x + 3 - a + ...)). */
TFD_SIMD_LOOP(tail)
{
    struct list *list = arg;

    for (int64_t i = begin; i < end; i += PAIR) {
        struct fraction f[2];
        lanes a[2], b[2], level = ALL(0);
        int more = 1;

        for (int k = 0; k < 2; k++) {
            a[k] = *(const lanes *)(list->a + i + k * LANES);
            b[k] = *(const lanes *)(list->x + i + k * LANES) + 1 - a[k];
            start_fraction(&f[k], &b[k]);
        }
        for (int round = 0; round < ROUNDS_MAX && more; round++) {
            for (int e = 0; e < EACH; e++) {
                level += 1;
                for (int k = 0; k < 2; k++) {
                    const lanes up = level * (a[k] - level);

                    b[k] += 2;
                    step_fraction(&f[k], &up, &b[k]);
                }
            }
            more = check_fraction(&f[0]) | check_fraction(&f[1]);
        }
        for (int k = 0; k < 2; k++)
            *(lanes *)(list->y + i + k * LANES) = f[k].value;
    }
    for (int64_t i = begin; i < end; i++)
        list->y[i] *= density(list->a[i], list->x[i]);
}
TFD_SIMD_CLONES_WIDE(tail)

#define ARGUMENT_MIN 0.25f /* 1 - igamma is exact enough from there on */
#define ARGUMENT_MAX 512.0f
#define X_MIN 0x1p-30f

static void fill_gamma(struct list *l, const struct block *b, double from)
{
    for (int64_t i = 0; i < l->count; i++) {
        l->a[i] = (double)b->in[0][l->at[i]];
        l->x[i] = (double)b->in[1][l->at[i]];
        l->from[i] = from;
    }
}

typedef float function2(float a, float x);

/* Of a list whose results another function makes. */
static void compute_rare(const struct list *l, const struct block *b,
                         function2 *any, float *y)
{
    for (int64_t i = 0; i < l->count; i++)
        y[l->at[i]] = any(b->in[0][l->at[i]], b->in[1][l->at[i]]);
}

static void gamma_block(const struct block *b, int upper, function2 *any,
                        float *y)
{
    struct list sums, tails, rare;

    sums.count = tails.count = rare.count = 0;

    for (int64_t i = 0; i < b->n; i++) {
        const float a = b->in[0][i], x = b->in[1][i];
        const int usual = (a >= ARGUMENT_MIN) & (a <= ARGUMENT_MAX) &
                          (x >= X_MIN) & (x <= ARGUMENT_MAX);
        const int above = (x > 1) & (x > a);

        append(&rare, i, !usual);
        append(&sums, i, usual & !above);
        append(&tails, i, usual & above);
    }
    fill_gamma(&sums, b, upper);
    fill_gamma(&tails, b, !upper);
    series(&sums, 0, pad(&sums));
    tail(&tails, 0, pad(&tails));
    write_results(&sums, y);
    write_results(&tails, y);
    compute_rare(&rare, b, any, y);
}

static void gamma_lanes(const struct tfd_special_lanes *s, int64_t begin,
                        int64_t end, int upper, function2 *any)
{
    struct block b;

    for (; begin < end; begin += b.n) {
        read_block(&b, s, 2, begin, end);
        gamma_block(&b, upper, any, s->y + begin);
    }
}

void tfd_special_igamma_lanes(const struct tfd_special_lanes *s, int64_t begin,
                              int64_t end)
{
    gamma_lanes(s, begin, end, 0, tfd_special_igamma_float);
}

void tfd_special_igammac_lanes(const struct tfd_special_lanes *s, int64_t begin,
                               int64_t end)
{
    gamma_lanes(s, begin, end, 1, tfd_special_igammac_float);
}

/* ---- Incomplete beta function -------------------------------------------- */

/* y = betainc(a, b, x) by 1 / (a + a_1 / (a + 1 + a_2 / (a + 2 + ...))),
 * a_2m = m (b - m) x, a_2m+1 = -(a + m) (a + b + m) x. */
TFD_SIMD_LOOP(beta)
{
    struct list *list = arg;

    for (int64_t i = begin; i < end; i += LANES) {
        const lanes a = *(const lanes *)(list->a + i);
        const lanes b = *(const lanes *)(list->b + i);
        const lanes x = *(const lanes *)(list->x + i);
        struct fraction f;
        lanes m = ALL(0);

        start_fraction(&f, &a);
        for (int round = 0; round < ROUNDS_MAX; round++) {
            for (int e = 0; e < EACH / 2; e++) {
                lanes c = a + m, up = -c * (c + b) * x;

                m += 1;
                c += m;
                step_fraction(&f, &up, &c);
                up = m * (b - m) * x;
                c += 1;
                step_fraction(&f, &up, &c);
            }
            if (!check_fraction(&f))
                break;
        }
        *(lanes *)(list->y + i) = f.value;
    }
    for (int64_t i = begin; i < end; i++)
        list->y[i] *= beta_density(list->a[i], list->b[i], list->x[i]);
}
TFD_SIMD_CLONES_WIDE(beta)

/* From the side where the fraction converges. */
static void fill_beta(struct list *l, const struct block *block)
{
    for (int64_t i = 0; i < l->count; i++) {
        const double a = (double)block->in[0][l->at[i]];
        const double b = (double)block->in[1][l->at[i]];
        const double x = (double)block->in[2][l->at[i]];
        const int swapped = x * (a + b + 2) >= a + 1;

        l->a[i] = swapped ? b : a;
        l->b[i] = swapped ? a : b;
        l->x[i] = swapped ? 1 - x : x;
        l->from[i] = swapped;
    }
}

void tfd_special_betainc_lanes(const struct tfd_special_lanes *s, int64_t begin,
                               int64_t end)
{
    struct block in;

    for (; begin < end; begin += in.n) {
        struct list usual;

        usual.count = 0;
        read_block(&in, s, 3, begin, end);
        for (int64_t i = 0; i < in.n; i++) {
            const float a = in.in[0][i], b = in.in[1][i], x = in.in[2][i];
            const int is_usual = (a >= ARGUMENT_MIN) & (a <= ARGUMENT_MAX) &
                                 (b >= ARGUMENT_MIN) & (b <= ARGUMENT_MAX) &
                                 (x >= 0x1p-20f) & (x <= 1 - 0x1p-20f);

            append(&usual, i, is_usual);
            if (!is_usual)
                s->y[begin + i] = tfd_special_betainc_float(a, b, x);
        }
        fill_beta(&usual, &in);
        beta(&usual, 0, pad(&usual));
        write_results(&usual, s->y + begin);
    }
}

/* ---- Zeta and polygamma -------------------------------------------------- */

#define ZETA_FEW 4 /* terms summed one by one */
#define POWER_MIN 1.000001f
#define POWER_MAX 100.0f
#define Q_MIN 0x1p-6f
#define Q_MAX 0x1p20f

/* The sum of (q + i)^-x; what is left by Euler and Maclaurin. */
TFD_VECTOR double zeta_of(double x, double q)
{
    /* B(2k) / (2k)! */
    static const double factor[] = {
        1.0 / 12,           -1.0 / 720,     1.0 / 30240,
        -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
        1.0 / 74724249600.0};
    double sum = 0, z = q + ZETA_FEW, inverse = 1 / z;
    double power = exp_inside(-x * tfd_quick_log(z));
    double term = power * x * inverse, rest = power * z / (x - 1) + power / 2;

    for (int i = 0; i < ZETA_FEW; i++)
        sum += exp_inside(-x * tfd_quick_log(q + i));
    for (int i = 0; i < 7; i++) {
        rest += term * factor[i];
        term *= (x + 2 * i + 1) * (x + 2 * i + 2) * (inverse * inverse);
    }
    return sum + rest;
}

TFD_SIMD_LOOP(zeta)
{
    struct list *l = arg;

    for (int64_t i = begin; i < end; i++)
        l->y[i] = zeta_of(l->a[i], l->x[i]);
}
TFD_SIMD_CLONES_WIDE(zeta)

static inline int is_usual_zeta(float x, float q)
{
    return (x >= POWER_MIN) & (x <= POWER_MAX) & (q >= Q_MIN) & (q <= Q_MAX);
}

void tfd_special_zeta_lanes(const struct tfd_special_lanes *s, int64_t begin,
                            int64_t end)
{
    struct block b;

    for (; begin < end; begin += b.n) {
        struct list usual, rare;

        usual.count = rare.count = 0;
        read_block(&b, s, 2, begin, end);
        for (int64_t i = 0; i < b.n; i++) {
            const int is_usual = is_usual_zeta(b.in[0][i], b.in[1][i]);

            append(&usual, i, is_usual);
            append(&rare, i, !is_usual);
        }
        fill_gamma(&usual, &b, 0);
        zeta(&usual, 0, pad(&usual));
        write_results(&usual, s->y + begin);
        compute_rare(&rare, &b, tfd_special_zeta_float, s->y + begin);
    }
}

#define ORDER_MAX 30

/* Whether n is below zero or no whole number: the result is no number then. */
static inline int is_no_order(float n)
{
    const float whole = n + TFD_ROUND_MAGIC - TFD_ROUND_MAGIC;

    return (n < 0) | ((n < 4194304.0f) & (whole != n));
}

struct orders {
    const float *n;
    int some; /* are orders, or may be */
};

TFD_SIMD_LOOP(find_orders)
{
    struct orders *o = arg;
    int some = 0;

    for (int64_t i = begin; i < end; i++)
        some |= !is_no_order(o->n[i]);
    o->some = some;
}
TFD_SIMD_CLONES(find_orders)

/* n! zeta(n + 1, x), below zero where n is even. */
static void fill_polygamma(struct list *l, const struct block *b)
{
    for (int64_t i = 0; i < l->count; i++) {
        l->a[i] = (double)b->in[0][l->at[i]] + 1;
        l->x[i] = (double)b->in[1][l->at[i]];
        l->from[i] = 0;
    }
}

static void scale_polygamma(struct list *l)
{
    for (int64_t i = 0; i < l->count; i++) {
        const int n = (int)l->a[i] - 1;
        double factor = n % 2 == 0 ? -1 : 1;

        for (int k = 2; k <= n; k++)
            factor *= k;
        l->y[i] *= factor;
    }
}

static void polygamma_block(const struct block *b, float *y)
{
    struct list usual, rare;

    usual.count = rare.count = 0;
    for (int64_t i = 0; i < b->n; i++) {
        const float n = b->in[0][i];
        const int is_usual =
            (n >= 1) & (n <= ORDER_MAX) & is_usual_zeta(n + 1, b->in[1][i]);

        append(&usual, i, is_usual & !is_no_order(n));
        append(&rare, i, !is_usual & !is_no_order(n));
    }
    fill_polygamma(&usual, b);
    zeta(&usual, 0, pad(&usual));
    scale_polygamma(&usual);
    write_results(&usual, y);
    compute_rare(&rare, b, tfd_special_polygamma_float, y);
}

void tfd_special_polygamma_lanes(const struct tfd_special_lanes *s,
                                 int64_t begin, int64_t end)
{
    const int step = s->step[0];
    struct block b;

    for (int64_t n; begin < end; begin += n) {
        struct orders o = {s->in[0] + begin * step, 0};

        n = end - begin < BLOCK ? end - begin : BLOCK;
        find_orders(&o, 0, step ? n : 1);
        if (o.some)
            read_block(&b, s, 2, begin, end); /* y may be where they are */
        for (int64_t i = 0; i < n; i++)
            s->y[begin + i] = NAN;
        if (o.some)
            polygamma_block(&b, s->y + begin);
    }
}
