/*
 * copy_pool.h - where copies to a device leave what they bring, so that they
 * and the kernels do not wait for each other.
 *
 *     tfd_cuda_copy_pool_take(d, size, stream, &b, st)   stream may write to b
 *     a copy to b on that stream
 *     tfd_cuda_copy_pool_expect(b, stream)               the copy is enqueued
 *     tfd_cuda_copy_pool_await(b)                        before kernels read b
 *
 * Memory of the pool may be in use by kernels that are yet to run, so who
 * writes to it on a stream of its own waits for all of them.  A block of the
 * copy_pool, a buffer of the pool that does not go back there with its last
 * reference, has an event of the kernels' stream from that moment: once that
 * has passed nobody reads the block, whatever else is enqueued.  Among such
 * blocks the tightest at the lowest address is taken, so that steps that are
 * alike have their values in the same places (captures look for that).  When
 * none is free, a new one comes from the pool, behind all kernels once, while
 * what is kept may grow; then the copy waits for the kernels of the block that
 * was let go first.
 *
 * What is kept has a bound, and goes back to the pool when memory is short; it
 * does not count as in use.  Going back is in order at any time, since the
 * kernels' stream has been made to wait for the copy by then.
 *
 * Ownership: blocks are buffers as others are; kernels may write to them, keep
 * them in variables, pass them on.
 *
 * Threads: any; one thread has a block until expect() has returned.  take()
 * uses the device; the rest may be called whatever device the thread uses.
 */
#ifndef TFD_CUDA_COPY_POOL_H
#define TFD_CUDA_COPY_POOL_H

#include "common/thread/lock.h"
#include "common/base/tensor.h"

/* What is kept has at most this part of the device's memory: the values of a
 * step or two of a large model, and little of what kernels work with. */
#define TFD_CUDA_COPY_POOL_PART 8
/* And so many blocks, which are looked through. */
#define TFD_CUDA_COPY_POOL_MAX 256

struct tfd_cuda_device;
struct tfd_cuda_block;

struct tfd_cuda_copy_pool {
    struct tfd_lock lock;                /* of what follows */
    struct tfd_cuda_block *first, *last; /* as they were let go */
    size_t size;                         /* of these, together */
    int count;
};

void tfd_cuda_copy_pool_init(struct tfd_cuda_copy_pool *in);
/* Every buffer is back, and nothing is enqueued. */
void tfd_cuda_copy_pool_deinit(struct tfd_cuda_copy_pool *in);

/* A block of size > 0 bytes that what `stream` is given next may write to. */
enum tfd_code tfd_cuda_copy_pool_take(struct tfd_cuda_device *d, size_t size,
                                      void *stream, struct tfd_buffer **out,
                                      struct tfd_status *st) TFD_MUST_USE;
/* b has its value once `stream` has passed what it was given so far.  CUDA's
 * error number; then b goes back to the pool with its last reference. */
int tfd_cuda_copy_pool_expect(struct tfd_buffer *b, void *stream);
/* What the kernels' stream of b's device is given next finds the value in b.
 * For any buffer or NULL; costs nothing but for the first of those that read a
 * block.  CUDA's error number. */
int tfd_cuda_copy_pool_await(const struct tfd_buffer *b);

/* Gives all that is kept back to the pool; false: it was nothing. */
bool tfd_cuda_copy_pool_relieve(struct tfd_cuda_copy_pool *in);

#endif
