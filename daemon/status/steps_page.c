/*
 * steps_page.c - see steps_page.h.
 */
#include "daemon/status/steps_page.h"

#include "common/base/clock.h"
#include "daemon/master/session/master.h"
#include "daemon/master/record/step_ring.h"
#include "daemon/status/view.h"
#include "rpc/core/peers.h"

static bool put_in_body(void *ctx, const char *data, size_t size)
{
    tfd_bytes_add(ctx, data, size);
    return true;
}

int tfd_steps_page(void *self, struct tfd_page *p)
{
    const struct tfd_view *v = self;
    const struct tfd_step_origin origin = {
        .task = tfd_peers_task(v->peers, tfd_peers_self(v->peers)),
        .steps = tfd_master_steps_done(v->master),
        .now_us = tfd_loop_now_us(v->loop),
        .wall_us = (uint64_t)tfd_clock_wall_us(),
    };
    const struct tfd_step_sink sink = {put_in_body, p->body};

    p->content_type = "application/json";
    (void)tfd_step_ring_write(tfd_master_steps(v->master), &origin, &sink);
    return 200;
}
