/*
 * special_formulas.h - the functions of special_functions.h, which the CPU
 * (special_functions.c) and the kernels of GPUs (cuda/math/special.cu) both
 * compile. Whoever includes it has defined
 *
 *     TFD_SPECIAL            how a function is declared
 *     TFD_SPECIAL_LGAMMA(x)  log |gamma(x)|
 *
 * Series and fractions of special_NAME_to() end where what is left out is about
 * `epsilon` of the result; special_NAME() computes to DBL_EPSILON.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SPECIAL_FORMULAS_H
#define TFD_KERNELS_SPECIAL_FORMULAS_H

#include <float.h>
#include <math.h>

#define TFD_SPECIAL_PI 3.14159265358979323846
#define TFD_SPECIAL_ITERATIONS_MAX 2000 /* of series and fractions */
#define TFD_SPECIAL_TINY 1e-300 /* stands for a 0 that would be divided by */
#define TFD_SPECIAL_INFINITY ((double)INFINITY)
#define TFD_SPECIAL_NAN ((double)NAN)
#define TFD_SPECIAL_IS_INF(x) (fabs(x) == TFD_SPECIAL_INFINITY)

/* ---- Digamma ------------------------------------------------------------- */

/* From here on the asymptotic series is exact; and to 1e-9. */
#define TFD_SPECIAL_DIGAMMA_LARGE 10
#define TFD_SPECIAL_DIGAMMA_ROUGH 4

/* x > 0: up to a large number by the recurrence, then
 * log(x) - 1 / 2x - sum of B(2k) / (2k x^2k). */
TFD_SPECIAL double digamma_positive(double x, int large)
{
    static const double factor[] = {1.0 / 12,   -1.0 / 120, 1.0 / 252,
                                    -1.0 / 240, 1.0 / 132,  -691.0 / 32760,
                                    1.0 / 12};
    double below = 0, sum = 0, inverse;

    for (; x < large; x++)
        below += 1 / x;
    inverse = 1 / (x * x);
    for (int i = (int)(sizeof(factor) / sizeof(factor[0])) - 1; i >= 0; i--)
        sum = (sum + factor[i]) * inverse;
    return log(x) - 0.5 / x - sum - below;
}

TFD_SPECIAL double special_digamma_from(double x, int large)
{
    if (x > 0)
        return digamma_positive(x, large);
    if (!(x > floor(x))) /* a pole, or no number */
        return TFD_SPECIAL_NAN;
    return digamma_positive(1 - x, large) -
           TFD_SPECIAL_PI / tan(TFD_SPECIAL_PI * (x - rint(x)));
}

TFD_SPECIAL double special_digamma(double x)
{
    return special_digamma_from(x, TFD_SPECIAL_DIGAMMA_LARGE);
}

/* ---- Continued fractions ------------------------------------------------- */

/* A fraction's convergent p / q and the one before: without a division a level,
 * which the next level would wait for. */
struct special_fraction {
    double p, q, p_old, q_old, value;
};

/* Up to this size of its numbers some levels of a fraction are no infinity. */
#define TFD_SPECIAL_LEVELS 4
#define TFD_SPECIAL_CONVERGENT_MAX 0x1p60
#define TFD_SPECIAL_CONVERGENT_MIN 0x1p-60
#define TFD_SPECIAL_CONVERGENT_LARGE 0x1p400

/* One level more: ... + a / b. */
TFD_SPECIAL void deepen_fraction(struct special_fraction *f, double a, double b)
{
    const double p = b * f->p + a * f->p_old, q = b * f->q + a * f->q_old;

    f->p_old = f->p;
    f->q_old = f->q;
    f->p = p;
    f->q = q;
}

