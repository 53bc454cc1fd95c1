/*
 * uniform_add.c - UniformQuantizedAdd: sums of integers with scales and zero
 * points, as integers of another scale and zero point.
 *
 * Both operands are first brought to the output's scale without a zero, each
 * in memory of its own; their sums are repeated as shapes say.  Scales of the
 * output that are one for each index along an axis are met by that index of
 * the operand's own axis, as in TensorFlow: an operand of one index there has
 * the first of them.  TensorFlow aborts where the left operand has one scale
 * and the output several, or where the right one lacks the axis; here these are
 * errors.
 */
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/uniform.h"

struct sum_state {
    int64_t axis[3]; /* of the operands, of the output */
    int32_t low, high;
};

/* How an operand is brought to the output's scale. */
struct rescaling {
    const int32_t *x;
    int32_t *y;
    const int32_t *zero;
    const struct tfd_uniform_ratio *ratio; /* by channel */
    struct tfd_quantized_view view;
    bool by_channel; /* the zeros */
};

struct sum_job {
    const int32_t *x, *y, *zero;
    int32_t *z;
    struct tfd_broadcast plan;
    int32_t low, high;
};

/* ---- Loops --------------------------------------------------------------- */

static int32_t wrapped(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* As TensorFlow's integers go. */
static int32_t by_float(int32_t x)
{
    return tfd_quantized_int32((float)x);
}

static void rescale(void *arg, int64_t begin, int64_t end)
{
    const struct rescaling *j = arg;

    for (int64_t i = begin; i < end;) {
        const int64_t row = i / j->view.inner;
        const int64_t rest = (row + 1) * j->view.inner;
        const int64_t stop = rest < end ? rest : end;
        const int64_t c = row % j->view.channels;
        const int32_t zero = j->zero[j->by_channel ? c : 0];
        const struct tfd_uniform_ratio ratio = j->ratio[c];

        for (; i < stop; i++)
            j->y[i] = by_float(tfd_uniform_times(
                (int32_t)((uint32_t)by_float(j->x[i]) - (uint32_t)zero),
                ratio));
    }
}

static int32_t limited(const struct sum_job *j, int32_t v)
{
    return v < j->low ? j->low : v > j->high ? j->high : v;
}

static void add_rescaled(void *arg, int64_t begin, int64_t end)
{
    const struct sum_job *j = arg;
    const int64_t size = j->plan.row_size;
    const int *step = j->plan.row_step;

    for (int64_t i = begin; i < end;) {
        const int64_t first = i % size, left = size - first;
        const int64_t n = left < end - i ? left : end - i;
        struct tfd_broadcast_at at;
        const int32_t *x, *y, *zero;

        tfd_broadcast_seek(&j->plan, i / size, &at);
        x = j->x + at.offset[0] + first * step[0];
        y = j->y + at.offset[1] + first * step[1];
        zero = j->zero + at.offset[2] + first * step[2];
        for (int64_t e = 0; e < n; e++)
            j->z[i + e] =
                limited(j, wrapped(wrapped(x[e * step[0]], y[e * step[1]]),
                                   zero[e * step[2]]));
        i += n;
    }
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_same_axis(const struct tfd_kctx *k, int operand,
                                     const struct tfd_shape *z,
                                     struct tfd_status *st)
{
    const struct sum_state *s = k->state;
    const int64_t axis = s->axis[operand], to = s->axis[2];

    if (axis < 0 || to < 0 || k->in[operand].shape.rank - axis == z->rank - to)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "If %s and output is both per-axis quantized, the "
                    "quantization axis must match.",
                    operand ? "rhs" : "lhs");
}

/* What TensorFlow aborts for. */
static enum tfd_code check_scales_meet(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct sum_state *s = k->state;
    const struct tfd_shape *y = &k->in[1].shape;
    const int64_t scales = tfd_tensor_elements(&k->in[6]), to = s->axis[2];

    if (to < 0)
        return TFD_OK;
    if (s->axis[0] < 0 && scales != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If output is per-axis quantized, lhs must be, too, "
                        "but it has one scale and output has %lld",
                        (long long)scales);
    if (s->axis[1] < 0 && (to >= y->rank || y->dim[to] > scales))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If output is per-axis quantized and rhs is not, rhs "
                        "must have dimension %lld, of at most %lld indices",
                        (long long)to, (long long)scales);
    return TFD_OK;
}

static enum tfd_code sum_shape(const struct tfd_kctx *k, struct tfd_shape *z,
                               struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *y = &k->in[1].shape;
    char text[2][TFD_SHAPE_TEXT_MAX];

    if (tfd_broadcast_fits(x, y))
        return tfd_broadcast_shape(x, y, z, st);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Cannot Add tensors of shapes: %s%s",
                    tfd_shape_text(x, text[0]), tfd_shape_text(y, text[1]));
}

static enum tfd_code check_sum(const struct tfd_kctx *k, struct tfd_shape *z,
                               struct tfd_status *st)
{
    const struct sum_state *s = k->state;

    for (int i = 0; i < 2; i++)
        TFD_TRY(tfd_uniform_check_scales(k, &k->in[i].shape, 2 + 2 * i,
                                         s->axis[i], st));
    TFD_TRY(sum_shape(k, z, st));
    TFD_TRY(tfd_uniform_check_scales(k, z, 6, s->axis[2], st));
    for (int i = 0; i < 2; i++)
        TFD_TRY(check_same_axis(k, i, z, st));
    for (int i = 2; i < 8; i += 2)
        if (!tfd_uniform_positive(&k->in[i]))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "lhs/rhs/output scales elements must be all "
                            "positive.");
    return check_scales_meet(k, st);
}

/* ---- Kernel -------------------------------------------------------------- */

