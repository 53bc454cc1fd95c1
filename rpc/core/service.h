/*
 * service.h - the one table of methods, and a call as its handler sees it.
 *
 * Both protocols end here: native frames name a method by number, gRPC by path,
 * and a handler never knows which.  A handler runs on the loop thread, may keep
 * the call as long as it wants, and ends it exactly once with
 * tfd_call_respond() or tfd_call_fail(), also when the caller has gone away.
 *
 * Threads: loop thread.
 */
#ifndef TFD_RPC_SERVICE_H
#define TFD_RPC_SERVICE_H

#include "common/measure/histogram.h"
#include "rpc/conn/loop.h"
#include "rpc/conn/origin.h"
#include "rpc/conn/traffic.h"
#include "rpc/core/admission.h"
#include "rpc/core/heartbeat.h"
#include "rpc/core/inflate_line.h"
#include "rpc/core/links.h"
#include "rpc/core/message.h"
#include "rpc/core/meter.h"

/* number on native frames, service, method.  Numbers never change. */
#define TFD_METHODS(X)                                         \
    X(1, tensorflow.MasterService, CreateSession)              \
    X(2, tensorflow.MasterService, ExtendSession)              \
    X(3, tensorflow.MasterService, RunStep)                    \
    X(4, tensorflow.MasterService, CloseSession)               \
    X(5, tensorflow.MasterService, ListDevices)                \
    X(6, tensorflow.MasterService, Reset)                      \
    X(7, tensorflow.MasterService, PartialRunSetup)            \
    X(8, tensorflow.MasterService, MakeCallable)               \
    X(9, tensorflow.MasterService, RunCallable)                \
    X(10, tensorflow.MasterService, ReleaseCallable)           \
    X(32, tensorflow.WorkerService, GetStatus)                 \
    X(33, tensorflow.WorkerService, CreateWorkerSession)       \
    X(34, tensorflow.WorkerService, DeleteWorkerSession)       \
    X(35, tensorflow.WorkerService, RegisterGraph)             \
    X(36, tensorflow.WorkerService, DeregisterGraph)           \
    X(37, tensorflow.WorkerService, RunGraph)                  \
    X(38, tensorflow.WorkerService, RecvTensor)                \
    X(39, tensorflow.WorkerService, CleanupGraph)              \
    X(40, tensorflow.WorkerService, CleanupAll)                \
    X(41, tensorflow.WorkerService, Logging)                   \
    X(42, tensorflow.WorkerService, Tracing)                   \
    X(43, tensorflow.WorkerService, CompleteGroup)             \
    X(44, tensorflow.WorkerService, CompleteInstance)          \
    X(45, tensorflow.WorkerService, RecvBuf)                   \
    X(46, tensorflow.WorkerService, GetStepSequence)           \
    X(48, tensorflow.eager.EagerService, CreateContext)        \
    X(49, tensorflow.eager.EagerService, UpdateContext)        \
    X(50, tensorflow.eager.EagerService, Enqueue)              \
    X(51, tensorflow.eager.EagerService, StreamingEnqueue)     \
    X(52, tensorflow.eager.EagerService, WaitQueueDone)        \
    X(53, tensorflow.eager.EagerService, RunComponentFunction) \
    X(54, tensorflow.eager.EagerService, KeepAlive)            \
    X(55, tensorflow.eager.EagerService, CloseContext)         \
    X(64, tfd.Peer, Hello)                                     \
    X(65, tfd.Peer, PushTensors)                               \
    X(66, tfd.Peer, Leaving)                                   \
    X(67, tfd.Peer, MapMemory)                                 \
    X(68, tfd.Peer, CopyTensor)                                \
    X(69, tfd.Peer, Draining)                                  \
    X(70, tfd.Peer, GetTaskState)                              \
    X(71, tfd.Peer, GetStepWaits)                              \
    X(72, tfd.Peer, Operate)                                   \
    X(73, tfd.Peer, TraceSteps)                                \
    X(76, tensorflow.data.DispatcherService, Snapshot)         \
    X(80, grpc.health.v1.Health, Check)                        \
    X(81, grpc.health.v1.Health, Watch)

enum tfd_method_number {
#define X(number, service, method) TFD_METHOD_##method = number,
    TFD_METHODS(X)
#undef X
        TFD_METHOD_END = 96,
};

struct tfd_call {
    enum tfd_method_number method;
    bool native;
    struct tfd_incoming in; /* the request; freed with the call */
    uint64_t deadline_us;   /* tfd_loop_now_us() time; 0: none */
    const char *peer;       /* address of the caller */
    /* Who called, set by the transport; lives as long as the call, also once
     * the connection has gone. */
    const struct tfd_origin *origin;
    uint64_t link; /* the connection it came over (links.h) */
    struct tfd_service *service;
    /* Set by the handler if it wants to know: the caller cancelled, its
     * deadline passed or its connection ended.  Called at most once and never
     * after the call was answered; the handler must still answer the call. */
    void (*cancelled)(void *ctx, struct tfd_call *call);
    /* Of a stream of requests (tfd_service_streams()), which is handed over
     * before the first has come, set by its handler: one more has come, and is
     * the handler's; the caller sends no more.  Never after the call was
     * answered. */
    void (*received)(void *ctx, struct tfd_call *call,
                     struct tfd_incoming *take_message);
    void (*ended)(void *ctx, struct tfd_call *call);
    void *ctx;
    bool is_cancelled;
    /* The transport's. */
    void (*answer)(struct tfd_call *call, const struct tfd_status *st,
                   struct tfd_message *take_response);
    /* NULL: it answers each call with one message only. */
    enum tfd_code (*send)(struct tfd_call *call, const struct tfd_message *m,
                          struct tfd_status *st);
    uint64_t start_us;
    /* The service's: bytes of the request, and what they count for. */
    uint64_t request_size;
    struct tfd_meter *meter; /* NULL: nothing */
};

