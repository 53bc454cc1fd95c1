/*
 * double_functions.h - functions of doubles in the manner of vector_math.h:
 * polynomials and selections, no branch and no call, so that a loop over them
 * is vectorised.
 *
 *     exp(x) = 2^n * e^r             n = round(x / ln 2), |r| <= ln 2 / 2
 *     log(1 + f) = f - f^2/2 + s * (f^2/2 + R(s^2))     s = f / (2 + f)
 *     cosh(x) = h + 1 / (4 * h)      h = e^|x| / 2
 *     sinh(x) = (t + t / (t + 1)) / 2, t = e^|x| - 1; h - 1 / (4 * h) from 1 on
 *     tanh(x) = -t / (t + 2)         t = e^(-2|x|) - 1
 *     asinh(x) = log(1 + a + a^2 / (1 + sqrt(1 + a^2))), a = |x|
 *     acosh(x) = log(1 + t + sqrt(t * (t + 2))), t = x - 1
 *     erf(x) = x * T/U(x^2)          |x| < 1, else 1 - erfc(x)
 *     erfc(x) = e^(-x^2) * P/Q(x)    x >= 1
 *     sin(r) = r + r^3 * P(r^2)      cos(r) = 1 - r^2/2 + r^4 * P(r^2)
 *     atan(x) = x + x^3 * P/Q(x^2)   |x| <= 0.66, else of 1/x or (x-1)/(x+1)
 *
 * The rational functions are those of the Cephes library, those of log, sin
 * and cos of the FreeBSD mathematics library.  Largest distances in units of
 * the last place (test_double_functions.c, more than a million arguments each):
 * exp 1.1, expm1 2.5, log 1, log1p 2, tanh 4, logistic 2.2, cosh 2, sinh 3,
 * erf 2, erfc 12 (sums of nine terms), atan 1, atan2 2, asinh 3, acosh 3, atanh
 * 3; of subnormal results one more. Infinities, NaN and -0 come out as IEEE 754
 * has them. Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_DOUBLE_FUNCTIONS_H
#define TFD_KERNELS_DOUBLE_FUNCTIONS_H

#include "kernels/vector/vector_double.h"

/* ---- Exponentials -------------------------------------------------------- */

/* (e^x - 1 - x) / x^2, |x| <= ln 2 / 2 */
TFD_VECTOR double tfd_double_exp_terms(double x)
{
    double p = 2.5100424157005067e-08;

    p = p * x + 2.7620138719733994e-07;
    p = p * x + 2.7557268378684192e-06;
    p = p * x + 2.480152119021773e-05;
    p = p * x + 0.00019841269863105968;
    p = p * x + 0.0013888888917281794;
    p = p * x + 0.008333333333330051;
    p = p * x + 0.04166666666662399;
    p = p * x + 0.16666666666666669;
    return p * x + 0.5000000000000001;
}

/* e^(x - less) = 2^*n * (1 + the result), |x| below 2^20, |less| small. */
TFD_VECTOR double tfd_double_exp_part(double x, double less, double *n)
{
    const double rounded =
        x * 0x1.71547652b82fep0 + TFD_DOUBLE_MAGIC - TFD_DOUBLE_MAGIC;
    const double r = x - rounded * TFD_DOUBLE_LN2_HIGH -
                     (rounded * TFD_DOUBLE_LN2_LOW + less);
    const double p = tfd_double_exp_terms(r);

    *n = rounded;
    return p * r * r + r;
}

/* 2^n for a whole n in [-1022, 1023]. */
TFD_VECTOR double tfd_double_power2(double n)
{
    return tfd_double_of((tfd_double_bits(n + TFD_DOUBLE_MAGIC) + 1023) << 52);
}

/* p * 2^n in two steps, since 2^1024 and 2^-1074 have no exponent. */
TFD_VECTOR double tfd_double_scale(double p, double n)
{
    const double half = n * 0.5 + TFD_DOUBLE_MAGIC - TFD_DOUBLE_MAGIC;

    return p * tfd_double_power2(half) * tfd_double_power2(n - half);
}

