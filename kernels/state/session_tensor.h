/*
 * session_tensor.h - what the tensors come to that a session keeps on a device
 * between its steps (GetSessionHandle).
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_SESSION_TENSOR_H
#define TFD_KERNELS_SESSION_TENSOR_H

#include <stddef.h>

struct tfd_rt;

/* Bytes of their elements, and of their names; rt is the device as the session
 * sees it. */
size_t tfd_session_tensors_size(const struct tfd_rt *rt);

#endif
