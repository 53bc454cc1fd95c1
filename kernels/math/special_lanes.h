/*
 * special_lanes.h - loops over the special functions of floats whose arguments
 * are tensors: igamma, igammac, betainc, zeta, polygamma.
 *
 * Usual arguments are computed eight at a time, in double, to some 1e-9, as
 * those of special_functions.h, which take the others.  A result depends on its
 * arguments only, not on what stands beside them.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SPECIAL_LANES_H
#define TFD_KERNELS_SPECIAL_LANES_H

#include <stdint.h>

struct tfd_special_lanes {
    const float *in[3]; /* as many as the function has arguments */
    int step[3];        /* 0: the same number again and again */
    float *y;
};

void tfd_special_igamma_lanes(const struct tfd_special_lanes *s, int64_t begin,
                              int64_t end);
void tfd_special_igammac_lanes(const struct tfd_special_lanes *s, int64_t begin,
                               int64_t end);
void tfd_special_betainc_lanes(const struct tfd_special_lanes *s, int64_t begin,
                               int64_t end);
void tfd_special_zeta_lanes(const struct tfd_special_lanes *s, int64_t begin,
                            int64_t end);
void tfd_special_polygamma_lanes(const struct tfd_special_lanes *s,
                                 int64_t begin, int64_t end);

#endif
