/*
 * integral_functions.c - see integral_functions.h.
 */
#include "kernels/math/integral_functions.h"

#include <math.h>

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061
#define SMALL 0x1p-56 /* a term beside the sum that it does not change */

/* ---- Dawson's integral --------------------------------------------------- */

#define RYBICKI_STEP 0.25
#define RYBICKI_TERMS 25 /* on either side of x */
#define DAWSON_NEAR 0.25
#define DAWSON_FAR 7

/* x times the sum of (-2 x^2)^k / (1 3 5 ... (2k+1)). */
static double dawsn_near(double x)
{
    double term = x, sum = x;

    for (int k = 1; k < 20; k++) {
        term *= -2 * x * x / (2 * k + 1);
        sum += term;
    }
    return sum;
}

/* The sum of e^-(x - n h)^2 / n over odd n, by pi^(-1/2). */
static double dawsn_middle(double x)
{
    const int at = 2 * (int)(x / (2 * RYBICKI_STEP)); /* even, near x / h */
    double sum = 0;

    for (int i = 0; i < RYBICKI_TERMS; i++) {
        const int up = at + 1 + 2 * i, down = at - 1 - 2 * i;
        const double above = x - up * RYBICKI_STEP;
        const double below = x - down * RYBICKI_STEP;

        sum += exp(-above * above) / up + exp(-below * below) / down;
    }
    return sum / sqrt(PI);
}

/* 1/(2x) times the sum of 1 3 5 ... (2k-1) / (2 x^2)^k. */
static double dawsn_far(double x)
{
    double term = 1, sum = 1;

    for (int k = 1; k < 30 && term > SMALL; k++) {
        term *= (2 * k - 1) / (2 * x * x);
        sum += term;
    }
    return sum / (2 * x);
}

double tfd_integral_dawsn(double x)
{
    const double a = fabs(x);

    if (isnan(x) || a < DAWSON_NEAR)
        return dawsn_near(x);
    return copysign(a < DAWSON_FAR ? dawsn_middle(a) : dawsn_far(a), x);
}

/* ---- Exponential integral ------------------------------------------------ */

#define EXPINT_FAR 40

double tfd_integral_expint(double x)
{
    double term = 1, sum = 0;

    if (!(x >= 0) || isinf(x))
        return NAN;
    if (x == 0)
        return -INFINITY;
    if (x < EXPINT_FAR) {
        for (int k = 1; k < 160 && term > SMALL * sum; k++) {
            term *= x / k;
            sum += term / k;
        }
        return EULER + log(x) + sum;
    }
    sum = 1;
    for (int k = 1; k < 40 && term > SMALL; k++) {
        term *= k / x;
        sum += term;
    }
    return exp(x) / x * sum;
}

/* ---- Fresnel's integrals ------------------------------------------------- */

#define FRESNEL_FAR 1.6
#define FRESNEL_STEP 0.2
#define FRESNEL_NODES 33

/* The sum over k = first, first + 2, ... of (-1)^(k/2) (pi/2 x^2)^k x
 * / (k! (2k + 1)). */
static double fresnel_near(double x, int first)
{
    const double q = PI / 2 * x * x;
    double term = first ? q : 1, sum = 0;

    for (int k = first; k < 60; k += 2) {
        sum += term / (2 * k + 1);
        term *= -q * q / ((k + 1.0) * (k + 2));
    }
    return x * sum;
}

struct fresnel {
    double f, g; /* the auxiliary functions */
    double s, c; /* sine and cosine of pi/2 x^2 */
};

void tfd_integral_fresnel_parts(double x, double *f_out, double *g_out)
{
    const double z = x * sqrt(PI / 2);
    double f = 0.5, g = 0;

    for (int i = 1; i < FRESNEL_NODES; i++) {
        const double u2 = (FRESNEL_STEP * i) * (FRESNEL_STEP * i);
        const double v2 = u2 / (z * z);
        const double weight = exp(-u2) / (v2 * v2 + 1);

        f += weight;
        g += v2 * weight;
    }
    *f_out = f * (FRESNEL_STEP / z * (sqrt(2) / PI));
    *g_out = g * (FRESNEL_STEP / z * (sqrt(2) / PI));
}

static struct fresnel fresnel_far(double x)
{
    const double square = x * x;
    const double low = fma(x, x, -square); /* what the square lost */
    const double angle = PI / 2 * (fmod(square, 4) + low);
    struct fresnel r = {.s = sin(angle), .c = cos(angle)};

