/*
 * fake_quant.c - numbers as they were after being made integers of few bits
 * and numbers again, for training what will be quantised:
 *
 *     FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars
 *     FakeQuantWithMinMaxVarsPerChannel   and their gradients
 *
 * The range is moved a little so that 0 is one of the integers.  What lies in
 * it passes its gradient on; what lies below or above gives it to the limit.
 * The input is seen as [rows, channels], with one channel where one range is
 * for all.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/outputs.h"
#include "kernels/quantized/fake_quant_loops.h"

#include "common/base/alloc.h"

#include <math.h>

#define BITS_MIN 2
#define BITS_MAX 16

struct state {
    float low, high; /* of Args, as attributes */
    float first, last;
};

/* ---- Ranges -------------------------------------------------------------- */

/* The integer that stands for 0. */
static float nudge_zero(float from_low, float first, float last)
{
    if (from_low < first)
        return first;
    if (from_low > last)
        return last;
    return from_low == from_low ? roundf(from_low) : 0;
}

static struct tfd_fake_range nudge(float low, float high, const struct state *s)
{
    struct tfd_fake_range n = {.none = low == 0 && high == 0};
    float zero;

    n.scale = (high - low) / (s->last - s->first);
    n.inverse = (s->last - s->first) / (high - low);
    zero = nudge_zero(s->first - low / n.scale, s->first, s->last);
    n.low = (s->first - zero) * n.scale;
    n.high = (s->last - zero) * n.scale;
    n.zero = floorf(-n.low * n.inverse + 0.5f);
    return n;
}

/* ---- Running them -------------------------------------------------------- */

static enum tfd_code run_quantize(struct tfd_kctx *k, struct tfd_fake_job *j,
                                  struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    j->n = tfd_tensor_elements(&k->in[0]);
    j->x = tfd_tensor_data(&k->in[0]);
    j->y = tfd_tensor_data(&k->out[0]);
    if (j->y)
        tfd_fake_quantize(k, j);
    return TFD_OK;
}

static enum tfd_code quantize_args(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const struct tfd_fake_range range = nudge(s->low, s->high, s);
    struct tfd_fake_job j = {.one = &range};

    return run_quantize(k, &j, st);
}

static enum tfd_code quantize_vars(struct tfd_kctx *k, struct tfd_status *st)
{
    const float *low = tfd_tensor_data(&k->in[1]);
    const float *high = tfd_tensor_data(&k->in[2]);
    const struct tfd_fake_range range = nudge(*low, *high, k->state);
    struct tfd_fake_job j = {.one = &range, .divides = true};

    return run_quantize(k, &j, st);
}

/* ---- By channel ---------------------------------------------------------- */

static enum tfd_code check_limit(const struct tfd_tensor *t, const char *name,
                                 int64_t channels, struct tfd_status *st)
{
    return t->shape.dim[0] == channels
               ? TFD_OK
               : tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "%s has incorrect size, expected %lld was %lld", name,
                          (long long)channels, (long long)t->shape.dim[0]);
}

/* Where in a buffer the fields of so many channels lie. */
static struct tfd_fake_ranges lay_ranges(void *room, int64_t channels)
{
    float *at = room;

    return (struct tfd_fake_ranges){
        .channels = channels,
        .low = at,
        .high = at + channels,
        .scale = at + 2 * channels,
        .inverse = at + 3 * channels,
        .zero = at + 4 * channels,
        .none = (int32_t *)(at + 5 * channels),
    };
}

static void set_range(const struct tfd_fake_ranges *r, int64_t c,
                      const struct tfd_fake_range *one)
{
    r->low[c] = one->low;
    r->high[c] = one->high;
    r->scale[c] = one->scale;
    r->inverse[c] = one->inverse;
    r->zero[c] = one->zero;
    r->none[c] = one->none;
}

/* Ranges of all channels, of inputs `min` and the one after it. */
static enum tfd_code new_ranges(struct tfd_kctx *k, int min,
                                struct tfd_fake_ranges *ranges,
                                struct tfd_buffer **out, struct tfd_status *st)
{
    const float *low = tfd_tensor_data(&k->in[min]);
    const float *high = tfd_tensor_data(&k->in[min + 1]);
    const struct tfd_shape *shape = &k->in[0].shape;
    const int64_t channels = shape->dim[shape->rank - 1];

