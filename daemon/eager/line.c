/*
 * line.c - see line.h.
 */
#include "daemon/eager/line.h"

#include "common/base/clock.h"
#include "common/base/container.h"

/* Of a turn: what a connection's reading may take, too (rpc/conn). */
#define TURN_US 200

static struct tfd_eager_waiter *take_first(struct tfd_eager_line *l)
{
    struct tfd_eager_waiter *w = l->first;

    l->first = w->next;
    if (!l->first)
        l->last = &l->first;
    return w;
}

static void serve_soon(struct tfd_eager_line *l)
{
    if (l->serves)
        return;
    l->serves = true;
    tfd_loop_post(l->loop, &l->serve);
}

/* One goes in any case, or others who begin would keep it waiting. */
static void serve_line(struct tfd_post *p)
{
    struct tfd_eager_line *l =
        TFD_CONTAINER_OF(p, struct tfd_eager_line, serve);
    struct tfd_eager_waiter *w;

    l->serves = false;
    do {
        if (!l->first)
            return;
        w = take_first(l);
        w->go(w);
    } while (l->spent_us < TURN_US);
    if (l->first)
        serve_soon(l);
}

static void reset(struct tfd_post *p)
{
    struct tfd_eager_line *l =
        TFD_CONTAINER_OF(p, struct tfd_eager_line, reset);

    l->resets = false;
    l->spent_us = 0;
}

void tfd_eager_line_init(struct tfd_eager_line *l, struct tfd_loop *loop)
{
    *l = (struct tfd_eager_line){.loop = loop, .last = &l->first};
    l->serve.run = serve_line;
    l->reset.run = reset;
}

bool tfd_eager_line_busy(const struct tfd_eager_line *l)
{
    return l->first || l->spent_us >= TURN_US;
}

void tfd_eager_line_wait(struct tfd_eager_line *l, struct tfd_eager_waiter *w)
{
    w->next = NULL;
    *l->last = w;
    l->last = &w->next;
    serve_soon(l);
}

void tfd_eager_line_end(struct tfd_eager_line *l)
{
    while (l->first) {
        struct tfd_eager_waiter *w = take_first(l);

        w->go(w);
    }
}

int64_t tfd_eager_line_enter(void)
{
    return tfd_clock_now_us();
}

bool tfd_eager_line_over(const struct tfd_eager_line *l, int64_t entered_us)
{
    return l->spent_us + tfd_clock_now_us() - entered_us >= TURN_US;
}

void tfd_eager_line_leave(struct tfd_eager_line *l, int64_t entered_us)
{
    l->spent_us += tfd_clock_now_us() - entered_us;
    if (l->resets)
        return;
    l->resets = true;
    tfd_loop_defer(l->loop, &l->reset);
}
