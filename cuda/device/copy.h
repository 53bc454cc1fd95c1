/*
 * copy.h - tensors between host memory and devices, and between devices.
 *
 * Input 0 of k becomes output 0 in the other memory.  A copy to the host ends
 * when the bytes are there.  One to a device ends once it is enqueued; kernels
 * that read what it brings are enqueued behind tfd_cuda_copy_await().  So of
 * 64 KiB and more, a copy waits for no kernel of the device that it goes to,
 * and none that is enqueued before await() waits for the copy: it is on a
 * stream of its own, to memory that no kernel uses (copy_pool.h).  Copies that
 * come from a device wait for what has been enqueued there.
 *
 * A value that was brought may be let go at any time, read or not.  The
 * functions here that read one await it themselves.  Host memory that a copy
 * goes through is pinned; what comes from a device stays there, so that it is
 * sent from where it lies.
 *
 * Errors: as k's, by tfd_kctx_finish().
 *
 * Threads: any.
 */
#ifndef TFD_CUDA_COPY_H
#define TFD_CUDA_COPY_H

#include "cuda/device/cuda_device.h"
#include "kernels/core/kernel.h"

/* One of from and to may be NULL: the host. */
void tfd_cuda_copy(struct tfd_kctx *k, struct tfd_cuda_device *from,
                   struct tfd_cuda_device *to);

/* The same for variants, whose tensors are copied (copy_variant.c); those of
 * types that no device holds stay where they are. */
void tfd_cuda_copy_variant(struct tfd_kctx *k, struct tfd_cuda_device *from,
                           struct tfd_cuda_device *to);

/* A tensor, which is not empty, for kernels of `to` that are enqueued from now
 * on. */
enum tfd_code tfd_cuda_copy_across(struct tfd_cuda_device *from,
                                   struct tfd_cuda_device *to,
                                   const struct tfd_tensor *in,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* A tensor of d, which is not empty, in pinned host memory.  done() follows
 * once, from any thread, possibly before this returns; st is NULL, or why there
 * is none. */
typedef void tfd_cuda_copied_fn(void *ctx, struct tfd_tensor *take_out,
                                const struct tfd_status *st);
void tfd_cuda_copy_out(struct tfd_cuda_device *d,
                       const struct tfd_tensor *value, tfd_cuda_copied_fn *done,
                       void *ctx);

/* What is enqueued for kernels of d from now on may read values: call it before
 * these are.  It costs next to nothing for values that no copy brought, those
 * in host memory included. */
enum tfd_code tfd_cuda_copy_await(struct tfd_cuda_device *d,
                                  const struct tfd_tensor *values, int count,
                                  struct tfd_status *st) TFD_MUST_USE;

/* A tensor of another process that is mapped at `from` (share.h), in the memory
 * of d, for kernels behind tfd_cuda_copy_await().  value has type, shape and a
 * buffer that is held until the copy has passed. */
enum tfd_code tfd_cuda_copy_mapped(struct tfd_cuda_device *d, const void *from,
                                   const struct tfd_tensor *value,
                                   struct tfd_tensor *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* A tensor of the host in the memory of d, for kernels behind
 * tfd_cuda_copy_await(). */
enum tfd_code tfd_cuda_copy_in(struct tfd_cuda_device *d,
                               const struct tfd_tensor *value,
                               struct tfd_tensor *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* The same for what the kernel k enqueues, awaited.  A kernel that is captured
 * gets what value has now with each launch. */
enum tfd_code tfd_cuda_copy_for(struct tfd_kctx *k,
                                const struct tfd_tensor *value,
                                struct tfd_tensor *out,
                                struct tfd_status *st) TFD_MUST_USE;

void tfd_cuda_copy_free_records(struct tfd_cuda_device *d);

#endif
