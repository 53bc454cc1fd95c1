/*
 * train.h - what TensorFlow's C API lacks for training: names and devices by
 * scope, variables, optimizers, a saver, MetaGraphDefs, and a trainer that runs
 * one in a cluster (what Python calls a monitored session).
 *
 *     TFD_Scope *s = TFD_NewScope(graph);
 *     TFD_Variable *w = TFD_NewVariable(s, "w", initial, TFD_TRAINABLE, st);
 *     TF_Output loss = TFD_Op2(s, "...", TFD_Read(w), ..., st);
 *     TFD_Minimize(s, "Adagrad", 0.1f, loss, st);
 *     TFD_AddSaver(s, st);
 *     TFD_ExportMetaGraph(s, buffer, st);
 *     if (TF_GetCode(st) != TF_OK) ...
 *
 * Errors: the last argument is the status.  While it is not TF_OK functions do
 * nothing and return NULL or an output without operation, so that a program
 * builds a whole model and looks once at the end.
 *
 * Ownership: everything made in a scope belongs to the scope TFD_NewScope()
 * returned and dies with it; the graph does not.
 *
 * Threads: scopes, and what is made in them, belong to one thread.
 *
 * Compiles as C99 and C++.
 */
#ifndef TFD_TRAIN_H_
#define TFD_TRAIN_H_

#include <tensorflow/c/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TFD_Scope TFD_Scope;
typedef struct TFD_Variable TFD_Variable;
typedef struct TFD_Trainer TFD_Trainer;

/* ---- Scopes -------------------------------------------------------------- */

/* NULL without memory.  The graph is borrowed and must outlive the scope. */
TF_CAPI_EXPORT extern TFD_Scope *TFD_NewScope(TF_Graph *graph);
/* Frees all of its subscopes and variables with it. */
TF_CAPI_EXPORT extern void TFD_DeleteScope(TFD_Scope *scope);
/* Names begin with "name/", or "name_1/" where that is taken; device and
 * control inputs are the parent's at this moment. */
TF_CAPI_EXPORT extern TFD_Scope *
TFD_SubScope(TFD_Scope *parent, const char *name, TF_Status *status);

/* Of operations added from now on. */
TF_CAPI_EXPORT extern void
TFD_SetScopeDevice(TFD_Scope *scope, const char *device, TF_Status *status);
/* The replica device setter: variables go to /job:ps/task:0, 1, ... in turn,
 * local variables and everything else to worker_device. */
TF_CAPI_EXPORT extern void TFD_SetReplicas(TFD_Scope *scope,
                                           const char *worker_device,
                                           int ps_tasks, TF_Status *status);
/* Operations added from now on wait for op. */
TF_CAPI_EXPORT extern void
TFD_AddScopeControl(TFD_Scope *scope, TF_Operation *op, TF_Status *status);

/* ---- Operations ---------------------------------------------------------- */

typedef enum TFD_AttrKind {
    TFD_KIND_INT,
    TFD_KIND_FLOAT,
    TFD_KIND_BOOL,
    TFD_KIND_TYPE,
    TFD_KIND_STRING,
    TFD_KIND_SHAPE,
    TFD_KIND_INTS
} TFD_AttrKind;

/* One attribute; make it with the functions below. */
typedef struct TFD_Attr {
    const char *name;
    TFD_AttrKind kind;
    int64_t number;      /* INT, BOOL, TYPE; rank of a SHAPE, length of INTS */
    float real;          /* FLOAT */
    const char *text;    /* STRING */
    const int64_t *dims; /* SHAPE, INTS */
} TFD_Attr;

TF_CAPI_EXPORT extern TFD_Attr TFD_AttrInt(const char *name, int64_t value);
TF_CAPI_EXPORT extern TFD_Attr TFD_AttrFloat(const char *name, float value);
TF_CAPI_EXPORT extern TFD_Attr TFD_AttrBool(const char *name, bool value);
TF_CAPI_EXPORT extern TFD_Attr TFD_AttrType(const char *name,
                                            TF_DataType value);
/* Borrowed until the operation is added. */
TF_CAPI_EXPORT extern TFD_Attr TFD_AttrString(const char *name,
                                              const char *value);
TF_CAPI_EXPORT extern TFD_Attr TFD_AttrShape(const char *name,
                                             const int64_t *dims, int num_dims);
/* A list: strides, ksize. */
TF_CAPI_EXPORT extern TFD_Attr
TFD_AttrInts(const char *name, const int64_t *values, int num_values);

/* Adds an operation and returns its first output.  name NULL: the operation's
 * type; it is made unique.  Inputs of lists stand one after another. */
TF_CAPI_EXPORT extern TF_Output TFD_Op(TFD_Scope *scope, const char *op_type,
                                       const char *name,
                                       const TF_Output *inputs, int num_inputs,
                                       const TFD_Attr *attrs, int num_attrs,
                                       TF_Status *status);
