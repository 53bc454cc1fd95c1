/*
 * edit_distance.c - EditDistance: how many insertions, deletions and
 * substitutions make one sequence of another, for each pair of rows of two
 * sparse tensors.
 *
 * Both are walked at once, row by row, in the order that they are in.  The
 * table of distances (Wagner and Fischer) is kept a line at a time.
 */
#include "common/base/half.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/sparse/sparse_pick.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Equal elements ------------------------------------------------------ */

typedef bool equal_fn(const void *x, int64_t i, const void *y, int64_t j);

#define EQUAL_REAL(name, number, T)                                   \
    static bool equal_##name(const void *x, int64_t i, const void *y, \
                             int64_t j)                               \
    {                                                                 \
        return ((const T *)x)[i] == ((const T *)y)[j];                \
    }
TFD_REAL_DTYPES(EQUAL_REAL)
EQUAL_REAL(BOOL, 10, tfd_bool)

#define EQUAL_NARROW(name, T, to)                                     \
    static bool equal_##name(const void *x, int64_t i, const void *y, \
                             int64_t j)                               \
    {                                                                 \
        return to(((const T *)x)[i]) == to(((const T *)y)[j]);        \
    }
EQUAL_NARROW(HALF, tfd_half, tfd_half_to_float)
EQUAL_NARROW(BFLOAT16, tfd_bfloat16, tfd_bfloat16_to_float)

#define EQUAL_COMPLEX(name, number, T)                                \
    static bool equal_##name(const void *x, int64_t i, const void *y, \
                             int64_t j)                               \
    {                                                                 \
        const T a = ((const T *)x)[i], b = ((const T *)y)[j];         \
                                                                      \
        return a.re == b.re && a.im == b.im;                          \
    }
TFD_COMPLEX_DTYPES(EQUAL_COMPLEX)

static bool equal_STRING(const void *x, int64_t i, const void *y, int64_t j)
{
    return tfd_str_eq(tfd_tstring_view((const struct tfd_tstring *)x + i),
                      tfd_tstring_view((const struct tfd_tstring *)y + j));
}

#define EQUAL_ROW(name, number, T) [TFD_##name] = equal_##name,

static equal_fn *const equals[TFD_DTYPE_END] = {
    TFD_REAL_DTYPES(EQUAL_ROW) TFD_HALF_DTYPES(EQUAL_ROW)
        TFD_COMPLEX_DTYPES(EQUAL_ROW)[TFD_BOOL] = equal_BOOL,
    [TFD_STRING] = equal_STRING,
};

/* ---- Checks -------------------------------------------------------------- */

static enum tfd_code check_edit_ranks(const struct tfd_kctx *k,
                                      struct tfd_status *st)
{
    static const char *const parts[] = {"indices", "values", "shape"};
    char text[TFD_SHAPE_TEXT_MAX];

    for (int part = 0; part < 3; part++)
        for (int truth = 0; truth < 2; truth++) {
            const struct tfd_shape *s = &k->in[3 * truth + part].shape;

            if (s->rank != (part == 0 ? 2 : 1))
                return tfd_fail(st, TFD_INVALID_ARGUMENT,
                                "%s_%s should be a %s, but got shape: %s",
                                truth ? "truth" : "hypothesis", parts[part],
                                part == 0 ? "matrix" : "vector",
                                tfd_shape_text(s, text));
        }
    return TFD_OK;
}

static enum tfd_code check_edit_sizes(const struct tfd_kctx *k, int in,
                                      const char *name, struct tfd_status *st)
{
    const struct tfd_shape *i = &k->in[in].shape, *v = &k->in[in + 1].shape,
                           *s = &k->in[in + 2].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];

    if (v->dim[0] != i->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %s_values.NumElements == "
                        "#rows(%s_indices), their shapes are: %s and %s",
                        name, name, tfd_shape_text(v, one),
                        tfd_shape_text(i, other));
    if (s->dim[0] != i->dim[1])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %s_shape.NumElements == "
                        "#cols(%s_indices), their shapes are: %s and %s",
                        name, name, tfd_shape_text(s, one),
                        tfd_shape_text(i, other));
    return TFD_OK;
}

