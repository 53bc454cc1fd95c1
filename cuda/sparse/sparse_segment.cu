/*
 * sparse_segment.cu - SparseSegment<X>, SparseSegment<X>WithNumSegments and
 * their gradients, of kernels/sparse/sparse_segment.c.
 *
 * Segments are found in their ids, which are in order; picks of a gradient are
 * sorted by the row that they go to.  Where the number of rows of the output is
 * known, indices and ids are not checked, as in TensorFlow: what is out of
 * range is left out.  Where it is not, the host waits for it anyway and hears
 * of the first mistake.
 */
#include "cuda/device/later.cuh"
#include "cuda/lib/row_sums.cuh"

extern "C" {
#include "kernels/sparse/sparse_segment.h"
}

namespace
{

/* What the sum of a segment is multiplied by. */
template <typename W>
__device__ inline W scale_of(enum tfd_segment_norm norm, int64_t count)
{
    if (norm == TFD_SEGMENT_NORM_SUM || count < 1)
        return 1;
    return 1 / (norm == TFD_SEGMENT_NORM_MEAN ? (W)count : sqrt((W)count));
}

static enum tfd_segment_norm norm_of(const struct tfd_kctx *k)
{
    return *(const enum tfd_segment_norm *)k->state;
}

/* Makes output 0 with so many rows, all zero. */
static enum tfd_code make_rows(struct tfd_kctx *k, int64_t rows, int64_t *inner,
                               struct tfd_status *st)
{
    struct tfd_shape shape = k->in[0].shape;
    struct tfd_tensor *y = &k->out[0];

    shape.dim[0] = rows;
    TFD_TRY(tfd_shape_make(&shape, shape.dim, shape.rank, st));
    TFD_TRY(tfd_kctx_output(k, 0, k->in[0].dtype, &shape, st));
    *inner = rows ? tfd_shape_elements(&shape) / rows : 0;
    if (!y->buffer)
        return TFD_OK;
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                 (int)cudaMemsetAsync(tfd_tensor_data(y), 0,
                                                      tfd_tensor_size(y),
                                                      stream_of(k)),
                                 k->kernel->op, st);
}

/* ---- What is wrong ------------------------------------------------------- */

enum mistake { NO_INDEX, NO_SEGMENT, NO_ORDER, MISTAKES };

/* The first mistake: its place times MISTAKES, and which. */
struct inspection {
    struct ints indices, ids;
    int64_t rows, segments;
    bool in_order;
};

static __device__ inline int mistake_of(const struct inspection &c, int64_t i)
{
    if (c.indices[i] < 0 || c.indices[i] >= c.rows)
        return NO_INDEX;
    if (c.ids[i] < 0 || c.ids[i] >= c.segments)
        return NO_SEGMENT;
    return c.in_order && i > 0 && c.ids[i - 1] > c.ids[i] ? NO_ORDER : MISTAKES;
}

template <typename N>
__global__ void inspect(struct inspection c, int64_t n, N *first, N *last)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int mistake = mistake_of(c, i);

        if (mistake != MISTAKES)
            atomicMin(first, (N)(i * MISTAKES + mistake));
        if (i == n - 1)
            *last = (N)c.ids[i];
    }
}

/* number[0] becomes the mistake, -1 for none; number[1] the last id. */
static enum tfd_code run_inspect(struct tfd_kctx *k, struct inspection c,
                                 int64_t n, struct later *l,
                                 struct tfd_status *st)
{
    unsigned long long *number = (unsigned long long *)later_numbers(l);

    TFD_TRY(tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(number, 0xff, sizeof(*number), stream_of(k)),
        k->kernel->op, st));
    inspect<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(c, n, number,
                                                            number + 1);
    return launched(k, st);
}

static enum tfd_code report(int64_t mistake, const struct inspection &c,
                            struct tfd_status *st)
{
    long long at = (long long)(mistake / MISTAKES);

    if (mistake < 0)
        return TFD_OK;
    if (mistake % MISTAKES == NO_ORDER)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "segment ids are not increasing");
    if (mistake % MISTAKES == NO_INDEX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "indices[%lld] out of range [0, %lld)", at,
                        (long long)c.rows);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "segment_ids[%lld] out of range [0, %lld)", at,
                    (long long)c.segments);
}

