/*
 * kernels_page.h - which kernels this server has: a line an op, kind of device
 * and memory, with the types of the op's key attribute, or * for all.
 *
 *     AddV2 CPU host T=float,double
 *     AddV2 GPU device T=float,double
 *     AddV2 GPU host T=int32
 *     NoOp GPU host *
 *
 * "GPU host": placed on a GPU, and all its arguments lie in host memory.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_STATUS_KERNELS_PAGE_H
#define TFD_DAEMON_STATUS_KERNELS_PAGE_H

#include "kernels/core/registry.h"

void tfd_kernels_page_write(const struct tfd_registry *r,
                            struct tfd_bytes *out);

#endif
