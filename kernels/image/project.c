/*
 * project.c - ImageProjectiveTransformV2, ImageProjectiveTransformV3: images
 * seen through a projection of the plane.
 *
 * A transform of eight numbers, and a ninth that is 1, takes a pixel of the
 * result to where it comes from; around the image there is what the mode says.
 */
#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include <math.h>

#define PIXEL_COST_NS 15

enum fill_mode { FILL_CONSTANT, FILL_NEAREST, FILL_REFLECT, FILL_WRAP };

struct project_state {
    enum fill_mode mode;
    bool bilinear;
};

struct projecting {
    const struct project_state *state;
    const void *x;
    void *y;
    const float *transforms;
    int64_t transform_step; /* 0: one for all images */
    int64_t in[2], out[2];  /* height, width */
    int64_t depth;
    float fill;
};

/* As processors convert it, so that every value has an answer. */
static int64_t whole_of(float v)
{
    return v > -9e18f && v < 9e18f ? (int64_t)v : INT64_MIN;
}

/* n times a whole number, as a float, of any size. */
static float times(int64_t n, int64_t whole)
{
    return (float)(int64_t)((uint64_t)n * (uint64_t)whole);
}

/* ---- Around the image ---------------------------------------------------- */

/* abcd as dcba|abcd|dcba */
static float reflect(float at, int64_t n)
{
    const int64_t twice = 2 * n;

    if (n <= 1)
        return at < 0 || at > (float)(n - 1) ? 0 : at;
    if (at < 0) {
        if (at < (float)twice)
            at = times(twice, whole_of(-at / (float)twice)) + at;
        return at < (float)-n ? at + (float)twice : -at - 1;
    }
    if (at > (float)(n - 1)) {
        at -= times(twice, whole_of(at / (float)twice));
        if (at >= (float)n)
            at = (float)twice - at - 1;
    }
    return at;
}

/* abcd as abcd|abcd|abcd */
static float wrap(float at, int64_t n)
{
    if (n <= 1)
        return at < 0 || at > (float)(n - 1) ? 0 : at;
    if (at < 0)
        return at +
               times(n,
                     (int64_t)((uint64_t)whole_of(-at / (float)(n - 1)) + 1));
    if (at > (float)(n - 1))
        return at - times(n, whole_of(at / (float)(n - 1)));
    return at;
}

static float place_in_image(enum fill_mode mode, float at, int64_t n)
{
    const float last = (float)(n - 1);

    if (mode == FILL_CONSTANT)
        return at;
    if (mode == FILL_REFLECT)
        at = reflect(at, n);
    else if (mode == FILL_WRAP)
        at = wrap(at, n);
    at = at < 0 ? 0 : at;
    return at > last ? last : at;
}

/* Row and column where a pixel comes from; false where that is infinite. */
static bool find_source(const struct projecting *p, const float *t, int64_t row,
                        int64_t column, float *at)
{
    const float x = (float)column, y = (float)row;
    const float projection = t[6] * x + t[7] * y + 1.0f;

    if (projection == 0)
        return false;
    at[0] = place_in_image(p->state->mode,
                           (t[3] * x + t[4] * y + t[5]) / projection, p->in[0]);
    at[1] = place_in_image(p->state->mode,
                           (t[0] * x + t[1] * y + t[2]) / projection, p->in[1]);
    return true;
}

/* ---- Pixels -------------------------------------------------------------- */

