/*
 * test_conn_end.c - how connections of rpc/conn/conn.c end: with grace and at
 * once, by their handler, and after their loop.
 */
#include "tests/support/side_rig.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void test_close_with_grace_writes_everything(void **state)
{
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(16 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    rig_run(&s->rig, 1);
    tfd_conn_write(s->conn, "unread", 6); /* must not reset what we send */
    tfd_conn_write_buffer(w->conn, b, 0, b->size);
    tfd_conn_close(w->conn, 5 * 1000 * 1000);
    tfd_conn_write(w->conn, "too late", 8);
    rig_run(&s->rig, 2); /* both closed */
    assert_int_equal(s->raw.in.size, b->size);
    assert_int_equal(s->raw.why.code, TFD_OK);
    assert_true(tfd_buffer_sole(b));
    tfd_buffer_unref(b);
    rig_raw_free(w);
    side_free(s);
}

static void test_close_at_once_releases_what_was_queued(void **state)
{
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(64 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    rig_run(&s->rig, 1);
    tfd_conn_pause(s->conn);
    tfd_conn_write_buffer(w->conn, b, 0, b->size);
    tfd_conn_close(w->conn, 0);
    tfd_conn_close(w->conn, 0); /* twice is once */
    assert_false(w->closed);    /* not from inside */
    rig_run(&s->rig, 1);
    assert_true(w->closed);
    assert_int_equal(w->why.code, TFD_OK);
    assert_true(tfd_buffer_sole(b));
    tfd_buffer_unref(b);
    rig_raw_free(w);
    side_free(s);
}

/* The peer does not read: the grace ends, and so does the connection. */
static void test_grace_is_finite(void **state)
{
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(64 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    rig_run(&s->rig, 1);
    tfd_conn_pause(s->conn);
    tfd_conn_write_buffer(w->conn, b, 0, b->size);
    tfd_conn_close(w->conn, 20 * 1000);
    rig_run(&s->rig, 1);
    assert_true(w->closed);
    tfd_buffer_unref(b);
    rig_raw_free(w);
    side_free(s);
}

/* Connects a plain socket, which this test and no loop looks after. */
static int plain_connect(struct side *s)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)tfd_listener_port(s->listener)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    rig_run(&s->rig, 1); /* accepted */
    return fd;
}

static void end_plain(void *self, const struct tfd_status *why)
{
    int *fd = self;

    (void)why;
    close(*fd);
}

/* A connection lingers when the loop is freed; its peer sends more, and ends
 * only once another connection is gone, which is inside tfd_loop_free(). */
static void test_a_loop_ends_after_peers_that_end_late(void **state)
{
    static const struct tfd_conn_handler ending = {
        .space = rig_raw_space, .commit = rig_raw_commit, .closed = end_plain};
    static const char more[100];
    struct side *s = side_new(10);
    struct tfd_conn *lingers;
    int late = plain_connect(s), other;

    (void)state;
    lingers = s->conn;
    other = plain_connect(s);
    tfd_conn_close(lingers, 60 * 1000 * 1000);
    assert_int_equal(send(late, more, sizeof(more), 0), sizeof(more));
    tfd_conn_handle(s->conn, &ending, &late);
    tfd_conn_close(s->conn, 0);
    s->raw.conn = NULL;
    side_free(s);
    close(other);
}

static enum tfd_code refuse_commit(void *self, size_t n, struct tfd_status *st)
{
    (void)self;
    (void)n;
    return tfd_fail(st, TFD_DATA_LOSS, "these bytes are bad");
}

static void test_a_handler_that_fails_ends_the_connection(void **state)
{
    struct tfd_conn_handler h = rig_raw_handler;
    struct side *s = side_new(10);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    rig_run(&s->rig, 1);
    h.commit = refuse_commit;
    tfd_conn_handle(s->conn, &h, &s->raw);
    tfd_conn_write(w->conn, "x", 1);
    rig_run(&s->rig, 2);
    assert_int_equal(s->raw.why.code, TFD_DATA_LOSS);
    assert_string_equal(s->raw.why.text, "these bytes are bad");
    assert_true(w->closed);
    rig_raw_free(w);
    side_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_with_grace_writes_everything),
        cmocka_unit_test(test_close_at_once_releases_what_was_queued),
        cmocka_unit_test(test_grace_is_finite),
        cmocka_unit_test(test_a_loop_ends_after_peers_that_end_late),
        cmocka_unit_test(test_a_handler_that_fails_ends_the_connection),
    };

    return cmocka_run_group_tests_name("conn_end", tests, NULL, NULL);
}
