/*
 * step_handle.h - resources that one step makes and that end with it: stacks,
 * tensor arrays.
 *
 * Nothing but the handles refers to them: the last tensor that holds a handle
 * frees the resource.  So they need no name that others could find, and do not
 * outlive the step, nor leave its task.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_STEP_HANDLE_H
#define TFD_KERNELS_STEP_HANDLE_H

#include "kernels/core/runtime.h"

/* Output `out` becomes a handle of the resource, which is taken. */
enum tfd_code tfd_step_handle(struct tfd_kctx *k, int out, struct tfd_str name,
                              struct tfd_resource *take,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
