/* fft_line.c - Fourier transforms number by number, and which copy does them on
 * vectors; see fft_lanes.h. */
#include "kernels/vector/simd.h"

#define LANES 1
#define TARGET

#include "kernels/signal/fft_passes.h"

void tfd_fft_line_run(const struct tfd_fft_plan *p, struct tfd_complex *x,
                      struct tfd_complex *work)
{
    struct cell *from = (struct cell *)x;
    struct cell *at = run_cells(p, from, (struct cell *)work);

    if (at != from)
        memcpy(x, at, (size_t)p->length * sizeof(*x));
}

const struct tfd_fft_copy *tfd_fft_lanes_copy(void)
{
#if defined(__x86_64__)
    if (tfd_simd_has_avx512())
        return &tfd_fft_lanes_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &tfd_fft_lanes_avx2;
#endif
    return &tfd_fft_lanes_usual;
}

/* Cells go to and fro, and a convolution's, too; a row has its parts, too. */
static size_t arrays_of(const struct tfd_fft_plan *p, size_t count)
{
    size_t n = (size_t)p->length + 16;
    size_t m = p->inner ? (size_t)p->inner->length + 16 : 0;

    return 2 * count * (n + m);
}

size_t tfd_fft_lanes_memory(const struct tfd_fft_plan *p)
{
    return (size_t)tfd_fft_lanes_copy()->lanes * arrays_of(p, 2);
}

/* Where cells may begin. */
size_t tfd_fft_row_memory(const struct tfd_fft_plan *p)
{
    const size_t cell = 2 * TFD_FFT_LANES_MAX;

    return (arrays_of(p, 4) + cell - 1) / cell * cell;
}
