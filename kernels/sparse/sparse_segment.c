/*
 * sparse_segment.c - rows chosen by number and folded by segment:
 * SparseSegment<X>, SparseSegment<X>WithNumSegments and their gradients.
 *
 * Forward, segment s is the sum of data[indices[i]] over the i with
 * segment_ids[i] = s; backward, row r is the sum of grad[segment_ids[i]] over
 * the i with indices[i] = r.  Both are picks (from which row, to which),
 * ordered by where they go, so that each row of the output is summed by one
 * thread, in the order of i: forward they arrive in this order, backward
 * sparse_segment_back.c sorts them.
 */
#include "kernels/sparse/sparse_segment.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/layout/rows.h"
#include "kernels/sparse/segment_loops.h"
#include "kernels/sparse/sparse_segment_sums.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *word;
    enum tfd_segment_norm norm;
} norms[] = {{"Sum", TFD_SEGMENT_NORM_SUM},
             {"Mean", TFD_SEGMENT_NORM_MEAN},
             {"SqrtN", TFD_SEGMENT_NORM_SQRT_N}};

enum tfd_code tfd_sparse_segment_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    for (int i = 0; i < TFD_COUNT(norms); i++)
        if (strstr(p->node->op->name.data, norms[i].word)) {
            *(enum tfd_segment_norm *)state = norms[i].norm;
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INTERNAL, "no norm behind op %s",
                    p->node->op->name.data);
}

double tfd_segment_scale(enum tfd_segment_norm norm, int64_t count)
{
    if (norm == TFD_SEGMENT_NORM_SUM || count < 1)
        return 1;
    return 1 / (norm == TFD_SEGMENT_NORM_MEAN ? (double)count
                                              : sqrt((double)count));
}

/* ---- Sums ---------------------------------------------------------------- */

enum tfd_code tfd_segment_sums_output(struct tfd_kctx *k,
                                      struct tfd_segment_sums *f,
                                      struct tfd_status *st)
{
    const struct tfd_tensor *in = &k->in[0];
    struct tfd_shape shape = in->shape;
    int64_t elements;

    shape.dim[0] = f->rows;
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &shape, st));
    elements = tfd_tensor_elements(&k->out[0]);
    f->picks.list = f->list;
    f->picks.index = tfd_tensor_data(&k->in[1]);
    f->picks.index_type = k->in[1].dtype;
    f->picks.x = tfd_tensor_data(in);
    f->picks.y = tfd_tensor_data(&k->out[0]);
    f->picks.inner = f->rows > 0 ? elements / f->rows : 0;
    f->sum = tfd_picks_sum_of(in->dtype, &f->picks);
    return TFD_OK;
}

int tfd_segment_row_cost(const struct tfd_segment_sums *f)
{
    return f->picks.inner < 10000 ? (int)(f->picks.inner / 16) + 1 : 600;
}

/* ---- What arrives -------------------------------------------------------- */

/* Input 3 says how many rows the output has, by a name of each op's own. */
static enum tfd_code rows_not_scalar(const struct tfd_kctx *k,
                                     struct tfd_status *st)
{
    struct tfd_str name = k->node->op->in[3].name;
    char text[TFD_SHAPE_TEXT_MAX];

    if (tfd_str_is(name, "num_segments"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_segments should be a scalar, not shape %s",
                        tfd_shape_text(&k->in[3].shape, text));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " should be a scalar.", TFD_STR_ARG(name));
}

enum tfd_code tfd_sparse_segment_check(const struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    if (k->in[0].shape.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s",
                        k->kernel && strstr(k->kernel->op, "Grad")
                            ? "Index must be less than 0, got 0"
                            : "Shape must be at least rank 1");
    if (k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices should be a vector.");
    if (k->in[2].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "segment_ids should be a vector.");
    if (k->in[1].shape.dim[0] != k->in[2].shape.dim[0])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "segment_ids and indices should have same size.");
    if (k->in_count > 3 && k->in[3].shape.rank != 0)
        return rows_not_scalar(k, st);
    return TFD_OK;
}

