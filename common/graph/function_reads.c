/*
 * function_reads.c - see function_reads.h.
 *
 * For each argument a list of tensors in bodies that are the handle, which
 * grows at its end as the handle is found to be passed on; each is looked at
 * once. What all arguments take is limited, as functions that call each other
 * with many of them have few bytes.
 */
#include "common/graph/function_reads.h"

#include "config/limits.h"

/* Bytes of a name that take as long as a step. */
#define NAME_SIZE_OF_STEP 64

/* Node `node` of a body reads a tensor as its input. */
struct reader {
    const struct tfd_function_node *node;
    int32_t input;
    struct reader *next;
};

/* A function that has been come to. */
struct body {
    const struct tfd_function *function;
    struct tfd_map readers; /* tensor -> reader, of the body's order */
    int32_t first_list;     /* the first argument that is a list; or in_count */
    struct body *next;
};

/* `tensor` of a body. */
struct handle {
    const struct body *body;
    struct tfd_str tensor;
    int32_t argument; /* whose it was found to be last */
    struct handle *next;
};

struct look {
    const struct tfd_graph *g;
    struct tfd_arena arena;
    struct tfd_map bodies;  /* by the function's name */
    struct tfd_map handles; /* by the function's name and the tensor's */
    struct tfd_bytes text;
    struct body *all;
    struct handle *first, *last; /* of the argument at hand */
    int32_t argument;
    int64_t steps; /* of all arguments together */
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

/* ---- Bodies -------------------------------------------------------------- */

static int32_t find_list(const struct tfd_op *op)
{
    int32_t i = 0;

    while (i < op->in_count && op->in[i].list_attr < 0 &&
           op->in[i].number_attr < 0)
        i++;
    return i;
}

/* Readers go before those that were added: they come last first. */
static enum tfd_code add_reader(struct look *l, struct body *b,
                                const struct tfd_function_node *n,
                                int32_t input)
{
    struct reader *r = tfd_arena_alloc(&l->arena, sizeof(*r));
    uintptr_t first = 0;

    TFD_TRY(tfd_arena_check(r, "readers of a function", l->st));
    (void)tfd_map_get(&b->readers, n->in[input], &first);
    *r = (struct reader){n, input, (struct reader *)first};
    return tfd_map_put(&b->readers, n->in[input], (uintptr_t)r)
               ? TFD_OK
               : tfd_arena_check(NULL, "readers of a function", l->st);
}

static enum tfd_code find_body(struct look *l, const struct tfd_function *f,
                               struct body **out)
{
    uintptr_t found = 0;
    struct body *b;

    if (tfd_map_get(&l->bodies, f->op.name, &found)) {
        *out = (struct body *)found;
        return TFD_OK;
    }
    b = tfd_arena_alloc(&l->arena, sizeof(*b));
    TFD_TRY(tfd_arena_check(
        b && tfd_map_put(&l->bodies, f->op.name, (uintptr_t)b) ? b : NULL,
        "functions that are called", l->st));
    *b = (struct body){f, {0}, find_list(&f->op), l->all};
    tfd_map_init(&b->readers);
    *out = l->all = b;
    for (int32_t i = f->node_count - 1; i >= 0; i--)
        for (int32_t k = f->nodes[i].in_count - 1; k >= 0; k--)
            TFD_TRY(add_reader(l, b, &f->nodes[i], k));
    return TFD_OK;
}

/* ---- Handles ------------------------------------------------------------- */

static enum tfd_code find_handle(struct look *l, const struct body *b,
                                 struct tfd_str tensor, struct handle **out)
{
    const struct tfd_str name = b->function->op.name;
    uintptr_t found = 0;
    struct tfd_str key;

