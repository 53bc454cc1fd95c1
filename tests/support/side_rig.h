/*
 * side_rig.h - a listener on loopback whose connections the test handles
 * itself: the newest accepted one is `conn`, and `raw` takes what comes.
 */
#ifndef TFD_TESTS_SUPPORT_SIDE_RIG_H
#define TFD_TESTS_SUPPORT_SIDE_RIG_H

#include "tests/support/rig.h"

struct side {
    struct rig rig; /* only its loop and watchdog are used */
    struct tfd_listener *listener;
    struct tfd_conn *conn; /* the accepted one */
    struct rig_raw raw;    /* its handler */
    char address[32];
    int accepted;
    bool refuse;
};

static inline void side_accept(void *ctx, struct tfd_conn *c)
{
    struct side *s = ctx;

    s->accepted++;
    if (s->refuse) {
        rig_tick(&s->rig);
        return; /* no handler: the listener closes it */
    }
    s->conn = s->raw.conn = c;
    tfd_conn_handle(c, &rig_raw_handler, &s->raw);
    rig_tick(&s->rig);
}

static inline struct side *side_new(int connections_max)
{
    struct side *s = calloc(1, sizeof(*s));
    struct tfd_status st = TFD_STATUS_INIT;

    assert_non_null(s);
    s->rig.loop = tfd_loop_new(&st);
    assert_non_null(s->rig.loop);
    tfd_timer_init(&s->rig.watchdog, s->rig.loop, rig_bark);
    s->raw.rig = &s->rig;
    tfd_bytes_init(&s->raw.in, 256 << 20);
    assert_int_equal(tfd_listener_new(s->rig.loop, "127.0.0.1", 0,
                                      connections_max, side_accept, s,
                                      &s->listener, &st),
                     TFD_OK);
    snprintf(s->address, sizeof(s->address), "127.0.0.1:%d",
             tfd_listener_port(s->listener));
    return s;
}

static inline void side_free(struct side *s)
{
    if (s->raw.conn) {
        tfd_conn_close(s->raw.conn, 0);
        s->rig.awaited = 0;
        rig_run(&s->rig, 1);
    }
    tfd_listener_close(s->listener);
    tfd_loop_free(s->rig.loop);
    tfd_bytes_deinit(&s->raw.in);
    free(s);
}

#endif
