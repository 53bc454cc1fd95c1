/* fft_lanes_avx512.c - Fourier transforms with AVX-512; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#define LANES 8
#define TRANSFORM_LANES transform_8
#define TARGET __attribute__((target(TFD_SIMD_AVX512)))

#include "kernels/signal/fft_rows.h"

const struct tfd_fft_copy tfd_fft_lanes_avx512 = {LANES, run_lanes, run_rows};

#endif
