/*
 * allow.h - which users of this host may connect: --allow_uid.
 *
 * The user this process runs as and root always may.  The option adds users by
 * number or name, or all of them ("any").  It is about this host alone: who
 * connects from another one is nobody's user here, and --bind decides about
 * that.
 *
 * Threads: any; parsing blocks on name service, so not on the loop thread.
 */
#ifndef TFD_CONFIG_ALLOW_H
#define TFD_CONFIG_ALLOW_H

#include "common/base/status.h"
#include "config/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFD_UID_UNKNOWN UINT32_MAX /* (uid_t)-1, which no user has */

/* All zero: the own user and root. */
struct tfd_allow {
    bool any; /* also those whose user cannot be found out */
    uint32_t uids[TFD_ALLOW_UIDS_MAX];
    size_t count;
};

/* "1000,alice", "any".  INVALID_ARGUMENT names the item that is no user. */
enum tfd_code tfd_allow_parse(const char *text, struct tfd_allow *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* Whether a process of this user may connect; TFD_UID_UNKNOWN may if all do. */
bool tfd_allow_has(const struct tfd_allow *a, uint32_t uid);
/* Whether anybody beside the own user and root may. */
bool tfd_allow_opened(const struct tfd_allow *a);

#endif
