/*
 * uniform_conv.c - convolutions of numbers with scales and zero points:
 *
 *     UniformQuantizedConvolution        qint8 by qint8, as qint32 of another
 *                                        scale
 *     UniformQuantizedConvolutionHybrid  float by qint8, as float
 *
 * Floats become integers of eight bits first, those of one batch of one scale
 * and zero point that their range gives.  Tensors are read as they lie,
 * whatever their dimensions mean (uniform_window.h); what a window has beside
 * lhs and between its dilated elements is lhs's zero point as eight bits hold
 * it.  Sums are of 32 bits, which wrap.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/op_memory.h"
#include "kernels/quantized/uniform.h"
#include "kernels/quantized/uniform_window.h"

struct conv_state {
    struct tfd_uniform_windows windows;
    int64_t rhs_axis, out_axis;
    int32_t low, high;
};

struct conv_job {
    const struct tfd_uniform_window *w;
    int64_t positions; /* of the output's space */
    const int8_t *lhs, *rhs;
    void *y;
    const int32_t *zero_lhs, *zero_rhs;
    bool by_batch, by_feature; /* whether these are one for each */
    /* UniformQuantizedConvolution */
    const struct tfd_uniform_ratio *ratio; /* as zero_rhs */
    const int32_t *zero_y;
    bool y_by_feature;
    int32_t low, high;
    /* UniformQuantizedConvolutionHybrid, as the zeros */
    const float *scale_lhs, *scale_rhs;
};

/* ---- Loops --------------------------------------------------------------- */

/* An element of the output. */
struct conv_place {
    int64_t lhs_batch, feature, offset;
    int64_t at[TFD_UNIFORM_SPACE_MAX];
    int64_t since; /* tfd_halted_after() */
};

static void go_to(const struct conv_job *j, int64_t i, struct conv_place *p)
{
    const struct tfd_uniform_window *w = j->w;
    const int64_t row = i / j->positions, batch = row / w->features;
    int64_t rest = i % j->positions;

    p->feature = row % w->features;
    p->lhs_batch =
        p->feature / (w->features / w->batch_groups) * w->batches + batch;
    p->offset = batch * w->first_step[TFD_UNIFORM_OUT] +
                p->feature * w->second_step[TFD_UNIFORM_OUT];
    for (int d = w->rank - 1; d >= 0; d--) {
        p->at[d] = rest % w->space[d].out;
        rest /= w->space[d].out;
        p->offset += p->at[d] * w->space[d].step[TFD_UNIFORM_OUT];
    }
}

/* Where the element of lhs lies that meets this one of the kernel, from its
 * batch and feature on; -1: beside lhs, or between its elements. */
static int64_t lhs_offset(const struct tfd_uniform_window *w,
                          const struct conv_place *p, const int64_t *kernel)
{
    int64_t offset = 0;

    for (int d = 0; d < w->rank; d++) {
        const struct tfd_uniform_space *s = &w->space[d];
        const int64_t at =
            p->at[d] * s->stride + kernel[d] * s->rhs_dilation - s->before;

        if (at < 0 || at % s->lhs_dilation || at / s->lhs_dilation >= s->in)
            return -1;
        offset += at / s->lhs_dilation * s->step[TFD_UNIFORM_LHS];
    }
    return offset;
}

/* Goes to the next element of the kernel; false after the last. */
static bool next_of_kernel(const struct tfd_uniform_window *w, int64_t *kernel,
                           int64_t *offset)
{
    for (int d = w->rank - 1; d >= 0; d--) {
        const int64_t step = w->space[d].step[TFD_UNIFORM_RHS];

        *offset += step;
        if (++kernel[d] < w->space[d].kernel)
            return true;
        *offset -= kernel[d] * step;
        kernel[d] = 0;
    }
    return false;
}

struct features {
    const int8_t *lhs, *rhs; /* lhs: NULL where there is none */
    int64_t lhs_step, rhs_step, count;
    uint32_t zero_lhs, zero_rhs, hole;
};

