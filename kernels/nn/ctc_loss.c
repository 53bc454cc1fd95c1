/*
 * ctc_loss.c - CTCLoss: how unlikely a sequence of labels is, when each step of
 * time may also say the last label again, or nothing (the blank, which is the
 * last class), and its gradient by the inputs.
 *
 * Here is what the op checks and chooses of its labels; ctc_paths.c has the
 * arithmetic.
 */
#include "kernels/nn/ctc_paths.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/sparse/sparse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct loss_state {
    bool collapse, merge, ignore;
};

struct loss {
    const struct loss_state *s;
    const struct tfd_tensor *inputs;
    struct tfd_tensor *gradient, *out;
    const int64_t *index;  /* of a label: its item, its place */
    const int32_t *value;  /* of a label */
    const int32_t *length; /* steps, by item */
    int64_t time, batch, classes, labels;
    int64_t *first; /* labels of item b are from first[b] to first[b + 1] */
    int64_t *count; /* of what is left of them */
    int32_t *left;  /* from left[first[b]] on */
};

static enum tfd_code prepare_loss(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct loss_state *s = state;

    TFD_TRY(tfd_node_bool(p->node, "preprocess_collapse_repeated", &s->collapse,
                          st));
    TFD_TRY(tfd_node_bool(p->node, "ctc_merge_repeated", &s->merge, st));
    return tfd_node_bool(p->node, "ignore_longer_outputs_than_inputs",
                         &s->ignore, st);
}

/* ---- What is given ------------------------------------------------------- */

static enum tfd_code check_loss_shapes(const struct tfd_kctx *k,
                                       const struct loss *l,
                                       struct tfd_status *st)
{
    const struct tfd_shape *index = &k->in[1].shape;
    char at[TFD_SHAPE_TEXT_MAX], bt[TFD_SHAPE_TEXT_MAX];

    if (l->classes >= INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_classes cannot exceed max int");
    if (l->batch != k->in[3].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "len(sequence_length) != batch_size.  "
                        "len(sequence_length):  %" PRId64
                        " batch_size: %" PRId64,
                        k->in[3].shape.dim[0], l->batch);
    if (index->dim[0] != k->in[2].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "labels_indices and labels_values must contain the "
                        "same number of rows, but saw shapes: %s vs. %s",
                        tfd_shape_text(index, at),
                        tfd_shape_text(&k->in[2].shape, bt));
    if (l->batch == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "batch_size must not be 0");
    if (index->dim[1] < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "labels_indices second dimension must be >= 1. "
                        "Received %" PRId64,
                        index->dim[1]);
    if (index->dim[1] > 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Order length must be SparseTensor rank.");
    return TFD_OK;
}

static enum tfd_code check_label_indices(const struct tfd_kctx *k,
                                         const struct loss *l,
                                         struct tfd_status *st)
{
    int64_t dim[] = {l->batch, 0};
    const struct tfd_sparse s = {l->index, dim, l->labels, 2, &k->in[2]};
    struct tfd_status why = {0};

    for (int64_t i = 0; i < l->labels; i++)
        if (l->index[2 * i + 1] >= dim[1])
            dim[1] = l->index[2 * i + 1] < INT64_MAX ? l->index[2 * i + 1] + 1
                                                     : INT64_MAX;
    if (tfd_sparse_check_order(&s, &why) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "label SparseTensor is not valid: %s", why.text);
}

static enum tfd_code check_steps(const struct loss *l, struct tfd_status *st)
{
    for (int64_t b = 0; b < l->batch; b++)
        if (l->length[b] > l->time)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "sequence_length(%" PRId64 ") <= %" PRId64, b,
                            l->time);
    if (l->time == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Max time or first dimension of input cannot be 0.");
    if (l->classes == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_classes must not be 0: the last class is the "
                        "blank");
    for (int64_t b = 0; b < l->batch; b++)
        if (l->length[b] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "seq_len(%" PRId64 ") < 0", b);
    return TFD_OK;
}

/* ---- Labels -------------------------------------------------------------- */

/* "1,2,3", as many as there is room for. */
#define LABELS_TEXT_MAX 512
static const char *labels_text(const int32_t *label, int64_t n, char *text)
{
    int size = 0;

    text[0] = 0;
    for (int64_t i = 0; i < n && size < LABELS_TEXT_MAX - 16; i++)
        size += snprintf(text + size, 16, "%s%" PRId32, i ? "," : "", label[i]);
    return text;
}

/* What follows the first label that is no class, if anything. */
static enum tfd_code say_label(const struct loss *l, int64_t b,
                               struct tfd_status *st)
{
    char labels[LABELS_TEXT_MAX], seen[LABELS_TEXT_MAX];
    const int64_t n = l->first[b + 1] - l->first[b];

    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Saw a non-null label (index >= num_classes - 1) following a null "
        "label, batch: %" PRId64 " num_classes: %" PRId64
        " labels: %s labels seen so far: %s",
        b, l->classes, labels_text(l->value + l->first[b], n, labels),
        labels_text(l->left + l->first[b], l->count[b], seen));
}

/* Leaves out labels that are no class, and what is to be one with the label
 * before it. */
static enum tfd_code choose_labels(const struct loss *l, int64_t b,
                                   struct tfd_status *st)
{
    const int32_t *label = l->value + l->first[b];
    const int64_t n = l->first[b + 1] - l->first[b];
    int32_t *left = l->left + l->first[b];
    bool ended = false;

