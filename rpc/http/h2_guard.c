/*
 * h2_guard.c - one window for all counters; it begins anew when it is over.
 */
#include "rpc/http/h2_guard.h"

#include "config/limits.h"

/* Every stream that is open at once may be reset once a second. */
#define RESETS_PER_STREAM (TFD_STREAM_RESETS_WINDOW_MS / 1000)

#define WINDOW_US (UINT64_C(1000) * TFD_STREAM_RESETS_WINDOW_MS)

static const uint32_t limits[TFD_H2_GUARD_COUNT] = {
#define X(name, max) max,
    TFD_H2_GUARDED(X)
#undef X
};

/* What this peer has earned beyond the row of limits.h. */
static uint64_t earned(const struct tfd_h2_guard *g, enum tfd_h2_guarded what)
{
    uint64_t by_calls = (uint64_t)TFD_SMALL_FRAMES_PER_STREAM * g->opened;

    switch (what) {
    case TFD_H2_GUARD_RESET:
        return (uint64_t)RESETS_PER_STREAM * g->streams_peak;
    case TFD_H2_GUARD_WINDOW:
        return by_calls + g->sent / TFD_WINDOW_UPDATE_SIZE;
    case TFD_H2_GUARD_SMALL_DATA:
        return by_calls;
    default:
        return 0;
    }
}

bool tfd_h2_guard_count(struct tfd_h2_guard *g, enum tfd_h2_guarded what,
                        uint32_t open, uint64_t now_us)
{
    if (now_us - g->window_us >= WINDOW_US)
        *g = (struct tfd_h2_guard){
            .window_us = now_us, .streams_peak = open, .opened = open};
    return ++g->count[what] <= limits[what] + earned(g, what);
}

void tfd_h2_guard_sent(struct tfd_h2_guard *g, uint64_t size)
{
    g->sent += size;
}

void tfd_h2_guard_opened(struct tfd_h2_guard *g, uint32_t open)
{
    g->opened++;
    if (open > g->streams_peak)
        g->streams_peak = open;
}
