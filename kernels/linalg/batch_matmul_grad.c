/* batch_matmul_grad.c - see batch_matmul_grad.h. */
#include "kernels/linalg/batch_matmul_grad.h"

/* One of the products below; `left` and `right` are indices into the gradient
 * of the output (0), x (1), y (2). */
struct product {
    int left, right;
    const char *flags[TFD_GRADIENT_FLAGS];
};

/* By adj_x, adj_y: the gradients of x and of y. */
static const struct product products[2][2][2] = {
    {
        {{0, 2, {"adj_y"}}, {1, 0, {"adj_x"}}},
        {{0, 2, {NULL}}, {0, 1, {"adj_x"}}},
    },
    {
        {{2, 0, {"adj_y"}}, {1, 0, {NULL}}},
        {{2, 0, {"adj_x", "adj_y"}}, {0, 1, {"adj_x", "adj_y"}}},
    },
};

/* The dimensions of a shape in front of the last two. */
static struct tfd_edge front(struct tfd_gradient *b, struct tfd_edge shape)
{
    static const int32_t begin = 0, end = -2, step = 1;
    const struct tfd_edge in[] = {shape, tfd_gradient_ints(b, &begin, 1),
                                  tfd_gradient_ints(b, &end, 1),
                                  tfd_gradient_ints(b, &step, 1)};

    return tfd_gradient_op(b, "StridedSlice", in, 4);
}

/* Nothing was broadcast, as far as is known while building. */
static bool batches_match(const struct tfd_grad *g)
{
    struct tfd_shape x, y;

    (void)tfd_grad_shape(g, g->x[0], &x);
    (void)tfd_grad_shape(g, g->x[1], &y);
    if (x.rank < 2 || y.rank != x.rank)
        return false;
    for (int i = 0; i < x.rank - 2; i++)
        if (x.dim[i] == TFD_DIM_UNKNOWN || x.dim[i] != y.dim[i])
            return false;
    return true;
}

void tfd_batch_matmul_sum_back(struct tfd_gradient *b, struct tfd_edge *dx)
{
    struct tfd_edge shapes[2], fronts[2], axes[2];

    if (batches_match(b->g))
        return;
    for (int i = 0; i < 2; i++) {
        axes[i] = TFD_EDGE_NONE;
        shapes[i] = tfd_gradient_shape(b, b->g->x[i]);
        fronts[i] = front(b, shapes[i]);
    }
    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, "BroadcastGradientArgs", fronts, 2,
                                      NULL, 0, axes, 2, b->st);
    for (int i = 0; i < 2; i++)
        dx[i] = tfd_gradient_op2(b, "Reshape",
                                 tfd_gradient_op2(b, "Sum", dx[i], axes[i]),
                                 shapes[i]);
}

static enum tfd_code batch_matmul_gradient(struct tfd_grad *g, bool broadcasts,
                                           struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge edges[3] = {g->dy[0], g->x[0], g->x[1]}, dx[2];
    bool ax, ay;

    TFD_TRY(tfd_node_bool(g->node, "adj_x", &ax, st));
    TFD_TRY(tfd_node_bool(g->node, "adj_y", &ay, st));
    for (int i = 0; i < 2; i++) {
        const struct product *p = &products[ax][ay][i];
        const struct tfd_edge in[] = {edges[p->left], edges[p->right]};

        dx[i] = tfd_gradient_op_flags(
            &b, broadcasts ? "BatchMatMulV2" : "BatchMatMul", in, 2, p->flags);
    }
    if (broadcasts)
        tfd_batch_matmul_sum_back(&b, dx);
    g->dx[0] = dx[0];
    g->dx[1] = dx[1];
    return b.code;
}

enum tfd_code tfd_batch_matmul_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    return batch_matmul_gradient(g, false, st);
}

enum tfd_code tfd_batch_matmul_broadcast_gradient(struct tfd_grad *g,
                                                  struct tfd_status *st)
{
    return batch_matmul_gradient(g, true, st);
}
