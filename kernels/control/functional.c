/*
 * functional.c - ops that call functions: If, Case, While, PartitionedCall and
 * their relatives, as they run where the master did not expand them.
 *
 * A call of a function by its name as op type (TFD_OP_FUNCTION) runs by the
 * rows of the PartitionedCalls.
 *
 *     start -> [cond ->] body -> done -> finish, or the next iteration
 *
 * Every execution has its own struct execution; a call's done() may come on any
 * thread, but only one is under way at a time.
 */
#include "kernels/control/branch_grad.h"
#include "kernels/control/symbolic_grad.h"
#include "kernels/control/while_grad.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/function_call.h"
#include "kernels/core/runtime.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What prepare() makes. */
struct calls {
    struct tfd_rt_function **functions; /* branches; or cond and body */
    int32_t count;
};

struct execution {
    struct tfd_function_call call;
    struct tfd_kctx *k;
    int32_t count; /* While: of its values */
    struct tfd_tensor predicate;
    struct tfd_tensor *values; /* arguments; While: results, too */
    struct tfd_tensor *results;
};

/* ---- Preparing ----------------------------------------------------------- */

static enum tfd_code make_calls(struct calls *c, int32_t count,
                                struct tfd_status *st)
{
    c->functions = calloc((size_t)count + 1, sizeof(struct tfd_rt_function *));
    c->count = count;
    if (c->functions)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
}

/* Also after a prepare() that failed, which has done it before. */
static void release_calls(void *state)
{
    struct calls *c = state;

    free(c->functions);
    c->functions = NULL;
}

static enum tfd_code prepare_list(const struct tfd_prepare *p, struct calls *c,
                                  const struct tfd_func *f, int32_t count,
                                  struct tfd_status *st)
{
    enum tfd_code rc = make_calls(c, count, st);

    for (int32_t i = 0; rc == TFD_OK && i < count; i++)
        rc = tfd_rt_function(p, &f[i], &c->functions[i], st);
    if (rc != TFD_OK)
        release_calls(c);
    return rc;
}

static enum tfd_code prepare_named(const struct tfd_prepare *p, void *state,
                                   const char *const *names, int count,
                                   struct tfd_status *st)
{
    struct tfd_func f[2];
    struct tfd_arena arena;
    enum tfd_code rc = TFD_OK;

    assert(count <= TFD_COUNT(f));
    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    for (int i = 0; rc == TFD_OK && i < count; i++)
        rc = tfd_node_func(p->node, names[i], &arena, &f[i], st);
    if (rc == TFD_OK)
        rc = prepare_list(p, state, f, count, st);
    tfd_arena_deinit(&arena);
    return rc;
}

static enum tfd_code check_call(const struct tfd_prepare *p,
                                const struct tfd_rt_function *f,
                                int32_t in_count, int32_t out_count,
                                struct tfd_status *st)
{
    if (tfd_rt_function_in_count(f) == in_count &&
        tfd_rt_function_out_count(f) == out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "{{node " TFD_STR_FMT "}} calls a function of %d arguments "
                    "and %d results with %d and %d",
                    TFD_STR_ARG(p->node->name), tfd_rt_function_in_count(f),
                    tfd_rt_function_out_count(f), in_count, out_count);
}

/* All functions take the node's inputs from `from` on, and give its outputs. */
static enum tfd_code check_calls(const struct tfd_prepare *p, void *state,
                                 int32_t from, struct tfd_status *st)
{
    struct calls *c = state;
    enum tfd_code rc = TFD_OK;

    for (int32_t i = 0; rc == TFD_OK && i < c->count; i++)
        rc = check_call(p, c->functions[i], p->node->in_count - from,
                        p->node->out_count, st);
    if (rc != TFD_OK)
        release_calls(c);
    return rc;
}

static enum tfd_code call_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    static const char *const names[] = {"f"};
    const struct tfd_node *n = p->node;
    const struct tfd_func own = {n->op->name, n->attrs, n->attr_count};

    if (n->op->flags & TFD_OP_FUNCTION)
        TFD_TRY(prepare_list(p, state, &own, 1, st));
    else
        TFD_TRY(prepare_named(p, state, names, 1, st));
    return check_calls(p, state, 0, st);
}

static enum tfd_code remote_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    static const char *const names[] = {"f"};

    TFD_TRY(prepare_named(p, state, names, 1, st));
    return check_calls(p, state, 1, st);
}

static enum tfd_code if_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    static const char *const names[] = {"then_branch", "else_branch"};

    TFD_TRY(prepare_named(p, state, names, 2, st));
    return check_calls(p, state, 1, st);
}