    tfd_integral_fresnel_parts(x, &r.f, &r.g);
    return r;
}

/* From here on f is below half a unit in the last place of 1/2. */
#define FRESNEL_END 0x1p56

double tfd_integral_fresnel_cos(double x)
{
    const double a = fabs(x);
    struct fresnel r;

    if (isnan(x) || a < FRESNEL_FAR)
        return fresnel_near(x, 0);
    if (a > FRESNEL_END)
        return copysign(0.5, x);
    r = fresnel_far(a);
    return copysign(0.5 + r.f * r.s - r.g * r.c, x);
}

double tfd_integral_fresnel_sin(double x)
{
    const double a = fabs(x);
    struct fresnel r;

    if (isnan(x) || a < FRESNEL_FAR)
        return fresnel_near(x, 1);
    if (a > FRESNEL_END)
        return copysign(0.5, x);
    r = fresnel_far(a);
    return copysign(0.5 - r.f * r.c - r.g * r.s, x);
}

/* ---- Spence's function --------------------------------------------------- */

/* The sum of B_n u^(n+1) / (n+1)!, u = -log(x): B_2k / (2k+1)!. */
static double dilogarithm_near(double x)
{
    static const double bernoulli[] = {
        1.0 / 6 / 6,
        -1.0 / 30 / 120,
        1.0 / 42 / 5040,
        -1.0 / 30 / 362880,
        5.0 / 66 / 39916800,
        -691.0 / 2730 / 6227020800.0,
        7.0 / 6 / 1307674368000.0,
        -3617.0 / 510 / 355687428096000.0,
        43867.0 / 798 / 121645100408832000.0,
    };
    const double u = -log(x);
    double power = u, sum = 0;

    for (int k = 0; k < 9; k++) {
        power *= u * u;
        sum += bernoulli[k] * power;
    }
    return u - u * u / 4 + sum;
}

double tfd_integral_spence(double x)
{
    const double log_x = log(x);

    if (!(x >= 0) || isinf(x))
        return NAN;
    if (x == 0)
        return PI * PI / 6;
    if (x > 2)
        return -(x > 2 && 1 / x < 0.5 ? PI * PI / 6 + log_x * log1p(-1 / x) -
                                            dilogarithm_near(1 - 1 / x)
                                      : dilogarithm_near(1 / x)) -
               log_x * log_x / 2;
    if (x < 0.5)
        return PI * PI / 6 - log_x * log1p(-x) - dilogarithm_near(1 - x);
    return dilogarithm_near(x);
}

/* ---- Inverses of the error function -------------------------------------- */

#define WINITZKI 0.147
#define HALLEY_STEPS 8

/* y > 0 with erfc(y) = rest, from log_both = log((1 - x)(1 + x)) of
 * x = 1 - rest; near: x itself is small and exact. */
static double inverse_of(double x, double rest, double log_both)
{
    const double c = 2 / (PI * WINITZKI) + log_both / 2;
    double y = sqrt(sqrt(c * c - log_both / WINITZKI) - c);

    for (int i = 0; i < HALLEY_STEPS; i++) {
        const double off = x < 0.5 ? erf(y) - x : rest - erfc(y);
        const double e = off / (2 / sqrt(PI) * exp(-y * y));

        y -= e / (1 + y * e);
        if (fabs(e) < y * 0x1p-30) /* the next step is cubed */
            break;
    }
    return y;
}

double tfd_integral_erfinv(double x)
{
    const double a = fabs(x);

    if (!(a <= 1))
        return NAN;
    if (a == 1 || a == 0)
        return a == 0 ? x : copysign(INFINITY, x);
    if (a < 0x1p-30)
        return x * (sqrt(PI) / 2);
    return copysign(inverse_of(a, 1 - a, log1p(-a * a)), x);
}

double tfd_integral_erfinv_from_1(double u)
{
    return inverse_of(1 - u, u, log(u * (2 - u)));
}

double tfd_integral_ndtri(double p)
{
    const double few = p < 0.5 ? p : 1 - p;
    double y;

    if (!(p >= 0 && p <= 1))
        return NAN;
    if (few == 0)
        return p < 0.5 ? -INFINITY : INFINITY;
    if (few == 0.5)
        return 0;
    y = sqrt(2) * inverse_of(1 - 2 * few, 2 * few, log(4 * few * (1 - few)));
    return p < 0.5 ? -y : y;
}