static enum tfd_code bad_index(bool forward, int64_t at, int64_t value,
                               int64_t limit, struct tfd_status *st)
{
    if (!forward)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Index %" PRId64 " out of range [0, %" PRId64 ").",
                        value, limit);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Bad: indices[%" PRId64 "] == %" PRId64
                    " out of range [0, %" PRId64 ")",
                    at, value, limit);
}

/* counted: the op is told how many segments there are. */
static enum tfd_code bad_segment(bool forward, bool counted, int64_t value,
                                 int64_t limit, struct tfd_status *st)
{
    if (value >= limit && (counted || !forward))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s",
                        forward ? "segment ids must be < num_segments"
                                : "Invalid number of segments");
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Segment id %" PRId64 " out of range [0, %" PRId64 ")%s",
                    value, limit,
                    forward ? ", possibly because 'segment_ids' input is not "
                              "sorted."
                            : ".");
}

enum tfd_code tfd_segment_check_pick(const struct tfd_kctx *k, bool forward,
                                     int64_t i, const int64_t limit[2],
                                     struct tfd_status *st)
{
    int64_t row = tfd_check_int_at(&k->in[1], i);
    int64_t id = tfd_check_int_at(&k->in[2], i);

    if (row < 0 || row >= limit[0])
        return bad_index(forward, i, row, limit[0], st);
    if (id < 0 || id >= limit[1])
        return bad_segment(forward, k->in_count > 3, id, limit[1], st);
    return TFD_OK;
}

enum tfd_code tfd_sparse_segment_rows(const struct tfd_kctx *k, int64_t *rows,
                                      struct tfd_status *st)
{
    TFD_TRY(tfd_check_int(k, 3, rows, st));
    if (*rows < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "segment ids must be >= 0");
    return TFD_OK;
}

/* ---- Forward ------------------------------------------------------------- */

static enum tfd_code not_increasing(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "segment ids are not increasing");
}

/* Of n ids, which may begin below zero. */
static enum tfd_code check_order(const struct tfd_tensor *ids, int64_t n,
                                 struct tfd_status *st)
{
    if (tfd_segment_increases(ids))
        return TFD_OK;
    for (int64_t i = 1; i < n; i++)
        if (tfd_check_int_at(ids, i - 1) > tfd_check_int_at(ids, i))
            return not_increasing(st);
    return TFD_OK;
}

static enum tfd_code count_segments(const struct tfd_kctx *k, int64_t n,
                                    int64_t *count, struct tfd_status *st)
{
    const struct tfd_tensor *ids = &k->in[2];

    TFD_TRY(check_order(ids, n, st));
    *count = n ? tfd_check_int_at(ids, n - 1) : -1;
    /* The last id plus one counts rows, for TensorFlow in an int32. */
    if (*count >= INT32_MAX && k->in_count < 4)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Last segment id must be < kintmax, got %lld limit %d",
                        (long long)*count, INT32_MAX);
    if (*count == INT64_MAX)
        return bad_segment(true, true, *count, INT64_MAX, st);
    ++*count;
    return k->in_count < 4 ? TFD_OK : tfd_sparse_segment_rows(k, count, st);
}

/* Ids increase, so that the first and the last say of all whether they are
 * within the limit; if one is not, or an index, the first such pick is told. */
static enum tfd_code check_picks(struct tfd_kctx *k,
                                 const struct tfd_segment_sums *f,
                                 struct tfd_status *st)
{
    const int64_t limit[2] = {k->in[0].shape.dim[0], f->rows};
    const struct tfd_tensor *ids = &k->in[2];

    if (f->count == 0 || (tfd_check_int_at(ids, 0) >= 0 &&
                          tfd_check_int_at(ids, f->count - 1) < f->rows &&
                          tfd_rows_bad_in(k, &k->in[1], limit[0]) == f->count))
        return TFD_OK;
    for (int64_t i = 0; i < f->count; i++)
        TFD_TRY(tfd_segment_check_pick(k, true, i, limit, st));
    return TFD_OK;
}

/* The first pick from `at` on that begins a segment, or their number. */
static int64_t next_segment(const struct tfd_segment_sums *f, int64_t at)
{
    while (at > 0 && at < f->count &&
           tfd_segment_id_at(f, at) == tfd_segment_id_at(f, at - 1))
        at++;
    return at;
}

