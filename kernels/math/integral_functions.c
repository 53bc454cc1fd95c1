/*
 * integral_functions.c - see integral_functions.h.
 */
#include "kernels/math/integral_functions.h"

#include <math.h>

#define PI 3.14159265358979323846264L
#define EULER 0.57721566490153286060651L
#define SMALL 0x1p-68L /* a term beside the sum that it does not change */

/* ---- Dawson's integral --------------------------------------------------- */

#define RYBICKI_STEP 0.2L
#define RYBICKI_TERMS 18 /* on either side of x */
#define DAWSON_NEAR 0.25
#define DAWSON_FAR 7

/* x times the sum of (-2 x^2)^k / (1 3 5 ... (2k+1)). */
static long double dawsn_near(long double x)
{
    long double term = x, sum = x;

    for (int k = 1; k < 20; k++) {
        term *= -2 * x * x / (2 * k + 1);
        sum += term;
    }
    return sum;
}

/* The sum of e^-(x - n h)^2 / n over odd n, by pi^(-1/2). */
static long double dawsn_middle(long double x)
{
    const int at = 2 * (int)(x / (2 * RYBICKI_STEP)); /* even, near x / h */
    long double sum = 0;

    for (int i = 0; i < RYBICKI_TERMS; i++) {
        const int up = at + 1 + 2 * i, down = at - 1 - 2 * i;
        const long double above = x - up * RYBICKI_STEP;
        const long double below = x - down * RYBICKI_STEP;

        sum += expl(-above * above) / up + expl(-below * below) / down;
    }
    return sum / sqrtl(PI);
}

/* 1/(2x) times the sum of 1 3 5 ... (2k-1) / (2 x^2)^k. */
static long double dawsn_far(long double x)
{
    long double term = 1, sum = 1;

    for (int k = 1; k < 30 && term > SMALL; k++) {
        term *= (2 * k - 1) / (2 * x * x);
        sum += term;
    }
    return sum / (2 * x);
}

long double tfd_integral_dawsn(long double x)
{
    const long double a = fabsl(x);

    if (isnan(x) || a < DAWSON_NEAR)
        return dawsn_near(x);
    return copysignl(a < DAWSON_FAR ? dawsn_middle(a) : dawsn_far(a), x);
}

/* ---- Exponential integral ------------------------------------------------ */

#define EXPINT_FAR 50

long double tfd_integral_expint(long double x)
{
    long double term = 1, sum = 0;

    if (!(x >= 0) || isinf(x))
        return NAN;
    if (x == 0)
        return -INFINITY;
    if (x < EXPINT_FAR) {
        for (int k = 1; k < 240 && term > SMALL * sum; k++) {
            term *= x / k;
            sum += term / k;
        }
        return EULER + logl(x) + sum;
    }
    sum = 1;
    for (int k = 1; k < 50 && term > SMALL; k++) {
        term *= k / x;
        sum += term;
    }
    return expl(x) / x * sum;
}

/* ---- Fresnel's integrals ------------------------------------------------- */

#define FRESNEL_FAR 1.6L
#define FRESNEL_STEP 0.2L
#define FRESNEL_NODES 35

/* The sum over k = first, first + 2, ... of (-1)^(k/2) (pi/2 x^2)^k x
 * / (k! (2k + 1)). */
static long double fresnel_near(long double x, int first)
{
    const long double q = PI / 2 * x * x;
    long double term = first ? q : 1, sum = 0;

    for (int k = first; k < 60; k += 2) {
        sum += term / (2 * k + 1);
        term *= -q * q / ((k + 1.0) * (k + 2));
    }
    return x * sum;
}

struct fresnel {
    long double f, g; /* the auxiliary functions */
    long double s, c; /* sine and cosine of pi/2 x^2 */
};

void tfd_integral_fresnel_parts(long double x, long double *f_out,
                                long double *g_out)
{
    const long double z = x * sqrtl(PI / 2);
    long double f = 0.5, g = 0;

    for (int i = 1; i < FRESNEL_NODES; i++) {
        const long double u2 = (FRESNEL_STEP * i) * (FRESNEL_STEP * i);
        const long double v2 = u2 / (z * z);
        const long double weight = expl(-u2) / (v2 * v2 + 1);

        f += weight;
        g += v2 * weight;
    }
    *f_out = f * (FRESNEL_STEP / z * (sqrtl(2) / PI));
    *g_out = g * (FRESNEL_STEP / z * (sqrtl(2) / PI));
}

static struct fresnel fresnel_far(long double x)
{
    const long double square = x * x;
    const long double low = fmal(x, x, -square); /* what the square lost */
    const long double angle = PI / 2 * (fmodl(square, 4) + low);
    struct fresnel r = {.s = sinl(angle), .c = cosl(angle)};

