/*
 * names.c - see names.h.
 */
#include "daemon/rewrite/names.h"

#include <stdlib.h>

enum tfd_code tfd_names_add(struct tfd_names *n, struct tfd_str name, int max,
                            const char *what, struct tfd_status *st)
{
    if (n->count == n->room) {
        int room = n->room ? 2 * n->room : 8;
        struct tfd_str *grown = realloc(n->list, (size_t)room * sizeof(*grown));

        if (!grown)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "No memory for %d %s",
                            room, what);
        n->list = grown;
        n->room = room;
    }
    if (n->count >= max)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "More than %d %s in one request", max, what);
    n->list[n->count++] = name;
    return TFD_OK;
}
