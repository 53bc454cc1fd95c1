/*
 * traffic.c - see traffic.h.
 */
#include "rpc/conn/traffic.h"

#include <assert.h>
#include <stdlib.h>

struct tfd_traffic *tfd_traffic_new(void)
{
    struct tfd_traffic *t = calloc(1, sizeof(*t));

    if (t)
        t->refs = 1;
    return t;
}

struct tfd_traffic *tfd_traffic_ref(struct tfd_traffic *t)
{
    if (t)
        t->refs++;
    return t;
}

void tfd_traffic_unref(struct tfd_traffic *t)
{
    if (!t)
        return;
    assert(t->refs > 0);
    if (--t->refs == 0)
        free(t);
}
