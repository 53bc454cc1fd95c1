/*
 * test_listener.c - rpc/conn/listener.c and conn_victim.c: who may connect when
 * all places are taken, and whose connection goes for it.
 *
 * The hosts are the test's: it says who connects next, in place of origin.c.
 * The connections are real ones, and the clock is ahead by as much as the test
 * wants (moved_clock.h).
 */
#define _GNU_SOURCE 1 /* clock_gettime() */

#include "tests/support/moved_clock.h"
#include "tests/support/rig.h"

#include "config/limits.h"

#include <unistd.h>

#define PLACES 16
#define MS UINT64_C(1000)

struct place {
    struct rig_raw *client;
    struct tfd_conn *conn; /* NULL: closed */
    enum tfd_conn_use use;
};

static struct {
    struct rig rig; /* only its loop and watchdog are used */
    struct tfd_listener *listener;
    char address[32];
    const char *next_host;
    struct place places[PLACES];
    int accepted;
} net;

/* ---- In place of origin.c ------------------------------------------------ */

static void come_from(struct tfd_origin *o)
{
    memset(o, 0, sizeof(*o));
    snprintf(o->address, sizeof(o->address), "%s", net.next_host);
    snprintf(o->key, sizeof(o->key), "%s", net.next_host);
    o->uid = getuid(); /* whom a dial by the Unix socket wants */
}

void tfd_origin_of_tcp(struct tfd_origin *o, const struct sockaddr *peer)
{
    (void)peer;
    come_from(o);
}

void tfd_origin_of_unix(struct tfd_origin *o, int fd)
{
    (void)fd;
    come_from(o);
}

void tfd_origin_set_user(struct tfd_origin *o, uint32_t uid)
{
    (void)uid;
    come_from(o);
}

/* ---- Connections --------------------------------------------------------- */

static size_t place_space(void *self, uint8_t **at)
{
    static uint8_t part[16];

    (void)self;
    *at = part;
    return sizeof(part);
}

static enum tfd_code place_commit(void *self, size_t n, struct tfd_status *st)
{
    (void)self;
    (void)n;
    (void)st;
    rig_tick(&net.rig);
    return TFD_OK;
}

static enum tfd_conn_use place_use(void *self)
{
    struct place *p = self;

    return p->use;
}

static void place_closed(void *self, const struct tfd_status *why)
{
    struct place *p = self;

    (void)why;
    p->conn = NULL;
    rig_tick(&net.rig);
}

static const struct tfd_conn_handler place_handler = {
    .space = place_space,
    .commit = place_commit,
    .use = place_use,
    .closed = place_closed,
};

static void on_accept(void *ctx, struct tfd_conn *c)
{
    struct place *p = &net.places[net.accepted];

    (void)ctx;
    assert_true(net.accepted < PLACES);
    net.accepted++;
    p->conn = c;
    tfd_conn_handle(c, &place_handler, p);
    rig_tick(&net.rig);
}

static void net_up(int all, int per_host)
{
    struct tfd_status st = TFD_STATUS_INIT;

    memset(&net, 0, sizeof(net));
    net.rig.loop = tfd_loop_new(&st);
    assert_non_null(net.rig.loop);
    tfd_timer_init(&net.rig.watchdog, net.rig.loop, rig_bark);
    assert_int_equal(tfd_listener_new(net.rig.loop, "127.0.0.1", 0, all,
                                      on_accept, NULL, &net.listener, &st),
                     TFD_OK);
    tfd_listener_per_peer(net.listener, per_host);
    snprintf(net.address, sizeof(net.address), "127.0.0.1:%d",
             tfd_listener_port(net.listener));
}

static void wait_event(void)
{
    net.rig.awaited = 0;
    rig_run(&net.rig, 1);
}

static void net_down(void)
{
    for (int i = 0; i < PLACES; i++) {
        struct place *p = &net.places[i];

        if (p->client)
            rig_raw_free(p->client);
        while (p->conn)
            wait_event();
    }
    tfd_listener_close(net.listener);
    tfd_loop_free(net.rig.loop);
}

