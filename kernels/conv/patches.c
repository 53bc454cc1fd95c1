/*
 * patches.c - the windows of images and volumes as channels:
 *
 *     ExtractImagePatches ExtractVolumePatches
 *
 * A pixel of the result has all elements of its window, in the window's order;
 * what is outside is 0.  The gradient sums them back, by the numbers that the
 * patches of the pixels' own numbers show.
 */
#include "kernels/conv/volume.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"

#include "common/thread/halt.h"

#include <string.h>

#define SIDES_MAX 3

/* An image is a volume of one plane, whose windows have one plane. */
struct patches {
    struct tfd_volume v;
    bool image;
};

/* ---- Attributes ---------------------------------------------------------- */

/* Numbers along the sides of an image or a volume: [1, ..., 1]. */
static enum tfd_code read_sides(const struct tfd_node *n, const char *name,
                                bool image, int64_t *out, struct tfd_status *st)
{
    const int rank = image ? 4 : 5;
    int64_t values[TFD_VOLUME_DIMS + 1];
    int count;

    TFD_TRY(tfd_node_ints(n, name, values, TFD_VOLUME_DIMS + 1, &count, st));
    if (count != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s requires the %s attribute to contain %d values, "
                        "but got: %d",
                        image ? "ExtractImagePatches" : "ExtractVolumePatches",
                        name, rank, count);
    if (values[0] != 1 || values[rank - 1] != 1)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "Only support %s across space.",
                        name);
    for (int i = 1; i < rank - 1; i++) {
        if (values[i] < 1 || values[i] > INT32_MAX)
            return tfd_fail(st, TFD_OUT_OF_RANGE, "%s is out of range.", name);
        out[TFD_VOLUME_PLANE + i - 1 + image] = values[i];
    }
    return TFD_OK;
}

static enum tfd_code read_patches(const struct tfd_node *n, struct patches *p,
                                  struct tfd_status *st)
{
    p->image = tfd_str_is(n->op->name, "ExtractImagePatches");
    TFD_TRY(tfd_volume_read(n, &p->v, st));
    TFD_TRY(read_sides(n, "ksizes", p->image, p->v.size, st));
    TFD_TRY(read_sides(n, "strides", p->image, p->v.stride, st));
    if (p->image)
        TFD_TRY(read_sides(n, "rates", true, p->v.dilation, st));
    return TFD_OK;
}

static enum tfd_code prepare_patches(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    return read_patches(p->node, state, st);
}

/* ---- The work ------------------------------------------------------------ */

struct patch_work {
    struct tfd_window_side plane, row, column;
    size_t pixel; /* bytes */
    const char *x;
    char *y;
};

static size_t patch_size(const struct patch_work *w)
{
    return (size_t)(w->plane.size * w->row.size * w->column.size) * w->pixel;
}

/* Elements [first, last) of a window along a side are inside; `at` is where the
 * first of all is. */
struct part {
    int64_t at, first, last;
};

static struct part part_of(const struct tfd_window_side *s, int64_t window)
{
    struct part p = {.at = window * s->stride - s->before};

    tfd_window_inside(s, window, &p.first, &p.last);
    return p;
}

/* A row of the window: zeros, what is inside, zeros. */
static void copy_patch_row(const struct patch_work *w, const struct part *c,
                           const char *x, char *to)
{
    const int64_t gap = w->column.dilation;
    const int64_t run = gap == 1 ? c->last - c->first : 1;

    memset(to, 0, (size_t)c->first * w->pixel);
    for (int64_t i = c->first; i < c->last; i += run)
        memcpy(to + (size_t)i * w->pixel,
               x + (size_t)(c->at + i * gap) * w->pixel,
               (size_t)run * w->pixel);
    memset(to + (size_t)c->last * w->pixel, 0,
           (size_t)(w->column.size - c->last) * w->pixel);
}

/* Pixel i of the result, of all volumes.  What is outside has no place: numbers
 * of one may be too large. */
static void copy_patch(const struct patch_work *w, int64_t i, char *to)
{
    const int64_t row = i / w->column.out, plane = row / w->row.out;
    const struct part p = part_of(&w->plane, plane % w->plane.out);
    const struct part r = part_of(&w->row, row % w->row.out);
    const struct part c = part_of(&w->column, i % w->column.out);
    const int64_t volume = plane / w->plane.out;
    const size_t size = (size_t)w->column.size * w->pixel;

    for (int64_t a = 0; a < w->plane.size; a++)
        for (int64_t b = 0; b < w->row.size && !tfd_halted(); b++, to += size) {
            int64_t at;

            if (a < p.first || a >= p.last || b < r.first || b >= r.last ||
                c.first == c.last) {
                memset(to, 0, size);
                continue;
            }
            at = (volume * w->plane.in + p.at + a * w->plane.dilation) *
                     w->row.in +
                 r.at + b * w->row.dilation;
            copy_patch_row(w, &c, w->x + (size_t)(at * w->column.in) * w->pixel,
                           to);
        }
}

