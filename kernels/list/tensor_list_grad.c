/* tensor_list_grad.c - see tensor_list_grad.h. */
#include "kernels/list/tensor_list_grad.h"

#include "kernels/core/gradient.h"

/* ---- Parts --------------------------------------------------------------- */

/* A node of lists whose elements have the type of `like`. */
static void emit_of_type(struct tfd_gradient *b, const char *op,
                         const struct tfd_edge *in, int in_count,
                         struct tfd_edge like, struct tfd_edge *out,
                         int out_count)
{
    struct tfd_gradient_attr attrs[] = {{"element_dtype", 't', 0},
                                        {NULL, 0, 0}};

    for (int i = 0; i < out_count; i++)
        out[i] = TFD_EDGE_NONE;
    if (b->code != TFD_OK)
        return;
    attrs[0].value = tfd_gradient_dtype(b, like);
    tfd_gradient_with(b, op, in, in_count, attrs, out, out_count);
}

static struct tfd_edge one_of_type(struct tfd_gradient *b, const char *op,
                                   const struct tfd_edge *in, int in_count,
                                   struct tfd_edge like)
{
    struct tfd_edge out;

    emit_of_type(b, op, in, in_count, like, &out, 1);
    return out;
}

/* The shape of a list's elements as int32. */
static struct tfd_edge element_shape(struct tfd_gradient *b,
                                     struct tfd_edge list)
{
    const struct tfd_gradient_attr attrs[] = {{"shape_type", 't', TFD_INT32},
                                              {NULL, 0, 0}};
    struct tfd_edge out;

    tfd_gradient_with(b, "TensorListElementShape", &list, 1, attrs, &out, 1);
    return out;
}

/* The shape of a tensor without its first dimension. */
static struct tfd_edge row_shape(struct tfd_gradient *b, struct tfd_edge x)
{
    const int32_t begin = 1, all = -1;

    return tfd_gradient_op3(b, "Slice", tfd_gradient_shape(b, x),
                            tfd_gradient_ints(b, &begin, 1),
                            tfd_gradient_ints(b, &all, 1));
}

/* A list as long as `list`, without elements. */
static struct tfd_edge reserved_like(struct tfd_gradient *b,
                                     struct tfd_edge list, struct tfd_edge like)
{
    const struct tfd_edge in[] = {
        element_shape(b, list), tfd_gradient_op1(b, "TensorListLength", list)};

    return one_of_type(b, "TensorListReserve", in, 2, like);
}

static struct tfd_edge gathered(struct tfd_gradient *b, struct tfd_edge indices,
                                struct tfd_edge tensor)
{
    const struct tfd_edge in[] = {b->g->dy[0], indices, row_shape(b, tensor)};

    return one_of_type(b, "TensorListGather", in, 3, tensor);
}

static struct tfd_edge scattered(struct tfd_gradient *b, struct tfd_edge list,
                                 struct tfd_edge tensor,
                                 struct tfd_edge indices)
{
    const struct tfd_edge in[] = {list, tensor, indices};

    return one_of_type(b, "TensorListScatterIntoExistingList", in, 3, tensor);
}

/* ---- One element --------------------------------------------------------- */

enum tfd_code tfd_list_push_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], tfd_gradient_shape(&b, g->x[1])};

    emit_of_type(&b, "TensorListPopBack", in, 2, g->x[1], g->dx, 2);
    return b.code;
}

enum tfd_code tfd_list_pop_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {tfd_gradient_given(&b, 0),
                                  tfd_gradient_given(&b, 1)};

    g->dx[0] = one_of_type(&b, "TensorListPushBack", in, 2, g->y[1]);
    return b.code;
}

enum tfd_code tfd_list_get_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {reserved_like(&b, g->x[0], g->dy[0]), g->x[1],
                                  g->dy[0]};

    g->dx[0] = one_of_type(&b, "TensorListSetItem", in, 3, g->dy[0]);
    return b.code;
}

enum tfd_code tfd_list_resize_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        tfd_gradient_op2(&b, "TensorListResize", g->dy[0],
                         tfd_gradient_op1(&b, "TensorListLength", g->x[0]));
    return b.code;
}

/* The list without what came of the item; the item that is there. */
enum tfd_code tfd_list_set_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge without[] = {
        g->dy[0], g->x[1], tfd_gradient_op1(&b, "ZerosLike", g->x[2])};
    const struct tfd_edge item[] = {g->dy[0], g->x[1],
                                    tfd_gradient_shape(&b, g->x[2])};
    bool resizes;

    TFD_TRY(
        tfd_node_bool(g->node, "resize_if_index_out_of_bounds", &resizes, st));
    g->dx[0] = one_of_type(&b, "TensorListSetItem", without, 3, g->x[2]);
    g->dx[2] = one_of_type(&b, "TensorListGetItem", item, 3, g->x[2]);
    if (resizes)
        g->dx[0] =
            tfd_gradient_op2(&b, "TensorListResize", g->dx[0],
                             tfd_gradient_op1(&b, "TensorListLength", g->x[0]));
    return b.code;
}

/* ---- All elements -------------------------------------------------------- */

enum tfd_code tfd_list_stack_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], row_shape(&b, g->dy[0])};

    g->dx[0] = one_of_type(&b, "TensorListFromTensor", in, 2, g->dy[0]);
    return b.code;
}

enum tfd_code tfd_list_from_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], row_shape(&b, g->x[0])};
    struct tfd_gradient_attr attrs[] = {
        {"element_dtype", 't', 0}, {"num_elements", 'i', -1}, {NULL, 0, 0}};
    struct tfd_shape shape;

    if (b.code != TFD_OK)
        return b.code;
    (void)tfd_grad_shape(g, g->x[0], &shape);
    attrs[0].value = tfd_gradient_dtype(&b, g->x[0]);
    if (shape.rank > 0 && shape.dim[0] >= 0)
        attrs[1].value = shape.dim[0];
    tfd_gradient_with(&b, "TensorListStack", in, 2, attrs, g->dx, 1);
    return b.code;
}

enum tfd_code tfd_list_concat_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], element_shape(&b, g->x[0]),
                                  g->y[1]};

    if (g->dy[0].node >= 0)
        g->dx[0] = one_of_type(&b, "TensorListSplit", in, 3, g->dy[0]);
    return b.code;
}

enum tfd_code tfd_list_split_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const int32_t any = -1, axis = 0;
    struct tfd_edge shape[] = {tfd_gradient_ints(&b, &any, 1),
                               row_shape(&b, g->x[0]),
                               tfd_gradient_ints(&b, &axis, -1)};
    const struct tfd_edge in[] = {
        g->dy[0], tfd_gradient_op(&b, "ConcatV2", shape, 3), g->x[2]};
    struct tfd_edge out[2];

    emit_of_type(&b, "TensorListConcatV2", in, 3, g->x[0], out, 2);
    g->dx[0] = out[0];
    return b.code;
}

/* ---- Some elements ------------------------------------------------------- */

enum tfd_code tfd_list_gather_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] =
        scattered(&b, reserved_like(&b, g->x[0], g->dy[0]), g->dy[0], g->x[1]);
    return b.code;
}

enum tfd_code tfd_list_scatter_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[0] = gathered(&b, g->x[1], g->x[0]);
    return b.code;
}

enum tfd_code tfd_list_scatter_into_gradient(struct tfd_grad *g,
                                             struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);

    g->dx[1] = gathered(&b, g->x[2], g->x[1]);
    g->dx[0] = scattered(&b, g->dy[0],
                         tfd_gradient_op1(&b, "ZerosLike", g->x[1]), g->x[2]);
    return b.code;
}
