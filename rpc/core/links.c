/*
 * links.c - see links.h.  A number is the row's turn above its index + 1.
 */
#include "rpc/core/links.h"

#include <stdlib.h>

static struct tfd_link_row *find_links(const struct tfd_links *l, uint64_t link)
{
    uint32_t index = (uint32_t)link - 1;

    if (link == 0 || index >= l->count || !l->rows[index].open ||
        l->rows[index].turn != (uint32_t)(link >> 32))
        return NULL;
    return &l->rows[index];
}

void tfd_links_deinit(struct tfd_links *l)
{
    free(l->rows);
    *l = (struct tfd_links){0};
}

static bool grow_links(struct tfd_links *l)
{
    uint32_t capacity = l->capacity * 2 + 16;
    struct tfd_link_row *rows = realloc(l->rows, capacity * sizeof(*rows));

    if (!rows)
        return false;
    l->rows = rows;
    l->capacity = capacity;
    return true;
}

uint64_t tfd_links_add(struct tfd_links *l)
{
    struct tfd_link_row *row;
    uint32_t number = l->free;

    if (number != 0) {
        row = &l->rows[number - 1];
        l->free = row->next;
        row->turn++;
    } else {
        if (l->count == l->capacity && !grow_links(l))
            return 0;
        number = ++l->count;
        row = &l->rows[number - 1];
        row->turn = 0;
    }
    row->open = true;
    row->holds = 0;
    return (uint64_t)row->turn << 32 | number;
}

void tfd_links_remove(struct tfd_links *l, uint64_t link)
{
    struct tfd_link_row *row = find_links(l, link);

    if (!row)
        return;
    row->open = false;
    row->next = l->free;
    l->free = (uint32_t)link;
}

bool tfd_links_open(const struct tfd_links *l, uint64_t link)
{
    return find_links(l, link);
}

void tfd_links_hold(struct tfd_links *l, uint64_t link)
{
    struct tfd_link_row *row = find_links(l, link);

    if (row)
        row->holds++;
}

void tfd_links_unhold(struct tfd_links *l, uint64_t link)
{
    struct tfd_link_row *row = find_links(l, link);

    if (row && row->holds > 0)
        row->holds--;
}

bool tfd_links_held(const struct tfd_links *l, uint64_t link)
{
    const struct tfd_link_row *row = find_links(l, link);

    return row && row->holds > 0;
}