/* ---- Forward ------------------------------------------------------------- */

template <typename T> struct segments {
    struct ints indices, ids;
    const T *x;
    int64_t n, rows, inner, count;
    enum tfd_segment_norm norm;

    /* The first place whose id is not below. */
    __device__ int64_t find(int64_t id) const
    {
        int64_t low = 0, high = n;

        while (low < high) {
            int64_t middle = low + (high - low) / 2;

            if (ids[middle] < id)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
    __device__ int64_t groups() const
    {
        return count;
    }
    __device__ int64_t row(int64_t group) const
    {
        return group;
    }
    __device__ struct row_range range(int64_t group) const
    {
        return {find(group), find(group + 1)};
    }
    bool is_packed(int) const
    {
        return is_aligned(x, x, x);
    }
    template <int N>
    __device__ void add(int64_t i, int64_t column, wide<T> *sum) const
    {
        int64_t from = indices[i];
        wide<T> v[N];

        if (from < 0 || from >= rows)
            return;
        load_pack<N>(x + from * inner + column, v);
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] += v[j];
    }
    __device__ wide<T> scaled(wide<T> sum, struct row_range r) const
    {
        return sum * scale_of<wide<T>>(norm, r.end - r.begin);
    }
};

template <typename T>
static enum tfd_code sum_segments(struct tfd_kctx *k, int64_t count,
                                  struct tfd_status *st)
{
    int64_t n = k->in[1].shape.dim[0], inner;

    TFD_TRY(make_rows(k, count, &inner, st));
    if (!k->out[0].buffer || n == 0)
        return TFD_OK;
    return run_sums(k,
                    segments<T>{ints_at(k, 1), ints_at(k, 2), in_at<T>(k, 0), n,
                                k->in[0].shape.dim[0], inner, count,
                                norm_of(k)},
                    out_at<T>(k, 0), n, count, inner, st);
}

template <typename T>
static enum tfd_code counted_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t count;

    TFD_TRY(tfd_sparse_segment_check(k, st));
    TFD_TRY(tfd_sparse_segment_rows(k, &count, st));
    return sum_segments<T>(k, count, st);
}

static struct inspection of_segments(const struct tfd_kctx *k)
{
    return {ints_at(k, 1), ints_at(k, 2), k->in[0].shape.dim[0], INT64_MAX,
            true};
}

template <typename T>
static enum tfd_code segments_then(struct tfd_kctx *k, struct later *l,
                                   struct tfd_status *st)
{
    TFD_TRY(report(l->number[0], of_segments(k), st));
    return sum_segments<T>(k, l->number[1] + 1, st);
}

template <typename T>
static enum tfd_code segments_first(struct tfd_kctx *k, struct later *l,
                                    struct tfd_status *st)
{
    int64_t n;

    TFD_TRY(tfd_sparse_segment_check(k, st));
    n = k->in[1].shape.dim[0];
    if (n == 0)
        return sum_segments<T>(k, 0, st);
    l->then = segments_then<T>;
    return run_inspect(k, of_segments(k), n, l, st);
}

template <typename T> static void segments_start(struct tfd_kctx *k)
{
    later_start(k, segments_first<T>, 2, 0);
}

/* ---- Backward ------------------------------------------------------------ */

template <typename T> struct arrivals {
    struct picks p;
    struct ints ids;
    const T *x;
    const unsigned *size; /* of each segment */
    int64_t segments, inner, rows;
    enum tfd_segment_norm norm;
    bool packed; /* rows without an arrival are left out of the output */

    __device__ int64_t groups() const
    {
        return *p.groups;
    }
    __device__ int64_t row(int64_t group) const
    {
        int64_t row = (int64_t)p.pick[p.head[group]].row();

        if (row >= rows)
            return -1;
        return packed ? group : row;
    }
    __device__ struct row_range range(int64_t group) const
    {
        return {p.head[group], group + 1 < groups() ? p.head[group + 1] : p.n};
    }
    bool is_packed(int) const
    {
        return is_aligned(x, x, x);
    }
    template <int N>
    __device__ void add(int64_t i, int64_t column, wide<T> *sum) const
    {
        int64_t from = ids[p.pick[i].place()];
        wide<T> v[N], scale;

        if (from < 0 || from >= segments)
            return;
        scale = scale_of<wide<T>>(norm, size ? size[from] : 1);
        load_pack<N>(x + from * inner + column, v);
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] += v[j] * scale;
    }
    __device__ wide<T> scaled(wide<T> sum, struct row_range) const
    {
        return sum;
    }
};