    TFD_TRY(check_limit(&k->in[min], "min", channels, st));
    TFD_TRY(check_limit(&k->in[min + 1], "max", channels, st));
    *out = tfd_buffer_new((size_t)channels * TFD_FAKE_RANGE_SIZE);
    if (!*out)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the ranges of %lld channels",
                        (long long)channels);
    *ranges = lay_ranges((*out)->data, channels);
    for (int64_t c = 0; c < channels; c++) {
        const struct tfd_fake_range one = nudge(low[c], high[c], k->state);

        set_range(ranges, c, &one);
    }
    return TFD_OK;
}

static enum tfd_code quantize_channels(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_fake_ranges ranges;
    struct tfd_fake_job j = {.ranges = &ranges};
    struct tfd_buffer *room;
    enum tfd_code rc;

    TFD_TRY(new_ranges(k, 1, &ranges, &room, st));
    rc = run_quantize(k, &j, st);
    tfd_buffer_unref(room);
    return rc;
}

/* ---- Gradients as ops ---------------------------------------------------- */

static enum tfd_code check_same(const struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_shape_equal(&k->in[0].shape, &k->in[1].shape)
               ? TFD_OK
               : tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "gradient and input must be the same size");
}

static void read_gradient(const struct tfd_kctx *k, struct tfd_fake_job *j)
{
    j->n = tfd_tensor_elements(&k->in[0]);
    j->x = tfd_tensor_data(&k->in[1]);
    j->dy = tfd_tensor_data(&k->in[0]);
    j->y = tfd_tensor_data(&k->out[0]);
}

static enum tfd_code args_back(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct state *s = k->state;
    const struct tfd_fake_range range = nudge(s->low, s->high, s);
    struct tfd_fake_job j = {.one = &range};

    TFD_TRY(tfd_activation_same_shape(k, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, TFD_FLOAT, &k->in[0].shape, st));
    read_gradient(k, &j);
    if (j.y)
        tfd_fake_back(k, &j);
    return TFD_OK;
}

static enum tfd_code back_to_limits(struct tfd_kctx *k, struct tfd_fake_job *j,
                                    struct tfd_status *st)
{
    float *below, *above;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &k->in[0].shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_FLOAT, &k->in[2].shape, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_FLOAT, &k->in[2].shape, st));
    below = tfd_tensor_data(&k->out[1]);
    above = tfd_tensor_data(&k->out[2]);
    read_gradient(k, j);
    if (j->y)
        return tfd_fake_back_sums(k, j, below, above, st);
    for (int64_t i = 0; i < tfd_tensor_elements(&k->out[1]); i++)
        below[i] = above[i] = 0;
    return TFD_OK;
}

static enum tfd_code vars_back(struct tfd_kctx *k, struct tfd_status *st)
{
    const float *low = tfd_tensor_data(&k->in[2]);
    const float *high = tfd_tensor_data(&k->in[3]);
    const struct tfd_fake_range range = nudge(*low, *high, k->state);

    TFD_TRY(check_same(k, st));
    return back_to_limits(k, &(struct tfd_fake_job){.one = &range}, st);
}

static enum tfd_code channels_back(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_fake_ranges ranges;
    struct tfd_fake_job j = {.ranges = &ranges};
    struct tfd_buffer *room;
    enum tfd_code rc;

    TFD_TRY(check_same(k, st));
    TFD_TRY(new_ranges(k, 2, &ranges, &room, st));
    rc = back_to_limits(k, &j, st);
    tfd_buffer_unref(room);
    return rc;
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code vars_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct state *s = state;
    int64_t bits;
    bool narrow;

    TFD_TRY(tfd_node_int(p->node, "num_bits", &bits, st));
    TFD_TRY(tfd_node_bool(p->node, "narrow_range", &narrow, st));
    if (bits < BITS_MIN || bits > BITS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_bits must be between 2 and 16, inclusive");
    s->first = narrow ? 1 : 0;
    s->last = (float)((1 << bits) - 1);
    return TFD_OK;
}

static enum tfd_code args_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(tfd_node_float(p->node, "min", &s->low, st));
    TFD_TRY(tfd_node_float(p->node, "max", &s->high, st));
    if (!(s->low < s->high))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "min has to be smaller than max, was: %g >= %g",
                        (double)s->low, (double)s->high);
    return vars_prepare(p, state, st);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code back_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape all = s->in[0];

    TFD_TRY(tfd_shape_merge(&all, &s->in[1], st));
    s->out[0] = all;
    for (int i = 1; i < s->out_count; i++)
        s->out[i] = s->in[2];
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static const char *const attr_names[] = {"min", "max", "num_bits",
                                         "narrow_range", NULL};

