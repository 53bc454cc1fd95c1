/*
 * copy_pool.h - device memory for values that are copied to a GPU, taken so
 * that the copy need not wait for kernels, nor kernels for the copy.
 *
 *     tfd_cuda_copy_pool_take(d, size, stream, &b, st)  `stream` may write to b
 *     a copy to b on that stream
 *     tfd_cuda_copy_pool_expect(b, stream)              the copy is enqueued
 *     tfd_cuda_copy_pool_await(b)                       before kernels read b
 *
 * The problem: a chunk that the device's pool hands out may still be read by
 * kernels that are enqueued and have not run, so whoever writes to it on
 * another stream must wait for all of these.
 *
 * The solution: a block of this pool does not go back to the device's pool
 * with its last reference.  It stays here with an event of the kernels' stream
 * from that moment.  Once the event has passed nobody reads the block, and the
 * next copy may write to it whatever else is enqueued.  Of such blocks the
 * tightest fit at the lowest address is taken, so that equal steps find their
 * values in the same places, which captured kernels need (captures.h).  When
 * no block is free, a new one comes from the device's pool, behind all
 * kernels once; when the bound is reached, the copy waits for the kernels of
 * the block that was let go first.
 *
 * What is kept here has a bound, goes back to the device's pool when memory is
 * short, and does not count as in use.  It may go back at any time, since by
 * then the kernels' stream has been made to wait for the copy.
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
