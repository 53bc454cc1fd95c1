/*
 * failures.h - the last operations of a context that failed, and why.
 *
 * When an operation in a stream fails, the stream ends with its status.  A
 * coordinator has by then often asked for the operation's value, and may do so
 * in a new stream before its program was told of the failure.  The program sees
 * whichever answer comes first, so both give the same reason.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_FAILURES_H
#define TFD_DAEMON_EAGER_FAILURES_H

#include "common/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct tfd_eager_failure;

struct tfd_eager_failures { /* all zero: none */
    struct tfd_eager_failure *ring;
    uint64_t count; /* ever; the last TFD_EAGER_FAILURES_MAX are kept */
};

void tfd_eager_failures_deinit(struct tfd_eager_failures *f);
/* Only what an operation did wrong: not CANCELLED, nor what says that a task or
 * a context is lost, which coordinators know by other words.  Without memory it
 * is not kept. */
void tfd_eager_failures_add(struct tfd_eager_failures *f, int64_t op,
                            const struct tfd_status *why);
/* Why there is no value of an operation: it is one of them, or it came after
 * the last one in a stream that ended with that.  The latter is known by the
 * numbers, which coordinators count up: `made` is the largest of an operation
 * that has made a value.  NULL when it is neither; until the next one is added.
 */
const struct tfd_status *
tfd_eager_failures_find(const struct tfd_eager_failures *f, int64_t op,
                        int64_t made);
/* Bytes. */
size_t tfd_eager_failures_size(const struct tfd_eager_failures *f);

#endif
