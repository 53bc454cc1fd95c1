/*
 * memory_pool.c - see memory_pool.h.
 *
 *     region   | chunk | chunk (free) | chunk |     lower, upper: neighbours
 *     bin[k]   free chunks of 256 << k bytes and more, the smallest first
 *
 * A chunk's record lies in host memory and holds the buffer that stands for it,
 * so giving one out allocates nothing once there are records enough.
 */
#include "cuda/device/memory_pool.h"

#include <assert.h>
#include <stdlib.h>

/* A chunk this much larger than asked for is cut even if less than half of it
 * would be wasted. */
#define WASTE_MAX ((size_t)128 << 20)

/* The first region of a pool that grows; each further one is twice as large. */
#define REGION_MIN ((size_t)2 << 20)

struct tfd_cuda_chunk {
    struct tfd_buffer buffer; /* first: a buffer is the start of its chunk */
    struct tfd_cuda_memory_pool *pool;
    char *at;
    size_t size;
    struct tfd_cuda_chunk *lower, *upper;   /* in its region */
    struct tfd_cuda_chunk *next, *previous; /* in its bin */
    struct tfd_cuda_chunk *region;          /* of a first chunk: the next */
    size_t region_size;                     /* of a first chunk */
    struct tfd_cuda_keeper *keeper;
    bool in_use;
};

/* ---- Bins ---------------------------------------------------------------- */

static int bin_of(size_t size)
{
    int bin = 63 - __builtin_clzll(size / TFD_CUDA_CHUNK);

    return bin < TFD_CUDA_BINS ? bin : TFD_CUDA_BINS - 1;
}

static void put_in_bin(struct tfd_cuda_memory_pool *p, struct tfd_cuda_chunk *c)
{
    struct tfd_cuda_chunk **at = &p->bins[bin_of(c->size)];
    struct tfd_cuda_chunk *before = NULL;

    while (*at && (*at)->size < c->size) {
        before = *at;
        at = &before->next;
    }
    c->previous = before;
    c->next = *at;
    if (c->next)
        c->next->previous = c;
    *at = c;
}

static void take_from_bin(struct tfd_cuda_memory_pool *p,
                          struct tfd_cuda_chunk *c)
{
    if (c->previous)
        c->previous->next = c->next;
    else
        p->bins[bin_of(c->size)] = c->next;
    if (c->next)
        c->next->previous = c->previous;
    c->next = c->previous = NULL;
}

static struct tfd_cuda_chunk *best_fit(struct tfd_cuda_memory_pool *p,
                                       size_t size)
{
    for (int bin = bin_of(size); bin < TFD_CUDA_BINS; bin++)
        for (struct tfd_cuda_chunk *c = p->bins[bin]; c; c = c->next)
            if (c->size >= size)
                return c;
    return NULL;
}

static size_t largest_free(const struct tfd_cuda_memory_pool *p)
{
    for (int bin = TFD_CUDA_BINS - 1; bin >= 0; bin--) {
        const struct tfd_cuda_chunk *c = p->bins[bin];

        while (c && c->next)
            c = c->next;
        if (c)
            return c->size;
    }
    return 0;
}

/* ---- Chunks -------------------------------------------------------------- */

static struct tfd_cuda_chunk *new_record(struct tfd_cuda_memory_pool *p)
{
    struct tfd_cuda_chunk *c = p->unused;

    if (c)
        p->unused = c->next;
    else
        c = malloc(sizeof(*c));
    if (c)
        *c = (struct tfd_cuda_chunk){.pool = p};
    return c;
}

static void drop_record(struct tfd_cuda_memory_pool *p,
                        struct tfd_cuda_chunk *c)
{
    c->next = p->unused;
    p->unused = c;
}

/* Nothing would be cut off. */
static bool fits(const struct tfd_cuda_chunk *c, size_t size)
{
    return c->size < 2 * size && c->size - size < WASTE_MAX;
}

/* Cuts what is beyond `size` off, if that is worth it and there is a record. */
static void cut_chunk(struct tfd_cuda_memory_pool *p, struct tfd_cuda_chunk *c,
                      size_t size)
{
    struct tfd_cuda_chunk *rest;

    if (fits(c, size))
        return;
    if (c->size == size || !(rest = new_record(p)))
        return;
    rest->at = c->at + size;
    rest->size = c->size - size;
    rest->lower = c;
    rest->upper = c->upper;
    if (rest->upper)
        rest->upper->lower = rest;
    c->upper = rest;
    c->size = size;
    put_in_bin(p, rest);
}

/* Makes c and the free chunk after it one. */
static void join_neighbours(struct tfd_cuda_memory_pool *p,
                            struct tfd_cuda_chunk *c)
{
    struct tfd_cuda_chunk *gone = c->upper;

    c->size += gone->size;
    c->upper = gone->upper;
    if (c->upper)
        c->upper->lower = c;
    drop_record(p, gone);
}

