/*
 * inline.c - a call becomes the nodes of the function's body: see lower.h.
 *
 *     inputs -> Identity -> body -> Identity -> consumers
 *        input_control_node   output_control_node
 *
 * What the call waits for, a NoOp waits for, and with it arguments and all
 * nodes of the body that have no inputs; so the body runs where the call would
 * have: in its branch, in its iteration, after what precedes it.
 *
 * A client's own Switch and Enter (v1 control flow) put a call into a branch or
 * iteration by its inputs alone.  Where there are any, nodes without inputs
 * wait for the arguments, too, as the call itself would: a constant of a branch
 * that is not taken must not be what Merge finds first.
 */
#include "daemon/rewrite/functions.h"
#include "daemon/rewrite/lower.h"

#include "common/graph/attr.h"
#include "config/device_name.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

struct inlining {
    struct tfd_edit *e;
    int32_t id; /* the call */
    bool several;
    struct tfd_body body;
    int32_t call;   /* what new nodes came from */
    int32_t start;  /* number of the body's first node */
    int32_t before; /* input_control_node, or -1 */
    int32_t ready;  /* what nodes without inputs wait for, or -1 */
    struct tfd_str name, device;
    struct tfd_device_name caller; /* of device, parsed */
    bool has_caller;
};

static struct tfd_str inner_name(const struct inlining *in, struct tfd_str name)
{
    return tfd_edit_join(in->e, in->name, "/", name);
}

/* ---- Devices ------------------------------------------------------------- */

/* What a node does not say, the call says. */
static struct tfd_str device_of(struct inlining *in, struct tfd_str wanted)
{
    char text[TFD_DEVICE_NAME_TEXT_SIZE];
    struct tfd_device_name own;

    if (!in->several || !wanted.size || tfd_str_eq(wanted, in->device))
        return in->device;
    if (!in->has_caller || tfd_device_name_parse(wanted, &own, NULL) != TFD_OK)
        return wanted;
    tfd_device_name_fill(&own, &in->caller);
    tfd_device_name_format(&own, text);
    return tfd_edit_join(in->e, TFD_STR_EMPTY, "", tfd_str_of(text));
}

/* ---- Attributes ---------------------------------------------------------- */

