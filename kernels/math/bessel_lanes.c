/*
 * bessel_lanes.c - polynomials, near zero and far from it; both are computed of
 * every argument and one is selected, which is what makes vectors of it.
 *
 *     I(x) = P(x^2)                       x < 8
 *            e^x P(1/x) / sqrt(x)         from there on
 *     K(x) = P(x^2) - log(x/2) I(x)       x < 2; of order 1 plus, and 1/x
 *            e^-x P(1/x) / sqrt(x)        from there on
 *     J(x) = P(x^2)                       x < 8
 *     Y(x) = P(x^2) + 2/pi log(x) J(x)    x < 8; of order 1 less 2 / (pi x)
 *     J(x) = sqrt(2 / (pi x)) (P(1/x^2) cos(a) - Q(1/x^2) / x sin(a))
 *     Y(x) = sqrt(2 / (pi x)) (P(1/x^2) sin(a) + Q(1/x^2) / x cos(a))
 *            from there on; a = x - pi/4, of order 1 x - 3 pi/4
 *
 * The polynomials interpolate at Chebyshev's points; their errors are below
 * 2^-36, of J and Y near zero, where these have zeros, below 2^-46.
 */
#include "kernels/math/bessel_lanes.h"

#include "kernels/core/elementwise.h"
#include "kernels/math/bessel_functions.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/vector_double.h"

#define I_FAR 8
#define K_FAR 2
#define J_FAR 8

/* ---- Polynomials --------------------------------------------------------- */

/* Of I0(x), I1(x) / x. */
static const double i0_near[] = {
    1.00000000000586109e+00, 2.49999999969052672e-01, 1.56250000270481068e-02,
    4.34027768499578831e-04, 6.78168567928701547e-06, 6.78166656004351006e-08,
    4.70962115275890591e-10, 2.40227160277329278e-12, 9.40251606105922514e-15,
    2.86202006000879987e-17, 7.73396022541711022e-20, 1.05749420235269069e-22,
    4.77321716589380242e-25};
static const double i1_near[] = {
    5.00000000000202283e-01, 6.24999999989320557e-02, 2.60416666760011776e-03,
    5.42534719019831447e-05, 6.78168459791147578e-07, 5.65139732460359698e-09,
    3.36397145493840328e-11, 1.50156948072906103e-13, 5.22015006647113430e-16,
    1.43637369321250963e-18, 3.46245502301341922e-21, 4.70871507799048694e-24,
    1.75991679758566562e-26};
static const double i0_far[] = {
    3.98942280398882243e-01,  4.98677899778773859e-02, 2.80490682256504045e-02,
    2.94104405343841822e-02,  3.28934721869680730e-02, 5.12272441976137194e-01,
    -8.89963262731514071e+00, 1.22780769744212890e+02, -9.80190650067177785e+02,
    4.34161152670509000e+03,  -7.84404573070298466e+03};
static const double i1_far[] = {
    3.98942280404194161e-01,  -1.49603360485666720e-01,
    -4.67493592197562313e-02, -4.11137716927352861e-02,
    -4.47244341267810860e-02, -5.65694061042557261e-01,
    9.56239203378842362e+00,  -1.32046902085352144e+02,
    1.05112743413295743e+03,  -4.64396523954484201e+03,
    8.35736507515680933e+03};

/* The same below K_FAR, and what K0 and K1 add. */
static const double i0_k[] = {1.00000000000507550e+00, 2.49999999875671480e-01,
                              1.56250004969123585e-02, 4.34027033608393056e-04,
                              6.78221407292295787e-06, 6.76234853280991205e-08,
                              5.05729973630627893e-10};
static const double i1_k[] = {5.00000000000315303e-01, 6.24999999922761992e-02,
                              2.60416669753964127e-03, 5.42534259791010569e-05,
                              6.78201350333066112e-07, 5.63937765908576229e-09,
                              3.58049853140789571e-11};
static const double k0_near[] = {
    -5.77215664891268077e-01, 1.05696083523171891e-01, 1.44185062408311859e-02,
    5.45188455452949496e-04,  1.02150857688058247e-05, 1.15312711208231515e-07,
    9.52236889529390493e-10};
static const double k1_near[] = {
    3.86078324501093889e-02,  -4.20490209275590221e-02,
    -2.83711204809517338e-03, -7.49303327081402969e-05,
    -1.08928689340885824e-06, -1.00878627099223573e-08,
    -6.99101499047544856e-11};
static const double k0_far[] = {
    1.25331413730788577e+00, -1.56664261987600806e-01,
    8.81230537384337098e-02, -9.17677877373807294e-02,
    1.39874031158707252e-01, -2.74047158491286580e-01,
    6.06519126466934511e-01, -1.31221845276376547e+00,
    2.43399613124700531e+00, -3.48272707692247918e+00,
    3.48503136194456165e+00, -2.13604398639189696e+00,
    5.98517455880429372e-01};