static enum tfd_code check_edit(const struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *h = &k->in[2].shape, *t = &k->in[5].shape;
    char one[TFD_SHAPE_TEXT_MAX], other[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape dense;

    TFD_TRY(check_edit_ranks(k, st));
    TFD_TRY(check_edit_sizes(k, 0, "hypothesis", st));
    TFD_TRY(check_edit_sizes(k, 3, "truth", st));
    if (t->dim[0] < 2)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input SparseTensors must have rank at least 2, but "
                        "truth_shape rank is: %" PRId64,
                        t->dim[0]);
    if (t->dim[0] != h->dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected truth and hypothesis to have matching ranks, "
                        "but their shapes are: %s and %s",
                        tfd_shape_text(t, one), tfd_shape_text(h, other));
    TFD_TRY(tfd_check_shape(k, 2, false, &dense, st));
    return tfd_check_shape(k, 5, false, &dense, st);
}

/* ---- Distances ----------------------------------------------------------- */

struct editing {
    struct tfd_sparse hypothesis, truth;
    equal_fn *equal;
    bool normalize;
    struct tfd_shape shape; /* of the result */
    float *y;
    int64_t *line; /* one more than the longest row */
};

/* Where the row ends that begins with this element. */
static int64_t row_end(const struct tfd_sparse *s, int64_t begin)
{
    int64_t end = begin + 1;

    while (end < s->count &&
           tfd_sparse_compare(s->index + begin * s->rank,
                              s->index + end * s->rank, s->rank - 1) == 0)
        end++;
    return end;
}

static int64_t longest_row(const struct tfd_sparse *s)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < s->count;) {
        int64_t end = row_end(s, i);

        longest = end - i > longest ? end - i : longest;
        i = end;
    }
    return longest;
}

/* Of elements [h, h_end) and [t, t_end); -1 where the step has ended. */
static int64_t levenshtein(const struct editing *e, int64_t h, int64_t h_end,
                           int64_t t, int64_t t_end)
{
    const void *x = tfd_tensor_data(e->hypothesis.values),
               *y = tfd_tensor_data(e->truth.values);
    const int64_t width = t_end - t;
    int64_t *line = e->line;

    for (int64_t j = 0; j <= width; j++)
        line[j] = j;
    for (int64_t i = 1; i <= h_end - h; i++) {
        int64_t corner = line[0];

        if (tfd_halted())
            return -1;
        line[0] = i;
        for (int64_t j = 1; j <= width; j++) {
            const int64_t above = line[j];
            int64_t best = corner + !e->equal(x, h + i - 1, y, t + j - 1);

            best = above + 1 < best ? above + 1 : best;
            best = line[j - 1] + 1 < best ? line[j - 1] + 1 : best;
            corner = above;
            line[j] = best;
        }
    }
    return line[width];
}

static enum tfd_code put_distance(const struct editing *e, const int64_t *index,
                                  float distance, struct tfd_status *st)
{
    const int64_t count = tfd_shape_elements(&e->shape);
    uint64_t at = 0;

    for (int d = 0; d < e->shape.rank; d++)
        at = at * (uint64_t)e->shape.dim[d] + (uint64_t)index[d];
    if (at >= (uint64_t)count)
        return tfd_fail(st, TFD_INTERNAL,
                        "Got an inner product %" PRId64
                        " which would require writing to outside of the buffer "
                        "for the output tensor (max elements %" PRId64 ")",
                        (int64_t)at, count);
    e->y[at] = distance;
    return TFD_OK;
}

/* Of a row that one of both lacks: it is made of nothing, or to nothing. */
static float distance_alone(const struct editing *e, int64_t count, bool truth)
{
    if (!e->normalize)
        return (float)count;
    return truth ? 1 : (count ? INFINITY : 0);
}

