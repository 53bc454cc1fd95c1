/*
 * function_call.h - how a kernel calls functions of its graph's library.
 *
 * A kernel names its functions in prepare(), by attributes of its node, and
 * calls them from start(), as often as it likes and several at once.  A body
 * is made executable the first time it is called.  A call is a step of its own
 * within the caller's: it has the caller's step id, devices and resources, ends
 * with it when that fails or is cancelled, and counts as its depth plus one.
 * Arguments and results are in the device's memory where their types are.
 *
 * What outlives the kernel's step and even its graph, an iterator of a dataset,
 * calls lasting functions.  Such a call is a step by itself:
 *
 *     prepare    tfd_rt_lasting_function()     borrowed, as all functions
 *     a dataset  tfd_rt_function_hold()        keeps library, devices, states
 *     anywhere   tfd_function_run(), with k NULL; tfd_function_cancel()
 *     its end    tfd_rt_function_let_go()
 *
 * daemon/worker implements this.
 *
 * Threads: any; done() of a call may come on any.
 */
#ifndef TFD_KERNELS_FUNCTION_CALL_H
#define TFD_KERNELS_FUNCTION_CALL_H

#include "common/graph/function.h"
#include "kernels/core/kernel.h"

/* A function with its attributes, on one device.  Lives as long as the kernel's
 * graph; nothing to free. */
struct tfd_rt_function;

/* NOT_FOUND "Function F is not defined." */
enum tfd_code tfd_rt_function(const struct tfd_prepare *p,
                              const struct tfd_func *f,
                              struct tfd_rt_function **out,
                              struct tfd_status *st) TFD_MUST_USE;
/* The same; results are in host memory, whatever the device. */
enum tfd_code tfd_rt_predicate(const struct tfd_prepare *p,
                               const struct tfd_func *f,
                               struct tfd_rt_function **out,
                               struct tfd_status *st) TFD_MUST_USE;
/* The function that the library names as the gradient of f, or one made of f's
 * body and the gradients of its ops.  NOT_FOUND when f is no function;
 * an op without a gradient is found when it is called. */
enum tfd_code tfd_rt_gradient(const struct tfd_prepare *p,
                              const struct tfd_func *f,
                              struct tfd_rt_function **out,
                              struct tfd_status *st) TFD_MUST_USE;
int32_t tfd_rt_function_in_count(const struct tfd_rt_function *f);
int32_t tfd_rt_function_out_count(const struct tfd_rt_function *f);

/* A lasting one.  NOT_FOUND as above. */
enum tfd_code tfd_rt_lasting_function(const struct tfd_prepare *p,
                                      const struct tfd_func *f,
                                      struct tfd_rt_function **out,
                                      struct tfd_status *st) TFD_MUST_USE;
/* Where graphs that arrive as values are run: as long as the kernel's own.  The
 * op has the flag TFD_OP_HOME. */
struct tfd_rt_home;
enum tfd_code tfd_rt_home(const struct tfd_prepare *p, struct tfd_rt_home **out,
                          struct tfd_status *st) TFD_MUST_USE;
/* A GraphDef with one _Retval and so many _Args as a lasting function, held for
 * the caller; all nodes are on the device. */
enum tfd_code tfd_rt_graph_function(struct tfd_rt_home *home, struct tfd_rt *rt,
                                    struct tfd_str graph_def, int32_t arg_count,
                                    struct tfd_rt_function **out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The node is in the body of a lasting function, which would keep itself if it
 * kept what holds one. */
bool tfd_rt_is_lasting(const struct tfd_prepare *p);
/* Of a lasting one: it stays, whatever becomes of the graph.  Any thread. */
void tfd_rt_function_hold(struct tfd_rt_function *f);
void tfd_rt_function_let_go(struct tfd_rt_function *f);
struct tfd_str tfd_rt_function_name(const struct tfd_rt_function *f);
/* The graph whose library a lasting one is of; lives as long. */
const struct tfd_graph *
tfd_rt_function_library(const struct tfd_rt_function *f);

struct tfd_function_run;

/* One call.  The caller's memory until done(). */
struct tfd_function_call {
    struct tfd_rt_function *function;
    struct tfd_kctx *k;     /* of the kernel that calls; NULL: lasting */
    bool may_stay;          /* done() may come within tfd_function_run(), as it
                             * calls nothing more */
    struct tfd_tensor *in;  /* taken: left empty */
    struct tfd_tensor *out; /* empty before; filled in when it succeeds */
    /* Once, from any thread, not before tfd_function_run() was called but
     * possibly before it returns.  st is not NULL. */
    void (*done)(struct tfd_function_call *c, const struct tfd_status *st);
    struct tfd_function_run *run; /* the worker's */
};
void tfd_function_run(struct tfd_function_call *c);
/* A call of a lasting function is to end soon, CANCELLED.  Any thread; done()
 * follows as ever, and has not returned before this does. */
void tfd_function_cancel(struct tfd_function_call *c);
/* A call of a lasting function on this thread, which may wait, without done();
 * arguments are taken.  False: it is for tfd_function_run(), since a kernel of
 * it waits for others; nothing was taken. */
bool tfd_function_run_here(struct tfd_function_call *c, struct tfd_status *st);

#endif
