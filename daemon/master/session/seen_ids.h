/*
 * seen_ids.h - the request ids that clients have used, so that a call whose
 * answer was lost and that is sent again is not carried out twice.
 *
 * All methods share one window, as in TensorFlow: a retried call fails with
 * ABORTED "The same METHOD (Master) request was received twice."
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_MASTER_SEEN_IDS_H
#define TFD_DAEMON_MASTER_SEEN_IDS_H

#include "common/base/str.h"

struct tfd_seen_ids;

struct tfd_seen_ids *tfd_seen_ids_new(void);    /* NULL without memory */
void tfd_seen_ids_free(struct tfd_seen_ids *s); /* NULL is allowed */
/* 0 is not counted.  The session is named in the failure. */
enum tfd_code tfd_seen_ids_add(struct tfd_seen_ids *s, int64_t id,
                               const char *method, struct tfd_str session,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
