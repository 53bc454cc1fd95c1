/*
 * health.c - one handler and the names it knows.
 */
#include "rpc/health.h"

#include "common/proto/health.pb.h"

/* HealthCheckResponse.status */
#define SERVING 1
#define NOT_SERVING 2

static const char *const names[] = {
    "", /* the whole server */
    "tensorflow.MasterService",
    "tensorflow.WorkerService",
};

static enum tfd_code read_name(struct tfd_str request, struct tfd_str *name,
                               struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(request);
    struct tfd_pb_field f;

    *name = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f))
        if (f.tag == grpc_health_v1_HealthCheckRequest_service_tag)
            *name = tfd_pb_str(&r, &f);
    return tfd_pb_end(&r, "HealthCheckRequest", st);
}

static enum tfd_code find_name(struct tfd_str name, struct tfd_status *st)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (tfd_str_is(name, names[i]))
            return TFD_OK;
    return tfd_fail(st, TFD_NOT_FOUND, "no service named " TFD_STR_FMT,
                    TFD_STR_ARG(name));
}

static void check(void *self, struct tfd_call *call)
{
    struct tfd_service *s = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_message m;
    struct tfd_str name;

    if (read_name(call->in.proto, &name, &st) != TFD_OK ||
        find_name(name, &st) != TFD_OK) {
        tfd_call_fail(call, &st);
        return;
    }
    tfd_message_init(&m, call->native);
    tfd_pb_put_int(&m.proto, grpc_health_v1_HealthCheckResponse_status_tag,
                   tfd_service_draining(s) ? NOT_SERVING : SERVING);
    tfd_call_respond(call, &m);
}

void tfd_health_bind(struct tfd_service *s)
{
    tfd_service_bind(s, TFD_METHOD_Check, check, s);
}
