/*
 * run_step.c - RunStep: names stay views of the request, tensors are taken from
 * its payload, the answer is written from the tensors.
 *
 * A native client that knows the plan's number (from an earlier response) sends
 * it instead of names; then nothing here touches a string.
 */
#include "daemon/master/service/run_step.h"

#include "common/base/container.h"
#include "common/proto/config.pb.h"
#include "common/proto/master.pb.h"
#include "config/limits.h"
#include "daemon/master/session/partial_run.h"
#include "daemon/master/session/run_options.h"
#include "daemon/master/session/session_idle.h"
#include "kernels/core/runtime.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One RunStep call.  Arrays only grow, so a client's second step allocates
 * nothing here. */
struct run_call {
    struct tfd_run_step run; /* first: run_step_done() finds us */
    struct tfd_run_step_service *service;
    struct run_call *next;
    struct tfd_call *call;
    struct tfd_session *session;
    struct tfd_str handle;
    struct tfd_str *names; /* fetches, as asked for */
    struct tfd_str *feed_names, *target_names;
    struct tfd_tensor *feeds;
    int feed_room, fetch_room, target_room;
    struct tfd_run_options options;
    struct tfd_str partial; /* the handle of its partial run; "": of none */
    struct tfd_build gate;  /* of a partial run: it reads the graph */
    bool waits;             /* for that */
    int64_t request_id;
    bool errors_in_body;
};

struct tfd_run_step_service {
    struct tfd_master *master;
    struct tfd_seen_ids *seen;
    struct run_call *idle;
};

/* ---- The pool ------------------------------------------------------------ */

static struct run_call *acquire(struct tfd_run_step_service *s)
{
    struct run_call *c = s->idle;

    if (c) {
        s->idle = c->next;
        return c;
    }
    c = calloc(1, sizeof(*c));
    if (c)
        c->service = s;
    return c;
}

static void release_run_call(struct run_call *c)
{
    for (int i = 0; i < c->run.feed_count; i++)
        tfd_tensor_unref(&c->feeds[i]);
    tfd_run_trace_free(c->run.trace);
    memset(&c->run, 0, sizeof(c->run));
    c->call = NULL;
    c->session = NULL;
    c->next = c->service->idle;
    c->service->idle = c;
}

static bool grow_run_step(void **array, size_t size, int *room, int count)
{
    int wanted = *room ? *room * 2 : 8;
    void *grown;

    if (count < *room)
        return true;
    grown = realloc(*array, (size_t)wanted * size);
    if (!grown)
        return false;
    memset((char *)grown + (size_t)*room * size, 0,
           (size_t)(wanted - *room) * size);
    *array = grown;
    *room = wanted;
    return true;
}

static enum tfd_code too_many(const char *what, int max, struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "More than %d %s in one step, or no memory for them", max,
                    what);
}

/* ---- Decoding ------------------------------------------------------------ */

static enum tfd_code add_feed(struct run_call *c, struct tfd_str bytes,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str name = TFD_STR_EMPTY, tensor = TFD_STR_EMPTY;
    int at = c->run.feed_count;
    int room = c->feed_room;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_NamedTensorProto_name_tag)
            name = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_NamedTensorProto_tensor_tag)
            tensor = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NamedTensorProto", st));
    if (at >= TFD_FEEDS_MAX ||
        !grow_run_step((void **)&c->feeds, sizeof(*c->feeds), &room, at) ||
        !grow_run_step((void **)&c->feed_names, sizeof(*c->feed_names),
                       &c->feed_room, at))
        return too_many("feeds", TFD_FEEDS_MAX, st);
    if (tfd_tensor_decode(&c->call->in, tensor, tfd_handle_decode,
                          &c->feeds[at], st) != TFD_OK) {
        tfd_status_context(st, "Invalid TensorProto for feed value %d", at);
        return st->code;
    }
    c->feed_names[at] = name;
    c->run.feed_count = at + 1;
    return TFD_OK;
}

static enum tfd_code add_name(struct tfd_str **names, int *count, int *room,
                              int max, struct tfd_str name, const char *what,
                              struct tfd_status *st)
{
    if (*count >= max ||
        !grow_run_step((void **)names, sizeof(**names), room, *count))
        return too_many(what, max, st);
    (*names)[(*count)++] = name;
    return TFD_OK;
}

/* A fetch asked for twice is answered once.  Beyond this many names nobody
 * looks: a step compares no more than that. */
