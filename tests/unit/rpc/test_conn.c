/*
 * test_conn.c - rpc/conn/conn.c, conn_io.c, conn_queue.c, conn_dial.c,
 * listener.c over real loopback sockets.
 */
#define _GNU_SOURCE 1 /* getaddrinfo() */

#include "tests/support/side_rig.h"

#include "config/limits.h"
#include "rpc/conn/conn_dial.h"
#include "rpc/conn/conn_queue.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Options that this test's sockets were asked for: QUICKACK, and in vain. */
static struct {
    int quick_acks, refused;
} options;

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    long rc = syscall(SYS_setsockopt, fd, level, option, value, size);

    options.refused += rc != 0;
    options.quick_acks += level == IPPROTO_TCP && option == TCP_QUICKACK;
    return (int)rc;
}

/* ---- Bytes --------------------------------------------------------------- */

static void test_bytes_arrive_in_order(void **state)
{
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(3 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);
    struct tfd_bytes long_text, short_text;
    size_t expected = 0;

    (void)state;
    tfd_bytes_init(&long_text, 1 << 20);
    tfd_bytes_init(&short_text, 1 << 20);
    memset(tfd_bytes_extend(&long_text, 100000), 'x', 100000);
    tfd_bytes_printf(&short_text, "short");
    tfd_conn_write(w->conn, "begin", 5); /* while dialling */
    tfd_conn_write_bytes(w->conn, &short_text);
    tfd_conn_write_buffer(w->conn, b, 1, b->size - 1);
    tfd_conn_write_bytes(w->conn, &long_text);
    assert_int_equal(long_text.size, 0);
    assert_int_equal(short_text.size, 0);
    tfd_conn_write(w->conn, "end", 3);
    expected = 5 + 5 + b->size - 1 + 100000 + 3;
    assert_int_equal(tfd_conn_queued(w->conn), expected);

    s->raw.tick_at = expected;
    rig_run(&s->rig, 2); /* accepted, all here */
    assert_int_equal(s->raw.in.size, expected);
    assert_memory_equal(s->raw.in.data, "beginshort", 10);
    assert_memory_equal(s->raw.in.data + 10, (char *)b->data + 1, b->size - 1);
    assert_memory_equal(s->raw.in.data + expected - 4, "xend", 4);
    assert_int_equal(tfd_conn_queued(w->conn), 0);
    assert_true(tfd_buffer_sole(b)); /* what was written is released */
    tfd_buffer_unref(b);
    tfd_bytes_deinit(&long_text);
    tfd_bytes_deinit(&short_text);
    rig_raw_free(w);
    side_free(s);
}

static uint8_t large_part[256 << 10];

static size_t large_space(void *self, uint8_t **at)
{
    (void)self;
    *at = large_part;
    return sizeof(large_part);
}

static enum tfd_code large_commit(void *self, size_t n, struct tfd_status *st)
{
    struct rig_raw *r = self;

    for (size_t i = 0, size; i < n; i += size) {
        size = n - i < sizeof(r->part) ? n - i : sizeof(r->part);
        memcpy(r->part, large_part + i, size);
        TFD_TRY(rig_raw_handler.commit(r, size, st));
    }
    return TFD_OK;
}