/* True when it was accepted; then net.places has it. */
static bool come(const char *host, enum tfd_conn_use use)
{
    int before = net.accepted;
    struct rig_raw *w;

    net.next_host = host;
    w = rig_raw_new(&net.rig, net.address);
    while (!w->closed && net.accepted == before)
        wait_event();
    if (net.accepted == before) {
        rig_raw_free(w);
        return false;
    }
    net.places[before].client = w;
    net.places[before].use = use;
    return true;
}

static void pass(uint64_t ms)
{
    clock_ahead_us += ms * MS;
}

/* ---- Whose connection goes ----------------------------------------------- */

/* One connection: its host, what depends on it, since when it is silent. */
struct there {
    const char *host;
    enum tfd_conn_use use;
    uint64_t silent_ms;
};

#define BUSY TFD_CONN_BUSY
#define KEPT TFD_CONN_KEPT
#define IDLE TFD_CONN_IDLE
#define YOUNG (TFD_CONNECTION_YOUNG_MS - 500)
#define OLD (TFD_CONNECTION_YOUNG_MS + 1)
#define MINUTE TFD_CONNECTION_KEPT_MS

struct scene {
    const char *what;
    int per_host;
    struct there there[6]; /* all places; who is silent longest comes first */
    const char *comes;
    int goes; /* its place; -1: nobody, the newcomer is refused */
};

