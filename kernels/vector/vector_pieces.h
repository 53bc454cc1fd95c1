/*
 * vector_pieces.h - erf and tanh of floats: x * g(|x|), where g(a) is erf(a) /
 * a or tanh(a) / a, a polynomial in each of 32 pieces of equal width.
 *
 *     n = piece of |x|, t = |x| - origin[n]
 *     y = x * (c0[n] + t * (c1[n] + ... + t * c5[n])), between -1 and 1
 *
 * That is half the arithmetic of an exponential function, if a coefficient is
 * looked up as quickly as it is multiplied.  AVX-512 does so in a permutation
 * of two registers; with AVX2 all numbers of eight pieces are loaded and
 * transposed; other processors read the table.  All compute the same bits.
 *
 * Coefficients are least-maximum fits of relative errors, a piece at a time.
 * Largest distances from a double reference over all floats, in units of the
 * last place: erf 1.52, tanh 1.69.  Infinities, NaN and -0 come out as IEEE 754
 * has them.  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_VECTOR_PIECES_H
#define TFD_KERNELS_VECTOR_PIECES_H

#include "kernels/core/elementwise.h"
#include "kernels/vector/vector_math.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define TFD_PIECES 32
#define TFD_PIECES_DEGREE 5

/* The origins are numbers near the middles of the pieces where g is nearly a
 * float: that its first coefficient is rounded costs nothing, then. */
struct tfd_pieces {
    _Alignas(64) float origin[TFD_PIECES]; /* each half is one line */
    float c[TFD_PIECES_DEGREE + 1][TFD_PIECES];
    float width;
};

