/*
 * topk.c - TopK, TopKV2, ApproxTopK.
 *
 * The k best of a row are kept in a heap whose root is the worst of them, so
 * that nearly every element of a long row costs one comparison with the root;
 * taken apart it gives them in order.  Of equal values the first is better.
 * Where a large part of a long row is wanted, the row is sorted instead, unless
 * it has a NaN, which only the heap's comparisons have a place for.  Rows are
 * shared among threads.  An unsorted result is sorted, too.
 */
#include "kernels/reduce/topk.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/gradient.h"
#include "kernels/reduce/radix.h"
#include "kernels/vector/type_rows.h"

struct job {
    const void *x;
    void *values;
    int64_t *index; /* [rows][k] */
    int64_t columns, k;
    enum tfd_dtype dtype;
    tfd_range_fn *heap; /* of this type */
};

#define BETTER(a, b) \
    (WIDE(x[a]) > WIDE(x[b]) || (WIDE(x[a]) == WIDE(x[b]) && (a) < (b)))

#define ROWS(name, T)                                                    \
    /* heap[at] may be better than those below it: moves it down. */     \
    static inline void sift_##name(const T *x, int64_t *heap, int64_t n, \
                                   int64_t at)                           \
    {                                                                    \
        int64_t moved = heap[at], child;                                 \
                                                                         \
        while ((child = 2 * at + 1) < n) {                               \
            if (child + 1 < n && BETTER(heap[child], heap[child + 1]))   \
                child++;                                                 \
            if (!BETTER(moved, heap[child]))                             \
                break;                                                   \
            heap[at] = heap[child];                                      \
            at = child;                                                  \
        }                                                                \
        heap[at] = moved;                                                \
    }                                                                    \
                                                                         \
    static void top_##name(const T *x, int64_t columns, int64_t *heap,   \
                           int64_t k)                                    \
    {                                                                    \
        for (int64_t i = 0; i < k; i++)                                  \
            heap[i] = i;                                                 \
        for (int64_t i = k / 2 - 1; i >= 0; i--)                         \
            sift_##name(x, heap, k, i);                                  \
        for (int64_t i = k; k > 0 && i < columns; i++)                   \
            if (WIDE(x[i]) > WIDE(x[heap[0]])) {                         \
                heap[0] = i;                                             \
                sift_##name(x, heap, k, 0);                              \
            }                                                            \
        for (int64_t n = k - 1; n > 0; n--) {                            \
            int64_t worst = heap[0];                                     \
                                                                         \
            heap[0] = heap[n];                                           \
            heap[n] = worst;                                             \
            sift_##name(x, heap, n, 0);                                  \
        }                                                                \
    }                                                                    \
                                                                         \
    static void rows_##name(void *arg, int64_t begin, int64_t end)       \
    {                                                                    \
        const struct job *j = arg;                                       \
                                                                         \
        for (int64_t row = begin; row < end; row++) {                    \
            const T *x = (const T *)j->x + row * j->columns;             \
            int64_t *index = j->index + row * j->k;                      \
            T *values = (T *)j->values + row * j->k;                     \
                                                                         \
            top_##name(x, j->columns, index, j->k);                      \
            for (int64_t i = 0; i < j->k; i++)                           \
                values[i] = x[index[i]];                                 \
        }                                                                \
    }

#define ROWS_REAL(X, name, T) X(name, T)

#define WIDE(v) (v)
TFD_REAL_ROWS(ROWS_REAL, ROWS)
#undef WIDE
#define WIDE(v) tfd_half_to_float(v)
ROWS(HALF, tfd_half)
#undef WIDE
#define WIDE(v) tfd_bfloat16_to_float(v)
ROWS(BFLOAT16, tfd_bfloat16)
#undef WIDE

/* ---- Long rows ----------------------------------------------------------- */

/* Columns from which sorting is ahead, where one in SORTED_PART is wanted. */
#define SORTED_MIN 512
#define SORTED_PART 8
#define SORT_NS 10 /* per column */

