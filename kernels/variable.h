/*
 * variable.h - variables: what VariableV2 refers to and VarHandleOp names.
 *
 * A value is never changed while somebody else can see its buffer: an update
 * that finds other readers copies first, so a tensor read from a variable is a
 * snapshot and no read is torn.  Reading costs a lock and a count.
 *
 * Locks of several variables (optimizers with slots) are taken in the order of
 * their addresses, each once: tfd_variables_lock().
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_VARIABLE_H
#define TFD_KERNELS_VARIABLE_H

#include "common/lock.h"
#include "kernels/runtime.h"

struct tfd_variable {
    struct tfd_resource resource;
    struct tfd_lock lock;
    struct tfd_tensor value; /* guarded; dtype is set while uninitialized too */
    bool initialized;        /* guarded */
    enum tfd_dtype dtype;
    struct tfd_shape shape; /* declared; may be partial */
    char *name;             /* for messages; owned */
};

/* TensorFlow keeps the two kinds apart: a reference and a resource may have one
 * name. */
extern const struct tfd_resource_type tfd_variable_type;
extern const struct tfd_resource_type tfd_ref_variable_type;

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
/* Takes the tensor as the new value. */
void tfd_variable_set(struct tfd_variable *v, struct tfd_tensor *take_value);

/* The handle that is input `in`; NULL where it has no element. */
const struct tfd_handle *tfd_kctx_handle(const struct tfd_kctx *k, int in);

/* The variable at input `in`, whether a reference or a resource handle; counted
 * (tfd_resource_unref(&v->resource)).  For the ops that come in both kinds. */
enum tfd_code tfd_kctx_variable(struct tfd_kctx *k, int in,
                                struct tfd_variable **out,
                                struct tfd_status *st) TFD_MUST_USE;

/* fn() of a snapshot of the variable at input 0, which may be let go at once.
 */
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