static const struct tfd_pieces tfd_erf_pieces = {
    {6.250261515e-02f, 1.875004321e-01f, 3.125144243e-01f, 4.375133216e-01f,
     5.625249743e-01f, 6.875141859e-01f, 8.125306368e-01f, 9.375311732e-01f,
     1.062561393e+00f, 1.187557697e+00f, 1.312562585e+00f, 1.437511802e+00f,
     1.562533498e+00f, 1.687507153e+00f, 1.812546968e+00f, 1.937530398e+00f,
     2.062522888e+00f, 2.187525511e+00f, 2.312639236e+00f, 2.437575817e+00f,
     2.562608480e+00f, 2.687569380e+00f, 2.812636137e+00f, 2.937507868e+00f,
     3.062612295e+00f, 3.187505960e+00f, 3.312509298e+00f, 3.437575340e+00f,
     3.562544823e+00f, 3.687538624e+00f, 3.812613010e+00f, 3.937608719e+00f},
    {
        {1.126911521e+00f, 1.115294218e+00f, 1.092696428e+00f,
         1.060334682e+00f, 1.019856930e+00f, 9.732084870e-01f,
         9.224044681e-01f, 8.694292307e-01f, 8.160287738e-01f,
         7.636998296e-01f, 7.135516405e-01f, 6.663891673e-01f,
         6.226285100e-01f, 5.825102329e-01f, 5.459900498e-01f,
         5.129507184e-01f, 4.831287563e-01f, 4.562336504e-01f,
         4.319422841e-01f, 4.100113213e-01f, 3.901142180e-01f,
         3.720297515e-01f, 3.555136025e-01f, 3.404135108e-01f,
         3.265137970e-01f, 3.137228489e-01f, 3.018850982e-01f,
         2.909023762e-01f, 2.806980908e-01f, 2.711835504e-01f,
         2.622872889e-01f, 2.539612353e-01f},
        {-4.690771177e-02f, -1.381095052e-01f, -2.217823714e-01f,
         -2.937816083e-01f, -3.511998355e-01f, -3.925060332e-01f,
         -4.176092744e-01f, -4.276252687e-01f, -4.246093333e-01f,
         -4.111753106e-01f, -3.901270926e-01f, -3.641681373e-01f,
         -3.356257677e-01f, -3.064214289e-01f, -2.779275179e-01f,
         -2.511033416e-01f, -2.264690250e-01f, -2.042534202e-01f,
         -1.844539493e-01f, -1.669883132e-01f, -1.516141295e-01f,
         -1.381197870e-01f, -1.262515932e-01f, -1.158164367e-01f,
         -1.065817326e-01f, -9.840897471e-02f, -9.112901986e-02f,
         -8.462186903e-02f, -7.879047841e-02f, -7.354015112e-02f,
         -6.879448146e-02f, -6.449625641e-02f},
        {-3.734875321e-01f, -3.528162241e-01f, -3.137153685e-01f,
         -2.603209019e-01f, -1.979707479e-01f, -1.324489713e-01f,
         -6.912293285e-02f, -1.239882037e-02f, 3.475386277e-02f,
         7.083061337e-02f,  9.574007243e-02f,  1.104390845e-01f,
         1.165938899e-01f,  1.161604002e-01f,  1.111019775e-01f,
         1.031693444e-01f,  9.377076477e-02f,  8.394782245e-02f,
         7.439225167e-02f,  6.554124504e-02f,  5.757741630e-02f,
         5.056883022e-02f,  4.447349161e-02f,  3.922495246e-02f,
         3.470565379e-02f,  3.082970157e-02f,  2.749120258e-02f,
         2.460840531e-02f,  2.211287618e-02f,  1.994147897e-02f,
         1.804337092e-02f,  1.637934148e-02f},
        {2.807972208e-02f,  8.115358651e-02f,  1.254966408e-01f,
         1.568624526e-01f,  1.730415076e-01f,  1.740129739e-01f,
         1.617151350e-01f,  1.394794583e-01f,  1.112885922e-01f,
         8.109288663e-02f,  5.219835415e-02f,  2.697951719e-02f,
         6.728184409e-03f,  -8.158291690e-03f, -1.802954823e-02f,
         -2.365516871e-02f, -2.601182088e-02f, -2.606809698e-02f,
         -2.466687933e-02f, -2.247557417e-02f, -1.996415667e-02f,
         -1.744290069e-02f, -1.508517098e-02f, -1.298082527e-02f,
         -1.114789955e-02f, -9.583863430e-03f, -8.258388378e-03f,
         -7.140378933e-03f, -6.199125201e-03f, -5.404480733e-03f,
         -4.731199704e-03f, -4.159188364e-03f},
        {1.111407578e-01f,  9.900726378e-02f,  7.673632354e-02f,
         4.789097980e-02f,  1.682095416e-02f,  -1.218844857e-02f,
         -3.572293743e-02f, -5.169860274e-02f, -5.954227224e-02f,
         -5.998993665e-02f, -5.469504371e-02f, -4.573161155e-02f,
         -3.512624651e-02f, -2.456775866e-02f, -1.520578656e-02f,
         -7.670328021e-03f, -2.124343999e-03f, 1.580619020e-03f,
         3.769933712e-03f,  4.823036958e-03f,  5.106015131e-03f,
         4.917174112e-03f,  4.478094168e-03f,  3.939362243e-03f,
         3.390206955e-03f,  2.881349996e-03f,  2.432627836e-03f,
         2.049169270e-03f,  1.727699419e-03f,  1.460428466e-03f,
         1.238943543e-03f,  1.055623405e-03f},
        {-9.990992956e-03f, -2.830383740e-02f, -4.199907929e-02f,
         -4.913023114e-02f, -4.912239686e-02f, -4.277613387e-02f,
         -3.194342181e-02f, -1.899986714e-02f, -6.273345090e-03f,
         4.410727881e-03f,  1.198547427e-02f,  1.616835035e-02f,
         1.731480286e-02f,  1.616800763e-02f,  1.361125708e-02f,
         1.045706123e-02f,  7.327184547e-03f,  4.611758050e-03f,
         2.488837810e-03f,  9.790305048e-04f,  5.199382940e-06f,
         -5.512948264e-04f, -8.137841360e-04f, -8.882018155e-04f,
         -8.549849736e-04f, -7.692939835e-04f, -6.653110031e-04f,
         -5.621011369e-04f, -4.688139888e-04f, -3.886633785e-04f,
         -3.217416815e-04f, -2.667332883e-04f},
    },
    0x1p-3f};