static enum tfd_code case_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_arena arena;
    struct tfd_func *f;
    enum tfd_code rc;
    int32_t count;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_funcs(p->node, "branches", &arena, &f, &count, st);
    if (rc == TFD_OK)
        rc = prepare_list(p, state, f, count, st);
    tfd_arena_deinit(&arena);
    return rc == TFD_OK ? check_calls(p, state, 1, st) : rc;
}

/* The host decides. */
static enum tfd_code prepare_predicate(const struct tfd_prepare *p,
                                       struct tfd_rt_function **out,
                                       struct tfd_status *st)
{
    struct tfd_arena arena;
    struct tfd_func f;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_func(p->node, "cond", &arena, &f, st);
    if (rc == TFD_OK)
        rc = tfd_rt_predicate(p, &f, out, st);
    tfd_arena_deinit(&arena);
    return rc;
}

static enum tfd_code while_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    static const char *const names[] = {"cond", "body"};
    struct calls *c = state;
    enum tfd_code rc;

    TFD_TRY(prepare_named(p, state, names, 2, st));
    rc = prepare_predicate(p, &c->functions[0], st);
    if (rc == TFD_OK && tfd_rt_function_out_count(c->functions[0]) != 1)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Expected a single scalar return value from WhileOp "
                      "cond, got %d tensors.",
                      tfd_rt_function_out_count(c->functions[0]));
    if (rc == TFD_OK)
        rc = check_call(p, c->functions[0], p->node->in_count, 1, st);
    if (rc == TFD_OK)
        rc = check_call(p, c->functions[1], p->node->in_count,
                        p->node->out_count, st);
    if (rc != TFD_OK)
        release_calls(c);
    return rc;
}

static enum tfd_code gradient_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct calls *c = state;
    struct tfd_arena arena;
    struct tfd_func f;
    enum tfd_code rc;

    TFD_TRY(make_calls(c, 1, st));
    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_func(p->node, "f", &arena, &f, st);
    if (rc == TFD_OK)
        rc = tfd_rt_gradient(p, &f, &c->functions[0], st);
    tfd_arena_deinit(&arena);
    if (rc == TFD_OK)
        return check_calls(p, state, 0, st);
    release_calls(c);
    return rc;
}

/* ---- Truth --------------------------------------------------------------- */

static bool any_byte(const struct tfd_tensor *t)
{
    const uint8_t *data = tfd_tensor_data(t);
    size_t size = tfd_dtype_size(t->dtype);

    for (size_t i = 0; i < size; i++)
        if (data[i])
            return true;
    return false;
}

/* A scalar is true unless it is zero or ""; others, unless they are empty.
 * Minus zero counts as zero. */
static bool is_true(const struct tfd_tensor *t)
{
    if (t->shape.rank != 0)
        return tfd_tensor_elements(t) > 0;
    if (t->dtype == TFD_STRING)
        return tfd_tstring_view(tfd_tensor_data(t)).size > 0;
    if (t->dtype == TFD_FLOAT)
        return *(const float *)tfd_tensor_data(t) != 0;
    if (t->dtype == TFD_DOUBLE)
        return *(const double *)tfd_tensor_data(t) != 0;
    return any_byte(t);
}

static enum tfd_code truth_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &scalar, st));
    *(tfd_bool *)tfd_tensor_data(&k->out[0]) = is_true(&k->in[0]);
    return TFD_OK;
}

/* ---- Executions ---------------------------------------------------------- */

static void drop_tensors(struct tfd_tensor *t, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        tfd_tensor_unref(&t[i]);
}

static void finish_execution(struct execution *x, const struct tfd_status *st)
{
    struct tfd_kctx *k = x->k;

    tfd_tensor_unref(&x->predicate);
    drop_tensors(x->values, x->count);
    drop_tensors(x->results, x->count);
    free(x);
    tfd_kctx_finish(k, st);
}

/* Inputs from `from` on are the values. */
static struct execution *begin_execution(struct tfd_kctx *k, int32_t from)
{
    struct tfd_status st = TFD_STATUS_INIT;
    int32_t count = k->in_count - from;
    struct execution *x =
        calloc(1, sizeof(*x) + 2 * (size_t)count * sizeof(struct tfd_tensor));

    if (!x) {
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
        tfd_kctx_finish(k, &st);
        return NULL;
    }
    x->k = x->call.k = k;
    x->count = count;
    x->values = (struct tfd_tensor *)(x + 1);
    x->results = x->values + count;
    for (int32_t i = 0; i < count; i++)
        x->values[i] = tfd_tensor_ref(&k->in[from + i]);
    return x;
}

static struct execution *execution_of(struct tfd_function_call *c)
{
    return TFD_CONTAINER_OF(c, struct execution, call);
}

