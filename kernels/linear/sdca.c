/*
 * sdca.c - linear models trained by stochastic dual coordinate ascent:
 * SdcaOptimizer, SdcaOptimizerV2, SdcaShrinkL1; and SdcaFprint, the key that an
 * example has in their table of dual variables.
 *
 * One execution goes through all examples once, in an order that nobody can
 * foresee; each step finds the weights as the one before left them.  Adaptive
 * ones take an example the more often the more it is worth, ten times as rarely
 * each time; when as many were refused as there are examples, what is left of
 * the steps goes to example 0, as in TensorFlow, whose list of the others is
 * written where nobody reads it.  Inner iterations are one, there as here.
 * TensorFlow's threads do so at once, without order; here it is one thread,
 * which makes each step as TensorFlow's does.
 *
 *     sparse group    example [0 0 0 2 2], feature [7 3 9 3 1]: runs of
 *                     examples, in order; what is out of order is not seen
 */
#include "kernels/linear/sdca.h"

#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/linear/sdca_examples.h"
#include "kernels/random/random_number.h"
#include "kernels/state/variable.h"
#include "kernels/text/fingerprint.h"

#include <math.h>

/* How much rarer an example becomes each time it was taken. */
#define TAKEN_AGAIN 0.1

struct sdca_state {
    struct tfd_philox_source order;
    const struct tfd_sdca_loss *loss;
    struct tfd_sdca_counts counts;
    int64_t partitions;
    float l2;
    double shrinkage;
    bool adaptive;
};

/* ---- One example --------------------------------------------------------- */

static double shrink(double shrinkage, double w)
{
    const double left = fabs(w) - shrinkage;

    return left > 0 ? copysign(left, w) : 0;
}

static float shrink_float(double shrinkage, float w)
{
    const float left = fabsf(w) - (float)shrinkage;

    return left > 0 ? copysignf(left, w) : 0;
}

/* The model's answer to example i, before and as the deltas are now. */
static void answer(const struct sdca_state *s, const struct tfd_sdca_data *d,
                   int64_t i, double *before, double *now)
{
    const float parts = (float)s->partitions;

    *before = *now = 0;
    for (int g = 0; g < s->counts.sparse; g++) {
        const struct tfd_sdca_sparse *group = &d->sparse[g];

        for (int64_t n = group->run[i]; n < group->run[i + 1]; n++) {
            const int64_t at = group->place[n];
            const double x = group->values ? group->values[n] : 1;
            const float w = group->weights[at];

            *before += x * shrink(s->shrinkage, w);
            *now += x * shrink(s->shrinkage, w + group->deltas[at] * parts);
        }
    }
    for (int g = 0; g < s->counts.dense; g++) {
        const struct tfd_sdca_dense *group = &d->dense[g];
        const float *x = group->x + i * group->features;
        float sum[2] = {0, 0};

        for (int64_t f = 0; f < group->features; f++) {
            const float w = group->weights[f];

            sum[0] += x[f] * shrink_float(s->shrinkage, w);
            sum[1] +=
                x[f] * shrink_float(s->shrinkage, w + group->deltas[f] * parts);
        }
        *before += sum[0];
        *now += sum[1];
    }
}

static void move_weights(const struct tfd_sdca_counts *c,
                         const struct tfd_sdca_data *d, int64_t i, double by)
{
    for (int g = 0; g < c->sparse; g++) {
        const struct tfd_sdca_sparse *group = &d->sparse[g];

        for (int64_t n = group->run[i]; n < group->run[i + 1]; n++) {
            const double x = group->values ? group->values[n] : 1;
            float *delta = &group->deltas[group->place[n]];

            *delta = (float)(*delta + x * by);
        }
    }
    for (int g = 0; g < c->dense; g++) {
        const struct tfd_sdca_dense *group = &d->dense[g];

        for (int64_t f = 0; f < group->features; f++)
            group->deltas[f] += group->x[i * group->features + f] * (float)by;
    }
}

static enum tfd_code train_on(const struct sdca_state *s,
                              const struct tfd_sdca_data *d, int64_t i,
                              struct tfd_status *st)
{
    float label = d->labels[i], *own = d->states + 4 * i;
    struct tfd_sdca_example e = {.weight = d->example_weights[i],
                                 .dual = own[0],
                                 .norm = d->norms[i] / s->l2,
                                 .partitions = (double)s->partitions};
    double before, dual;

    TFD_TRY(tfd_sdca_label(s->loss, &label, st));
    e.label = label;
    answer(s, d, i, &before, &e.wx);
    dual = s->loss->dual(&e);
    move_weights(&s->counts, d, i, (dual - e.dual) * e.weight / s->l2);
    own[0] = (float)dual;
    own[1] = (float)s->loss->primal_loss(before, e.label, e.weight);
    own[2] = (float)s->loss->dual_loss(e.dual, e.label, e.weight);
    own[3] = (float)e.weight;
    return TFD_OK;
}