static void copy_patches(void *arg, int64_t begin, int64_t end)
{
    const struct patch_work *w = arg;
    const size_t size = patch_size(w);

    for (int64_t i = begin; i < end && !tfd_halted(); i++)
        copy_patch(w, i, w->y + (size_t)i * size);
}

/* ---- Kernel -------------------------------------------------------------- */

/* x as a volume, all sizes, and the shape of the result. */
static enum tfd_code measure_patches(const struct patches *p,
                                     const struct tfd_shape *x,
                                     struct patch_work *w, struct tfd_shape *y,
                                     struct tfd_status *st)
{
    struct tfd_window_side *sides[] = {&w->plane, &w->row, &w->column};
    int64_t depth = x->dim[x->rank - 1], whole = 1;

    *y = *x;
    for (int i = 0; i < SIDES_MAX; i++) {
        const int at = 1 + i - p->image;
        const int64_t in = p->image && i == 0 ? 1 : x->dim[at];
        enum tfd_volume_dim d = (enum tfd_volume_dim)(TFD_VOLUME_PLANE + i);

        TFD_TRY(tfd_volume_side(&p->v, d, in, p->v.size[d], sides[i], st));
        if (at > 0)
            y->dim[at] = sides[i]->out;
        /* Beyond 2^62 the multiplications below would overflow. */
        if (whole > (INT64_C(1) << 62) / p->v.size[d])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Windows of %lld x %lld x %lld elements are too "
                            "large",
                            (long long)p->v.size[TFD_VOLUME_PLANE],
                            (long long)p->v.size[TFD_VOLUME_ROW],
                            (long long)p->v.size[TFD_VOLUME_COLUMN]);
        whole *= p->v.size[d];
    }
    if (depth > 0 && whole > (INT64_C(1) << 62) / depth)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Windows of %lld elements of %lld channels are too "
                        "large",
                        (long long)whole, (long long)depth);
    y->dim[y->rank - 1] = whole * depth;
    return tfd_shape_make(y, y->dim, y->rank, st);
}

static int cost_of_patch(const struct patch_work *w)
{
    const size_t size = patch_size(w);

    return size > INT32_MAX ? INT32_MAX : (int)size;
}