static const double k1_far[] = {
    1.25331413732413677e+00,  4.69992795621917814e-01,
    -1.46872074093824884e-01, 1.28482288701569219e-01,
    -1.79943649321919363e-01, 3.35916632028419648e-01,
    -7.22735303899792680e-01, 1.53884277790932145e+00,
    -2.82890581235736827e+00, 4.02694809318638836e+00,
    -4.01700541010581347e+00, 2.45715257704544632e+00,
    -6.87555696597175525e-01};

/* Of J0(x), J1(x) / x, and what Y0 and Y1 / x add. */
static const double j0_near[] = {
    9.99999999999999223e-01, -2.49999999999994477e-01,
    1.56249999999935659e-02, -4.34027777774811431e-04,
    6.78168402706122141e-06, -6.78168401734827830e-08,
    4.70950269792838794e-10, -2.40280690283450821e-12,
    9.38593715268696846e-15, -2.89680439402880724e-17,
    7.23988475896625118e-20, -1.49224886997417051e-22,
    2.54837939348591519e-25, -3.44011725926930364e-28,
    2.86166836341790311e-31};
static const double j1_near[] = {
    4.99999999999998501e-01, -6.24999999999909794e-02,
    2.60416666665749461e-03, -5.42534722185472617e-05,
    6.78168402008854953e-07, -5.65140326002546537e-09,
    3.36392978460854516e-11, -1.50175037878937714e-13,
    5.21425851285700524e-16, -1.44799431293668488e-18,
    3.28313117152680021e-21, -6.11726430152578863e-24,
    8.94782040858433055e-27, -8.01504534115888242e-30};
static const double y0_near[] = {
    -7.38042951086855248e-02, 1.77606016869055194e-01,
    -1.60739680259244823e-02, 5.38602666855226317e-04,
    -9.49500520366855555e-06, 1.03584760110229877e-07,
    -7.69307968600973567e-10, 4.14356433461807553e-12,
    -1.69326504887322795e-14, 5.43084598314964031e-17,
    -1.40335595200011799e-19, 2.97829450618863075e-22,
    -5.21656262175752415e-25, 7.18850599516487657e-28,
    -6.06781528855426297e-31};
static const double y1_near[] = {
    -1.96057090646235777e-01, 5.43486881604908836e-02,
    -2.95530533606015592e-03, 7.16426874918550465e-05,
    -9.92674060292684577e-07, 8.93187941424927109e-09,
    -5.64802286759928223e-11, 2.64947219297411516e-13,
    -9.59112682301494029e-16, 2.76065388702513974e-18,
    -6.45757864713103114e-21, 1.23594288842805993e-23,
    -1.84757432701414002e-26, 1.68060770190542006e-29};
static const double p0_far[] = {
    9.99999999999471312e-01, -7.03124966655121891e-02,
    1.12148587865537011e-01, -5.71074334962503927e-01,
    5.78479275971602291e+00, -7.70404718262309700e+01,
    7.21279125366202152e+02};
static const double q0_far[] = {
    -1.24999999996981553e-01, 7.32421684495322411e-02,
    -2.27087864875422513e-01, 1.71948329696416002e+00,
    -2.26864186721983323e+01, 3.53064502006230327e+02,
    -3.57291290651992995e+03};
static const double p1_far[] = {
    1.00000000000057621e+00, 1.17187496366191635e-01,  -1.44191730711041244e-01,
    6.75038682834151582e-01, -6.56927815411276939e+00, 8.57947772791458476e+01,
    -7.96295721245490313e+02};
static const double q1_far[] = {
    3.74999999996727673e-01, -1.02539041848371121e-01,
    2.77554623216180796e-01, -1.98460201285110482e+00,
    2.54157093855953171e+01, -3.89711288277170524e+02,
    3.91728840946759965e+03};

/* sin(r) / r and cos(r) of r^2, |r| <= pi/4. */
static const double sine[] = {
    9.99999999999995448e-01, -1.66666666666141411e-01,
    8.33333332349507454e-03, -1.98412631006823396e-04,
    2.75552308942130013e-06, -2.47536196935674571e-08};
static const double cosine[] = {
    9.99999999999941047e-01, -4.99999999993180844e-01,
    4.16666665389394467e-02, -1.38888801371865535e-03,
    2.47988755465617199e-05, -2.71696155511666775e-07};

#define SUM(p, x) sum_powers(p, (int)TFD_COUNT(p), x)

