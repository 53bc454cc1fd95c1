/*
 * kept.h - values of reference variables that were put into a container: a
 * queue, a stack, an array, a list or a resource variable.
 *
 * In TensorFlow such a container holds the variable's own memory, so what is
 * taken out shows assignments that were made in between.  Values are never
 * changed in place here, so the container holds a tensor whose buffer stands
 * for a view of the variable (variable.h):
 *
 *     put    a tensor with a view of v     v is assigned     take
 *     [ view of v ] --------------------------------> shows v's new value
 *
 * Whoever takes the tensor out either hands the view on, to consumers that
 * read late, or replaces it by a snapshot of what the view shows by then, so
 * that values of every type, strings too, are read safely.
 *
 * Threads: any.  The lock of a container may be held, that of a reference
 * variable not.
 */
#ifndef TFD_KERNELS_KEPT_H
#define TFD_KERNELS_KEPT_H

#include "kernels/core/kernel.h"

/* What a container holds of input `in`, counted: the value itself, but where it
 * was read from a reference variable. */
enum tfd_code tfd_kept_put(const struct tfd_kctx *k, int in,
                           struct tfd_tensor *out,
                           struct tfd_status *st) TFD_MUST_USE;

/* Output `out` is t, which a container holds; t stays the container's. */
enum tfd_code tfd_kept_give(struct tfd_kctx *k, int out,
                            const struct tfd_tensor *t,
                            struct tfd_status *st) TFD_MUST_USE;
/* Of t, which a container held, its value by now; t stays what it was where
 * that fails. */
enum tfd_code tfd_kept_take(struct tfd_tensor *t,
                            struct tfd_status *st) TFD_MUST_USE;
/* The same, counted, of what stays in the container. */
enum tfd_code tfd_kept_look(const struct tfd_tensor *t, struct tfd_tensor *out,
                            struct tfd_status *st) TFD_MUST_USE;
/* There is more to look at than its bytes. */
bool tfd_kept_is(const struct tfd_tensor *t);

#endif
