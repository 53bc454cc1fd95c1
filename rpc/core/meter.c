/*
 * meter.c - see meter.h.
 */
#include "rpc/core/meter.h"

#include "rpc/core/service.h"

#include <assert.h>
#include <stdlib.h>

struct tfd_meter *tfd_meter_new(void)
{
    struct tfd_meter *m = calloc(1, sizeof(*m));

    if (m)
        m->refs = 1;
    return m;
}

void tfd_meter_unref(struct tfd_meter *m)
{
    if (m && --m->refs == 0)
        free(m);
}

void tfd_meter_take(struct tfd_meter *m, uint64_t size)
{
    m->received += size;
    m->under_way += size;
}

void tfd_meter_give_back(struct tfd_meter *m, uint64_t size)
{
    assert(m->under_way >= size);
    m->under_way -= size;
}

void tfd_call_meter(struct tfd_call *call, struct tfd_meter *m)
{
    if (call->meter || !m)
        return;
    call->meter = m;
    m->refs++;
    tfd_meter_take(m, call->request_size);
}
