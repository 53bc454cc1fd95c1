/*
 * einsum_grad.c - see einsum_grad.h.
 *
 * Of z = einsum("x,y->z") the gradient of x is einsum("z,y->x") of dz and y.  A
 * label that only x has was summed: all its places get the same, which is one
 * more product, with ones.  What an ellipsis broadcast is summed back.
 */
#include "kernels/linalg/einsum/einsum_grad.h"

#include "common/graph/attr.h"
#include "kernels/core/gradient.h"
#include "kernels/linalg/einsum/einsum_equation.h"

#include <string.h>

#define TEXT_MAX 256 /* three sides, each with an ellipsis */

struct text {
    char data[TEXT_MAX];
    size_t size;
};

struct contraction {
    struct tfd_gradient *b;
    struct tfd_einsum_equation e;
    int input; /* whose gradient it is */
};

/* ---- Equations ----------------------------------------------------------- */

static void put_text(struct text *t, const char *more)
{
    const size_t size = strlen(more);

    memcpy(t->data + t->size, more, size);
    t->size += size;
}

static const struct tfd_einsum_side *own_side(const struct contraction *c)
{
    return &c->e.in[c->input];
}

static const struct tfd_einsum_side *other_side(const struct contraction *c)
{
    return &c->e.in[1 - c->input];
}

/* Whether this input alone has the label. */
static bool is_summed(const struct contraction *c, char label)
{
    return !tfd_einsum_has(&c->e.out, label) &&
           (c->e.in_count == 1 || !tfd_einsum_has(other_side(c), label));
}

static void put_side(struct text *t, const struct tfd_einsum_side *s)
{
    for (int i = 0; i <= s->count; i++) {
        if (i == s->ellipsis)
            put_text(t, "...");
        if (i < s->count)
            t->data[t->size++] = s->label[i];
    }
}

/* The subscripts of this input, with an ellipsis in front where only the output
 * has one; kept: without the summed labels. */
static void put_own(const struct contraction *c, struct text *t, bool kept)
{
    struct tfd_einsum_side side = {.ellipsis = -1};
    const struct tfd_einsum_side *s = own_side(c);

    if (s->ellipsis < 0 && c->e.out.ellipsis >= 0)
        side.ellipsis = 0;
    for (int i = 0; i <= s->count; i++) {
        if (i == s->ellipsis)
            side.ellipsis = side.count;
        if (i < s->count && !(kept && is_summed(c, s->label[i])))
            side.label[side.count++] = s->label[i];
    }
    put_side(t, &side);
}

static struct tfd_edge einsum(struct contraction *c, const struct text *t,
                              const struct tfd_edge *in, int in_count)
{
    struct tfd_edge out = TFD_EDGE_NONE;
    struct tfd_bytes value;
    struct tfd_attr attr;

    tfd_bytes_init(&value, 2 * TEXT_MAX);
    tfd_attr_put_str(&value,
                     (struct tfd_str){.data = t->data, .size = t->size});
    attr.name = TFD_STR("equation");
    attr.value = tfd_bytes_view(&value);
    if (c->b->code == TFD_OK)
        c->b->code = tfd_bytes_ok(&value, "an equation", c->b->st);
    if (c->b->code == TFD_OK)
        c->b->code = tfd_grad_emit_attrs(c->b->g, "Einsum", in, in_count, &attr,
                                         1, &out, 1, c->b->st);
    tfd_bytes_deinit(&value);
    return out;
}

/* ---- Summed labels ------------------------------------------------------- */

/* Puts the summed labels, each once, and their dimensions' numbers, from the
 * end behind an ellipsis. */
static int summed_axes(const struct contraction *c, struct text *labels,
                       int32_t *axes)
{
    const struct tfd_einsum_side *s = own_side(c);
    int count = 0;

    for (int i = 0; i < s->count; i++) {
        if (!is_summed(c, s->label[i]) ||
            memchr(labels->data, s->label[i], labels->size))
            continue;
        labels->data[labels->size++] = s->label[i];
        axes[count++] = s->ellipsis >= 0 && i >= s->ellipsis ? i - s->count : i;
    }
    return count;
}

