/*
 * operation.h - an Operation message: what is to run, where, with which values.
 *
 * Strings are views of the request, values are counted.
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_OPERATION_H
#define TFD_DAEMON_EAGER_OPERATION_H

#include "common/graph/graph.h"
#include "daemon/worker_api.h"
#include "rpc/core/message.h"

struct tfd_eager_context;
struct tfd_eager_packed;

/* A value as the request has it. */
struct tfd_eager_input {
    struct tfd_str proto;  /* an Operation.Input */
    struct tfd_str device; /* where it lies; "": here */
    int dtype; /* as it says; of a value that is here, the value's */
    int arg;   /* the argument that it is a value of */
    struct tfd_eager_packed *packed; /* counted; proto is its; NULL */
};

/* The number of an operation whose values are its answer. */
#define TFD_EAGER_NOT_KEPT (-1)

struct tfd_eager_operation {
    int64_t id;
    struct tfd_str name;
    struct tfd_str device; /* as asked for; "" is the task's first */
    const struct tfd_device_attributes *on; /* that one; the context's */
    bool is_function, is_component;
    int64_t step_id;        /* of a component */
    struct tfd_attr *attrs; /* by name, in their order; no name twice */
    int attr_count;
    struct tfd_tensor *in; /* empty: of another task, which has the value */
    struct tfd_eager_input *inputs; /* likewise in_count of them */
    int in_count;
    int arg_count; /* fewer where a packed handle has several values */
    int room;
};

/* Finds its values, in the context or in the message, but for those of other
 * tasks; of a function's argument that is a resource it says where the resource
 * is.  On failure there is nothing to release, and out->id is that of the
 * message, or TFD_EAGER_NOT_KEPT if it cannot be read.  INVALID_ARGUMENT for a
 * value or a device that is not there, and beyond TFD_EAGER_INPUTS_MAX and
 * TFD_EAGER_ATTRS_MAX. */
enum tfd_code tfd_eager_operation_decode(struct tfd_eager_context *c,
                                         const struct tfd_incoming *in,
                                         struct tfd_str proto,
                                         struct tfd_eager_operation *out,
                                         struct tfd_status *st) TFD_MUST_USE;
void tfd_eager_operation_deinit(struct tfd_eager_operation *o);
/* All values are here; else UNIMPLEMENTED, or INVALID_ARGUMENT for a packed
 * handle. */
enum tfd_code tfd_eager_operation_here(const struct tfd_eager_context *c,
                                       const struct tfd_eager_operation *o,
                                       struct tfd_status *st) TFD_MUST_USE;

/* Whether some of its values lie on other tasks, and none is packed. */
bool tfd_eager_operation_spans(const struct tfd_eager_operation *o);

/* One RemoteTensorHandle: its value if it lies here, else where it lies; a
 * packed one is counted.  Where its operation failed, fails as that did. */
enum tfd_code tfd_eager_operation_value(const struct tfd_eager_context *c,
                                        struct tfd_str proto,
                                        struct tfd_eager_input *input,
                                        struct tfd_tensor *out,
                                        struct tfd_status *st) TFD_MUST_USE;
/* Whether a device is this task's ("" then), or that of another task of the
 * cluster; INVALID_ARGUMENT "NAME unknown device." */
enum tfd_code tfd_eager_find_any_device(const struct tfd_eager_context *c,
                                        struct tfd_str *name,
                                        struct tfd_status *st) TFD_MUST_USE;

/* A device of this task by any of its names; "" is the first.  With
 * `specified` the text is that of an op's device, else "NAME unknown device."
 */
enum tfd_code tfd_eager_find_device(const struct tfd_eager_context *c,
                                    struct tfd_str name, bool specified,
                                    const struct tfd_device_attributes **out,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
