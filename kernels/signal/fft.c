/*
 * fft.c - FFT, RFFT, their inverses, and those of two and three dimensions.
 *
 * A transform of several dimensions is one along each axis in turn, the last
 * one first; an inverse whose result is real ends with it, as only then lines
 * along it are halves of symmetric ones.  Between the axes numbers have the
 * type of the tensors; fft_lines.h says what they are along one.  Items of the
 * dimensions that are not transformed take turns where all would leave the
 * cache.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/core/runtime.h"
#include "kernels/signal/fft_lines.h"

#include <string.h>

#define DIMS_MAX (TFD_FFT_AXES - 1)
/* So many bytes a thread, in and out. */
#define ITEMS_SIZE (256 << 10)
/* So many items a thread are shared as such. */
#define ITEMS_A_THREAD 2
#define NUMBERS_PER_NS 1.5

enum form { COMPLEX, TO_HALF, FROM_HALF };

struct transform {
    const char *op;
    int dims;
    enum form form;
    bool inverse;
};

static const struct transform transforms[] = {
    {"FFT", 1, COMPLEX, false},      {"FFT2D", 2, COMPLEX, false},
    {"FFT3D", 3, COMPLEX, false},    {"IFFT", 1, COMPLEX, true},
    {"IFFT2D", 2, COMPLEX, true},    {"IFFT3D", 3, COMPLEX, true},
    {"RFFT", 1, TO_HALF, false},     {"RFFT2D", 2, TO_HALF, false},
    {"RFFT3D", 3, TO_HALF, false},   {"IRFFT", 1, FROM_HALF, true},
    {"IRFFT2D", 2, FROM_HALF, true}, {"IRFFT3D", 3, FROM_HALF, true},
};

static const struct transform *transform_of(const struct tfd_opdef *op)
{
    for (int i = 0; i < TFD_COUNT(transforms); i++)
        if (strcmp(op->name, transforms[i].op) == 0)
            return &transforms[i];
    return NULL;
}

static enum tfd_code fft_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    (void)st;
    *(const struct transform **)state = transform_of(p->node->op->def);
    return TFD_OK;
}

/* ---- Lengths and shapes -------------------------------------------------- */

/* Dimension i of those that are transformed. */
static enum tfd_code check_dim(const struct transform *t,
                               const struct tfd_shape *x, int i, int64_t length,
                               struct tfd_status *st)
{
    int at = x->rank - t->dims + i;
    bool last = i == t->dims - 1;
    int64_t least = t->form == FROM_HALF && last ? length / 2 + 1 : length;

    if (length < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "fft_length[%d] must >= 0, but got: %lld", i,
                        (long long)length);
    if (x->dim[at] != 0 && x->dim[at] < least)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input dimension %d must have length of at least %lld "
                        "but got: %lld",
                        at, (long long)least, (long long)x->dim[at]);
    return TFD_OK;
}

/* The lengths of the transform, from the input or its shape. */
static enum tfd_code find_lengths(const struct tfd_kctx *k,
                                  const struct transform *t, int64_t *length,
                                  struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    const struct tfd_shape *given = t->form == COMPLEX ? NULL : &k->in[1].shape;
    char text[TFD_SHAPE_TEXT_MAX];

    if (x->rank < t->dims)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input must have rank of at least %d but got: %s",
                        t->dims, tfd_shape_text(x, text));
    if (given && (given->rank != 1 || given->dim[0] != t->dims))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "fft_length must have shape [%d]", t->dims);
    for (int i = 0; i < t->dims; i++) {
        length[i] = given ? tfd_check_int_at(&k->in[1], i)
                          : x->dim[x->rank - t->dims + i];
        if (given)
            TFD_TRY(check_dim(t, x, i, length[i], st));
    }
    return TFD_OK;
}

static enum tfd_code make_transformed(struct tfd_kctx *k,
                                      const struct transform *t,
                                      const int64_t *length,
                                      struct tfd_status *st)
{
    const struct tfd_shape *x = &k->in[0].shape;
    enum tfd_dtype dtype = (enum tfd_dtype)k->node->out_types[0];
    int64_t dim[TFD_RANK_MAX];
    struct tfd_shape shape;

