/* fft_lanes_usual.c - Fourier transforms on any processor; see fft_lanes.h. */

#define LANES 2
#define TRANSFORM_LANES transform_2
#define TARGET

#include "kernels/signal/fft_rows.h"

const struct tfd_fft_copy tfd_fft_lanes_usual = {LANES, run_lanes, run_rows};
