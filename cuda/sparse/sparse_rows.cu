/*
 * sparse_rows.cu - SparseReorder, SparseFillEmptyRows and its gradient of
 * kernels/sparse/sparse_rows.c.  Shapes are the host's.
 *
 * SparseReorder sorts by the place in the dense tensor, equal places by that in
 * the input.
 *
 * SparseFillEmptyRows orders its elements by their rows, and lists the empty
 * rows; the host waits for how many of those there are.  Then an element moves
 * by the number of empty rows before its own, an empty row's by the number of
 * elements before it.
 *
 * The gradient of the default value is a sum in an order that sizes alone
 * decide: the same bits in every run.
 */
#include "cuda/lib/fold_matrix.cuh"
#include "cuda/lib/item.cuh"
#include "cuda/device/later.cuh"
#include "cuda/lib/row_sums.cuh"

extern "C" {
#include "kernels/sparse/sparse_rows.h"
}

namespace
{

/* ---- SparseReorder ------------------------------------------------------- */

struct make_place {
    const int64_t *index;
    int64_t n;
    int rank;
    int64_t dim[TFD_RANK_MAX];

    __device__ struct sort_entry operator()(int64_t i) const
    {
        uint64_t key = 0;

        if (i >= n)
            return {UINT64_MAX, UINT64_MAX};
        for (int d = 0; d < rank; d++)
            key = key * (uint64_t)dim[d] + (uint64_t)index[i * rank + d];
        return {key, (uint64_t)i};
    }
};

template <typename T>
__global__ void take_entries(const struct sort_entry *entry, int64_t n,
                             int rank, const int64_t *index, const T *x,
                             int64_t *places, T *y)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t from = (int64_t)entry[i].index;

        for (int d = 0; d < rank; d++)
            places[i * rank + d] = index[from * rank + d];
        y[i] = x[from];
    }
}

template <typename T>
static enum tfd_code take(struct tfd_kctx *k, const struct tfd_sparse *s,
                          const struct sort_entry *entry, struct tfd_status *st)
{
    take_entries<<<blocks_for(k, s->count), THREADS, 0, stream_of(k)>>>(
        entry, s->count, s->rank, s->index, in_at<T>(k, 1),
        out_at<int64_t>(k, 0), out_at<T>(k, 1));
    return launched(k, st);
}

static enum tfd_code sort_and_take(struct tfd_kctx *k,
                                   const struct tfd_sparse *s,
                                   struct sort_entry *entry,
                                   struct tfd_status *st)
{
    int64_t length = sort_length(s->count);
    struct make_place make = {s->index, s->count, s->rank, {}};

    for (int d = 0; d < s->rank; d++)
        make.dim[d] = s->dim[d];
    TFD_TRY(run_index(k, make, entry, length, st));
    TFD_TRY(sort_rows(k, entry, 1, length, st));
    return BY_SIZE(tfd_dtype_size(k->in[1].dtype), take, k, s, entry, st);
}