struct to_index {
    struct ints indices;

    __device__ int64_t operator()(int64_t i) const
    {
        return indices[i];
    }
};

template <typename N>
__global__ void count_ids(struct ints ids, int64_t n, int64_t segments, N *size)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t id = ids[i];

        if (id >= 0 && id < segments)
            atomicAdd(&size[id], (N)1);
    }
}

/* Work memory: picks, then the sizes of segments. */
static size_t backward_size(const struct tfd_kctx *k)
{
    return picks_size(k->in[1].shape.dim[0]) +
           (size_t)k->in[0].shape.dim[0] * sizeof(unsigned);
}

static unsigned *sizes_in(const struct tfd_kctx *k, void *work)
{
    return (unsigned *)((char *)work + picks_size(k->in[1].shape.dim[0]));
}

static enum tfd_code count_sizes(struct tfd_kctx *k, unsigned *size,
                                 struct tfd_status *st)
{
    int64_t n = k->in[1].shape.dim[0], segments = k->in[0].shape.dim[0];

    if (norm_of(k) == TFD_SEGMENT_NORM_SUM || segments == 0)
        return TFD_OK;
    TFD_TRY(tfd_cuda_device_check(
        tfd_cuda_device_of(k->memory),
        (int)cudaMemsetAsync(size, 0, (size_t)segments * sizeof(*size),
                             stream_of(k)),
        k->kernel->op, st));
    count_ids<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(ints_at(k, 2), n,
                                                              segments, size);
    return launched(k, st);
}

template <typename T>
static enum tfd_code sum_arrivals(struct tfd_kctx *k, const struct picks *p,
                                  void *work, int64_t rows, int64_t inner,
                                  bool packed, struct tfd_status *st)
{
    bool sized = norm_of(k) != TFD_SEGMENT_NORM_SUM;
    int64_t groups = p->n < rows + 1 ? p->n : rows + 1;

    return run_sums(k,
                    arrivals<T>{*p, ints_at(k, 2), in_at<T>(k, 0),
                                sized ? sizes_in(k, work) : nullptr,
                                k->in[0].shape.dim[0], inner, rows, norm_of(k),
                                packed},
                    out_at<T>(k, 0), p->n, groups, inner, st);
}

template <typename T>
static enum tfd_code run_backward(struct tfd_kctx *k, struct tfd_buffer *b,
                                  int64_t rows, int64_t inner,
                                  struct tfd_status *st)
{
    int64_t *groups = (int64_t *)b->data;
    void *work = groups + 1;
    struct picks p = picks_in(work, groups, k->in[1].shape.dim[0]);

    TFD_TRY(picks_order(k, to_index{ints_at(k, 1)}, &p, rows, st));
    TFD_TRY(count_sizes(k, sizes_in(k, work), st));
    return sum_arrivals<T>(k, &p, work, rows, inner, false, st);
}

