/*
 * slice_grad.c - see slice_grad.h.  What one of them cuts out, the gradient
 * puts back among zeros, and the other way round.
 */
#include "kernels/array/slice_grad.h"

#include "kernels/core/gradient.h"

#define TYPE_SIZE_MAX 64 /* of an AttrValue with a type */

static struct tfd_edge number(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, -1);
}

/* The shape of x in the type of `like`: int32 or int64. */
static struct tfd_edge shape_like(struct tfd_gradient *b, struct tfd_edge x,
                                  struct tfd_edge like)
{
    struct tfd_attr out_type = {.name = TFD_STR("out_type")};
    struct tfd_edge shape = TFD_EDGE_NONE;
    struct tfd_bytes type;

    if (b->code != TFD_OK)
        return shape;
    tfd_bytes_init(&type, TYPE_SIZE_MAX);
    tfd_attr_put_type(&type, (int)tfd_gradient_dtype(b, like));
    out_type.value = tfd_bytes_view(&type);
    b->code = tfd_bytes_ok(&type, "an attribute", b->st);
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, "Shape", &x, 1, &out_type, 1,
                                      &shape, 1, b->st);
    tfd_bytes_deinit(&type);
    return shape;
}

/* [rank, 1] */
static struct tfd_edge column(struct tfd_gradient *b)
{
    struct tfd_edge rank = tfd_gradient_op1(b, "Rank", b->g->x[0]);

    return tfd_gradient_op2(b, "Pack", rank, number(b, 1));
}

/* dx is dy with zeros around it: [begin, shape - begin - size] per dimension.
 */
enum tfd_code tfd_slice_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge begin = g->x[1], shape = column(&b), after, in[3];

    after = tfd_gradient_op2(&b, "Sub", shape_like(&b, g->x[0], begin),
                             shape_like(&b, g->y[0], begin));
    after = tfd_gradient_op2(&b, "Sub", after, begin);
    in[0] = tfd_gradient_op2(&b, "Reshape", begin, shape);
    in[1] = tfd_gradient_op2(&b, "Reshape", after, shape);
    in[2] = number(&b, 1);
    g->dx[0] = tfd_gradient_op2(&b, "Pad", g->dy[0],
                                tfd_gradient_op(&b, "ConcatV2", in, 3));
    return b.code;
}

/* The box of dy that begins at the first column of paddings. */
enum tfd_code tfd_pad_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const int32_t origin[] = {0, 0}, flat[] = {-1};
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge size = column(&b), begin;

    begin = tfd_gradient_op3(&b, "Slice", g->x[1],
                             tfd_gradient_ints(&b, origin, 2), size);
    begin =
        tfd_gradient_op2(&b, "Reshape", begin, tfd_gradient_ints(&b, flat, 1));
    g->dx[0] = tfd_gradient_op3(&b, "Slice", g->dy[0], begin,
                                shape_like(&b, g->x[0], begin));
    return b.code;
}

/* ---- StridedSlice -------------------------------------------------------- */

#define MASKS 5

static int copy_masks(const struct tfd_grad *g, struct tfd_attr *attrs)
{
    static const char *const names[MASKS] = {"begin_mask", "end_mask",
                                             "ellipsis_mask", "new_axis_mask",
                                             "shrink_axis_mask"};
    int count = 0;

    for (int i = 0; i < MASKS; i++)
        if (tfd_node_attr(g->node, names[i], &attrs[count].value))
            attrs[count++].name = tfd_str_of(names[i]);
    return count;
}

enum tfd_code tfd_slice_strided_gradient(struct tfd_grad *g,
                                         struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_attr attrs[MASKS];
    struct tfd_edge in[5] = {shape_like(&b, g->x[0], g->x[1]), g->x[1], g->x[2],
                             g->x[3], g->dy[0]};

    TFD_TRY(b.code);
    return tfd_grad_emit_attrs(g, "StridedSliceGrad", in, 5, attrs,
                               copy_masks(g, attrs), &g->dx[0], 1, st);
}

enum tfd_code tfd_slice_strided_grad_gradient(struct tfd_grad *g,
                                              struct tfd_status *st)
{
    struct tfd_attr attrs[MASKS];
    struct tfd_edge in[4] = {g->dy[0], g->x[1], g->x[2], g->x[3]};

    return tfd_grad_emit_attrs(g, "StridedSlice", in, 4, attrs,
                               copy_masks(g, attrs), &g->dx[4], 1, st);
}
