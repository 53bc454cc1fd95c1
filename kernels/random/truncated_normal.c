/*
 * truncated_normal.c - normal distributions with bounds of their own:
 *
 *     ParameterizedTruncatedNormal           one for each row of the output
 *     StatelessParameterizedTruncatedNormal  one for each element of what the
 *                                            parameters broadcast to
 *
 * Distribution after distribution draws from one stream, each from a block of
 * its own on; of the latter op sample s of distribution d lies at
 * s * (number of distributions) + d.  Where the former has the same for all
 * rows, it draws in batches of 100 samples.
 */
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/random/random_stream.h"
#include "kernels/random/truncated_sample.h"

#include "common/base/half.h"
#include "common/thread/halt.h"

#include <float.h>
#include <math.h>

/* Means, deviations, lower and upper bounds. */
#define PARAMETERS 4

static double parameter_of(const struct tfd_tensor *t, int64_t i)
{
    const void *data = tfd_tensor_data(t);

    switch (t->dtype) {
    case TFD_HALF:
        return (double)tfd_half_to_float(((const tfd_half *)data)[i]);
    case TFD_FLOAT:
        return (double)((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

static struct tfd_truncated truncated_at(const struct tfd_tensor *in,
                                         const int64_t index[PARAMETERS])
{
    const struct tfd_truncated p = {
        .mean = parameter_of(&in[0], index[0]),
        .deviation = parameter_of(&in[1], index[1]),
        .low = parameter_of(&in[2], index[2]),
        .high = parameter_of(&in[3], index[3]),
    };

    return p;
}

static const int64_t first_of_all[PARAMETERS];

/* ---- By rows ------------------------------------------------------------- */

#define BATCH 100
/* Blocks that TensorFlow sets apart for a number of samples, four of which come
 * from a block. */
#define BLOCKS_PER_PAIR 2000

/* The first parameter is input 1. */
static enum tfd_code rows_output(struct tfd_kctx *k, struct tfd_status *st)
{
    static const char *const names[] = {"means", "stddevs", "minvals",
                                        "maxvals"};
    const struct tfd_shape *given = &k->in[0].shape;
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;

    if (given->rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape should be a vector, got shape: %s",
                        tfd_shape_text(given, text));
    if (given->dim[0] == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape tensor must not be empty, got Tensor<type: %s "
                        "shape: [0] values: >",
                        tfd_dtype_name((int)k->in[0].dtype));
    TFD_TRY(tfd_check_shape(k, 0, false, &out, st));
    if (tfd_shape_elements(&out) > INT32_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s does not support output shapes with more than "
                        "2**31 - 1 elements.",
                        "ParameterizedTruncatedNormal");
    for (int i = 0; i < PARAMETERS; i++)
        if (k->in[1 + i].shape.rank > 1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s should be a scalar or vector, got shape: "
                            "%s",
                            names[i],
                            tfd_shape_text(&k->in[1 + i].shape, text));
    for (int i = 0; i < PARAMETERS; i++) {
        const struct tfd_shape *s = &k->in[1 + i].shape;

        if (s->rank == 1 && s->dim[0] != 1 && s->dim[0] != out.dim[0])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input %s should have length 1 or shape[0], got "
                            "shape: %s",
                            names[i], tfd_shape_text(s, text));
    }
    return tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out,
                           st);
}

/* TensorFlow looks at the ranks of the bounds, and at lengths of the others. */
static bool rows_are_alike(const struct tfd_tensor *in)
{
    return tfd_tensor_elements(&in[0]) == 1 &&
           tfd_tensor_elements(&in[1]) == 1 && in[2].shape.rank == 0 &&
           in[3].shape.rank == 0;
}

static bool parameters_are_single(const struct tfd_tensor *in)
{
    for (int i = 0; i < PARAMETERS; i++)
        if (tfd_tensor_elements(&in[i]) != 1)
            return false;
    return true;
}

static enum tfd_code draw_rows(const struct tfd_tensor *in,
                               struct tfd_tensor *out, int64_t rows,
                               int64_t row_size, struct tfd_philox g,
                               struct tfd_status *st)
{
    const int64_t size = tfd_tensor_elements(out);
    struct tfd_truncated_stream stream;

    tfd_truncated_begin(&stream, &g);
    for (int64_t row = 0; row < rows && !tfd_halted(); row++) {
        const int64_t at = row * row_size;
        int64_t index[PARAMETERS];
        struct tfd_truncated p;

        for (int i = 0; i < PARAMETERS; i++)
            index[i] = tfd_tensor_elements(&in[i]) == 1 ? 0 : row;
        p = truncated_at(in, index);
        TFD_TRY(tfd_truncated_draw(
            &p, &stream,
            (struct tfd_truncated_place){
                out, at, 1, size - at < row_size ? size - at : row_size},
            st));
    }
    return TFD_OK;
}

static enum tfd_code rows_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const bool alike = rows_are_alike(k->in + 1);
    struct tfd_truncated first;
    struct tfd_philox g;
    int64_t rows, row_size;
    uint64_t blocks;

    TFD_TRY(rows_output(k, st));
    rows = k->out[0].shape.dim[0];
    row_size = 1;
    for (int i = 1; i < k->out[0].shape.rank; i++)
        row_size *= k->out[0].shape.dim[i];
    if (alike) {
        rows = (rows * row_size + BATCH - 1) / BATCH;
        row_size = BATCH;
    }
    if (row_size == 0 && parameters_are_single(k->in + 1))
        rows = rows > 0; /* one of them says what all do */
    blocks = (uint64_t)rows * BLOCKS_PER_PAIR * (uint64_t)(row_size + 3) / 4;
    g = tfd_philox_reserve_blocks(k->state, blocks);
    if (!alike)
        return draw_rows(k->in + 1, &k->out[0], rows, row_size, g, st);
    first = truncated_at(k->in + 1, first_of_all);
    return tfd_truncated_draw_all(k, &first, &g, &k->out[0], row_size, st);
}

/* ---- By broadcasting ----------------------------------------------------- */

static bool shape_ends_with(const struct tfd_shape *s,
                            const struct tfd_shape *end)
{
    for (int i = 1; i <= end->rank; i++)
        if (i > s->rank || s->dim[s->rank - i] != end->dim[end->rank - i])
            return false;
    return true;
}

/* What inputs 2 to 5 broadcast to. */
static enum tfd_code broadcast_parameters(const struct tfd_kctx *k,
                                          struct tfd_shape *out,
                                          struct tfd_status *st)
{
    char text[PARAMETERS][TFD_SHAPE_TEXT_MAX];

    *out = k->in[2].shape;
    for (int i = 1; i < PARAMETERS; i++) {
        if (!tfd_broadcast_fits(out, &k->in[2 + i].shape))
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "means, stddevs, minvals, maxvals must have compatible batch "
                "dimensions: %s vs. %s vs. %s vs. %s",
                tfd_shape_text(&k->in[2].shape, text[0]),
                tfd_shape_text(&k->in[3].shape, text[1]),
                tfd_shape_text(&k->in[4].shape, text[2]),
                tfd_shape_text(&k->in[5].shape, text[3]));
        TFD_TRY(tfd_broadcast_shape(out, &k->in[2 + i].shape, out, st));
    }
    return TFD_OK;
}