/* p[0] + p[1] x + ... */
TFD_VECTOR double sum_powers(const double *p, int count, double x)
{
    double sum = p[count - 1];

    for (int i = count - 2; i >= 0; i--)
        sum = sum * x + p[i];
    return sum;
}

/* ---- I ------------------------------------------------------------------- */

/* From e^EXP_MAX on floats are infinite, and of e^-EXP_MAX 0. */
#define EXP_MAX 300

TFD_VECTOR double exp_of(double a)
{
    return tfd_quick_exp(a > EXP_MAX ? EXP_MAX : a);
}

/* Of infinity no number, as 0 times infinity is. */
TFD_VECTOR double i_grown(double far, double a)
{
    return far * exp_of(a) + (a - a);
}

TFD_VECTOR double exp_less(double a)
{
    return tfd_quick_exp(a > EXP_MAX ? -EXP_MAX : -a);
}

TFD_VECTOR float i0_lane(float x)
{
    double a = fabs((double)x), near = SUM(i0_near, a * a);
    double far = i_grown(SUM(i0_far, 1 / a) / sqrt(a), a);

    return (float)(a < I_FAR ? near : far);
}

TFD_VECTOR float i0e_lane(float x)
{
    double a = fabs((double)x), near = SUM(i0_near, a * a) * exp_less(a);
    double far = SUM(i0_far, 1 / a) / sqrt(a);

    return (float)(a < I_FAR ? near : far);
}

TFD_VECTOR float i1_lane(float x)
{
    double a = fabs((double)x), near = SUM(i1_near, a * a) * a;
    double far = i_grown(SUM(i1_far, 1 / a) / sqrt(a), a);

    return copysignf((float)(a < I_FAR ? near : far), x);
}

TFD_VECTOR float i1e_lane(float x)
{
    double a = fabs((double)x), near = SUM(i1_near, a * a) * a * exp_less(a);
    double far = SUM(i1_far, 1 / a) / sqrt(a);

    return copysignf((float)(a < I_FAR ? near : far), x);
}

/* ---- K ------------------------------------------------------------------- */

TFD_VECTOR double k0_below(double x)
{
    double square = x * x;

    return SUM(k0_near, square) - tfd_quick_log(x / 2) * SUM(i0_k, square);
}

TFD_VECTOR double k1_below(double x)
{
    double square = x * x;
    double sum =
        SUM(k1_near, square) + tfd_quick_log(x / 2) * SUM(i1_k, square);

    return sum * x + 1 / x;
}

/* The near value or the far one; infinite up to 0. */
TFD_VECTOR float pick_k(double x, double near, double far)
{
    float y = (float)(x < K_FAR ? near : far);

    return x <= 0 ? INFINITY : y;
}

TFD_VECTOR float k0_lane(float a)
{
    double x = (double)a, far = SUM(k0_far, 1 / x) / sqrt(x) * exp_less(x);

    return pick_k(x, k0_below(x), far);
}

TFD_VECTOR float k0e_lane(float a)
{
    double x = (double)a, far = SUM(k0_far, 1 / x) / sqrt(x);

    return pick_k(x, k0_below(x) * exp_of(x), far);
}

TFD_VECTOR float k1_lane(float a)
{
    double x = (double)a, far = SUM(k1_far, 1 / x) / sqrt(x) * exp_less(x);

    return pick_k(x, k1_below(x), far);
}

TFD_VECTOR float k1e_lane(float a)
{
    double x = (double)a, far = SUM(k1_far, 1 / x) / sqrt(x);

    return pick_k(x, k1_below(x) * exp_of(x), far);
}

/* ---- J, Y ---------------------------------------------------------------- */

#define PI 3.14159265358979323846
#define TWO_OVER_PI 0.63661977236758134308
#define QUARTER_HIGH 0x1.921fb544p+0 /* 31 bits of pi/2 */
#define QUARTER_LOW 0x1.0b4611a626331p-34
/* From there on x less multiples of pi/2 is not exact enough. */
#define TURNS_FAR 1048576.0f

/* The sine and cosine of x, times sqrt(1 / (pi x)); 0 < x < TURNS_FAR. */
struct wave {
    double s, c;
};

TFD_VECTOR struct wave wave_of(double x)
{
    double shifted = x * TWO_OVER_PI + TFD_DOUBLE_MAGIC;
    double n = shifted - TFD_DOUBLE_MAGIC, size = sqrt(1 / (PI * x));
    double r = (x - n * QUARTER_HIGH) - n * QUARTER_LOW, square = r * r;
    double odd = SUM(sine, square) * r, even = SUM(cosine, square);
    uint64_t q = tfd_double_bits(shifted);
    double s = q & 1 ? even : odd, c = q & 1 ? odd : even;

    return (struct wave){
        tfd_double_of(tfd_double_bits(s * size) ^ (q & 2) << 62),
        tfd_double_of(tfd_double_bits(c * size) ^ ((q + 1) & 2) << 62)};
}

