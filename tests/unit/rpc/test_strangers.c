/*
 * test_strangers.c - hundreds of connections that come at once (listener.c,
 * conn_line.c): all are served, and calls of others go on between them.
 *
 * By the loop's clock a page takes as long as this file says, on any machine
 * (moved_clock.h).
 */
#define _GNU_SOURCE 1 /* clock_gettime() */

#include "tests/support/moved_clock.h"
#include "tests/support/rig.h"

#include "config/limits.h"

#define PAGE_US 300 /* more than a turn has for strangers */
#define CROWD 400   /* more than one address may have at once */
/* A call comes back within four turns, in each of which the line is run at most
 * twice. */
#define PAGES_PER_CALL 8

static struct {
    struct rig *rig;
    struct rig_raw *client[CROWD];
    int pages;           /* answered */
    int calls, pages_at; /* when the last call came back */
    int most;            /* pages from one call to the next */
    struct tfd_channel *channel;
} crowd;

static int dear_page(void *self, struct tfd_page *p)
{
    (void)self;
    clock_ahead_us += PAGE_US;
    crowd.pages++;
    tfd_bytes_printf(p->body, "dear");
    return 200;
}

static void crowd_up(void)
{
    memset(&crowd, 0, sizeof(crowd));
    crowd.rig = rig_new();
    assert_true(CROWD > TFD_CONNECTIONS_PER_PEER_MAX);
    assert_int_equal(
        tfd_service_page(crowd.rig->service, "/dear", dear_page, NULL, NULL),
        TFD_OK);
}

static void crowd_comes(const char *request)
{
    for (int i = 0; i < CROWD; i++) {
        struct rig_raw *w = rig_raw_new(crowd.rig, crowd.rig->address);

        tfd_conn_write(w->conn, request, strlen(request));
        crowd.client[i] = w;
    }
}

static void crowd_is_answered(const char *status)
{
    for (int i = 0; i < CROWD; i++) {
        struct rig_raw *w = crowd.client[i];

        assert_true(w->closed);
        assert_true(*status == '\0' || w->why.code == TFD_OK);
        assert_true(tfd_str_starts(tfd_bytes_view(&w->in), status));
        rig_raw_free(w);
    }
    assert_int_equal(tfd_listener_refused(crowd.rig->listener), 0);
}

/* ---- A crowd ------------------------------------------------------------- */

/* More than one address may have at once, but each goes when it has its page,
 * so that no place is missing. */