static const struct tfd_pieces tfd_tanh_pieces = {
    {0.000000000e+00f, 4.218753874e-01f, 7.031303048e-01f, 9.843936563e-01f,
     1.265638709e+00f, 1.546902537e+00f, 1.828132749e+00f, 2.109474659e+00f,
     2.390753984e+00f, 2.671922684e+00f, 2.953240871e+00f, 3.234438658e+00f,
     3.515648365e+00f, 3.796936512e+00f, 4.078144073e+00f, 4.359505177e+00f,
     4.640685558e+00f, 4.922007084e+00f, 5.203297615e+00f, 5.484430313e+00f,
     5.765812397e+00f, 6.046987534e+00f, 6.328262806e+00f, 6.609576225e+00f,
     6.890891552e+00f, 7.171926498e+00f, 7.453151703e+00f, 7.734460831e+00f,
     8.015840530e+00f, 8.297184944e+00f, 8.578509331e+00f, 8.859556198e+00f},
    {
        {1.000000000e+00f, 9.446134567e-01f, 8.623592854e-01f,
         7.669305801e-01f, 6.736608148e-01f, 5.903881788e-01f,
         5.194606781e-01f, 4.603034854e-01f, 4.113232493e-01f,
         3.707032800e-01f, 3.367728293e-01f, 3.082151115e-01f,
         2.839402258e-01f, 2.631051242e-01f, 2.450689077e-01f,
         2.293088585e-01f, 2.154452652e-01f, 2.031475902e-01f,
         1.921741962e-01f, 1.823280603e-01f, 1.734326929e-01f,
         1.653697491e-01f, 1.580202430e-01f, 1.512950808e-01f,
         1.451188028e-01f, 1.394323856e-01f, 1.341713369e-01f,
         1.292914450e-01f, 1.247529536e-01f, 1.205227897e-01f,
         1.165703610e-01f, 1.128724664e-01f},
        {-1.559341172e-07f, -2.451506108e-01f, -3.271381557e-01f,
         -3.422386944e-01f, -3.165253103e-01f, -2.743907273e-01f,
         -2.304442376e-01f, -1.911099702e-01f, -1.582534760e-01f,
         -1.316560209e-01f, -1.103685349e-01f, -9.337955713e-02f,
         -7.976091653e-02f, -6.876413524e-02f, -5.981197953e-02f,
         -5.244982243e-02f, -4.634504020e-02f, -4.123020545e-02f,
         -3.690991551e-02f, -3.323210031e-02f, -3.007267974e-02f,
         -2.734376118e-02f, -2.496854216e-02f, -2.288918570e-02f,
         -2.105890960e-02f, -1.944108494e-02f, -1.800177991e-02f,
         -1.671618596e-02f, -1.556324866e-02f, -1.452571433e-02f,
         -1.358863339e-02f, -1.274018548e-02f},
        {-3.333051205e-01f, -2.135038674e-01f, -8.004673570e-02f,
         1.785753109e-02f,  6.614551693e-02f,  7.941657305e-02f,
         7.505512238e-02f,  6.428438425e-02f,  5.262936279e-02f,
         4.225704074e-02f,  3.372545168e-02f,  2.696419880e-02f,
         2.168539912e-02f,  1.758103259e-02f,  1.438536309e-02f,
         1.188126672e-02f,  9.906424209e-03f,  8.333589882e-03f,
         7.070322987e-03f,  6.046786904e-03f,  5.208879244e-03f,
         4.518181086e-03f,  3.943545744e-03f,  3.461934859e-03f,
         3.055449575e-03f,  2.710391069e-03f,  2.415144118e-03f,
         2.161161508e-03f,  1.941507217e-03f,  1.750649884e-03f,
         1.584015437e-03f,  1.438006992e-03f},
        {-8.176581468e-04f, 1.580837369e-01f,  1.447095126e-01f,
         8.523315191e-02f,  3.265804797e-02f,  2.374066040e-03f,
         -1.052530576e-02f, -1.395793073e-02f, -1.327260025e-02f,
         -1.122649387e-02f, -9.015209973e-03f, -7.073672023e-03f,
         -5.502616521e-03f, -4.278107081e-03f, -3.340241732e-03f,
         -2.625521738e-03f, -2.081207233e-03f, -1.664391486e-03f,
         -1.343325595e-03f, -1.094160485e-03f, -8.988687187e-04f,
         -7.447124808e-04f, -6.218212075e-04f, -5.230431561e-04f,
         -4.430038389e-04f, -3.776975209e-04f, -3.239231301e-04f,
         -2.793538151e-04f, -2.421725367e-04f, -2.109732595e-04f,
         -1.846382656e-04f, -1.623053395e-04f},
        {1.416814774e-01f,  2.907591313e-02f,  -4.207372665e-02f,
         -5.439133570e-02f, -3.689733520e-02f, -1.801643707e-02f,
         -6.299718283e-03f, -6.849652855e-04f, 1.461369917e-03f,
         1.989280339e-03f,  1.874785288e-03f,  1.563301426e-03f,
         1.235222910e-03f,  9.519414161e-04f,  7.262299187e-04f,
         5.528357578e-04f,  4.220881383e-04f,  3.240452497e-04f,
         2.506135788e-04f,  1.954547188e-04f,  1.537299977e-04f,
         1.219975820e-04f,  9.764662536e-05f,  7.881078636e-05f,
         6.412064977e-05f,  5.257849261e-05f,  4.342018656e-05f,
         3.609985288e-05f,  3.020515760e-05f,  2.542620132e-05f,
         2.152506386e-05f,  1.832252929e-05f},
        {-3.527195752e-02f, -6.799646467e-02f, -2.837028727e-02f,
         6.479444448e-03f,  1.497314405e-02f,  1.102915313e-02f,
         5.826382898e-03f,  2.472833265e-03f,  7.889435510e-04f,
         6.991216651e-05f,  -1.841169724e-04f, -2.394648182e-04f,
         -2.206487407e-04f, -1.809042151e-04f, -1.407761592e-04f,
         -1.068627316e-04f, -8.024706767e-05f, -6.008134733e-05f,
         -4.506309415e-05f, -3.395815656e-05f, -2.575464532e-05f,
         -1.968107244e-05f, -1.516183693e-05f, -1.177807644e-05f,
         -9.226244401e-06f, -7.287177141e-06f, -5.801542557e-06f,
         -4.654272288e-06f, -3.761293783e-06f, -3.060911013e-06f,
         -2.507466206e-06f, -2.067044761e-06f},
    },
    0x1.2p-2f};