/* The products along lhs's features. */
static uint32_t sum_of_features(const struct features *f)
{
    uint32_t sum = 0;

    if (f->lhs)
        for (int64_t i = 0; i < f->count; i++)
            sum += ((uint32_t)(int32_t)f->lhs[i * f->lhs_step] - f->zero_lhs) *
                   ((uint32_t)(int32_t)f->rhs[i * f->rhs_step] - f->zero_rhs);
    else if (f->hole)
        for (int64_t i = 0; i < f->count; i++)
            sum += f->hole *
                   ((uint32_t)(int32_t)f->rhs[i * f->rhs_step] - f->zero_rhs);
    return sum;
}

static int32_t sum_at(const struct conv_job *j, struct conv_place *p)
{
    const struct tfd_uniform_window *w = j->w;
    const int64_t group = p->feature / (w->features / w->feature_groups);
    const int8_t *lhs =
        j->lhs + p->lhs_batch * w->first_step[TFD_UNIFORM_LHS] +
        group * w->in_features * w->second_step[TFD_UNIFORM_LHS];
    const int32_t zero = j->zero_lhs[j->by_batch ? p->lhs_batch : 0];
    struct features f = {
        .lhs_step = w->second_step[TFD_UNIFORM_LHS],
        .rhs_step = w->second_step[TFD_UNIFORM_RHS],
        .count = w->in_features,
        .zero_lhs = (uint32_t)zero,
        .zero_rhs = (uint32_t)j->zero_rhs[j->by_feature ? p->feature : 0],
        .hole = (uint32_t)(int32_t)(int8_t)zero - (uint32_t)zero};
    int64_t kernel[TFD_UNIFORM_SPACE_MAX] = {0};
    int64_t at = p->feature * w->first_step[TFD_UNIFORM_RHS];
    uint32_t sum = 0;

    for (int d = 0; d < w->rank; d++)
        if (!w->space[d].kernel)
            return 0;
    do {
        const int64_t from = lhs_offset(w, p, kernel);

        if (tfd_halted_after(f.count, &p->since))
            return 0;
        f.lhs = from < 0 ? NULL : lhs + from;
        f.rhs = j->rhs + at;
        sum += sum_of_features(&f);
    } while (next_of_kernel(w, kernel, &at));
    return (int32_t)sum;
}

static void convolve_integers(void *arg, int64_t begin, int64_t end)
{
    const struct conv_job *j = arg;
    struct conv_place p = {0};

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        int32_t sum;

        go_to(j, i, &p);
        sum = sum_at(j, &p);
        ((int32_t *)j->y)[p.offset] = tfd_uniform_sum(
            sum, j->ratio[j->by_feature ? p.feature : 0],
            j->zero_y[j->y_by_feature ? p.feature : 0], j->low, j->high);
    }
}

static void convolve_floats(void *arg, int64_t begin, int64_t end)
{
    const struct conv_job *j = arg;
    struct conv_place p = {0};

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        float sum;

        go_to(j, i, &p);
        sum = (float)sum_at(j, &p);
        ((float *)j->y)[p.offset] = sum * j->scale_lhs[p.lhs_batch] *
                                    j->scale_rhs[j->by_feature ? p.feature : 0];
    }
}

/* What an output's element costs. */
static int cost_of(const struct tfd_uniform_window *w)
{
    double ns = (double)w->in_features;

    for (int d = 0; d < w->rank; d++)
        ns *= (double)w->space[d].kernel;
    return ns < 1e9 ? (int)ns + 20 : 1000000000;
}

