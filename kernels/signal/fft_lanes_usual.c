/* fft_lanes_usual.c - Fourier transforms on any processor; see fft_lanes.h. */

#define NUMBER double
#define LANES 2
#define TRANSFORM_LANES transform_2
#define TARGET
/* Of any vector. */
#define SPREAD(x) ((lanes){0} + (x))
#define FUSED(a, b, c) ((a) * (b) + (c))
#define FUSED_MINUS(a, b, c) ((a) * (b) - (c))

#include "kernels/signal/fft_floats.h"

const struct tfd_fft_copy tfd_fft_lanes_usual = {LANES, run_lanes, run_rows,
                                                 run_floats};