/* ---- The order ----------------------------------------------------------- */

static void shuffle_order(struct tfd_random_draw *draw, int64_t *order,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t other =
            (int64_t)tfd_random_below64(draw, (uint64_t)i + 1);
        const int64_t moved = order[i];

        order[i] = order[other];
        order[other] = moved;
    }
}

/* What each example is worth; one whose label is wrong fails in its turn. */
static void find_worths(const struct sdca_state *s,
                        const struct tfd_sdca_data *d, double *worth)
{
    for (int64_t i = 0; i < d->examples && !tfd_halted(); i++) {
        float label = d->labels[i];
        double before, now, pull;

        (void)!tfd_sdca_label(s->loss, &label, NULL);
        answer(s, d, i, &before, &now);
        pull = d->states[4 * i] + s->loss->slope(now, label);
        worth[i] = d->example_weights[i] *
                   sqrt(d->norms[i] + s->l2 * s->loss->smoothness) * fabs(pull);
        if (!(worth[i] >= 0))
            worth[i] = 0;
    }
}

/* The first whose sum is above what was drawn. */
static int64_t pick_by(const double *sums, int64_t n, double drawn)
{
    int64_t low = 0, high = n - 1;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (sums[middle] > drawn)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Any, where none is worth anything. */
static int64_t pick_example(struct tfd_random_draw *draw, const double *sums,
                            int64_t n)
{
    if (sums[n - 1] > 0)
        return pick_by(sums, n, tfd_random_draw_double(draw) * sums[n - 1]);
    return (int64_t)tfd_random_below64(draw, (uint64_t)n);
}

static void adapt_order(struct tfd_random_draw *draw, struct tfd_sdca_data *d,
                        const double *worth, double *sums)
{
    const int64_t n = d->examples;
    int64_t done = 0;

    for (int64_t i = 0; i < n; i++) {
        sums[i] = worth[i] + (i ? sums[i - 1] : 0);
        d->taken[i] = 0;
    }
    for (int64_t refused = 0; done < n && refused < n && !tfd_halted();) {
        const int64_t i = pick_example(draw, sums, n);

        if (tfd_random_draw_double(draw) >
            pow(TAKEN_AGAIN, (double)d->taken[i])) {
            refused++;
        } else {
            d->taken[i]++;
            d->order[done++] = i;
        }
    }
    while (done < n)
        d->order[done++] = 0;
}

static void find_order(struct sdca_state *s, struct tfd_sdca_data *d)
{
    struct tfd_random_draw draw = tfd_random_draw_of(
        tfd_philox_reserve_blocks(&s->order, 2 * (uint64_t)d->examples + 2));

    if (!s->adaptive) {
        shuffle_order(&draw, d->order, d->examples);
        return;
    }
    find_worths(s, d, d->worths);
    if (tfd_halted())
        return;
    adapt_order(&draw, d, d->worths, d->worths + d->examples);
}

/* ---- The optimizers ------------------------------------------------------ */

static enum tfd_code sdca_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct sdca_state *s = state;
    const bool old = tfd_str_is(p->node->op->name, "SdcaOptimizer");
    struct tfd_str name;
    float l1;

    TFD_TRY(tfd_node_str(p->node, "loss_type", &name, st));
    TFD_TRY(tfd_sdca_loss_of(name, &s->loss, st));
    TFD_TRY(tfd_node_bool(p->node, old ? "adaptative" : "adaptive",
                          &s->adaptive, st));
    TFD_TRY(tfd_sdca_count(p->node, &s->counts, st));
    TFD_TRY(tfd_node_int(p->node, "num_loss_partitions", &s->partitions, st));
    TFD_TRY(tfd_node_float(p->node, "l1", &l1, st));
    TFD_TRY(tfd_node_float(p->node, "l2", &s->l2, st));
    s->shrinkage = l1 / s->l2;
    return tfd_philox_source_init(&s->order, 0, 0, st);
}

static enum tfd_code sdca_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct sdca_state *s = k->state;
    struct tfd_sdca_data d;
    enum tfd_code rc;

    rc = tfd_sdca_read(k, &s->counts, &d, st);
    if (rc == TFD_OK)
        find_order(s, &d);
    for (int64_t i = 0; rc == TFD_OK && i < d.examples && !tfd_halted(); i++)
        rc = train_on(s, &d, d.order[i], st);
    tfd_sdca_drop(&d);
    return rc;
}

/* ---- SdcaShrinkL1 -------------------------------------------------------- */

