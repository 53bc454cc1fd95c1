/*
 * eager_impl.h - struct tfd_eager, the EagerService of a task, as the files of
 * this folder see it; all others use eager.h.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_EAGER_IMPL_H
#define TFD_DAEMON_EAGER_EAGER_IMPL_H

#include "common/base/id_map.h"
#include "common/thread/pool.h"
#include "daemon/eager/eager.h"
#include "daemon/eager/line.h"

struct tfd_eager_stream;

struct tfd_eager {
    struct tfd_eager_options options;
    struct tfd_id_map contexts; /* -> struct tfd_eager_context */
    uint64_t session_number;    /* the last one's */
    struct tfd_timer timer;     /* looks for contexts nobody speaks to */
    struct tfd_eager_stream *streams;
    struct tfd_eager_line line; /* of requests */
    struct tfd_pool *builders;  /* NULL: nothing large was built yet */
    bool stopping;
    int runs;
    uint64_t runs_done, abandoned;
};

/* service.c */
void tfd_eager_bind(struct tfd_eager *e);
/* stream.c: ends all streams, UNAVAILABLE. */
void tfd_eager_end_streams(struct tfd_eager *e);

#endif
