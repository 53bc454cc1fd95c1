/*
 * stream.h - StreamingEnqueue: EnqueueRequests that come without waiting for
 * the answers of those before them, and are served and answered in their order.
 * The first that fails ends the stream with its status; those behind it are
 * lost.
 *
 * What has come and not been served is bounded by TFD_EAGER_QUEUED_MAX and
 * TFD_EAGER_QUEUED_SIZE_MAX.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_STREAM_H
#define TFD_DAEMON_EAGER_STREAM_H

#include "daemon/eager/eager_impl.h"

/* A tfd_handler_fn. */
void tfd_eager_streaming_enqueue(void *self, struct tfd_call *call);

#endif