/* Beyond these the result is infinite or 0 whatever the argument. */
TFD_VECTOR double tfd_double_clamp(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

TFD_VECTOR double tfd_double_exp(double x)
{
    double n;
    const double p = tfd_double_exp_part(tfd_double_clamp(x, -746, 710), 0, &n);

    return tfd_double_scale(p + 1, n);
}

TFD_VECTOR double tfd_double_expm1(double x)
{
    double n;
    const double p = tfd_double_exp_part(tfd_double_clamp(x, -50, 710), 0, &n);
    const double half = tfd_double_power2(n - 1); /* 2^1024 is no double */
    const double y = (half * p + (half - 0.5)) * 2;

    return x == 0 ? x : y; /* keeps -0 */
}

TFD_VECTOR double tfd_double_logistic(double x)
{
    return 1 / (1 + tfd_double_exp(-x));
}

TFD_VECTOR double tfd_double_tanh(double x)
{
    const double t = tfd_double_expm1(-2 * fabs(x));

    return copysign(t / (t + 2), x);
}

/* e^|x| / 2 = 2^(n - 1) * (1 + *p), infinite from 711 on. */
TFD_VECTOR double tfd_double_half_exp(double x, double *p, double *n)
{
    *p = tfd_double_exp_part(tfd_double_clamp(fabs(x), 0, 711), 0, n);
    return tfd_double_scale(*p + 1, *n - 1);
}

TFD_VECTOR double tfd_double_cosh(double x)
{
    double p, n;
    const double half = tfd_double_half_exp(x, &p, &n);

    return half + 0.25 / half;
}

/* One quotient serves |x| < 1 and the others. */
TFD_VECTOR double tfd_double_sinh(double x)
{
    double p, n;
    const double half = tfd_double_half_exp(x, &p, &n), a = fabs(x);
    const double power = tfd_double_power2(a < 1 ? n : 0);
    const double t = power * p + (power - 1);
    const double q = (a < 1 ? t : -0.25) / (a < 1 ? t + 1 : half);
    const double y = a < 1 ? 0.5 * (t + q) : half + q;

    return copysign(y, x);
}

/* ---- Logarithms ---------------------------------------------------------- */

/* R(x) / x of log */
TFD_VECTOR double tfd_double_log_terms(double x)
{
    double p = 1.479819860511658591e-01;

    p = p * x + 1.531383769920937332e-01;
    p = p * x + 1.818357216161805012e-01;
    p = p * x + 2.222219843214978396e-01;
    p = p * x + 2.857142874366239149e-01;
    p = p * x + 3.999999999940941908e-01;
    return p * x + 6.666666666666735130e-01;
}

/* log(1 + f) + n * ln 2 + less, for 1 + f in [sqrt(1/2), sqrt(2)) and
 * s = f / (2 + f). */
TFD_VECTOR double tfd_double_log_sum(double f, double s, double n, double less)
{
    const double square = s * s, half = 0.5 * f * f;
    const double r = square * tfd_double_log_terms(square);

    return n * TFD_DOUBLE_LN2_HIGH -
           ((half - (s * (half + r) + (n * TFD_DOUBLE_LN2_LOW + less))) - f);
}

TFD_VECTOR double tfd_double_log_near_1(double f, double n)
{
    return tfd_double_log_sum(f, f / (2 + f), n, 0);
}

TFD_VECTOR double tfd_double_log(double x)
{
    const int is_small = x < 0x1p-1022; /* subnormal: scaled up by 2^54 */
    double n, m = tfd_double_split(is_small ? x * 0x1p54 : x, &n), y;

    y = tfd_double_log_near_1(m - 1, is_small ? n - 54 : n);
    y = x < INFINITY ? y : x; /* infinity, and NaN */
    y = x == 0 ? -(double)INFINITY : y;
    return x < 0 ? (double)NAN : y;
}

/* u = 1 + x = 2^n * m is rounded, which costs (x - (u - 1)) / u, no more than
 * 2^-53: three digits of 1/m = (1 - s) / (1 + s) are enough of it. */
TFD_VECTOR double tfd_double_log1p(double x)
{
    const double u = 1 + x, lost = x - (u - 1);
    double n, f = tfd_double_split(u, &n) - 1, s = f / (2 + f), y;
    const double part = lost * tfd_double_power2(n < 99 ? -n : -99);
    const double over = (1 - s) * ((1 - s) + s * s * (1 - s));

    y = tfd_double_log_sum(f, s, n, part * over);
    y = x < INFINITY ? y : x; /* infinity, and NaN */
    y = x > -1 ? y : x == -1 ? -(double)INFINITY : (double)NAN;
    return x == 0 ? x : y; /* keeps -0 */
}

TFD_VECTOR double tfd_double_atanh(double x)
{
    const double a = fabs(x);
    const double y = 0.5 * tfd_double_log1p(2 * a / (1 - a));

    return copysign(a == 1 ? (double)INFINITY : y, x);
}

/* log(2 a) for large a, whose square may be no double, else log(1 + u). */
TFD_VECTOR double tfd_double_log_twice(double a, double u)
{
    const int large = a > 0x1p100;
    const double y = tfd_double_log1p(large ? a : u);

    return large ? y + 0x1.62e42fefa39efp-1 : y;
}

TFD_VECTOR double tfd_double_asinh(double x)
{
    const double a = fabs(x), square = a * a;
    const double u = a + square / (1 + sqrt(1 + square));

    return copysign(tfd_double_log_twice(a, u), x);
}

TFD_VECTOR double tfd_double_acosh(double x)
{
    const double t = x - 1, y = t + sqrt(t * (t + 2));

    return x < 1 ? (double)NAN : tfd_double_log_twice(x, y);
}

/* ---- The error function -------------------------------------------------- */

TFD_VECTOR double tfd_double_erf_t(double x)
{
    double p = -1.00000000000000000000e+00;

    p = p * x - 2.39567404248797934940e+01;
    p = p * x - 4.31331930059768410501e+02;
    p = p * x - 2.36231848376295829439e+03;
    p = p * x - 1.56256749202610426437e+04;
    return p * x + 6.32490704017590451258e+03;
}

TFD_VECTOR double tfd_double_erf_u(double x)
{
    double p = x + 3.35617141647503099647e1;

    p = p * x + 5.21357949780152679795e2;
    p = p * x + 4.59432382970980127987e3;
    p = p * x + 2.26290000613890934246e4;
    return p * x + 4.92673942608635921086e4;
}

/* The upper half of x's digits. */
TFD_VECTOR double tfd_double_upper(double x)
{
    return tfd_double_of((tfd_double_bits(x) + 0x4000000u) &
                         ~UINT64_C(0x7ffffff));
}

/* e^(-x^2), though x^2 has twice the digits of x: x^2 = h^2 + (x - h)(x + h), h
 * x's upper half. */
TFD_VECTOR double tfd_double_exp_square(double x)
{
    const double h = tfd_double_upper(x);
    double n;
    const double p = tfd_double_exp_part(-h * h, (x - h) * (x + h), &n);

    return tfd_double_scale(p + 1, n);
}

TFD_VECTOR double tfd_double_erfc_p(double x)
{
    double p = 2.46196981473530512524e-10;

    p = p * x + 5.64189564831068821977e-1;
    p = p * x + 7.46321056442269912687e0;
    p = p * x + 4.86371970985681366614e1;
    p = p * x + 1.96520832956077098242e2;
    p = p * x + 5.26445194995477358631e2;
    p = p * x + 9.34528527171957607540e2;
    p = p * x + 1.02755188689515710272e3;
    return p * x + 5.57535335369399327526e2;
}

TFD_VECTOR double tfd_double_erfc_q(double x)
{
    double p = x + 1.32281951154744992508e1;

    p = p * x + 8.67072140885989742329e1;
    p = p * x + 3.54937778887819891062e2;
    p = p * x + 9.75708501743205489753e2;
    p = p * x + 1.82390916687909736289e3;
    p = p * x + 2.24633760818710981792e3;
    p = p * x + 1.65666309194161350182e3;
    return p * x + 5.57535340817727675546e2;
}

TFD_VECTOR double tfd_double_erfc_r(double x)
{
    double p = 5.64189583547755073984e-1;

    p = p * x + 1.27536670759978104416e0;
    p = p * x + 5.01905042251180477414e0;
    p = p * x + 6.16021097993053585195e0;
    p = p * x + 7.40974269950448939160e0;
    return p * x + 2.97886665372100240670e0;
}

TFD_VECTOR double tfd_double_erfc_s(double x)
{
    double p = x + 2.26052863220117276590e0;

    p = p * x + 9.39603524938001434673e0;
    p = p * x + 1.20489539808096656605e1;
    p = p * x + 1.70814450747565897222e1;
    p = p * x + 9.60896809063285878198e0;
    return p * x + 3.36907645100081516050e0;
}

/* One quotient serves |x| < 1, where it is erf(x) / x - 1, and the others,
 * where it is erfc(x) / e^(-x^2); beyond 28 that is 0. */
TFD_VECTOR double tfd_double_erfc(double x)
{
    const double a = tfd_double_clamp(fabs(x), 0, 28), square = x * x;
    const double near = a < 8 ? a : 8;
    const double p = a < 8 ? tfd_double_erfc_p(near) : tfd_double_erfc_r(a);
    const double q = a < 8 ? tfd_double_erfc_q(near) : tfd_double_erfc_s(a);
    const double t = tfd_double_erf_t(square), u = tfd_double_erf_u(square);
    const double ratio = (a < 1 ? t : p) / (a < 1 ? u : q);
    const double large = tfd_double_exp_square(a) * ratio;
    const double y = a < 1 ? (1 - x) - x * ratio : x < 0 ? 2 - large : large;

    return x == x ? y : x;
}

/* The same; from 6 on it is 1. */
TFD_VECTOR double tfd_double_erf(double x)
{
    const double a = tfd_double_clamp(fabs(x), 0, 7), square = x * x;
    const double t = tfd_double_erf_t(square), u = tfd_double_erf_u(square);
    const double p = tfd_double_erfc_p(a), q = tfd_double_erfc_q(a);
    const double ratio = (a < 1 ? t : p) / (a < 1 ? u : q);
    const double large = 1 - tfd_double_exp_square(a) * ratio;
    const double y = a < 1 ? x + x * ratio : copysign(large, x);

    return ((x == 0) | (x != x)) ? x : y; /* keeps -0 */
}

/* ---- Angles -------------------------------------------------------------- */

/* ((sin(r) - r) / r^3 + 1/6) / r^2 of r^2, |r| <= pi/4 */
TFD_VECTOR double tfd_double_sine_terms(double x)
{
    double p = 1.58969099521155010221e-10;

    p = p * x - 2.50507602534068634195e-08;
    p = p * x + 2.75573137070700676789e-06;
    p = p * x - 1.98412698298579493134e-04;
    return p * x + 8.33333333332248946124e-03;
}

/* (cos(r) - 1 + r^2/2) / r^4 of r^2, |r| <= pi/4 */
TFD_VECTOR double tfd_double_cosine_terms(double x)
{
    double p = -1.13596475577881948265e-11;

    p = p * x + 2.08757232129817482790e-09;
    p = p * x - 2.75573143513906633035e-07;
    p = p * x + 2.48015872894767294178e-05;
    p = p * x - 1.38888888888741095749e-03;
    return p * x + 4.16666666666666019037e-02;
}

#define TFD_DOUBLE_SIXTH 1.66666666666666324348e-01

/* The sine and cosine of r, |r| <= pi/4. */
TFD_VECTOR void tfd_double_waves(double r, double *sine, double *cosine)
{
    const double square = r * r;
    const double s = tfd_double_sine_terms(square) * square - TFD_DOUBLE_SIXTH;
    const double c = tfd_double_cosine_terms(square);

    *sine = s * square * r + r;
    *cosine = c * square * square - 0.5 * square + 1;
}

TFD_VECTOR double tfd_double_atan_p(double x)
{
    double p = -8.750608600031904122785e-1;

    p = p * x - 1.615753718733365076637e1;
    p = p * x - 7.500855792314704667340e1;
    p = p * x - 1.228866684490136173410e2;
    return p * x - 6.485021904942025371773e1;
}

TFD_VECTOR double tfd_double_atan_q(double x)
{
    double p = x + 2.485846490142306297962e1;

    p = p * x + 1.650270098316988542046e2;
    p = p * x + 4.328810604912902668951e2;
    p = p * x + 4.853903996359136964868e2;
    return p * x + 1.945506571482613964425e2;
}

/* The angle whose tangent is up / down, neither negative: steep, flat, or about
 * pi / 4. */
TFD_VECTOR double tfd_double_angle(double up, double down)
{
    const double ratio = 2.41421356237309504880; /* tan(3 pi / 8) */
    const int steep = (up > ratio * down) | (up * (1 / ratio) > down);
    const int even = up == down; /* both 0 or infinite, too */
    const int flat = (up <= 0.66 * down) & (!even | (up == 0));
    const double scale = down > 1 ? 0.5 : 1; /* so that a sum is finite */
    const double n = steep ? -down : flat ? up : up * scale - down * scale;
    const double d = steep ? up : flat ? down : up * scale + down * scale;
    const double in = (even ? 0 : n) / (even ? 1 : d), square = in * in;
    const double p = tfd_double_atan_p(square);
    const double q = tfd_double_atan_q(square);
    const double turn = steep  ? 0x1.921fb54442d18p0
                        : flat ? 0
                               : 0x1.921fb54442d18p-1;
    const double rest = steep  ? 6.123233995736765886130e-17
                        : flat ? 0
                               : 3.061616997868382943065e-17;

    return turn + (in + (in * square * (p / q) + rest));
}

TFD_VECTOR double tfd_double_atan(double x)
{
    return copysign(tfd_double_angle(fabs(x), 1), x);
}

/* The angle of (x, y), turned into its quadrant. */
TFD_VECTOR double tfd_double_atan2(double y, double x)
{
    double angle = tfd_double_angle(fabs(y), fabs(x));

    angle = copysign(1, x) < 0
                ? 0x1.921fb54442d18p1 - (angle - 0x1.1a62633145c07p-53)
                : angle;
    angle = copysign(angle, y);
    return ((x == x) & (y == y)) ? angle : x + y;
}

#endif
