/*
 * function_gradient.c - the gradient of a function whose library names none:
 * its body, without results, and what derives it.
 *
 *     arguments    the function's, then what arrived at each of its results
 *     results      a gradient for each of the function's arguments; zeros where
 *                  no result depends on it
 */
#include "daemon/worker/run/called_functions.h"

#include "config/limits.h"
#include "kernels/core/gradient_walk.h"

#include <string.h>

struct deriving {
    const struct tfd_function_ends *ends;
    struct tfd_graph *g;
    struct tfd_str name, device; /* the function's */
    struct tfd_arena *arena;
    struct tfd_edge *y, *dy, *x, *dx;
    int32_t y_count;       /* results that have a derivative, or might */
    enum tfd_dtype *types; /* of the results, by argument */
    struct tfd_status *st;
};

/* ---- Nodes --------------------------------------------------------------- */

static enum tfd_code add_gradient_node(void *arg,
                                       const struct tfd_node_spec *spec,
                                       struct tfd_node **out,
                                       struct tfd_status *st)
{
    return tfd_graph_add(arg, spec, out, st);
}

/* An _Arg, or a _Retval of `in`: "function/_gradient/_Arg/3". */
static enum tfd_code add_end(struct deriving *d, const char *op,
                             const struct tfd_edge *in, int32_t index, int type,
                             struct tfd_edge *out)
{
    struct tfd_node_spec spec = {
        .op = tfd_str_of(op),
        .device = d->device,
        .in = in,
        .in_count = in ? 1 : 0,
        .attr_count = 2,
    };
    struct tfd_attr attrs[2];
    struct tfd_node *added;
    struct tfd_bytes text;
    size_t first, second;
    enum tfd_code rc;

    tfd_bytes_init(&text, 2 * TFD_NAME_SIZE_MAX);
    tfd_attr_put_type(&text, type);
    first = text.size;
    tfd_attr_put_int(&text, index);
    second = text.size;
    tfd_bytes_add_str(&text, d->name);
    tfd_bytes_printf(&text, "/_gradient/%s/%d", op, index);
    rc = tfd_bytes_ok(&text, "the gradient of a function", d->st);
    if (rc == TFD_OK) {
        attrs[0] = (struct tfd_attr){TFD_STR("T"), {text.data, first}};
        attrs[1] = (struct tfd_attr){TFD_STR("index"),
                                     {text.data + first, second - first}};
        spec.attrs = attrs;
        spec.name = (struct tfd_str){text.data + second, text.size - second};
        rc = tfd_graph_add(d->g, &spec, &added, d->st);
    }
    if (rc == TFD_OK && out)
        *out = (struct tfd_edge){added->id, 0};
    tfd_bytes_deinit(&text);
    return rc;
}

/* ---- Zeros --------------------------------------------------------------- */

static enum tfd_code add_op(struct deriving *d, const char *op,
                            struct tfd_edge in, const struct tfd_attr *attr,
                            struct tfd_edge *out)
{
    struct tfd_node_spec spec = {
        .op = tfd_str_of(op),
        .device = d->device,
        .in = &in,
        .in_count = 1,
        .attrs = attr,
        .attr_count = attr ? 1 : 0,
    };
    struct tfd_node *added;
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&name, d->name);
    tfd_bytes_printf(&name, "/_gradient/%s/%d", op, in.node);
    rc = tfd_bytes_ok(&name, "the gradient of a function", d->st);
    spec.name = tfd_bytes_view(&name);
    if (rc == TFD_OK)
        rc = tfd_graph_add(d->g, &spec, &added, d->st);
    if (rc == TFD_OK)
        *out = (struct tfd_edge){added->id, 0};
    tfd_bytes_deinit(&name);
    return rc;
}

/* Of a variable, as TensorFlow has it, zeros in its shape; of a handle that
 * nothing shall come of the handle itself. */
static enum tfd_code add_zeros(struct deriving *d, struct tfd_edge x,
                               enum tfd_dtype type, struct tfd_edge *out)
{
    struct tfd_attr dtype = {TFD_STR("dtype"), TFD_STR_EMPTY};
    struct tfd_bytes value;
    enum tfd_code rc;

    *out = x;
    if (tfd_graph_type(d->g, x) == TFD_RESOURCE) {
        if (type == TFD_RESOURCE)
            return TFD_OK;
        tfd_bytes_init(&value, TFD_ATTR_SIZE_MAX);
        tfd_attr_put_type(&value, (int)type);
        dtype.value = tfd_bytes_view(&value);
        rc = tfd_bytes_ok(&value, "an attribute", d->st);
        if (rc == TFD_OK)
            rc = add_op(d, "ReadVariableOp", x, &dtype, &x);
        tfd_bytes_deinit(&value);
        TFD_TRY(rc);
    }
    return add_op(d, "ZerosLike", x, NULL, out);
}

