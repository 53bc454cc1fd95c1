/*
 * mirror_pad.c - borders that mirror what they stand at: MirrorPad, and
 * MirrorPadGrad, which adds the border back onto what it mirrors.
 *
 *     REFLECT     c b [a b c] b a      the edge itself is the mirror
 *     SYMMETRIC   b a [a b c] c b      the mirror stands outside of the edge
 *
 * MirrorPad copies row by row; rows of the border are rows of the middle.  The
 * gradient folds one dimension after the other in a copy of its input.
 */
#include "kernels/array/mirror_pad.h"

#include "kernels/math/binary.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/lines.h"

#include "common/base/atomic.h"
#include "common/base/alloc.h"

#include <string.h>

enum tfd_code tfd_mirror_pad_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct tfd_mirror_pad_state *s = state;
    struct tfd_str mode;

    TFD_TRY(tfd_node_str(p->node, "mode", &mode, st));
    s->edge = tfd_str_eq(mode, TFD_STR("REFLECT"));
    return TFD_OK;
}

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_pad_rank(const struct tfd_kctx *k,
                                    struct tfd_status *st)
{
    if (k->in[0].shape.rank > TFD_MIRROR_PAD_RANK_MAX)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "inputs rank not in [0,%d]: %d",
                        TFD_MIRROR_PAD_RANK_MAX, k->in[0].shape.rank);
    return TFD_OK;
}

static const struct tfd_pad_words mirror_words = {"paddings", "", ","};
static const struct tfd_pad_words fold_words = {"Paddings", ",", ""};

/* A border mirrors at most what there is in the middle. */
static enum tfd_code check_border(const struct tfd_pad *p,
                                  const struct tfd_shape *middle, int64_t edge,
                                  const char *side, struct tfd_status *st)
{
    for (int d = 0; d < middle->rank; d++) {
        int64_t most = middle->dim[d] - edge;

        if (p->before[d] > most || p->after[d] > most)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "paddings must be %s than the %sdimension size: "
                            "%lld, %lld %s than %lld",
                            edge ? "less" : "no greater", side,
                            (long long)p->before[d], (long long)p->after[d],
                            edge ? "not less" : "greater",
                            (long long)middle->dim[d]);
    }
    return TFD_OK;
}

/* ---- MirrorPad ----------------------------------------------------------- */

struct mirror {
    const struct tfd_pad *p;
    const struct tfd_shape *in, *out;
    enum tfd_dtype dtype;
    int64_t edge;
    const void *x;
    void *y;
    bool past; /* the caches */
    int failed;
};

/* Row of the input that is row i of the result. */
static int64_t source_row(const struct mirror *m, int64_t i)
{
    int64_t row = 0, step = 1;

    for (int d = m->in->rank - 2; d >= 0; d--) {
        int64_t at = i % m->out->dim[d];

        i /= m->out->dim[d];
        row += step * tfd_mirror_pad_source(at, m->p->before[d], m->in->dim[d],
                                            m->edge);
        step *= m->in->dim[d];
    }
    return row;
}

/* The border is read from what has been copied, which is near. */
static enum tfd_code copy_row(const struct mirror *m, const void *x, void *y)
{
    int last = m->in->rank - 1;
    int64_t n = m->in->dim[last], before = m->p->before[last];
    int64_t after = m->p->after[last];
    enum tfd_dtype t = m->dtype;
    void *middle = tfd_element_at(y, t, before);

    TFD_TRY(tfd_elements_copy(t, middle, x, n, NULL));
    if (before)
        TFD_TRY(tfd_elements_gather(
            t, y,
            tfd_element_of(middle, t,
                           tfd_mirror_pad_source(0, before, n, m->edge)),
            -1, before, NULL));
    if (after)
        TFD_TRY(tfd_elements_gather(
            t, tfd_element_at(middle, t, n),
            tfd_element_of(
                middle, t,
                tfd_mirror_pad_source(before + n, before, n, m->edge)),
            -1, after, NULL));
    return TFD_OK;
}

/* Rows from i on, so many, at y or where they are made. */
static void mirror_rows(struct mirror *m, int64_t i, int64_t rows, void *y)
{
    int last = m->in->rank - 1;

    for (int64_t j = 0; j < rows; j++) {
        const void *x = tfd_element_of(m->x, m->dtype,
                                       source_row(m, i + j) * m->in->dim[last]);

        if (copy_row(m, x,
                     tfd_element_at(y, m->dtype, j * m->out->dim[last])) !=
            TFD_OK)
            TFD_STORE_RELAXED(&m->failed, 1);
    }
}