static void test_all_of_a_crowd_are_answered(void **state)
{
    static const struct {
        const char *request, *status;
    } cases[] = {
        {"GET /dear HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n"},
        {"GET /nothing HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        {"POST /dear HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
        {"GET nonsense\r\n\r\n", "HTTP/1.1 400 "},
        {"what is this\r\n\r\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        crowd_up();
        crowd_comes(cases[i].request);
        rig_run(crowd.rig, CROWD);
        crowd_is_answered(cases[i].status);
        assert_int_equal(crowd.pages, i == 0 ? CROWD : 0);
        rig_free(crowd.rig);
    }
}

/* They have been silent for long when all ask at once, and somebody comes while
 * they wait for their turn. */
static void test_who_has_asked_keeps_its_place(void **state)
{
    const char *request = "GET /dear HTTP/1.1\r\n\r\n";
    const int full = TFD_CONNECTIONS_PER_PEER_MAX;

    (void)state;
    crowd_up();
    for (int i = 0; i < full; i++) {
        crowd.client[i] = rig_raw_new(crowd.rig, crowd.rig->address);
        crowd.client[i]->tick_connected = true;
    }
    rig_run(crowd.rig, full);
    for (int i = 0; i < full; i++)
        clock_move(crowd.rig->loop, 1); /* until all are accepted */
    assert_int_equal(tfd_listener_connections(crowd.rig->listener), full);
    clock_move(crowd.rig->loop, 2 * TFD_CONNECTION_YOUNG_MS * 1000);
    for (int i = 0; i < full; i++)
        tfd_conn_write(crowd.client[i]->conn, request, strlen(request));
    for (int i = 0; crowd.pages == 0 && i < full; i++)
        clock_move(crowd.rig->loop, 1); /* until the first are read */
    assert_in_range(crowd.pages, 1, full / 2);
    for (int i = full; i < CROWD; i++)
        crowd.client[i] = rig_raw_new(crowd.rig, crowd.rig->address);
    rig_run(crowd.rig, CROWD);
    assert_int_equal(crowd.pages, full);
    for (int i = 0; i < CROWD; i++)
        rig_raw_free(crowd.client[i]);
    rig_free(crowd.rig);
}

static void call_again(void);

static void call_done(void *ctx, const struct tfd_status *st,
                      const struct tfd_incoming *response)
{
    int pages = crowd.pages - crowd.pages_at;

    (void)ctx;
    assert_int_equal(st->code, TFD_OK);
    assert_non_null(response);
    crowd.calls++;
    if (pages > crowd.most)
        crowd.most = pages;
    crowd.pages_at = crowd.pages;
    rig_tick(crowd.rig);
    if (crowd.pages < CROWD)
        call_again();
}

static void call_again(void)
{
    struct tfd_message m = rig_text("step");

    crowd.rig->awaited++;
    (void)tfd_channel_call(crowd.channel, TFD_METHOD_RunGraph, &m, &rig_patient,
                           call_done, NULL);
}

static void calls_beside_a_crowd(enum tfd_protocol protocol)
{
    crowd_up();
    crowd.channel = rig_channel(crowd.rig, crowd.rig->address, protocol);
    crowd.pages = CROWD; /* one call, before they come */
    call_again();
    rig_run(crowd.rig, 0);
    crowd.pages = crowd.pages_at = crowd.most = crowd.calls = 0;
    crowd_comes("GET /dear HTTP/1.1\r\n\r\n");
    crowd.rig->awaited = 0;
    call_again();
    rig_run(crowd.rig, CROWD);
    assert_in_range(crowd.most, 1, PAGES_PER_CALL);
    assert_true(crowd.calls >= CROWD / PAGES_PER_CALL);
    crowd_is_answered("HTTP/1.1 200 OK\r\n");
    tfd_channel_free(crowd.channel);
    rig_free(crowd.rig);
}

static void test_calls_go_on_beside_a_crowd(void **state)
{
    (void)state;
    calls_beside_a_crowd(TFD_PROTO_NATIVE);
    calls_beside_a_crowd(TFD_PROTO_GRPC);
}

/* ---- The door ------------------------------------------------------------ */

#define ENDLESS 8
#define NEWCOMERS 20

/* Strangers who send as soon as they are read, and those who come then. */
static struct {
    struct rig *rig;
    struct rig_raw *client[ENDLESS + NEWCOMERS];
    struct tfd_conn *conn[ENDLESS + NEWCOMERS];
    int accepted, reads;
    bool over;
} door;

static size_t door_space(void *self, uint8_t **at)
{
    static uint8_t part[16];

    (void)self;
    *at = part;
    return sizeof(part);
}

static enum tfd_code endless_commit(void *self, size_t n, struct tfd_status *st)
{
    struct tfd_conn **place = self;
    struct rig_raw *client = door.client[place - door.conn];

    (void)st;
    clock_ahead_us += PAGE_US;
    if (++door.reads == 4 * ENDLESS)
        rig_tick(door.rig); /* the line is never empty any more */
    if (!door.over)
        tfd_conn_write(client->conn, "xxxxxxxxxxxxxxxx", n);
    return TFD_OK;
}

static void door_closed(void *self, const struct tfd_status *why)
{
    struct tfd_conn **place = self;

    (void)why;
    *place = NULL;
    rig_tick(door.rig);
}

static const struct tfd_conn_handler door_handler = {
    .space = door_space,
    .commit = endless_commit,
    .closed = door_closed,
};

static void come_in(void *ctx, struct tfd_conn *c)
{
    (void)ctx;
    assert_true(door.accepted < ENDLESS + NEWCOMERS);
    door.conn[door.accepted] = c;
    tfd_conn_handle(c, &door_handler, &door.conn[door.accepted]);
    door.accepted++;
    rig_tick(door.rig);
}

static void knock(int from, int to, const char *address)
{
    for (int i = from; i < to; i++)
        door.client[i] = rig_raw_new(door.rig, address);
    rig_run(door.rig, to - from);
    assert_int_equal(door.accepted, to);
}

static void test_who_never_stops_does_not_shut_the_door(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_listener *l;
    char address[32];

    (void)state;
    memset(&door, 0, sizeof(door));
    door.rig = rig_new();
    assert_int_equal(tfd_listener_new(door.rig->loop, "127.0.0.1", 0, 5000,
                                      come_in, NULL, &l, &st),
                     TFD_OK);
    snprintf(address, sizeof(address), "127.0.0.1:%d", tfd_listener_port(l));
    knock(0, ENDLESS, address);
    for (int i = 0; i < ENDLESS; i++)
        tfd_conn_write(door.client[i]->conn, "x", 1);
    rig_run(door.rig, 1);
    knock(ENDLESS, ENDLESS + NEWCOMERS, address);
    door.over = true;
    for (int i = 0; i < ENDLESS + NEWCOMERS; i++)
        tfd_conn_close(door.client[i]->conn, 0);
    rig_run(door.rig, 2 * (ENDLESS + NEWCOMERS)); /* both ends of each */
    for (int i = 0; i < ENDLESS + NEWCOMERS; i++)
        rig_raw_free(door.client[i]);
    tfd_listener_close(l);
    rig_free(door.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_a_crowd_are_answered),
        cmocka_unit_test(test_who_has_asked_keeps_its_place),
        cmocka_unit_test(test_calls_go_on_beside_a_crowd),
        cmocka_unit_test(test_who_never_stops_does_not_shut_the_door),
    };

    return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
