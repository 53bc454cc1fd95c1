/*
 * function_compile.c - a function's body as an executable: see
 * called_functions.h.
 *
 * The body is written as a GraphDef, in which arguments are _Arg and results
 * _Retval, and read again: import knows about loops, cycles and order already.
 * Names begin with the function's, since kernels of one session share states by
 * the names of their nodes.
 */
#include "daemon/worker/run/called_functions.h"

#include "common/base/atomic.h"
#include "common/graph/function_body.h"
#include "common/proto/graphdef.h"
#include "config/device_name.h"
#include "config/limits.h"
#include "daemon/worker/run/executor.h"

#include <stdlib.h>
#include <string.h>

struct writing {
    struct tfd_rt_function *f;
    struct tfd_body body;
    struct tfd_function_ends ends; /* of a gradient */
    struct tfd_arena arena;
    struct tfd_bytes out, text;
    struct tfd_status *st;
};

/* ---- Devices ------------------------------------------------------------- */

/* One whose memory is the host's. */
static struct tfd_str host_device(const struct writing *w)
{
    const struct tfd_devices *devices = w->f->table->env.devices;
    int i = 0;

    while (i < devices->count - 1 &&
           devices->device[i].memory != TFD_MEMORY_HOST)
        i++;
    return tfd_str_of(devices->device[i].attributes.name);
}

/* Of a node that asks for none: the function's own, unless only the host can
 * run it. */
static struct tfd_str own_device(const struct writing *w,
                                 const struct tfd_node *n)
{
    const struct tfd_compile_env *env = &w->f->table->env;
    struct tfd_str own = tfd_str_of(tfd_rt_device(w->f->rt));
    const struct tfd_device *d = tfd_devices_find(env->devices, own);

    if (!d || d->memory == TFD_MEMORY_HOST ||
        tfd_registry_kernel(env->registry, n, d->kind) ||
        !tfd_registry_kernel(env->registry, n, TFD_CPU))
        return own;
    return host_device(w);
}

/* The function's own device, or another of this task that is asked for. */
static enum tfd_code find_device(const struct writing *w,
                                 const struct tfd_node *n, struct tfd_str *out)
{
    const struct tfd_devices *devices = w->f->table->env.devices;
    struct tfd_device_name wanted, have;

    *out = own_device(w, n);
    if (!n->device.size)
        return TFD_OK;
    *out = tfd_str_of(tfd_rt_device(w->f->rt));
    TFD_TRY(tfd_device_name_parse(n->device, &wanted, w->st));
    TFD_TRY(tfd_device_name_parse(*out, &have, w->st));
    if (tfd_device_name_covers(&wanted, &have))
        return TFD_OK;
    tfd_device_name_fill(&wanted, &have);
    for (int i = 0; i < devices->count; i++) {
        *out = tfd_str_of(devices->device[i].attributes.name);
        TFD_TRY(tfd_device_name_parse(*out, &have, w->st));
        if (tfd_device_name_covers(&wanted, &have))
            return TFD_OK;
    }
    return tfd_fail(w->st, TFD_UNIMPLEMENTED,
                    "Node " TFD_STR_FMT " of function " TFD_STR_FMT
                    " asks for device " TFD_STR_FMT ", which is none of this "
                    "task; a function that is not inlined runs in one task",
                    TFD_STR_ARG(n->name), TFD_STR_ARG(w->f->func.name),
                    TFD_STR_ARG(n->device));
}

/* ---- Names --------------------------------------------------------------- */

static enum tfd_code copy_written(struct writing *w, struct tfd_str *out)
{
    TFD_TRY(tfd_bytes_ok(&w->text, "a node's name", w->st));
    *out = tfd_arena_str(&w->arena, tfd_bytes_view(&w->text));
    return tfd_arena_check(out->data, "a function's body", w->st);
}

/* The function's name.  It may have what a node's must not, as that of a Python
 * lambda does, "__inference_<lambda>_7": "__inference_-3clambda-3e_7". */
static void put_function(struct writing *w)
{
    const struct tfd_str name = w->f->func.name;

    if (tfd_graph_name_ok(name)) {
        tfd_bytes_add_str(&w->text, name);
        return;
    }
    for (size_t i = 0; i < name.size; i++) {
        const struct tfd_str one = {name.data + i, 1};

        if (tfd_graph_name_ok(one))
            tfd_bytes_add_str(&w->text, one);
        else
            tfd_bytes_printf(&w->text, "%s-%02x", i ? "" : "_",
                             (unsigned)(unsigned char)name.data[i]);
    }
}

