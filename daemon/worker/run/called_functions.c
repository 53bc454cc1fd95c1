/*
 * called_functions.c - the table of the functions that a graph's kernels call:
 * see called_functions.h.
 *
 * prepare() only notes a function; its body is compiled when it is called, so
 * that functions that call each other do not compile each other for ever.  Two
 * threads that call it first at once may both compile; the first one's stays.
 */
#include "daemon/worker/run/called_functions.h"

#include "common/graph/function_body.h"
#include "config/limits.h"
#include "daemon/worker/run/executor.h"

#include <stdlib.h>
#include <string.h>

#define KEY_SIZE_MAX ((size_t)64 << 20)

/* ---- Tables -------------------------------------------------------------- */

struct tfd_function_table *
tfd_function_table_new(struct tfd_graph *graph,
                       const struct tfd_compile_env *env, struct tfd_status *st)
{
    struct tfd_function_table *t = calloc(1, sizeof(*t));

    if (!t) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for functions");
        return NULL;
    }
    t->graph = tfd_graph_ref(graph);
    t->env = *env;
    t->env.functions = t;
    t->env.is_function = true;
    t->env.feeds = t->env.fetches = NULL;
    t->env.feed_count = t->env.fetch_count = 0;
    tfd_lock_init(&t->lock, TFD_LOCK_GRAPH);
    tfd_map_init(&t->by_key);
    tfd_arena_init(&t->arena, (size_t)TFD_GRAPH_SIZE_MAX);
    return t;
}

static void free_steps(struct tfd_step *s)
{
    while (s) {
        struct tfd_step *next = s->next;

        tfd_step_free(s);
        s = next;
    }
}

static void free_function(struct tfd_rt_function *f)
{
    free_steps(f->idle);
    free_steps(f->idle_here);
    tfd_exec_free(f->exec);
}

void tfd_function_table_free(struct tfd_function_table *t)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    if (!t)
        return;
    while (tfd_map_next(&t->by_key, &at, &e))
        free_function((struct tfd_rt_function *)e->value);
    if (t->lasting)
        t->host->drop(t->lasting);
    tfd_map_deinit(&t->by_key);
    tfd_arena_deinit(&t->arena);
    tfd_lock_deinit(&t->lock);
    tfd_graph_unref(t->graph);
    free(t);
}

/* ---- Functions ----------------------------------------------------------- */

static bool is_key_attr(const struct tfd_function *function,
                        enum tfd_function_kind kind, int32_t i,
                        struct tfd_str name)
{
    return i < function->op.attr_count
               ? tfd_str_eq(name, function->op.attrs[i].name)
               : kind == TFD_FUNCTION_GRADIENT &&
                     tfd_str_is(name, TFD_GRADIENT_TYPES);
}

/* Name, device, and the attributes that the signature has, in its order; of a
 * gradient also its results' types. */
static void put_key(struct tfd_bytes *b, const struct tfd_function *function,
                    const struct tfd_func *f, enum tfd_function_kind kind,
                    const struct tfd_rt *rt)
{
    tfd_bytes_add_str(b, f->name);
    tfd_bytes_printf(b, "\n%d%c%s", (int)kind, '\n', tfd_rt_device(rt));
    for (int i = 0; i <= function->op.attr_count; i++)
        for (int32_t k = 0; k < f->attr_count; k++)
            if (is_key_attr(function, kind, i, f->attrs[k].name)) {
                tfd_bytes_printf(b, "\n%d:%zu ", i, f->attrs[k].value.size);
                tfd_bytes_add_str(b, f->attrs[k].value);
            }
}

static enum tfd_code copy_func(struct tfd_arena *arena,
                               const struct tfd_func *from, struct tfd_func *to,
                               struct tfd_status *st)
{
    struct tfd_attr *attrs =
        tfd_arena_array(arena, (size_t)from->attr_count + 1, sizeof(*attrs));

    to->name = tfd_arena_str(arena, from->name);
    if (!attrs || !to->name.data)
        return tfd_arena_check(NULL, "a function", st);
    for (int32_t i = 0; i < from->attr_count; i++) {
        attrs[i].name = tfd_arena_str(arena, from->attrs[i].name);
        attrs[i].value = tfd_arena_str(arena, from->attrs[i].value);
        if (!attrs[i].name.data || !attrs[i].value.data)
            return tfd_arena_check(NULL, "a function", st);
    }
    to->attrs = attrs;
    to->attr_count = from->attr_count;
    return TFD_OK;
}

/* The lengths of its argument and result lists, by its attributes. */
static enum tfd_code count_ends(const struct tfd_function *function,
                                struct tfd_rt_function *f,
                                struct tfd_status *st)
{
    const struct tfd_node n = {
        .name = f->func.name,
        .op = &function->op,
        .attrs = f->func.attrs,
        .attr_count = f->func.attr_count,
    };
    int64_t in = tfd_function_inputs(&n), out = tfd_function_outputs(&n);

    if (in < 0 || out < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Function " TFD_STR_FMT " is called without the "
                        "attributes that say how many arguments it has",
                        TFD_STR_ARG(f->func.name));
    f->in_count = (int32_t)(f->kind == TFD_FUNCTION_GRADIENT ? in + out : in);
    f->out_count = (int32_t)(f->kind == TFD_FUNCTION_GRADIENT ? in : out);
    return TFD_OK;
}

static enum tfd_code
add_called(struct tfd_function_table *t, const struct tfd_function *function,
           const struct tfd_func *func, enum tfd_function_kind kind,
           struct tfd_rt *rt, struct tfd_str key, struct tfd_rt_function **out,
           struct tfd_status *st)
{
    struct tfd_rt_function *f = tfd_arena_alloc(&t->arena, sizeof(*f));

