/*
 * gradient.c - see gradient.h.
 *
 * Which dimensions of a sum back to x's shape were broadcast is known while
 * building when both shapes are; then the axes are a constant, and where
 * nothing was broadcast no node is added.  Otherwise BroadcastGradientArgs
 * finds out in each step.
 */
#include "kernels/core/gradient.h"

#include "common/base/str.h"
#include "kernels/core/check.h"

#include <assert.h>

#define ATTR_MAX 64 /* bytes of an AttrValue with a number */

struct tfd_gradient tfd_gradient_begin(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    return (struct tfd_gradient){g, st, TFD_OK};
}

/* ---- Nodes --------------------------------------------------------------- */

struct tfd_edge tfd_gradient_op(struct tfd_gradient *b, const char *op,
                                const struct tfd_edge *in, int in_count)
{
    struct tfd_edge out = TFD_EDGE_NONE;

    if (b->code == TFD_OK)
        b->code = tfd_grad_emit(b->g, op, in, in_count, &out, b->st);
    return out;
}

struct tfd_edge tfd_gradient_op1(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge x)
{
    return tfd_gradient_op(b, op, &x, 1);
}

struct tfd_edge tfd_gradient_op2(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge x, struct tfd_edge y)
{
    const struct tfd_edge in[] = {x, y};

    return tfd_gradient_op(b, op, in, 2);
}

enum tfd_code tfd_gradient_slope(struct tfd_gradient *b, struct tfd_edge slope)
{
    b->g->dx[0] = tfd_gradient_op2(b, "Mul", b->g->dy[0], slope);
    return b->code;
}

struct tfd_edge tfd_gradient_op3(struct tfd_gradient *b, const char *op,
                                 struct tfd_edge x, struct tfd_edge y,
                                 struct tfd_edge z)
{
    const struct tfd_edge in[] = {x, y, z};

    return tfd_gradient_op(b, op, in, 3);
}

struct tfd_edge tfd_gradient_op_flags(struct tfd_gradient *b, const char *op,
                                      const struct tfd_edge *in, int in_count,
                                      const char *const *flags)
{
    struct tfd_attr attrs[TFD_GRADIENT_FLAGS];
    struct tfd_edge out = TFD_EDGE_NONE;
    struct tfd_bytes yes;
    int count = 0;

    tfd_bytes_init(&yes, ATTR_MAX);
    tfd_attr_put_bool(&yes, true);
    for (; flags[count]; count++) {
        assert(count < TFD_GRADIENT_FLAGS);
        attrs[count].name = tfd_str_of(flags[count]);
        attrs[count].value = tfd_bytes_view(&yes);
    }
    if (b->code == TFD_OK)
        b->code = tfd_bytes_ok(&yes, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, op, in, in_count, attrs, count,
                                      &out, 1, b->st);
    tfd_bytes_deinit(&yes);
    return out;
}

struct tfd_edge tfd_gradient_op_like(struct tfd_gradient *b, const char *op,
                                     const struct tfd_edge *in, int in_count,
                                     const char *attr)
{
    struct tfd_attr same = {.name = tfd_str_of(attr)};
    struct tfd_edge out = TFD_EDGE_NONE;
    int count = tfd_node_attr(b->g->node, attr, &same.value) ? 1 : 0;

    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, op, in, in_count, &same, count,
                                      &out, 1, b->st);
    return out;
}

void tfd_gradient_copying(struct tfd_gradient *b, const char *op,
                          const struct tfd_edge *in, int in_count,
                          const char *const *names, struct tfd_edge *out,
                          int out_count)
{
    struct tfd_attr attrs[TFD_GRADIENT_NAMES];
    int count = 0;

    for (int i = 0; i < out_count; i++)
        out[i] = TFD_EDGE_NONE;
    for (; *names; names++) {
        assert(count < TFD_GRADIENT_NAMES);
        attrs[count].name = tfd_str_of(*names);
        if (tfd_node_attr(b->g->node, *names, &attrs[count].value))
            count++;
    }
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, op, in, in_count, attrs, count, out,
                                      out_count, b->st);
}

static void put_attr(struct tfd_bytes *out, const struct tfd_gradient_attr *a)
{
    tfd_bytes_init(out, ATTR_MAX);
    if (a->kind == 'b')
        tfd_attr_put_bool(out, a->value != 0);
    else if (a->kind == 'i')
        tfd_attr_put_int(out, a->value);
    else
        tfd_attr_put_type(out, (int)a->value);
}