/* Of a chunk that is not counted as in use. */
static void give_back(struct tfd_cuda_memory_pool *p, struct tfd_cuda_chunk *c)
{
    assert(c->in_use);
    c->in_use = false;
    c->keeper = NULL;
    if (c->upper && !c->upper->in_use) {
        take_from_bin(p, c->upper);
        join_neighbours(p, c);
    }
    if (c->lower && !c->lower->in_use) {
        c = c->lower;
        take_from_bin(p, c);
        join_neighbours(p, c);
    }
    put_in_bin(p, c);
}

static void destroy(struct tfd_cuda_memory_pool *p)
{
    tfd_cuda_memory_pool_deinit(p);
    free(p);
}

void tfd_cuda_memory_pool_close(struct tfd_cuda_memory_pool *p)
{
    bool unused;

    tfd_lock(&p->lock);
    assert(!p->closed);
    p->closed = true;
    unused = p->stats.in_use == 0;
    tfd_unlock(&p->lock);
    if (unused)
        destroy(p);
}

static void release_kept(struct tfd_cuda_memory_pool *p,
                         struct tfd_cuda_chunk *c)
{
    /* Before, since it may be out again after. */
    tfd_lock(&p->lock);
    p->stats.in_use -= c->size;
    tfd_unlock(&p->lock);
    if (!c->keeper->keep(c->keeper, &c->buffer))
        tfd_cuda_memory_pool_let_go(&c->buffer);
}

static void release_buffer(struct tfd_buffer *b)
{
    struct tfd_cuda_chunk *c = (struct tfd_cuda_chunk *)b;
    struct tfd_cuda_memory_pool *p = c->pool;
    bool last;

    if (c->keeper) {
        release_kept(p, c);
        return;
    }
    tfd_lock(&p->lock);
    p->stats.in_use -= c->size;
    give_back(p, c);
    last = p->closed && p->stats.in_use == 0;
    tfd_unlock(&p->lock);
    if (last)
        destroy(p);
}

/* ---- Regions ------------------------------------------------------------- */

/* What is left of the limit, in whole chunks. */
static size_t room(const struct tfd_cuda_memory_pool *p)
{
    size_t left = p->o.limit - p->stats.reserved;

    return left / TFD_CUDA_CHUNK * TFD_CUDA_CHUNK;
}

/* What to ask for, so that `size` fits: all, or a little more than last time.
 */
static size_t region_size(struct tfd_cuda_memory_pool *p, size_t size)
{
    size_t all = room(p);

    if (!p->o.grows)
        return all;
    while (p->next_region < size)
        p->next_region *= 2;
    return p->next_region < all ? p->next_region : all;
}

static bool add_region(struct tfd_cuda_memory_pool *p, void *at, size_t size)
{
    struct tfd_cuda_chunk *c = new_record(p);

    if (!c)
        return false;
    c->at = at;
    c->size = c->region_size = size;
    c->region = p->regions;
    p->regions = c;
    p->stats.reserved += size;
    p->stats.regions++;
    if (p->o.grows && p->next_region <= SIZE_MAX / 2)
        p->next_region *= 2;
    put_in_bin(p, c);
    return true;
}

/* A region of at least `size`.  Others may use the memory too, so when what is
 * wanted is not there, nine tenths are asked for, and so on. */
static bool extend(struct tfd_cuda_memory_pool *p, size_t size)
{
    size_t want;

    if (size > room(p))
        return false;
    want = region_size(p, size);
    while (want >= size) {
        void *at = p->o.source.get(p->o.source.ctx, want);

        if (at) {
            if (add_region(p, at, want))
                return true;
            p->o.source.put(p->o.source.ctx, at);
            return false;
        }
        if (want == size)
            return false;
        want = want / 10 * 9 / TFD_CUDA_CHUNK * TFD_CUDA_CHUNK;
        if (want < size)
            want = size;
    }
    return false;
}

/* ---- All together -------------------------------------------------------- */

static void no_room(struct tfd_cuda_memory_pool *p, size_t size,
                    struct tfd_status *st)
{
    p->stats.failures++;
    (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                   "OOM when allocating %zu bytes on %s: the limit is %zu "
                   "bytes, %zu are reserved, %zu in use, and the largest free "
                   "block has %zu",
                   size, p->o.source.name, p->o.limit, p->stats.reserved,
                   p->stats.in_use, largest_free(p));
}

static size_t in_chunks(size_t size)
{
    return (size + TFD_CUDA_CHUNK - 1) / TFD_CUDA_CHUNK * TFD_CUDA_CHUNK;
}

/* c is given out. */
static void count_chunk(struct tfd_cuda_memory_pool *p,
                        const struct tfd_cuda_chunk *c)
{
    p->stats.in_use += c->size;
    p->stats.allocs++;
    if (p->stats.in_use > p->stats.peak)
        p->stats.peak = p->stats.in_use;
}

/* NULL: there is no room. */
static struct tfd_cuda_chunk *take_chunk(struct tfd_cuda_memory_pool *p,
                                         size_t size)
{
    struct tfd_cuda_chunk *c;
    size_t whole;

    if (size > SIZE_MAX - TFD_CUDA_CHUNK)
        return NULL;
    whole = in_chunks(size);
    c = best_fit(p, whole);
    if (!c && extend(p, whole))
        c = best_fit(p, whole);
    if (!c)
        return NULL;
    take_from_bin(p, c);
    cut_chunk(p, c, whole);
    c->in_use = true;
    count_chunk(p, c);
    return c;
}

