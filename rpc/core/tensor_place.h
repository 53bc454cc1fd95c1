/*
 * tensor_place.h - zero-copy receiving: where in a buffer a message should
 * begin so that the large tensor inside it is aligned and can be used where it
 * lies.
 *
 * A peer's tensor_content lies at any offset of its message.  When the message
 * is received into a buffer that begins some bytes earlier or later, the tensor
 * lands on an aligned address and is used in place instead of being copied.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_RPC_TENSOR_PLACE_H
#define TFD_RPC_TENSOR_PLACE_H

#include "common/base/str.h"

/* begin: the first bytes of a message of `size` bytes.  Returns how many bytes
 * (less than align, a power of two) to leave free before it.  A message whose
 * first bytes tell nothing, or that has no large tensor, gets 0; a wrong guess
 * costs the copy and nothing else. */
size_t tfd_tensor_place(struct tfd_str begin, uint64_t size, size_t align);

#endif