template <typename T>
static enum tfd_code backward_gpu(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_buffer *b;
    int64_t rows, inner;
    enum tfd_code rc;

    TFD_TRY(tfd_sparse_segment_check(k, st));
    TFD_TRY(tfd_sparse_segment_rows(k, &rows, st));
    TFD_TRY(picks_check(k, k->in[1].shape.dim[0], rows, st));
    TFD_TRY(make_rows(k, rows, &inner, st));
    if (!k->out[0].buffer || k->in[1].shape.dim[0] == 0)
        return TFD_OK;
    b = k->memory->make(k->memory, sizeof(int64_t) + backward_size(k), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    rc = run_backward<T>(k, b, rows, inner, st);
    tfd_buffer_unref(b);
    return rc;
}

/* ---- Backward, without rows that are zero -------------------------------- */

/* number[2] becomes the number of rows. */
static struct picks picks_of(const struct tfd_kctx *k, struct later *l)
{
    return picks_in(later_work<void>(l), later_numbers(l) + 2,
                    k->in[1].shape.dim[0]);
}

struct row_number {
    struct picks p;

    __device__ int64_t operator()(int64_t group) const
    {
        return (int64_t)p.pick[p.head[group]].row();
    }
};

static enum tfd_code make_numbers(struct tfd_kctx *k, const struct picks *p,
                                  int64_t groups, struct tfd_status *st)
{
    struct tfd_shape vector = {1, {groups}};

    TFD_TRY(tfd_kctx_output(k, 1, k->in[1].dtype, &vector, st));
    if (k->in[1].dtype == TFD_INT64)
        return run_index(k, row_number{*p}, out_at<int64_t>(k, 1), groups, st);
    return run_index(k, row_number{*p}, out_at<int32_t>(k, 1), groups, st);
}

static struct inspection of_arrivals(const struct tfd_kctx *k, int64_t rows)
{
    return {ints_at(k, 1), ints_at(k, 2), rows, k->in[0].shape.dim[0], false};
}

template <typename T>
static enum tfd_code packed_then(struct tfd_kctx *k, struct later *l,
                                 struct tfd_status *st)
{
    struct picks p = picks_of(k, l);
    int64_t rows, inner;

    TFD_TRY(tfd_sparse_segment_rows(k, &rows, st));
    TFD_TRY(report(l->number[0], of_arrivals(k, rows), st));
    TFD_TRY(make_numbers(k, &p, l->number[2], st));
    TFD_TRY(make_rows(k, l->number[2], &inner, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    return sum_arrivals<T>(k, &p, later_work<void>(l), rows, inner, true, st);
}

template <typename T>
static enum tfd_code packed_first(struct tfd_kctx *k, struct later *l,
                                  struct tfd_status *st)
{
    struct picks p = {};
    int64_t rows, inner, n;

    TFD_TRY(tfd_sparse_segment_check(k, st));
    TFD_TRY(tfd_sparse_segment_rows(k, &rows, st));
    n = k->in[1].shape.dim[0];
    TFD_TRY(picks_check(k, n, rows, st));
    if (n == 0) {
        TFD_TRY(make_numbers(k, &p, 0, st));
        return make_rows(k, 0, &inner, st);
    }
    l->then = packed_then<T>;
    p = picks_of(k, l);
    TFD_TRY(run_inspect(k, of_arrivals(k, rows), n, l, st));
    TFD_TRY(picks_order(k, to_index{ints_at(k, 1)}, &p, rows, st));
    return count_sizes(k, sizes_in(k, later_work<void>(l)), st);
}

template <typename T> static void packed_start(struct tfd_kctx *k)
{
    bool fits = k->in[0].shape.rank > 0 && k->in[1].shape.rank > 0;

    later_start(k, packed_first<T>, 3, fits ? backward_size(k) : 0);
}

/* ---- Rows ---------------------------------------------------------------- */

#define STATE tfd_sparse_segment_prepare, sizeof(enum tfd_segment_norm)
#define ROWS_OF(op, name, T)                                               \
    later_row(op, TFD_##name, segments_start<T>, 0, STATE),                \
        row(op "WithNumSegments", TFD_##name, counted_gpu<T>, HOST_ARG(3), \
            STATE),                                                        \
        row(op "Grad", TFD_##name, backward_gpu<T>, HOST_ARG(3), STATE),   \
        later_row(op "GradV2", TFD_##name, packed_start<T>, HOST_ARG(3),   \
                  STATE),
#define ROWS(name, T)                     \
    ROWS_OF("SparseSegmentSum", name, T)  \
    ROWS_OF("SparseSegmentMean", name, T) \
    ROWS_OF("SparseSegmentSqrtN", name, T)

static const struct tfd_kernel kernels[] = {CUDA_FLOAT_DTYPES(ROWS)};

} /* namespace */

CUDA_FAMILY_OF(sparse_segment);
