/*
 * operate.h - an Operation of a request: a function or a single op runs, and
 * its results get handles.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_OPERATE_H
#define TFD_DAEMON_EAGER_OPERATE_H

#include "daemon/eager/enqueue.h"

/* q->run or q->spread is under way when this returns, or it has ended. */
enum tfd_code tfd_eager_operate(struct tfd_eager_request *q,
                                struct tfd_str item,
                                struct tfd_status *st) TFD_MUST_USE;

/* What a kernel of a graph said, as a coordinator is told: of a single op
 * without the graph's node, of a function with its name before it. */
void tfd_eager_run_status(struct tfd_status *to, const struct tfd_status *from,
                          struct tfd_str name, bool is_function);

#endif
