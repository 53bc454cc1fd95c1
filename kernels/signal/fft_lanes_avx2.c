/* fft_lanes_avx2.c - Fourier transforms with AVX2; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#define LANES 4
#define TRANSFORM_LANES transform_4
#define TARGET __attribute__((target("avx2")))

#include "kernels/signal/fft_rows.h"

const struct tfd_fft_copy tfd_fft_lanes_avx2 = {LANES, run_lanes, run_rows};

#endif
