/*
 * model.h - what is behind a TFD_Scope: the model that is being built, its
 * variables and collections.
 *
 * All of it lies in one arena that the root scope owns.
 *
 * Threads: one at a time.
 */
#ifndef TFD_CLIENT_MODEL_H
#define TFD_CLIENT_MODEL_H

#include <tfd/train.h>

#include "client/c_api/capi.h"

/* An element of a list that keeps the order in which it was filled. */
struct tfd_item {
    struct tfd_str value;
    struct tfd_item *next;
};

struct tfd_collection {
    struct tfd_str name;
    bool bytes; /* bytes_list of messages, else node_list of names */
    struct tfd_item *first, **end;
    struct tfd_collection *next;
};

struct TFD_Variable {
    struct tfd_model *model;
    TF_Operation *handle, *initializer, *is_initialized;
    TF_Output initial, read;
    int flags;
    TFD_Variable *next;
};

struct tfd_saver {
    bool exists;
    struct tfd_str filename_tensor, save_tensor, restore_op;
};

struct tfd_model {
    TF_Graph *graph;
    struct tfd_arena arena;
    TFD_Variable *variables, **variables_end;
    TFD_Variable *global_step;
    struct tfd_collection *collections, **collections_end;
    struct tfd_saver saver;
    int next_ps; /* where the next variable goes */
};

struct TFD_Scope {
    struct tfd_model *model;
    struct tfd_str prefix;    /* "" or "a/b/" */
    struct tfd_str device;    /* of what is no variable */
    int ps_tasks;             /* 0: variables have no device of their own */
    struct tfd_item *control; /* value.data is a TF_Operation */
    bool root;
};

/* True when the status says no failure, so that the caller goes on. */
bool tfd_model_ok(const TF_Status *status);
/* A terminated copy in the arena; data NULL, and a failure, without memory. */
struct tfd_str tfd_model_keep(struct tfd_model *m, struct tfd_str s,
                              struct tfd_status *st);

/* Begins an operation of this scope, its name unique: prefix, name.  NULL on
 * failure.  Device and control inputs are the scope's. */
TF_OperationDescription *tfd_scope_begin(TFD_Scope *s, const char *op_type,
                                         const char *name, TF_Status *status);
/* The same under exactly this name and on exactly this device. */
TF_OperationDescription *
tfd_scope_begin_exact(TFD_Scope *s, const char *op_type, struct tfd_str name,
                      struct tfd_str device, TF_Status *status);
/* Adds it; output 0. */
TF_Output tfd_scope_end(TF_OperationDescription *d, TF_Status *status);
/* prefix and name as one: for names that others are made of. */
struct tfd_str tfd_scope_unique(TFD_Scope *s, const char *name,
                                struct tfd_status *st);
/* Text made of a format, kept in the model's arena. */
struct tfd_str tfd_model_format(struct tfd_model *m, struct tfd_status *st,
                                const char *fmt, ...) TFD_PRINTF(3, 4);

/* A scope for one device: a copy of s; free of control inputs. */
TFD_Scope tfd_scope_on(const TFD_Scope *s, struct tfd_str device);

void tfd_model_collect(struct tfd_model *m, const char *collection, bool bytes,
                       struct tfd_str value, struct tfd_status *st);

/* Variables to be saved under these names; slices: "" for a whole tensor, else
 * "4 2 0,2:0,2", where the part begins and how long it is. */
struct tfd_saved_variables {
    TFD_Variable **variables;
    const char **names, **slices;
    int count;
};
/* Feed filename and fetch save, or run restore. */
struct tfd_saver_ops {
    TF_Output filename, save;
    TF_Operation *restore;
};
/* saver.c: the operations of a saver below the scope, files on its device. */
void tfd_saver_add(TFD_Scope *scope, const struct tfd_saved_variables *saved,
                   struct tfd_saver_ops *out, TF_Status *status);

/* variable.c: VariableDef of one, appended. */
void tfd_variable_def(const TFD_Variable *v, struct tfd_bytes *out);
/* TFD_NewVariable() for a full name and a device. */
TFD_Variable *tfd_variable_new(TFD_Scope *s, struct tfd_str full_name,
                               TF_Output initial, int flags,
                               struct tfd_str device, TF_Status *status);

#endif