/* Groups of nodes that shall be together are named "loc:@node". */
static void prefix_class(struct inlining *in, int32_t id, struct tfd_str value)
{
    struct tfd_bytes names;
    struct tfd_str list, *texts;
    struct tfd_attr_list l;
    struct tfd_pb_field f;
    int64_t count;
    int at = 0;

    if (tfd_attr_list(value, TFD_ATTR_STRING, &list, &count, NULL) ||
        count > TFD_NODE_ATTRS_MAX)
        return;
    texts = tfd_edit_array(in->e, (int32_t)count, sizeof(*texts));
    l = tfd_attr_list_of(list);
    while (texts && tfd_attr_list_next(&l, &f)) {
        struct tfd_str name = f.bytes;

        if (tfd_str_starts(name, "loc:@")) {
            name = (struct tfd_str){name.data + 5, name.size - 5};
            name = tfd_edit_join(in->e, TFD_STR("loc:@"), "",
                                 inner_name(in, name));
        }
        texts[at++] = name;
    }
    if (!texts)
        return;
    tfd_bytes_init(&names, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_attr_put_strs(&names, texts, at);
    tfd_edit_attr(in->e, id, "_class", &names);
}

/* Loops of two calls are two loops. */
static void prefix_frame(struct inlining *in, int32_t id, struct tfd_str value)
{
    struct tfd_bytes name;
    struct tfd_pb_field f;

    if (tfd_attr_read(value, &f, NULL) != TFD_OK ||
        f.tag != tfd_attr_tag(TFD_ATTR_STRING))
        return;
    tfd_bytes_init(&name, 4 * TFD_NAME_SIZE_MAX);
    tfd_attr_put_str(&name, inner_name(in, f.bytes));
    tfd_edit_attr(in->e, id, "frame_name", &name);
}

static void give_attrs(struct inlining *in, int32_t id,
                       const struct tfd_node *from)
{
    struct tfd_edit_node *n = tfd_edit_at(in->e, id);
    struct tfd_attr *attrs =
        tfd_edit_array(in->e, from->attr_count, sizeof(*attrs));
    bool enters = from->op->flags & TFD_OP_ENTER;
    struct tfd_str class = TFD_STR_EMPTY, frame = TFD_STR_EMPTY;

    if (!attrs)
        return;
    n->n.attrs = attrs;
    for (int32_t i = 0; i < from->attr_count; i++) {
        const struct tfd_attr *a = &from->attrs[i];

        if (tfd_str_is(a->name, "_class"))
            class = a->value;
        else if (enters && tfd_str_is(a->name, "frame_name"))
            frame = a->value;
        else
            attrs[n->n.attr_count++] = *a;
    }
    if (class.size)
        prefix_class(in, id, class);
    if (frame.size)
        prefix_frame(in, id, frame);
}

/* ---- Nodes --------------------------------------------------------------- */

static int32_t add_plain(struct inlining *in, struct tfd_str name,
                         const char *op, struct tfd_str device,
                         const struct tfd_edge *from)
{
    const struct tfd_edit_spec spec = {name, op,           device,
                                       from, from ? 1 : 0, in->call};

    return tfd_edit_add(in->e, &spec);
}

static void add_before(struct inlining *in)
{
    in->before = -1;
    if (tfd_edit_at(in->e, in->id)->n.control_count == 0)
        return;
    in->before = add_plain(in, inner_name(in, TFD_STR("input_control_node")),
                           "NoOp", in->device, NULL);
    tfd_lower_copy_control(in->e, in->id, in->before);
}

static void wait_before(struct inlining *in, int32_t id)
{
    if (in->before >= 0)
        tfd_edit_control(in->e, id, in->before);
}

/* A call's own body may hold nodes without inputs, so a call waits even where
 * it has inputs. */
static bool is_started_by_control(const struct tfd_node *b)
{
    return b->control_count == 0 &&
           (b->in_count == 0 || tfd_functions_is_call(b));
}

static bool has_nodes_to_start(const struct tfd_body *b)
{
    for (int32_t i = b->arg_count; i < b->count; i++)
        if (is_started_by_control(&b->nodes[i].node))
            return true;
    return false;
}

/* The body's own nodes follow, beginning with the arguments. */
static void add_ready(struct inlining *in)
{
    in->ready = in->before;
    if (in->e->conditional && in->body.arg_count > 0 &&
        has_nodes_to_start(&in->body))
        in->ready = add_plain(in, inner_name(in, TFD_STR("arguments_ready")),
                              "NoOp", in->device, NULL);
    in->start = in->e->first + in->e->count;
    for (int32_t i = 0; in->ready != in->before && i < in->body.arg_count; i++)
        tfd_edit_control(in->e, in->ready, in->start + i);
}

/* A value that passes into or out of the body, where it is. */
static int32_t add_pass(struct inlining *in, struct tfd_str name,
                        struct tfd_edge from)
{
    struct tfd_str device = in->several ? TFD_STR_EMPTY : in->device;
    int32_t id = add_plain(in, inner_name(in, name), "Identity", device, &from);

    if (in->several && id >= 0)
        tfd_edit_colocate(in->e, id, tfd_edit_name(in->e, from.node));
    return id;
}

static void add_arg(struct inlining *in, const struct tfd_body_node *b)
{
    struct tfd_edge from = tfd_lower_input(in->e, in->id, b->arg);
    int32_t id = add_pass(in, b->node.name, from);

    wait_before(in, id);
}

static struct tfd_edge moved(const struct inlining *in, struct tfd_edge e)
{
    return (struct tfd_edge){in->start + e.node, e.output};
}

static void add_body_node(struct inlining *in, const struct tfd_node *b)
{
    struct tfd_edge *edges = tfd_edit_array(in->e, b->in_count, sizeof(*edges));
    struct tfd_edit_spec spec = {inner_name(in, b->name),
                                 "NoOp",
                                 device_of(in, b->device),
                                 edges,
                                 b->in_count,
                                 in->call};
    int32_t id;

    if (!edges)
        return;
    for (int32_t i = 0; i < b->in_count; i++)
        edges[i] = moved(in, b->in[i]);
    id = tfd_edit_add(in->e, &spec);
    if (id < 0)
        return;
    tfd_edit_at(in->e, id)->n.op = b->op;
    give_attrs(in, id, b);
    for (int32_t i = 0; i < b->control_count; i++)
        tfd_edit_control(in->e, id, in->start + b->control[i]);
    if (in->ready >= 0 && is_started_by_control(b))
        tfd_edit_control(in->e, id, in->ready);
}

/* ---- The end ------------------------------------------------------------- */

static int32_t add_end(struct inlining *in, const struct tfd_edge *outputs)
{
    const struct tfd_body *b = &in->body;
    int32_t end = add_plain(in, inner_name(in, TFD_STR("output_control_node")),
                            "NoOp", in->device, NULL);

    if (end < 0)
        return end;
    wait_before(in, end);
    for (int32_t i = 0; in->several && i < b->control_ret_count; i++)
        tfd_edit_control(in->e, end, in->start + b->control_ret[i]);
    for (int32_t i = 0; !in->several && i < b->ret_count; i++)
        tfd_edit_control(in->e, end, outputs[i].node);
    return end;
}

/* Within loops and branches nobody outside can wait for a node. */
static bool runs_once(const struct tfd_body *b)
{
    for (int32_t i = b->arg_count; i < b->count; i++)
        if (b->nodes[i].node.op->flags & (TFD_OP_SWITCH | TFD_OP_ENTER))
            return false;
    return true;
}

/* A function that does not say what must have run runs all that has effects
 * before it returns. */
static void wait_for_effects(struct inlining *in, int32_t id)
{
    const struct tfd_body *b = &in->body;

    if (in->several || id < 0 || !runs_once(b))
        return;
    for (int32_t i = b->arg_count; i < b->count; i++)
        if (b->nodes[i].node.op->flags & TFD_OP_STATEFUL)
            tfd_edit_control(in->e, id, in->start + i);
}

static void add_outputs(struct inlining *in)
{
    const struct tfd_body *b = &in->body;
    struct tfd_edge *outputs =
        tfd_edit_array(in->e, b->ret_count, sizeof(*outputs));
    int32_t end;

    for (int32_t i = 0; outputs && i < b->ret_count; i++) {
        int32_t id = add_pass(in, b->ret_names[i], moved(in, b->ret[i]));

        wait_for_effects(in, id);
        outputs[i] = (struct tfd_edge){id, 0};
    }
    if (!outputs)
        return;
    end = add_end(in, outputs);
    if (b->ret_count == 0)
        wait_for_effects(in, end);
    tfd_edit_replace(in->e, in->id, outputs, b->ret_count, end);
}

/* ---- The whole ----------------------------------------------------------- */

static int32_t new_call(struct tfd_edit *e, int32_t parent,
                        const struct tfd_function *f)
{
    struct tfd_edit_call *more = e->calls;

    if (e->call_count == e->call_capacity) {
        int32_t capacity = e->call_capacity ? 2 * e->call_capacity : 16;

        more = realloc(more, sizeof(*more) * (size_t)capacity);
        if (!more) {
            tfd_edit_fail(e, tfd_arena_check(more, "functions", e->st));
            return -1;
        }
        e->calls = more;
        e->call_capacity = capacity;
    }
    more[e->call_count] = (struct tfd_edit_call){
        f, parent, parent < 0 ? 1 : more[parent].depth + 1};
    return e->call_count++;
}

static enum tfd_code check_call(const struct inlining *in)
{
    const struct tfd_node *n = &tfd_edit_at(in->e, in->id)->n;

    if (n->in_count == in->body.arg_count && n->out_count == in->body.ret_count)
        return TFD_OK;
    return tfd_fail(in->e->st, TFD_INVALID_ARGUMENT,
                    "Node " TFD_STR_FMT " calls function " TFD_STR_FMT
                    " with %d inputs for %d outputs; it has %d arguments and "
                    "%d results",
                    TFD_STR_ARG(n->name),
                    TFD_STR_ARG(in->body.function->op.name), n->in_count,
                    n->out_count, in->body.arg_count, in->body.ret_count);
}

static enum tfd_code begin_inlining(struct inlining *in,
                                    const struct tfd_func *f)
{
    struct tfd_edit *e = in->e;

    TFD_TRY(e->code);
    TFD_TRY(tfd_function_body(e->g, f, &e->arena, &in->body, e->st));
    TFD_TRY(check_call(in));
    in->name = tfd_edit_name(e, in->id);
    in->device = tfd_edit_device(e, in->id);
    in->has_caller =
        in->device.size > 0 &&
        tfd_device_name_parse(in->device, &in->caller, NULL) == TFD_OK;
    in->call = new_call(e, tfd_edit_at(e, in->id)->call, in->body.function);
    e->conditional = e->conditional || !runs_once(&in->body);
    return e->code;
}

void tfd_lower_call(struct tfd_edit *e, int32_t id, const struct tfd_func *f,
                    bool several)
{
    struct inlining in = {.e = e, .id = id, .several = several};

    if (begin_inlining(&in, f) != TFD_OK) {
        if (tfd_edit_ok(e))
            tfd_edit_fail(e, e->st ? e->st->code : TFD_INVALID_ARGUMENT);
        return;
    }
    add_before(&in);
    add_ready(&in);
    for (int32_t i = 0; i < in.body.count && tfd_edit_ok(e); i++)
        if (in.body.nodes[i].arg >= 0)
            add_arg(&in, &in.body.nodes[i]);
        else
            add_body_node(&in, &in.body.nodes[i].node);
    add_outputs(&in);
}
