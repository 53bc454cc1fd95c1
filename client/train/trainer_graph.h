/*
 * trainer_graph.h - the graph of a MetaGraphDef made ready for training: nodes
 * placed on ps and worker tasks, and the operations found that a trainer runs
 * (train op, initializers, saver, global step).
 *
 * Threads: one builds it; read-only afterwards.
 */
#ifndef TFD_CLIENT_TRAINER_GRAPH_H
#define TFD_CLIENT_TRAINER_GRAPH_H

#include <tfd/train.h>

#include "client/c_api/capi.h"

/* Threads that fill one queue, each by an operation. */
struct tfd_queue_runner {
    TF_Operation **enqueue;
    int enqueue_count;
    TF_Operation *close, *cancel; /* cancel: with the enqueues that wait */
    uint32_t closed_codes;        /* bits: codes that end the input */
};

struct tfd_trainer_graph {
    TF_Graph *graph;
    struct tfd_arena arena; /* of the arrays */
    TF_Operation *train_op;
    TF_Output step;       /* the global step now */
    TF_Output step_after; /* ... and after one train_op, which it runs */
    TF_Output loss;       /* no operation: there is none */
    TF_Operation **init;  /* of global variables */
    int init_count;
    TF_Operation **local_init;
    int local_init_count;
    TF_Output *ready; /* a bool for each global variable */
    int ready_count;
    TF_Output filename, save; /* no operation: no variables to save */
    TF_Operation *restore;
    int max_to_keep;
    /* Of TFD_MinimizeInStep(); NULL: workers are not kept in step. */
    TF_Operation *sync_update, *sync_chief_init, *sync_local_init, *sync_tokens;
    TF_Output *eval;
    int eval_count;
    struct tfd_queue_runner *queue_runners;
    int queue_runner_count;
};

struct tfd_trainer_graph_options {
    int ps_tasks;
    const char *worker_device; /* NULL or "": nothing is placed */
};

/* meta holds the bytes of a MetaGraphDef.  INVALID_ARGUMENT, naming the
 * collection, when it lacks what training needs.  On failure nothing is held.
 */
enum tfd_code tfd_trainer_graph_init(struct tfd_trainer_graph *t,
                                     struct tfd_str meta,
                                     const struct tfd_trainer_graph_options *o,
                                     struct tfd_status *st) TFD_MUST_USE;
void tfd_trainer_graph_deinit(struct tfd_trainer_graph *t);

#endif