static enum tfd_code patches_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct patches *p = k->state;
    const struct tfd_tensor *x = &k->in[0];
    const int rank = p->image ? 4 : 5;
    struct patch_work w = {.x = tfd_tensor_data(x)};
    char text[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape y;

    if (x->shape.rank != rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be %d-dimensional%s", rank,
                        tfd_shape_text(&x->shape, text));
    TFD_TRY(measure_patches(p, &x->shape, &w, &y, st));
    TFD_TRY(tfd_kctx_output(k, 0, x->dtype, &y, st));
    if (tfd_shape_elements(&y) == 0)
        return TFD_OK;
    w.pixel = (size_t)x->shape.dim[rank - 1] * tfd_dtype_size(x->dtype);
    w.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel_bytes(k, tfd_shape_elements(&y) / y.dim[rank - 1],
                            cost_of_patch(&w), copy_patches, &w);
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code patches_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    struct tfd_shape y = tfd_volume_unknown();
    struct patches p;
    int64_t whole = 1;
    int channel;

    if (!s->node)
        return TFD_OK;
    TFD_TRY(read_patches(s->node, &p, st));
    y.rank = p.image ? 4 : 5;
    channel = y.rank - 1;
    TFD_TRY(tfd_shape_merge(&y, &s->in[0], st));
    for (int i = 1; i < channel; i++) {
        enum tfd_volume_dim d =
            (enum tfd_volume_dim)(TFD_VOLUME_PLANE + i - 1 + p.image);

        TFD_TRY(tfd_volume_out(&p.v, d, y.dim[i], p.v.size[d], &y.dim[i], st));
        if (whole > INT64_MAX / p.v.size[d])
            whole = 0;
        whole *= p.v.size[d];
    }
    if (y.dim[channel] != TFD_DIM_UNKNOWN && whole > 0 &&
        y.dim[channel] <= INT64_MAX / whole)
        y.dim[channel] *= whole;
    else
        y.dim[channel] = TFD_DIM_UNKNOWN;
    s->out[0] = y;
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

static struct tfd_edge int_vector(struct tfd_gradient *b, int n, int32_t v0,
                                  int32_t v1, int32_t v2)
{
    const int32_t values[] = {v0, v1, v2};

    return tfd_gradient_ints(b, values, n);
}

static struct tfd_edge int_scalar(struct tfd_gradient *b, int32_t value)
{
    return tfd_gradient_ints(b, &value, -1);
}

/* The shape of x with 1 for the batch size and the channels. */
static struct tfd_edge one_channel(struct tfd_gradient *b,
                                   struct tfd_edge shape, int rank)
{
    int32_t inner[TFD_VOLUME_DIMS] = {0, 1, 1, 1, 1};
    int32_t outer[TFD_VOLUME_DIMS] = {1, 0, 0, 0, 0};

    inner[rank - 1] = 0;
    outer[rank - 1] = 1;
    return tfd_gradient_op2(
        b, "AddV2",
        tfd_gradient_op2(b, "Mul", shape, tfd_gradient_ints(b, inner, rank)),
        tfd_gradient_ints(b, outer, rank));
}

/* For each element of the patches the number of the pixel that it shows; -1
 * for one outside. */
static struct tfd_edge shown_pixels(struct tfd_gradient *b, const char *op,
                                    struct tfd_edge shape, int rank,
                                    struct tfd_edge pixels)
{
    static const char *const attributes[] = {"ksizes", "strides", "rates",
                                             "padding", NULL};
    const struct tfd_edge one = int_scalar(b, 1);
    struct tfd_edge numbers = tfd_gradient_op3(
        b, "Range", one, tfd_gradient_op2(b, "AddV2", pixels, one), one);
    struct tfd_edge shown;

    numbers =
        tfd_gradient_op2(b, "Reshape", numbers, one_channel(b, shape, rank));
    tfd_gradient_copying(b, op, &numbers, 1, attributes, &shown, 1);
    shown = tfd_gradient_op2(b, "Reshape", shown, int_vector(b, 1, -1, 0, 0));
    return tfd_gradient_op2(b, "Sub", shown, one);
}

static enum tfd_code patches_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const char *op = g->node->op->def->name;
    const int rank =
        tfd_str_is(g->node->op->name, "ExtractImagePatches") ? 4 : 5;
    const struct tfd_edge shape = tfd_gradient_shape(&b, g->x[0]);
    const struct tfd_edge turn = int_vector(&b, 3, 1, 0, 2);
    const struct tfd_edge pixels = tfd_gradient_op2(
        &b, "Prod",
        tfd_gradient_op3(&b, "Slice", shape, int_vector(&b, 1, 1, 0, 0),
                         int_vector(&b, 1, rank - 2, 0, 0)),
        int_vector(&b, 1, 0, 0, 0));
    /* [batch, -1, channels] */
    const struct tfd_edge flat = tfd_gradient_op2(
        &b, "Sub",
        tfd_gradient_op2(&b, "Mul",
                         tfd_gradient_op3(&b, "GatherV2", shape,
                                          int_vector(&b, 3, 0, 0, rank - 1),
                                          int_scalar(&b, 0)),
                         int_vector(&b, 3, 1, 0, 1)),
        int_vector(&b, 3, 0, 1, 0));
    struct tfd_edge dy = tfd_gradient_op2(&b, "Reshape", g->dy[0], flat);

    dy = tfd_gradient_op3(&b, "UnsortedSegmentSum",
                          tfd_gradient_op2(&b, "Transpose", dy, turn),
                          shown_pixels(&b, op, shape, rank, pixels), pixels);
    dy = tfd_gradient_op2(&b, "Transpose", dy, turn);
    g->dx[0] = tfd_gradient_op2(&b, "Reshape", dy, shape);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ExtractImagePatches",
        .inputs = "images: T",
        .outputs = "patches: T",
        .attrs = "ksizes: list(int) >= 4; strides: list(int) >= 4; "
                 "rates: list(int) >= 4; "
                 "T: {bfloat16, half, float, double, int8, int16, int32, "
                 "int64, uint8, uint16, uint32, uint64, complex64, complex128, "
                 "bool}; padding: {'SAME', 'VALID'}",
        .shape = patches_shape,
        .grad = patches_gradient,
    },
    {
        .name = "ExtractVolumePatches",
        .inputs = "input: T",
        .outputs = "patches: T",
        .attrs = "ksizes: list(int) >= 5; strides: list(int) >= 5; "
                 "T: realnumbertype; padding: {'SAME', 'VALID'}",
        .shape = patches_shape,
        .grad = patches_gradient,
    },
};

#define ROW(op, name)                                                 \
    TFD_KERNEL(op, name, patches_compute, .prepare = prepare_patches, \
               .state_size = sizeof(struct patches)),
#define ROWS(name, number, T) \
    ROW("ExtractImagePatches", name) ROW("ExtractVolumePatches", name)

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(ROWS) TFD_HALF_DTYPES(ROWS)
        ROW("ExtractImagePatches", COMPLEX64)
            ROW("ExtractImagePatches", COMPLEX128)};

const struct tfd_family tfd_family_patches = {
    .name = "patches",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