static bool is_sorted_whole(const struct job *j)
{
    return j->columns >= SORTED_MIN && j->k >= j->columns / SORTED_PART &&
           j->columns <= TFD_RADIX_MAX;
}

#define DEFINE_PICK(T)                                                      \
    static void pick_##T(const void *from, const int64_t *index, int64_t n, \
                         void *to)                                          \
    {                                                                       \
        const T *x = from;                                                  \
        T *y = to;                                                          \
                                                                            \
        for (int64_t i = 0; i < n; i++)                                     \
            y[i] = x[index[i]];                                             \
    }

DEFINE_PICK(uint8_t)
DEFINE_PICK(uint16_t)
DEFINE_PICK(uint32_t)
DEFINE_PICK(uint64_t)

static void pick(size_t size, const void *x, const int64_t *index, int64_t n,
                 void *y)
{
    if (size == 1)
        pick_uint8_t(x, index, n, y);
    else if (size == 2)
        pick_uint16_t(x, index, n, y);
    else if (size == 4)
        pick_uint32_t(x, index, n, y);
    else
        pick_uint64_t(x, index, n, y);
}

/* The heap needs no memory: it takes over where there is none. */
static void sort_rows(void *arg, int64_t begin, int64_t end)
{
    struct job *j = arg;
    const size_t size = tfd_dtype_size(j->dtype);
    const struct tfd_shape bytes = {
        1, {(int64_t)tfd_radix_scratch(j->dtype, j->columns)}};
    struct tfd_tensor scratch = TFD_TENSOR_INIT;
    bool have = tfd_tensor_new(&scratch, TFD_UINT8, &bytes, NULL) == TFD_OK;

    for (int64_t row = begin; row < end; row++) {
        const char *x = (const char *)j->x + (size_t)(row * j->columns) * size;
        int64_t *index = j->index + row * j->k;

        if (have && tfd_radix_falling(j->dtype, x, j->columns, j->k, index,
                                      tfd_tensor_data(&scratch)))
            pick(size, x, index, j->k,
                 (char *)j->values + (size_t)(row * j->k) * size);
        else if (!tfd_halted())
            j->heap(j, row, row + 1);
    }
    tfd_tensor_unref(&scratch);
}

/* ---- The operation ------------------------------------------------------- */

enum tfd_code tfd_topk_prepare(const struct tfd_prepare *p, void *state,
                               struct tfd_status *st)
{
    return tfd_node_int(p->node, "k", state, st);
}

enum tfd_code tfd_topk_read_k(const struct tfd_kctx *k, int in,
                              const char *must, int64_t *out,
                              struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "k must be %s, got shape %s",
                        must, tfd_shape_text(&k->in[in].shape, text));
    if (k->in[in].dtype == TFD_INT16)
        *out = *(const int16_t *)tfd_tensor_data(&k->in[in]);
    else
        TFD_TRY(tfd_check_int(k, in, out, st));
    return TFD_OK;
}

static enum tfd_code check_k(const struct tfd_shape *x, int64_t count,
                             struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    if (count < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Need k >= 0, got %lld",
                        (long long)count);
    if (x->rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must be >= 1-D, got shape %s",
                        tfd_shape_text(x, text));
    if (x->dim[x->rank - 1] < count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input must have at least k columns. Had %lld, needed "
                        "%lld",
                        (long long)x->dim[x->rank - 1], (long long)count);
    return TFD_OK;
}

static void narrow(const struct tfd_tensor *to, const int64_t *from, int64_t n)
{
    int16_t *small = tfd_tensor_data(to);
    int32_t *medium = tfd_tensor_data(to);

    for (int64_t i = 0; to->dtype == TFD_INT16 && i < n; i++)
        small[i] = (int16_t)from[i];
    for (int64_t i = 0; to->dtype == TFD_INT32 && i < n; i++)
        medium[i] = (int32_t)from[i];
}

