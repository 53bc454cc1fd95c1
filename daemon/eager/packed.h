/*
 * packed.h - a packed handle: several values under one name, one for each of
 * several devices.  A node of a function that takes the handle gets the value
 * of its own device.
 *
 * Ownership: counted.  A packed handle holds the values that lie here; of the
 * others it has what their tasks must be told to find them. Threads: loop
 * thread.
 */
#ifndef TFD_DAEMON_EAGER_PACKED_H
#define TFD_DAEMON_EAGER_PACKED_H

#include "common/base/tensor.h"
#include "daemon/worker_api.h"
#include "rpc/core/message.h"

struct tfd_eager_context;

struct tfd_eager_packed_value {
    struct tfd_tensor value;          /* empty: of another task, which has it */
    struct tfd_bytes proto;           /* an Operation.Input */
    char device[TFD_DEVICE_NAME_MAX]; /* where it lies; "": here */
    int dtype;
};

struct tfd_eager_packed {
    int refs, count;
    char device[TFD_DEVICE_NAME_MAX]; /* a name that is no device's */
    struct tfd_eager_packed_value values[];
};

/* A SendPackedHandleOp; *op is its number.  INVALID_ARGUMENT for what has no
 * value, and for a value or a device that is not there. */
enum tfd_code tfd_eager_packed_decode(const struct tfd_eager_context *c,
                                      const struct tfd_incoming *in,
                                      struct tfd_str proto, int64_t *op,
                                      struct tfd_eager_packed **out,
                                      struct tfd_status *st) TFD_MUST_USE;
struct tfd_eager_packed *tfd_eager_packed_ref(struct tfd_eager_packed *p);
void tfd_eager_packed_unref(struct tfd_eager_packed *p); /* NULL is allowed */

#endif