static bool relieve(struct tfd_cuda_memory_pool *p)
{
    bool some;

    if (!p->o.relieve)
        return false;
    tfd_unlock(&p->lock);
    some = p->o.relieve(p->o.owner);
    tfd_lock(&p->lock);
    return some;
}

struct tfd_buffer *tfd_cuda_memory_pool_make(struct tfd_cuda_memory_pool *p,
                                             size_t size, struct tfd_status *st)
{
    struct tfd_cuda_chunk *c;

    assert(size > 0);
    tfd_lock(&p->lock);
    do
        c = take_chunk(p, size);
    while (!c && relieve(p));
    if (!c)
        no_room(p, size, st);
    tfd_unlock(&p->lock);
    if (!c)
        return NULL;
    c->buffer = (struct tfd_buffer){1, size, c->at, release_buffer};
    return &c->buffer;
}

static struct tfd_buffer *make_pool(struct tfd_memory *m, size_t size,
                                    struct tfd_status *st)
{
    return tfd_cuda_memory_pool_make((struct tfd_cuda_memory_pool *)m, size,
                                     st);
}

struct tfd_cuda_memory_pool *tfd_cuda_memory_pool_of(const struct tfd_buffer *b)
{
    return b && b->release == release_buffer
               ? ((const struct tfd_cuda_chunk *)b)->pool
               : NULL;
}

/* ---- Buffers that are kept ----------------------------------------------- */

void tfd_cuda_memory_pool_keep(struct tfd_buffer *b, struct tfd_cuda_keeper *k)
{
    assert(b->release == release_buffer);
    ((struct tfd_cuda_chunk *)b)->keeper = k;
}

struct tfd_cuda_keeper *tfd_cuda_memory_pool_keeper(const struct tfd_buffer *b)
{
    return b && b->release == release_buffer
               ? ((const struct tfd_cuda_chunk *)b)->keeper
               : NULL;
}

size_t tfd_cuda_memory_pool_capacity(const struct tfd_buffer *b)
{
    return ((const struct tfd_cuda_chunk *)b)->size;
}

bool tfd_cuda_memory_pool_fits(const struct tfd_buffer *b, size_t size)
{
    const struct tfd_cuda_chunk *c = (const struct tfd_cuda_chunk *)b;

    return size <= c->size && fits(c, in_chunks(size));
}

void tfd_cuda_memory_pool_reuse(struct tfd_buffer *b, size_t size)
{
    struct tfd_cuda_chunk *c = (struct tfd_cuda_chunk *)b;

    assert(c->keeper && size > 0 && size <= c->size);
    tfd_lock(&c->pool->lock);
    count_chunk(c->pool, c);
    tfd_unlock(&c->pool->lock);
    c->buffer = (struct tfd_buffer){1, size, c->at, release_buffer};
}

void tfd_cuda_memory_pool_let_go(struct tfd_buffer *b)
{
    struct tfd_cuda_chunk *c = (struct tfd_cuda_chunk *)b;
    struct tfd_cuda_memory_pool *p = c->pool;

    tfd_lock(&p->lock);
    give_back(p, c);
    tfd_unlock(&p->lock);
}

/* ---- A pool -------------------------------------------------------------- */

void tfd_cuda_memory_pool_init(struct tfd_cuda_memory_pool *p,
                               const struct tfd_cuda_memory_pool_options *o)
{
    *p = (struct tfd_cuda_memory_pool){
        .memory = {.make = make_pool, .release = release_buffer},
        .o = *o,
        .stats.limit = o->limit,
        .next_region = REGION_MIN,
    };
    tfd_lock_init(&p->lock, o->nested ? TFD_LOCK_NESTED : TFD_LOCK_ALLOC);
}

void tfd_cuda_memory_pool_deinit(struct tfd_cuda_memory_pool *p)
{
    assert(p->stats.in_use == 0);
    while (p->regions) {
        struct tfd_cuda_chunk *c = p->regions;

        assert(!c->upper && !c->in_use);
        p->regions = c->region;
        p->o.source.put(p->o.source.ctx, c->at);
        free(c);
    }
    while (p->unused) {
        struct tfd_cuda_chunk *c = p->unused;

        p->unused = c->next;
        free(c);
    }
    tfd_lock_deinit(&p->lock);
}

void *tfd_cuda_memory_pool_region(struct tfd_cuda_memory_pool *p,
                                  const void *at)
{
    const struct tfd_cuda_chunk *c;

    tfd_lock(&p->lock);
    c = p->regions;
    while (c && (uintptr_t)at - (uintptr_t)c->at >= c->region_size)
        c = c->region;
    tfd_unlock(&p->lock);
    return c ? c->at : NULL;
}

void tfd_cuda_memory_pool_stats(struct tfd_cuda_memory_pool *p,
                                struct tfd_cuda_memory_pool_stats *out)
{
    tfd_lock(&p->lock);
    *out = p->stats;
    out->largest_free = largest_free(p);
    tfd_unlock(&p->lock);
}