static void called(struct tfd_function_call *c, const struct tfd_status *st)
{
    finish_execution(execution_of(c), st);
}

/* One call whose results are the node's outputs. */
static void call(struct execution *x, int32_t which)
{
    const struct calls *c = x->k->state;

    x->call.function = c->functions[which];
    x->call.in = x->values;
    x->call.out = x->k->out;
    x->call.done = called;
    x->call.may_stay = true;
    tfd_function_run(&x->call);
}

static void call_start(struct tfd_kctx *k)
{
    struct execution *x = begin_execution(k, 0);

    if (x)
        call(x, 0);
}

/* "/cpu:0" for "/device:CPU:0". */
static bool is_short_device(const char *part, size_t size, const char *own)
{
    const char *device = strstr(own, "/device:");

    return device && size > 1 && strlen(device + 8) == size - 1 &&
           strncasecmp(device + 8, part + 1, size - 1) == 0;
}

/* "/job:worker/task:0/device:CPU:0": each part of the name of this device, or
 * no part at all. */
static bool names_this(struct tfd_str target, const char *own)
{
    const char *at = target.data, *end = target.data + target.size;

    while (at < end) {
        const char *part = at, *found;
        size_t size;

        while (at < end && (at == part || *at != '/'))
            at++;
        size = (size_t)(at - part);
        for (found = own; *found; found++)
            if (strncasecmp(found, part, size) == 0 &&
                (found[size] == '/' || found[size] == '\0'))
                break;
        if (!*found && !is_short_device(part, size, own))
            return false;
    }
    return true;
}

/* A function of this task alone: others have their own server. */
static void remote_start(struct tfd_kctx *k)
{
    const char *own = tfd_rt_device(k->rt);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_str target;
    struct execution *x;

    if (tfd_check_str(k, 0, &target, &st) == TFD_OK && !names_this(target, own))
        tfd_fail(&st, TFD_UNIMPLEMENTED,
                 "a RemoteCall to " TFD_STR_FMT
                 " from %s; only this task's own "
                 "device can be called",
                 TFD_STR_ARG(target), own);
    if (st.code != TFD_OK) {
        tfd_kctx_finish(k, &st);
        return;
    }
    x = begin_execution(k, 1);
    if (x)
        call(x, 0);
}

static void if_start(struct tfd_kctx *k)
{
    struct execution *x = begin_execution(k, 1);

    if (x)
        call(x, is_true(&k->in[0]) ? 0 : 1);
}

static void case_start(struct tfd_kctx *k)
{
    const struct calls *c = k->state;
    struct execution *x = begin_execution(k, 1);
    int32_t index = *(const int32_t *)tfd_tensor_data(&k->in[0]);

    if (x)
        call(x, index < 0 || index >= c->count ? c->count - 1 : index);
}

/* ---- While --------------------------------------------------------------- */

static void ask_condition(struct execution *x);

