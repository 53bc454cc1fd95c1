/*
 * arena.c - see arena.h.
 *
 * Blocks form a list, the one in use in front; each is twice as large as the
 * one before.  A reset after more than one block puts one of their sum in their
 * place, so that the same sequence of pieces fits the next time.
 */
#include "common/base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16
#define BLOCK_MIN 4096 /* a page: most steps need no more */
#define BLOCK_GROWTH_MAX ((size_t)16 << 20) /* from here on doubling wastes */

struct tfd_arena_block {
    alignas(ALIGN) struct tfd_arena_block *next;
    size_t capacity;
    size_t used;
    alignas(ALIGN) char data[];
};

void tfd_arena_init(struct tfd_arena *a, size_t max)
{
    *a = (struct tfd_arena){.max = max};
}

static void free_blocks(struct tfd_arena_block *b)
{
    while (b) {
        struct tfd_arena_block *next = b->next;

        free(b);
        b = next;
    }
}

void tfd_arena_deinit(struct tfd_arena *a)
{
    free_blocks(a->head);
    *a = (struct tfd_arena){.max = a->max};
}

static struct tfd_arena_block *new_block(size_t capacity)
{
    struct tfd_arena_block *b;

    if (capacity > SIZE_MAX - sizeof(*b))
        return NULL;
    b = malloc(sizeof(*b) + capacity);
    if (b)
        *b = (struct tfd_arena_block){.capacity = capacity};
    return b;
}

void tfd_arena_reset(struct tfd_arena *a)
{
    struct tfd_arena_block *merged;
    size_t sum = 0;

    a->used = 0;
    if (!a->head)
        return;
    for (struct tfd_arena_block *b = a->head; b; b = b->next)
        sum += b->capacity;

    merged = a->head->next ? new_block(sum) : NULL;
    if (merged) {
        free_blocks(a->head);
        a->head = merged;
    }
    /* Without memory for it, or need: the first is the largest. */
    free_blocks(a->head->next);
    a->head->next = NULL;
    a->head->used = 0;
}

/* A block in front that has room for size bytes.  Never smaller than the head,
 * so that the head is always the largest. */
static bool grow_arena(struct tfd_arena *a, size_t size)
{
    size_t capacity = BLOCK_MIN;
    struct tfd_arena_block *b;

    if (a->head)
        capacity = a->head->capacity < BLOCK_GROWTH_MAX / 2
                       ? a->head->capacity * 2
                       : a->head->capacity;
    b = new_block(capacity > size ? capacity : size);
    if (!b)
        return false;
    b->next = a->head;
    a->head = b;
    return true;
}

void *tfd_arena_alloc(struct tfd_arena *a, size_t size)
{
    size_t rounded;
    char *p;

    if (size > SIZE_MAX - ALIGN)
        return NULL;
    /* No bytes get an address of their own as well. */
    rounded = (size + (size == 0) + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded > a->max || a->used > a->max - rounded)
        return NULL;
    if (!a->head || rounded > a->head->capacity - a->head->used)
        if (!grow_arena(a, rounded))
            return NULL;

    p = a->head->data + a->head->used;
    a->head->used += rounded;
    a->used += rounded;
    return memset(p, 0, rounded);
}

void *tfd_arena_array(struct tfd_arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return tfd_arena_alloc(a, count * size);
}

struct tfd_str tfd_arena_str(struct tfd_arena *a, struct tfd_str s)
{
    char *p = s.size < SIZE_MAX ? tfd_arena_alloc(a, s.size + 1) : NULL;

    if (!p)
        return (struct tfd_str){NULL, 0};
    if (s.size)
        memcpy(p, s.data, s.size);
    return (struct tfd_str){p, s.size};
}

enum tfd_code tfd_arena_check(const void *p, const char *what,
                              struct tfd_status *st)
{
    if (p)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no room in the arena for %s",
                    what);
}
