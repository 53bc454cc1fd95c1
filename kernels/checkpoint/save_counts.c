/*
 * save_counts.c - see save_counts.h.
 */
#include "kernels/checkpoint/save_counts.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"

static struct tfd_save_counts counts; /* atomic */

void tfd_save_counts_add(uint64_t took_us, uint64_t bytes, bool failed)
{
    TFD_COUNTER_ADD(&counts.saves, 1);
    if (failed) {
        TFD_COUNTER_ADD(&counts.failures, 1);
        return;
    }
    TFD_COUNTER_ADD(&counts.bytes, bytes);
    TFD_STORE_RELAXED(&counts.took_us, took_us > 0 ? took_us : 1);
    TFD_STORE_RELAXED(&counts.wall_us, (uint64_t)tfd_clock_wall_us());
}

void tfd_save_counts(struct tfd_save_counts *out)
{
    out->saves = TFD_LOAD_RELAXED(&counts.saves);
    out->failures = TFD_LOAD_RELAXED(&counts.failures);
    out->bytes = TFD_LOAD_RELAXED(&counts.bytes);
    out->took_us = TFD_LOAD_RELAXED(&counts.took_us);
    out->wall_us = TFD_LOAD_RELAXED(&counts.wall_us);
}
