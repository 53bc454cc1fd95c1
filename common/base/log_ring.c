/*
 * log_ring.c - the last warnings and errors, kept for who asks: see log_line.h.
 *
 * Any thread may log, with any locks held, so nobody waits here: who finds
 * another one at work for longer than copying a line takes gives up, and a
 * warning that came in such a moment is not kept (it was written all the same).
 */
#include "common/base/log_line.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"

#include <string.h>

#define TRIES 10000

static struct tfd_log_kept ring[TFD_LOG_KEPT_MAX];
static uint64_t kept; /* ever */
static int busy;      /* atomic */

static bool enter(void)
{
    for (int i = 0; i < TRIES; i++)
        if (!TFD_EXCHANGE(&busy, 1))
            return true;
    return false;
}

static void leave(void)
{
    TFD_STORE_RELEASE(&busy, 0);
}

void tfd_log_ring_keep(int level, const struct tfd_log_line *line)
{
    size_t size = line->used;
    struct tfd_log_kept *k;

    if (size > sizeof(k->text) - 1)
        size = sizeof(k->text) - 1;
    if (!enter())
        return;
    k = &ring[kept++ % TFD_LOG_KEPT_MAX];
    k->wall_us = tfd_clock_wall_us();
    k->level = level;
    memcpy(k->text, line->bytes, size);
    k->text[size] = '\0';
    leave();
}

int tfd_log_ring_read(struct tfd_log_kept *out, uint64_t *ever)
{
    uint64_t count;

    *ever = 0;
    if (!enter())
        return 0;
    *ever = kept;
    count = kept < TFD_LOG_KEPT_MAX ? kept : TFD_LOG_KEPT_MAX;
    for (uint64_t i = 0; i < count; i++)
        out[i] = ring[(kept - 1 - i) % TFD_LOG_KEPT_MAX];
    leave();
    return (int)count;
}