    memcpy(dim, x->dim, (size_t)x->rank * sizeof(dim[0]));
    memcpy(dim + x->rank - t->dims, length, (size_t)t->dims * sizeof(dim[0]));
    if (t->form == TO_HALF && dim[x->rank - 1] > 0)
        dim[x->rank - 1] = dim[x->rank - 1] / 2 + 1;
    TFD_TRY(tfd_shape_make(&shape, dim, x->rank, st));
    return tfd_kctx_output(k, 0, dtype, &shape, st);
}

/* ---- Axes ---------------------------------------------------------------- */

/* The sizes of the axes: everything before the last `dims` dimensions is the
 * first axis; axes that are not there have one element. */
static void axes_of(const struct tfd_shape *s, int dims, int64_t *size)
{
    size[0] = 1;
    for (int i = 0; i < s->rank - dims; i++)
        size[0] *= s->dim[i];
    for (int i = 0; i < DIMS_MAX; i++) {
        int at = s->rank - DIMS_MAX + i;

        size[1 + i] = i < DIMS_MAX - dims ? 1 : s->dim[at];
    }
}

/* What is transformed at once: some of the first axis. */
struct work {
    struct tfd_kctx *k; /* whose threads share lines */
    const struct transform *t;
    const int64_t *length;
    enum tfd_dtype dtype; /* of the input */
    struct tfd_fft_side in, out;
    struct tfd_fft_side halves; /* before they become real */
    struct tfd_fft_lines lines;
};

/* Complex elements all along, or real ones that become halves. */
static enum tfd_code run_forward(struct work *w, struct tfd_status *st)
{
    struct tfd_fft_lines *l = &w->lines;

    l->from = w->in;
    l->to = w->out;
    for (int i = 0; i < w->t->dims; i++) {
        l->axis = TFD_FFT_AXES - 1 - i;
        l->length = w->length[w->t->dims - 1 - i];
        TFD_TRY(tfd_fft_lines_run(w->k, l, st));
        l->to.kind = TFD_FFT_COMPLEX;
        l->from = l->to;
    }
    return TFD_OK;
}

/* Halves that become real: the last axis at the end, by way of memory for the
 * halves where there are others. */
static enum tfd_code run_from_half(struct work *w, struct tfd_status *st)
{
    struct tfd_fft_lines *l = &w->lines;

    l->from = w->in;
    l->to = w->halves;
    for (int i = 1; i < w->t->dims; i++) {
        l->axis = TFD_FFT_AXES - 1 - i;
        l->length = w->length[w->t->dims - 1 - i];
        TFD_TRY(tfd_fft_lines_run(w->k, l, st));
        l->from = l->to;
    }
    l->axis = TFD_FFT_AXES - 1;
    l->length = w->length[w->t->dims - 1];
    l->from.kind = TFD_FFT_HALF;
    l->to = w->out;
    return tfd_fft_lines_run(w->k, l, st);
}

/* How many of the first axis go through all others before the next do: what
 * one axis has written is in the cache when the next reads it. */
static int64_t items_at_once(const struct work *w)
{
    const int64_t number = w->lines.is_double ? 16 : 8;
    const int64_t size = number * (w->in.stride[0] + w->out.stride[0]);

    if (w->t->dims == 1)
        return w->lines.count[0];
    return 1 + (int64_t)(tfd_kctx_threads(w->k) + 1) * ITEMS_SIZE / size;
}

/* The side `count` items on. */
static void move_side(const struct work *w, int64_t count,
                      struct tfd_fft_side *side)
{
    const int64_t part = w->lines.is_double ? sizeof(double) : sizeof(float);
    const int64_t size = side->kind == TFD_FFT_REAL ? part : 2 * part;

    side->data = (char *)side->data + count * side->stride[0] * size;
}

/* Memory for the halves of so many items, where an axis more follows them. */
static enum tfd_code make_halves(struct work *w, int64_t items,
                                 struct tfd_tensor *halves,
                                 struct tfd_status *st)
{
    const int64_t *n = w->lines.count;
    const int64_t size[TFD_FFT_AXES] = {items, n[1], n[2], n[3]};
    struct tfd_shape shape;