static enum tfd_code walk_rows(const struct editing *e, struct tfd_status *st)
{
    const struct tfd_sparse *h = &e->hypothesis, *t = &e->truth;
    int64_t i = 0, j = 0, end_h = 0, end_t = 0;

    while (i < h->count || j < t->count) {
        const int64_t *at_h = h->index + i * h->rank,
                      *at_t = t->index + j * t->rank;
        const int order = i == h->count ? 1
                          : j == t->count
                              ? -1
                              : tfd_sparse_compare(at_h, at_t, h->rank - 1);
        int64_t distance;

        if (tfd_halted())
            return tfd_halt_fail(st);
        if (end_h == i && i < h->count)
            end_h = row_end(h, i);
        if (end_t == j && j < t->count)
            end_t = row_end(t, j);
        if (order != 0) {
            TFD_TRY(put_distance(
                e, order < 0 ? at_h : at_t,
                distance_alone(e, order < 0 ? end_h - i : end_t - j, order > 0),
                st));
        } else {
            distance = levenshtein(e, i, end_h, j, end_t);
            if (distance < 0)
                return tfd_halt_fail(st);
            TFD_TRY(put_distance(
                e, at_h,
                (float)distance / (e->normalize ? (float)(end_t - j) : 1), st));
        }
        i = order <= 0 ? end_h : i;
        j = order >= 0 ? end_t : j;
    }
    return TFD_OK;
}

/* ---- The op -------------------------------------------------------------- */

static enum tfd_code make_edit_output(struct tfd_kctx *k, struct editing *e,
                                      struct tfd_status *st)
{
    const struct tfd_sparse *h = &e->hypothesis, *t = &e->truth;
    int64_t dim[TFD_RANK_MAX];
    char text[TFD_SHAPE_TEXT_MAX];

    for (int d = 0; d < h->rank - 1; d++)
        dim[d] = h->dim[d] > t->dim[d] ? h->dim[d] : t->dim[d];
    TFD_TRY(tfd_shape_make(&e->shape, dim, h->rank - 1, st));
    if (tfd_shape_elements(&e->shape) == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Got output shape %s which has 0 elements",
                        tfd_shape_text(&e->shape, text));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &e->shape, st));
    tfd_elements_clear(&k->out[0]);
    e->y = tfd_tensor_data(&k->out[0]);
    return tfd_halted() ? tfd_halt_fail(st) : TFD_OK;
}

static enum tfd_code edit_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_tensor line = TFD_TENSOR_INIT;
    struct editing e = {.equal = equals[k->in[1].dtype]};
    enum tfd_code rc;

    TFD_TRY(tfd_node_bool(k->node, "normalize", &e.normalize, st));
    TFD_TRY(check_edit(k, st));
    TFD_TRY(tfd_sparse_read(k, 0, &e.hypothesis, st));
    TFD_TRY(tfd_sparse_read(k, 3, &e.truth, st));
    TFD_TRY(make_edit_output(k, &e, st));
    TFD_TRY(tfd_sparse_numbers(&line, longest_row(&e.truth) + 1, st));
    e.line = tfd_tensor_data(&line);
    rc = walk_rows(&e, st);
    tfd_tensor_unref(&line);
    return rc;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "EditDistance",
        .inputs = "hypothesis_indices: int64, hypothesis_values: T, "
                  "hypothesis_shape: int64, truth_indices: int64, "
                  "truth_values: T, truth_shape: int64",
        .outputs = "output: float",
        .attrs = "normalize: bool = true; T: type",
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define EDIT(name, number, T) TFD_KERNEL("EditDistance", name, edit_compute),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(EDIT) TFD_HALF_DTYPES(EDIT) TFD_COMPLEX_DTYPES(EDIT)
        TFD_KERNEL("EditDistance", BOOL, edit_compute),
    TFD_KERNEL("EditDistance", STRING, edit_compute),
};

const struct tfd_family tfd_family_edit_distance = {
    .name = "edit_distance",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
