/* fft_lanes_usual_single.c - Fourier transforms on any processor, in single
 * precision; see fft_lanes.h. */

#define NUMBER float
#define LANES 4
#define TRANSFORM_LANES transform_4
#define TARGET
/* Of any vector. */
#define SPREAD(x) ((lanes){0} + (x))
#define FUSED(a, b, c) ((a) * (b) + (c))
#define FUSED_MINUS(a, b, c) ((a) * (b) - (c))

#include "kernels/signal/fft_rows.h"

const struct tfd_fft_copy tfd_fft_lanes_usual_single = {LANES, run_lanes,
                                                        run_rows, NULL};
