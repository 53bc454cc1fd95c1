/*
 * meet.c - see meet.h.
 */
#include "daemon/eager/parts/meet.h"

#include "daemon/eager/parts/peer.h"

static void one_less(struct tfd_eager_meeting *m)
{
    if (--m->pending == 0)
        m->met(m);
}

static void answered(void *ctx, const struct tfd_status *st)
{
    (void)st; /* what it speaks is known now, or that it is not there */
    one_less(ctx);
}

static bool is_first(const struct tfd_eager_tasks *c, const int *devices,
                     int at)
{
    const struct tfd_device *d = c->devices.devices;

    for (int i = 0; i < at; i++)
        if (d[devices[i]].worker == d[devices[at]].worker)
            return false;
    return true;
}

void tfd_eager_meet(struct tfd_eager_meeting *m, struct tfd_eager_tasks *c,
                    const int *devices, int count)
{
    struct tfd_worker *w;

    m->pending = 1;
    for (int i = 0; i < count; i++) {
        int worker = c->devices.devices[devices[i]].worker;

        if (worker == 0 || !is_first(c, devices, i) ||
            tfd_eager_tasks_worker(c, worker, &w, NULL) != TFD_OK)
            continue;
        m->pending++;
        tfd_eager_peer_meet(w, answered, m);
    }
    one_less(m);
}

void tfd_eager_met_native(const struct tfd_eager_tasks *c, bool *native)
{
    for (int i = 0; i < c->worker_count; i++) {
        const struct tfd_worker *w = c->workers[i];

        native[i] = i == 0 || (w && w->ops->is_native(w));
    }
}