/* Beyond the last piece (and of NaN) g is taken of 0, and x makes the result
 * what it should be. */
TFD_VECTOR float tfd_piecewise(const struct tfd_pieces *p, float x)
{
    float a = fabsf(x), in = a < TFD_PIECES * p->width ? a : 0;
    int32_t n = (int32_t)(in * (1 / p->width));
    int32_t at = n < TFD_PIECES ? n : TFD_PIECES - 1; /* in * was rounded up */
    float t = in - p->origin[at], g = p->c[TFD_PIECES_DEGREE][at];

    for (int k = TFD_PIECES_DEGREE - 1; k >= 0; k--)
        g = g * t + p->c[k][at];
    g = x * g;
    g = g > 1 ? 1 : g;
    return g < -1 ? -1 : g;
}

/* y[i] of a[i], begin <= i < end. */
static inline void tfd_pieces_plain(const struct tfd_pieces *p,
                                    const struct tfd_row *r, int64_t begin,
                                    int64_t end)
{
    const float *a = r->a;
    float *y = r->y;

    for (int64_t i = begin; i < end; i++)
        y[i] = tfd_piecewise(p, a[i]);
}

#if defined(__x86_64__)

/* For AVX2 the numbers of a piece lie side by side: eight lookups are eight
 * loads and a transposition, for which a load fetches the halves of two rows.
 */
#define TFD_PIECES_ROW 8 /* origin, c[0] to c[5], and one that is not used */

struct tfd_pieces_rows {
    _Alignas(32) float row[TFD_PIECES][TFD_PIECES_ROW];
    float width;
};

static inline void tfd_pieces_by_rows(const struct tfd_pieces *p,
                                      struct tfd_pieces_rows *to)
{
    to->width = p->width;
    for (int i = 0; i < TFD_PIECES; i++) {
        to->row[i][0] = p->origin[i];
        for (int k = 0; k <= TFD_PIECES_DEGREE; k++)
            to->row[i][k + 1] = p->c[k][i];
        to->row[i][TFD_PIECES_ROW - 1] = 0;
    }
}

/* Half a row, from element `from`, of the piece whose numbers begin at `low`;
 * above it that of `high`. */
__attribute__((target("avx2"))) static inline __m256
tfd_pieces_halves(const struct tfd_pieces_rows *p, uint32_t low, uint32_t high,
                  int from)
{
    const float *all = (const float *)p->row;

    return _mm256_insertf128_ps(
        _mm256_castps128_ps256(_mm_loadu_ps(all + low + from)),
        _mm_loadu_ps(all + high + from), 1);
}

/* out[k] is element from + k of each lane's row. */
__attribute__((target("avx2"))) static inline void
tfd_pieces_four(const struct tfd_pieces_rows *p, const uint32_t *at, int from,
                __m256 *out)
{
    const __m256 a = tfd_pieces_halves(p, at[0], at[4], from);
    const __m256 b = tfd_pieces_halves(p, at[1], at[5], from);
    const __m256 c = tfd_pieces_halves(p, at[2], at[6], from);
    const __m256 d = tfd_pieces_halves(p, at[3], at[7], from);
    const __m256 ab = _mm256_unpacklo_ps(a, b),
                 upper_ab = _mm256_unpackhi_ps(a, b);
    const __m256 cd = _mm256_unpacklo_ps(c, d),
                 upper_cd = _mm256_unpackhi_ps(c, d);

    out[0] = _mm256_shuffle_ps(ab, cd, 0x44);
    out[1] = _mm256_shuffle_ps(ab, cd, 0xee);
    out[2] = _mm256_shuffle_ps(upper_ab, upper_cd, 0x44);
    out[3] = _mm256_shuffle_ps(upper_ab, upper_cd, 0xee);
}

