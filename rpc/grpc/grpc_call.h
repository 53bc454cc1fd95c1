/*
 * grpc_call.h - a gRPC call as its server sees it: grpc.c has the connection,
 * grpc_request.c reads the request, grpc_call.c answers and ends.  Nobody else
 * includes this.
 *
 * One struct tfd_grpc_server per connection, one struct tfd_grpc_call per call.
 * A call has two lives that end independently: the HTTP/2 stream (until
 * closed()) and the call (until its handler answers).  It is freed when both
 * are over:
 *
 *     begin --> headers --> data ... --> end --> dispatch --> answer
 *        \         \           \                   |           |
 *         \         +-----------+--> refuse        |  deadline, reset, end
 *          \                           |           |  of the connection:
 *           \                          |           |  cancelled
 *            +--> closed <-------------+-----------+-----------+
 *
 * After a deadline the peer is answered at once, and what the handler says
 * later is dropped.
 *
 * A stream of requests (tfd_service_streams()) is dispatched with its headers;
 * each message of its data is handed on when it is complete.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_GRPC_CALL_H
#define TFD_RPC_GRPC_CALL_H

#include "rpc/grpc/grpc_body.h"
#include "rpc/grpc/grpc_inflate.h"
#include "rpc/grpc/grpc_stream.h"
#include "rpc/http/h2.h"
#include "rpc/core/inflate_line.h"
#include "rpc/core/link.h"

#define TFD_GRPC_PATH_ROOM 128 /* of an unknown method, to name it */

struct tfd_grpc_call {
    struct tfd_call call;           /* first: its handler has a pointer to it */
    struct tfd_grpc_server *server; /* NULL once the HTTP/2 stream is closed */
    struct tfd_origin origin;
    struct tfd_grpc_call *next;
    struct tfd_grpc_call **link; /* the pointer to this one */
    int32_t id;
    bool got_headers;
    bool is_post;
    bool is_grpc;
    bool has_timeout;
    bool bad_timeout;
    bool handed;   /* to a handler */
    bool answered; /* by it */
    bool replied;  /* the peer has its response, or never will */
    uint64_t timeout_us;
    uint64_t owed;   /* of its message, as the server's ticket has it ... */
    uint64_t come;   /* ... and what has come of it */
    uint64_t small;  /* what has come of it and was too little to announce */
    bool incomplete; /* in the ticket's count */
    char path[TFD_GRPC_PATH_ROOM];
    struct tfd_timer deadline;
    enum tfd_grpc_encoding encoding;  /* of a message that says compressed */
    struct tfd_grpc_inflate *inflate; /* under way; NULL */
    struct tfd_inflate_place inflating;
    struct tfd_grpc_reader in;
    struct tfd_grpc_writer out;
    struct tfd_grpc_stream *stream; /* NULL: one message answers */
};

struct tfd_grpc_server {
    struct tfd_service *service;
    struct tfd_conn *conn;
    struct tfd_loop *loop;
    struct tfd_h2 *h2;
    struct tfd_grpc_call *streams;
    uint8_t *read_at;
    struct tfd_buffer *read_into; /* not counted; NULL: the loop's scratch */
    struct tfd_timer patience;    /* runs while the peer owes us something */
    bool patience_on;
    struct tfd_timer idle; /* runs always, looks whether anything came */
    bool received;         /* since it last looked */
    uint64_t link;
    struct tfd_admission_ticket ticket; /* while it waits nothing is read */
    bool inside; /* the session or a handler is running: do not enter it */
    bool closing;
};

/* ---- grpc.c -------------------------------------------------------------- */

/* After anything that may have given us something to send or to wait for. */
void tfd_grpc_server_go_on(struct tfd_grpc_server *v);

/* ---- grpc_request.c: what the HTTP/2 session tells ----------------------- */

extern const struct tfd_h2_events tfd_grpc_events;

/* ---- grpc_call.c --------------------------------------------------------- */

void tfd_grpc_call_link(struct tfd_grpc_call *c, struct tfd_grpc_call **list);
/* A request begins.  The prefix of a large message is there; then, bytes of it,
 * or of a small one; then it is complete, or given up. */
void tfd_grpc_call_begin(struct tfd_grpc_call *c);
void tfd_grpc_call_announce(struct tfd_grpc_call *c);
void tfd_grpc_call_came(struct tfd_grpc_call *c, size_t n);
void tfd_grpc_call_settle(struct tfd_grpc_call *c);
/* After a read: what there is of small ones. */
void tfd_grpc_server_count_small(struct tfd_grpc_server *v);
/* Tells the handler, which may answer this and other calls from inside. */
void tfd_grpc_call_cancel(struct tfd_grpc_call *c);
/* The HTTP/2 stream is over; the call may outlive it. */
void tfd_grpc_call_detach(struct tfd_grpc_call *c);
/* What a detached call still has to do. */
void tfd_grpc_call_let_go(struct tfd_grpc_call *c);
/* Not gRPC at all: answered in HTTP's terms. */
void tfd_grpc_call_reply_http(struct tfd_grpc_call *c, const char *status);
/* The request is not going to reach a handler. */
void tfd_grpc_call_refuse(struct tfd_grpc_call *c, const struct tfd_status *st);
/* The peer is told now; the handler is cancelled, and what it says later is
 * dropped. */
void tfd_grpc_call_break(struct tfd_grpc_call *c, const struct tfd_status *st);
/* struct tfd_admission_ticket.admitted, .late */
void tfd_grpc_server_admitted(struct tfd_admission_ticket *t);
void tfd_grpc_server_late(struct tfd_admission_ticket *t);
/* struct tfd_call.answer, .send; its deadline. */
void tfd_grpc_call_answer(struct tfd_call *call, const struct tfd_status *st,
                          struct tfd_message *take_response);
enum tfd_code tfd_grpc_call_send(struct tfd_call *call,
                                 const struct tfd_message *m,
                                 struct tfd_status *st);
void tfd_grpc_call_deadline(struct tfd_timer *t);

#endif