/* Past the caches some at a time (lines.h). */
static void copy_mirrored(void *arg, int64_t begin, int64_t end)
{
    _Alignas(64) char place[TFD_LINES_PLACE];
    struct mirror *m = arg;
    const int64_t row = m->out->dim[m->in->rank - 1];
    const int64_t size = row * (int64_t)tfd_dtype_size(m->dtype);

    if (!m->past) {
        mirror_rows(m, begin, end - begin,
                    tfd_element_at(m->y, m->dtype, begin * row));
        return;
    }
    for (int64_t i = begin, n; i < end; i += n) {
        char *y = (char *)m->y + i * size;
        char *to = tfd_lines_block(place, y);

        n = end - i < TFD_LINES_SIZE / size ? end - i : TFD_LINES_SIZE / size;
        mirror_rows(m, i, n, to);
        tfd_lines_put(y, to, n * size);
    }
    tfd_lines_end();
}

static bool goes_past(const struct mirror *m, int64_t row)
{
    const int64_t size = (int64_t)tfd_dtype_size(m->dtype);

    return tfd_dtype_is_pod(m->dtype) && row * size <= TFD_LINES_SIZE &&
           tfd_lines_worth(tfd_shape_elements(m->out) * size,
                           tfd_shape_elements(m->in) * size);
}

static int64_t edge_of(const struct tfd_kctx *k)
{
    return ((const struct tfd_mirror_pad_state *)k->state)->edge;
}

enum tfd_code tfd_mirror_pad_begin(struct tfd_kctx *k, struct tfd_pad *p,
                                   bool *done, struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    struct tfd_shape out;

    TFD_TRY(check_pad_rank(k, st));
    TFD_TRY(tfd_pad_paddings(k, &mirror_words, p, st));
    TFD_TRY(check_border(p, &in, edge_of(k), "", st));
    TFD_TRY(tfd_pad_shape_out(&in, p, &out, st));
    *done = tfd_shape_equal(&in, &out);
    if (*done) {
        tfd_kctx_output_alias(k, 0, 0, &out);
        return TFD_OK;
    }
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

static enum tfd_code mirror_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape in = k->in[0].shape;
    struct tfd_shape out;
    struct tfd_pad p;
    struct mirror m = {.p = &p,
                       .in = &in,
                       .out = &out,
                       .dtype = k->in[0].dtype,
                       .edge = edge_of(k)};
    int64_t row;
    bool done;

    TFD_TRY(tfd_mirror_pad_begin(k, &p, &done, st));
    if (done)
        return TFD_OK;
    out = k->out[0].shape;
    if (tfd_shape_elements(&out) == 0)
        return TFD_OK;
    m.x = tfd_tensor_data(&k->in[0]);
    m.y = tfd_tensor_data(&k->out[0]);
    row = out.dim[out.rank - 1];
    m.past = goes_past(&m, row);
    tfd_kctx_parallel(k, tfd_shape_elements(&out) / row,
                      row < 1000000 ? (int)row + 20 : 1000000, copy_mirrored,
                      &m);
    if (m.failed)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when copying elements of type %s",
                        tfd_dtype_name((int)m.dtype));
    return TFD_OK;
}

/* ---- MirrorPadGrad ------------------------------------------------------- */

/* What is left of a shape without its border. */
static enum tfd_code middle_of(const struct tfd_shape *in,
                               const struct tfd_pad *p, struct tfd_shape *out,
                               struct tfd_status *st)
{
    *out = *in;
    for (int d = 0; d < in->rank; d++) {
        int64_t both;

        if (__builtin_add_overflow(p->before[d], p->after[d], &both) ||
            both >= in->dim[d])
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Total paddings must be less than the input "
                "dimension size: %lld was not less than %lld",
                (long long)((uint64_t)p->before[d] + (uint64_t)p->after[d]),
                (long long)in->dim[d]);
        out->dim[d] -= both;
    }
    return TFD_OK;
}

struct fold {
    enum tfd_dtype dtype;
    tfd_range_fn *add;
    int64_t before, after, middle; /* of the dimension being folded */
    int64_t inner;                 /* elements of one place along it */
    int64_t edge;
};

/* Adds the border of one outer place onto its middle. */
static void fold_one(const struct fold *f, char *x)
{
    int64_t size = f->before + f->middle + f->after;
    int failed = 0;

    for (int64_t i = 0; i < size; i++) {
        int64_t at =
            tfd_mirror_pad_source(i, f->before, f->middle, f->edge) + f->before;
        char *to = tfd_element_at(x, f->dtype, at * f->inner);
        struct tfd_row row = {.a = to,
                              .b = tfd_element_at(x, f->dtype, i * f->inner),
                              .y = to,
                              .a_step = 1,
                              .b_step = 1,
                              .failed = &failed};

        if (at != i)
            f->add(&row, 0, f->inner);
    }
}