    l->count[b] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && l->s->collapse && label[i] == label[i - 1])
            continue;
        if (label[i] >= l->classes - 1) {
            ended = true;
            continue;
        }
        if (ended)
            return say_label(l, b, st);
        left[l->count[b]++] = label[i];
    }
    return TFD_OK;
}

static enum tfd_code check_labels(const struct loss *l, int64_t b,
                                  struct tfd_status *st)
{
    const int64_t n = l->first[b + 1] - l->first[b];
    const int32_t *left = l->left + l->first[b];
    char text[LABELS_TEXT_MAX];

    if (n == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Labels length is zero in batch %" PRId64, b);
    TFD_TRY(choose_labels(l, b, st));
    for (int64_t i = 0; i < l->count[b]; i++)
        if (left[i] < 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All labels must be nonnegative integers, batch: "
                            "%" PRId64 " labels: %s",
                            b, labels_text(left, l->count[b], text));
    if (!l->s->ignore && n > l->length[b])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Not enough time for target transition sequence "
                        "(required: %" PRId64 ", available: %" PRId32
                        ")%" PRId64
                        "You can turn this error into a warning by using the "
                        "flag ignore_longer_outputs_than_inputs",
                        n, l->length[b], b);
    return TFD_OK;
}

/* Indices are in order: labels of an item follow upon each other. */
static enum tfd_code read_labels(struct loss *l, struct tfd_buffer *b,
                                 struct tfd_status *st)
{
    int64_t i = 0;

    l->first = b->data;
    l->count = l->first + l->batch + 1;
    l->left = (int32_t *)(l->count + l->batch);
    for (int64_t item = 0; item <= l->batch; item++) {
        while (i < l->labels && l->index[2 * i] < item)
            i++;
        l->first[item] = i;
    }
    for (int64_t item = 0; item < l->batch; item++)
        TFD_TRY(check_labels(l, item, st));
    return TFD_OK;
}

/* ---- Items --------------------------------------------------------------- */

static enum tfd_code measure_items(void *arg, int64_t begin, int64_t end,
                                   struct tfd_status *st)
{
    const struct loss *l = arg;

