/*
 * memory_pool.h - a caching allocator: few large regions, cut into chunks.
 *
 * Memory of a device is given back and out again without asking the device:
 * all kernels of a device run in the order of one stream, so who gets a chunk
 * next writes to it after those who used it have read it.  Who uses a chunk on
 * another stream holds its buffer until an event says that it is done, or until
 * the kernels' stream waits for it; who writes to one there waits for kernels
 * first (copy_pool.h).
 *
 * A chunk has a multiple of 256 bytes.  The best fit is taken from bins by
 * powers of two and cut when it is much larger; neighbours that are free become
 * one.  Regions are asked for when they are needed: one of all that is allowed,
 * or ever larger ones where the pool is to grow.
 *
 * Errors: RESOURCE_EXHAUSTED that names the request, the limit, what is in use
 * and the largest free chunk; the pool stays good.
 *
 * Threads: any.
 */
#ifndef TFD_CUDA_MEMORY_POOL_H
#define TFD_CUDA_MEMORY_POOL_H

#include "common/base/alloc.h"
#include "common/thread/lock.h"

#define TFD_CUDA_CHUNK 256 /* CUDA aligns to it */
#define TFD_CUDA_BINS 32   /* from 256 B to half a TiB */

struct tfd_cuda_chunk;

/* Who gets a buffer when its last reference is gone, in place of the pool, to
 * give it out again.  Embedded by its owner. */
struct tfd_cuda_keeper {
    /* False: it goes back to the pool after all.  A lock may be held. */
    bool (*keep)(struct tfd_cuda_keeper *k, struct tfd_buffer *b);
};

/* Where regions come from. */
struct tfd_cuda_source {
    /* NULL when there is no room. */
    void *(*get)(void *ctx, size_t size);
    void (*put)(void *ctx, void *at);
    void *ctx;
    const char *name; /* "GPU:0", for messages */
};

struct tfd_cuda_memory_pool_options {
    struct tfd_cuda_source source;
    size_t limit; /* of all regions together */
    bool grows;   /* small regions first */
    bool nested;  /* regions are buffers of a pool that is not */
    void *owner;  /* of who made it */
    /* Memory is short: lets go what is kept.  False: nothing was. */
    bool (*relieve)(void *owner);
};

struct tfd_cuda_memory_pool_stats {
    size_t limit;
    size_t reserved;     /* in regions */
    size_t in_use;       /* in chunks, as cut; without what is kept */
    size_t peak;         /* of in_use */
    size_t largest_free; /* one chunk */
    size_t allocs;       /* chunks given out so far */
    size_t regions;
    size_t failures;
};

struct tfd_cuda_memory_pool {
    struct tfd_memory memory; /* first: its buffers are the chunks */
    struct tfd_cuda_memory_pool_options o;
    struct tfd_lock lock;                       /* of what follows */
    struct tfd_cuda_chunk *bins[TFD_CUDA_BINS]; /* each sorted by size */
    struct tfd_cuda_chunk *regions;             /* the first chunk of each */
    struct tfd_cuda_chunk *unused;              /* records without memory */
    struct tfd_cuda_memory_pool_stats stats;
    size_t next_region;
    bool closed;
};

void tfd_cuda_memory_pool_init(struct tfd_cuda_memory_pool *p,
                               const struct tfd_cuda_memory_pool_options *o);
/* Gives all regions back; nothing is in use. */
void tfd_cuda_memory_pool_deinit(struct tfd_cuda_memory_pool *p);
/* The same for a pool that malloc() made, once its last buffer is back: results
 * of a session outlive it.  Nothing is made any more. */
void tfd_cuda_memory_pool_close(struct tfd_cuda_memory_pool *p);

/* A buffer of size > 0 bytes; returned with its last reference. */
struct tfd_buffer *tfd_cuda_memory_pool_make(struct tfd_cuda_memory_pool *p,
                                             size_t size,
                                             struct tfd_status *st);
/* Whether a buffer was made by a pool, and by which. */
struct tfd_cuda_memory_pool *
tfd_cuda_memory_pool_of(const struct tfd_buffer *b);

/* b goes to k from now on.  NULL: back to the pool. */
void tfd_cuda_memory_pool_keep(struct tfd_buffer *b, struct tfd_cuda_keeper *k);
/* Of any buffer; NULL: nobody. */
struct tfd_cuda_keeper *tfd_cuda_memory_pool_keeper(const struct tfd_buffer *b);
/* What a buffer can have at most, and whether it may serve for `size` bytes:
 * it wastes no more than the pool would. */
size_t tfd_cuda_memory_pool_capacity(const struct tfd_buffer *b);
bool tfd_cuda_memory_pool_fits(const struct tfd_buffer *b, size_t size);
/* Of a buffer that is kept: gives it out, or back to the pool. */
void tfd_cuda_memory_pool_reuse(struct tfd_buffer *b, size_t size);
void tfd_cuda_memory_pool_let_go(struct tfd_buffer *b);

/* The start of the region that an address is in; NULL: none of p's.  A region
 * stays until the end. */
void *tfd_cuda_memory_pool_region(struct tfd_cuda_memory_pool *p,
                                  const void *at);

void tfd_cuda_memory_pool_stats(struct tfd_cuda_memory_pool *p,
                                struct tfd_cuda_memory_pool_stats *out);

#endif
