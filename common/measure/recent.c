/*
 * recent.c - see recent.h.
 */
#include "common/measure/recent.h"

#include <string.h>

/* By insertion: there are few. */
static void sort(uint32_t *a, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t value = a[i], at = i;

        while (at > 0 && a[at - 1] > value) {
            a[at] = a[at - 1];
            at--;
        }
        a[at] = value;
    }
}

static uint32_t median_of(const struct tfd_recent *r)
{
    uint32_t count = r->count < TFD_RECENT_COUNT ? r->count : TFD_RECENT_COUNT;
    uint32_t sorted[TFD_RECENT_COUNT];

    memcpy(sorted, r->us, count * sizeof(*sorted));
    sort(sorted, count);
    return sorted[count / 2];
}

void tfd_recent_add(struct tfd_recent *r, uint64_t us)
{
    r->us[r->count % TFD_RECENT_COUNT] =
        us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
    r->count++;
    if (r->count == 0)
        r->count = TFD_RECENT_COUNT; /* it has wrapped; all are there */
    if (r->count % TFD_RECENT_MIN == 0)
        r->median_us = median_of(r);
}

uint32_t tfd_recent_median_us(const struct tfd_recent *r)
{
    return r->count < TFD_RECENT_MIN ? 0 : r->median_us;
}