/* Rows [begin, end) of the output, where nothing goes. */
static void zero_rows(const struct tfd_kctx *k, int64_t begin, int64_t end)
{
    const struct tfd_tensor *y = &k->out[0];
    const int64_t inner = tfd_tensor_elements(y) / y->shape.dim[0];

    if (begin < end)
        tfd_elements_zero(
            y->dtype,
            tfd_element_at(tfd_tensor_data(y), y->dtype, begin * inner),
            (end - begin) * inner);
}

struct forward {
    const struct tfd_kctx *k;
    const struct tfd_segment_sums *f;
};

/* The segments that begin at picks [begin, end), and the rows before each that
 * have none. */
static void sum_segments(void *arg, int64_t begin, int64_t end)
{
    const struct forward *job = arg;
    const struct tfd_segment_sums *f = job->f;

    for (int64_t at = next_segment(f, begin), next; at < end; at = next) {
        const int64_t row = tfd_segment_id_at(f, at);

        next = next_segment(f, at + 1);
        zero_rows(job->k, at > 0 ? tfd_segment_id_at(f, at - 1) + 1 : 0, row);
        f->sum(&f->picks, at, next, row, tfd_segment_scale(f->norm, next - at));
    }
}

static enum tfd_code forward_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_segment_sums f = {.norm =
                                     *(const enum tfd_segment_norm *)k->state};
    struct forward job = {k, &f};

    TFD_TRY(tfd_sparse_segment_check(k, st));
    f.count = k->in[1].shape.dim[0];
    f.ids = tfd_tensor_data(&k->in[2]);
    f.wide_ids = k->in[2].dtype == TFD_INT64;
    TFD_TRY(count_segments(k, f.count, &f.rows, st));
    TFD_TRY(check_picks(k, &f, st));
    TFD_TRY(tfd_segment_sums_output(k, &f, st));
    if (tfd_tensor_elements(&k->out[0]) == 0)
        return TFD_OK;
    tfd_kctx_parallel(k, f.count, tfd_segment_row_cost(&f), sum_segments, &job);
    zero_rows(k, f.count > 0 ? tfd_segment_id_at(&f, f.count - 1) + 1 : 0,
              f.rows);
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static enum tfd_code gradient_of(struct tfd_grad *g, const char *op,
                                 struct tfd_status *st)
{
    static const int32_t zero = 0;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge first = tfd_gradient_ints(&b, &zero, -1);
    struct tfd_edge in[4] = {g->dy[0], g->x[1], g->x[2],
                             tfd_gradient_op3(&b, "GatherV2",
                                              tfd_gradient_shape(&b, g->x[0]),
                                              first, first)};

    g->dx[0] = tfd_gradient_op(&b, op, in, 4);
    return b.code;
}

#define GRADIENT(name, op)                                               \
    static enum tfd_code name(struct tfd_grad *g, struct tfd_status *st) \
    {                                                                    \
        return gradient_of(g, op, st);                                   \
    }

GRADIENT(sum_gradient, "SparseSegmentSumGrad")
GRADIENT(mean_gradient, "SparseSegmentMeanGrad")
GRADIENT(sqrt_n_gradient, "SparseSegmentSqrtNGrad")

/* ---- Shapes -------------------------------------------------------------- */

/* [rows] and what is behind the first dimension of input 0. */
static enum tfd_code rows_shape(struct tfd_shape_ctx *s, int64_t rows,
                                struct tfd_status *st)
{
    struct tfd_shape ids = {1, {TFD_DIM_UNKNOWN}}, out = s->in[0];