/* "function/node". */
static void put_name(struct writing *w, int32_t number)
{
    const struct tfd_body_node *b = &w->body.nodes[number];

    put_function(w);
    tfd_bytes_add(&w->text, "/", 1);
    tfd_bytes_add_str(&w->text, b->node.name);
}

static enum tfd_code input_name(struct writing *w, struct tfd_edge e,
                                struct tfd_str *out)
{
    tfd_bytes_clear(&w->text);
    if (e.output == TFD_CONTROL)
        tfd_bytes_add(&w->text, "^", 1);
    put_name(w, e.node);
    if (e.output > 0)
        tfd_bytes_printf(&w->text, ":%d", e.output);
    return copy_written(w, out);
}

/* ---- Nodes --------------------------------------------------------------- */

/* An _Arg or a _Retval. */
static enum tfd_code put_end(struct writing *w, struct tfd_nodedef *def,
                             int32_t index, int type)
{
    struct tfd_bytes value;
    struct tfd_attr attrs[2];
    size_t first;
    enum tfd_code rc;

    tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
    tfd_attr_put_type(&value, type);
    first = value.size;
    tfd_attr_put_int(&value, index);
    rc = tfd_bytes_ok(&value, "an attribute", w->st);
    if (rc == TFD_OK) {
        attrs[0] = (struct tfd_attr){TFD_STR("T"), {value.data, first}};
        attrs[1] = (struct tfd_attr){TFD_STR("index"),
                                     {value.data + first, value.size - first}};
        def->attrs = attrs;
        def->attr_count = 2;
        tfd_graphdef_put(&w->out, def);
    }
    tfd_bytes_deinit(&value);
    return rc;
}

static enum tfd_code put_arg(struct writing *w, int32_t number)
{
    struct tfd_nodedef def = {
        .op = TFD_STR("_Arg"),
        .device = tfd_str_of(tfd_rt_device(w->f->rt)),
    };

    TFD_TRY(input_name(w, (struct tfd_edge){number, 0}, &def.name));
    return put_end(w, &def, number, w->body.arg_types[number]);
}

static enum tfd_code put_ret(struct writing *w, int32_t index)
{
    struct tfd_nodedef def = {
        .op = TFD_STR("_Retval"),
        .device = w->f->kind == TFD_FUNCTION_PREDICATE
                      ? host_device(w)
                      : tfd_str_of(tfd_rt_device(w->f->rt)),
        .in_count = 1,
    };
    struct tfd_str in;

    TFD_TRY(input_name(w, w->body.ret[index], &in));
    def.in = &in;
    tfd_bytes_clear(&w->text);
    put_function(w);
    tfd_bytes_printf(&w->text, "/_retval/%d", index);
    TFD_TRY(copy_written(w, &def.name));
    return put_end(w, &def, index, w->body.ret_types[index]);
}

static enum tfd_code put_body_node(struct writing *w, int32_t number)
{
    const struct tfd_node *n = &w->body.nodes[number].node;
    struct tfd_str *in = tfd_arena_array(
        &w->arena, (size_t)n->in_count + 1 + (size_t)n->control_count,
        sizeof(*in));
    struct tfd_nodedef def = {
        .op = n->op->name,
        .in = in,
        .in_count = n->in_count + n->control_count,
        .attrs = n->attrs,
        .attr_count = n->attr_count,
    };

    TFD_TRY(tfd_arena_check(in, "a function's body", w->st));
    for (int32_t i = 0; i < n->in_count; i++)
        TFD_TRY(input_name(w, n->in[i], &in[i]));
    for (int32_t i = 0; i < n->control_count; i++)
        TFD_TRY(input_name(w, (struct tfd_edge){n->control[i], TFD_CONTROL},
                           &in[n->in_count + i]));
    TFD_TRY(input_name(w, (struct tfd_edge){number, 0}, &def.name));
    TFD_TRY(find_device(w, n, &def.device));
    tfd_graphdef_put(&w->out, &def);
    return TFD_OK;
}

/* A gradient has results of its own. */
static enum tfd_code note_ends(struct writing *w)
{
    struct tfd_function_ends *ends = &w->ends;