    if (w->t->form != FROM_HALF || w->t->dims == 1)
        return TFD_OK;
    TFD_TRY(tfd_shape_make(&shape, size, TFD_FFT_AXES, st));
    TFD_TRY(tfd_tensor_new(halves, w->dtype, &shape, st));
    w->halves = tfd_fft_side(tfd_tensor_data(halves), size, TFD_FFT_COMPLEX);
    return TFD_OK;
}

/* Items [begin, end) of arg, a struct work of all. */
static enum tfd_code run_items(void *arg, int64_t begin, int64_t end,
                               struct tfd_status *st)
{
    struct work w = *(const struct work *)arg;
    const int64_t most = items_at_once(&w);
    const int64_t at_once = most < end - begin ? most : end - begin;
    struct tfd_tensor halves = TFD_TENSOR_INIT;
    enum tfd_code rc = make_halves(&w, at_once, &halves, st);

    for (w.lines.count[0] = begin; rc == TFD_OK && begin < end;
         begin += at_once) {
        move_side(&w, w.lines.count[0], &w.in);
        move_side(&w, w.lines.count[0], &w.out);
        w.lines.count[0] = at_once < end - begin ? at_once : end - begin;
        rc = w.t->form == FROM_HALF ? run_from_half(&w, st)
                                    : run_forward(&w, st);
    }
    tfd_tensor_unref(&halves);
    return rc;
}

/* Nanoseconds, about, of an item along all axes; 0: threads share lines, as an
 * axis has too few of an item for all lanes, or there are too few items. */
static int cost_of_item(const struct work *w)
{
    const int64_t *count = w->lines.count;
    const int64_t numbers = count[1] * count[2] * count[3];

    if (w->t->dims == 1 || tfd_kctx_threads(w->k) < 2 ||
        count[0] < ITEMS_A_THREAD * tfd_kctx_threads(w->k))
        return 0;
    for (int i = 1; i <= w->t->dims; i++)
        if (numbers / count[TFD_FFT_AXES - i] < TFD_FFT_LANES_MAX)
            return 0;
    return numbers < INT32_MAX ? (int)((double)numbers / NUMBERS_PER_NS) + 1
                               : INT32_MAX;
}

/* The lines are those of the output, but halves where these become real. */
static enum tfd_code run_axes(struct work *w, struct tfd_status *st)
{
    struct tfd_kctx *k = w->k, alone = {0};
    int64_t size[TFD_FFT_AXES];
    int cost;

    axes_of(&k->out[0].shape, w->t->dims, size);
    w->out = tfd_fft_side(tfd_tensor_data(&k->out[0]), size,
                          w->t->form == TO_HALF     ? TFD_FFT_HALF
                          : w->t->form == FROM_HALF ? TFD_FFT_REAL
                                                    : TFD_FFT_COMPLEX);
    if (w->t->form == FROM_HALF)
        size[TFD_FFT_AXES - 1] = w->length[w->t->dims - 1] / 2 + 1;
    memcpy(w->lines.count, size, sizeof(size));
    cost = cost_of_item(w);
    if (cost == 0)
        return run_items(w, 0, size[0], st);
    w->k = &alone;
    return tfd_kctx_try(k, size[0], cost, run_items, w, st);
}

/* Types that do not go together are found by no constraint of the op. */
static enum tfd_code check_precision(const struct tfd_kctx *k,
                                     const struct transform *t,
                                     struct tfd_status *st)
{
    enum tfd_dtype in = k->in[0].dtype;
    enum tfd_dtype out = (enum tfd_dtype)k->node->out_types[0];
    bool in_double = in == TFD_DOUBLE || in == TFD_COMPLEX128;
    bool out_double = out == TFD_DOUBLE || out == TFD_COMPLEX128;

    if (in_double == out_double)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Wrong types for %s real FFT: in=%s out=%s",
                    t->inverse ? "backward" : "forward",
                    tfd_dtype_name((int)in), tfd_dtype_name((int)out));
}

/* An input of nothing gives zeros where an output is asked for, which
 * TensorFlow leaves as it finds it. */
