/*
 * h2_memory.c - see h2_memory.h.
 */
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS */

#include "rpc/http/h2_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The session, 16 KiB of buffer, two tables; 26,000 bytes of nghttp2 1.52. */
#define MAP_SIZE ((size_t)32768)
#define ALIGN ((size_t)16)

/* Tables have a power of two of entries. */
#define TABLE_MIN ((size_t)1024)

static bool is_table(size_t size)
{
    return size >= TABLE_MIN && (size & (size - 1)) == 0;
}

static bool is_inside(const struct tfd_h2_memory *m, const void *at)
{
    return m->map && (const char *)at >= m->map &&
           (const char *)at < m->map + MAP_SIZE;
}

/* A part of the mapping, all zero; NULL when it is full. */
static void *take_part(struct tfd_h2_memory *m, size_t size)
{
    size_t room = (size + ALIGN - 1) & ~(ALIGN - 1);

    if (!m->map || !m->making || size > MAP_SIZE || size == 0 ||
        room > m->back - m->front)
        return NULL;
    if (is_table(size)) {
        m->back -= room;
        return m->map + m->back;
    }
    m->front += room;
    return m->map + m->front - room;
}

static void *take_memory(size_t size, void *ctx)
{
    void *at = take_part(ctx, size);

    return at ? at : malloc(size);
}

static void *take_zeroed(size_t count, size_t size, void *ctx)
{
    void *at = NULL;

    if (size == 0 || count <= MAP_SIZE / size)
        at = take_part(ctx, count * size);
    return at ? at : calloc(count, size);
}

static void give(void *at, void *ctx)
{
    if (!is_inside(ctx, at))
        free(at);
}

static void *resize(void *at, size_t size, void *ctx)
{
    struct tfd_h2_memory *m = ctx;
    size_t most;
    void *other;

    if (!at)
        return take_memory(size, ctx);
    if (!is_inside(m, at))
        return realloc(at, size);
    other = malloc(size);
    most = (size_t)(m->map + MAP_SIZE - (char *)at);
    if (other) /* its end is not known, and what is behind does no harm */
        memcpy(other, at, size < most ? size : most);
    return other;
}

void tfd_h2_memory_init(struct tfd_h2_memory *m)
{
    void *map = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *m = (struct tfd_h2_memory){
        .mem = {m, take_memory, give, take_zeroed, resize},
        .map = map == MAP_FAILED ? NULL : map,
        .back = MAP_SIZE,
        .making = true,
    };
}

void tfd_h2_memory_made(struct tfd_h2_memory *m)
{
    m->making = false;
}

void tfd_h2_memory_deinit(struct tfd_h2_memory *m)
{
    if (m->map)
        munmap(m->map, MAP_SIZE);
    m->map = NULL;
}