    TFD_TRY(tfd_arena_check(f, "a function", st));
    f->table = t;
    f->rt = rt;
    f->kind = kind;
    f->key = tfd_arena_str(&t->arena, key);
    TFD_TRY(tfd_arena_check(f->key.data, "a function", st));
    TFD_TRY(copy_func(&t->arena, func, &f->func, st));
    TFD_TRY(count_ends(function, f, st));
    if (!tfd_map_put(&t->by_key, f->key, (uintptr_t)f))
        return tfd_arena_check(NULL, "a function", st);
    *out = f;
    return TFD_OK;
}

enum tfd_code tfd_function_table_get(struct tfd_function_table *t,
                                     const struct tfd_func *func,
                                     enum tfd_function_kind kind,
                                     struct tfd_rt *rt,
                                     struct tfd_rt_function **out,
                                     struct tfd_status *st)
{
    const struct tfd_function *function =
        tfd_function_find(t->graph, func->name);
    struct tfd_bytes key;
    enum tfd_code rc;
    uintptr_t value;

    if (!function)
        return tfd_fail(st, TFD_NOT_FOUND,
                        "Function " TFD_STR_FMT " is not defined.",
                        TFD_STR_ARG(func->name));
    tfd_bytes_init(&key, KEY_SIZE_MAX);
    put_key(&key, function, func, kind, rt);
    rc = tfd_bytes_ok(&key, "a function's name", st);
    tfd_lock(&t->lock);
    if (rc == TFD_OK && tfd_map_get(&t->by_key, tfd_bytes_view(&key), &value))
        *out = (struct tfd_rt_function *)value;
    else if (rc == TFD_OK)
        rc = add_called(t, function, func, kind, rt, tfd_bytes_view(&key), out,
                        st);
    tfd_unlock(&t->lock);
    tfd_bytes_deinit(&key);
    return rc;
}

/* TensorFlow looks calls up in one place, branches and loops in another. */
static enum tfd_code fail_unknown_function(const struct tfd_node *n,
                                           const struct tfd_func *f,
                                           struct tfd_status *st)
{
    if (tfd_str_is(n->op->name, "PartitionedCall") ||
        tfd_str_is(n->op->name, "StatefulPartitionedCall"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to find function \"" TFD_STR_FMT
                        "\" in function library",
                        TFD_STR_ARG(f->name));
    return tfd_fail(st, TFD_NOT_FOUND,
                    "Function " TFD_STR_FMT " is not defined.",
                    TFD_STR_ARG(f->name));
}

static enum tfd_code find_called_functions(const struct tfd_prepare *p,
                                           const struct tfd_func *f,
                                           enum tfd_function_kind kind,
                                           struct tfd_rt_function **out,
                                           struct tfd_status *st)
{
    struct tfd_function_table *t = tfd_compile_functions(p);

    if (!t || !tfd_function_find(t->graph, f->name))
        return fail_unknown_function(p->node, f, st);
    return tfd_function_table_get(t, f, kind, p->rt, out, st);
}

enum tfd_code tfd_rt_function(const struct tfd_prepare *p,
                              const struct tfd_func *f,
                              struct tfd_rt_function **out,
                              struct tfd_status *st)
{
    return find_called_functions(p, f, TFD_FUNCTION_BODY, out, st);
}

enum tfd_code tfd_rt_predicate(const struct tfd_prepare *p,
                               const struct tfd_func *f,
                               struct tfd_rt_function **out,
                               struct tfd_status *st)
{
    return find_called_functions(p, f, TFD_FUNCTION_PREDICATE, out, st);
}

struct tfd_str tfd_rt_function_name(const struct tfd_rt_function *f)
{
    return f->func.name;
}

int32_t tfd_rt_function_in_count(const struct tfd_rt_function *f)
{
    return f->in_count;
}

int32_t tfd_rt_function_out_count(const struct tfd_rt_function *f)
{
    return f->out_count;
}

/* With the types that the node gives, which say what a variable's handle
 * stands for. */
static enum tfd_code get_gradient(struct tfd_function_table *t,
                                  const struct tfd_prepare *p,
                                  const struct tfd_func *f,
                                  struct tfd_rt_function **out,
                                  struct tfd_status *st)
{
    struct tfd_attr *attrs =
        calloc((size_t)f->attr_count + 1, sizeof(struct tfd_attr));
    struct tfd_func typed = {f->name, attrs, f->attr_count};
    enum tfd_code rc;

    if (!attrs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for attributes");
    for (int32_t i = 0; i < f->attr_count; i++)
        attrs[i] = f->attrs[i];
    attrs[f->attr_count].name = TFD_STR(TFD_GRADIENT_TYPES);
    if (tfd_node_attr(p->node, "Tout", &attrs[f->attr_count].value))
        typed.attr_count++;
    rc = tfd_function_table_get(t, &typed, TFD_FUNCTION_GRADIENT, p->rt, out,
                                st);
    free(attrs);
    return rc;
}

enum tfd_code tfd_rt_gradient(const struct tfd_prepare *p,
                              const struct tfd_func *f,
                              struct tfd_rt_function **out,
                              struct tfd_status *st)
{
    struct tfd_function_table *t = tfd_compile_functions(p);
    const struct tfd_function *gradient;
    struct tfd_func named = *f;

    if (!t || !tfd_function_find(t->graph, f->name))
        return tfd_fail(st, TFD_NOT_FOUND,
                        "No gradient defined for op: " TFD_STR_FMT,
                        TFD_STR_ARG(f->name));
    gradient = tfd_function_gradient(t->graph, f->name);
    if (!gradient)
        return get_gradient(t, p, f, out, st);
    named.name = gradient->op.name;
    return tfd_function_table_get(t, &named, TFD_FUNCTION_BODY, p->rt, out, st);
}