void tfd_gradient_with(struct tfd_gradient *b, const char *op,
                       const struct tfd_edge *in, int in_count,
                       const struct tfd_gradient_attr *attrs,
                       struct tfd_edge *out, int out_count)
{
    struct tfd_attr made[TFD_GRADIENT_NAMES] = {{.name = {NULL, 0}}};
    struct tfd_bytes values[TFD_GRADIENT_NAMES];
    int count = 0;

    for (int i = 0; i < out_count; i++)
        out[i] = TFD_EDGE_NONE;
    for (; attrs[count].name; count++) {
        assert(count < TFD_GRADIENT_NAMES);
        put_attr(&values[count], &attrs[count]);
        made[count].name = tfd_str_of(attrs[count].name);
        made[count].value = tfd_bytes_view(&values[count]);
        if (b->code == TFD_OK)
            b->code = tfd_bytes_ok(&values[count], "an attribute", b->st);
    }
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, op, in, in_count, made, count, out,
                                      out_count, b->st);
    while (count-- > 0)
        tfd_bytes_deinit(&values[count]);
}

struct tfd_edge tfd_gradient_given(struct tfd_gradient *b, int i)
{
    return b->g->dy[i].node >= 0 ? b->g->dy[i]
                                 : tfd_gradient_op1(b, "ZerosLike", b->g->y[i]);
}

struct tfd_edge tfd_gradient_cast(struct tfd_gradient *b, struct tfd_edge x,
                                  enum tfd_dtype to)
{
    struct tfd_edge out = TFD_EDGE_NONE;
    struct tfd_bytes type;
    struct tfd_attr attr;

    if (b->code != TFD_OK || tfd_gradient_dtype(b, x) == to)
        return x;
    tfd_bytes_init(&type, ATTR_MAX);
    tfd_attr_put_type(&type, (int)to);
    attr = (struct tfd_attr){TFD_STR("DstT"), tfd_bytes_view(&type)};
    b->code = tfd_bytes_ok(&type, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code =
            tfd_grad_emit_attrs(b->g, "Cast", &x, 1, &attr, 1, &out, 1, b->st);
    tfd_bytes_deinit(&type);
    return out;
}

/* ---- Edges --------------------------------------------------------------- */

enum tfd_dtype tfd_gradient_dtype(const struct tfd_gradient *b,
                                  struct tfd_edge e)
{
    return tfd_dtype_base(tfd_graph_type(b->g->graph, e));
}

struct tfd_edge tfd_gradient_conj(struct tfd_gradient *b, struct tfd_edge x)
{
    enum tfd_dtype dtype;

    if (b->code != TFD_OK)
        return x;
    dtype = tfd_gradient_dtype(b, x);
    if (dtype != TFD_COMPLEX64 && dtype != TFD_COMPLEX128)
        return x;
    return tfd_gradient_op1(b, "Conj", x);
}

struct tfd_edge tfd_gradient_scalar(struct tfd_gradient *b,
                                    struct tfd_edge like, double value)
{
    struct tfd_edge out = TFD_EDGE_NONE;

    if (b->code == TFD_OK)
        b->code = tfd_grad_scalar(b->g, tfd_gradient_dtype(b, like), value,
                                  &out, b->st);
    return out;
}

struct tfd_edge tfd_gradient_ints(struct tfd_gradient *b, const int32_t *values,
                                  int count)
{
    struct tfd_edge out = TFD_EDGE_NONE;

    if (b->code == TFD_OK)
        b->code = tfd_grad_int32(b->g, values, count, &out, b->st);
    return out;
}

/* False where a dimension does not fit int32. */
static bool dims_of(const struct tfd_shape *s, int32_t *dims)
{
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] > INT32_MAX)
            return false;
        dims[i] = (int32_t)s->dim[i];
    }
    return true;
}

struct tfd_edge tfd_gradient_shape(struct tfd_gradient *b, struct tfd_edge x)
{
    struct tfd_shape shape;
    int32_t dims[TFD_RANK_MAX];

    if (b->code != TFD_OK)
        return TFD_EDGE_NONE;
    if (tfd_grad_shape(b->g, x, &shape) && dims_of(&shape, dims))
        return tfd_gradient_ints(b, dims, shape.rank);
    return tfd_gradient_op1(b, "Shape", x);
}

