/*
 * uniform.c - what products and convolutions of numbers with scales and zero
 * points share (uniform.h).
 */
#include "kernels/quantized/uniform.h"

enum tfd_code tfd_uniform_check_positive(const struct tfd_kctx *k, int at,
                                         const char *name,
                                         struct tfd_status *st)
{
    if (tfd_uniform_positive(&k->in[at]))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s scales elements must be all positive.", name);
}

enum tfd_code tfd_uniform_ratios(const struct tfd_kctx *k,
                                 struct tfd_uniform_ratio *out,
                                 struct tfd_status *st)
{
    const float *a = tfd_tensor_data(&k->in[2]);
    const float *b = tfd_tensor_data(&k->in[4]);
    const float *y = tfd_tensor_data(&k->in[6]);
    const int64_t step = k->in[6].shape.rank ? 1 : 0;

    for (int64_t c = 0; c < tfd_tensor_elements(&k->in[4]); c++)
        TFD_TRY(tfd_uniform_ratio(
            (double)*a * (double)b[c] / (double)y[c * step], &out[c], st));
    return TFD_OK;
}

void tfd_uniform_widen(const float *x, int64_t n, double *low, double *high)
{
    double least = *low, most = *high;

    for (int64_t i = 0; i < n; i++) {
        least = (double)x[i] < least ? (double)x[i] : least;
        most = (double)x[i] > most ? (double)x[i] : most;
    }
    *low = least;
    *high = most;
}

struct tfd_uniform_row tfd_uniform_row(double low, double high)
{
    struct tfd_uniform_row r = {1, 0, 0};
    double from_low, from_high, zero;

    r.scale = (float)((high - low) / 255.0);
    if (high != low)
        r.inverse = (float)(255.0 / (high - low));
    if (!(r.scale > 0) || !isfinite(r.inverse))
        return (struct tfd_uniform_row){1, 0, 0};
    from_low = low / (double)r.scale;
    from_high = high / (double)r.scale;
    zero = 128.0 + fabs(from_low) < 127.0 + fabs(from_high) ? -128.0 - from_low
                                                            : 127.0 - from_high;
    r.zero = zero <= -128 ? -128 : zero >= 127 ? 127 : (int32_t)round(zero);
    return r;
}
