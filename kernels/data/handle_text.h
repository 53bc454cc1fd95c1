/*
 * handle_text.h - handles of resources as strings, and back: a ResourceHandle
 * message, which only the task that wrote it reads.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_HANDLE_TEXT_H
#define TFD_KERNELS_DATA_HANDLE_TEXT_H

#include "kernels/core/runtime.h"

/* Output 0, a string, is the handle of input 0, whose resource is there. */
enum tfd_code tfd_handle_text_write(struct tfd_kctx *k,
                                    const struct tfd_resource_type *type,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Output 0, a handle, is that of the string in input 0; *out is the resource,
 * counted.  By the name of its container, or by an anonymous one. */
enum tfd_code tfd_handle_text_read(struct tfd_kctx *k,
                                   const struct tfd_resource_type *type,
                                   struct tfd_resource **out,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
