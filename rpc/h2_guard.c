/*
 * h2_guard.c - one window for all counters; it begins anew when it is over.
 */
#include "rpc/h2_guard.h"

#include "config/limits.h"

/* Every stream that is open at once may be reset once a second. */
#define RESETS_PER_STREAM (TFD_STREAM_RESETS_WINDOW_MS / 1000)

#define WINDOW_US (UINT64_C(1000) * TFD_STREAM_RESETS_WINDOW_MS)

static const uint32_t limits[TFD_H2_GUARD_COUNT] = {
#define X(name, max) max,
    TFD_H2_GUARDED(X)
#undef X
};

bool tfd_h2_guard_count(struct tfd_h2_guard *g, enum tfd_h2_guarded what,
                        uint32_t open, uint64_t now_us)
{
    uint32_t limit = limits[what];

    if (now_us - g->window_us >= WINDOW_US)
        *g = (struct tfd_h2_guard){.window_us = now_us, .streams_peak = open};
    if (what == TFD_H2_GUARD_RESET)
        limit += RESETS_PER_STREAM * g->streams_peak;
    return ++g->count[what] <= limit;
}

void tfd_h2_guard_opened(struct tfd_h2_guard *g, uint32_t open)
{
    if (open > g->streams_peak)
        g->streams_peak = open;
}