#define NAMES_COMPARED 256

static bool is_known(const struct tfd_str *names, int count,
                     struct tfd_str name)
{
    for (int i = 0; i < count && i < NAMES_COMPARED; i++)
        if (tfd_str_eq(names[i], name))
            return true;
    return false;
}

static enum tfd_code decode_field(struct run_call *c, struct tfd_pb_reader *r,
                                  const struct tfd_pb_field *f,
                                  struct tfd_status *st)
{
    switch (f->tag) {
    case tensorflow_RunStepRequest_session_handle_tag:
        c->handle = tfd_pb_str(r, f);
        return TFD_OK;
    case tensorflow_RunStepRequest_feed_tag:
        return add_feed(c, tfd_pb_str(r, f), st);
    case tensorflow_RunStepRequest_fetch_tag:
        if (is_known(c->names, c->run.fetch_count, f->bytes))
            return TFD_OK;
        return add_name(&c->names, &c->run.fetch_count, &c->fetch_room,
                        TFD_FETCHES_MAX, tfd_pb_str(r, f), "fetches", st);
    case tensorflow_RunStepRequest_target_tag:
        return add_name(&c->target_names, &c->run.target_count, &c->target_room,
                        TFD_TARGETS_MAX, tfd_pb_str(r, f), "targets", st);
    case tensorflow_RunStepRequest_options_tag:
        return tfd_run_options_read(c->service->master, tfd_pb_str(r, f),
                                    &c->options, st);
    case tensorflow_RunStepRequest_store_errors_in_response_body_tag:
        c->errors_in_body = tfd_pb_bool(r, f);
        return TFD_OK;
    case tensorflow_RunStepRequest_request_id_tag:
        c->request_id = tfd_pb_int64(r, f);
        return TFD_OK;
    case tensorflow_RunStepRequest_plan_tag:
        c->run.plan = (uint32_t)f->number;
        return TFD_OK;
    case tensorflow_RunStepRequest_partial_run_handle_tag:
        c->partial = tfd_pb_str(r, f);
        return TFD_OK;
    default:
        return TFD_OK;
    }
}

static enum tfd_code decode_run_step(struct run_call *c, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(c->call->in.proto);
    struct tfd_pb_field f;

    c->handle = c->partial = TFD_STR_EMPTY;
    c->options = (struct tfd_run_options){.timeout_us = 0};
    c->errors_in_body = false;
    c->request_id = 0;
    while (tfd_pb_next(&r, &f))
        TFD_TRY(decode_field(c, &r, &f, st));
    TFD_TRY(tfd_service_request_end(&r, st));
    c->run.feed_names = c->feed_names;
    c->run.feeds = c->feeds;
    c->run.fetch_names = c->names;
    c->run.target_names = c->target_names;
    c->run.timeout_us = c->options.timeout_us;
    c->run.collective_key = c->options.collective_key;
    return TFD_OK;
}

static enum tfd_code find_session(struct run_call *c, struct tfd_status *st)
{
    struct tfd_run_step_service *s = c->service;

    TFD_TRY(tfd_seen_ids_add(s->seen, c->request_id, "RunStep", c->handle, st));
    TFD_TRY(tfd_master_find(s->master, c->handle, &c->session, st));
    tfd_call_meter(c->call, c->session->meter);
    c->options.costs =
        tfd_session_wants_costs(c->session) && c->partial.size == 0;
    return tfd_run_trace_new(&c->options, &c->run.trace, st);
}

/* ---- Answering ----------------------------------------------------------- */

static void put_error(struct tfd_message *m, const struct tfd_status *st)
{
    tfd_pb_put_int(&m->proto, tensorflow_RunStepResponse_status_code_tag,
                   (int64_t)st->code);
    tfd_pb_put_str(&m->proto,
                   tensorflow_RunStepResponse_status_error_message_tag,
                   tfd_str_of(st->text));
}

static void put_fetch(struct tfd_message *m, struct tfd_str name,
                      const struct tfd_tensor *t)
{
    size_t mark = tfd_message_begin(m, tensorflow_RunStepResponse_tensor_tag);

    tfd_pb_put_str(&m->proto, tensorflow_NamedTensorProto_name_tag, name);
    tfd_message_put_tensor(m, tensorflow_NamedTensorProto_tensor_tag, t,
                           tfd_handle_encode);
    tfd_message_finish(m, mark);
}