static enum tfd_code reorder(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_buffer *b;
    struct tfd_sparse s;
    enum tfd_code code;

    TFD_TRY(tfd_sparse_read(k, 0, &s, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &k->in[0].shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[1].dtype, &k->in[1].shape, st));
    if (s.count == 0)
        return TFD_OK;
    b = k->memory->make(
        k->memory, (size_t)sort_length(s.count) * sizeof(struct sort_entry),
        st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    code = sort_and_take(k, &s, (struct sort_entry *)b->data, st);
    /* What gets the memory next is enqueued behind. */
    tfd_buffer_unref(b);
    return code;
}

/* ---- SparseFillEmptyRows ------------------------------------------------- */

struct filling {
    struct tfd_sparse s;
    int64_t rows;
    struct pick *pick; /* elements by rows */
    int64_t *empty;    /* rows, `empties` of them */
    int64_t *count;    /* for scan_count() */
    int64_t empties;
};

static size_t filling_size(int64_t n, int64_t rows)
{
    return (size_t)(sort_length(n + 1) + rows + SCAN_PIECES) * sizeof(int64_t);
}

static struct filling filling_in(const struct later *l,
                                 const struct tfd_sparse *s)
{
    struct filling f = {*s,      s->dim[0], later_work<struct pick>(l),
                        nullptr, nullptr,   0};

    f.empty = (int64_t *)(f.pick + sort_length(s->count + 1));
    f.count = f.empty + f.rows;
    return f;
}

struct row_of {
    const int64_t *index;
    int rank;

    __device__ int64_t operator()(int64_t i) const
    {
        return index[i * rank];
    }
};

struct is_outside {
    struct row_of row;
    int64_t rows;

    __device__ bool operator()(int64_t i) const
    {
        return row(i) < 0 || row(i) >= rows;
    }
};

struct is_set {
    const tfd_bool *at;

    __device__ bool operator()(int64_t i) const
    {
        return at[i] != 0;
    }
};

__global__ void clear_rows(struct is_outside outside, int64_t n,
                           tfd_bool *empty)
{
    for (int64_t i = thread_index(); i < n; i += thread_count())
        if (!outside(i))
            empty[outside.row(i)] = 0;
}

/* How many of at[0..n), which ascend, are below: of rows, or of picks. */
__device__ inline int64_t rank_of(const int64_t *at, int64_t n, int64_t row)
{
    int64_t low = 0;

    while (low < n) {
        int64_t middle = low + (n - low) / 2;

        if (at[middle] < row)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

__device__ inline int64_t rank_of(const struct pick *at, int64_t n, int64_t row)
{
    int64_t low = 0;

    while (low < n) {
        int64_t middle = low + (n - low) / 2;

        if ((int64_t)at[middle].row() < row)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

template <typename T> struct put_default {
    struct filling f;
    const T *value;
    int64_t *index;
    T *y;

    __device__ void operator()(int64_t row, int64_t place) const
    {
        int64_t to = place + rank_of(f.pick, f.s.count, row);

        f.empty[place] = row;
        for (int d = 0; d < f.s.rank; d++)
            index[to * f.s.rank + d] = d == 0 ? row : 0;
        y[to] = *value;
    }
};

template <typename T>
__global__ void put_elements(struct filling f, const T *x, int64_t *index, T *y,
                             int64_t *map)
{
    for (int64_t i = thread_index(); i < f.s.count; i += thread_count()) {
        struct pick p = f.pick[i];
        int64_t from = p.place();
        int64_t to = i + rank_of(f.empty, f.empties, (int64_t)p.row());

        for (int d = 0; d < f.s.rank; d++)
            index[to * f.s.rank + d] = f.s.index[from * f.s.rank + d];
        y[to] = x[from];
        map[from] = to;
    }
}

template <typename T>
static enum tfd_code put(struct tfd_kctx *k, const struct filling *f,
                         struct tfd_status *st)
{
    struct scan_pieces pieces = scan_pieces_of(f->rows);
    int64_t *index = out_at<int64_t>(k, 0);
    T *y = out_at<T>(k, 1);

    TFD_TRY(scan_find(k, is_set{out_at<tfd_bool>(k, 2)},
                      put_default<T>{*f, in_at<T>(k, 3), index, y}, pieces,
                      f->count, st));
    if (f->s.count == 0)
        return TFD_OK;
    put_elements<<<blocks_for(k, f->s.count), THREADS, 0, stream_of(k)>>>(
        *f, in_at<T>(k, 1), index, y, out_at<int64_t>(k, 3));
    return launched(k, st);
}

static enum tfd_code make_filled(struct tfd_kctx *k, const struct filling *f,
                                 struct tfd_status *st)
{
    const struct tfd_shape matrix = {2, {f->s.count + f->empties, f->s.rank}};
    const struct tfd_shape vector = {1, {f->s.count + f->empties}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &matrix, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[1].dtype, &vector, st));
    return tfd_kctx_output(k, 3, TFD_INT64, &k->in[1].shape, st);
}

/* Numbers: empty rows, elements outside. */
static enum tfd_code fill_then(struct tfd_kctx *k, struct later *l,
                               struct tfd_status *st)
{
    struct tfd_sparse s;
    struct filling f;

    TFD_TRY(tfd_sparse_rows_read(k, &s, st));
    f = filling_in(l, &s);
    f.empties = l->number[0];
    if (l->number[1] > 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%lld of %lld indices have a row outside of [0, %lld)",
                        (long long)l->number[1], (long long)s.count,
                        (long long)f.rows);
    TFD_TRY(make_filled(k, &f, st));
    return BY_SIZE(tfd_dtype_size(k->in[1].dtype), put, k, &f, st);
}

static enum tfd_code order_elements(struct tfd_kctx *k, const struct filling *f,
                                    int64_t *outside, struct tfd_status *st)
{
    const struct row_of row = {f->s.index, f->s.rank};
    const struct is_outside is = {row, f->rows};
    int64_t n = f->s.count, length = sort_length(n + 1);

    TFD_TRY(run_index(k, make_pick<struct row_of>{row, n, f->rows}, f->pick,
                      length, st));
    TFD_TRY(sort_rows(k, f->pick, 1, length, st));
    clear_rows<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
        is, n, out_at<tfd_bool>(k, 2));
    return scan_count(k, is, scan_pieces_of(n), f->count, outside, st);
}

static enum tfd_code fill_first(struct tfd_kctx *k, struct later *l,
                                struct tfd_status *st)
{
    struct tfd_shape rows = {1, {0}};
    struct tfd_sparse s;
    struct filling f;

    TFD_TRY(tfd_sparse_rows_read(k, &s, st));
    f = filling_in(l, &s);
    TFD_TRY(picks_check(k, s.count, f.rows, st));
    rows.dim[0] = f.rows;
    TFD_TRY(tfd_kctx_output(k, 2, TFD_BOOL, &rows, st));
    if (f.rows == 0)
        return make_filled(k, &f, st);
    l->then = fill_then;
    (void)cudaMemsetAsync(later_numbers(l), 0, 2 * sizeof(int64_t),
                          stream_of(k));
    (void)cudaMemsetAsync(out_at<tfd_bool>(k, 2), 1, (size_t)f.rows,
                          stream_of(k));
    if (s.count > 0)
        TFD_TRY(order_elements(k, &f, later_numbers(l) + 1, st));
    return scan_count(k, is_set{out_at<tfd_bool>(k, 2)}, scan_pieces_of(f.rows),
                      f.count, later_numbers(l), st);
}

/* Shapes that do not fit are first()'s to refuse. */
static void fill_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_sparse s;
    size_t size = 0;

    if (tfd_sparse_rows_read(k, &s, &st) == TFD_OK && s.count < PICKS_MAX &&
        s.dim[0] < PICKS_MAX)
        size = filling_size(s.count, s.dim[0]);
    later_start(k, fill_first, 2, size);
}

/* ---- Its gradient -------------------------------------------------------- */

/* What lies outside gives zero, since nobody waits for an answer. */
template <typename T>
__global__ void gather_back(const int64_t *map, int64_t n, const T *dy,
                            int64_t limit, T *dx, T *left)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t from = map[i];
        bool inside = from >= 0 && from < limit;

        dx[i] = inside ? dy[from] : narrow<T>(0);
        if (inside)
            left[from] = narrow<T>(0);
    }
}