/* The same with one input or two and no attributes. */
TF_CAPI_EXPORT extern TF_Output TFD_Op1(TFD_Scope *scope, const char *op_type,
                                        TF_Output x, TF_Status *status);
TF_CAPI_EXPORT extern TF_Output TFD_Op2(TFD_Scope *scope, const char *op_type,
                                        TF_Output x, TF_Output y,
                                        TF_Status *status);
/* A NoOp that waits for all of them. */
TF_CAPI_EXPORT extern TF_Operation *TFD_Group(TFD_Scope *scope,
                                              const char *name,
                                              TF_Operation *const *ops,
                                              int num_ops, TF_Status *status);

/* Constants; name NULL: "Const". */
TF_CAPI_EXPORT extern TF_Output TFD_Const(TFD_Scope *scope, const char *name,
                                          TF_Tensor *value, TF_Status *status);
TF_CAPI_EXPORT extern TF_Output TFD_ConstFloat(TFD_Scope *scope,
                                               const char *name, float value,
                                               TF_Status *status);
/* dtype: TF_INT32 or TF_INT64. */
TF_CAPI_EXPORT extern TF_Output TFD_ConstInt(TFD_Scope *scope, const char *name,
                                             TF_DataType dtype, int64_t value,
                                             TF_Status *status);
/* A vector of TF_INT32: shapes, sizes, axes. */
TF_CAPI_EXPORT extern TF_Output TFD_ConstInts(TFD_Scope *scope,
                                              const char *name,
                                              const int32_t *values, int count,
                                              TF_Status *status);
/* A scalar, and a vector. */
TF_CAPI_EXPORT extern TF_Output TFD_ConstString(TFD_Scope *scope,
                                                const char *name,
                                                const char *value,
                                                TF_Status *status);
TF_CAPI_EXPORT extern TF_Output TFD_ConstStrings(TFD_Scope *scope,
                                                 const char *name,
                                                 const char *const *values,
                                                 int count, TF_Status *status);

/* ---- Variables ----------------------------------------------------------- */

enum {
    TFD_TRAINABLE = 1, /* what TFD_Minimize() changes */
    TFD_LOCAL = 2      /* each worker has its own; not saved */
};

/* A resource variable whose value, type and shape are those of `initial`.  Its
 * operations are named as Python names them: NAME, NAME/Assign,
 * NAME/Read/ReadVariableOp, NAME/IsInitialized/VarIsInitializedOp. */
TF_CAPI_EXPORT extern TFD_Variable *
TFD_NewVariable(TFD_Scope *scope, const char *name, TF_Output initial,
                int flags, TF_Status *status);
/* Its value: one read for all who use it, so that it crosses between tasks once
 * in a step. */
TF_CAPI_EXPORT extern TF_Output TFD_Read(const TFD_Variable *variable);
TF_CAPI_EXPORT extern TF_Output TFD_Handle(const TFD_Variable *variable);
TF_CAPI_EXPORT extern TF_Operation *
TFD_Initializer(const TFD_Variable *variable);
/* "global_step", an int64; made by the first call. */
TF_CAPI_EXPORT extern TFD_Variable *TFD_GlobalStep(TFD_Scope *scope,
                                                   TF_Status *status);

/* ---- Training ------------------------------------------------------------ */

/* One step: gradients of loss by the trainable variables, applied by
 * "GradientDescent", "Adagrad" or "Momentum" (of 0.9), then global_step one up.
 * The returned operation is also what collection "train_op" names. */
TF_CAPI_EXPORT extern TF_Operation *
TFD_Minimize(TFD_Scope *scope, const char *optimizer, float learning_rate,
             TF_Output loss, TF_Status *status);
/* The same with a learning rate that the graph computes: a float scalar, of
 * global_step for example. */
TF_CAPI_EXPORT extern TF_Operation *
TFD_MinimizeAtRate(TFD_Scope *scope, const char *optimizer,
                   TF_Output learning_rate, TF_Output loss, TF_Status *status);

/* The same for workers in step, as tf.train.SyncReplicasOptimizer: a step is
 * the mean of replicas_to_aggregate gradients, each computed with the variables
 * of that step; one that comes late is dropped.  Workers wait for each other in
 * a queue of tokens, of which there are total_replicas for each step; more
 * replicas than are aggregated are spares for slow ones.
 *
 * The returned operation, and "train_op", is a worker's part of the step: it
 * gives its gradients away and waits for a token.  The chief's part (collection
 * tfd_sync_update) is run by a TFD_Trainer's chief on a thread of its own.
 * Accumulators and queue have the names that Python gives them. */