static enum tfd_code fft_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct transform *t = *(const struct transform *const *)k->state;
    int64_t length[DIMS_MAX], in_size[TFD_FFT_AXES];
    struct work w = {k, t, length, .dtype = k->in[0].dtype,
                     .lines.inverse = t->inverse};

    TFD_TRY(find_lengths(k, t, length, st));
    TFD_TRY(check_precision(k, t, st));
    TFD_TRY(make_transformed(k, t, length, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    if (tfd_tensor_elements(&k->in[0]) == 0) {
        memset(tfd_tensor_data(&k->out[0]), 0, tfd_tensor_size(&k->out[0]));
        return TFD_OK;
    }
    w.lines.is_double =
        k->in[0].dtype == TFD_DOUBLE || k->in[0].dtype == TFD_COMPLEX128;
    axes_of(&k->in[0].shape, t->dims, in_size);
    w.in = tfd_fft_side(tfd_tensor_data(&k->in[0]), in_size,
                        t->form == TO_HALF ? TFD_FFT_REAL : TFD_FFT_COMPLEX);
    return run_axes(&w, st);
}

/* ---- Shapes while building ------------------------------------------------
 */

static enum tfd_code complex_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const struct transform *t = s->node ? transform_of(s->node->op->def) : NULL;
    char text[TFD_SHAPE_TEXT_MAX];

    if (t && s->in[0].rank >= 0 && s->in[0].rank < t->dims)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank %d but is rank %d: %s",
                        t->dims, s->in[0].rank,
                        tfd_shape_text(&s->in[0], text));
    s->out[0] = s->in[0];
    return TFD_OK;
}

/* Sizes that depend on a value are known when it is. */
static enum tfd_code real_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct transform *t = s->node ? transform_of(s->node->op->def) : NULL;
    const struct tfd_tensor *v = s->value ? s->value[1] : NULL;
    struct tfd_shape *y = &s->out[0];

    if (!t || s->in[0].rank < 0 || s->in[0].rank > TFD_RANK_MAX)
        return TFD_OK;
    TFD_TRY(complex_shape(s, st));
    for (int i = 0; i < t->dims; i++) {
        int64_t n = -1;

        if (v && v->shape.rank == 1 && v->shape.dim[0] == t->dims)
            n = tfd_check_int_at(v, i);
        if (n > 0 && t->form == TO_HALF && i == t->dims - 1)
            n = n / 2 + 1;
        y->dim[y->rank - t->dims + i] = n < 0 ? -1 : n;
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

/* The transform the other way, of as many dimensions. */
static const char *other_way(const struct transform *t, enum form form,
                             bool inverse)
{
    for (int i = 0; i < TFD_COUNT(transforms); i++)
        if (transforms[i].dims == t->dims && transforms[i].form == form &&
            transforms[i].inverse == inverse)
            return transforms[i].op;
    return NULL;
}

static enum tfd_code no_rank(const struct tfd_grad *g, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "the gradient of " TFD_STR_FMT " needs to know the rank of "
                    "its input",
                    TFD_STR_ARG(g->node->name));
}

/* The last `dims` of the shape of x, whose rank is known. */
static struct tfd_edge last_sizes(struct tfd_gradient *b, struct tfd_edge x,
                                  int rank, int dims)
{
    const int32_t begin = rank - dims, size = dims;

    return tfd_gradient_op3(b, "Slice", tfd_gradient_shape(b, x),
                            tfd_gradient_ints(b, &begin, 1),
                            tfd_gradient_ints(b, &size, 1));
}

/* The product of a vector of sizes. */
static struct tfd_edge product_as(struct tfd_gradient *b, struct tfd_edge sizes,
                                  enum tfd_dtype dtype)
{
    const int32_t axis = 0;

    return tfd_gradient_cast(
        b, tfd_gradient_op2(b, "Prod", sizes, tfd_gradient_ints(b, &axis, 1)),
        dtype);
}