static void fail_run_step(struct run_call *c, const struct tfd_status *st)
{
    struct tfd_call *call = c->call;
    struct tfd_message m;

    if (!c->errors_in_body) {
        tfd_call_fail(call, st);
        return;
    }
    tfd_message_init(&m, call->native);
    put_error(&m, st);
    tfd_call_respond(call, &m);
}

static void respond(struct run_call *c, const struct tfd_tensor *fetches,
                    uint32_t plan)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_call *call = c->call;
    struct tfd_message m;

    tfd_message_init(&m, call->native);
    for (int i = 0; i < c->run.fetch_count; i++)
        put_fetch(&m, c->run.fetch_names[i], &fetches[i]);
    if (c->run.trace)
        tfd_run_trace_put(&m.proto, tensorflow_RunStepResponse_metadata_tag,
                          c->run.trace);
    if (call->native)
        tfd_pb_put_int(&m.proto, tensorflow_RunStepResponse_plan_tag, plan);
    if (c->session->task_leaves)
        tfd_pb_put_bool(&m.proto, tensorflow_RunStepResponse_task_leaves_tag,
                        true);
    if (tfd_bytes_ok(&m.proto, "the response to RunStep", &st) != TFD_OK ||
        (!call->native &&
         tfd_message_size(&m) > (uint64_t)TFD_GRPC_MESSAGE_SIZE_MAX)) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED,
                       "The fetches need %llu bytes; a gRPC message holds %lld",
                       (unsigned long long)tfd_message_size(&m),
                       (long long)TFD_GRPC_MESSAGE_SIZE_MAX);
        tfd_message_deinit(&m);
        fail_run_step(c, &st);
        return;
    }
    tfd_call_respond(call, &m);
}

static void run_step_done(struct tfd_run_step *run, const struct tfd_status *st,
                          struct tfd_tensor *fetches, uint32_t plan)
{
    struct run_call *c = (struct run_call *)run;

    if (st->code == TFD_OK)
        respond(c, fetches, plan);
    else
        fail_run_step(c, st);
    release_run_call(c);
}

static void run_step_cancelled(void *ctx, struct tfd_call *call)
{
    struct run_call *c = ctx;

    (void)call;
    if (c->waits)
        tfd_build_stop(&c->gate);
    else if (c->partial.size > 0)
        tfd_partial_run_cancel(c->session, &c->run);
    else
        tfd_session_cancel(c->session, &c->run);
}

static void run_partial(struct tfd_build *gate)
{
    struct run_call *c = TFD_CONTAINER_OF(gate, struct run_call, gate);
    struct tfd_status st = TFD_STATUS_INIT;

    c->waits = false;
    if (!gate->stop) {
        tfd_partial_run_step(c->session, c->partial, &c->run);
        return;
    }
    (void)tfd_fail(&st, TFD_CANCELLED, "RunStep was cancelled by the client");
    run_step_done(&c->run, &st, NULL, 0);
}

/* Which checks the call against the graph, when that is not being changed. */
static void wait_for_graph(struct run_call *c)
{
    c->waits = true;
    c->gate = (struct tfd_build){.done = run_partial};
    tfd_build_start(c->session, &c->gate);
}

void tfd_run_step_handle(void *self, struct tfd_call *call)
{
    struct tfd_run_step_service *s = self;
    struct tfd_status st = TFD_STATUS_INIT;
    struct run_call *c = acquire(s);

    if (!c) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "No memory for a step");
        tfd_call_fail(call, &st);
        return;
    }
    c->call = call;
    if (decode_run_step(c, &st) != TFD_OK || find_session(c, &st) != TFD_OK) {
        fail_run_step(c, &st);
        release_run_call(c);
        return;
    }
    tfd_session_use(c->session, call->link);
    c->run.done = run_step_done;
    call->ctx = c;
    call->cancelled = run_step_cancelled;
    if (c->partial.size > 0)
        wait_for_graph(c);
    else
        tfd_session_run(c->session, &c->run);
}

struct tfd_run_step_service *tfd_run_step_service_new(struct tfd_master *m,
                                                      struct tfd_seen_ids *seen)
{
    struct tfd_run_step_service *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->master = m;
    s->seen = seen;
    return s;
}

void tfd_run_step_service_free(struct tfd_run_step_service *s)
{
    while (s->idle) {
        struct run_call *c = s->idle;

        s->idle = c->next;
        free(c->feeds);
        free(c->feed_names);
        free(c->names);
        free(c->target_names);
        free(c);
    }
    free(s);
}
