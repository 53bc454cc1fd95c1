/*
 * health.c - tfdctl health: grpc.health.v1, and what stands for it on a server
 * that has no such service.
 */
#include "tools/ctl/server.h"

#include "common/proto/health.pb.h"
#include "common/base/clock.h"

#include <poll.h>

#define AGAIN_MS 100

enum { SERVING = 1, NOT_SERVING = 2 };

/* TensorFlow's servers have no health service; one that answers is up. */
static enum tfd_code ask_status(struct tfd_ctl_server *s, int32_t *health,
                                struct tfd_status *st)
{
    TFD_TRY(tfd_ctl_server_call(s, TFD_METHOD_GetStatus, TFD_STR_EMPTY, 0, NULL,
                                st));
    *health = SERVING;
    return TFD_OK;
}

static enum tfd_code ask_health(struct tfd_ctl_server *s, int64_t wait_ms,
                                int32_t *health, bool *standard,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r;
    struct tfd_pb_field f;
    struct tfd_bytes answer;
    enum tfd_code rc = tfd_ctl_server_call(s, TFD_METHOD_Check, TFD_STR_EMPTY,
                                           wait_ms, &answer, st);

    *standard = rc != TFD_UNIMPLEMENTED;
    if (rc == TFD_UNIMPLEMENTED) {
        *st = (struct tfd_status)TFD_STATUS_INIT;
        return ask_status(s, health, st);
    }
    if (rc != TFD_OK)
        return rc;
    r = tfd_pb_reader_of(tfd_bytes_view(&answer));
    *health = 0;
    while (tfd_pb_next(&r, &f))
        if (f.tag == grpc_health_v1_HealthCheckResponse_status_tag)
            *health = tfd_pb_int32(&r, &f);
    rc = tfd_pb_end(&r, "HealthCheckResponse", st);
    tfd_bytes_deinit(&answer);
    return rc;
}

/* Until it serves, or the time is up. */
static enum tfd_code wait_health(struct tfd_ctl_server *s, int32_t *health,
                                 bool *standard, struct tfd_status *st)
{
    uint64_t end_us = (uint64_t)tfd_clock_now_us() +
                      (uint64_t)s->ctl->wait_ms * UINT64_C(1000);

    for (;;) {
        uint64_t now_us = (uint64_t)tfd_clock_now_us();
        int64_t left_ms =
            end_us > now_us ? (int64_t)(end_us - now_us) / 1000 : 0;
        enum tfd_code rc;

        *st = (struct tfd_status)TFD_STATUS_INIT;
        rc = ask_health(s, left_ms, health, standard, st);
        if (left_ms <= AGAIN_MS || (rc == TFD_OK && *health == SERVING) ||
            (rc != TFD_OK && rc != TFD_UNAVAILABLE))
            return rc;
        poll(NULL, 0, AGAIN_MS);
    }
}

int tfd_ctl_health(struct tfd_ctl *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_ctl_server s;
    bool standard = true;
    int32_t health = 0;
    const char *state;
    int code = tfd_ctl_server_open(c, &s);

    if (code != TFD_CTL_DONE)
        return code;
    if (wait_health(&s, &health, &standard, &st) != TFD_OK) {
        code = tfd_ctl_fail_call(c, s.address, &st);
        tfd_ctl_server_close(&s);
        return code;
    }
    tfd_ctl_server_close(&s);
    if (!standard)
        tfd_ctl_note(c,
                     "%s has no health service: it answers, and whether it "
                     "takes work it does not tell",
                     s.address);
    state = health == SERVING ? "serving" : "draining";
    code = health == SERVING ? TFD_CTL_DONE : TFD_CTL_NO;
    if (c->json)
        return tfd_ctl_put_json(c,
                                json_pack("{s:s, s:s, s:b}", "target",
                                          s.address, "state", state,
                                          "health_service", standard),
                                code);
    fprintf(c->to, "%s %s\n", s.address, state);
    return code;
}
