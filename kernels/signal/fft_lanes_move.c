/* fft_lanes_move.c - numbers between a line and lanes; see fft_lanes.h.  Not in
 * fft_lanes.c, which needs all the copies that need this. */
#include "kernels/signal/fft_lanes.h"

#include <string.h>

void tfd_fft_lanes_move(const void *x, int64_t step, int64_t count, void *y,
                        int64_t y_step)
{
    const size_t size = sizeof(double);
    const char *from = x;
    char *to = y;

    for (int64_t j = 0; j < count; j++) {
        memcpy(to, from, size);
        from += step * (int64_t)size;
        to += y_step * (int64_t)size;
    }
}