/* Nanoseconds for a row; what the heap adds is no more than twice that. */
static int row_cost(int64_t columns)
{
    return columns < 1000000 ? (int)columns + 20 : 1000000;
}

enum tfd_code tfd_topk_outputs(struct tfd_kctx *k, int64_t *columns,
                               int64_t *count, struct tfd_status *st)
{
    enum tfd_dtype index = k->node->out_types[1];
    struct tfd_shape shape = k->in[0].shape;

    if (k->in_count > 1)
        TFD_TRY(tfd_topk_read_k(k, 1, "scalar", count, st));
    else
        *count = *(const int64_t *)k->state;
    TFD_TRY(check_k(&shape, *count, st));
    *columns = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] = *count;
    if ((index == TFD_INT16 && *columns > INT16_MAX + 1) ||
        (index == TFD_INT32 && *columns > INT64_C(1) << 31))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld columns cannot be numbered in type %s",
                        (long long)*columns, tfd_dtype_name((int)index));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    return tfd_kctx_output(k, 1, index, &shape, st);
}

static enum tfd_code top_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    enum tfd_dtype index = k->node->out_types[1];
    struct tfd_tensor wide = TFD_TENSOR_INIT;
    struct job j = {.k = 0};
    int64_t n;

    TFD_TRY(tfd_topk_outputs(k, &j.columns, &j.k, st));
    n = tfd_tensor_elements(&k->out[0]);
    if (n == 0)
        return TFD_OK;
    if (index != TFD_INT64)
        TFD_TRY(tfd_tensor_new(&wide, TFD_INT64, &k->out[0].shape, st));
    j.x = tfd_tensor_data(&k->in[0]);
    j.values = tfd_tensor_data(&k->out[0]);
    j.index = tfd_tensor_data(index == TFD_INT64 ? &k->out[1] : &wide);
    j.dtype = k->in[0].dtype;
    j.heap = k->kernel->range;
    if (is_sorted_whole(&j))
        tfd_kctx_parallel(k, n / j.k, SORT_NS * row_cost(j.columns), sort_rows,
                          &j);
    else
        tfd_kctx_parallel(k, n / j.k, row_cost(j.columns), j.heap, &j);
    narrow(&k->out[1], j.index, n);
    tfd_tensor_unref(&wide);
    return TFD_OK;
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code top_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *k =
        s->in_count > 1 && s->value ? s->value[1] : NULL;
    struct tfd_shape out = s->in[0];
    int64_t count = TFD_DIM_UNKNOWN;

    if (out.rank == TFD_RANK_UNKNOWN)
        return TFD_OK;
    if (out.rank < 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at least rank 1 but is rank 0");
    if (s->in_count == 1 && s->node)
        TFD_TRY(tfd_node_int(s->node, "k", &count, st));
    else if (k && tfd_tensor_elements(k) == 1 && k->dtype != TFD_INT16)
        count = tfd_check_int_at(k, 0);
    out.dim[out.rank - 1] = count < 0 ? TFD_DIM_UNKNOWN : count;
    s->out[0] = s->out[1] = out;
    return TFD_OK;
}

/* ---- Gradient ------------------------------------------------------------ */

/* The last number of a shape, as a vector of one. */
static struct tfd_edge last_dim(struct tfd_gradient *b, struct tfd_edge x,
                                struct tfd_edge shape)
{
    static const int32_t one = 1, zero = 0;
    struct tfd_edge at = tfd_gradient_op2(
        b, "ExpandDims",
        tfd_gradient_op2(b, "Sub", tfd_gradient_op1(b, "Rank", x),
                         tfd_gradient_ints(b, &one, -1)),
        tfd_gradient_ints(b, &zero, -1));

    return tfd_gradient_op3(b, "Slice", shape, at,
                            tfd_gradient_ints(b, &one, 1));
}

/* Each value's gradient to the place that it came from: rows and indices are
 * brought to one number, and the rest is zero. */
