/*
 * seen_ids.c - a ring of the last ids; for finding one a hash set with linear
 * probing.
 */
#include "daemon/master/seen_ids.h"

#include <stdlib.h>

#define REQUESTS_REMEMBERED 10000 /* as TensorFlow's master */
#define REQUEST_SET_SIZE 32768    /* a power of two over three times the ring */

struct tfd_seen_ids {
    int64_t recent[REQUESTS_REMEMBERED];
    int64_t set[REQUEST_SET_SIZE]; /* 0: free */
    int recent_at;
};

struct tfd_seen_ids *tfd_seen_ids_new(void)
{
    return calloc(1, sizeof(struct tfd_seen_ids));
}

void tfd_seen_ids_free(struct tfd_seen_ids *s)
{
    free(s);
}

static size_t slot_of(int64_t id)
{
    return (size_t)(((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 49) &
           (REQUEST_SET_SIZE - 1);
}

static size_t find_slot(const int64_t *set, int64_t id)
{
    size_t i = slot_of(id);

    while (set[i] != 0 && set[i] != id)
        i = (i + 1) & (REQUEST_SET_SIZE - 1);
    return i;
}

/* Removes an id and closes the gap it leaves in its probe sequence. */
static void forget(int64_t *set, int64_t id)
{
    size_t gap = find_slot(set, id), i = gap;

    if (set[gap] == 0)
        return;
    for (;;) {
        size_t home;

        i = (i + 1) & (REQUEST_SET_SIZE - 1);
        if (set[i] == 0)
            break;
        home = slot_of(set[i]);
        if (((i - home) & (REQUEST_SET_SIZE - 1)) <
            ((i - gap) & (REQUEST_SET_SIZE - 1)))
            continue;
        set[gap] = set[i];
        gap = i;
    }
    set[gap] = 0;
}

enum tfd_code tfd_seen_ids_add(struct tfd_seen_ids *s, int64_t id,
                               const char *method, struct tfd_str session,
                               struct tfd_status *st)
{
    size_t slot;

    if (id == 0)
        return TFD_OK;
    slot = find_slot(s->set, id);
    if (s->set[slot] == id)
        return tfd_fail(st, TFD_ABORTED,
                        "The same %s (Master) request was received twice. "
                        "session_handle: \"" TFD_STR_FMT "\" request_id: %lld",
                        method, TFD_STR_ARG(session), (long long)id);
    if (s->recent[s->recent_at] != 0) {
        forget(s->set, s->recent[s->recent_at]);
        slot = find_slot(s->set, id);
    }
    s->recent[s->recent_at] = id;
    s->recent_at = (s->recent_at + 1) % REQUESTS_REMEMBERED;
    s->set[slot] = id;
    return TFD_OK;
}