/* |x|, or 0 beyond the last piece. */
__attribute__((target("avx2"))) static inline __m256
tfd_pieces_inside(const struct tfd_pieces_rows *p, __m256 x)
{
    __m256 a = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    __m256 top = _mm256_set1_ps(TFD_PIECES * p->width);

    return _mm256_and_ps(a, _mm256_cmp_ps(a, top, _CMP_LT_OQ));
}

/* Where the numbers of eight pieces begin.  They go by way of memory, which is
 * quicker than to take them out of a register. */
__attribute__((target("avx2"))) static inline void
tfd_pieces_place(const struct tfd_pieces_rows *p, __m256 x, uint32_t *at)
{
    __m256 in = tfd_pieces_inside(p, x);
    __m256i n = _mm256_min_epi32(
        _mm256_cvttps_epi32(_mm256_mul_ps(in, _mm256_set1_ps(1 / p->width))),
        _mm256_set1_epi32(TFD_PIECES - 1));

    _mm256_storeu_si256((__m256i *)(void *)at, _mm256_slli_epi32(n, 3));
}

__attribute__((target("avx2"))) static inline __m256
tfd_pieces_8(const struct tfd_pieces_rows *p, __m256 x, const uint32_t *at)
{
    const __m256 one = _mm256_set1_ps(1);
    __m256 c[TFD_PIECES_ROW], t, g;

    tfd_pieces_four(p, at, 0, c);
    tfd_pieces_four(p, at, 4, c + 4);
    t = _mm256_sub_ps(tfd_pieces_inside(p, x), c[0]);
    g = c[TFD_PIECES_DEGREE + 1];
    for (int k = TFD_PIECES_DEGREE; k >= 1; k--)
        g = _mm256_add_ps(_mm256_mul_ps(g, t), c[k]);
    g = _mm256_mul_ps(x, g);
    /* The second operand is the result where one is NaN. */
    g = _mm256_min_ps(one, g);
    return _mm256_max_ps(_mm256_set1_ps(-1), g);
}

#define TFD_PIECES_BLOCK 256 /* elements whose pieces are found ahead */

__attribute__((target("avx2"))) static inline void
tfd_pieces_block(const struct tfd_pieces_rows *p, const float *a, float *y,
                 int64_t n)
{
    uint32_t at[TFD_PIECES_BLOCK];

    for (int64_t i = 0; i < n; i += 8)
        tfd_pieces_place(p, _mm256_loadu_ps(a + i), at + i);
    for (int64_t i = 0; i < n; i += 8)
        _mm256_storeu_ps(y + i,
                         tfd_pieces_8(p, _mm256_loadu_ps(a + i), at + i));
}

__attribute__((target("avx2"))) static inline void
tfd_pieces_avx2(const struct tfd_pieces *p, const struct tfd_row *r,
                int64_t begin, int64_t end)
{
    const int64_t stop = begin + (end - begin) / 8 * 8;
    const float *a = r->a;
    float *y = r->y;
    struct tfd_pieces_rows rows;

    if (begin < stop)
        tfd_pieces_by_rows(p, &rows);
    for (int64_t i = begin; i < stop; i += TFD_PIECES_BLOCK)
        tfd_pieces_block(&rows, a + i, y + i,
                         stop - i < TFD_PIECES_BLOCK ? stop - i
                                                     : TFD_PIECES_BLOCK);
    tfd_pieces_plain(p, r, stop, end);
}

/* All that does not change, in registers. */
struct tfd_pieces_wide {
    __m512 low[TFD_PIECES_DEGREE + 2], high[TFD_PIECES_DEGREE + 2];
    __m512 top, inverse;
};

#define TFD_PIECES_ORIGIN (TFD_PIECES_DEGREE + 1) /* behind c[] */
#define TFD_PIECES_LOOK_UP(w, k, at) \
    _mm512_permutex2var_ps((w)->low[k], at, (w)->high[k])