TFD_VECTOR float j0_lane(float x)
{
    double a = fabs((double)x), inverse = 1 / a, square = inverse * inverse;
    double near = SUM(j0_near, a * a);
    struct wave w = wave_of(a);
    double far = SUM(p0_far, square) * (w.c + w.s) -
                 SUM(q0_far, square) * inverse * (w.s - w.c);

    return (float)(a < J_FAR ? near : far);
}

TFD_VECTOR float j1_lane(float x)
{
    double a = fabs((double)x), inverse = 1 / a, square = inverse * inverse;
    double near = SUM(j1_near, a * a) * (double)x;
    struct wave w = wave_of(a);
    double far = SUM(p1_far, square) * (w.s - w.c) +
                 SUM(q1_far, square) * inverse * (w.s + w.c);

    far = x < 0 ? -far : far;
    return (float)(a < J_FAR ? near : far);
}

TFD_VECTOR float y0_lane(float x)
{
    double a = (double)x, inverse = 1 / a, square = inverse * inverse;
    double log_part = TWO_OVER_PI * tfd_quick_log(a) * SUM(j0_near, a * a);
    double near = SUM(y0_near, a * a) + log_part;
    struct wave w = wave_of(a);
    double far = SUM(p0_far, square) * (w.s - w.c) +
                 SUM(q0_far, square) * inverse * (w.c + w.s);

    return x <= 0 ? -INFINITY : (float)(a < J_FAR ? near : far);
}

TFD_VECTOR float y1_lane(float x)
{
    double a = (double)x, inverse = 1 / a, square = inverse * inverse;
    double log_part = TWO_OVER_PI * tfd_quick_log(a) * SUM(j1_near, a * a);
    double near = (SUM(y1_near, a * a) + log_part) * a - TWO_OVER_PI * inverse;
    struct wave w = wave_of(a);
    double far = SUM(q1_far, square) * inverse * (w.s - w.c) -
                 SUM(p1_far, square) * (w.s + w.c);

    return x <= 0 ? -INFINITY : (float)(a < J_FAR ? near : far);
}

/* ---- Loops --------------------------------------------------------------- */

#define LOOP(function)                                                      \
    TFD_UNARY_WIDE(function##_wide, float, float, function##_lane)          \
    void tfd_bessel_lanes_##function(void *row, int64_t begin, int64_t end) \
    {                                                                       \
        function##_wide(row, begin, end);                                   \
    }
LOOP(i0)
LOOP(i0e)
LOOP(i1)
LOOP(i1e)
LOOP(k0)
LOOP(k0e)
LOOP(k1)
LOOP(k1e)

#define BLOCK 256

/* A block: y may be where a is, so far arguments are computed of a copy. */
struct block {
    float x[BLOCK];
    int far; /* whether some are */
};

TFD_VECTOR void read_block(struct block *b, const float *a, int64_t n)
{
    int far = 0;

    for (int64_t i = 0; i < n; i++) {
        b->x[i] = a[i];
        far |= fabsf(a[i]) >= TURNS_FAR;
    }
    b->far = far;
}

#define LOOP_NOT_FAR(function)                                              \
    static __attribute__((noinline)) void function##_far(                   \
        const struct block *b, float *y, int64_t n)                         \
    {                                                                       \
        for (int64_t i = 0; i < n; i++)                                     \
            if (fabsf(b->x[i]) >= TURNS_FAR)                                \
                y[i] = (float)tfd_bessel_##function((double)b->x[i]);       \
    }                                                                       \
    TFD_SIMD_LOOP(function##_wide)                                          \
    {                                                                       \
        const struct tfd_row *r = arg;                                      \
        struct block b;                                                     \
                                                                            \
        for (int64_t at = begin, n; at < end; at += n) {                    \
            float *y = (float *)r->y + at;                                  \
                                                                            \
            n = end - at < BLOCK ? end - at : BLOCK;                        \
            read_block(&b, (const float *)r->a + at, n);                    \
            for (int64_t i = 0; i < n; i++)                                 \
                y[i] = function##_lane(b.x[i]);                             \
            if (b.far)                                                      \
                function##_far(&b, y, n);                                   \
        }                                                                   \
    }                                                                       \
    TFD_SIMD_CLONES_WIDE(function##_wide)                                   \
    void tfd_bessel_lanes_##function(void *row, int64_t begin, int64_t end) \
    {                                                                       \
        function##_wide(row, begin, end);                                   \
    }
LOOP_NOT_FAR(j0)
LOOP_NOT_FAR(j1)
LOOP_NOT_FAR(y0)
LOOP_NOT_FAR(y1)
