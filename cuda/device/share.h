/*
 * share.h - device memory of another process of this host, mapped into this one
 * (CUDA IPC), so that values go from card to card without the host.
 *
 * What is shared is a whole region of the device's pool; a value is the region
 * and an offset in it.  The sender holds the value's buffer until the other
 * process has copied it.  No event crosses between the processes: a value is
 * offered only once the card has computed it.
 *
 * Threads: any.
 */
#ifndef TFD_CUDA_SHARE_H
#define TFD_CUDA_SHARE_H

#include "cuda/device/cuda_device.h"

#define TFD_CUDA_HOST_SIZE 160

/* Names what processes must have in common to map each other's memory: the
 * host as it was started, and the namespaces of its processes and of their
 * interprocess communication.  "" when that cannot be told. */
void tfd_cuda_share_host(char host[TFD_CUDA_HOST_SIZE]);

/* The region that an address is in, and where; NULL: none. */
void *tfd_cuda_share_region(struct tfd_cuda_device *d, const void *at,
                            uint64_t *offset);
enum tfd_code tfd_cuda_share_handle(struct tfd_cuda_device *d, void *region,
                                    struct tfd_cuda_handle *out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* May take milliseconds. */
enum tfd_code tfd_cuda_share_map(struct tfd_cuda_device *d,
                                 const struct tfd_cuda_handle *h, void **at,
                                 size_t *size,
                                 struct tfd_status *st) TFD_MUST_USE;
/* No copy from it is under way. */
void tfd_cuda_share_unmap(struct tfd_cuda_device *d, void *at);

/* fn() follows once the kernels that have been enqueued have run, from any
 * thread, possibly before this returns; st is NULL, or the error that keeps
 * them from it. */
typedef void tfd_cuda_ready_fn(void *ctx, const struct tfd_status *st);
void tfd_cuda_share_after(struct tfd_cuda_device *d, tfd_cuda_ready_fn *fn,
                          void *ctx);

#endif
