/* fft_lanes_avx512.c - Fourier transforms with AVX-512; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NUMBER double
#define LANES 8
#define TRANSFORM_LANES transform_8
#define TARGET __attribute__((target(TFD_SIMD_AVX512)))
#define SPREAD(x) ((lanes)_mm512_set1_pd(x))
#define FUSED(a, b, c) \
    ((lanes)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FUSED_MINUS(a, b, c) \
    ((lanes)_mm512_fmsub_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))

#include "kernels/signal/fft_floats.h"

const struct tfd_fft_copy tfd_fft_lanes_avx512 = {LANES, run_lanes, run_rows,
                                                  run_floats};

#endif
