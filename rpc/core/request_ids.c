/*
 * request_ids.c - see request_ids.h.  A ring says which number is forgotten for
 * the next one.
 */
#include "rpc/core/request_ids.h"

#include <inttypes.h>
#include <stdlib.h>

void tfd_request_ids_init(struct tfd_request_ids *r, size_t max)
{
    *r = (struct tfd_request_ids){.max = max};
}

void tfd_request_ids_deinit(struct tfd_request_ids *r)
{
    tfd_id_map_deinit(&r->seen);
    free(r->ring);
}

bool tfd_request_ids_insert(struct tfd_request_ids *r, uint64_t id)
{
    static char present; /* any address */

    if (id == 0)
        return true;
    if (tfd_id_map_get(&r->seen, id))
        return false;
    if (!r->ring)
        r->ring = calloc(r->max, sizeof(*r->ring));
    if (!r->ring)
        return true;
    if (r->ring[r->at])
        tfd_id_map_remove(&r->seen, r->ring[r->at]);
    r->ring[r->at] = tfd_id_map_put(&r->seen, id, &present) ? id : 0;
    r->at = (r->at + 1) % r->max;
    return true;
}

enum tfd_code tfd_request_ids_add(struct tfd_request_ids *r, uint64_t id,
                                  const char *method, struct tfd_status *st)
{
    if (tfd_request_ids_insert(r, id))
        return TFD_OK;
    return tfd_fail(st, TFD_ABORTED,
                    "The same %s request was received twice. request_id: "
                    "%" PRId64,
                    method, (int64_t)id);
}
