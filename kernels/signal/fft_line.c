/* fft_line.c - Fourier transforms number by number; see fft_lanes.h. */
#define NUMBER double
#define LANES 1
#define TARGET
#define SPREAD(x) (x)
#define FUSED(a, b, c) ((a) * (b) + (c))
#define FUSED_MINUS(a, b, c) ((a) * (b) - (c))

#include "kernels/signal/fft_convolve.h"

void tfd_fft_line_run(const struct tfd_fft_plan *p, void *x, void *work)
{
    struct cell *from = x;
    struct cell *at = run_cells(p, from, work);

    if (at != from)
        memcpy(x, at, (size_t)p->length * sizeof(*at));
}