#define PROJECT(name, T, TO, FROM)                                            \
    static inline T pixel_##name(const struct projecting *p, const T *image,  \
                                 int64_t row, int64_t column, T fill)         \
    {                                                                         \
        return row >= 0 && row < p->in[0] && column >= 0 && column < p->in[1] \
                   ? image[(row * p->in[1] + column) * p->depth]              \
                   : fill;                                                    \
    }                                                                         \
                                                                              \
    static T sample_##name(const struct projecting *p, const T *image,        \
                           const float *at, T fill)                           \
    {                                                                         \
        const float top = floorf(at[0]), left = floorf(at[1]);                \
        const int64_t r = whole_of(top), c = whole_of(left);                  \
        float row[2];                                                         \
                                                                              \
        if (!p->state->bilinear)                                              \
            return pixel_##name(p, image, whole_of(roundf(at[0])),            \
                                whole_of(roundf(at[1])), fill);               \
        if (r == INT64_MIN || c == INT64_MIN)                                 \
            return fill;                                                      \
        for (int i = 0; i < 2; i++)                                           \
            row[i] = (left + 1 - at[1]) *                                     \
                         TO(pixel_##name(p, image, r + i, c, fill)) +         \
                     (at[1] - left) *                                         \
                         TO(pixel_##name(p, image, r + i, c + 1, fill));      \
        return FROM((top + 1 - at[0]) * row[0] + (at[0] - top) * row[1]);     \
    }                                                                         \
                                                                              \
    static void project_##name(void *arg, int64_t begin, int64_t end)         \
    {                                                                         \
        const struct projecting *p = arg;                                     \
        const T fill = FROM(p->fill);                                         \
        T *y = (T *)p->y + begin * p->out[1] * p->depth;                      \
                                                                              \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {              \
            const int64_t n = i / p->out[0];                                  \
            const T *image =                                                  \
                (const T *)p->x + n * p->in[0] * p->in[1] * p->depth;         \
            const float *t = p->transforms + n * p->transform_step;           \
                                                                              \
            for (int64_t c = 0; c < p->out[1]; c++, y += p->depth) {          \
                float at[2];                                                  \
                const bool there = find_source(p, t, i % p->out[0], c, at);   \
                                                                              \
                for (int64_t d = 0; d < p->depth; d++)                        \
                    y[d] =                                                    \
                        there ? sample_##name(p, image + d, at, fill) : fill; \
            }                                                                 \
        }                                                                     \
    }

#define TO_FLOAT(v) ((float)(v))
#define TO_BYTE(v) ((uint8_t)whole_of(v))
#define TO_INT(v) \
    ((v) > -2147483904.0f && (v) < 2147483648.0f ? (int32_t)(v) : INT32_MIN)
#define SAME(v) (v)
#define TO_DOUBLE(v) ((double)(v))

#define PROJECT_TYPES(X)                                                      \
    X(UINT8, uint8_t, TO_FLOAT, TO_BYTE)                                      \
    X(INT32, int32_t, TO_FLOAT, TO_INT)                                       \
    X(INT64, int64_t, TO_FLOAT, whole_of)                                     \
    X(HALF, tfd_half, tfd_half_to_float, tfd_half_from_float)                 \
    X(BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float, tfd_bfloat16_from_float) \
    X(FLOAT, float, SAME, SAME)                                               \
    X(DOUBLE, double, TO_FLOAT, TO_DOUBLE)
PROJECT_TYPES(PROJECT)

/* ---- The ops ------------------------------------------------------------- */

static enum tfd_code project_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    static const char *const modes[] = {"CONSTANT", "NEAREST", "REFLECT",
                                        "WRAP"};
    struct project_state *s = state;
    struct tfd_str text;
    int mode = 0;

    TFD_TRY(tfd_node_str(p->node, "interpolation", &text, st));
    s->bilinear = tfd_str_is(text, "BILINEAR");
    if (!s->bilinear && !tfd_str_is(text, "NEAREST"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid interpolation " TFD_STR_FMT
                        ". Supported types: NEAREST, BILINEAR",
                        TFD_STR_ARG(text));
    TFD_TRY(tfd_node_str(p->node, "fill_mode", &text, st));
    while (mode < TFD_COUNT(modes) && !tfd_str_is(text, modes[mode]))
        mode++;
    if (mode == TFD_COUNT(modes))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid mode " TFD_STR_FMT ". Supported modes: "
                        "REFLECT, WRAP, CONSTANT, NEAREST",
                        TFD_STR_ARG(text));
    s->mode = (enum fill_mode)mode;
    return TFD_OK;
}

static enum tfd_code check_transforms(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape, *t = &k->in[1].shape;

    if (x->rank != 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input images must have rank 4");
    if (t->rank != 2 || (t->dim[0] != x->dim[0] && t->dim[0] != 1) ||
        t->dim[1] != 8)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input transform should be num_images x 8 or 1 x 8");
    return TFD_OK;
}

static enum tfd_code read_out_size(const struct tfd_kctx *k, int64_t *out,
                                   struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[2];
    char text[TFD_SHAPE_TEXT_MAX];

    if (t->shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output shape must be 1-dimensional%s",
                        tfd_shape_text(&t->shape, text));
    if (t->shape.dim[0] != 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output shape must have two elements%s",
                        tfd_shape_text(&t->shape, text));
    out[0] = tfd_check_int_at(t, 0);
    out[1] = tfd_check_int_at(t, 1);
    if (out[0] <= 0 || out[1] <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "output dimensions must be positive");
    return TFD_OK;
}

static enum tfd_code project_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    struct projecting p = {.state = k->state};
    struct tfd_shape out;
    char text[TFD_SHAPE_TEXT_MAX];

    TFD_TRY(check_transforms(k, st));
    TFD_TRY(read_out_size(k, p.out, st));
    if (k->in_count > 3 && k->in[3].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "fill_value must be a scalar%s",
                        tfd_shape_text(&k->in[3].shape, text));
    p.fill = k->in_count > 3 ? *(const float *)tfd_tensor_data(&k->in[3]) : 0;
    p.in[0] = x->dim[1];
    p.in[1] = x->dim[2];
    p.depth = x->dim[3];
    TFD_TRY(tfd_shape_make(
        &out, (int64_t[]){x->dim[0], p.out[0], p.out[1], p.depth}, 4, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &out, st));
    p.x = tfd_tensor_data(&k->in[0]);
    p.y = tfd_tensor_data(&k->out[0]);
    p.transforms = tfd_tensor_data(&k->in[1]);
    p.transform_step = k->in[1].shape.dim[0] == 1 ? 0 : 8;
    if (p.y)
        tfd_kctx_parallel(k, x->dim[0] * p.out[0],
                          p.out[1] * p.depth < INT32_MAX / PIXEL_COST_NS
                              ? (int)(p.out[1] * p.depth) * PIXEL_COST_NS
                              : INT32_MAX,
                          k->kernel->range, &p);
    return TFD_OK;
}

