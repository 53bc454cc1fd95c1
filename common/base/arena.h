/*
 * arena.h - memory that is allocated in pieces and freed at once: of a graph,
 * of a plan, of a step.
 *
 * Pieces are aligned to 16 bytes and zeroed.  An arena has a maximum; going
 * past it, or out of memory, gives NULL.  tfd_arena_reset() keeps the largest
 * block, so a pooled step allocates nothing the second time.
 *
 * Threads: one at a time.
 */
#ifndef TFD_COMMON_ARENA_H
#define TFD_COMMON_ARENA_H

#include "common/base/str.h"

struct tfd_arena_block;

struct tfd_arena {
    struct tfd_arena_block *head;
    size_t used; /* bytes handed out */
    size_t max;
};

void tfd_arena_init(struct tfd_arena *a, size_t max);
void tfd_arena_deinit(struct tfd_arena *a);
void tfd_arena_reset(struct tfd_arena *a);
void *tfd_arena_alloc(struct tfd_arena *a, size_t size);
/* count * size, checked for overflow. */
void *tfd_arena_array(struct tfd_arena *a, size_t count, size_t size);
/* A terminated copy; data is NULL when there is no memory. */
struct tfd_str tfd_arena_str(struct tfd_arena *a, struct tfd_str s);
/* Fails with RESOURCE_EXHAUSTED, naming `what`, when p is NULL. */
enum tfd_code tfd_arena_check(const void *p, const char *what,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