    tfd_integral_fresnel_parts(x, &r.f, &r.g);
    return r;
}

/* From here on f is below half a unit in the last place of 1/2. */
#define FRESNEL_END 0x1p56

long double tfd_integral_fresnel_cos(long double x)
{
    const long double a = fabsl(x);
    struct fresnel r;

    if (isnan(x) || a < FRESNEL_FAR)
        return fresnel_near(x, 0);
    if (a > FRESNEL_END)
        return copysignl(0.5, x);
    r = fresnel_far(a);
    return copysignl(0.5 + r.f * r.s - r.g * r.c, x);
}

long double tfd_integral_fresnel_sin(long double x)
{
    const long double a = fabsl(x);
    struct fresnel r;

    if (isnan(x) || a < FRESNEL_FAR)
        return fresnel_near(x, 1);
    if (a > FRESNEL_END)
        return copysignl(0.5, x);
    r = fresnel_far(a);
    return copysignl(0.5 - r.f * r.c - r.g * r.s, x);
}

/* ---- Spence's function --------------------------------------------------- */

/* The sum of B_n u^(n+1) / (n+1)!, u = -logl(x): B_2k / (2k+1)!. */
static long double dilogarithm_near(long double x)
{
    static const long double bernoulli[] = {
        1.0L / 6 / 6,
        -1.0L / 30 / 120,
        1.0L / 42 / 5040,
        -1.0L / 30 / 362880,
        5.0L / 66 / 39916800,
        -691.0L / 2730 / 6227020800.0,
        7.0L / 6 / 1307674368000.0,
        -3617.0L / 510 / 355687428096000.0,
        43867.0L / 798 / 121645100408832000.0,
    };
    const long double u = -logl(x);
    long double power = u, sum = 0;

    for (int k = 0; k < 9; k++) {
        power *= u * u;
        sum += bernoulli[k] * power;
    }
    return u - u * u / 4 + sum;
}

long double tfd_integral_spence(long double x)
{
    const long double log_x = logl(x);

    if (!(x >= 0) || isinf(x))
        return NAN;
    if (x == 0)
        return PI * PI / 6;
    if (x > 2)
        return -(x > 2 && 1 / x < 0.5 ? PI * PI / 6 + log_x * log1pl(-1 / x) -
                                            dilogarithm_near(1 - 1 / x)
                                      : dilogarithm_near(1 / x)) -
               log_x * log_x / 2;
    if (x < 0.5)
        return PI * PI / 6 - log_x * log1pl(-x) - dilogarithm_near(1 - x);
    return dilogarithm_near(x);
}

/* ---- Inverses of the error function -------------------------------------- */

#define WINITZKI 0.147L
#define HALLEY_STEPS 8

/* y > 0 with erfcl(y) = rest, from log_both = logl((1 - x)(1 + x)) of
 * x = 1 - rest; near: x itself is small and exact. */
static long double inverse_of(long double x, long double rest,
                              long double log_both)
{
    const long double c = 2 / (PI * WINITZKI) + log_both / 2;
    long double y = sqrtl(sqrtl(c * c - log_both / WINITZKI) - c);

    for (int i = 0; i < HALLEY_STEPS; i++) {
        const long double off = x < 0.5 ? erfl(y) - x : rest - erfcl(y);
        const long double e = off / (2 / sqrtl(PI) * expl(-y * y));

        y -= e / (1 + y * e);
        if (fabsl(e) < y * 0x1p-30L) /* the next step is cubed */
            break;
    }
    return y;
}

long double tfd_integral_erfinv(long double x)
{
    const long double a = fabsl(x);

    if (!(a <= 1))
        return NAN;
    if (a == 1 || a == 0)
        return a == 0 ? x : copysignl(INFINITY, x);
    if (a < 0x1p-30L)
        return x * (sqrtl(PI) / 2);
    return copysignl(inverse_of(a, 1 - a, log1pl(-a * a)), x);
}

long double tfd_integral_erfinv_from_1(long double u)
{
    return inverse_of(1 - u, u, logl(u * (2 - u)));
}

long double tfd_integral_ndtri(long double p)
{
    const long double few = p < 0.5 ? p : 1 - p;
    long double y;

    if (!(p >= 0 && p <= 1))
        return NAN;
    if (few == 0)
        return p < 0.5 ? -INFINITY : INFINITY;
    if (few == 0.5)
        return 0;
    y = sqrtl(2) * inverse_of(1 - 2 * few, 2 * few, logl(4 * few * (1 - few)));
    return p < 0.5 ? -y : y;
}