/* By the Unix socket of a listener on this host, or by TCP. */
static void send_much(bool by_tcp)
{
    struct tfd_conn_handler h = rig_raw_handler;
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(8 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    memset(&options, 0, sizeof(options));
    if (by_tcp)
        tfd_conn_by_tcp(w->conn);
    h.space = large_space;
    h.commit = large_commit;
    rig_run(&s->rig, 1);
    tfd_conn_handle(s->conn, &h, &s->raw);
    tfd_conn_write_buffer(w->conn, b, 0, b->size);
    s->raw.tick_at = b->size;
    rig_run(&s->rig, 1);
    assert_int_equal(s->raw.in.size, b->size);
    assert_int_equal(tfd_conn_is_unix(w->conn), !by_tcp);
    assert_int_equal(tfd_conn_is_unix(s->conn), !by_tcp);
    tfd_buffer_unref(b);
    rig_raw_free(w);
    side_free(s);
}

static void test_a_unix_socket_is_asked_for_nothing_of_tcp(void **state)
{
    (void)state;
    send_much(false);
    assert_int_equal(options.quick_acks, 0);
    assert_int_equal(options.refused, 0);
}

static void test_large_reads_by_tcp_are_acknowledged_at_once(void **state)
{
    (void)state;
    send_much(true);
    assert_true(options.quick_acks > 0);
    assert_int_equal(options.refused, 0);
}

static void test_a_paused_connection_does_not_read(void **state)
{
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(64 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    rig_run(&s->rig, 1);
    tfd_conn_pause(s->conn);
    tfd_conn_write_buffer(w->conn, b, 0, b->size);
    tfd_conn_write(s->conn, "go", 2);
    w->tick_at = 2;
    rig_run(&s->rig, 1); /* a turn of the loop and more */
    assert_int_equal(s->raw.in.size, 0);
    assert_true(tfd_conn_queued(w->conn) > 0); /* more than sockets hold */

    tfd_conn_resume(s->conn);
    s->raw.tick_at = b->size;
    rig_run(&s->rig, 1);
    assert_int_equal(s->raw.in.size, b->size);
    assert_memory_equal(s->raw.in.data, b->data, b->size);
    tfd_buffer_unref(b);
    rig_raw_free(w);
    side_free(s);
}

static void drained(void *self)
{
    struct rig_raw *w = self;

    rig_tick(w->rig);
}

static void test_drained_is_told_once_below_the_mark(void **state)
{
    struct tfd_conn_handler h = rig_raw_handler;
    struct side *s = side_new(10);
    struct tfd_buffer *b = rig_buffer(8 << 20);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    h.drained = drained;
    rig_run(&s->rig, 1);
    tfd_conn_handle(w->conn, &h, w);
    tfd_conn_write_buffer(w->conn, b, 0, b->size);
    rig_run(&s->rig, 1);
    assert_true(tfd_conn_queued(w->conn) < TFD_CONN_LOW);
    s->raw.tick_at = b->size;
    rig_run(&s->rig, s->raw.in.size < b->size);
    tfd_buffer_unref(b);
    rig_raw_free(w);
    side_free(s);
}

/* ---- Dialling ------------------------------------------------------------ */

static void test_failed_dials_say_why(void **state)
{
    struct side *s = side_new(10);
    char refused[32], text[300];
    struct {
        const char *address;
        const char *why;
    } cases[] = {
        {refused, "Connection refused"},
        {"no-such-host.invalid:1", "cannot resolve the name no-such-host"},
    };

    (void)state;
    snprintf(refused, sizeof(refused), "%s", s->address);
    tfd_listener_close(s->listener);
    s->listener = NULL;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_raw *w = rig_raw_new(&s->rig, cases[i].address);

        rig_run(&s->rig, 1);
        assert_true(w->closed);
        assert_false(w->connected);
        assert_int_equal(w->why.code, TFD_UNAVAILABLE);
        snprintf(text, sizeof(text), "%.299s", w->why.text);
        assert_non_null(strstr(text, cases[i].why));
        rig_raw_free(w);
    }
    side_free(s);
}

static void test_a_dial_can_be_given_up(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:1", "localhost:1",
                                            "no-such-host.invalid:1"};
    struct side *s = side_new(10);

    (void)state;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct rig_raw *w = rig_raw_new(&s->rig, addresses[i]);

        tfd_conn_close(w->conn, 1000);
        rig_run(&s->rig, 1);
        assert_true(w->closed);
        assert_int_equal(w->why.code, TFD_OK);
        rig_raw_free(w);
    }
    side_free(s);
}

/* A bare root folder may have no /etc/hosts. */
static bool localhost_is_known(void)
{
    struct addrinfo *found = NULL;
    bool known = getaddrinfo("localhost", NULL, NULL, &found) == 0;

    if (known)
        freeaddrinfo(found);
    return known;
}

