/*
 * double_gamma.h - log |gamma| and digamma of doubles, in the manner of
 * double_functions.h: polynomials and selections, no branch and no call, so
 * that a loop over them is vectorised.  With t = |x|,
 *
 *     log gamma(t) = (t - 1) (t - 2) (c - (t - m) P/Q(t))        3/4 <= t < 8
 *     log gamma(t) = (t - 1/2) (log t - 1) + W(1/t)              t >= 8
 *     log gamma(t) = log gamma(1 + t) - log t                    t < 3/4
 *     log |gamma(-t)| = log(pi / (t |sin(pi t)|)) - log gamma(t)
 *
 *     digamma(t) = (t - r) (c - (t - m) P/Q(t))                  1 <= t < 10
 *     digamma(t) = log t - 1 / 2t - sum of B(2k) / (2k t^2k)     t >= 10
 *     digamma(t) = digamma(1 + t) - 1 / t                        t < 1
 *     digamma(-t) = digamma(t) + 1 / t + pi / tan(pi t)
 *
 * (Abramowitz and Stegun, 6.1.15 to 6.1.41, 6.3.5 to 6.3.18; W is that of the
 * FreeBSD mathematics library.)  log gamma is 0 at 1 and 2, and digamma is 0 at
 * r, 1.4616: with those factors taken out, no digit is lost near them, and what
 * is left is smooth and has no zero.  It is not P/Q itself but c - (t - m)
 * P/Q(t), where c is its value at m, since an error of P/Q is then a third as
 * large in the result.  The arguments are in two halves, a lower and an upper
 * one, which have coefficients of their own.  P/Q has the true values at
 * Chebyshev's points; between them the result is at most 5e-17 of itself away.
 * All coefficients are positive, so the sums do not cancel.
 *
 * Largest distances in units of the last place (test_double_gamma.c, more than
 * a million arguments each): right of 0, log gamma 3.4 and digamma 3.4, also
 * where they are close to 0.  Left of 0 two terms may cancel, so the units are
 * those of the largest of the result, 1, and the function of 1 + t: log gamma
 * 3, digamma 8.  Infinities, NaN, zeros, poles and subnormal numbers give what
 * they give in the C library's lgamma() and in tfd_special_digamma().
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_DOUBLE_GAMMA_H
#define TFD_KERNELS_DOUBLE_GAMMA_H

#include "kernels/vector/vector_gamma.h"

/* One step of Horner's scheme; low is the coefficient for the lower half of the
 * arguments, high that for the upper half. */
TFD_VECTOR double tfd_gamma_step(double p, double x, int is_low, double low,
                                 double high)
{
    return p * x + (is_low ? low : high);
}

/* ---- log gamma ----------------------------------------------------------- */

/* Where the upper half of the arguments begins, and where it ends. */
#define TFD_GAMMA_MIDDLE 2.5
#define TFD_GAMMA_LARGE 8
/* Below this log |gamma(x)| is -log |x|. */
#define TFD_GAMMA_TINY 0x1p-60

TFD_VECTOR double tfd_double_lgamma_p(double x, int is_low)
{
    double p = is_low ? 0.4872362197737527 : 0.24918179339691518;

    p = tfd_gamma_step(p, x, is_low, 21.967048560166425, 35.684359978361094);
    p = tfd_gamma_step(p, x, is_low, 236.27943486639336, 1228.0099989621829);
    p = tfd_gamma_step(p, x, is_low, 871.97059731335332, 14532.85739231666);
    p = tfd_gamma_step(p, x, is_low, 1237.0494426974099, 65954.293949715429);
    p = tfd_gamma_step(p, x, is_low, 670.0048421122292, 113418.7740626023);
    p = tfd_gamma_step(p, x, is_low, 120.17175066362931, 64225.17615693785);
    return tfd_gamma_step(p, x, is_low, 4.5982710874198904, 7974.5717503074857);
}

