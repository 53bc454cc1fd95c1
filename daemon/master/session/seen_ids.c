/*
 * seen_ids.c - see seen_ids.h.
 */
#include "daemon/master/session/seen_ids.h"

#include "rpc/core/request_ids.h"

#include <stdlib.h>

#define REQUESTS_REMEMBERED 10000 /* as TensorFlow's master */

struct tfd_seen_ids {
    struct tfd_request_ids ids;
};

struct tfd_seen_ids *tfd_seen_ids_new(void)
{
    struct tfd_seen_ids *s = malloc(sizeof(*s));

    if (s)
        tfd_request_ids_init(&s->ids, REQUESTS_REMEMBERED);
    return s;
}

void tfd_seen_ids_free(struct tfd_seen_ids *s)
{
    if (s)
        tfd_request_ids_deinit(&s->ids);
    free(s);
}

enum tfd_code tfd_seen_ids_add(struct tfd_seen_ids *s, int64_t id,
                               const char *method, struct tfd_str session,
                               struct tfd_status *st)
{
    if (tfd_request_ids_insert(&s->ids, (uint64_t)id))
        return TFD_OK;
    return tfd_fail(st, TFD_ABORTED,
                    "The same %s (Master) request was received twice. "
                    "session_handle: \"" TFD_STR_FMT "\" request_id: %lld",
                    method, TFD_STR_ARG(session), (long long)id);
}