template <typename T>
static enum tfd_code run_grad(struct tfd_kctx *k, T *left, int64_t n,
                              int64_t limit, struct tfd_status *st)
{
    (void)cudaMemcpyAsync(left, in_at<T>(k, 1), (size_t)limit * sizeof(T),
                          cudaMemcpyDeviceToDevice, stream_of(k));
    if (n > 0)
        gather_back<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(
            in_at<int64_t>(k, 0), n, in_at<T>(k, 1), limit, out_at<T>(k, 0),
            left);
    return run_rows(k, plus(), (const T *)left, out_at<T>(k, 1), 1, limit, 1,
                    st);
}

template <typename T>
static enum tfd_code fill_grad(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_buffer *b;
    enum tfd_code code;
    int64_t n, limit;

    TFD_TRY(tfd_sparse_rows_grad_outputs(k, st));
    n = k->in[0].shape.dim[0];
    limit = k->in[1].shape.dim[0];
    if (limit == 0) {
        (void)cudaMemsetAsync(out_at<T>(k, 1), 0, sizeof(T), stream_of(k));
        if (n > 0)
            (void)cudaMemsetAsync(out_at<T>(k, 0), 0, (size_t)n * sizeof(T),
                                  stream_of(k));
        return launched(k, st);
    }
    b = k->memory->make(k->memory, (size_t)limit * sizeof(T), st);
    if (!b)
        return TFD_RESOURCE_EXHAUSTED;
    code = run_grad(k, (T *)b->data, n, limit, st);
    tfd_buffer_unref(b);
    return code;
}

#define GRAD(name, T) row("SparseFillEmptyRowsGrad", TFD_##name, fill_grad<T>),
#define MOVES(name, T)                                      \
    row("SparseReorder", TFD_##name, reorder, HOST_ARG(2)), \
        later_row("SparseFillEmptyRows", TFD_##name, fill_start, HOST_ARG(2)),
#define FILL(name) \
    later_row("SparseFillEmptyRows", TFD_##name, fill_start, HOST_ARG(2))

static const struct tfd_kernel kernels[] = {
    CUDA_FLOAT_DTYPES(MOVES) CUDA_INT_DTYPES(MOVES) MOVES(INT32, int32_t)
        MOVES(BOOL, tfd_bool) FILL(COMPLEX64),
    FILL(COMPLEX128), CUDA_FLOAT_DTYPES(GRAD) GRAD(INT64, int64_t)};

} /* namespace */

CUDA_FAMILY_OF(sparse_rows);
