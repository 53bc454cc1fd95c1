/*
 * slab.c - see slab.h.
 *
 *     | head, a page | block | block | ...
 *
 * A slab begins at a multiple of its size, so that a block finds its head.
 */
#define _GNU_SOURCE 1 /* madvise(), MAP_ANONYMOUS */

#include "common/memory/slab.h"

#include "common/thread/lock.h"

#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE ((size_t)4 << 10)
#define SLAB_SIZE ((size_t)4 << 20) /* two huge pages of x86-64 */

struct slab {
    struct slab *next, *before; /* of those that have free blocks */
    size_t size;                /* of a block: whole pages */
    uint32_t all, free;         /* blocks, a bit each */
};

static_assert((SLAB_SIZE - PAGE) / TFD_SLAB_BLOCK_MIN < 32, "a bit a block");
static_assert((SLAB_SIZE - PAGE) / TFD_SLAB_BLOCK_MAX > 1, "several blocks");

static struct tfd_lock lock = TFD_LOCK_INIT(TFD_LOCK_SLAB);
static struct slab *slabs; /* that have free blocks */

/* ---- Slabs --------------------------------------------------------------- */

static void link_slab(struct slab *s)
{
    s->before = NULL;
    s->next = slabs;
    if (slabs)
        slabs->before = s;
    slabs = s;
}

static void unlink_slab(struct slab *s)
{
    if (s->before)
        s->before->next = s->next;
    else
        slabs = s->next;
    if (s->next)
        s->next->before = s->before;
}

/* At a multiple of SLAB_SIZE: of twice as much, what is around is let go. */
static char *map_slab(void)
{
    char *room = mmap(NULL, 2 * SLAB_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t head;

    if (room == MAP_FAILED)
        return NULL;
    head = -(uintptr_t)room % SLAB_SIZE;
    if (head)
        (void)munmap(room, head);
    (void)munmap(room + head + SLAB_SIZE, SLAB_SIZE - head);
    /* Only advice: without huge pages it works as well. */
    (void)madvise(room + head, SLAB_SIZE, MADV_HUGEPAGE);
    return room + head;
}

static struct slab *new_slab(size_t size)
{
    struct slab *s = (struct slab *)(void *)map_slab();

    if (!s)
        return NULL;
    s->size = size;
    s->all = (UINT32_C(1) << (SLAB_SIZE - PAGE) / size) - 1;
    s->free = s->all;
    link_slab(s);
    return s;
}

static struct slab *find_slab(size_t size)
{
    struct slab *s = slabs;

    while (s && s->size != size)
        s = s->next;
    return s ? s : new_slab(size);
}

/* ---- Blocks -------------------------------------------------------------- */

void *tfd_slab_take(size_t size)
{
    struct slab *s;
    int at;

    assert(size >= TFD_SLAB_BLOCK_MIN && size <= TFD_SLAB_BLOCK_MAX);
    size = (size + PAGE - 1) / PAGE * PAGE;
    tfd_lock(&lock);
    s = find_slab(size);
    if (!s) {
        tfd_unlock(&lock);
        return NULL;
    }
    at = __builtin_ctz(s->free);
    s->free &= s->free - 1;
    if (!s->free)
        unlink_slab(s);
    tfd_unlock(&lock);
    return (char *)s + PAGE + (size_t)at * size;
}

void tfd_slab_give(void *block)
{
    struct slab *s =
        (struct slab *)(void *)((char *)block - (uintptr_t)block % SLAB_SIZE);
    const size_t at = ((size_t)((char *)block - (char *)s) - PAGE) / s->size;

    /* Before anyone may take it. */
    (void)madvise(block, s->size, MADV_DONTNEED);
    tfd_lock(&lock);
    if (!s->free)
        link_slab(s);
    s->free |= UINT32_C(1) << at;
    if (s->free == s->all)
        unlink_slab(s);
    else
        s = NULL;
    tfd_unlock(&lock);
    if (s)
        (void)munmap(s, SLAB_SIZE);
}