static enum tfd_code shrink_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    float l1, l2;

    TFD_TRY(tfd_node_float(p->node, "l1", &l1, st));
    TFD_TRY(tfd_node_float(p->node, "l2", &l2, st));
    *(double *)state = l1 / l2;
    return TFD_OK;
}

static enum tfd_code shrink_variable(struct tfd_variable *v, double shrinkage,
                                     struct tfd_status *st)
{
    enum tfd_code rc;
    float *w;

    tfd_variables_lock(&v, 1);
    rc = tfd_variable_writable(v, st);
    w = rc == TFD_OK ? tfd_tensor_data(&v->value) : NULL;
    for (int64_t i = 0; w && i < tfd_tensor_elements(&v->value); i++)
        w[i] = shrink_float(shrinkage, w[i]);
    tfd_variables_unlock(&v, 1);
    return rc;
}

static enum tfd_code shrink_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;

    for (int i = 0; rc == TFD_OK && i < k->in_count; i++) {
        struct tfd_variable *v;

        TFD_TRY(tfd_kctx_variable(k, i, &v, st));
        rc = shrink_variable(v, *(const double *)k->state, st);
        tfd_resource_unref(&v->resource);
    }
    return rc;
}

/* ---- SdcaFprint ---------------------------------------------------------- */

/* Tables keep 0 and 1 for themselves. */
static enum tfd_code fprint_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    const int64_t n = tfd_tensor_elements(&k->in[0]);
    struct tfd_shape shape;
    uint64_t *y;

    TFD_TRY(tfd_shape_make(&shape, (int64_t[]){n, 2}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    y = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < n && !tfd_halted(); i++) {
        tfd_fingerprint_long(tfd_tstring_view(&x[i]), y + 2 * i);
        if (y[2 * i] < 2)
            y[2 * i] += ~UINT64_C(1);
    }
    return TFD_OK;
}

static enum tfd_code fprint_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape x = {1, {TFD_DIM_UNKNOWN}};

    TFD_TRY(tfd_shape_merge(&x, &s->in[0], st));
    s->out[0] = (struct tfd_shape){2, {x.dim[0], 2}};
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define EXAMPLES                                                       \
    "sparse_example_indices: num_sparse_features * int64, "            \
    "sparse_feature_indices: num_sparse_features * int64, "            \
    "sparse_feature_values: num_sparse_features_with_values * float, " \
    "dense_features: num_dense_features * float, "                     \
    "example_weights: float, example_labels: float, "                  \
    "sparse_indices: num_sparse_features * int64, "                    \
    "sparse_weights: num_sparse_features * float, "                    \
    "dense_weights: num_dense_features * float, "                      \
    "example_state_data: float"
#define RESULTS                                               \
    "out_example_state_data: float, "                         \
    "out_delta_sparse_weights: num_sparse_features * float, " \
    "out_delta_dense_weights: num_dense_features * float"
#define SETTINGS(adaptive)                                        \
    "loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', " \
    "'smooth_hinge_loss', 'poisson_loss'}; " adaptive             \
    ": bool = false; num_sparse_features: int >= 0; "             \
    "num_sparse_features_with_values: int >= 0; "                 \
    "num_dense_features: int >= 0; l1: float; l2: float; "        \
    "num_loss_partitions: int >= 1; num_inner_iterations: int >= 1"
#define OPTIMIZER(name_, adaptive)                                \
    {                                                             \
        .name = (name_), .inputs = EXAMPLES, .outputs = RESULTS,  \
        .attrs = SETTINGS(adaptive), .flags = TFD_OP_NO_GRADIENT, \
    }

static const struct tfd_opdef ops[] = {
    OPTIMIZER("SdcaOptimizer", "adaptative"),
    OPTIMIZER("SdcaOptimizerV2", "adaptive"),
    {
        .name = "SdcaShrinkL1",
        .inputs = "weights: Ref(num_features * float)",
        .attrs = "num_features: int >= 0; l1: float; l2: float",
        .shape = tfd_shape_none,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "SdcaFprint",
        .inputs = "input: string",
        .outputs = "output: int64",
        .checks = "input: vector 'Input must be a vector, got shape %s'",
        .shape = fprint_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define TRAINS(name)                                            \
    TFD_KERNEL_ANY(name, sdca_compute, .prepare = sdca_prepare, \
                   .state_size = sizeof(struct sdca_state),     \
                   .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    TRAINS("SdcaOptimizer"),
    TRAINS("SdcaOptimizerV2"),
    TFD_KERNEL_ANY("SdcaShrinkL1", shrink_compute, .prepare = shrink_prepare,
                   .state_size = sizeof(double)),
    TFD_KERNEL_ANY("SdcaFprint", fprint_compute),
};

const struct tfd_family tfd_family_sdca = {
    .name = "sdca",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
