/*
 * runtime.h - what a kernel may ask of the worker it runs in: resources, files,
 * time, cancellation, the rendezvous.  daemon/worker implements it; a unit test
 * defines what it needs.
 *
 * struct tfd_rt is one device of one task as one session sees it (sessions
 * share containers unless they are isolated).  struct tfd_step is one step.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_RUNTIME_H
#define TFD_KERNELS_RUNTIME_H

#include "common/resource/handle.h"
#include "common/resource/resource.h"
#include "common/thread/pool.h"
#include "kernels/core/kernel.h"

struct tfd_crew;
struct tfd_file_access;

/* ---- Resources ----------------------------------------------------------- */

/* container "" is the task's default.  NOT_FOUND with TensorFlow's texts
 * ("Container C does not exist. (Could not find resource: C/N)"),
 * INVALID_ARGUMENT for another type.  *out is counted. */
enum tfd_code tfd_rt_find(struct tfd_rt *rt, struct tfd_str container,
                          struct tfd_str name,
                          const struct tfd_resource_type *type,
                          struct tfd_resource **out,
                          struct tfd_status *st) TFD_MUST_USE;
typedef enum tfd_code tfd_resource_make_fn(void *arg, struct tfd_resource **out,
                                           struct tfd_status *st);
enum tfd_code tfd_rt_find_or_make(struct tfd_rt *rt, struct tfd_str container,
                                  struct tfd_str name,
                                  const struct tfd_resource_type *type,
                                  tfd_resource_make_fn *make, void *arg,
                                  struct tfd_resource **out,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_rt_destroy(struct tfd_rt *rt, struct tfd_str container,
                             struct tfd_str name, bool ignore_missing,
                             struct tfd_status *st) TFD_MUST_USE;

/* 0, 1, ...: a number that these containers have not given out before, for the
 * name of a resource that belongs to one kernel. */
uint64_t tfd_rt_unique(struct tfd_rt *rt);

const char *tfd_rt_device(const struct tfd_rt *rt);    /* full name */
const char *tfd_rt_container(const struct tfd_rt *rt); /* the default's name */
/* Files within --file_root (kernels/io/file.h). */
struct tfd_file_access *tfd_rt_files(struct tfd_rt *rt);
struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt);
/* Threads that share a kernel's loops, at least one. */
static inline int tfd_kctx_threads(const struct tfd_kctx *k)
{
    const int threads = k->rt ? tfd_pool_threads(tfd_rt_pool(k->rt)) : 0;

    return threads < 1 ? 1 : threads;
}
/* Threads that may wait.  What outlives its step holds a lasting function or
 * ends its work when its container lets go of it. */
struct tfd_crew *tfd_rt_crew(struct tfd_rt *rt);

/* The resource behind input `in` (a scalar RESOURCE): by the cached pointer
 * where it is still good, else by name.  INVALID_ARGUMENT "Trying to access
 * resource N located in device D from device E" for another device's.  *out is
 * counted. */
enum tfd_code tfd_kctx_resource(struct tfd_kctx *k, int in,
                                const struct tfd_resource_type *type,
                                struct tfd_resource **out,
                                struct tfd_status *st) TFD_MUST_USE;

/* ---- Time ---------------------------------------------------------------- */

/* What rings once, so that a kernel waits for a time without a thread:
 *
 *     tfd_rt_alarm() --> set -- the time has come --> fn
 *                         +--- tfd_alarm_ring_now() -^
 *
 * Embedded by its owner, who keeps it until fn() is called, which it always is,
 * by the loop thread: fn() does little, and hands work to the pool. */
struct tfd_alarm {
    void (*fn)(struct tfd_alarm *a); /* may free it or set it again */
    void *clock;                     /* the worker's */
};
/* fn() comes no earlier than after so many microseconds; 0 and less: soon.
 * Whoever sets one belongs to a step under way, or rings it when its container
 * lets go of it: nothing else ends it.  RESOURCE_EXHAUSTED without memory; fn()
 * does not come then. */
enum tfd_code tfd_rt_alarm(struct tfd_rt *rt, struct tfd_alarm *a,
                           int64_t delay_us,
                           struct tfd_status *st) TFD_MUST_USE;
/* It rings now, where it has not yet.  From any thread that knows that fn() has
 * not returned, by a lock that fn() takes. */
void tfd_alarm_ring_now(struct tfd_alarm *a);

/* ---- Other servers ------------------------------------------------------- */

/* One gRPC call to a server at any address, which a kernel waits for without a
 * thread; of the answer only the status is kept:
 *
 *     tfd_kctx_ask() --> until the server is there, asks --> done
 *                              ^--- UNAVAILABLE, ABORTED ----'
 *
 * As TensorFlow does it, a server that is not there, or goes, is waited for and
 * asked again until the time is over.  A cancelled step ends it with CANCELLED.
 *
 * Embedded by its owner, who keeps it, and what it points to, until done(),
 * which is called once, by the loop thread: it does little. */
enum tfd_ask_method { TFD_ASK_SNAPSHOT }; /* of tf.data's dispatcher */
struct tfd_ask {
    void (*done)(struct tfd_ask *a, const struct tfd_status *st);
    enum tfd_ask_method method;
    const char *address;    /* "host:port" */
    struct tfd_str request; /* a protobuf message */
    int64_t timeout_us;
};
/* INVALID_ARGUMENT for what is no address, RESOURCE_EXHAUSTED without memory;
 * done() does not come then. */
enum tfd_code tfd_kctx_ask(struct tfd_kctx *k, struct tfd_ask *a,
                           struct tfd_status *st) TFD_MUST_USE;

/* ---- The step ------------------------------------------------------------ */

int64_t tfd_step_id(const struct tfd_step *s);

/* Called once from any thread when the step is cancelled or has failed. */
struct tfd_cancel {
    void (*fn)(struct tfd_cancel *c);
    struct tfd_cancel *next, *previous; /* the step's */
    bool linked;
};
/* False when the step is cancelled already (fn will not be called). */
bool tfd_step_on_cancel(struct tfd_step *s, struct tfd_cancel *c);
/* After this returns fn is not running and will not run.  False when it ran. */
bool tfd_step_off_cancel(struct tfd_step *s, struct tfd_cancel *c);

/* Resources that a step has by name, of one type each; they end with it, also
 * where they were found in a function that it called.  ALREADY_EXISTS for a
 * second one of the name. */
enum tfd_code tfd_step_keep(struct tfd_step *s, struct tfd_str name,
                            struct tfd_resource *r,
                            struct tfd_status *st) TFD_MUST_USE;
/* Counted; NULL: there is none.  `take` makes the step forget it. */
struct tfd_resource *tfd_step_kept(struct tfd_step *s, struct tfd_str name,
                                   const struct tfd_resource_type *type,
                                   bool take);

/* ---- Rendezvous: Send and Recv nodes ------------------------------------- */

/* Makes the channel of a Send or Recv node from its attributes, at prepare();
 * a number that is good for every step of the graph. */
enum tfd_code tfd_rt_channel(const struct tfd_prepare *p, bool sends,
                             int *channel, struct tfd_status *st) TFD_MUST_USE;
/* Hands the value (or deadness) of input 0 to the step's rendezvous. */
enum tfd_code tfd_kctx_send(struct tfd_kctx *k, int channel,
                            struct tfd_status *st) TFD_MUST_USE;
/* Starts waiting; ends with tfd_kctx_finish(). */
void tfd_kctx_recv(struct tfd_kctx *k, int channel);

#endif