static void body_done(struct tfd_function_call *c, const struct tfd_status *st)
{
    struct execution *x = execution_of(c);

    if (st->code != TFD_OK) {
        finish_execution(x, st);
        return;
    }
    for (int32_t i = 0; i < x->count; i++) {
        tfd_tensor_unref(&x->values[i]);
        x->values[i] = x->results[i];
        x->results[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    ask_condition(x);
}

static void leave_execution(struct execution *x)
{
    struct tfd_status ok = TFD_STATUS_INIT;

    for (int32_t i = 0; i < x->count; i++) {
        x->k->out[i] = x->values[i];
        x->values[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    finish_execution(x, &ok);
}

static void cond_done(struct tfd_function_call *c, const struct tfd_status *st)
{
    struct execution *x = execution_of(c);
    bool more;

    if (st->code != TFD_OK) {
        finish_execution(x, st);
        return;
    }
    /* Cond had references of its own. */
    for (int32_t i = 0; i < x->count; i++) {
        x->values[i] = x->results[i];
        x->results[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    more = is_true(&x->predicate);
    tfd_tensor_unref(&x->predicate);
    if (!more) {
        leave_execution(x);
        return;
    }
    x->call.function = ((const struct calls *)x->k->state)->functions[1];
    x->call.in = x->values;
    x->call.out = x->results;
    x->call.done = body_done;
    tfd_function_run(&x->call);
}

/* Arguments are taken, so the values are kept aside meanwhile. */
static void ask_condition(struct execution *x)
{
    for (int32_t i = 0; i < x->count; i++)
        x->results[i] = tfd_tensor_ref(&x->values[i]);
    x->call.function = ((const struct calls *)x->k->state)->functions[0];
    x->call.in = x->values;
    x->call.out = &x->predicate;
    x->call.done = cond_done;
    tfd_function_run(&x->call);
}

static void while_start(struct tfd_kctx *k)
{
    struct execution *x = begin_execution(k, 0);

    if (x)
        ask_condition(x);
}

/* ---- Rows ---------------------------------------------------------------- */

#define CALL(name_, flags_)                                                \
    {                                                                      \
        .name = (name_), .inputs = "args: Tin", .outputs = "output: Tout", \
        .attrs = "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; "  \
                 "config: string = ''; config_proto: string = ''; "        \
                 "executor_type: string = ''",                             \
        .flags = (flags_),                                                 \
    }
#define IF(name_, flags_)                                              \
    {                                                                  \
        .name = (name_), .inputs = "cond: Tcond, input: Tin",          \
        .outputs = "output: Tout",                                     \
        .attrs = "Tcond: type; Tin: list(type) >= 0; "                 \
                 "Tout: list(type) >= 0; then_branch: func; "          \
                 "else_branch: func; output_shapes: list(shape) = []", \
        .grad = tfd_branch_if_gradient, .flags = (flags_),             \
    }
#define OTHER(name_, in, out, attrs_, shape_, flags_)                 \
    {                                                                 \
        .name = name_, .inputs = in, .outputs = out, .attrs = attrs_, \
        .shape = shape_, .flags = (flags_) | TFD_OP_NO_GRADIENT,      \
    }
#define CASE(name_, flags_)                                             \
    {                                                                   \
        .name = (name_), .inputs = "branch_index: int32, input: Tin",   \
        .outputs = "output: Tout",                                      \
        .attrs = "Tin: list(type) >= 0; Tout: list(type) >= 0; "        \
                 "branches: list(func) >= 1; "                          \
                 "output_shapes: list(shape) = []",                     \
        .checks = "branch_index: scalar 'branch_index must be scalar'", \
        .grad = tfd_branch_case_gradient, .flags = (flags_),            \
    }
#define WHILE(name_, flags_)                                           \
    {                                                                  \
        .name = (name_), .inputs = "input: T", .outputs = "output: T", \
        .attrs = "T: list(type) >= 0; cond: func; body: func; "        \
                 "output_shapes: list(shape) = []; "                   \
                 "parallel_iterations: int = 10",                      \
        .grad = tfd_while_gradient, .flags = (flags_),                 \
    }

static const struct tfd_opdef ops[] = {
    CALL("PartitionedCall", 0),
    CALL("StatefulPartitionedCall", TFD_OP_STATEFUL),
    IF("If", TFD_OP_STATEFUL),
    IF("StatelessIf", 0),
    OTHER("_If", "cond: Tcond, input: Tin", "output: Tout",
          "Tcond: type; Tin: list(type) >= 1; Tout: list(type) >= 1; "
          "then_branch: func; else_branch: func",
          NULL, TFD_OP_STATEFUL),
    OTHER("_While", "input: T", "output: T",
          "T: list(type) >= 0; cond: func; body: func", NULL, TFD_OP_STATEFUL),
    OTHER("ToBool", "input: T", "output: bool", "T: type", tfd_shape_scalar, 0),
    CASE("Case", TFD_OP_STATEFUL),
    CASE("StatelessCase", 0),
    WHILE("While", TFD_OP_STATEFUL),
    WHILE("StatelessWhile", 0),
    {
        .name = "RemoteCall",
        .inputs = "target: string, args: Tin",
        .outputs = "output: Tout",
        .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
        .checks = "target: scalar",
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "SymbolicGradient",
        .inputs = "input: Tin",
        .outputs = "output: Tout",
        .attrs = "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func",
        .grad = tfd_symbolic_gradient,
    },
};

#define ROW(name_, start_, prepare_)                                      \
    TFD_KERNEL_ANY(name_, NULL, .start = (start_), .prepare = (prepare_), \
                   .release = release_calls,                              \
                   .state_size = sizeof(struct calls),                    \
                   .flags = TFD_KERNEL_BY_TYPE | TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    ROW("PartitionedCall", call_start, call_prepare),
    ROW("StatefulPartitionedCall", call_start, call_prepare),
    ROW("If", if_start, if_prepare),
    ROW("StatelessIf", if_start, if_prepare),
    ROW("_If", if_start, if_prepare),
    ROW("_While", while_start, while_prepare),
    TFD_KERNEL_ANY("ToBool", truth_compute),
    ROW("Case", case_start, case_prepare),
    ROW("StatelessCase", case_start, case_prepare),
    ROW("While", while_start, while_prepare),
    ROW("StatelessWhile", while_start, while_prepare),
    ROW("SymbolicGradient", call_start, gradient_prepare),
    ROW("RemoteCall", remote_start, remote_prepare),
};

const struct tfd_family tfd_family_functional = {
    .name = "functional",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