static void convolve(struct tfd_kctx *k, struct conv_job *j,
                     const struct tfd_uniform_window *w)
{
    const int64_t elements = tfd_tensor_elements(&k->out[0]);

    if (!elements)
        return;
    j->w = w;
    j->y = tfd_tensor_data(&k->out[0]);
    j->rhs = tfd_tensor_data(&k->in[1]);
    j->positions = elements / w->batches / w->features;
    tfd_kctx_parallel(k, elements, cost_of(w), k->kernel->range, j);
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_rhs(const struct tfd_kctx *k, int at,
                               const struct tfd_uniform_window *w,
                               struct tfd_status *st)
{
    const struct conv_state *s = k->state;

    if (s->rhs_axis != -1 && s->rhs_axis != w->numbers[TFD_UNIFORM_RHS].first)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "rhs_quantization_axis Attr must be -1 (per-tensor) or "
                        "dimension_numbers.kernel_output_feature_dimension "
                        "(per-channel).");
    return tfd_uniform_check_scales(k, &k->in[1].shape, at, s->rhs_axis, st);
}

static enum tfd_code check_out(const struct tfd_kctx *k,
                               struct tfd_uniform_window *w,
                               struct tfd_shape *y, struct tfd_status *st)
{
    const struct conv_state *s = k->state;

    if (s->out_axis != -1 && s->out_axis != w->numbers[TFD_UNIFORM_OUT].second)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output_quantization_axis Attr must be -1 (per-tensor) "
                        "or dimension_numbers.output_feature_dimension "
                        "(per-channel).");
    TFD_TRY(tfd_uniform_window_out(w, y, st));
    TFD_TRY(tfd_uniform_check_scales(k, y, 6, s->out_axis, st));
    if (!k->in[4].shape.rank && k->in[6].shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "If rhs is per-tensor quantized, output must be also "
                        "per-tensor quantized. Given output scales/zero_points "
                        "of rank %d",
                        k->in[6].shape.rank);
    return TFD_OK;
}

static enum tfd_code check_conv(const struct tfd_kctx *k,
                                struct tfd_uniform_window *w,
                                struct tfd_shape *y, struct tfd_status *st)
{
    static const char *const names[] = {"lhs", "rhs", "output"};
    const struct conv_state *s = k->state;
    char text[2][TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < 3; i++)
        TFD_TRY(tfd_uniform_check_positive(k, 2 + 2 * i, names[i], st));
    TFD_TRY(tfd_uniform_window_of(&s->windows, &k->in[0].shape, &k->in[1].shape,
                                  w, st));
    if (k->in[2].shape.rank || k->in[3].shape.rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs scales/zero_points must be all scalar tensors. "
                        "Given: %s%s",
                        tfd_shape_text(&k->in[2].shape, text[0]),
                        tfd_shape_text(&k->in[3].shape, text[1]));
    TFD_TRY(check_rhs(k, 4, w, st));
    return check_out(k, w, y, st);
}

/* ---- UniformQuantizedConvolution ----------------------------------------- */

static enum tfd_code uniform_conv(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct conv_state *s = k->state;
    struct conv_job j = {.low = s->low, .high = s->high};
    struct tfd_tensor ratios = TFD_TENSOR_INIT;
    struct tfd_uniform_window w;
    struct tfd_shape y, kept;
    enum tfd_code rc;

    TFD_TRY(check_conv(k, &w, &y, st));
    TFD_TRY(tfd_shape_make(
        &kept, (int64_t[]){tfd_tensor_elements(&k->in[4]), 2}, 2, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_QINT32, &y, st));
    TFD_TRY(tfd_op_memory_new(k, TFD_INT32, &kept, &ratios, st));
    rc = tfd_uniform_ratios(k, tfd_tensor_data(&ratios), st);
    if (rc == TFD_OK) {
        j.lhs = tfd_tensor_data(&k->in[0]);
        j.zero_lhs = tfd_tensor_data(&k->in[3]);
        j.zero_rhs = tfd_tensor_data(&k->in[5]);
        j.by_feature = k->in[5].shape.rank == 1;
        j.ratio = tfd_tensor_data(&ratios);
        j.zero_y = tfd_tensor_data(&k->in[7]);
        j.y_by_feature = k->in[7].shape.rank == 1;
        convolve(k, &j, &w);
    }
    tfd_tensor_unref(&ratios);
    return rc;
}

/* ---- UniformQuantizedConvolutionHybrid ----------------------------------- */

/* lhs as integers; all by batch. */
struct batches {
    const float *x;
    int8_t *y;
    float *scale;
    int32_t *zero;
    struct tfd_quantized_view view;
};