    tfd_bytes_clear(&l->text);
    tfd_bytes_add_str(&l->text, name);
    tfd_bytes_add(&l->text, "\n", 1);
    tfd_bytes_add_str(&l->text, tensor);
    TFD_TRY(tfd_bytes_ok(&l->text, "a name of a tensor", l->st));
    l->steps += (int64_t)l->text.size / NAME_SIZE_OF_STEP;
    if (tfd_map_get(&l->handles, tfd_bytes_view(&l->text), &found)) {
        *out = (struct handle *)found;
        return TFD_OK;
    }
    key = tfd_arena_str(&l->arena, tfd_bytes_view(&l->text));
    *out = tfd_arena_alloc(&l->arena, sizeof(**out));
    TFD_TRY(tfd_arena_check(
        *out && key.data && tfd_map_put(&l->handles, key, (uintptr_t)*out)
            ? *out
            : NULL,
        "handles of a function", l->st));
    **out = (struct handle){.body = b,
                            .tensor = {key.data + name.size + 1, tensor.size},
                            .argument = -1};
    return TFD_OK;
}

static enum tfd_code count_step(struct look *l, struct tfd_str function)
{
    if (++l->steps <= TFD_GRAPH_EDGES_MAX)
        return TFD_OK;
    return tfd_fail(l->st, TFD_RESOURCE_EXHAUSTED,
                    "what reads the variables that function " TFD_STR_FMT
                    " gets is not found in %d steps, which is the limit",
                    TFD_STR_ARG(function), TFD_GRAPH_EDGES_MAX);
}

static enum tfd_code add_handle(struct look *l, const struct body *b,
                                struct tfd_str tensor)
{
    struct handle *h;

    TFD_TRY(find_handle(l, b, tensor, &h));
    if (h->argument == l->argument)
        return TFD_OK;
    h->argument = l->argument;
    h->next = NULL;
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
    struct body *b;

    TFD_TRY(count_step(l, f->name));
    if (!function)
        return TFD_OK;
    TFD_TRY(find_body(l, function, &b));
    if (b->first_list <= arg && b->first_list < function->op.in_count) {
        l->found = TFD_FLOAT;
        return TFD_OK;
    }
    if (arg < 0 || arg >= function->op.in_count)
        return TFD_OK;
    return add_handle(l, b, function->op.in[arg].name);
}

/* ---- Readers ------------------------------------------------------------- */

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
static enum tfd_code add_passed(struct look *l, const struct body *b,
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
        rc = add_handle(l, b, tensor);
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
        return add_passed(l, h->body, n.name);
    if (!tfd_str_is(n.op->name, "ReadVariableOp") &&
        !tfd_str_starts(n.op->name, "ResourceGather"))
        return add_called(l, &n, input);
    if (tfd_node_type(&n, "dtype", &l->found, NULL) != TFD_OK)
        l->found = TFD_FLOAT;
    return TFD_OK;
}

static enum tfd_code look_at_readers(struct look *l, const struct handle *h)
{
    uintptr_t first = 0;

    (void)tfd_map_get(&h->body->readers, h->tensor, &first);
    for (const struct reader *r = (struct reader *)first;
         r && l->found == TFD_RESOURCE; r = r->next) {
        TFD_TRY(count_step(l, h->body->function->op.name));
        TFD_TRY(look_at_reader(l, h, r->node, r->input));
    }
    return TFD_OK;
}

static enum tfd_code follow(struct look *l, const struct tfd_func *f,
                            int32_t arg, int *type)
{
    l->first = l->last = NULL;
    l->argument = arg;
    l->found = TFD_RESOURCE;
    TFD_TRY(add_argument(l, f, arg));
    for (const struct handle *h = l->first; h && l->found == TFD_RESOURCE;
         h = h->next)
        TFD_TRY(look_at_readers(l, h));
    *type = (int)l->found;
    return TFD_OK;
}

enum tfd_code tfd_function_reads(const struct tfd_graph *g,
                                 const struct tfd_func *f, int32_t count,
                                 int *types, struct tfd_status *st)
{
    struct look l = {.g = g, .st = st};
    enum tfd_code rc = TFD_OK;

    tfd_arena_init(&l.arena, (size_t)TFD_GRAPH_SIZE_MAX);
    tfd_map_init(&l.bodies);
    tfd_map_init(&l.handles);
    tfd_bytes_init(&l.text, 4 * TFD_NAME_SIZE_MAX);
    for (int32_t i = 0; i < count && rc == TFD_OK; i++)
        if (types[i] == TFD_RESOURCE)
            rc = follow(&l, f, i, &types[i]);
    for (struct body *b = l.all; b; b = b->next)
        tfd_map_deinit(&b->readers);
    tfd_bytes_deinit(&l.text);
    tfd_map_deinit(&l.handles);
    tfd_map_deinit(&l.bodies);
    tfd_arena_deinit(&l.arena);
    return rc;
}
