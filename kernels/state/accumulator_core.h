/*
 * accumulator_core.h - conditional accumulators: gradients of several workers
 * summed up until enough have come.
 *
 * A gradient that was computed at a step before the accumulator's is stale and
 * is dropped without a word.  Who takes the sum waits until at least so many
 * gradients have come, gets all that have (their mean, unless the accumulator
 * sums), and moves the accumulator's step on by one.  Takers are served in the
 * order they came.
 *
 * A dense accumulator divides by the number of gradients, a sparse one divides
 * each row by the number of gradients that had it.
 *
 * Ownership: a counted resource; who waits holds a reference.
 * Threads: any.
 */
#ifndef TFD_KERNELS_ACCUMULATOR_CORE_H
#define TFD_KERNELS_ACCUMULATOR_CORE_H

#include "common/thread/lock.h"
#include "kernels/core/runtime.h"

struct tfd_accumulator;

/* What has come so far. */
struct tfd_accumulated {
    int64_t count; /* of gradients; 0: the rest is empty */
    struct tfd_tensor values;
    struct tfd_tensor indices; /* sparse: INT64, of each row of values */
    struct tfd_tensor counts;  /* sparse: INT32, gradients in each row */
};

struct tfd_accumulator_kind {
    const char *name; /* "dense" */
    /* Under the lock: the gradient in k's inputs fits, and is taken in. */
    enum tfd_code (*check)(const struct tfd_accumulator *a,
                           const struct tfd_kctx *k, struct tfd_status *st);
    enum tfd_code (*add)(struct tfd_accumulator *a, struct tfd_kctx *k,
                         struct tfd_status *st);
    /* Without the lock: what was taken becomes the outputs of k. */
    enum tfd_code (*hand_out)(const struct tfd_accumulator *a,
                              struct tfd_accumulated *taken, struct tfd_kctx *k,
                              struct tfd_status *st);
};

extern const struct tfd_accumulator_kind tfd_accumulator_dense,
    tfd_accumulator_sparse;

struct tfd_accumulator_spec {
    const struct tfd_accumulator_kind *kind;
    enum tfd_dtype dtype;
    struct tfd_shape shape; /* may be partial */
    bool mean;
};

struct tfd_accumulator {
    struct tfd_resource resource;
    struct tfd_accumulator_spec spec;
    struct tfd_lock lock; /* of what follows */
    int64_t step;
    struct tfd_accumulated sum;
    struct tfd_taker *first, *last; /* who waits */
};

extern const struct tfd_resource_type tfd_accumulator_type;

/* A tfd_resource_make_fn; arg is a struct tfd_accumulator_spec. */
enum tfd_code tfd_accumulator_make(void *arg, struct tfd_resource **out,
                                   struct tfd_status *st) TFD_MUST_USE;

void tfd_accumulated_clear(struct tfd_accumulated *s);

/* The gradient in k's inputs, computed at that step. */
enum tfd_code tfd_accumulator_apply(struct tfd_accumulator *a,
                                    struct tfd_kctx *k, int64_t step,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Takes over k and the reference and finishes k, sooner or later. */
void tfd_accumulator_take(struct tfd_accumulator *take_a, struct tfd_kctx *k,
                          int64_t required);
int64_t tfd_accumulator_count(struct tfd_accumulator *a);
void tfd_accumulator_set_step(struct tfd_accumulator *a, int64_t step);

/* ---- accumulator_dense.c: arithmetic for both ---------------------------- */

/* y = a + b, element by element; y may be either. */
struct tfd_accumulate_add {
    const void *a, *b;
    void *y;
};
tfd_range_fn *tfd_accumulate_add_fn(enum tfd_dtype dtype);

/* y = y / divisor, which is converted to the type first. */
struct tfd_accumulate_divide {
    void *y;
    int64_t divisor;
};
tfd_range_fn *tfd_accumulate_divide_fn(enum tfd_dtype dtype);

/* Nobody else sees the tensor, so it may be written. */
bool tfd_accumulator_writable(const struct tfd_tensor *t);

#endif