bool tfd_gradient_const_ints(const struct tfd_gradient *b, struct tfd_edge e,
                             int64_t *values, int max, int *count)
{
    const struct tfd_node *n = b->g->graph->nodes[e.node];
    struct tfd_tensor value = TFD_TENSOR_INIT;
    int64_t elements;
    bool known;

    if (!n->op || !tfd_str_is(n->op->name, "Const") ||
        tfd_node_tensor(n, "value", &value, NULL) != TFD_OK)
        return false;
    elements = tfd_tensor_elements(&value);
    known = elements <= max &&
            (value.dtype == TFD_INT32 || value.dtype == TFD_INT64);
    for (int64_t i = 0; known && i < elements; i++)
        values[i] = tfd_check_int_at(&value, i);
    if (known)
        *count = (int)elements;
    tfd_tensor_unref(&value);
    return known;
}

/* ---- Sums over what was broadcast ---------------------------------------- */

/* Of one operand: its axes to sum over, and whether that is needed. */
struct side {
    struct tfd_edge operand;
    struct tfd_edge axes; /* none: `known` holds them */
    int32_t known[TFD_RANK_MAX];
    int known_count;
    bool needed;
};

static int64_t dim_at(const struct tfd_shape *s, int axis, int rank)
{
    int i = axis - (rank - s->rank);

    return i < 0 ? 1 : s->dim[i];
}

/* False when an unknown dimension decides it. */
static bool known_axes(const struct tfd_shape *x, const struct tfd_shape *y,
                       struct side *sx, struct side *sy)
{
    int rank = x->rank > y->rank ? x->rank : y->rank;

    if (x->rank < 0 || y->rank < 0)
        return false;
    for (int32_t i = 0; i < rank; i++) {
        int64_t dx = dim_at(x, i, rank), dy = dim_at(y, i, rank);

        if (dx == 1 && dy != 1)
            sx->known[sx->known_count++] = i;
        else if (dy == 1 && dx != 1)
            sy->known[sy->known_count++] = i;
        else if (dx == TFD_DIM_UNKNOWN || dy == TFD_DIM_UNKNOWN)
            return false;
    }
    sx->needed = sx->known_count > 0 || x->rank < y->rank;
    sy->needed = sy->known_count > 0 || y->rank < x->rank;
    return true;
}

static void find_axes(struct tfd_gradient *b, struct side *x, struct side *y)
{
    struct tfd_shape sx = TFD_SHAPE_UNKNOWN, sy = TFD_SHAPE_UNKNOWN;
    struct tfd_edge in[2], out[2];

    if (b->code != TFD_OK)
        return;
    (void)tfd_grad_shape(b->g, x->operand, &sx);
    (void)tfd_grad_shape(b->g, y->operand, &sy);
    if (known_axes(&sx, &sy, x, y))
        return;

    in[0] = tfd_gradient_shape(b, x->operand);
    in[1] = tfd_gradient_shape(b, y->operand);
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, "BroadcastGradientArgs", in, 2,
                                      NULL, 0, out, 2, b->st);
    if (b->code != TFD_OK)
        return;
    x->axes = out[0];
    y->axes = out[1];
    x->needed = y->needed = true;
}

static void reduce_side(struct tfd_gradient *b, const struct side *s,
                        struct tfd_edge *grad)
{
    static const char *const keep_dims[] = {"keep_dims", NULL};
    struct tfd_edge in[2];

    if (b->code != TFD_OK || grad->node < 0 || !s->needed)
        return;
    in[0] = *grad;
    in[1] = s->axes.node >= 0 ? s->axes
                              : tfd_gradient_ints(b, s->known, s->known_count);
    *grad = tfd_gradient_op_flags(b, "Sum", in, 2, keep_dims);
    *grad = tfd_gradient_op2(b, "Reshape", *grad,
                             tfd_gradient_shape(b, s->operand));
}

void tfd_gradient_reduce(struct tfd_gradient *b, struct tfd_edge x,
                         struct tfd_edge y, struct tfd_edge *dx,
                         struct tfd_edge *dy)
{
    struct side sx = {.operand = x, .axes = TFD_EDGE_NONE};
    struct side sy = {.operand = y, .axes = TFD_EDGE_NONE};

    find_axes(b, &sx, &sy);
    reduce_side(b, &sx, dx);
    reduce_side(b, &sy, dy);
}