static void test_a_name_with_several_addresses_connects(void **state)
{
    struct side *s;
    char address[32];
    struct rig_raw *w;

    (void)state;
    if (!localhost_is_known())
        skip();
    s = side_new(10);
    snprintf(address, sizeof(address), "localhost:%d",
             tfd_listener_port(s->listener)); /* ::1 is refused, 127... not */
    w = rig_raw_new(&s->rig, address);
    rig_run(&s->rig, 1);
    assert_non_null(strstr(tfd_conn_peer(w->conn), "127.0.0.1:"));
    rig_raw_free(w);
    side_free(s);
}

static void test_addresses_good_and_bad(void **state)
{
    static const struct {
        const char *address, *host, *port; /* host NULL: refused */
    } cases[] = {
        {"localhost:2222", "localhost", "2222"},
        {"[::1]:65535", "::1", "65535"},
        {"10.0.0.1:1", "10.0.0.1", "1"},
        {"localhost", NULL, NULL},
        {":2222", NULL, NULL},
        {"", NULL, NULL},
        {"a:", NULL, NULL},
        {"a:0", NULL, NULL},
        {"a:65536", NULL, NULL},
        {"a:-1", NULL, NULL},
        {"a:22x", NULL, NULL},
    };
    char host[TFD_ADDRESS_SIZE_MAX], port[TFD_PORT_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum tfd_code rc = tfd_dial_split(cases[i].address, host, port, NULL);

        assert_int_equal(rc, cases[i].host ? TFD_OK : TFD_INVALID_ARGUMENT);
        if (!cases[i].host)
            continue;
        assert_string_equal(host, cases[i].host);
        assert_string_equal(port, cases[i].port);
    }
}

/* ---- Listening ----------------------------------------------------------- */

static void test_the_limit_of_connections_holds(void **state)
{
    struct side *s = side_new(1);
    struct rig_raw *first = rig_raw_new(&s->rig, s->address);
    struct rig_raw *second;

    (void)state;
    rig_run(&s->rig, 1);
    second = rig_raw_new(&s->rig, s->address);
    rig_run(&s->rig, 1);
    assert_true(second->closed);
    assert_false(first->closed);
    assert_int_equal(s->accepted, 1);
    assert_int_equal(tfd_listener_connections(s->listener), 1);
    rig_raw_free(second);
    rig_raw_free(first);
    side_free(s);
}

static void test_a_connection_nobody_wants_is_closed(void **state)
{
    struct side *s = side_new(10);
    struct rig_raw *w = rig_raw_new(&s->rig, s->address);

    (void)state;
    s->refuse = true;
    rig_run(&s->rig, 2);
    assert_true(w->closed);
    assert_int_equal(tfd_listener_connections(s->listener), 0);
    rig_raw_free(w);
    side_free(s);
}

static void test_a_port_in_use_is_an_error(void **state)
{
    struct side *s = side_new(10);
    struct tfd_listener *second = NULL;
    struct tfd_status st = TFD_STATUS_INIT;
    char text[64];

    (void)state;
    assert_int_equal(tfd_listener_new(s->rig.loop, "127.0.0.1",
                                      tfd_listener_port(s->listener), 1,
                                      side_accept, s, &second, &st),
                     TFD_UNAVAILABLE);
    snprintf(text, sizeof(text), "127.0.0.1:%d: Address already in use",
             tfd_listener_port(s->listener));
    assert_non_null(strstr(st.text, text));
    tfd_status_clear(&st);
    assert_int_equal(tfd_listener_new(s->rig.loop, "no-such-host.invalid", 0, 1,
                                      side_accept, s, &second, &st),
                     TFD_INVALID_ARGUMENT);
    side_free(s);
}

static void test_every_interface_is_the_default(void **state)
{
    struct side *s = side_new(10);
    struct tfd_listener *any = NULL;
    char address[32];
    struct rig_raw *w;

    (void)state;
    assert_int_equal(
        tfd_listener_new(s->rig.loop, NULL, 0, 10, side_accept, s, &any, NULL),
        TFD_OK);
    snprintf(address, sizeof(address), "127.0.0.1:%d", tfd_listener_port(any));
    w = rig_raw_new(&s->rig, address);
    rig_run(&s->rig, 1);
    assert_int_equal(tfd_listener_connections(any), 1);
    tfd_listener_close(any); /* the connection lives on */
    tfd_conn_write(w->conn, "x", 1);
    s->raw.tick_at = 1;
    rig_run(&s->rig, 1);
    rig_raw_free(w);
    side_free(s);
}

