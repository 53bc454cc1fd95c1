/*
 * alloc.c - see alloc.h.
 *
 *     | head (64 bytes) | data, the bytes of its class |
 *
 * The head is in front of the data in the same allocation, so a buffer costs
 * one.  Classes are 64, 96, 128, 192, 256, ...; each has its own list of free
 * blocks and its own lock, which is held for a push or a pop and nothing else.
 * The sums are atomics beside them; each is exact, but two of them read one
 * after the other may be of different moments.
 *
 * Large blocks are aligned to huge pages and ask for them: a page fault for
 * each 4 KiB costs more than the copy that causes it.  Those of some hundred
 * kilobytes share them (slab.h).  Blocks of many pages
 * start on a page: a processor that has stored to an address takes a load whose
 * lowest 12 bits are the same for one of what it stored, and lets it wait.
 * With results a line or two further in their page than operands, as blocks of
 * malloc come, every load waits (Zen 4, vectors of 64 bytes, 64,000 floats:
 * 6.2 us in place of 4.4); with both in the same place none does.
 */
#define _GNU_SOURCE 1 /* madvise(), posix_memalign() */

#include "common/base/alloc.h"

#include "common/base/atomic.h"
#include "common/memory/slab.h"
#include "common/memory/watched.h"
#include "common/thread/lock.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

/* What a few steps of a large model leave behind, and small beside the memory
 * of a machine that trains one. */
#define TFD_BUFFER_CACHE_MAX ((size_t)1 << 30)

#define HEAD_SIZE 64
#define CLASS_SHIFT 6             /* the smallest class has 64 bytes */
#define SIZE_LIMIT (SIZE_MAX / 8) /* whose class still fits size_t */
#define CLASS_COUNT (2 * (62 - CLASS_SHIFT))
#define HUGE_PAGE ((size_t)2 << 20) /* of x86-64 and most of arm64 */
#define HUGE_MIN (2 * HUGE_PAGE)    /* below, its alignment wastes too much */
#define PAGE ((size_t)4 << 10)
#define PAGE_MIN (16 * PAGE) /* likewise */

struct block {
    struct tfd_buffer buffer;  /* first: a buffer is the start of its block */
    struct tfd_buffer *parent; /* of a slice */
    size_t charged;            /* what it adds to in_use ... */
    union {
        size_t idle;        /* ... and to cached, while it is filled */
        struct block *next; /* while cached */
    };
    int class;
    bool in_slab;
};

static_assert(sizeof(struct block) <= HEAD_SIZE, "the head has 64 bytes");
static_assert(HEAD_SIZE % TFD_BUFFER_ALIGN == 0, "the data follows the head");

/* Neighbouring classes, of which a step uses several, have different locks. */
#define LOCK TFD_LOCK_INIT(TFD_LOCK_ALLOC)
#define LOCK_COUNT 8

static struct tfd_lock locks[LOCK_COUNT] = {LOCK, LOCK, LOCK, LOCK,
                                            LOCK, LOCK, LOCK, LOCK};
static struct block *cache[CLASS_COUNT]; /* under locks[class % LOCK_COUNT] */

static size_t in_use;
static size_t cached;
static size_t peak;
static size_t limit;
static size_t cache_limit = TFD_BUFFER_CACHE_MAX;
static uint64_t allocs;

/* ---- Classes ------------------------------------------------------------- */

/* Classes 2 k and 2 k + 1 have 1 and 1.5 times 2^(k + CLASS_SHIFT) bytes. */
static size_t class_size(int class)
{
    size_t power = (size_t)1 << (class / 2 + CLASS_SHIFT);

    return class % 2 ? power + power / 2 : power;
}

static int class_of(size_t size)
{
    int k;

    if (size <= (size_t)1 << CLASS_SHIFT)
        return 0;
    k = 63 - __builtin_clzll(size - 1) - CLASS_SHIFT;
    return size <= class_size(2 * k + 1) ? 2 * k + 1 : 2 * k + 2;
}

static struct block *pop_block(int class)
{
    struct tfd_lock *lock = &locks[class % LOCK_COUNT];
    struct block *b;