static enum tfd_code gradient(struct tfd_grad *g, const char *op, int in_count,
                              struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[4] = {g->dy[0]};

    for (int i = 0; i < in_count; i++)
        in[1 + i] = g->x[i];
    tfd_gradient_copying(&b, op, in, 1 + in_count, attr_names, g->dx, in_count);
    return b.code;
}

static enum tfd_code args_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return gradient(g, "FakeQuantWithMinMaxArgsGradient", 1, st);
}

static enum tfd_code vars_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    return gradient(g, "FakeQuantWithMinMaxVarsGradient", 3, st);
}

static enum tfd_code channels_gradient(struct tfd_grad *g,
                                       struct tfd_status *st)
{
    return gradient(g, "FakeQuantWithMinMaxVarsPerChannelGradient", 3, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define BITS "num_bits: int = 8; narrow_range: bool = false"
#define LIMITS "min: float = -6; max: float = 6; "
#define BACKPROPS                  \
    "backprops_wrt_input: float, " \
    "backprop_wrt_min: float, backprop_wrt_max: float"

static const struct tfd_opdef ops[] = {
    {
        .name = "FakeQuantWithMinMaxArgs",
        .inputs = "inputs: float",
        .outputs = "outputs: float",
        .attrs = LIMITS BITS,
        .shape = tfd_shape_like_first,
        .grad = args_gradient,
    },
    {
        .name = "FakeQuantWithMinMaxArgsGradient",
        .inputs = "gradients: float, inputs: float",
        .outputs = "backprops: float",
        .attrs = LIMITS BITS,
        .shape = back_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "FakeQuantWithMinMaxVars",
        .inputs = "inputs: float, min: float, max: float",
        .outputs = "outputs: float",
        .attrs = BITS,
        .checks = "min: scalar '`min` must be rank 0 but is rank %d'; "
                  "max: scalar '`max` must be rank 0 but is rank %d'",
        .shape = tfd_shape_like_first,
        .grad = vars_gradient,
    },
    {
        .name = "FakeQuantWithMinMaxVarsGradient",
        .inputs = "gradients: float, inputs: float, min: float, max: float",
        .outputs = BACKPROPS,
        .attrs = BITS,
        .checks = "min: scalar '`min` must be rank 0 but is rank %d'; "
                  "max: scalar '`max` must be rank 0 but is rank %d'",
        .shape = back_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "FakeQuantWithMinMaxVarsPerChannel",
        .inputs = "inputs: float, min: float, max: float",
        .outputs = "outputs: float",
        .attrs = BITS,
        .checks = "inputs: rank>=1; min: vector; max: vector",
        .shape = tfd_shape_like_first,
        .grad = channels_gradient,
    },
    {
        .name = "FakeQuantWithMinMaxVarsPerChannelGradient",
        .inputs = "gradients: float, inputs: float, min: float, max: float",
        .outputs = BACKPROPS,
        .attrs = BITS,
        .checks = "inputs: rank>=1; inputs: rank<=4; min: vector; max: vector",
        .shape = back_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define ROW(op, compute_, prepare_)                                         \
    TFD_KERNEL_ANY("FakeQuantWithMinMax" op, compute_, .prepare = prepare_, \
                   .state_size = sizeof(struct state))

static const struct tfd_kernel kernels[] = {
    ROW("Args", quantize_args, args_prepare),
    ROW("ArgsGradient", args_back, args_prepare),
    ROW("Vars", quantize_vars, vars_prepare),
    ROW("VarsGradient", vars_back, vars_prepare),
    ROW("VarsPerChannel", quantize_channels, vars_prepare),
    ROW("VarsPerChannelGradient", channels_back, vars_prepare),
};

const struct tfd_family tfd_family_fake_quant = {
    .name = "fake_quant",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
