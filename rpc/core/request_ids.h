/*
 * request_ids.h - which requests have been seen, so that one whose answer was
 * lost and that is sent again is not carried out twice.
 *
 * The last `max` numbers are remembered.  Threads: one at a time.
 */
#ifndef TFD_RPC_REQUEST_IDS_H
#define TFD_RPC_REQUEST_IDS_H

#include "common/base/id_map.h"
#include "common/base/status.h"

struct tfd_request_ids {
    struct tfd_id_map seen;
    uint64_t *ring;
    size_t max, at;
};

void tfd_request_ids_init(struct tfd_request_ids *r, size_t max);
void tfd_request_ids_deinit(struct tfd_request_ids *r);
/* False for a known number.  0 is not counted; without memory nothing is
 * refused. */
bool tfd_request_ids_insert(struct tfd_request_ids *r, uint64_t id);
/* ABORTED "The same METHOD request was received twice." for a known
 * number. */
enum tfd_code tfd_request_ids_add(struct tfd_request_ids *r, uint64_t id,
                                  const char *method,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
