/*
 * fuzz_h2.c - any bytes as an HTTP/2 connection, through gRPC's framing, to
 * handlers; or as what a server answers our calls.
 *
 * Input: one byte that chooses the side (even: we serve, odd: we call) and how
 * the rest is cut, then the bytes of the peer.
 */
#include "rpc/core/health.h"
#include "rpc/core/link.h"
#include "tests/support/fake_net.h"

#include <string.h>

#define HELD_MAX 64
#define CALLS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tfd_call *held[HELD_MAX];
static int held_count;

static void echo(void *self, struct tfd_call *call)
{
    struct tfd_message m;

    (void)self;
    tfd_message_init(&m, call->native);
    tfd_bytes_add_str(&m.proto, call->in.proto);
    tfd_call_respond(call, &m);
}

static void hold(void *self, struct tfd_call *call)
{
    if (held_count < HELD_MAX)
        held[held_count++] = call;
    else
        echo(self, call);
}

static void serve(struct tfd_loop *net, const uint8_t *data, size_t size)
{
    struct tfd_service *service = tfd_service_new(net, NULL);
    struct tfd_conn *peer, *conn;
    struct tfd_health health;

    held_count = 0;
    tfd_service_bind(service, TFD_METHOD_RunStep, echo, NULL);
    tfd_service_bind(service, TFD_METHOD_Reset, hold, NULL);
    tfd_health_bind(&health, service);
    net_pair(net, &peer, &conn);
    if (tfd_grpc_serve(service, conn, TFD_STR_EMPTY, NULL) == TFD_OK) {
        tfd_conn_write(peer, data, size);
        net_run(net);
        for (int i = 0; i < held_count / 2; i++)
            echo(NULL, held[i]);
        net_advance(net, 20 * 1000000);
    }
    net_close(net);
    for (int i = held_count / 2; i < held_count; i++)
        echo(NULL, held[i]);
    tfd_service_free(service);
}

static bool link_over;

static void ended(void *ctx, uint32_t call, const struct tfd_status *st,
                  const struct tfd_incoming *response)
{
    uint8_t sum = 0;

    (void)ctx;
    (void)call;
    assert((st->code == TFD_OK) == (response != NULL));
    for (size_t i = 0; response && i < response->proto.size; i++)
        sum = (uint8_t)(sum + response->proto.data[i]);
    (void)sum;
}

static void failed(void *ctx, const struct tfd_status *why,
                   enum tfd_link_heard heard)
{
    (void)ctx;
    (void)heard;
    assert(why->code != TFD_OK);
    link_over = true;
}

static const struct tfd_link_events events = {ended, NULL, failed};

static void call_out(struct tfd_loop *net, const uint8_t *data, size_t size)
{
    struct tfd_conn *peer, *conn;
    struct tfd_link *link;

    link_over = false;
    net_pair(net, &conn, &peer);
    if (tfd_grpc_link.open(conn, "there:1", NULL, &events, NULL, &link, NULL) !=
        TFD_OK)
        return;
    for (uint32_t i = 0; i < CALLS; i++) {
        struct tfd_message m;

        tfd_message_init(&m, false);
        tfd_bytes_add(&m.proto, "abcdef", i);
        (void)!tfd_grpc_link.call(link, i, TFD_METHOD_RunStep, &m, 0, true,
                                  NULL);
    }
    tfd_conn_write(peer, data, size);
    net_run(net);
    if (!link_over)
        tfd_grpc_link.cancel(link, CALLS - 1);
    if (!link_over)
        tfd_grpc_link.close(link);
    net_close(net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t chunks[] = {0, 1, 7, 4096};
    static struct tfd_loop net;

    if (size == 0)
        return 0;
    net_open(&net);
    net.chunk = chunks[(data[0] >> 1) & 3];
    if (data[0] & 1)
        call_out(&net, data + 1, size - 1);
    else
        serve(&net, data + 1, size - 1);
    return 0;
}
