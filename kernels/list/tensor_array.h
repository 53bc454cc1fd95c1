/*
 * tensor_array.h - arrays of tensors, written once and read in loops; shared by
 * the files of their ops.
 *
 * An array's gradient is another array, which belongs to it by the name of the
 * gradient's source; it adds where it is written twice.  "Flow" is a float that
 * only orders the ops.
 *
 * The ops have been spelled thrice: with a reference to two strings as handle,
 * with the strings, and with a resource.
 *
 * Threads: any; functions on an array that say so need its lock.
 */
#ifndef TFD_KERNELS_TENSOR_ARRAY_H
#define TFD_KERNELS_TENSOR_ARRAY_H

#include "common/thread/lock.h"
#include "kernels/core/step_handle.h"

struct tfd_tensor_array_slot {
    struct tfd_tensor value; /* of a gradient also empty, for zeros */
    struct tfd_shape shape;  /* once written */
    int64_t next;            /* of those in use; -1: the last one */
    bool in_use, written, read, cleared;
};

struct tfd_tensor_array {
    struct tfd_resource resource;
    struct tfd_lock lock; /* of what follows */
    enum tfd_dtype dtype;
    struct tfd_shape element_shape; /* may be partial */
    bool dynamic, clear_after_read, identical, adds, closed;
    struct tfd_tensor_array_slot *slots;
    int64_t count, capacity; /* slots that were never used are not touched: an
                              * array of millions takes no time to make */
    int64_t last_used;       /* -1: none; the others follow by `next`, so that
                              * a few far apart are all that is walked */
    /* Elements that there were when it was split; a gradient's are its array's.
     * The gradient of that is their concatenation, whatever was written since:
     * what TensorFlow calls the marked size. */
    int64_t split_count;
    struct tfd_tensor_array *gradients; /* counted; linked by next_gradient */
    struct tfd_tensor_array *next_gradient;
    char *source; /* of a gradient */
    char name[TFD_STEP_NAME_MAX];
};

extern const struct tfd_resource_type tfd_tensor_array_type;

struct tfd_tensor_array *tfd_tensor_array_new(enum tfd_dtype dtype,
                                              struct tfd_str name,
                                              struct tfd_status *st);
/* The array at input 0, counted and locked, not closed. */
enum tfd_code tfd_tensor_array_find(struct tfd_kctx *k,
                                    struct tfd_tensor_array **out,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_tensor_array_leave(struct tfd_tensor_array *a);

/* Locked. */
enum tfd_code tfd_tensor_array_resize(struct tfd_tensor_array *a, int64_t count,
                                      struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_tensor_array_write(const struct tfd_kctx *k,
                                     struct tfd_tensor_array *a, int64_t index,
                                     const struct tfd_tensor *value,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_tensor_array_read_held(const struct tfd_kctx *k,
                                         struct tfd_tensor_array *a,
                                         int64_t index, struct tfd_tensor *out,
                                         struct tfd_status *st) TFD_MUST_USE;
/* The same, but for what a container may hold: kept.h. */
enum tfd_code tfd_tensor_array_read(const struct tfd_kctx *k,
                                    struct tfd_tensor_array *a, int64_t index,
                                    struct tfd_tensor *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The slot, to be changed; others are only read, and hold nothing. */
struct tfd_tensor_array_slot *
tfd_tensor_array_slot_use(struct tfd_tensor_array *a, int64_t index);
/* What write says of a type or shape that is not the array's. */
enum tfd_code tfd_tensor_array_flow(struct tfd_kctx *k, int in, int out,
                                    struct tfd_status *st) TFD_MUST_USE;

/* The rows of an op in its three spellings; what follows the handle, and the
 * rest of the row. */
#define TFD_TENSOR_ARRAY_USERS(name_, inputs_, ...) \
    TFD_TENSOR_ARRAY_FLAGGED(name_, inputs_, 0U, __VA_ARGS__)
#define TFD_TENSOR_ARRAY_FLAGGED(name_, inputs_, flags_, ...)                  \
    {.name = name_,                                                            \
     .inputs = "handle: Ref(string)" inputs_,                                  \
     __VA_ARGS__,                                                              \
     .flags = TFD_OP_STEP_STATE | flags_},                                     \
        {.name = name_ "V2",                                                   \
         .inputs = "handle: string" inputs_,                                   \
         __VA_ARGS__,                                                          \
         .flags = TFD_OP_STEP_STATE | flags_},                                 \
    {                                                                          \
        .name = name_ "V3", .inputs = "handle: resource" inputs_, __VA_ARGS__, \
        .flags = TFD_OP_STATEFUL | TFD_OP_STEP_STATE | flags_                  \
    }
#define TFD_TENSOR_ARRAY_KERNELS(name_, compute_)                          \
    TFD_KERNEL_ANY(name_, compute_), TFD_KERNEL_ANY(name_ "V2", compute_), \
        TFD_KERNEL_ANY(name_ "V3", compute_)

/* For all devices; GPU rows have a `range` (place.h). */
tfd_compute_fn tfd_tensor_array_compute_make, tfd_tensor_array_compute_write,
    tfd_tensor_array_compute_read, tfd_tensor_array_compute_gather,
    tfd_tensor_array_compute_scatter, tfd_tensor_array_compute_concat,
    tfd_tensor_array_compute_split;

#endif
