/*
 * step_handle.h - resources that one step makes and that end with it: stacks,
 * tensor arrays.
 *
 * Of a resource handle nothing but the tensors refers to them: the last one
 * that holds it frees the resource.  So they need no name that others could
 * find, and do not outlive the step, nor leave its task.
 *
 * Older ops have instead two strings, [group, name], or a reference to them.
 * The step keeps what these name until it ends.  The buffer of the strings
 * knows its resource, so that most kernels look up no name.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_STEP_HANDLE_H
#define TFD_KERNELS_STEP_HANDLE_H

#include "kernels/core/runtime.h"

#define TFD_STEP_NAME_MAX 128 /* bytes, with the end */

/* Output `out` becomes a handle, of the kind that the node has, of the
 * resource, which is taken. */
enum tfd_code tfd_step_handle(struct tfd_kctx *k, int out, const char *group,
                              struct tfd_str name, struct tfd_resource *take,
                              struct tfd_status *st) TFD_MUST_USE;
/* A resource handle, whatever the kind of node. */
enum tfd_code tfd_step_resource(struct tfd_kctx *k, int out,
                                struct tfd_str name, struct tfd_resource *take,
                                struct tfd_status *st) TFD_MUST_USE;

/* The name of what a node makes: `wanted`, or the node's; with a number where
 * others can find it by that. */
void tfd_step_name(struct tfd_kctx *k, int out, struct tfd_str wanted,
                   char name[TFD_STEP_NAME_MAX]);

/* The resource that input 0 names, by a handle of any kind; counted. */
enum tfd_code tfd_step_find(struct tfd_kctx *k,
                            const struct tfd_resource_type *type,
                            struct tfd_resource **out,
                            struct tfd_status *st) TFD_MUST_USE;

#endif
