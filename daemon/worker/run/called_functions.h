/*
 * called_functions.h - the functions that a registered graph's kernels call,
 * made executable (kernels/core/function_call.h).
 *
 * A table belongs to one registered graph and outlives every body in it:
 * bodies are compiled as graphs are, with _Arg and _Retval as feeds and
 * fetches, and call functions of the same table.  Each function is there once
 * for its attributes and device, so one that calls itself does, too.
 *
 * A call is a step (step.h) that the loop thread begins and ends, or one that
 * runs on the thread that calls.
 *
 * Threads: tables, any; steps as said there.
 */
#ifndef TFD_DAEMON_WORKER_CALLED_FUNCTIONS_H
#define TFD_DAEMON_WORKER_CALLED_FUNCTIONS_H

#include "common/thread/lock.h"
#include "daemon/worker/compile/compile.h"
#include "daemon/worker/run/step.h"
#include "kernels/core/function_call.h"

struct tfd_lasting_world;

/* Of one worker: what functions that outlive graphs need of it (lasting.h). */
struct tfd_lasting_host {
    struct tfd_loop *loop;
    int worlds;               /* atomic */
    int calls;                /* atomic: under way */
    int stopping;             /* atomic: calls are refused */
    uint64_t step_id;         /* atomic: the last call's */
    struct tfd_step *running; /* loop thread: calls, by `next` */
    void (*drop)(struct tfd_lasting_world *w); /* tfd_lasting_world_let_go() */
    /* The session whose devices a world has. */
    void (*hold)(void *session);              /* any thread */
    void (*let_go)(void *session);            /* loop thread */
    uint64_t *(*calls_of)(void *session);     /* its count of them; atomic */
    void (*less)(struct tfd_lasting_host *h); /* loop thread: a call, a world */
};

struct tfd_function_table {
    struct tfd_graph *graph; /* whose library it is; counted */
    struct tfd_compile_env env;
    struct tfd_loop *loop;
    struct tfd_pool *pool; /* NULL: the loop thread compiles */
    struct tfd_transfer *transfer;
    struct tfd_lasting_host *host;   /* NULL: nothing lasts */
    struct tfd_lasting_world *world; /* whose table this is; NULL: a graph's */
    struct tfd_lock lock;            /* of what follows */
    struct tfd_lasting_world *lasting; /* of a graph's; NULL: none yet */
    struct tfd_map by_key;             /* -> struct tfd_rt_function */
    struct tfd_arena arena;
};

enum tfd_function_kind {
    TFD_FUNCTION_BODY,
    TFD_FUNCTION_PREDICATE, /* its results are in host memory */
    TFD_FUNCTION_GRADIENT,  /* not the function but its gradient, made up */
    TFD_FUNCTION_GRAPH,     /* no function of the library: a graph as it came */
};

struct tfd_rt_function {
    struct tfd_function_table *table;
    struct tfd_str key;
    struct tfd_func func;
    struct tfd_str graph_def; /* GRAPH */
    enum tfd_function_kind kind;
    struct tfd_rt *rt;
    int32_t in_count, out_count;
    struct tfd_exec *exec; /* atomic: NULL until it is called first */
    struct tfd_step *idle; /* loop thread */
    int idle_count;
    struct tfd_step *idle_here; /* the table's lock's */
    int idle_here_count;
    int is_quick;             /* atomic: for tfd_function_run_quick() */
    unsigned int quick_calls; /* atomic */
};

/* An attribute of a gradient's call: the types of its results. */
#define TFD_GRADIENT_TYPES "_gradient_types"

/* Of one function, those of either kind that are kept for the next call. */
#define TFD_FUNCTION_IDLE_STEPS_MAX 8

/* env is copied; what it refers to outlives the table. */
struct tfd_function_table *
tfd_function_table_new(struct tfd_graph *graph,
                       const struct tfd_compile_env *env,
                       struct tfd_status *st);
void tfd_function_table_free(struct tfd_function_table *t);

/* called_functions.c: the function of this table, made when it is new. */
enum tfd_code tfd_function_table_get(struct tfd_function_table *t,
                                     const struct tfd_func *func,
                                     enum tfd_function_kind kind,
                                     struct tfd_rt *rt,
                                     struct tfd_rt_function **out,
                                     struct tfd_status *st) TFD_MUST_USE;

/* function_compile.c: an executable of it, if there is none yet. */
enum tfd_code tfd_function_compile(struct tfd_rt_function *f,
                                   struct tfd_status *st) TFD_MUST_USE;
/* function_run.c: lets go of arguments or results. */
void tfd_function_drop(struct tfd_tensor *t, int32_t count);
/* Arguments of a lasting function are of its types. */
enum tfd_code tfd_function_check_args(const struct tfd_rt_function *f,
                                      const struct tfd_tensor *in,
                                      struct tfd_status *st) TFD_MUST_USE;
/* function_here.c: a result that is dead comes from a branch that was not
 * taken. */
enum tfd_code tfd_function_check_results(const struct tfd_function_call *c,
                                         struct tfd_status *st) TFD_MUST_USE;
/* function_here.c: all of a call of a step, done() too, where the body is known
 * to be quick and this is a compute thread; else false, and nothing was done.
 */
bool tfd_function_run_quick(struct tfd_function_call *c);
/* Its arguments and results, named as the body's nodes are. */
struct tfd_function_ends {
    struct tfd_str *args, *rets;
    const uint8_t *ret_types;
    int32_t arg_count, ret_count;
};
/* function_gradient.c: adds to g, which has the body and its arguments.
 * NOT_FOUND where an op of the body has no gradient. */
enum tfd_code tfd_function_gradient_add(struct tfd_rt_function *f,
                                        const struct tfd_function_ends *ends,
                                        struct tfd_arena *arena,
                                        struct tfd_graph *g,
                                        struct tfd_status *st) TFD_MUST_USE;
/* compile.c's: the table of the graph that prepare() is called for; NULL. */
struct tfd_function_table *tfd_compile_functions(const struct tfd_prepare *p);

#endif
