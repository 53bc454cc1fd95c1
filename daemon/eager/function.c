/*
 * function.c - see function.h.
 *
 * The body is written as a GraphDef: what the worker registers is checked as
 * all graphs are.
 */
#include "daemon/eager/function.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "daemon/eager/body.h"
#include "daemon/eager/called.h"
#include "daemon/eager/context.h"
#include "daemon/eager/graph_ends.h"
#include "daemon/eager/operation.h"

struct writing {
    struct tfd_eager_body b;
    struct tfd_eager_context *c;
    const struct tfd_device_attributes *on;
};

static enum tfd_code device_here(void *ctx, struct tfd_str asked,
                                 struct tfd_str *out, struct tfd_status *st)
{
    struct writing *w = ctx;
    const struct tfd_device_attributes *on = w->on;

    if (asked.size)
        TFD_TRY(tfd_eager_find_device(w->c, asked, false, &on, st));
    *out = tfd_str_of(on->name);
    return TFD_OK;
}

static enum tfd_code put_body(struct writing *w)
{
    struct tfd_eager_body *b = &w->b;
    struct tfd_str from;

    for (int32_t i = 0; i < b->body.arg_count; i++)
        tfd_eager_put_arg(&b->def, w->on, i, b->body.arg_types[i]);
    TFD_TRY(tfd_eager_body_put_nodes(b));
    for (int32_t i = 0; i < b->body.ret_count; i++) {
        TFD_TRY(tfd_eager_body_edge(b, b->body.ret[i], &from));
        tfd_eager_put_result(&b->def, w->on, i, from);
    }
    return tfd_eager_body_end(b);
}

static enum tfd_code make_graph(struct writing *w, struct tfd_eager_function *f,
                                bool is_component)
{
    struct tfd_eager_body *b = &w->b;

    tfd_pb_put_str_always(&b->library,
                          tensorflow_FunctionDefLibrary_function_tag, f->def);
    if (is_component)
        tfd_bytes_add_str(&b->library, f->library);
    else
        TFD_TRY(tfd_eager_called(&w->c->functions, f, &b->library, b->st));
    TFD_TRY(
        tfd_eager_body_read(b, &w->c->eager->options.registry->ops, f->name));
    TFD_TRY(put_body(w));
    TFD_TRY(tfd_eager_graph_new(w->c, &b->def, b->body.arg_count,
                                b->body.ret_count, &f->graph, b->st));
    f->graph->is_function = true;
    return TFD_OK;
}

enum tfd_code tfd_eager_function_graph(struct tfd_eager_context *c,
                                       struct tfd_eager_function *f,
                                       bool is_component,
                                       const struct tfd_device_attributes *on,
                                       struct tfd_status *st)
{
    struct writing w = {.c = c, .on = on};
    enum tfd_code rc;

    if (f->graph)
        return TFD_OK;
    tfd_eager_body_init(&w.b, st);
    w.b.arg_name = TFD_EAGER_ARG_NAME;
    w.b.device = device_here;
    w.b.ctx = &w;
    rc = make_graph(&w, f, is_component);
    if (rc != TFD_OK)
        tfd_status_context(st, "{{function_node " TFD_STR_FMT "}}",
                           TFD_STR_ARG(f->name));
    tfd_eager_body_deinit(&w.b);
    return rc;
}
