/*
 * function_reads.c - see function_reads.h.
 *
 * A list of tensors in bodies that are the handle, which grows at its end as
 * the handle is found to be passed on; each is looked at once.
 */
#include "common/graph/function_reads.h"

#include "config/limits.h"

/* `tensor` of the body of `function`. */
struct handle {
    const struct tfd_function *function;
    struct tfd_str tensor;
    struct handle *next;
};

struct look {
    const struct tfd_graph *g;
    struct tfd_arena arena;
    struct tfd_map seen;
    struct tfd_bytes text;
    struct handle *first, *last;
    enum tfd_dtype found;
    struct tfd_status *st;
};

/* Ops that call functions with their inputs from `from` on; functions in the
 * attributes named. */
static const struct caller {
    const char *op;
    int32_t from;
    const char *functions[2];
} callers[] = {
    {"Case", 1, {"branches", NULL}},
    {"If", 1, {"then_branch", "else_branch"}},
    {"PartitionedCall", 0, {"f", NULL}},
    {"StatefulPartitionedCall", 0, {"f", NULL}},
    {"StatelessCase", 1, {"branches", NULL}},
    {"StatelessIf", 1, {"then_branch", "else_branch"}},
    {"StatelessWhile", 0, {"body", NULL}},
    {"SymbolicGradient", 0, {"f", NULL}},
    {"While", 0, {"body", NULL}},
};

static enum tfd_code add_handle(struct look *l, const struct tfd_function *f,
                                struct tfd_str tensor)
{
    struct handle *h;
    struct tfd_str key;
    uintptr_t unused;

    tfd_bytes_clear(&l->text);
    tfd_bytes_add_str(&l->text, f->op.name);
    tfd_bytes_add(&l->text, "\n", 1);
    tfd_bytes_add_str(&l->text, tensor);
    TFD_TRY(tfd_bytes_ok(&l->text, "a name of a tensor", l->st));
    if (tfd_map_get(&l->seen, tfd_bytes_view(&l->text), &unused))
        return TFD_OK;
    key = tfd_arena_str(&l->arena, tfd_bytes_view(&l->text));
    h = tfd_arena_alloc(&l->arena, sizeof(*h));
    TFD_TRY(tfd_arena_check(
        h && key.data && tfd_map_put(&l->seen, key, 1) ? h : NULL,
        "handles of a function", l->st));
    *h = (struct handle){
        .function = f, .tensor = {key.data + f->op.name.size + 1, tensor.size}};
    if (l->last)
        l->last->next = h;
    else
        l->first = h;
    l->last = h;
    return TFD_OK;
}

/* Of a call's argument lists nothing is known. */
static enum tfd_code add_argument(struct look *l, const struct tfd_func *f,
                                  int32_t arg)
{
    const struct tfd_function *function = tfd_function_find(l->g, f->name);

    if (!function)
        return TFD_OK;
    for (int i = 0; i < function->op.in_count && i <= arg; i++)
        if (function->op.in[i].list_attr >= 0 ||
            function->op.in[i].number_attr >= 0) {
            l->found = TFD_FLOAT;
            return TFD_OK;
        }
    if (arg < 0 || arg >= function->op.in_count)
        return TFD_OK;
    return add_handle(l, function, function->op.in[arg].name);
}

static enum tfd_code add_called(struct look *l, const struct tfd_node *n,
                                int32_t input)
{
    const struct tfd_func own = {n->op->name, n->attrs, n->attr_count};
    struct tfd_func one, *many;
    int32_t count;

    if (n->op->flags & TFD_OP_FUNCTION)
        return add_argument(l, &own, input);
    for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
        const struct caller *c = &callers[i];

        if (!tfd_str_is(n->op->name, c->op))
            continue;
        for (int k = 0; k < 2 && c->functions[k]; k++) {
            if (tfd_node_func(n, c->functions[k], &l->arena, &one, NULL) ==
                TFD_OK) {
                TFD_TRY(add_argument(l, &one, input - c->from));
                continue;
            }
            if (tfd_node_funcs(n, c->functions[k], &l->arena, &many, &count,
                               NULL) != TFD_OK)
                continue;
            for (int32_t at = 0; at < count; at++)
                TFD_TRY(add_argument(l, &many[at], input - c->from));
        }
    }
    return TFD_OK;
}

/* "identity:output:0". */
static enum tfd_code add_passed(struct look *l, const struct tfd_function *f,
                                struct tfd_str name)
{
    struct tfd_str tensor;
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_bytes_init(&text, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&text, name);
    tfd_bytes_add_str(&text, TFD_STR(":output:0"));
    rc = tfd_bytes_ok(&text, "a name of a tensor", l->st);
    tensor = tfd_bytes_view(&text);
    if (rc == TFD_OK)
        rc = add_handle(l, f, tensor);
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code look_at_reader(struct look *l, const struct handle *h,
                                    const struct tfd_function_node *from,
                                    int32_t input)
{
    const struct tfd_node n = {.name = from->name,
                               .op = tfd_function_op(l->g, from->op),
                               .attrs = from->attrs,
                               .attr_count = from->attr_count};

    if (!n.op)
        return TFD_OK;
    if (tfd_str_is(n.op->name, "Identity"))
        return add_passed(l, h->function, n.name);
    if (!tfd_str_is(n.op->name, "ReadVariableOp") &&
        !tfd_str_starts(n.op->name, "ResourceGather"))
        return add_called(l, &n, input);
    if (tfd_node_type(&n, "dtype", &l->found, NULL) != TFD_OK)
        l->found = TFD_FLOAT;
    return TFD_OK;
}

static enum tfd_code look_at_body(struct look *l, const struct handle *h)
{
    for (int32_t i = 0; i < h->function->node_count; i++) {
        const struct tfd_function_node *n = &h->function->nodes[i];

        for (int32_t k = 0; k < n->in_count; k++)
            if (tfd_str_eq(n->in[k], h->tensor))
                TFD_TRY(look_at_reader(l, h, n, k));
        if (l->found != TFD_RESOURCE)
            return TFD_OK;
    }
    return TFD_OK;
}

enum tfd_code tfd_function_reads(const struct tfd_graph *g,
                                 const struct tfd_func *f, int32_t arg,
                                 enum tfd_dtype *out, struct tfd_status *st)
{
    struct look l = {.g = g, .found = TFD_RESOURCE, .st = st};
    enum tfd_code rc;

    tfd_arena_init(&l.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&l.seen);
    tfd_bytes_init(&l.text, 4 * TFD_NAME_SIZE_MAX);
    rc = add_argument(&l, f, arg);
    for (const struct handle *h = l.first;
         rc == TFD_OK && h && l.found == TFD_RESOURCE; h = h->next)
        rc = look_at_body(&l, h);
    *out = l.found;
    tfd_bytes_deinit(&l.text);
    tfd_map_deinit(&l.seen);
    tfd_arena_deinit(&l.arena);
    return rc;
}