/* The response is written and emptied.  Use call->native for its init. */
void tfd_call_respond(struct tfd_call *call, struct tfd_message *take_response);
void tfd_call_fail(struct tfd_call *call, const struct tfd_status *st);

/* One more message of a stream; the call goes on, and ends with
 * tfd_call_fail(), or tfd_call_respond() with nothing.  m is emptied.
 * UNIMPLEMENTED where the transport has no streams; what is sent to a caller
 * who has gone is dropped. */
enum tfd_code tfd_call_send(struct tfd_call *call, struct tfd_message *m,
                            struct tfd_status *st) TFD_MUST_USE;

/* The end of a request's own fields: INTERNAL "Unable to parse request" when
 * it was damaged, as TensorFlow answers. */
enum tfd_code tfd_service_request_end(const struct tfd_pb_reader *r,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Its caller sends any number of requests in one call, and gets as many answers
 * as its handler sends (tfd_call_send()). */
bool tfd_service_streams(enum tfd_method_number method);

typedef void tfd_handler_fn(void *self, struct tfd_call *call);

struct tfd_service;

struct tfd_service *tfd_service_new(struct tfd_loop *l, struct tfd_status *st);
void tfd_service_free(struct tfd_service *s);
/* Methods without a handler answer UNIMPLEMENTED, naming themselves. */
void tfd_service_bind(struct tfd_service *s, enum tfd_method_number method,
                      tfd_handler_fn *handler, void *self);
/* How transports watch callers of the native protocol; none by default. */
void tfd_service_watch(struct tfd_service *s,
                       const struct tfd_heartbeat_options *o);
const struct tfd_heartbeat_options *
tfd_service_heartbeat(const struct tfd_service *s);
struct tfd_links *tfd_service_links(struct tfd_service *s);
/* Of connections that have come and have not said which task they are of. */
struct tfd_traffic *tfd_service_traffic(struct tfd_service *s);
/* fn says where those of a task count, which has said its name; NULL: there. */
void tfd_service_on_hello(struct tfd_service *s,
                          struct tfd_traffic *(*fn)(void *ctx,
                                                    struct tfd_str task),
                          void *ctx);
/* For transports: what the connection of this task counts for. */
struct tfd_traffic *tfd_service_traffic_of(struct tfd_service *s,
                                           struct tfd_str task);
struct tfd_admission *tfd_service_admission(struct tfd_service *s);
struct tfd_inflate_line *tfd_service_inflate_line(struct tfd_service *s);
/* 0 when the path is not in the table. */
enum tfd_method_number tfd_service_find(struct tfd_str path);
const char *tfd_service_path(enum tfd_method_number method);
/* For transports: counts the call, then runs its handler.  When draining, calls
 * that begin sessions or a client's steps fail UNAVAILABLE. */
void tfd_service_dispatch(struct tfd_service *s, struct tfd_call *call);
int tfd_service_in_flight(const struct tfd_service *s);
/* drained() is called when no call is in flight; asked again, it is called
 * again. */
void tfd_service_drain(struct tfd_service *s, void (*drained)(void *ctx),
                       void *ctx);
/* fn says which calls are let through nevertheless. */
void tfd_service_spare(struct tfd_service *s,
                       bool (*fn)(void *ctx, const struct tfd_call *call),
                       void *ctx);
bool tfd_service_draining(const struct tfd_service *s);
/* fn is called when draining begins.  One listener. */
void tfd_service_on_drain(struct tfd_service *s, void (*fn)(void *ctx),
                          void *ctx);

/* Counters for /metrics, by method: of calls that came, and of answers. */
struct tfd_method_stats {
    uint64_t calls, failures, request_bytes, response_bytes;
    struct tfd_histogram durations; /* from the request to its answer */
};
const struct tfd_method_stats *tfd_service_stats(const struct tfd_service *s,
                                                 enum tfd_method_number m);

/* HTTP/1 GET pages: bound by path ("/metrics"); the handler fills what it gives
 * and returns the HTTP status. */
struct tfd_page {
    /* Of the request, borrowed, as its sender wrote them; "" where there are
     * none. */
    struct tfd_str accept; /* media types: rpc/http/http_field.h */
    struct tfd_str query;  /* after the first '?' of the target */
    struct tfd_bytes *body;
    const char *content_type; /* plain text, unless the handler says more */
    const char *headers;      /* further lines, each with "\r\n" */
    /* Of a handler that returns TFD_PAGE_LATER: it calls finish() once, unless
     * the reader goes before, which gone() tells it. */
    void (*finish)(struct tfd_page *p, int status); /* the transport's */
    void (*gone)(struct tfd_page *p);
    void *ctx;
};
#define TFD_PAGE_LATER 0
typedef int tfd_page_fn(void *self, struct tfd_page *p);
enum tfd_code tfd_service_page(struct tfd_service *s, const char *path,
                               tfd_page_fn *fn, void *self,
                               struct tfd_status *st) TFD_MUST_USE;
tfd_page_fn *tfd_service_find_page(const struct tfd_service *s,
                                   struct tfd_str path, void **self);

#endif
