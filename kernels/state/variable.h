/*
 * variable.h - variables: what VariableV2 refers to and VarHandleOp names.
 *
 * A value is never changed while somebody else can see its buffer: an update
 * that finds other readers copies first (copy on write), so a tensor read from
 * a variable is a snapshot and no read is torn.  Reading costs a lock and a
 * count.  Who takes a few rows and lets go at once looks at the value: an
 * update that would have to copy much waits for those, for as long as copying
 * takes. Locks of several variables (optimizers with slots) are taken in the
 * order of their addresses, each once: tfd_variables_lock().
 *
 * TensorFlow's reference variables change in place, and what was read from one
 * shares its memory.  A view stands for such a value: it shows what the
 * variable holds now, or a part of it, in the shape and type that were read.
 * TensorFlow gives a variable other memory when it is assigned a value of
 * another number of elements; from then on a view shows the last value before.
 * Only tfd_variable_read() and tfd_variable_view() take views; they keep their
 * variable.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_VARIABLE_H
#define TFD_KERNELS_VARIABLE_H

#include "common/thread/lock.h"
#include "kernels/core/runtime.h"

struct tfd_variable {
    struct tfd_resource resource;
    struct tfd_lock lock;
    struct tfd_tensor value; /* guarded; dtype is set while uninitialized too */
    bool initialized;        /* guarded */
    int looking;             /* atomic */
    enum tfd_dtype dtype;
    struct tfd_shape shape;     /* declared; may be partial */
    char *name;                 /* for messages; owned, but by a view */
    struct tfd_variable *views; /* guarded; of the memory it has now */
    /* of a view: */
    struct tfd_variable *of;   /* its variable; NULL: no view */
    size_t offset;             /* of what it shows, in bytes */
    struct tfd_variable *next; /* in `views`, like `at`: guarded by of->lock */
    struct tfd_variable **at;  /* what points to it; NULL: `value` is its own */
};

/* TensorFlow keeps the two kinds apart: a reference and a resource may have one
 * name. */
extern const struct tfd_resource_type tfd_variable_type;
extern const struct tfd_resource_type tfd_variable_ref_type;

struct tfd_variable_spec {
    const struct tfd_resource_type *type; /* one of the two above */
    struct tfd_str name;
    enum tfd_dtype dtype;
    struct tfd_shape shape;
};
/* A tfd_resource_make_fn; arg is a struct tfd_variable_spec. */
enum tfd_code tfd_variable_make(void *arg, struct tfd_resource **out,
                                struct tfd_status *st) TFD_MUST_USE;

/* A counted snapshot.  FAILED_PRECONDITION "Attempting to use uninitialized
 * value NAME" when there is none. */
enum tfd_code tfd_variable_read(struct tfd_variable *v, struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;
/* The same, but for what a container may hold: kept.h. */
enum tfd_code tfd_variable_read_held(struct tfd_variable *v,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* A snapshot for a short while; _looked() lets go of it, also after a failure,
 * which leaves it empty. */
enum tfd_code tfd_variable_look(struct tfd_variable *v, struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;
void tfd_variable_looked(struct tfd_variable *v, struct tfd_tensor *value);
/* Takes the tensor as the new value. */
void tfd_variable_set(struct tfd_variable *v, struct tfd_tensor *take_value);

/* A view, counted, of what v shows, which may be one itself; `seen` was read
 * from v, and has the shape and type of the view. */
enum tfd_code tfd_variable_view(struct tfd_variable *v,
                                const struct tfd_tensor *seen,
                                struct tfd_variable **out,
                                struct tfd_status *st) TFD_MUST_USE;
/* The same of `part`, which shows some of the bytes of `seen`. */
enum tfd_code tfd_variable_view_part(struct tfd_variable *v,
                                     const struct tfd_tensor *seen,
                                     const struct tfd_tensor *part,
                                     struct tfd_variable **out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* tfd_variable_read() of a view. */
enum tfd_code tfd_variable_view_read(struct tfd_variable *view,
                                     struct tfd_tensor *out,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Leaves v's value to its views: it gets other memory.  The lock is held. */
void tfd_variable_leave_views(struct tfd_variable *v);

/* The variable at input `in`, whether a reference or a resource handle; counted
 * (tfd_resource_unref(&v->resource)).  For the ops that come in both kinds. */
enum tfd_code tfd_kctx_variable(struct tfd_kctx *k, int in,
                                struct tfd_variable **out,
                                struct tfd_status *st) TFD_MUST_USE;

/* fn() of a snapshot of the variable at input 0, at which it looks. */
typedef enum tfd_code tfd_variable_value_fn(struct tfd_kctx *k,
                                            const struct tfd_tensor *value,
                                            struct tfd_status *st);
enum tfd_code tfd_kctx_with_value(struct tfd_kctx *k, tfd_variable_value_fn *fn,
                                  struct tfd_status *st) TFD_MUST_USE;

/* change() under the lock of the variable at input 0, which is output 0 as well
 * where there is one. */
typedef enum tfd_code tfd_variable_change_fn(struct tfd_kctx *k,
                                             struct tfd_variable *v,
                                             struct tfd_status *st);
enum tfd_code tfd_kctx_change_variable(struct tfd_kctx *k,
                                       tfd_variable_change_fn *change,
                                       struct tfd_status *st) TFD_MUST_USE;

/* Locks count variables (duplicates allowed) without deadlock. */
void tfd_variables_lock(struct tfd_variable *const *v, int count);
void tfd_variables_unlock(struct tfd_variable *const *v, int count);
/* Makes v's value writable in place: copies it if others see it.  The lock is
 * held.  FAILED_PRECONDITION when uninitialized. */
enum tfd_code tfd_variable_writable(struct tfd_variable *v,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
