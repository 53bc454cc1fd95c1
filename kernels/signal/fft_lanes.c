/* fft_lanes.c - which copy transforms on vectors, and its memory; see
 * fft_lanes.h. */
#include "kernels/signal/fft_lanes.h"

#include "kernels/vector/simd.h"

const struct tfd_fft_copy *tfd_fft_lanes_copy(bool single)
{
#if defined(__x86_64__)
    if (tfd_simd_has_avx512())
        return single ? &tfd_fft_lanes_avx512_single : &tfd_fft_lanes_avx512;
    if (tfd_simd_has_fma())
        return single ? &tfd_fft_lanes_avx2_single : &tfd_fft_lanes_avx2;
#endif
    return single ? &tfd_fft_lanes_usual_single : &tfd_fft_lanes_usual;
}

size_t tfd_fft_lanes_memory(const struct tfd_fft_plan *p)
{
    return (size_t)tfd_fft_lanes_copy(p->single)->lanes *
           tfd_fft_lanes_arrays(p, 2);
}