__attribute__((target(TFD_SIMD_AVX512), always_inline)) static inline void
tfd_pieces_load(const struct tfd_pieces *p, struct tfd_pieces_wide *w)
{
    for (int k = 0; k <= TFD_PIECES_DEGREE; k++) {
        w->low[k] = _mm512_load_ps(p->c[k]);
        w->high[k] = _mm512_load_ps(p->c[k] + 16);
    }
    w->low[TFD_PIECES_ORIGIN] = _mm512_load_ps(p->origin);
    w->high[TFD_PIECES_ORIGIN] = _mm512_load_ps(p->origin + 16);
    w->top = _mm512_set1_ps(TFD_PIECES * p->width);
    w->inverse = _mm512_set1_ps(1 / p->width);
}

/* Of 16 elements their places in their pieces, and which those are.  The lookup
 * takes a number modulo TFD_PIECES, which it is below: that of the largest
 * number below the top is not rounded up to it. */
__attribute__((target(TFD_SIMD_AVX512), always_inline)) static inline void
tfd_pieces_place16(const struct tfd_pieces_wide *w, const float *x, float *t,
                   int32_t *at)
{
    __m512 a = _mm512_andnot_ps(_mm512_set1_ps(-0.0f), _mm512_loadu_ps(x));
    __m512 in =
        _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, w->top, _CMP_LT_OQ), a);
    __m512i n = _mm512_cvttps_epi32(_mm512_mul_ps(in, w->inverse));

    _mm512_store_ps(
        t, _mm512_sub_ps(in, TFD_PIECES_LOOK_UP(w, TFD_PIECES_ORIGIN, n)));
    _mm512_store_si512(at, n);
}

__attribute__((target(TFD_SIMD_AVX512), always_inline)) static inline void
tfd_pieces_16(const struct tfd_pieces_wide *w, const float *x, const float *t,
              const int32_t *at, float *y)
{
    const __m512 place = _mm512_load_ps(t), one = _mm512_set1_ps(1);
    const __m512i n = _mm512_load_si512(at);
    __m512 g = TFD_PIECES_LOOK_UP(w, TFD_PIECES_DEGREE, n);

    for (int k = TFD_PIECES_DEGREE - 1; k >= 0; k--)
        g = _mm512_add_ps(_mm512_mul_ps(g, place), TFD_PIECES_LOOK_UP(w, k, n));
    g = _mm512_mul_ps(_mm512_loadu_ps(x), g);
    g = _mm512_min_ps(one, g);
    _mm512_storeu_ps(y, _mm512_max_ps(_mm512_set1_ps(-1), g));
}

/* In two passes: a processor that holds few elements of one long pass at a
 * time waits for results more than it computes. */
__attribute__((target(TFD_SIMD_AVX512))) static inline void
tfd_pieces_avx512(const struct tfd_pieces *p, const struct tfd_row *r,
                  int64_t begin, int64_t end)
{
    const int64_t stop = begin + (end - begin) / 16 * 16;
    _Alignas(64) float t[TFD_PIECES_BLOCK];
    _Alignas(64) int32_t at[TFD_PIECES_BLOCK];
    const float *a = r->a;
    float *y = r->y;
    struct tfd_pieces_wide w;

    tfd_pieces_load(p, &w);
    for (int64_t from = begin, n; from < stop; from += n) {
        n = stop - from < TFD_PIECES_BLOCK ? stop - from : TFD_PIECES_BLOCK;
        for (int64_t i = 0; i < n; i += 16)
            tfd_pieces_place16(&w, a + from + i, t + i, at + i);
        for (int64_t i = 0; i < n; i += 16)
            tfd_pieces_16(&w, a + from + i, t + i, at + i, y + from + i);
    }
    tfd_pieces_plain(p, r, stop, end);
}

/* One function of floats, in all elements of a row. */
static inline void tfd_pieces_loop(const struct tfd_pieces *p,
                                   const struct tfd_row *r, int64_t begin,
                                   int64_t end)
{
    if (tfd_simd_has_avx512())
        tfd_pieces_avx512(p, r, begin, end);
    else if (__builtin_cpu_supports("avx2"))
        tfd_pieces_avx2(p, r, begin, end);
    else
        tfd_pieces_plain(p, r, begin, end);
}

#else

static inline void tfd_pieces_loop(const struct tfd_pieces *p,
                                   const struct tfd_row *r, int64_t begin,
                                   int64_t end)
{
    tfd_pieces_plain(p, r, begin, end);
}

#endif

#endif