/* Whether the levels since the last call have changed nothing. */
TFD_SPECIAL int is_fraction_settled(struct special_fraction *f, double epsilon)
{
    const double value = f->p / f->q, change = value - f->value;

    f->value = value;
    if (fabs(f->q) > TFD_SPECIAL_CONVERGENT_LARGE) {
        f->p *= 1 / TFD_SPECIAL_CONVERGENT_LARGE;
        f->q *= 1 / TFD_SPECIAL_CONVERGENT_LARGE;
        f->p_old *= 1 / TFD_SPECIAL_CONVERGENT_LARGE;
        f->q_old *= 1 / TFD_SPECIAL_CONVERGENT_LARGE;
    }
    return fabs(change) <= epsilon * fabs(value);
}

/* ---- Incomplete gamma functions ------------------------------------------ */

/* x^a e^-x / gamma(a) */
TFD_SPECIAL double gamma_density(double a, double x)
{
    return exp(a * log(x) - x - TFD_SPECIAL_LGAMMA(a));
}

/* Good for x below a. */
TFD_SPECIAL double igamma_series(double a, double x, double epsilon)
{
    double term = 1, sum = 1;

    for (int i = 1; i < TFD_SPECIAL_ITERATIONS_MAX && term > sum * epsilon;
         i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * gamma_density(a, x) / a;
}

/* The fraction of igammac of usual arguments. */
TFD_SPECIAL double gamma_convergent(double a, double x, double epsilon)
{
    double b = x + 1 - a;
    struct special_fraction f = {1, b, 0, 1, 0};
    int i = 0;

    do {
        for (int e = 0; e < TFD_SPECIAL_LEVELS; e++) {
            i++;
            b += 2;
            deepen_fraction(&f, -i * (i - a), b);
        }
    } while (!is_fraction_settled(&f, epsilon) &&
             i < TFD_SPECIAL_ITERATIONS_MAX);
    return f.value;
}

/* Good for x above 1 and a. */
TFD_SPECIAL double igammac_fraction(double a, double x, double epsilon)
{
    double b = x + 1 - a, c = 1 / TFD_SPECIAL_TINY, d = 1 / b, product = d;

    if (x < TFD_SPECIAL_CONVERGENT_MAX)
        return gamma_convergent(a, x, epsilon) * gamma_density(a, x);
    for (int i = 1; i < TFD_SPECIAL_ITERATIONS_MAX; i++) {
        double factor, an = -i * (i - a);

        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < TFD_SPECIAL_TINY ? TFD_SPECIAL_TINY : d);
        c = b + an / c;
        c = fabs(c) < TFD_SPECIAL_TINY ? TFD_SPECIAL_TINY : c;
        factor = d * c;
        product *= factor;
        if (fabs(factor - 1) <= epsilon)
            break;
    }
    return product * gamma_density(a, x);
}

TFD_SPECIAL double special_igamma_to(double a, double x, double epsilon)
{
    if (x == 0 && a >= 0)
        return 0;
    if (!(x > 0) || !(a > 0))
        return TFD_SPECIAL_NAN;
    if (TFD_SPECIAL_IS_INF(a))
        return 0;
    if (TFD_SPECIAL_IS_INF(x))
        return 1;
    return x > 1 && x > a ? 1 - igammac_fraction(a, x, epsilon)
                          : igamma_series(a, x, epsilon);
}

TFD_SPECIAL double special_igamma(double a, double x)
{
    return special_igamma_to(a, x, DBL_EPSILON);
}

TFD_SPECIAL double special_igammac_to(double a, double x, double epsilon)
{
    if (!(x >= 0) || !(a > 0))
        return TFD_SPECIAL_NAN;
    if (TFD_SPECIAL_IS_INF(x))
        return 0;
    if (TFD_SPECIAL_IS_INF(a) || x == 0)
        return 1;
    return x >= 1 && x >= a ? igammac_fraction(a, x, epsilon)
                            : 1 - igamma_series(a, x, epsilon);
}

TFD_SPECIAL double special_igammac(double a, double x)
{
    return special_igammac_to(a, x, DBL_EPSILON);
}