static const struct scene scenes[] = {
    {"all are busy",
     6,
     {{"a", BUSY, 10 * MINUTE},
      {"b", BUSY, 9 * MINUTE},
      {"b", BUSY, 8 * MINUTE},
      {"c", BUSY, 7 * MINUTE},
      {"c", BUSY, 6 * MINUTE},
      {"c", BUSY, 5 * MINUTE}},
     "d",
     -1},
    {"the idle one goes, not the busy ones that are silent for longer",
     6,
     {{"a", BUSY, 10 * MINUTE},
      {"b", BUSY, 9 * MINUTE},
      {"c", BUSY, 8 * MINUTE},
      {"c", BUSY, 7 * MINUTE},
      {"c", BUSY, 6 * MINUTE},
      {"b", IDLE, OLD}},
     "d",
     5},
    {"an idle one of who has most goes before one that is silent for longer",
     6,
     {{"a", IDLE, 10 * MINUTE},
      {"b", IDLE, 9 * MINUTE},
      {"b", IDLE, 8 * MINUTE},
      {"c", BUSY, 7 * MINUTE},
      {"c", IDLE, 6 * MINUTE},
      {"c", IDLE, 5 * MINUTE}},
     "d",
     4},
    {"who has most has only busy ones: the next goes",
     6,
     {{"a", IDLE, 10 * MINUTE},
      {"b", IDLE, 9 * MINUTE},
      {"b", IDLE, 8 * MINUTE},
      {"c", BUSY, 7 * MINUTE},
      {"c", BUSY, 6 * MINUTE},
      {"c", BUSY, 5 * MINUTE}},
     "d",
     1},
    {"of hosts with as many, the one that is silent longest goes",
     6,
     {{"b", IDLE, 10 * MINUTE},
      {"a", IDLE, 9 * MINUTE},
      {"a", IDLE, 8 * MINUTE},
      {"b", IDLE, 7 * MINUTE},
      {"c", IDLE, 6 * MINUTE},
      {"c", IDLE, 5 * MINUTE}},
     "d",
     0},
    {"an idle one goes before a kept one, whoever has more",
     6,
     {{"c", KEPT, 10 * MINUTE},
      {"c", KEPT, 9 * MINUTE},
      {"c", KEPT, 8 * MINUTE},
      {"c", KEPT, 7 * MINUTE},
      {"b", BUSY, 6 * MINUTE},
      {"a", IDLE, OLD}},
     "d",
     5},
    {"a kept one goes when nothing is idle",
     6,
     {{"a", KEPT, 10 * MINUTE},
      {"b", BUSY, 9 * MINUTE},
      {"b", KEPT, 8 * MINUTE},
      {"b", KEPT, MINUTE + 1000},
      {"c", KEPT, YOUNG},
      {"c", BUSY, YOUNG}},
     "d",
     2},
    {"kept ones that were heard within a minute stay",
     6,
     {{"a", KEPT, MINUTE - 1000},
      {"b", KEPT, MINUTE - 2000},
      {"b", KEPT, MINUTE / 2},
      {"b", KEPT, MINUTE / 4},
      {"c", KEPT, OLD},
      {"c", KEPT, 0}},
     "d",
     -1},
    {"of the kept ones only who has been silent for a minute goes",
     6,
     {{"a", KEPT, MINUTE + 1000},
      {"b", KEPT, MINUTE - 1000},
      {"b", KEPT, MINUTE - 1000},
      {"b", KEPT, MINUTE - 1000},
      {"b", KEPT, MINUTE - 1000},
      {"b", KEPT, MINUTE - 1000}},
     "b",
     0},
    {"idle ones that came a moment ago stay",
     6,
     {{"a", IDLE, YOUNG},
      {"b", IDLE, YOUNG},
      {"b", IDLE, YOUNG},
      {"b", IDLE, YOUNG},
      {"c", IDLE, 0},
      {"c", IDLE, 0}},
     "d",
     -1},
    {"a young idle one stays, a kept one of long ago goes",
     6,
     {{"a", KEPT, MINUTE + 1000},
      {"b", BUSY, MINUTE},
      {"b", BUSY, MINUTE},
      {"b", IDLE, YOUNG},
      {"b", IDLE, YOUNG},
      {"b", IDLE, YOUNG}},
     "d",
     0},
    {"a host with all it may have displaces its own only",
     3,
     {{"a", IDLE, 10 * MINUTE},
      {"a", IDLE, 9 * MINUTE},
      {"c", BUSY, 8 * MINUTE},
      {"b", IDLE, 7 * MINUTE},
      {"c", IDLE, 6 * MINUTE},
      {"c", KEPT, 5 * MINUTE}},
     "c",
     4},
    {"a host with all it may have and no idle one is refused",
     3,
     {{"a", IDLE, 10 * MINUTE},
      {"a", IDLE, 9 * MINUTE},
      {"c", BUSY, 8 * MINUTE},
      {"b", IDLE, 7 * MINUTE},
      {"c", BUSY, 6 * MINUTE},
      {"c", KEPT, MINUTE - 1000}},
     "c",
     -1},
    {"a host with all it may have displaces a kept one of its own",
     3,
     {{"a", IDLE, 10 * MINUTE},
      {"a", IDLE, 9 * MINUTE},
      {"c", BUSY, 8 * MINUTE},
      {"b", IDLE, 7 * MINUTE},
      {"c", BUSY, 6 * MINUTE},
      {"c", KEPT, MINUTE + 1000}},
     "c",
     5},
};

static int who_went(void)
{
    int gone = -1;

    for (int i = 0; i < net.accepted; i++)
        if (!net.places[i].conn) {
            assert_int_equal(gone, -1); /* one makes room, no more */
            gone = i;
        }
    return gone;
}

static void fill(const struct scene *s)
{
    for (int i = 0; i < 6; i++) {
        const struct there *t = &s->there[i];

        assert_true(come(t->host, t->use));
        pass(t->silent_ms - (i < 5 ? t[1].silent_ms : 0));
    }
}

static void test_who_makes_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        const struct scene *s = &scenes[i];
        bool in;

        net_up(6, s->per_host);
        fill(s);
        in = come(s->comes, BUSY);
        while (in && who_went() < 0)
            wait_event();
        if (in != (s->goes >= 0) || (in && who_went() != s->goes))
            fail_msg("%s: place %d, not %d", s->what, who_went(), s->goes);
        assert_int_equal(tfd_listener_connections(net.listener), 6);
        assert_int_equal(tfd_listener_refused(net.listener), !in);
        net_down();
    }
}