static enum tfd_code top_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    static const int32_t zero = 0, one = 1, all = -1;
    struct tfd_gradient b = tfd_gradient_begin(g, st);
    struct tfd_edge shape = tfd_gradient_shape(&b, g->x[0]);
    struct tfd_edge columns = last_dim(&b, g->x[0], shape);
    struct tfd_edge count =
        last_dim(&b, g->y[1], tfd_gradient_shape(&b, g->y[1]));
    struct tfd_edge rows, starts, size, places;

    rows = tfd_gradient_op2(
        &b, "Reshape", tfd_gradient_cast(&b, g->y[1], TFD_INT32),
        tfd_gradient_op3(&b, "ConcatV2", tfd_gradient_ints(&b, &all, 1), count,
                         tfd_gradient_ints(&b, &zero, -1)));
    size = tfd_gradient_op2(&b, "Prod", shape, tfd_gradient_ints(&b, &zero, 1));
    starts =
        tfd_gradient_op3(&b, "Range", tfd_gradient_ints(&b, &zero, -1), size,
                         tfd_gradient_op2(&b, "Reshape", columns,
                                          tfd_gradient_ints(&b, NULL, 0)));
    places =
        tfd_gradient_op2(&b, "AddV2", rows,
                         tfd_gradient_op2(&b, "ExpandDims", starts,
                                          tfd_gradient_ints(&b, &one, -1)));
    places = tfd_gradient_op2(
        &b, "ExpandDims",
        tfd_gradient_op2(&b, "Reshape", places, tfd_gradient_ints(&b, &all, 1)),
        tfd_gradient_ints(&b, &one, -1));
    g->dx[0] = tfd_gradient_op2(
        &b, "Reshape",
        tfd_gradient_op3(&b, "ScatterNd", places,
                         tfd_gradient_op2(&b, "Reshape", g->dy[0],
                                          tfd_gradient_ints(&b, &all, 1)),
                         tfd_gradient_op2(&b, "ExpandDims", size,
                                          tfd_gradient_ints(&b, &zero, -1))),
        shape);
    return b.code;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "TopK",
        .inputs = "input: T",
        .outputs = "values: T, indices: int32",
        .attrs = "k: int >= 0; sorted: bool = true; T: realnumbertype",
        .shape = top_shape,
        .grad = top_gradient,
    },
    {
        .name = "TopKV2",
        .inputs = "input: T, k: Tk",
        .outputs = "values: T, indices: index_type",
        .attrs = "sorted: bool = true; T: realnumbertype; "
                 "Tk: {int16, int32, int64} = DT_INT32; "
                 "index_type: {int16, int32, int64} = DT_INT32",
        .shape = top_shape,
        .grad = top_gradient,
    },
    {
        .name = "ApproxTopK",
        .inputs = "input: T",
        .outputs = "values: T, indices: int32",
        .attrs = "k: int >= 0; reduction_dimension: int = -1; "
                 "recall_target: float = 0.95; is_max_k: bool = true; "
                 "reduction_input_size_override: int = -1; "
                 "aggregate_to_topk: bool = true; T: {half, bfloat16, float}",
        .shape = tfd_approx_topk_shape,
        .grad = tfd_approx_topk_gradient,
    },
};

#define TOP(name, number, T)                                                \
    TFD_KERNEL("TopK", name, top_compute, rows_##name,                      \
               .prepare = tfd_topk_prepare, .state_size = sizeof(int64_t)), \
        TFD_KERNEL("TopKV2", name, top_compute, rows_##name),

#define APPROX(name)                                         \
    TFD_KERNEL("ApproxTopK", name, top_compute, rows_##name, \
               .prepare = tfd_approx_topk_prepare,           \
               .state_size = sizeof(int64_t)),

static const struct tfd_kernel kernels[] = {TFD_REAL_DTYPES(
    TOP) TFD_HALF_DTYPES(TOP) APPROX(HALF) APPROX(BFLOAT16) APPROX(FLOAT)};

const struct tfd_family tfd_family_topk = {
    .name = "topk",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