    TFD_TRY(tfd_shape_merge(&ids, &s->in[1], st));
    TFD_TRY(tfd_shape_merge(&ids, &s->in[2], st));
    if (out.rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (out.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    out.dim[0] = rows;
    return tfd_shape_make_partial(&s->out[0], out.dim, out.rank, st);
}

static enum tfd_code segments_shape(struct tfd_shape_ctx *s,
                                    struct tfd_status *st)
{
    return rows_shape(s, TFD_DIM_UNKNOWN, st);
}

/* Input 3 is the number of rows of the output. */
static enum tfd_code counted_shape(struct tfd_shape_ctx *s,
                                   struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    const struct tfd_tensor *count = s->value ? s->value[3] : NULL;
    struct tfd_shape shape = s->in[3];
    int64_t rows = TFD_DIM_UNKNOWN;

    TFD_TRY(tfd_shape_merge(&shape, &scalar, st));
    if (count)
        rows = tfd_check_int_at(count, 0);
    if (count && rows < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Cannot specify a negative value: %" PRId64, rows);
    return rows_shape(s, rows, st);
}

static enum tfd_code unique_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    s->out[1] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    return rows_shape(s, TFD_DIM_UNKNOWN, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define FLOATS "{bfloat16, half, float, double}"
#define IDS                               \
    "; Tidx: {int32, int64} = DT_INT32; " \
    "Tsegmentids: {int32, int64} = DT_INT32"

#define OPS(word, types, gradient)                                            \
    {                                                                         \
        .name = "SparseSegment" word,                                         \
        .inputs = "data: T, indices: Tidx, segment_ids: Tsegmentids",         \
        .outputs = "output: T",                                               \
        .attrs = "T: " types IDS "; sparse_gradient: bool = false",           \
        .shape = segments_shape,                                              \
        .grad = gradient,                                                     \
    },                                                                        \
        {                                                                     \
            .name = "SparseSegment" word "WithNumSegments",                   \
            .inputs = "data: T, indices: Tidx, segment_ids: Tsegmentids, "    \
                      "num_segments: Tnumsegments",                           \
            .outputs = "output: T",                                           \
            .attrs =                                                          \
                "T: " types IDS "; Tnumsegments: {int32, int64} = DT_INT32; " \
                "sparse_gradient: bool = false",                              \
            .shape = counted_shape,                                           \
            .grad = gradient,                                                 \
        },                                                                    \
        {                                                                     \
            .name = "SparseSegment" word "Grad",                              \
            .inputs = "grad: T, indices: Tidx, segment_ids: Tsegmentids, "    \
                      "output_dim0: int32",                                   \
            .outputs = "output: T",                                           \
            .attrs = "T: " FLOATS IDS,                                        \
            .shape = counted_shape,                                           \
        },                                                                    \
    {                                                                         \
        .name = "SparseSegment" word "GradV2",                                \
        .inputs = "grad: T, indices: Tidx, segment_ids: Tsegmentids, "        \
                  "dense_output_dim0: int32",                                 \
        .outputs = "output: T, sorted_unique_indices: Tidx",                  \
        .attrs = "T: " FLOATS IDS, .shape = unique_shape,                     \
    }

static const struct tfd_opdef ops[] = {
    OPS("Sum", "realnumbertype", sum_gradient),
    OPS("Mean", FLOATS, mean_gradient),
    OPS("SqrtN", FLOATS, sqrt_n_gradient),
};

#define ROW(op, name, compute)                        \
    TFD_KERNEL("SparseSegment" op, name, compute,     \
               .prepare = tfd_sparse_segment_prepare, \
               .state_size = sizeof(enum tfd_segment_norm))
#define FORWARD(word, name)           \
    ROW(word, name, forward_compute), \
        ROW(word "WithNumSegments", name, forward_compute)
#define BACKWARD(word, name)                       \
    ROW(word "Grad", name, tfd_segment_sums_back), \
        ROW(word "GradV2", name, tfd_segment_sums_back_rows)

#define SUMS(name, number, T) FORWARD("Sum", name),
#define OTHERS(name, number, T)                                           \
    FORWARD("Mean", name), FORWARD("SqrtN", name), BACKWARD("Sum", name), \
        BACKWARD("Mean", name), BACKWARD("SqrtN", name),

static const struct tfd_kernel kernels[] = {
    TFD_REAL_DTYPES(SUMS) TFD_HALF_DTYPES(SUMS) TFD_FLOAT_DTYPES(OTHERS)
        TFD_HALF_DTYPES(OTHERS)};

const struct tfd_family tfd_family_sparse_segment = {
    .name = "sparse_segment",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