/* Ratios of an operand's scales to the output's, by channel. */
static enum tfd_code fill_sum_ratios(const struct tfd_kctx *k, int operand,
                                     int64_t channels,
                                     struct tfd_uniform_ratio *out,
                                     struct tfd_status *st)
{
    const struct tfd_tensor *from = &k->in[2 + 2 * operand], *to = &k->in[6];
    const float *a = tfd_tensor_data(from), *b = tfd_tensor_data(to);

    for (int64_t c = 0; c < channels; c++)
        TFD_TRY(tfd_uniform_ratio((double)a[from->shape.rank ? c : 0] /
                                      (double)b[to->shape.rank ? c : 0],
                                  &out[c], st));
    return TFD_OK;
}

static enum tfd_code rescale_operand(struct tfd_kctx *k, int operand,
                                     const struct tfd_tensor *into,
                                     struct tfd_status *st)
{
    const struct sum_state *s = k->state;
    const struct tfd_tensor *x = &k->in[operand];
    const int64_t own = s->axis[operand];
    const int64_t axis = own < 0 && operand ? s->axis[2] : own;
    struct rescaling j = {.x = tfd_tensor_data(x),
                          .y = tfd_tensor_data(into),
                          .zero = tfd_tensor_data(&k->in[3 + 2 * operand]),
                          .view = tfd_quantized_view(&x->shape, axis),
                          .by_channel = own >= 0};
    struct tfd_tensor ratios = TFD_TENSOR_INIT;
    struct tfd_shape kept;
    enum tfd_code rc;

    TFD_TRY(tfd_shape_make(&kept, (int64_t[]){j.view.channels, 2}, 2, st));
    TFD_TRY(tfd_op_memory_new(k, TFD_INT32, &kept, &ratios, st));
    j.ratio = tfd_tensor_data(&ratios);
    rc = fill_sum_ratios(k, operand, j.view.channels, tfd_tensor_data(&ratios),
                         st);
    if (rc == TFD_OK && tfd_tensor_elements(x))
        tfd_kctx_parallel(k, tfd_tensor_elements(x), 1, rescale, &j);
    tfd_tensor_unref(&ratios);
    return rc;
}

/* The shape that the output's zeros meet it in. */
static struct tfd_shape shape_of_zeros(const struct tfd_shape *z, int64_t axis)
{
    struct tfd_shape out = *z;

    for (int d = 0; d < z->rank; d++)
        if (d != axis)
            out.dim[d] = 1;
    return out;
}

static enum tfd_code add_operands(struct tfd_kctx *k,
                                  const struct tfd_tensor *kept,
                                  struct tfd_status *st)
{
    const struct sum_state *s = k->state;
    const struct tfd_tensor *z = &k->out[0];
    const struct tfd_shape zeros = shape_of_zeros(&z->shape, s->axis[2]);
    struct sum_job j = {.zero = tfd_tensor_data(&k->in[7]),
                        .z = tfd_tensor_data(z),
                        .low = s->low,
                        .high = s->high};

    if (!tfd_tensor_elements(z)) /* whose scales may be none */
        return TFD_OK;
    for (int i = 0; i < 2; i++)
        TFD_TRY(rescale_operand(k, i, &kept[i], st));
    j.x = tfd_tensor_data(&kept[0]);
    j.y = tfd_tensor_data(&kept[1]);
    tfd_broadcast_plan(
        &j.plan, &z->shape,
        (const struct tfd_shape *[]){&k->in[0].shape, &k->in[1].shape, &zeros},
        3);
    tfd_kctx_parallel(k, tfd_tensor_elements(z), 1, add_rescaled, &j);
    return TFD_OK;
}

static enum tfd_code uniform_add(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor kept[2] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT};
    enum tfd_code rc = TFD_OK;
    struct tfd_shape z;

    TFD_TRY(check_sum(k, &z, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, &z, st));
    for (int i = 0; i < 2 && rc == TFD_OK; i++)
        rc = tfd_op_memory_new(k, TFD_INT32, &k->in[i].shape, &kept[i], st);
    if (rc == TFD_OK)
        rc = add_operands(k, kept, st);
    for (int i = 0; i < 2; i++)
        tfd_tensor_unref(&kept[i]);
    return rc;
}

static enum tfd_code sum_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    static const char *const names[] = {"lhs_quantization_axis",
                                        "rhs_quantization_axis",
                                        "output_quantization_axis"};
    struct sum_state *s = state;

    TFD_TRY(tfd_uniform_int32(p, "output_quantization_min_val", &s->low, st));
    TFD_TRY(tfd_uniform_int32(p, "output_quantization_max_val", &s->high, st));
    for (int i = 0; i < 3; i++)
        TFD_TRY(tfd_node_int(p->node, names[i], &s->axis[i], st));
    for (int i = 0; i < 3; i++)
        if (s->axis[i] < -1)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "lhs, rhs and output quantization_axis must be -1 "
                            "or within [0, dims)");
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UniformQuantizedAdd",
        .inputs = "lhs: T, rhs: T, lhs_scales: float, lhs_zero_points: int32, "
                  "rhs_scales: float, rhs_zero_points: int32, "
                  "output_scales: float, output_zero_points: int32",
        .outputs = "output: T",
        .attrs = TFD_UNIFORM_AXIS("lhs_") "; " TFD_UNIFORM_AXIS(
            "rhs_") "; " TFD_UNIFORM_AXIS("output_") "; T: {qint32}",
        .shape = tfd_shape_broadcast2,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("UniformQuantizedAdd", QINT32, uniform_add,
               .prepare = sum_prepare, .state_size = sizeof(struct sum_state)),
};

const struct tfd_family tfd_family_uniform_add = {
    .name = "uniform_add",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
