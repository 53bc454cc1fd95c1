/*
 * devices.h - the devices of a session: those of the master's own task first,
 * then those of every task in scope.
 *
 * Candidates for an unplaced node are tried in a fixed order, computed here
 * once: by type (GPU before CPU), the master's own task first, then by name.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_REWRITE_DEVICES_H
#define TFD_DAEMON_REWRITE_DEVICES_H

#include "config/device_name.h"
#include "daemon/worker_api.h"
#include "kernels/core/kernel.h"

struct tfd_device {
    struct tfd_device_attributes attributes;
    struct tfd_device_name name;
    enum tfd_device_kind kind;
    int worker; /* index of its task among the session's workers */
};

struct tfd_device_set {
    struct tfd_device *devices; /* the client device is devices[0] */
    int count;
    int *order; /* indices, best candidate first */
};

void tfd_device_set_init(struct tfd_device_set *s);
void tfd_device_set_deinit(struct tfd_device_set *s);
/* Appends one; the first one added is the client device.  Types that no kernel
 * here knows are left out silently (*added says so; may be NULL). */
enum tfd_code tfd_device_set_add(struct tfd_device_set *s,
                                 const struct tfd_device_attributes *a,
                                 int worker, bool *added,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Computes the order; call once after the last add. */
enum tfd_code tfd_device_set_finish(struct tfd_device_set *s,
                                    struct tfd_status *st) TFD_MUST_USE;
/* "[ /job:a/..., /job:b/... ]", sorted by name, for messages. */
void tfd_device_set_text(const struct tfd_device_set *s, struct tfd_bytes *out);

#endif
