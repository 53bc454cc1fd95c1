/*
 * remote_steps.c - RunStep of a session behind a connection.
 *
 * A tfd server answers the first step of a signature with a plan number; from
 * then on that stands for its names, and the tensors come in the order of the
 * fetches.
 */
#include "client/session/remote.h"

#include "common/proto/config.pb.h"
#include "common/proto/master.pb.h"
#include "common/proto/tensor.pb.h"
#include "kernels/core/runtime.h"

/* ---- Run: the request ---------------------------------------------------- */

static void put_feed(struct tfd_message *m, const struct tfd_local_run *run,
                     int i)
{
    size_t mark = tfd_message_begin(m, tensorflow_RunStepRequest_feed_tag);

    if (run->plan == 0)
        tfd_pb_put_str(&m->proto, tensorflow_NamedTensorProto_name_tag,
                       run->feed_names[i]);
    tfd_message_put_tensor(m, tensorflow_NamedTensorProto_tensor_tag,
                           &run->feeds[i], tfd_handle_encode);
    tfd_message_finish(m, mark);
}

static void put_names(struct tfd_message *m, const struct tfd_local_run *run)
{
    for (int i = 0; i < run->fetch_count; i++)
        tfd_pb_put_str_always(&m->proto, tensorflow_RunStepRequest_fetch_tag,
                              run->fetch_names[i]);
    for (int i = 0; i < run->target_count; i++)
        tfd_pb_put_str_always(&m->proto, tensorflow_RunStepRequest_target_tag,
                              run->target_names[i]);
}

static void put_request(struct tfd_remote *r, struct tfd_message *m,
                        const struct tfd_local_run *run)
{
    size_t mark;

    tfd_pb_put_str(&m->proto, tensorflow_RunStepRequest_session_handle_tag,
                   tfd_bytes_view(&r->handle));
    for (int i = 0; i < run->feed_count; i++)
        put_feed(m, run, i);
    if (run->plan == 0)
        put_names(m, run);
    else
        tfd_pb_put_int(&m->proto, tensorflow_RunStepRequest_plan_tag,
                       run->plan);
    if (run->options.size) {
        tfd_pb_put_str(&m->proto, tensorflow_RunStepRequest_options_tag,
                       run->options);
    } else if (run->timeout_us) {
        mark = tfd_message_begin(m, tensorflow_RunStepRequest_options_tag);
        tfd_pb_put_int(&m->proto, tensorflow_RunOptions_timeout_in_ms_tag,
                       (int64_t)(run->timeout_us / 1000));
        tfd_message_finish(m, mark);
    }
    /* A long text does not fit into a trailer. */
    tfd_pb_put_bool(&m->proto,
                    tensorflow_RunStepRequest_store_errors_in_response_body_tag,
                    true);
}

/* ---- Run: the response --------------------------------------------------- */

struct reply {
    struct tfd_local_run *run;
    const struct tfd_incoming *in;
    int tensors; /* so far */
    int32_t code;
    struct tfd_str text;
};

/* The place of a fetch that is named: mostly the next one. */
static int find_fetch(const struct reply *p, struct tfd_str name)
{
    const struct tfd_local_run *run = p->run;

    if (p->tensors < run->fetch_count &&
        tfd_str_eq(run->fetch_names[p->tensors], name))
        return p->tensors;
    for (int i = 0; i < run->fetch_count; i++)
        if (tfd_str_eq(run->fetch_names[i], name))
            return i;
    return -1;
}

static enum tfd_code read_tensor(struct reply *p, struct tfd_str bytes,
                                 bool by_name, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_str name = TFD_STR_EMPTY, tensor = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    int at;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_NamedTensorProto_name_tag)
            name = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_NamedTensorProto_tensor_tag)
            tensor = tfd_pb_str(&r, &f);
    }
    TFD_TRY(tfd_pb_end(&r, "NamedTensorProto", st));
    at = by_name ? find_fetch(p, name) : p->tensors;
    if (at < 0 || at >= p->run->fetch_count || p->run->fetches[at].dtype)
        return tfd_fail(st, TFD_INTERNAL,
                        "the server sent a tensor '" TFD_STR_FMT
                        "' that was not asked for",
                        TFD_STR_ARG(name));
    p->tensors++;
    return tfd_tensor_decode(p->in, tensor, tfd_handle_decode,
                             &p->run->fetches[at], st);
}

static enum tfd_code read_reply(struct reply *p, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(p->in->proto);
    bool by_name = p->run->plan == 0;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case tensorflow_RunStepResponse_tensor_tag:
            TFD_TRY(read_tensor(p, tfd_pb_str(&r, &f), by_name, st));
            break;
        case tensorflow_RunStepResponse_status_code_tag:
            p->code = tfd_pb_int32(&r, &f);
            break;
        case tensorflow_RunStepResponse_status_error_message_tag:
            p->text = tfd_pb_str(&r, &f);
            break;
        case tensorflow_RunStepResponse_metadata_tag:
            if (p->run->metadata)
                tfd_bytes_add_str(p->run->metadata, tfd_pb_str(&r, &f));
            break;
        case tensorflow_RunStepResponse_plan_tag:
            p->run->plan = (uint32_t)f.number;
            break;
        case tensorflow_RunStepResponse_task_leaves_tag:
            p->run->task_leaves = tfd_pb_bool(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_pb_end(&r, "RunStepResponse", st);
}

static enum tfd_code check_reply(const struct reply *p, struct tfd_status *st)
{
    if (p->code != 0)
        return tfd_fail(st, (enum tfd_code)p->code, "%.*s", (int)p->text.size,
                        p->text.data);
    if (p->tensors != p->run->fetch_count)
        return tfd_fail(st, TFD_INTERNAL,
                        "the server sent %d tensors of %d fetches", p->tensors,
                        p->run->fetch_count);
    return TFD_OK;
}

static enum tfd_code take_reply(const struct tfd_remote_call *c,
                                struct tfd_local_run *run,
                                struct tfd_status *st)
{
    struct reply p = {.run = run, .in = &c->response, .text = TFD_STR_EMPTY};
    uint32_t plan = run->plan;
    enum tfd_code rc = read_reply(&p, st);

    if (rc == TFD_OK)
        rc = check_reply(&p, st);
    if (rc == TFD_OK)
        return TFD_OK;
    run->plan = plan;
    for (int i = 0; i < run->fetch_count; i++)
        tfd_tensor_unref(&run->fetches[i]);
    return rc;
}

enum tfd_code tfd_remote_run(struct tfd_backend *b, struct tfd_local_run *run,
                             struct tfd_status *st)
{
    struct tfd_remote *r = (struct tfd_remote *)b;
    struct tfd_remote_call c;
    enum tfd_code rc;

    for (int i = 0; i < run->fetch_count; i++)
        run->fetches[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    tfd_remote_call_init(&c, r, TFD_METHOD_RunStep);
    c.options.timeout_us = run->timeout_us ? run->timeout_us : r->timeout_us;
    put_request(r, &c.request, run);
    for (int i = 0; i < run->feed_count; i++)
        tfd_tensor_unref(&run->feeds[i]);
    rc = tfd_remote_call_run(&c, st);
    if (rc == TFD_OK)
        rc = take_reply(&c, run, st);
    tfd_remote_call_deinit(&c);
    return rc;
}