TF_CAPI_EXPORT extern TF_Operation *
TFD_MinimizeInStep(TFD_Scope *scope, const char *optimizer, float learning_rate,
                   TF_Output loss, int replicas_to_aggregate,
                   int total_replicas, TF_Status *status);

/* Operations that save and restore all variables that are not local, named as
 * Python's Saver names them.  Call it after the last variable is made. */
TF_CAPI_EXPORT extern void TFD_AddSaver(TFD_Scope *scope, TF_Status *status);

/* Puts an output, or an operation, into a collection of the MetaGraphDef. */
TF_CAPI_EXPORT extern void TFD_Collect(TFD_Scope *scope, const char *collection,
                                       TF_Output output, TF_Status *status);
TF_CAPI_EXPORT extern void TFD_CollectOp(TFD_Scope *scope,
                                         const char *collection,
                                         TF_Operation *op, TF_Status *status);

/* A MetaGraphDef of the graph, which Python's import_meta_graph() reads. */
TF_CAPI_EXPORT extern void
TFD_ExportMetaGraph(TFD_Scope *scope, TF_Buffer *output, TF_Status *status);

/* ---- The trainer --------------------------------------------------------- */

/*
 * Runs a MetaGraphDef, written by TFD_ExportMetaGraph() or by Python, until its
 * global step has reached max_steps.
 *
 * Variables, and what must stand beside them, go to the ps tasks in turn,
 * everything else to worker_device; without ps tasks nothing is placed.  The
 * chief initialises the variables or restores the latest checkpoint, saves by
 * the clock and by steps, and once more at the end; others wait until the
 * variables have values.  A lost or restarted task (TF_UNAVAILABLE, TF_ABORTED)
 * means a new session, with what the last checkpoint holds.
 *
 * Checkpoints are written and read by operations on the chief's worker_device,
 * whatever devices the saver names: ps tasks need no disk.  While it saves or
 * restores, that task holds the variables once.  The file `checkpoint` beside
 * them, and the removal of old ones, are this process's: it must see the same
 * directory.
 *
 * A save that fails, such as on a full disk, is tried again while training goes
 * on, and left out meanwhile.  The first one of a new training, which finds
 * a directory that cannot be written, and the last one, which is tried for 7 s,
 * are errors of TFD_Train().
 *
 * Collections it uses: variables, local_variables, train_op (needed),
 * global_step, losses (the first is reported), local_init_op, tfd_eval, and
 * those of TFD_MinimizeInStep().
 */
typedef struct TFD_TrainerOptions {
    size_t struct_size; /* sizeof(TFD_TrainerOptions) */
    const char *target; /* as for TF_SetTarget(); NULL: "" */
    const char *meta_file;
    const char *checkpoint_dir; /* NULL: neither saved nor restored */
    bool is_chief;
    int ps_tasks;
    const char *worker_device; /* "/job:worker/task:1" */
    int64_t max_steps;         /* 0: until stopped */
    int64_t save_steps;        /* 0: not by steps */
    double save_secs;          /* 0: not by the clock */
    double recovery_wait_secs; /* longest pause between tries; 0: 30 */
    /* After each step, on the thread of TFD_Train().  loss is NaN when there is
     * none. */
    void (*after_step)(void *ctx, int64_t global_step, double loss);
    /* At the end, on the chief, for each scalar of collection "tfd_eval". */
    void (*evaluated)(void *ctx, const char *name, double value);
    /* Something a person may want to know: waiting, restored, saved, lost. */
    void (*said)(void *ctx, const char *text);
    void *ctx;
    /* The latest checkpoint is damaged: false ends training with an error that
     * names the file and the last checkpoint that is whole; true takes that. */
    bool restore_last_good;
    /* What training goes on after, but a person should see to: "save_failed",
     * "checkpoint_damaged", with the checkpoint's path.  NULL: said(). */
    void (*trouble)(void *ctx, const char *event, const char *path,
                    const char *text);
} TFD_TrainerOptions;

/* Reads and checks the file.  The strings are copied. */
TF_CAPI_EXPORT extern TFD_Trainer *
TFD_NewTrainer(const TFD_TrainerOptions *options, TF_Status *status);
/* TF_OK at the last step, at the end of the input and after
 * TFD_StopTraining(). */
TF_CAPI_EXPORT extern void TFD_Train(TFD_Trainer *trainer, TF_Status *status);
/* From any thread: TFD_Train() returns after the running step, having saved. */
TF_CAPI_EXPORT extern void TFD_StopTraining(TFD_Trainer *trainer);
/* For callbacks; the session is NULL while there is none. */
TF_CAPI_EXPORT extern TF_Session *TFD_TrainerSession(TFD_Trainer *trainer);
TF_CAPI_EXPORT extern TF_Graph *TFD_TrainerGraph(TFD_Trainer *trainer);
TF_CAPI_EXPORT extern void TFD_DeleteTrainer(TFD_Trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