static void quantize_batch(const struct batches *j, int64_t b)
{
    const int64_t row = j->view.channels * j->view.inner;
    const int64_t from = b * j->view.inner;
    double low = 0, high = 0;
    struct tfd_uniform_row r;

    for (int64_t o = 0; o < j->view.outer && !tfd_halted(); o++)
        tfd_uniform_widen(j->x + from + o * row, j->view.inner, &low, &high);
    r = tfd_uniform_row(low, high);
    j->scale[b] = r.scale;
    j->zero[b] = r.zero;
    for (int64_t o = 0; o < j->view.outer && !tfd_halted(); o++)
        for (int64_t i = 0; i < j->view.inner; i++) {
            const int64_t at = from + o * row + i;

            j->y[at] = (int8_t)(tfd_uniform_row_integer(&r, j->x[at]) + r.zero);
        }
}

static void quantize_batches(void *arg, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end && !tfd_halted(); b++)
        quantize_batch(arg, b);
}

/* What a hybrid keeps: integers, scales and zeros of the batches. */
#define KEPT 3

static void convolve_batches(struct tfd_kctx *k,
                             const struct tfd_uniform_window *w,
                             const struct tfd_tensor *kept)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct batches lhs = {
        .x = tfd_tensor_data(&k->in[0]),
        .y = tfd_tensor_data(&kept[0]),
        .scale = tfd_tensor_data(&kept[1]),
        .zero = tfd_tensor_data(&kept[2]),
        .view = tfd_quantized_view(x, w->numbers[TFD_UNIFORM_LHS].first)};
    const double ns = (double)lhs.view.outer * (double)lhs.view.inner * 2;
    struct conv_job j = {.lhs = lhs.y,
                         .zero_lhs = lhs.zero,
                         .by_batch = true,
                         .zero_rhs = tfd_tensor_data(&k->in[3]),
                         .by_feature = k->in[3].shape.rank == 1,
                         .scale_lhs = lhs.scale,
                         .scale_rhs = tfd_tensor_data(&k->in[2])};

    tfd_kctx_parallel(k, lhs.view.channels, ns < 1e9 ? (int)ns + 1 : 1000000000,
                      quantize_batches, &lhs);
    convolve(k, &j, w);
}

static enum tfd_code hybrid_conv(struct tfd_kctx *k, struct tfd_status *st)
{
    static const enum tfd_dtype types[KEPT] = {TFD_INT8, TFD_FLOAT, TFD_INT32};
    const struct conv_state *s = k->state;
    struct tfd_tensor kept[KEPT] = {TFD_TENSOR_INIT, TFD_TENSOR_INIT,
                                    TFD_TENSOR_INIT};
    struct tfd_uniform_window w;
    struct tfd_shape y, each;
    enum tfd_code rc = TFD_OK;

    TFD_TRY(tfd_uniform_check_positive(k, 2, "rhs", st));
    TFD_TRY(tfd_uniform_window_of(&s->windows, &k->in[0].shape, &k->in[1].shape,
                                  &w, st));
    TFD_TRY(check_rhs(k, 2, &w, st));
    TFD_TRY(tfd_uniform_window_out(&w, &y, st));
    TFD_TRY(
        tfd_shape_make(&each, (int64_t[]){w.batches * w.batch_groups}, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &y, st));
    if (!tfd_shape_elements(&y))
        return TFD_OK;
    for (int i = 0; i < KEPT && rc == TFD_OK; i++)
        rc = tfd_op_memory_new(k, types[i], i ? &each : &k->in[0].shape,
                               &kept[i], st);
    if (rc == TFD_OK)
        convolve_batches(k, &w, kept);
    for (int i = 0; i < KEPT; i++)
        tfd_tensor_unref(&kept[i]);
    return rc;
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code conv_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct conv_state *s = state;
    int64_t axis;

