/*
 * test_native_damage.c - the native protocol through a relay that flips one
 * bit on the way: an answer is right, or there is none.
 */
#include "tests/support/native_rig.h"

/* In conn_host.c's place: there is no second host here. */
bool tfd_conn_leaves_host(const struct tfd_conn *c)
{
    (void)c;
    return true;
}

/* ---- The relay ----------------------------------------------------------- */

enum { TO_SERVER, TO_CALLER };

struct pair;

/* One direction: what comes from here is written to the other. */
struct half {
    struct pair *pair;
    struct tfd_conn *conn; /* where bytes of this direction come from */
    uint64_t passed;
    uint8_t part[65536];
};

struct pair {
    struct half half[2];
    struct relay *relay;
    struct pair *next;
};

/* One bit is flipped in the first connection that carries its byte. */
struct relay {
    struct rig *rig;
    struct tfd_listener *listener;
    char address[32];
    struct pair *pairs;
    int direction; /* of the bit ... */
    uint64_t at;   /* ... in this byte */
    int flipped;
};

static struct half *other_half(struct half *h)
{
    return &h->pair->half[h == &h->pair->half[TO_SERVER]];
}

static size_t half_space(void *self, uint8_t **at)
{
    struct half *h = self;

    *at = h->part;
    return sizeof(h->part);
}

static enum tfd_code half_commit(void *self, size_t n, struct tfd_status *st)
{
    struct half *h = self, *to = other_half(h);
    struct relay *y = h->pair->relay;

    (void)st;
    if (h == &h->pair->half[y->direction] && !y->flipped &&
        y->at >= h->passed && y->at < h->passed + n) {
        h->part[y->at - h->passed] ^= (uint8_t)(1 << y->at % 8);
        y->flipped++;
    }
    h->passed += n;
    if (to->conn)
        tfd_conn_write(to->conn, h->part, n);
    return TFD_OK;
}

static void half_closed(void *self, const struct tfd_status *why)
{
    struct half *h = self, *to = other_half(h);

    (void)why;
    h->conn = NULL;
    if (to->conn)
        tfd_conn_close(to->conn, 1000 * 1000);
}

static const struct tfd_conn_handler half_handler = {
    .space = half_space,
    .commit = half_commit,
    .closed = half_closed,
};

static void relay_accepted(void *ctx, struct tfd_conn *c)
{
    struct relay *y = ctx;
    struct pair *p = calloc(1, sizeof(*p));
    struct tfd_status st = TFD_STATUS_INIT;

    assert_non_null(p);
    p->relay = y;
    p->next = y->pairs;
    y->pairs = p;
    p->half[TO_SERVER].pair = p->half[TO_CALLER].pair = p;
    p->half[TO_SERVER].conn = c;
    tfd_conn_handle(c, &half_handler, &p->half[TO_SERVER]);
    /* What is written before it is up waits in its queue. */
    assert_int_equal(tfd_conn_dial(y->rig->loop, y->rig->address, 1000 * 1000,
                                   &half_handler, &p->half[TO_CALLER],
                                   &p->half[TO_CALLER].conn, &st),
                     TFD_OK);
}

static struct relay *relay_new(struct rig *r, int direction, uint64_t at)
{
    struct relay *y = calloc(1, sizeof(*y));
    struct tfd_status st = TFD_STATUS_INIT;

    assert_non_null(y);
    y->rig = r;
    y->direction = direction;
    y->at = at;
    assert_int_equal(tfd_listener_new(r->loop, "127.0.0.1", 0, 100,
                                      relay_accepted, y, &y->listener, &st),
                     TFD_OK);
    snprintf(y->address, sizeof(y->address), "127.0.0.1:%d",
             tfd_listener_port(y->listener));
    return y;
}

static void relay_free(struct relay *y)
{
    while (y->pairs) {
        struct pair *next = y->pairs->next;

        free(y->pairs);
        y->pairs = next;
    }
    free(y);
}

/* ---- Tests --------------------------------------------------------------- */

#define PAYLOAD (3u << 20)

/* One call through a relay that flips this bit; its outcome. */
static struct rig_result call_through(int direction, uint64_t at)
{
    struct rig *r = rig_new();
    struct relay *y = relay_new(r, direction, at);
    struct tfd_channel *ch = rig_channel(r, y->address, TFD_PROTO_NATIVE);
    struct tfd_buffer *b = rig_buffer(PAYLOAD);
    struct rig_result result = {.rig = r};
    struct tfd_message m = payload_message(&b, 1);

    call(ch, TFD_METHOD_RunGraph, &m, &result);
    rig_run(r, 1);
    assert_int_equal(y->flipped, at == UINT64_MAX ? 0 : 1);
    tfd_listener_close(y->listener);
    tfd_channel_free(ch);
    rig_free(r);
    tfd_buffer_unref(b);
    relay_free(y);
    result.rig = NULL;
    return result;
}

static void assert_right(const struct rig_result *result)
{
    struct tfd_buffer *b = rig_buffer(PAYLOAD);
    uint64_t sum = 0;

    for (size_t k = 0; k < b->size; k += 4093)
        sum += ((uint8_t *)b->data)[k] * (k + 1);
    tfd_buffer_unref(b);
    assert_int_equal(result->code, TFD_OK);
    assert_int_equal(result->size, strlen("with payloads") + PAYLOAD);
    assert_true(result->sum == sum);
}

static void test_what_is_not_damaged_arrives(void **state)
{
    struct rig_result result = call_through(TO_SERVER, UINT64_MAX);

    (void)state;
    assert_right(&result);
}

/* Offsets in the message: first frame's header, sizes and protobuf, headers
 * and contents of chunks, the last byte. */
static void test_a_flipped_bit_ends_the_call(void **state)
{
    static const uint64_t at[] = {150,     1000,    4093,    500001, 1048700,
                                  1500000, 2097400, 3000000, 3145500};

    (void)state;
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        for (int direction = TO_SERVER; direction <= TO_CALLER; direction++) {
            struct rig_result result = call_through(direction, at[i]);

            assert_int_equal(result.code, TFD_UNAVAILABLE);
            assert_non_null(strstr(result.text, "damaged on its way"));
        }
}

/* In the greeting, which is dialled for again.  The first four bytes choose
 * the protocol, and others end the connection as such. */
static void test_a_flipped_bit_in_the_greeting_is_no_answer(void **state)
{
    static const uint64_t at[] = {4, 5, 7, 9, 13, 17, 21, 25, 40, 64};

    (void)state;
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
        for (int direction = TO_SERVER; direction <= TO_CALLER; direction++) {
            struct rig_result result = call_through(direction, at[i]);

            if (result.code == TFD_OK)
                assert_right(&result);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_damaged_arrives),
        cmocka_unit_test(test_a_flipped_bit_ends_the_call),
        cmocka_unit_test(test_a_flipped_bit_in_the_greeting_is_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