TFD_VECTOR double tfd_double_lgamma_q(double x, int is_low)
{
    double q =
        tfd_gamma_step(1, x, is_low, 50.911694169468532, 156.34706252173726);

    q = tfd_gamma_step(q, x, is_low, 655.66754447282347, 6183.0374849605705);
    q = tfd_gamma_step(q, x, is_low, 3072.1428333253252, 88993.900003882532);
    q = tfd_gamma_step(q, x, is_low, 5931.3652423220174, 528309.00435339194);
    q = tfd_gamma_step(q, x, is_low, 4813.0183051762478, 1321426.5862305588);
    q = tfd_gamma_step(q, x, is_low, 1529.4143014077363, 1302478.6632605272);
    q = tfd_gamma_step(q, x, is_low, 157.84944803582698, 411530.94767782389);
    return tfd_gamma_step(q, x, is_low, 3.0978895177823067, 24111.873132017179);
}

/* W of 1/t */
TFD_VECTOR double tfd_double_lgamma_w(double part)
{
    const double square = part * part;
    double p = -1.63092934096575273989e-03;

    p = p * square + 8.36339918996282139126e-04;
    p = p * square - 5.95187557450339963135e-04;
    p = p * square + 7.93650558643019558500e-04;
    p = p * square - 2.77777777728775536470e-03;
    p = p * square + 8.33333333333329678849e-02;
    return p * part + 4.18938533204672725052e-01;
}

/* log gamma(t), but log gamma(1 + t) where t is below 3/4; l is log t.  One
 * division serves for P/Q and for 1/t. */
TFD_VECTOR double tfd_double_lgamma_right(double t, double l)
{
    const int is_large = t >= TFD_GAMMA_LARGE, is_small = t < 0.75;
    const double at = is_small ? t + 1 : t, from_1 = is_small ? t : t - 1;
    const int is_low = at < TFD_GAMMA_MIDDLE;
    const double p = is_large ? 1 : tfd_double_lgamma_p(at, is_low);
    const double q = is_large ? t : tfd_double_lgamma_q(at, is_low);
    const double ratio = p / q;
    const double center = is_low ? 1.421875 : 5.484375;
    const double value = is_low ? 0.4949316316500406 : 0.251686627152056;
    const double slope = value - (at - center) * ratio;
    const double large = (t - 0.5) * (l - 1) + tfd_double_lgamma_w(ratio);

    return is_large ? large : from_1 * (from_1 - 1) * slope;
}

/* log gamma(t), where right is tfd_double_lgamma_right(t, l).  The sum with 0
 * makes it 0 at 1, not -0. */
TFD_VECTOR double tfd_double_lgamma_sum(double t, double l, double right)
{
    return (t < 0.75 ? -l : 0) + right;
}

/* Holds where x is not below 0, for half the work. */
TFD_VECTOR double tfd_double_lgamma_from_0(double x)
{
    const double t = fabs(x), l = tfd_double_log(t);

    return tfd_double_lgamma_sum(t, l, tfd_double_lgamma_right(t, l));
}

TFD_VECTOR double tfd_double_lgamma(double x)
{
    const double t = fabs(x), l = tfd_double_log(t), part = t - floor(t);
    const double right = tfd_double_lgamma_right(t, l);
    const double over_pi = (t < 0.75 ? 1 : t) * 0.31830988618379067154;
    double left = -tfd_gamma_log(tfd_gamma_sine(part) * over_pi) - right;

    left = t < TFD_GAMMA_TINY ? -l : left;
    left = part > 0 ? left : (double)INFINITY; /* a pole, or -infinity */
    return x < 0 ? left : tfd_double_lgamma_sum(t, l, right);
}

/* ---- Digamma ------------------------------------------------------------- */

/* Where the upper half of the arguments begins, and where it ends. */
#define TFD_DIGAMMA_MIDDLE 3.75
#define TFD_DIGAMMA_LARGE 10

TFD_VECTOR double tfd_double_digamma_p(double x, int is_low)
{
    double p = is_low ? 0.7348497310790213 : 0.34826784289086266;

    p = tfd_gamma_step(p, x, is_low, 55.34553120563416, 52.529100043533198);
    p = tfd_gamma_step(p, x, is_low, 1075.0061813391751, 1872.6490235813026);
    p = tfd_gamma_step(p, x, is_low, 7795.0167917305998, 22364.909640753478);
    p = tfd_gamma_step(p, x, is_low, 23639.318191724378, 98172.904722207983);
    p = tfd_gamma_step(p, x, is_low, 28998.614295960942, 150134.3174616078);
    return tfd_gamma_step(p, x, is_low, 10897.256272507762, 58856.712113011243);
}