    TFD_TRY(tfd_uniform_windows_read(p, &s->windows, st));
    TFD_TRY(tfd_uniform_int32(p, "output_quantization_min_val", &s->low, st));
    TFD_TRY(tfd_uniform_int32(p, "output_quantization_max_val", &s->high, st));
    TFD_TRY(tfd_node_int(p->node, "lhs_quantization_axis", &axis, st));
    if (axis != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "lhs_quantization_axis Attr must be -1 (per-tensor).");
    TFD_TRY(tfd_node_int(p->node, "rhs_quantization_axis", &s->rhs_axis, st));
    return tfd_node_int(p->node, "output_quantization_axis", &s->out_axis, st);
}

static enum tfd_code hybrid_conv_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    struct conv_state *s = state;

    TFD_TRY(tfd_node_int(p->node, "rhs_quantization_axis", &s->rhs_axis, st));
    return tfd_uniform_windows_read(p, &s->windows, st);
}

/* ---- Tables -------------------------------------------------------------- */

/* Where a dimension is unknown, all are. */
static enum tfd_code conv_infer(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_shape *lhs = &s->in[0], *rhs = &s->in[1];
    const struct tfd_prepare p = {.node = s->node};
    struct tfd_uniform_windows windows;
    struct tfd_uniform_window w;
    struct tfd_shape y = {.rank = lhs->rank != TFD_RANK_UNKNOWN ? lhs->rank
                                                                : rhs->rank};

    for (int i = 0; i < y.rank; i++)
        y.dim[i] = TFD_DIM_UNKNOWN;
    if (y.rank != TFD_RANK_UNKNOWN)
        s->out[0] = y;
    if (!s->node || tfd_shape_elements(lhs) < 0 || tfd_shape_elements(rhs) < 0)
        return TFD_OK;
    TFD_TRY(tfd_uniform_windows_read(&p, &windows, st));
    TFD_TRY(tfd_uniform_window_of(&windows, lhs, rhs, &w, st));
    return tfd_uniform_window_out(&w, &s->out[0], st);
}

#define WINDOW_ATTRS                                                   \
    "window_strides: list(int) = []; padding: string; "                \
    "explicit_padding: list(int) = []; lhs_dilation: list(int) = []; " \
    "rhs_dilation: list(int) = []; batch_group_count: int = 1; "       \
    "feature_group_count: int = 1; dimension_numbers: string = ''; "

static const struct tfd_opdef ops[] = {
    {
        .name = "UniformQuantizedConvolution",
        .inputs = "lhs: Tin, rhs: Tin, lhs_scales: float, "
                  "lhs_zero_points: int32, rhs_scales: float, "
                  "rhs_zero_points: int32, output_scales: float, "
                  "output_zero_points: int32",
        .outputs = "output: Tout",
        .attrs = "Tin: {qint8}; Tout: {qint32}; " WINDOW_ATTRS
            TFD_UNIFORM_AXIS("lhs_") "; " TFD_UNIFORM_AXIS(
                "rhs_") "; " TFD_UNIFORM_AXIS("output_"),
        .key = "Tin",
        .shape = conv_infer,
    },
    {
        .name = "UniformQuantizedConvolutionHybrid",
        .inputs = "lhs: Tlhs, rhs: Trhs, rhs_scales: float, "
                  "rhs_zero_points: int32",
        .outputs = "output: Tout",
        .attrs = "Tlhs: {float}; Trhs: {qint8}; Tout: {float}; " WINDOW_ATTRS
            TFD_UNIFORM_AXIS("rhs_"),
        .key = "Trhs",
        .shape = conv_infer,
    },
};

#define CONV_STATE(prepare_) \
    .prepare = prepare_, .state_size = sizeof(struct conv_state)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL("UniformQuantizedConvolution", QINT8, uniform_conv,
               convolve_integers, CONV_STATE(conv_prepare)),
    TFD_KERNEL("UniformQuantizedConvolutionHybrid", QINT8, hybrid_conv,
               convolve_floats, CONV_STATE(hybrid_conv_prepare)),
};

const struct tfd_family tfd_family_uniform_conv = {
    .name = "uniform_conv",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
