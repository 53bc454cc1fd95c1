/*
 * native_guard.c - one window for all counters; it begins anew when it is over.
 * The clock is read for frames that are counted and no others.
 */
#include "rpc/native/native_guard.h"

#include "config/limits.h"

#define WINDOW_US (UINT64_C(1000) * TFD_STREAM_RESETS_WINDOW_MS)

/* When the window is over another begins.  A step of many calls may end, and
 * cancel them, long after they were made. */
static void begin_window(struct tfd_native_guard *g, uint32_t open,
                         struct tfd_loop *l)
{
    uint64_t now = tfd_loop_now_us(l);

    if (now - g->window_us >= WINDOW_US)
        *g = (struct tfd_native_guard){.window_us = now, .calls = open};
}

static enum tfd_code count_bytes(uint32_t *counter, uint32_t most,
                                 const char *what, struct tfd_status *st)
{
    if (++*counter <= most)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "more than %u %s within %d s: enhance your calm", most,
                    what, TFD_STREAM_RESETS_WINDOW_MS / 1000);
}

enum tfd_code tfd_native_guard_frame(struct tfd_native_guard *g,
                                     const struct tfd_frame_header *h,
                                     bool ends, uint32_t open,
                                     struct tfd_loop *l, struct tfd_status *st)
{
    bool part = h->kind == TFD_FRAME_REQUEST || h->kind == TFD_FRAME_RESPONSE;

    if (!part || (!ends && h->length < TFD_SMALL_PART_SIZE))
        begin_window(g, open, l);
    if (h->kind == TFD_FRAME_CANCEL)
        return count_bytes(&g->cancels, TFD_CANCELS_MAX + g->calls, "CANCELs",
                           st);
    if (!part)
        return count_bytes(&g->pings, TFD_PINGS_MAX, "PINGs", st);
    g->calls += !(h->flags & TFD_FRAME_MORE);
    if (ends || h->length >= TFD_SMALL_PART_SIZE)
        return TFD_OK;
    return count_bytes(&g->parts, TFD_SMALL_PARTS_MAX,
                       "small parts of payloads", st);
}
