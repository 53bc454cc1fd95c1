/* fft_lanes_avx2.c - Fourier transforms with AVX2; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NUMBER double
#define LANES 4
#define TRANSFORM_LANES transform_4
#define TARGET __attribute__((target(TFD_SIMD_FMA)))
#define SPREAD(x) ((lanes)_mm256_set1_pd(x))
#define FUSED(a, b, c) \
    ((lanes)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FUSED_MINUS(a, b, c) \
    ((lanes)_mm256_fmsub_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))

#include "kernels/signal/fft_floats.h"

const struct tfd_fft_copy tfd_fft_lanes_avx2 = {LANES, run_lanes, run_rows,
                                                run_floats};

#endif
