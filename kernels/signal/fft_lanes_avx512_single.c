/* fft_lanes_avx512_single.c - Fourier transforms with AVX-512, in single
 * precision; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NUMBER float
#define LANES 16
#define TRANSFORM_LANES transform_16
#define TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define SPREAD(x) ((lanes)_mm512_set1_ps(x))
#define FUSED(a, b, c) \
    ((lanes)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define FUSED_MINUS(a, b, c) \
    ((lanes)_mm512_fmsub_ps((__m512)(a), (__m512)(b), (__m512)(c)))

#include "kernels/signal/fft_rows.h"

const struct tfd_fft_copy tfd_fft_lanes_avx512_single = {LANES, run_lanes,
                                                         run_rows, NULL};

#endif