    ends->arg_count = w->body.arg_count;
    ends->ret_count = w->body.ret_count;
    ends->ret_types = w->body.ret_types;
    ends->args = tfd_arena_array(&w->arena, (size_t)ends->arg_count + 1,
                                 sizeof(*ends->args));
    ends->rets = tfd_arena_array(&w->arena, (size_t)ends->ret_count + 1,
                                 sizeof(*ends->rets));
    TFD_TRY(tfd_arena_check(ends->args ? ends->rets : NULL,
                            "the gradient of a function", w->st));
    for (int32_t i = 0; i < ends->arg_count; i++)
        TFD_TRY(input_name(w, (struct tfd_edge){i, 0}, &ends->args[i]));
    for (int32_t i = 0; i < ends->ret_count; i++)
        TFD_TRY(input_name(w, w->body.ret[i], &ends->rets[i]));
    return TFD_OK;
}

static enum tfd_code write(struct writing *w)
{
    const struct tfd_graph *library = w->f->table->graph;

    TFD_TRY(
        tfd_function_body(library, &w->f->func, &w->arena, &w->body, w->st));
    for (int32_t i = 0; i < w->body.count; i++)
        TFD_TRY(w->body.nodes[i].arg >= 0 ? put_arg(w, i)
                                          : put_body_node(w, i));
    if (w->f->kind == TFD_FUNCTION_GRADIENT)
        TFD_TRY(note_ends(w));
    for (int32_t i = 0;
         i < w->body.ret_count && w->f->kind != TFD_FUNCTION_GRADIENT; i++)
        TFD_TRY(put_ret(w, i));
    return tfd_bytes_ok(&w->out, "a function's body", w->st);
}

/* ---- The executable ------------------------------------------------------ */

static enum tfd_code import(struct writing *w, struct tfd_graph **out)
{
    static const struct tfd_graphdef_options options = {.require_full_device =
                                                            true};
    struct tfd_graph *library = w->f->table->graph;
    struct tfd_graph *g = tfd_graph_new(library->ops, w->st);
    enum tfd_code rc;

    if (!g)
        return TFD_RESOURCE_EXHAUSTED;
    g->library_of = tfd_graph_ref(library);
    rc = tfd_graphdef_import(g, tfd_bytes_view(&w->out), &options, NULL, w->st);
    if (rc == TFD_OK && w->f->kind == TFD_FUNCTION_GRADIENT)
        rc = tfd_function_gradient_add(w->f, &w->ends, &w->arena, g, w->st);
    if (w->f->kind != TFD_FUNCTION_GRAPH)
        g->versions = library->versions;
    if (rc != TFD_OK)
        tfd_graph_unref(g);
    else
        *out = g;
    return rc;
}

/* A graph has one result, and the arguments that its caller has. */
static enum tfd_code check_graph(const struct writing *w,
                                 const struct tfd_exec *e)
{
    if (w->f->kind != TFD_FUNCTION_GRAPH ||
        (e->fetch_count == 1 && e->feed_count == w->f->in_count))
        return TFD_OK;
    return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                    "a graph of %d arguments and %d results; it has %d "
                    "arguments and one result",
                    e->feed_count, e->fetch_count, w->f->in_count);
}

static enum tfd_code make_function(struct writing *w, struct tfd_exec **out)
{
    struct tfd_graph *g;

    if (w->f->kind == TFD_FUNCTION_GRAPH)
        tfd_bytes_add_str(&w->out, w->f->graph_def);
    else
        TFD_TRY(write(w));
    TFD_TRY(import(w, &g));
    TFD_TRY(tfd_exec_compile(&w->f->table->env, g, out, w->st));
    if (check_graph(w, *out) != TFD_OK) {
        tfd_exec_free(*out);
        return TFD_INVALID_ARGUMENT;
    }
    if ((*out)->channel_count == 0)
        return TFD_OK;
    tfd_exec_free(*out);
    return tfd_fail(w->st, TFD_INVALID_ARGUMENT,
                    "Function " TFD_STR_FMT " has a Send or Recv node",
                    TFD_STR_ARG(w->f->func.name));
}

enum tfd_code tfd_function_compile(struct tfd_rt_function *f,
                                   struct tfd_status *st)
{
    struct writing w = {.f = f, .st = st};
    struct tfd_exec *made = NULL, *none = NULL;
    enum tfd_code rc;

    if (TFD_LOAD_ACQUIRE(&f->exec))
        return TFD_OK;
    tfd_arena_init(&w.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.out, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_bytes_init(&w.text, 4 * TFD_NAME_SIZE_MAX);
    rc = make_function(&w, &made);
    tfd_bytes_deinit(&w.text);
    tfd_bytes_deinit(&w.out);
    tfd_arena_deinit(&w.arena);
    if (rc == TFD_OK && !TFD_COMPARE_EXCHANGE(&f->exec, &none, made))
        tfd_exec_free(made); /* another thread was first */
    return rc;
}