/* x with zeros behind it: `more` of them in the last dimensions. */
static struct tfd_edge padded(struct tfd_gradient *b, struct tfd_edge x,
                              int rank, int dims, struct tfd_edge more)
{
    const int32_t before[2] = {rank - dims, 0}, column[2] = {-1, 1};
    const int32_t one_row[2] = {1, 2}, sides[2] = {0, 1};
    struct tfd_edge all, paddings;

    all = tfd_gradient_op2(b, "Pad", more,
                           tfd_gradient_op2(b, "Reshape",
                                            tfd_gradient_ints(b, before, 2),
                                            tfd_gradient_ints(b, one_row, 2)));
    all = tfd_gradient_op2(b, "Reshape", all, tfd_gradient_ints(b, column, 2));
    paddings = tfd_gradient_op2(b, "Mul", all, tfd_gradient_ints(b, sides, 2));
    return tfd_gradient_op2(b, "Pad", x, paddings);
}

/* Of a complex transform: the inverse one but for the factor. */
static enum tfd_code complex_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const struct transform *t = transform_of(g->node->op->def);
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge size, dx;
    struct tfd_shape shape;

    (void)tfd_grad_shape(g, g->x[0], &shape);
    if (shape.rank < 0)
        return no_rank(g, st);
    size = product_as(&b, last_sizes(&b, g->dy[0], shape.rank, t->dims),
                      tfd_gradient_dtype(&b, g->dy[0]));
    dx = tfd_gradient_op1(&b, other_way(t, COMPLEX, !t->inverse), g->dy[0]);
    g->dx[0] = tfd_gradient_op2(&b, t->inverse ? "RealDiv" : "Mul", dx, size);
    return b.code;
}

/* Of a transform to halves: the sum over what there is of the spectrum, of
 * which the real part counts. */
static enum tfd_code to_half_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    const struct transform *t = transform_of(g->node->op->def);
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum tfd_dtype dtype = tfd_gradient_dtype(&b, g->x[0]);
    struct tfd_edge length = g->x[1], dx;
    struct tfd_shape shape;

    (void)tfd_grad_shape(g, g->x[0], &shape);
    if (shape.rank < 0)
        return no_rank(g, st);
    dx =
        padded(&b, g->dy[0], shape.rank, t->dims,
               tfd_gradient_op2(&b, "Sub", length,
                                last_sizes(&b, g->dy[0], shape.rank, t->dims)));
    dx = tfd_gradient_op1(&b, other_way(t, COMPLEX, true), dx);
    dx = tfd_gradient_cast(&b, dx, dtype);
    dx = tfd_gradient_op2(&b, "Mul", dx, product_as(&b, length, dtype));
    g->dx[0] = padded(
        &b, dx, shape.rank, t->dims,
        tfd_gradient_op2(&b, "Sub",
                         last_sizes(&b, g->x[0], shape.rank, t->dims), length));
    return b.code;
}

/* 2 for the points of a half whose conjugates are the other half's, else 1. */
static struct tfd_edge weights_of_half(struct tfd_gradient *b,
                                       struct tfd_edge length, int dims,
                                       struct tfd_edge points,
                                       enum tfd_dtype real)
{
    const int32_t last = dims - 1, one = 1, zero = 0, two = 2;
    struct tfd_edge scalar = tfd_gradient_ints(b, NULL, 0), n, at, inside;

    n = tfd_gradient_op3(b, "Slice", length, tfd_gradient_ints(b, &last, 1),
                         tfd_gradient_ints(b, &one, 1));
    at = tfd_gradient_op3(b, "Range", tfd_gradient_ints(b, &zero, -1),
                          tfd_gradient_op2(b, "Reshape", points, scalar),
                          tfd_gradient_ints(b, &one, -1));
    inside = tfd_gradient_op2(
        b, "Minimum", at,
        tfd_gradient_op2(
            b, "Sub", n,
            tfd_gradient_op2(b, "Mul", at, tfd_gradient_ints(b, &two, -1))));
    inside =
        tfd_gradient_op2(b, "Greater", inside, tfd_gradient_ints(b, &zero, -1));
    inside = tfd_gradient_cast(b, inside, real);
    return tfd_gradient_op2(b, "AddV2", inside,
                            tfd_gradient_scalar(b, inside, 1));
}