static enum tfd_code project_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const int64_t any = TFD_DIM_UNKNOWN;
    struct tfd_shape image = {4, {any, any, any, any}};

    TFD_TRY(tfd_shape_merge(&image, &s->in[0], st));
    image.dim[1] = image.dim[2] = any;
    s->out[0] = image;
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* Columns [first, first + count) of a matrix. */
static struct tfd_edge columns_of(struct tfd_gradient *b, struct tfd_edge x,
                                  int32_t first, int32_t count)
{
    const int32_t begin[] = {0, first}, size[] = {-1, count};

    return tfd_gradient_op3(b, "Slice", x, tfd_gradient_ints(b, begin, 2),
                            tfd_gradient_ints(b, size, 2));
}

/* The transforms that lead back: inverted as matrices of 3 x 3, of which the
 * last number is made 1 again. */
static struct tfd_edge inverted(struct tfd_gradient *b, struct tfd_edge t)
{
    const int32_t square[] = {-1, 3, 3}, flat[] = {-1, 9}, axis = 1;
    const struct tfd_edge parts[] = {
        t, tfd_gradient_op1(b, "OnesLike", columns_of(b, t, 0, 1)),
        tfd_gradient_ints(b, &axis, -1)};
    struct tfd_edge m = tfd_gradient_op(b, "ConcatV2", parts, 3);

    m = tfd_gradient_op2(b, "Reshape", m, tfd_gradient_ints(b, square, 3));
    m = tfd_gradient_op1(b, "MatrixInverse", m);
    m = tfd_gradient_op2(b, "Reshape", m, tfd_gradient_ints(b, flat, 2));
    m = tfd_gradient_op2(b, "RealDiv", m, columns_of(b, m, 8, 1));
    return columns_of(b, m, 0, 8);
}

static enum tfd_code project_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const char *const names[] = {"interpolation", "fill_mode", NULL};
    static const int32_t first = 1, count = 2;
    const bool fills =
        tfd_str_is(g->node->op->name, "ImageProjectiveTransformV3");
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge in[] = {g->dy[0], inverted(&b, g->x[1]),
                            tfd_gradient_op3(&b, "Slice",
                                             tfd_gradient_shape(&b, g->x[0]),
                                             tfd_gradient_ints(&b, &first, 1),
                                             tfd_gradient_ints(&b, &count, 1)),
                            g->dy[0]};

    if (fills)
        in[3] = tfd_gradient_scalar(&b, g->x[3], 0);
    tfd_gradient_copying(
        &b, fills ? "ImageProjectiveTransformV3" : "ImageProjectiveTransformV2",
        in, fills ? 4 : 3, names, &g->dx[0], 1);
    return b.code;
}

#define TYPES                                                       \
    "dtype: {uint8, int32, int64, half, bfloat16, float, double}; " \
    "interpolation: string; fill_mode: string = 'CONSTANT'"
#define INPUTS "images: dtype, transforms: float, output_shape: int32"
#define PROJECTS(op, in)                                                  \
    {                                                                     \
        .name = op, .inputs = in, .outputs = "transformed_images: dtype", \
        .attrs = TYPES, .key = "dtype", .shape = project_shape,           \
        .grad = project_gradient,                                         \
    }

static const struct tfd_opdef ops[] = {
    PROJECTS("ImageProjectiveTransformV2", INPUTS),
    PROJECTS("ImageProjectiveTransformV3", INPUTS ", fill_value: float"),
};

#define STATE \
    .prepare = project_prepare, .state_size = sizeof(struct project_state)
#define KERNELS(name, T, TO, FROM)                                      \
    TFD_KERNEL("ImageProjectiveTransformV2", name, project_compute,     \
               project_##name, STATE),                                  \
        TFD_KERNEL("ImageProjectiveTransformV3", name, project_compute, \
                   project_##name, STATE),

static const struct tfd_kernel kernels[] = {PROJECT_TYPES(KERNELS)};

const struct tfd_family tfd_family_project = {
    .name = "project",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