/* What the call says; float where it does not. */
static enum tfd_code find_types(struct deriving *d, const struct tfd_func *f)
{
    static const struct tfd_opdef none = {.name = ""};
    const struct tfd_op op = {.def = &none};
    const struct tfd_node n = {.name = f->name,
                               .op = &op,
                               .attrs = f->attrs,
                               .attr_count = f->attr_count};
    const int32_t args = d->ends->arg_count;
    int count = 0;

    d->types = tfd_arena_array(d->arena, (size_t)args + 1, sizeof(*d->types));
    TFD_TRY(tfd_arena_check(d->types, "the gradient of a function", d->st));
    if (tfd_node_types(&n, TFD_GRADIENT_TYPES, d->types, args, &count, NULL) !=
        TFD_OK)
        count = 0;
    for (int32_t i = count; i < args; i++)
        d->types[i] = TFD_FLOAT;
    return TFD_OK;
}

/* ---- All ----------------------------------------------------------------- */

static enum tfd_code find_ends(struct deriving *d)
{
    const struct tfd_function_ends *ends = d->ends;
    size_t args = (size_t)ends->arg_count + 1, rets = (size_t)ends->ret_count;

    d->y = tfd_arena_array(d->arena, (args + rets + 1) * 2, sizeof(*d->y));
    TFD_TRY(tfd_arena_check(d->y, "the gradient of a function", d->st));
    d->dy = d->y + rets + 1;
    d->x = d->dy + rets + 1;
    d->dx = d->x + args;
    for (int32_t i = 0; i < ends->arg_count; i++)
        TFD_TRY(tfd_graph_endpoint(d->g, ends->args[i], &d->x[i], d->st));
    for (int32_t i = 0; i < ends->ret_count; i++) {
        const int32_t at = d->y_count;

        TFD_TRY(tfd_graph_endpoint(d->g, ends->rets[i], &d->y[at], d->st));
        TFD_TRY(add_end(d, "_Arg", NULL, ends->arg_count + i,
                        ends->ret_types[i], &d->dy[at]));
        /* a handle that is passed on */
        d->y_count += ends->ret_types[i] != TFD_RESOURCE;
    }
    return TFD_OK;
}

static enum tfd_code walk(struct deriving *d)
{
    const struct tfd_gradient_host host = {d->g, add_gradient_node, NULL, d->g};
    struct tfd_bytes prefix;
    struct tfd_gradients r = {
        .host = &host,
        .device = d->device,
        .y = d->y,
        .y_count = d->y_count,
        .dy = d->dy,
        .x = d->x,
        .x_count = d->ends->arg_count,
        .dx = d->dx,
    };
    enum tfd_code rc;

    tfd_bytes_init(&prefix, 2 * TFD_NAME_SIZE_MAX);
    tfd_bytes_add_str(&prefix, d->name);
    tfd_bytes_add_str(&prefix, TFD_STR("/_gradient"));
    rc = tfd_bytes_ok(&prefix, "the gradient of a function", d->st);
    r.prefix = tfd_bytes_view(&prefix);
    if (rc == TFD_OK)
        rc = tfd_gradient_walk(&r, d->st);
    tfd_bytes_deinit(&prefix);
    return rc;
}

enum tfd_code tfd_function_gradient_add(struct tfd_rt_function *f,
                                        const struct tfd_function_ends *ends,
                                        struct tfd_arena *arena,
                                        struct tfd_graph *g,
                                        struct tfd_status *st)
{
    struct deriving d = {.ends = ends,
                         .g = g,
                         .name = f->func.name,
                         .device = tfd_str_of(tfd_rt_device(f->rt)),
                         .arena = arena,
                         .st = st};

    TFD_TRY(find_types(&d, &f->func));
    TFD_TRY(find_ends(&d));
    TFD_TRY(walk(&d));
    for (int32_t i = 0; i < ends->arg_count; i++) {
        if (d.dx[i].node < 0)
            TFD_TRY(add_zeros(&d, d.x[i], d.types[i], &d.dx[i]));
        TFD_TRY(add_end(&d, "_Retval", &d.dx[i], i, tfd_graph_type(g, d.dx[i]),
                        NULL));
    }
    return TFD_OK;
}