/* Ones, of the dimensions of the summed labels. */
static struct tfd_edge ones_of(struct contraction *c, const int32_t *axes,
                               int count, struct tfd_edge like)
{
    struct tfd_gradient *b = c->b;
    struct tfd_edge shape = tfd_gradient_shape(b, b->g->x[c->input]);
    struct tfd_edge rank = tfd_gradient_op1(b, "Size", shape);
    struct tfd_edge at = tfd_gradient_ints(b, axes, count);
    const int32_t zero = 0;

    at = tfd_gradient_op2(b, "FloorMod", at, rank);
    shape = tfd_gradient_op3(b, "GatherV2", shape, at,
                             tfd_gradient_ints(b, &zero, -1));
    return tfd_gradient_op2(b, "Fill", shape, tfd_gradient_scalar(b, like, 1));
}

/* From the gradient by the labels in `kept` to that by all of the input's. */
static struct tfd_edge spread(struct contraction *c, const struct text *kept,
                              struct tfd_edge dy)
{
    struct text labels = {.size = 0}, equation = *kept;
    int32_t axes[TFD_EINSUM_LABELS_MAX];
    int count = summed_axes(c, &labels, axes);
    struct tfd_edge in[2] = {dy, TFD_EDGE_NONE};

    if (count > 0) {
        in[1] = ones_of(c, axes, count, dy);
        put_text(&equation, ",");
        memcpy(equation.data + equation.size, labels.data, labels.size);
        equation.size += labels.size;
    }
    put_text(&equation, "->");
    put_own(c, &equation, false);
    return einsum(c, &equation, in, count > 0 ? 2 : 1);
}

/* ---- Gradients ----------------------------------------------------------- */

/* Of one input: the equation the other way round. */
static struct tfd_edge reversed(struct contraction *c)
{
    struct text out = {.size = 0};

    put_side(&out, &c->e.out);
    return spread(c, &out, c->b->g->dy[0]);
}

static struct tfd_edge by_other(struct contraction *c)
{
    const struct tfd_grad *g = c->b->g;
    const struct tfd_edge in[2] = {g->dy[0],
                                   tfd_gradient_conj(c->b, g->x[1 - c->input])};
    struct text equation = {.size = 0}, kept = {.size = 0}, own = {.size = 0};
    struct tfd_edge dx;

    put_own(c, &kept, true);
    put_own(c, &own, false);
    put_side(&equation, &c->e.out);
    put_text(&equation, ",");
    put_side(&equation, other_side(c));
    put_text(&equation, "->");
    put_own(c, &equation, true);
    dx = einsum(c, &equation, in, 2);
    return kept.size == own.size ? dx : spread(c, &kept, dx);
}

/* Sums what was broadcast, which lies in front of all else. */
static struct tfd_edge sum_back(struct contraction *c, struct tfd_edge dx)
{
    struct tfd_edge none = TFD_EDGE_NONE, x = c->b->g->x[c->input];

    tfd_gradient_reduce(c->b, x, dx, &dx, &none);
    return dx;
}

static enum tfd_code check_ellipsis(const struct contraction *c,
                                    struct tfd_status *st)
{
    if (c->e.out.ellipsis >= 0 && own_side(c)->ellipsis > 0 &&
        c->e.in[0].ellipsis >= 0 && c->e.in[1].ellipsis >= 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "gradient of Einsum with an ellipsis that is not in "
                        "front of input %d",
                        c->input);
    return TFD_OK;
}

enum tfd_code tfd_einsum_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct contraction c = {.b = &b};
    struct tfd_str text;

    TFD_TRY(tfd_node_str(g->node, "equation", &text, st));
    TFD_TRY(tfd_einsum_parse(text, g->node->in_count, &c.e, st));
    if (c.e.in_count == 1) {
        g->dx[0] = reversed(&c);
        return b.code;
    }
    for (c.input = 0; c.input < 2; c.input++) {
        TFD_TRY(check_ellipsis(&c, st));
        g->dx[c.input] = by_other(&c);
        if (c.e.out.ellipsis >= 0)
            g->dx[c.input] = sum_back(&c, g->dx[c.input]);
    }
    return b.code;
}
