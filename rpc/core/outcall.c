/*
 * outcall.c - see outcall.h.
 */
#include "rpc/core/outcall.h"

#include <stdlib.h>

void tfd_outcall_append(struct tfd_outcall_list *l, struct tfd_outcall *c)
{
    c->next = NULL;
    if (l->first)
        l->last->next = c;
    else
        l->first = c;
    l->last = c;
}

struct tfd_outcall *tfd_outcall_pop(struct tfd_outcall_list *l)
{
    struct tfd_outcall *c = l->first;

    if (c)
        l->first = c->next;
    return c;
}

void tfd_outcall_take_out(struct tfd_outcall_list *l, struct tfd_outcall *c)
{
    struct tfd_outcall_list rest = {NULL, NULL};
    struct tfd_outcall *at;

    while ((at = tfd_outcall_pop(l)))
        if (at != c)
            tfd_outcall_append(&rest, at);
    *l = rest;
}

static bool reserve_outcalls(struct tfd_outcall_pool *p)
{
    uint32_t capacity = p->capacity * 2 + 16;
    struct tfd_outcall **calls;

    if (p->count < p->capacity)
        return true;
    if (p->capacity > UINT32_MAX / 4)
        return false;
    calls = realloc(p->calls, capacity * sizeof(struct tfd_outcall *));
    if (!calls)
        return false;
    p->calls = calls;
    p->capacity = capacity;
    return true;
}

struct tfd_outcall *tfd_outcall_take(struct tfd_outcall_pool *p)
{
    struct tfd_outcall *c = p->free;

    if (c) {
        p->free = c->next;
        return c;
    }
    c = reserve_outcalls(p) ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    c->id = p->count;
    p->calls[p->count++] = c;
    return c;
}

void tfd_outcall_give_back(struct tfd_outcall_pool *p, struct tfd_outcall *c)
{
    c->state = TFD_OUTCALL_FREE;
    c->next = p->free;
    p->free = c;
}

void tfd_outcall_pool_deinit(struct tfd_outcall_pool *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        free(p->calls[i]);
    free(p->calls);
    *p = (struct tfd_outcall_pool){0};
}