    tfd_lock(lock);
    b = cache[class];
    if (b) {
        /* The next call reads it, and it is in no cache. */
        __builtin_prefetch(b->next, 1);
        cache[class] = b->next;
    }
    tfd_unlock(lock);
    if (b)
        TFD_COUNTER_SUB(&cached, class_size(class));
    return b;
}

static void push_block(struct block *b)
{
    struct tfd_lock *lock = &locks[b->class % LOCK_COUNT];

    tfd_lock(lock);
    b->next = cache[b->class];
    cache[b->class] = b;
    tfd_unlock(lock);
}

static void free_block(struct block *b)
{
    if (b->in_slab)
        tfd_slab_give(b);
    else
        free(b);
}

/* Frees cached blocks, the largest first, until at most `keep` bytes of them
 * are left. */
static void evict(size_t keep)
{
    for (int class = CLASS_COUNT - 1; class >= 0; class --) {
        struct block *b;

        while (TFD_LOAD_RELAXED(&cached) > keep && (b = pop_block(class)))
            free_block(b);
    }
}

/* ---- Blocks -------------------------------------------------------------- */

static size_t block_align(size_t size)
{
    if (size >= HUGE_MIN)
        return HUGE_PAGE;
    return size >= PAGE_MIN ? PAGE : TFD_BUFFER_ALIGN;
}

static bool goes_in_slab(size_t size, bool huge)
{
    return !TFD_IS_WATCHED && huge && size >= TFD_SLAB_BLOCK_MIN &&
           size <= TFD_SLAB_BLOCK_MAX;
}

static struct block *slab_block(size_t size)
{
    struct block *b = tfd_slab_take(size);

    if (b)
        b->in_slab = true;
    return b;
}

static struct block *fresh_block(int class, bool huge)
{
    size_t size = HEAD_SIZE + class_size(class);
    struct block *b;
    void *memory;

    TFD_COUNTER_ADD(&allocs, 1);
    if (goes_in_slab(size, huge))
        return slab_block(size);
    if (posix_memalign(&memory, block_align(size), size))
        return NULL;
    /* Only advice: without huge pages it works as well. */
    if (size >= HUGE_MIN && huge)
        (void)madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    b = memory;
    b->in_slab = false;
    return b;
}

/* *reused: it was kept, and so has its pages.  huge: others come from huge
 * pages. */
static struct block *take_block(size_t size, bool huge, bool *reused)
{
    int class = class_of(size);
    struct block *b = pop_block(class);

    if (reused)
        *reused = b != NULL;
    if (!b)
        b = fresh_block(class, huge);
    if (!b) {
        evict(0);
        b = fresh_block(class, huge);
    }
    if (b)
        *b = (struct block){
            .buffer = {1, size, (char *)b + HEAD_SIZE, tfd_buffer_release},
            .class = class,
            .in_slab = b->in_slab};
    return b;
}

static void give_block(struct block *b)
{
    size_t size = class_size(b->class);
    size_t max = TFD_LOAD_RELAXED(&cache_limit);

    if (size > max) {
        free_block(b);
        return;
    }
    /* Room is made by what was there before: sizes nobody asks for any more
     * must not fill the cache for ever. */
    if (TFD_COUNTER_ADD(&cached, size) > max)
        evict(max);
    push_block(b);
}

/* ---- Accounting ---------------------------------------------------------- */

static void raise_peak(size_t used)
{
    size_t before = TFD_LOAD_RELAXED(&peak);

    while (used > before && !TFD_COMPARE_EXCHANGE(&peak, &before, used))
        ;
}

/* The limit is on what the process holds, so cached blocks make way. */
static bool charge(size_t size)
{
    size_t max = TFD_LOAD_RELAXED(&limit);
    size_t used = TFD_COUNTER_ADD(&in_use, size);

    if (max && used > max) {
        TFD_COUNTER_SUB(&in_use, size);
        return false;
    }
    if (max && TFD_LOAD_RELAXED(&cached) > max - used)
        evict(max - used);
    raise_peak(used);
    return true;
}

/* ---- Buffers ------------------------------------------------------------- */