static enum tfd_code broadcast_output(struct tfd_kctx *k,
                                      struct tfd_shape *batch,
                                      struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out;

    TFD_TRY(broadcast_parameters(k, batch, st));
    if (k->in[0].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input shape should be a vector, got shape: %s",
                        tfd_shape_text(&k->in[0].shape, text));
    TFD_TRY(tfd_check_shape(k, 0, false, &out, st));
    if (!shape_ends_with(&out, batch))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape passed in must end with broadcasted shape.");
    return tfd_kctx_output(k, 0, (enum tfd_dtype)k->node->out_types[0], &out,
                           st);
}

/* Element `at` of the broadcast shape in one of those that it is made of. */
static int64_t index_of_part(const struct tfd_shape *whole,
                             const struct tfd_shape *part, int64_t at)
{
    int64_t index = 0, step = 1;

    for (int i = whole->rank - 1; i >= 0; i--) {
        const int place = i - (whole->rank - part->rank);
        const int64_t dim = place >= 0 ? part->dim[place] : 1;

        index += dim == 1 ? 0 : at % whole->dim[i] * step;
        step *= dim;
        at /= whole->dim[i];
    }
    return index;
}

static enum tfd_code stateless_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_truncated_stream stream;
    struct tfd_philox g;
    struct tfd_shape batch;
    int64_t count, samples;

    TFD_TRY(tfd_random_seeds(k, 1, &g, st));
    TFD_TRY(broadcast_output(k, &batch, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    count = tfd_shape_elements(&batch);
    samples = tfd_tensor_elements(&k->out[0]) / count;
    if (count == 1) {
        const struct tfd_truncated p = truncated_at(k->in + 2, first_of_all);

        return tfd_truncated_draw_all(k, &p, &g, &k->out[0], samples, st);
    }
    tfd_truncated_begin(&stream, &g);
    for (int64_t d = 0; d < count && !tfd_halted(); d++) {
        int64_t index[PARAMETERS];
        struct tfd_truncated p;

        for (int i = 0; i < PARAMETERS; i++)
            index[i] = index_of_part(&batch, &k->in[2 + i].shape, d);
        p = truncated_at(k->in + 2, index);
        TFD_TRY(tfd_truncated_draw(
            &p, &stream,
            (struct tfd_truncated_place){&k->out[0], d, count, samples}, st));
    }
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* The share of the standard normal that is below x. */
static struct tfd_edge share_below(struct tfd_gradient *b, struct tfd_edge x)
{
    const struct tfd_edge root = tfd_gradient_scalar(b, x, sqrt(0.5));
    const struct tfd_edge one = tfd_gradient_scalar(b, x, 1);
    const struct tfd_edge w = tfd_gradient_op2(b, "Mul", x, root);
    const struct tfd_edge z = tfd_gradient_op1(b, "Abs", w);
    const struct tfd_edge rest = tfd_gradient_op1(b, "Erfc", z);
    const struct tfd_edge above = tfd_gradient_op3(
        b, "Select",
        tfd_gradient_op2(b, "Greater", w, tfd_gradient_scalar(b, x, 0)),
        tfd_gradient_op2(b, "Sub", tfd_gradient_scalar(b, x, 2), rest), rest);
    const struct tfd_edge twice = tfd_gradient_op3(
        b, "Select", tfd_gradient_op2(b, "Less", z, root),
        tfd_gradient_op2(b, "AddV2", one, tfd_gradient_op1(b, "Erf", w)),
        above);

    return tfd_gradient_op2(b, "Mul", tfd_gradient_scalar(b, x, 0.5), twice);
}

static struct tfd_edge standardize(struct tfd_gradient *b, struct tfd_edge x)
{
    return tfd_gradient_op2(
        b, "RealDiv", tfd_gradient_op2(b, "Sub", x, b->g->x[2]), b->g->x[3]);
}

/* Where the sample is among those between the bounds; never 0 or 1. */
static struct tfd_edge share_of_sample(struct tfd_gradient *b,
                                       struct tfd_edge sample,
                                       struct tfd_edge low,
                                       struct tfd_edge high)
{
    const enum tfd_dtype t = tfd_gradient_dtype(b, sample);
    const double tiny = t == TFD_HALF    ? 0x1p-14
                        : t == TFD_FLOAT ? (double)FLT_MIN
                                         : DBL_MIN;
    const double step = t == TFD_HALF    ? 0x1p-10
                        : t == TFD_FLOAT ? (double)FLT_EPSILON
                                         : DBL_EPSILON;
    const struct tfd_edge below = share_below(b, low);
    const struct tfd_edge share = tfd_gradient_op2(
        b, "RealDiv", tfd_gradient_op2(b, "Sub", share_below(b, sample), below),
        tfd_gradient_op2(b, "Sub", share_below(b, high), below));
    const struct tfd_edge less = tfd_gradient_op2(
        b, "Minimum", share, tfd_gradient_scalar(b, sample, 1 - step));

    return tfd_gradient_op2(b, "Maximum", less,
                            tfd_gradient_scalar(b, sample, tiny));
}

/* exp((sample^2 - bound^2) / 2 + log_share) */
static struct tfd_edge slope_by_bound(struct tfd_gradient *b,
                                      struct tfd_edge sample,
                                      struct tfd_edge bound,
                                      struct tfd_edge log_share)
{
    const struct tfd_edge squares =
        tfd_gradient_op2(b, "Sub", tfd_gradient_op1(b, "Square", sample),
                         tfd_gradient_op1(b, "Square", bound));
    const struct tfd_edge half = tfd_gradient_op2(
        b, "Mul", tfd_gradient_scalar(b, sample, 0.5), squares);

    return tfd_gradient_op1(b, "Exp",
                            tfd_gradient_op2(b, "AddV2", half, log_share));
}

/* The shape of a parameter, and what all of them broadcast to. */
struct parameter_shapes {
    struct tfd_edge of[PARAMETERS];
    struct tfd_edge all;
    struct tfd_edge samples; /* dimensions of the output that are more */
};

static struct parameter_shapes shapes_of_parameters(struct tfd_gradient *b)
{
    struct parameter_shapes s;
    int32_t zero = 0, one = 1;
    struct tfd_edge more;

    for (int i = 0; i < PARAMETERS; i++)
        s.of[i] = tfd_gradient_shape(b, b->g->x[2 + i]);
    s.all = s.of[0];
    for (int i = 1; i < PARAMETERS; i++)
        s.all = tfd_gradient_op2(b, "BroadcastArgs", s.of[i], s.all);
    more = tfd_gradient_op2(b, "Sub", tfd_gradient_op1(b, "Size", b->g->x[0]),
                            tfd_gradient_op1(b, "Size", s.all));
    s.samples = tfd_gradient_op3(b, "Range", tfd_gradient_ints(b, &zero, -1),
                                 more, tfd_gradient_ints(b, &one, -1));
    return s;
}

/* Sums what flows to the output back to the shape of one parameter. */
static struct tfd_edge sum_to_parameter(struct tfd_gradient *b,
                                        const struct parameter_shapes *s,
                                        int parameter, struct tfd_edge flow)
{
    static const char *const keep_dims[] = {"keep_dims", NULL};
    struct tfd_edge in[2] = {s->all, s->of[parameter]};
    struct tfd_edge axes[2] = {TFD_EDGE_NONE, TFD_EDGE_NONE};

    if (b->code == TFD_OK)
        b->code = tfd_grad_emit_attrs(b->g, "BroadcastGradientArgs", in, 2,
                                      NULL, 0, axes, 2, b->st);
    in[0] = tfd_gradient_op2(b, "Sum", flow, s->samples);
    in[1] = axes[1];
    return tfd_gradient_op2(b, "Reshape",
                            tfd_gradient_op_flags(b, "Sum", in, 2, keep_dims),
                            s->of[parameter]);
}

/* By implicit differentiation: M. Figurnov, S. Mohamed, A. Mnih, "Implicit
 * reparameterization gradients", 2018. */
static enum tfd_code stateless_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge low = standardize(&b, g->x[4]);
    const struct tfd_edge high = standardize(&b, g->x[5]);
    const struct tfd_edge sample = standardize(&b, g->y[0]);
    const struct tfd_edge share = share_of_sample(&b, sample, low, high);
    const struct tfd_edge rest =
        tfd_gradient_op1(&b, "Log1p", tfd_gradient_op1(&b, "Neg", share));
    const struct tfd_edge slopes[PARAMETERS] = {
        tfd_gradient_op1(&b, "OnesLike", sample), sample,
        slope_by_bound(&b, sample, low, rest),
        slope_by_bound(&b, sample, high, tfd_gradient_op1(&b, "Log", share))};
    const struct parameter_shapes shapes = shapes_of_parameters(&b);

    for (int i = 0; i < PARAMETERS; i++)
        g->dx[2 + i] = sum_to_parameter(
            &b, &shapes, i, tfd_gradient_op2(&b, "Mul", g->dy[0], slopes[i]));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code truncated_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    if (s->value && s->value[0])
        return tfd_check_shape_value(s->value[0], false, &s->out[0], st);
    return TFD_OK;
}

#define INDEX "{int32, int64}"

static const struct tfd_opdef ops[] = {
    {
        .name = "ParameterizedTruncatedNormal",
        .inputs = "shape: T, means: dtype, stdevs: dtype, minvals: dtype, "
                  "maxvals: dtype",
        .outputs = "output: dtype",
        .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, "
                 "float, double}; T: " INDEX,
        .key = "dtype",
        .shape = truncated_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StatelessParameterizedTruncatedNormal",
        .inputs = "shape: S, seed: Tseed, means: dtype, stddevs: dtype, "
                  "minvals: dtype, maxvals: dtype",
        .outputs = "output: dtype",
        .attrs = "S: " INDEX "; Tseed: " INDEX " = DT_INT64; dtype: {half, "
                 "float, double}",
        .key = "dtype",
        .shape = truncated_shape,
        .grad = stateless_gradient,
    },
};

#define TRUNCATED_KERNELS(T)                                    \
    TFD_KERNEL("ParameterizedTruncatedNormal", T, rows_compute, \
               .prepare = tfd_random_stream_prepare,            \
               .state_size = sizeof(struct tfd_philox_source),  \
               .flags = TFD_KERNEL_SHARED),                     \
        TFD_KERNEL("StatelessParameterizedTruncatedNormal", T,  \
                   stateless_compute)

static const struct tfd_kernel kernels[] = {
    TRUNCATED_KERNELS(HALF),
    TRUNCATED_KERNELS(FLOAT),
    TRUNCATED_KERNELS(DOUBLE),
};

const struct tfd_family tfd_family_truncated_normal = {
    .name = "truncated_normal",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
