/*
 * h2_impl.h - an HTTP/2 session as h2.c and h2_in.c see it; nobody else
 * includes this.
 *
 * Threads: one at a time.
 */
#ifndef TFD_RPC_H2_IMPL_H
#define TFD_RPC_H2_IMPL_H

#include "rpc/http/h2.h"
#include "rpc/http/h2_guard.h"
#include "rpc/http/h2_memory.h"

#include <nghttp2/nghttp2.h>

struct tfd_h2 {
    nghttp2_session *session;
    struct tfd_h2_memory memory;
    const struct tfd_h2_events *events;
    void *ctx;
    enum tfd_h2_role role;
    bool busy;       /* inside nghttp2 */
    bool over;       /* nghttp2 gave up */
    bool greeted;    /* the peer's first SETTINGS have arrived */
    bool closing;    /* GOAWAY came or went */
    bool used_up;    /* all stream numbers are: 2^30 calls were made */
    bool in_head;    /* between a HEADERS frame and the end of its list */
    int32_t last_id; /* of the peer's streams, the newest */
    uint32_t streams;
    uint32_t continuations; /* of the list being read */
    size_t head_size;       /* of the list being read */
    size_t data_left;
    void *data_stream;
    int32_t data_id;
    uint64_t now_us;
    struct tfd_h2_guard guard;
};

/* One more of these; too many end the session. */
void tfd_h2_count(struct tfd_h2 *h, enum tfd_h2_guarded what);
/* That frames of unknown types are told of. */
void tfd_h2_in_options(nghttp2_option *o);
/* What is called for received frames: h2_in.c. */
void tfd_h2_in_callbacks(nghttp2_session_callbacks *c);

#endif
