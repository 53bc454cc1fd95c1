/* fft_lanes_avx2_single.c - Fourier transforms with AVX2, in single
 * precision; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NUMBER float
#define LANES 8
#define TRANSFORM_LANES transform_8
#define TARGET __attribute__((target(TFD_SIMD_FMA)))
#define SPREAD(x) ((lanes)_mm256_set1_ps(x))
#define FUSED(a, b, c) \
    ((lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define FUSED_MINUS(a, b, c) \
    ((lanes)_mm256_fmsub_ps((__m256)(a), (__m256)(b), (__m256)(c)))

#include "kernels/signal/fft_rows.h"

const struct tfd_fft_copy tfd_fft_lanes_avx2_single = {LANES, run_lanes,
                                                       run_rows, NULL};

#endif