/* ---- The queue alone ----------------------------------------------------- */

static void test_small_writes_share_a_vector(void **state)
{
    struct tfd_conn_queue q;
    struct iovec iov[8];
    struct tfd_buffer *b = rig_buffer(100);

    (void)state;
    tfd_conn_queue_init(&q);
    for (int i = 0; i < 100; i++)
        tfd_conn_queue_copy(&q, "0123456789", 10);
    assert_int_equal(tfd_conn_queue_peek(&q, iov, 8), 1);
    assert_int_equal(iov[0].iov_len, 1000);
    tfd_conn_queue_buffer(&q, b, 10, 50);
    tfd_conn_queue_buffer(&q, b, 0, 0); /* nothing */
    tfd_conn_queue_copy(&q, "x", 1);
    assert_int_equal(tfd_conn_queue_peek(&q, iov, 8), 3);
    assert_int_equal(q.size, 1051);
    tfd_conn_queue_consume(&q, 1005);
    assert_int_equal(tfd_conn_queue_peek(&q, iov, 8), 2);
    assert_ptr_equal(iov[0].iov_base, (char *)b->data + 15);
    tfd_conn_queue_consume(&q, 46);
    assert_int_equal(q.size, 0);
    assert_int_equal(q.count, 0);
    assert_null(q.stage);
    tfd_buffer_unref(b);
    tfd_conn_queue_deinit(&q);
}

/* Any cut of the consumption leaves the same bytes in the same order. */
static void test_the_queue_survives_any_cut(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < 400; cut += 7) {
        struct tfd_conn_queue q;
        struct tfd_bytes out;
        struct iovec iov[64];
        size_t written = 0;

        tfd_conn_queue_init(&q);
        tfd_bytes_init(&out, 1 << 20);
        for (int i = 0; written < 100000 || q.size; i++) {
            char text[512];
            size_t n = (size_t)(i * 37 % 500) + 1;

            memset(text, 'a' + i % 26, sizeof(text));
            if (written < 100000) {
                tfd_conn_queue_copy(&q, text, n);
                written += n;
            }
            if (q.size < cut && written < 100000)
                continue;
            n = q.size < cut ? q.size : cut;
            for (int k = 0, m = tfd_conn_queue_peek(&q, iov, 64); k < m; k++) {
                size_t take = iov[k].iov_len < n ? iov[k].iov_len : n;

                tfd_bytes_add(&out, iov[k].iov_base, take);
                tfd_conn_queue_consume(&q, take);
                n -= take;
                break; /* the vectors are stale now */
            }
        }
        assert_int_equal(out.size, written);
        for (size_t i = 0, at = 0; at < out.size; i++)
            for (size_t n = i * 37 % 500 + 1; n > 0 && at < out.size; n--)
                assert_int_equal(out.data[at++], 'a' + i % 26);
        tfd_bytes_deinit(&out);
        tfd_conn_queue_deinit(&q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_arrive_in_order),
        cmocka_unit_test(test_a_unix_socket_is_asked_for_nothing_of_tcp),
        cmocka_unit_test(test_large_reads_by_tcp_are_acknowledged_at_once),
        cmocka_unit_test(test_a_paused_connection_does_not_read),
        cmocka_unit_test(test_drained_is_told_once_below_the_mark),
        cmocka_unit_test(test_failed_dials_say_why),
        cmocka_unit_test(test_a_dial_can_be_given_up),
        cmocka_unit_test(test_a_name_with_several_addresses_connects),
        cmocka_unit_test(test_addresses_good_and_bad),
        cmocka_unit_test(test_the_limit_of_connections_holds),
        cmocka_unit_test(test_a_connection_nobody_wants_is_closed),
        cmocka_unit_test(test_a_port_in_use_is_an_error),
        cmocka_unit_test(test_every_interface_is_the_default),
        cmocka_unit_test(test_small_writes_share_a_vector),
        cmocka_unit_test(test_the_queue_survives_any_cut),
    };

    return cmocka_run_group_tests_name("conn", tests, NULL, NULL);
}