struct tfd_buffer *tfd_buffer_new(size_t size)
{
    struct block *b;

    if (size > SIZE_LIMIT || !charge(size))
        return NULL;
    b = take_block(size, true, NULL);
    if (!b) {
        TFD_COUNTER_SUB(&in_use, size);
        return NULL;
    }
    b->charged = size;
    return &b->buffer;
}

/* A block that had been used before still counts as kept for reuse; a fresh one
 * has no pages yet. */
static struct tfd_buffer *new_empty(size_t size, bool huge)
{
    size_t max = TFD_LOAD_RELAXED(&limit);
    struct block *b;
    bool reused;

    if (size > SIZE_LIMIT || (max && size > max))
        return NULL;
    b = take_block(size, huge, &reused);
    if (!b)
        return NULL;
    if (reused) {
        b->idle = class_size(b->class);
        TFD_COUNTER_ADD(&cached, b->idle);
    }
    return &b->buffer;
}

struct tfd_buffer *tfd_buffer_new_empty(size_t size)
{
    return new_empty(size, true);
}

struct tfd_buffer *tfd_buffer_new_in_pages(size_t size)
{
    return new_empty(size, false);
}

bool tfd_buffer_charge(struct tfd_buffer *buffer, size_t size)
{
    struct block *b = (struct block *)buffer;
    size_t more, used;

    assert(size <= buffer->size);
    if (size <= b->charged)
        return true;
    more = size - b->charged;
    used = more < b->idle ? more : b->idle;
    b->idle -= used;
    TFD_COUNTER_SUB(&cached, used);
    if (!charge(more)) {
        b->idle += used;
        TFD_COUNTER_ADD(&cached, used);
        return false;
    }
    b->charged = size;
    return true;
}

/* Of slices, so that they can be told from buffers of their own. */
static void release_slice(struct tfd_buffer *b)
{
    tfd_buffer_release(b);
}

bool tfd_buffer_is_slice(const struct tfd_buffer *b)
{
    return b->release == release_slice;
}

bool tfd_buffer_is_small_slice(const struct tfd_buffer *b)
{
    return tfd_buffer_is_slice(b) &&
           b->size < ((const struct block *)b)->parent->size / 2;
}

/* The block of a slice is a head of the smallest class. */
struct tfd_buffer *tfd_buffer_slice(struct tfd_buffer *parent, size_t offset,
                                    size_t size)
{
    struct block *b;

    assert(offset <= parent->size && size <= parent->size - offset);
    if (tfd_buffer_is_slice(parent)) {
        struct tfd_buffer *whole = ((struct block *)parent)->parent;

        offset += (size_t)((char *)parent->data - (char *)whole->data);
        parent = whole;
    }
    b = take_block(0, true, NULL);
    if (!b)
        return NULL;
    b->parent = tfd_buffer_ref(parent);
    b->buffer.data = (char *)parent->data + offset;
    b->buffer.size = size;
    b->buffer.release = release_slice;
    return &b->buffer;
}

void tfd_buffer_release(struct tfd_buffer *buffer)
{
    struct block *b = (struct block *)buffer;
    struct tfd_buffer *parent = b->parent;

    TFD_COUNTER_SUB(&in_use, b->charged);
    if (b->idle)
        TFD_COUNTER_SUB(&cached, b->idle);
    give_block(b);
    tfd_buffer_unref(parent);
}

/* ---- The allocator as a whole -------------------------------------------- */

void tfd_alloc_stats(struct tfd_alloc_stats *out)
{
    out->in_use = TFD_LOAD_RELAXED(&in_use);
    out->cached = TFD_LOAD_RELAXED(&cached);
    out->peak = TFD_LOAD_RELAXED(&peak);
    out->allocs = TFD_LOAD_RELAXED(&allocs);
}

void tfd_alloc_limit(size_t bytes)
{
    TFD_STORE_RELAXED(&limit, bytes);
}

void tfd_alloc_trim(void)
{
    evict(0);
}

void tfd_alloc_cache_limit(size_t bytes)
{
    TFD_STORE_RELAXED(&cache_limit, bytes);
    evict(bytes);
}