/* ---- Incomplete beta function -------------------------------------------- */

TFD_SPECIAL double away_from_0(double x)
{
    return fabs(x) < TFD_SPECIAL_TINY ? TFD_SPECIAL_TINY : x;
}

/* beta_fraction() of usual arguments, as
 * a / (a + a_1 / (a + 1 + a_2 / (a + 2 + ...))). */
TFD_SPECIAL double beta_convergent(double a, double b, double x, double epsilon)
{
    struct special_fraction f = {1, a, 0, 1, 0};
    int m = 0;

    do {
        for (int e = 0; e < TFD_SPECIAL_LEVELS / 2; e++) {
            double c = a + m, up = -c * (c + b) * x;

            m++;
            c += m;
            deepen_fraction(&f, up, c);
            deepen_fraction(&f, m * (b - m) * x, c + 1);
        }
    } while (!is_fraction_settled(&f, epsilon) &&
             m < TFD_SPECIAL_ITERATIONS_MAX);
    return f.value * a;
}

TFD_SPECIAL int is_convergent_size(double x)
{
    return x > TFD_SPECIAL_CONVERGENT_MIN && x < TFD_SPECIAL_CONVERGENT_MAX;
}

/* Good for x below (a + 1) / (a + b + 2). */
TFD_SPECIAL double beta_fraction(double a, double b, double x, double epsilon)
{
    double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), product = d;

    if (is_convergent_size(a) && is_convergent_size(b))
        return beta_convergent(a, b, x, epsilon);
    for (int m = 1; m < TFD_SPECIAL_ITERATIONS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double factor;

        d = 1 / away_from_0(1 + even * d);
        c = away_from_0(1 + even / c);
        product *= d * c;
        d = 1 / away_from_0(1 + odd * d);
        c = away_from_0(1 + odd / c);
        factor = d * c;
        product *= factor;
        if (fabs(factor - 1) <= epsilon)
            break;
    }
    return product;
}

TFD_SPECIAL double special_betainc_to(double a, double b, double x,
                                      double epsilon)
{
    double front;

    if (!(a > 0) || !(b > 0) || TFD_SPECIAL_IS_INF(a) ||
        TFD_SPECIAL_IS_INF(b) || !(x >= 0 && x <= 1))
        return TFD_SPECIAL_NAN;
    if (x == 0 || x == 1)
        return x;
    front = exp(a * log(x) + b * log1p(-x) + TFD_SPECIAL_LGAMMA(a + b) -
                TFD_SPECIAL_LGAMMA(a) - TFD_SPECIAL_LGAMMA(b));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x, epsilon) / a;
    return 1 - front * beta_fraction(b, a, 1 - x, epsilon) / b;
}

TFD_SPECIAL double special_betainc(double a, double b, double x)
{
    return special_betainc_to(a, b, x, DBL_EPSILON);
}

/* ---- Zeta and polygamma -------------------------------------------------- */

/* Summed one by one; the rest is Euler and Maclaurin's.  Four terms are enough
 * for a result to 1e-9. */
#define TFD_SPECIAL_ZETA_TERMS 9
#define TFD_SPECIAL_ZETA_FEW 4
#define TFD_SPECIAL_ZETA_ROUGH 5e-10