static enum tfd_code from_half_gradient(struct tfd_grad *g,
                                        struct tfd_status *st)
{
    const struct transform *t = transform_of(g->node->op->def);
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    enum tfd_dtype real = tfd_gradient_dtype(&b, g->dy[0]);
    struct tfd_edge length = g->x[1], in[2] = {g->dy[0], g->x[1]};
    struct tfd_edge dx, weights;
    struct tfd_shape shape;

    (void)tfd_grad_shape(g, g->x[0], &shape);
    if (shape.rank < 0)
        return no_rank(g, st);
    dx = tfd_gradient_op_like(&b, other_way(t, TO_HALF, false), in, 2,
                              "Tcomplex");
    weights = weights_of_half(&b, length, t->dims,
                              last_sizes(&b, dx, shape.rank, 1), real);
    weights =
        tfd_gradient_op2(&b, "RealDiv", weights, product_as(&b, length, real));
    dx = tfd_gradient_op2(
        &b, "Mul", dx,
        tfd_gradient_cast(&b, weights, tfd_gradient_dtype(&b, dx)));
    g->dx[0] =
        padded(&b, dx, shape.rank, t->dims,
               tfd_gradient_op2(&b, "Sub",
                                last_sizes(&b, g->x[0], shape.rank, t->dims),
                                last_sizes(&b, dx, shape.rank, t->dims)));
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define COMPLEX_OP(name_)                                                    \
    {                                                                        \
        .name = (name_), .inputs = "input: Tcomplex",                        \
        .outputs = "output: Tcomplex",                                       \
        .attrs = "Tcomplex: {complex64, complex128} = DT_COMPLEX64",         \
        .key = "Tcomplex", .shape = complex_shape, .grad = complex_gradient, \
    }
#define REAL_OP(name_, in, out, grad_)                                 \
    {                                                                  \
        .name = (name_), .inputs = "input: " in ", fft_length: int32", \
        .outputs = "output: " out,                                     \
        .attrs = "Treal: {float, double} = DT_FLOAT; "                 \
                 "Tcomplex: {complex64, complex128} = DT_COMPLEX64",   \
        .key = in, .shape = real_shape, .grad = (grad_),               \
    }

static const struct tfd_opdef ops[] = {
    COMPLEX_OP("FFT"),
    COMPLEX_OP("FFT2D"),
    COMPLEX_OP("FFT3D"),
    COMPLEX_OP("IFFT"),
    COMPLEX_OP("IFFT2D"),
    COMPLEX_OP("IFFT3D"),
    REAL_OP("RFFT", "Treal", "Tcomplex", to_half_gradient),
    REAL_OP("RFFT2D", "Treal", "Tcomplex", to_half_gradient),
    REAL_OP("RFFT3D", "Treal", "Tcomplex", to_half_gradient),
    REAL_OP("IRFFT", "Tcomplex", "Treal", from_half_gradient),
    REAL_OP("IRFFT2D", "Tcomplex", "Treal", from_half_gradient),
    REAL_OP("IRFFT3D", "Tcomplex", "Treal", from_half_gradient),
};

#define ROW(op, type)                                         \
    TFD_KERNEL(op, type, fft_compute, .prepare = fft_prepare, \
               .state_size = sizeof(struct transform *))
#define FROM_COMPLEX(op) ROW(op, COMPLEX64), ROW(op, COMPLEX128)
#define FROM_REAL(op) ROW(op, FLOAT), ROW(op, DOUBLE)

static const struct tfd_kernel kernels[] = {
    FROM_COMPLEX("FFT"),   FROM_COMPLEX("FFT2D"),   FROM_COMPLEX("FFT3D"),
    FROM_COMPLEX("IFFT"),  FROM_COMPLEX("IFFT2D"),  FROM_COMPLEX("IFFT3D"),
    FROM_REAL("RFFT"),     FROM_REAL("RFFT2D"),     FROM_REAL("RFFT3D"),
    FROM_COMPLEX("IRFFT"), FROM_COMPLEX("IRFFT2D"), FROM_COMPLEX("IRFFT3D"),
};

const struct tfd_family tfd_family_fft = {
    .name = "fft",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