    for (int64_t b = begin; b < end; b++) {
        const struct tfd_ctc_item m = {.inputs = l->inputs,
                                       .gradient = l->gradient,
                                       .batch = l->batch,
                                       .classes = l->classes,
                                       .b = b,
                                       .steps = l->length[b],
                                       .label = l->left + l->first[b],
                                       .labels = l->count[b],
                                       .merge = l->s->merge};
        double loss;

        if (m.steps == 0 ||
            (l->s->ignore && l->first[b + 1] - l->first[b] > l->length[b]))
            continue;
        TFD_TRY(tfd_ctc_paths_measure(&m, &loss, st));
        tfd_ctc_store(l->out, b, 1, &loss);
    }
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

static int cost_of_item(const struct loss *l)
{
    const double symbols = 2.0 * (double)l->labels / (double)l->batch + 1;
    const double ns =
        (double)l->time * (symbols * 25 + (double)l->classes * 15);

    return ns < 1e9 ? (int)ns : 1000000000;
}

static enum tfd_code run_loss(struct tfd_kctx *k, struct loss *l,
                              struct tfd_status *st)
{
    const size_t size = (size_t)(2 * l->batch + 1) * sizeof(int64_t) +
                        (size_t)l->labels * sizeof(int32_t);
    struct tfd_buffer *b = tfd_buffer_new(size);
    enum tfd_code rc;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %zu bytes for CTCLoss", size);
    rc = read_labels(l, b, st);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, l->inputs->dtype, &k->in[3].shape, st);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 1, l->inputs->dtype, &l->inputs->shape, st);
    if (rc == TFD_OK) {
        l->out = &k->out[0];
        l->gradient = &k->out[1];
        tfd_elements_clear(l->out);
        tfd_elements_clear(l->gradient);
        rc = tfd_kctx_try(k, l->batch, cost_of_item(l), measure_items, l, st);
    }
    tfd_buffer_unref(b);
    return rc;
}

static enum tfd_code loss_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct loss l = {.s = k->state,
                     .inputs = &k->in[0],
                     .index = tfd_tensor_data(&k->in[1]),
                     .value = tfd_tensor_data(&k->in[2]),
                     .length = tfd_tensor_data(&k->in[3]),
                     .time = x->dim[0],
                     .batch = x->dim[1],
                     .classes = x->dim[2],
                     .labels = k->in[2].shape.dim[0]};

    TFD_TRY(check_loss_shapes(k, &l, st));
    TFD_TRY(check_label_indices(k, &l, st));
    TFD_TRY(check_steps(&l, st));
    return run_loss(k, &l, st);
}

/* ---- Shape, gradient ----------------------------------------------------- */

static enum tfd_code loss_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape x = {3,
                          {TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN, TFD_DIM_UNKNOWN}};
    struct tfd_shape loss;

    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    loss = (struct tfd_shape){1, {x.dim[1]}};
    TFD_TRY(tfd_shape_merge(&loss, &s->in[3], st));
    x.dim[1] = loss.dim[0];
    s->out[0] = loss;
    s->out[1] = x;
    return TFD_OK;
}

static enum tfd_code loss_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const int32_t last = -1;
    struct tfd_edge axis = tfd_gradient_ints(&b, &last, -1);
    struct tfd_edge dy = tfd_gradient_op2(&b, "ExpandDims", g->dy[0], axis);

    g->dx[0] = tfd_gradient_op2(
        &b, "Mul", dy, tfd_gradient_op1(&b, "PreventGradient", g->y[1]));
    return b.code;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "CTCLoss",
        .inputs = "inputs: T, labels_indices: int64, labels_values: int32, "
                  "sequence_length: int32",
        .outputs = "loss: T, gradient: T",
        .attrs = "preprocess_collapse_repeated: bool = false; "
                 "ctc_merge_repeated: bool = true; "
                 "ignore_longer_outputs_than_inputs: bool = false; "
                 "T: {float, double} = DT_FLOAT",
        .checks = "inputs: rank=3 'inputs is not a 3-Tensor'; "
                  "sequence_length: vector 'sequence_length is not a vector'; "
                  "labels_indices: matrix 'labels_indices is not a matrix'; "
                  "labels_values: vector 'labels_values is not a vector'",
        .shape = loss_shape,
        .grad = loss_gradient,
    },
};

#define ROW(name)                                                      \
    TFD_KERNEL("CTCLoss", name, loss_compute, .prepare = prepare_loss, \
               .state_size = sizeof(struct loss_state),                \
               .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    ROW(FLOAT),
    ROW(DOUBLE),
};

const struct tfd_family tfd_family_ctc_loss = {
    .name = "ctc_loss",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