/* unit^x times zeta(x, q); x > 1, q > 0. */
TFD_SPECIAL double zeta_scaled(double x, double q, double unit, double epsilon)
{
    /* (2k)! / B(2k) */
    static const double divisor[] = {
        12.0,
        -720.0,
        30240.0,
        -1209600.0,
        47900160.0,
        -1307674368000.0 / 691,
        74724249600.0,
        -10670622842880000.0 / 3617,
        5109094217170944000.0 / 43867,
        -802857662698291200000.0 / 174611,
    };
    const int terms = epsilon < TFD_SPECIAL_ZETA_ROUGH ? TFD_SPECIAL_ZETA_TERMS
                                                       : TFD_SPECIAL_ZETA_FEW;
    double sum = 0, rest, term, rising = 1, power;

    for (int i = 0; i < terms; i++)
        sum += pow((q + i) / unit, -x);
    q += terms;
    power = pow(q / unit, -x);
    rest = power * q / (x - 1) + power / 2;
    for (int i = 0; i < (int)(sizeof(divisor) / sizeof(divisor[0])); i++) {
        rising *= i == 0 ? x : (x + 2 * i - 1) * (x + 2 * i);
        power /= i == 0 ? q : q * q;
        term = rising * power / divisor[i];
        rest += term;
        if (fabs(term) <= epsilon * rest)
            break;
    }
    return sum + rest;
}

TFD_SPECIAL double zeta_positive(double x, double q, double epsilon)
{
    return zeta_scaled(x, q, 1, epsilon);
}

/* q < 0: what lies below 0 is a sum like the one above, backwards, which ends
 * at the first term. */
TFD_SPECIAL double zeta_negative(double x, double q, double epsilon)
{
    double above = q - floor(q), below = 1 - above;
    double backwards =
        zeta_positive(x, below, epsilon) - zeta_positive(x, 1 - q, epsilon);

    return zeta_positive(x, above, epsilon) +
           (fmod(x, 2.0) == 0 ? backwards : -backwards);
}

TFD_SPECIAL double special_zeta_to(double x, double q, double epsilon)
{
    if (x == 1)
        return TFD_SPECIAL_INFINITY;
    if (!(x > 1) || q != q)
        return TFD_SPECIAL_NAN;
    if (q > 0)
        return TFD_SPECIAL_IS_INF(x) || TFD_SPECIAL_IS_INF(q)
                   ? q < 1 ? TFD_SPECIAL_INFINITY : q == 1
                   : zeta_positive(x, q, epsilon);
    if (q == floor(q))
        return fmod(x, 2.0) == 0 ? TFD_SPECIAL_INFINITY : TFD_SPECIAL_NAN;
    return x == floor(x) ? zeta_negative(x, q, epsilon) : TFD_SPECIAL_NAN;
}

TFD_SPECIAL double special_zeta(double x, double q)
{
    return special_zeta_to(x, q, DBL_EPSILON);
}

/* From here down the terms of zeta have too few bits, and beyond this order the
 * factorial is no double, though their product may be one. */
#define TFD_SPECIAL_ZETA_SMALL 1e-280
#define TFD_SPECIAL_FACTORIAL_MAX 170

TFD_SPECIAL int is_out_of_range(double n, double x)
{
    return n < TFD_SPECIAL_INFINITY && x > 0 && x < TFD_SPECIAL_INFINITY &&
           (n > TFD_SPECIAL_FACTORIAL_MAX ||
            pow(x, -(n + 1)) < TFD_SPECIAL_ZETA_SMALL);
}

/* n! zeta(n + 1, x) */
TFD_SPECIAL double factorial_zeta(double n, double x, double epsilon)
{
    double size = TFD_SPECIAL_LGAMMA(n + 1);

    if (is_out_of_range(n, x))
        return exp(size - (n + 1) * log(x)) * zeta_scaled(n + 1, x, x, epsilon);
    return exp(size) * special_zeta_to(n + 1, x, epsilon);
}

TFD_SPECIAL double special_polygamma_to(double n, double x, double epsilon)
{
    double size;

    if (!(n >= 0) || n != floor(n))
        return TFD_SPECIAL_NAN;
    if (n == 0)
        return special_digamma(x);
    size = factorial_zeta(n, x, epsilon);
    return fmod(n, 2.0) == 0 ? -size : size;
}

TFD_SPECIAL double special_polygamma(double n, double x)
{
    return special_polygamma_to(n, x, DBL_EPSILON);
}

#endif