/* Folds dimension d of all, and moves what is left to the front. */
static void fold_dim(const struct fold *f, char *data, int64_t outer)
{
    int64_t size = f->before + f->middle + f->after;
    size_t bytes = (size_t)(f->middle * f->inner) * tfd_dtype_size(f->dtype);

    for (int64_t o = 0; o < outer; o++) {
        char *x = tfd_element_at(data, f->dtype, o * size * f->inner);

        fold_one(f, x);
        memmove(tfd_element_at(data, f->dtype, o * f->middle * f->inner),
                tfd_element_at(x, f->dtype, f->before * f->inner), bytes);
    }
}

static void fold_all(const struct tfd_shape *in, const struct tfd_shape *out,
                     const struct tfd_pad *p, struct fold *f, char *data)
{
    int64_t outer = 1;

    for (int d = 0; d < in->rank; d++) {
        f->inner = 1;
        for (int i = d + 1; i < in->rank; i++)
            f->inner *= in->dim[i];
        f->before = p->before[d];
        f->after = p->after[d];
        f->middle = out->dim[d];
        if (f->before || f->after)
            fold_dim(f, data, outer);
        outer *= f->middle;
    }
}

enum tfd_code tfd_mirror_pad_grad_begin(struct tfd_kctx *k, struct tfd_pad *p,
                                        struct tfd_status *st)
{
    struct tfd_shape out;

    TFD_TRY(check_pad_rank(k, st));
    TFD_TRY(tfd_pad_paddings(k, &fold_words, p, st));
    TFD_TRY(middle_of(&k->in[0].shape, p, &out, st));
    TFD_TRY(check_border(p, &out, edge_of(k), "output ", st));
    return tfd_kctx_output(k, 0, k->in[0].dtype, &out, st);
}

static enum tfd_code fold_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct fold f = {.dtype = x->dtype,
                     .add = tfd_binary_add_loop(x->dtype),
                     .edge = edge_of(k)};
    struct tfd_buffer *copy;
    struct tfd_pad p;

    TFD_TRY(tfd_mirror_pad_grad_begin(k, &p, st));
    copy = tfd_buffer_new(tfd_tensor_size(x));
    if (!copy)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating %zu bytes to fold a border",
                        tfd_tensor_size(x));
    memcpy(copy->data, tfd_tensor_data(x), tfd_tensor_size(x));
    fold_all(&x->shape, &k->out[0].shape, &p, &f, copy->data);
    memcpy(tfd_tensor_data(&k->out[0]), copy->data,
           tfd_tensor_size(&k->out[0]));
    tfd_buffer_unref(copy);
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code mirror_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[1]};

    g->dx[0] = tfd_gradient_op_like(&b, "MirrorPadGrad", in, 2, "mode");
    return b.code;
}

static enum tfd_code fold_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    const struct tfd_edge in[] = {g->dy[0], g->x[1]};

    g->dx[0] = tfd_gradient_op_like(&b, "MirrorPad", in, 2, "mode");
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

#define OP(name_, shape_, grad_)                                   \
    {                                                              \
        .name = name_, .inputs = "input: T, paddings: Tpaddings",  \
        .outputs = "output: T",                                    \
        .attrs = "T: type; Tpaddings: {int32, int64} = DT_INT32; " \
                 "mode: {'REFLECT', 'SYMMETRIC'}",                 \
        .shape = shape_, .grad = grad_,                            \
    }

static const struct tfd_opdef ops[] = {
    OP("MirrorPad", tfd_pad_infer, mirror_gradient),
    OP("MirrorPadGrad", tfd_pad_infer_back, fold_gradient),
};

#define STATE                          \
    .prepare = tfd_mirror_pad_prepare, \
    .state_size = sizeof(struct tfd_mirror_pad_state)
#define FOLD(name, number, T) \
    TFD_KERNEL("MirrorPadGrad", name, fold_compute, STATE),

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("MirrorPad", mirror_compute, STATE),
    TFD_REAL_DTYPES(FOLD) TFD_HALF_DTYPES(FOLD) TFD_COMPLEX_DTYPES(FOLD)};

const struct tfd_family tfd_family_mirror_pad = {
    .name = "mirror_pad",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