/* Bytes that come, whatever they are, begin the silence anew. */
static void test_who_was_heard_is_not_silent(void **state)
{
    (void)state;
    net_up(2, 2);
    assert_true(come("a", KEPT));
    assert_true(come("b", KEPT));
    pass(MINUTE + 1000);
    tfd_conn_write(net.places[0].client->conn, "x", 1);
    wait_event();
    assert_true(come("c", BUSY));
    while (who_went() < 0)
        wait_event();
    assert_int_equal(who_went(), 1);
    net_down();
}

/* The minute is over while it knocks. */
static void test_a_refused_host_gets_in_when_the_minute_is_over(void **state)
{
    (void)state;
    net_up(2, 2);
    assert_true(come("a", KEPT));
    assert_true(come("b", KEPT));
    for (int second = 0; second < 58; second++) {
        pass(1000);
        assert_false(come("c", BUSY));
    }
    pass(3000);
    assert_true(come("c", BUSY));
    while (who_went() < 0)
        wait_event();
    assert_int_equal(who_went(), 0);
    net_down();
}

/* ---- What is told, and looked for, once ---------------------------------- */

static FILE *log_file;
static int real_stderr;

static void log_begin(void)
{
    fflush(stderr);
    log_file = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    assert_true(log_file && real_stderr >= 0);
    assert_true(dup2(fileno(log_file), STDERR_FILENO) >= 0);
}

/* Lines with this word since log_begin(). */
static int log_end(const char *word)
{
    char line[1024];
    int count = 0;

    assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
    close(real_stderr);
    rewind(log_file);
    while (fgets(line, sizeof(line), log_file))
        count += strstr(line, word) != NULL;
    fclose(log_file);
    return count;
}

/* Also a host that has no connection at all, since all are taken. */
static void test_who_knocks_for_ever_is_logged_once_in_ten_minutes(void **state)
{
    static const char *const all_taken[] = {"a", "b", "c"};

    (void)state;
    for (int of_host = 0; of_host < 2; of_host++) {
        int lines;

        net_up(of_host ? 10 : 2, of_host ? 2 : 10);
        assert_true(come(of_host ? "c" : "a", BUSY));
        assert_true(come(of_host ? "c" : "b", BUSY));
        log_begin();
        for (int i = 0; i < 20; i++)
            for (int k = 0; k < 3; k++)
                if (!of_host || k == 2)
                    assert_false(come(all_taken[k], BUSY));
        lines = log_end("connection_refused");
        assert_int_equal(lines, of_host ? 1 : 3);
        log_begin();
        pass(10 * MINUTE);
        for (int i = 0; i < 20; i++)
            assert_false(come("c", BUSY));
        lines = log_end("connection_refused");
        assert_int_equal(lines, 1);
        net_down();
    }
}

/* To look for one that makes room takes a walk over all, so who was refused a
 * moment ago is refused again, even if one became idle. */
static void test_who_was_refused_is_not_looked_at_anew(void **state)
{
    (void)state;
    net_up(1, 1);
    assert_true(come("a", BUSY));
    pass(OLD);
    assert_false(come("b", BUSY));
    net.places[0].use = IDLE;
    assert_false(come("b", BUSY));
    pass(100);
    assert_true(come("b", BUSY));
    net_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_makes_room),
        cmocka_unit_test(test_who_was_heard_is_not_silent),
        cmocka_unit_test(test_a_refused_host_gets_in_when_the_minute_is_over),
        cmocka_unit_test(
            test_who_knocks_for_ever_is_logged_once_in_ten_minutes),
        cmocka_unit_test(test_who_was_refused_is_not_looked_at_anew),
    };

    return cmocka_run_group_tests_name("listener", tests, NULL, NULL);
}