TFD_VECTOR double tfd_double_digamma_q(double x, int is_low)
{
    double q =
        tfd_gamma_step(1, x, is_low, 79.841734376636737, 160.51484012306278);

    q = tfd_gamma_step(q, x, is_low, 1689.43492614153, 6329.0458413490214);
    q = tfd_gamma_step(q, x, is_low, 13685.148922076807, 87281.577572576221);
    q = tfd_gamma_step(q, x, is_low, 47757.94435893467, 467516.21790967888);
    q = tfd_gamma_step(q, x, is_low, 70523.89634671247, 946199.44570516108);
    q = tfd_gamma_step(q, x, is_low, 34842.014107279698, 570298.99032525078);
    return tfd_gamma_step(q, x, is_low, 0.0004737895624993621,
                          188.22089013087844);
}

/* 1 / 2t + the sum of B(2k) / (2k t^2k); part is 1/t.  From 10 on, the terms
 * left out are below 5e-17. */
TFD_VECTOR double tfd_double_digamma_rest(double part)
{
    const double square = part * part;
    double p = 1.0 / 12;

    p = p * square - 691.0 / 32760;
    p = p * square + 1.0 / 132;
    p = p * square - 1.0 / 240;
    p = p * square + 1.0 / 252;
    p = p * square - 1.0 / 120;
    p = p * square + 1.0 / 12;
    return p * square + 0.5 * part;
}

/* digamma(t), but digamma(1 + t) where t is below 1; part is 1/t.  One division
 * serves for P/Q and for the logarithm's f / (2 + f). */
TFD_VECTOR double tfd_double_digamma_right(double t, double part)
{
    const int is_large = t >= TFD_DIGAMMA_LARGE, is_small = t < 1;
    const double at = is_small ? t + 1 : t, from_1 = is_small ? t : t - 1;
    const int is_low = at < TFD_DIGAMMA_MIDDLE;
    double n, f = tfd_double_split(t, &n) - 1;
    const double p = is_large ? f : tfd_double_digamma_p(at, is_low);
    const double q = is_large ? 2 + f : tfd_double_digamma_q(at, is_low);
    const double ratio = p / q;
    const double center = is_low ? 2.1875 : 6.640625;
    const double value = is_low ? 0.73995095580391 : 0.35065243844404936;
    const double slope = value - (at - center) * ratio;
    const double large = tfd_double_log_sum(f, ratio, n, 0);
    const double root = from_1 - 0x1.d8b618d5af8fcp-2 - 9.5499954299656974e-17;

    return is_large ? large - tfd_double_digamma_rest(part) : root * slope;
}

/* 1 / tan(pi t), NaN where t is whole. */
TFD_VECTOR double tfd_double_cotangent(double t)
{
    const double from = t - rint(t), near = fabs(from);
    const int is_steep = near <= 0.25;
    const double turn = is_steep ? near : 0.5 - near;
    double sine, cosine;

    tfd_double_waves(3.14159265358979323846 * turn, &sine, &cosine);
    sine = near == 0 ? (double)NAN : sine;
    return copysign((is_steep ? cosine : sine) / (is_steep ? sine : cosine),
                    from);
}

/* digamma(t), where part is 1/t and right tfd_double_digamma_right(t, part). */
TFD_VECTOR double tfd_double_digamma_sum(double t, double part, double right)
{
    double y = right - (t < 1 ? part : 0);

    y = t < INFINITY ? y : t; /* infinity, and NaN */
    return t > 0 ? y : (double)NAN;
}

/* Holds where x is not below 0, for half the work. */
TFD_VECTOR double tfd_double_digamma_from_0(double x)
{
    const double t = fabs(x), part = 1 / t;

    return tfd_double_digamma_sum(t, part, tfd_double_digamma_right(t, part));
}

TFD_VECTOR double tfd_double_digamma(double x)
{
    const double t = fabs(x), part = 1 / t;
    const double right = tfd_double_digamma_right(t, part);
    const double turn = 3.14159265358979323846 * tfd_double_cotangent(t);
    const double left = right + (t < 1 ? 0 : part) + turn;

    return x < 0 ? left : tfd_double_digamma_sum(t, part, right);
}

#endif
