/*
 * histogram.c - see histogram.h.  A bucket is found by five comparisons.
 */
#include "common/measure/histogram.h"

#include <assert.h>

static const uint64_t bounds_us[TFD_HISTOGRAM_BOUNDS] = {
    10,      20,      50,       100,      200,      500,       1000,   2000,
    5000,    10000,   20000,    50000,    100000,   200000,    500000, 1000000,
    2000000, 5000000, 10000000, 20000000, 50000000, 100000000,
};

void tfd_histogram_add(struct tfd_histogram *h, uint64_t us)
{
    int low = 0, high = TFD_HISTOGRAM_BOUNDS;

    while (low < high) {
        int middle = (low + high) / 2;

        if (us <= bounds_us[middle])
            high = middle;
        else
            low = middle + 1;
    }
    h->counts[low]++;
    h->sum_us += us;
}

uint64_t tfd_histogram_bound_us(int i)
{
    assert(i >= 0 && i < TFD_HISTOGRAM_BOUNDS);
    return bounds_us[i];
}

uint64_t tfd_histogram_count(const struct tfd_histogram *h)
{
    uint64_t count = 0;

    for (int i = 0; i <= TFD_HISTOGRAM_BOUNDS; i++)
        count += h->counts[i];
    return count;
}
