/* fft_line.c - Fourier transforms number by number; see fft_lanes.h. */
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

/* Where cells may begin. */
size_t tfd_fft_row_memory(const struct tfd_fft_plan *p)
{
    const size_t cell = 2 * TFD_FFT_LANES_MAX;

    return (tfd_fft_lanes_arrays(p, 4) + cell - 1) / cell * cell;
}
