/*
 * permute.cuh - a tensor with its dimensions in another order, by elements of
 * 1, 2, 4, 8 or 16 bytes.
 *
 * Dimensions that stay neighbours are one, and those of size 1 none: NHWC to
 * NCHW is a batch of matrices that are transposed.  Where the last dimension
 * stays, as many of its elements move together as make 16 bytes or less.
 * Otherwise x's last dimension and y's make matrices, which go through tiles:
 * reads and writes both run along memory, 16 bytes at a time where the sizes of
 * these two dimensions allow it, each for itself.
 *
 * Threads: any; kernels are enqueued on the stream of k.
 */
#ifndef TFD_CUDA_PERMUTE_CUH
#define TFD_CUDA_PERMUTE_CUH

#include "cuda/lib/divisor.cuh"
#include "cuda/lib/item.cuh"

/* y's dimensions, outermost first, and their steps in x; both are contiguous.
 */
struct permutation {
    int rank;
    int64_t dim[TFD_RANK_MAX], step[TFD_RANK_MAX];
};

/* perm: of y's dimensions, where they are in x. */
static inline struct permutation permutation_of(int rank, const int64_t *dim,
                                                const int *perm)
{
    int64_t step[TFD_RANK_MAX] = {0}, size = 1;
    struct permutation p = {};

    for (int d = rank - 1; d >= 0; d--) {
        step[d] = size;
        size *= dim[d];
    }
    for (int d = 0; d < rank; d++) {
        int64_t length = dim[perm[d]], along = step[perm[d]];
        int last = p.rank - 1;

        if (length == 1)
            continue;
        if (last >= 0 && p.step[last] == along * length) {
            p.dim[last] *= length;
            p.step[last] = along;
        } else {
            p.dim[p.rank] = length;
            p.step[p.rank++] = along;
        }
    }
    return p;
}

/* Whether y has its elements in the order of x. */
static inline bool is_in_order(const struct permutation *p)
{
    return p->rank == 0 || (p->rank == 1 && p->step[0] == 1);
}

/* ---- Elements ------------------------------------------------------------ */

struct order {
    int rank;
    struct divisor dim[TFD_RANK_MAX];
    int64_t step[TFD_RANK_MAX];
};

template <typename T>
__global__ void permute(const T *x, T *y, int64_t n, struct order o)
{
    for (int64_t i = thread_index(); i < n; i += thread_count()) {
        int64_t rest = i, from = 0;

        for (int d = o.rank - 1; d >= 0; d--)
            from += take_rest(&o.dim[d], &rest) * o.step[d];
        y[i] = x[from];
    }
}

template <typename T>
static enum tfd_code run_elements(struct tfd_kctx *k,
                                  const struct permutation *p, const T *x, T *y,
                                  struct tfd_status *st)
{
    struct order o = {};
    int64_t n = 1;

    o.rank = p->rank;
    for (int d = 0; d < p->rank; d++) {
        o.dim[d] = divisor_of(p->dim[d]);
        o.step[d] = p->step[d];
        n *= p->dim[d];
    }
    permute<<<blocks_for(k, n), THREADS, 0, stream_of(k)>>>(x, y, n, o);
    return launched(k, st);
}

/* ---- Tiles --------------------------------------------------------------- */

/* Elements of a tile as a power of two, and of a side at the least. */
template <typename T> constexpr int TILE_BITS = sizeof(T) > 4 ? 10 : 12;
#define SIDE_BITS 2

/* A row is along y's last dimension, a column along x's. */
struct tiles {
    int64_t rows, columns, x_row, y_column;
    struct divisor down, across;
    int row_bits, column_bits;
    bool packed_in, packed_out;
    int64_t n;
    struct order rest; /* the other dimensions, with their steps in x */
    int64_t y_step[TFD_RANK_MAX];
};

/* What a block moves: where it begins and how much there is. */
struct tile {
    int64_t x, y;
    int rows, columns;
};

__device__ inline int left_of(int64_t size, int64_t at, int bits)
{
    return (int)(size - at < 1 << bits ? size - at : 1 << bits);
}

__device__ inline struct tile tile_at(const struct tiles *t, int64_t i)
{
    int64_t column = take_rest(&t->across, &i) << t->column_bits;
    int64_t row = take_rest(&t->down, &i) << t->row_bits;
    struct tile at = {row * t->x_row + column, column * t->y_column + row,
                      left_of(t->rows, row, t->row_bits),
                      left_of(t->columns, column, t->column_bits)};

    for (int d = t->rest.rank - 1; d >= 0; d--) {
        int64_t c = take_rest(&t->rest.dim[d], &i);

        at.x += c * t->rest.step[d];
        at.y += c * t->y_step[d];
    }
    return at;
}

/* Accesses of a thread that are under way together. */
template <int N> constexpr int AT_ONCE = N > 4 ? 1 : N > 1 ? 2 : 4;

/* Lines of a tile do not begin in the same bank. */
template <typename T>
constexpr int TILE_PAD = sizeof(T) < 4 ? 4 / (int)sizeof(T) : 1;

template <int N, typename T>
__device__ inline void read_tile(const struct tiles *t, const struct tile *at,
                                 const T *x, T *part)
{
    int size = 1 << (t->row_bits + t->column_bits);
    int last = (1 << t->column_bits) - 1, stride = last + 1 + TILE_PAD<T>;

#pragma unroll AT_ONCE < N>
    for (int i = (int)threadIdx.x * N; i < size; i += THREADS * N) {
        int row = i >> t->column_bits, column = i & last;

        if (row < at->rows && column < at->columns) {
            pack<T, N> p =
                *(const pack<T, N> *)(x + at->x + row * t->x_row + column);

#pragma unroll
            for (int j = 0; j < N; j++)
                part[row * stride + column + j] = p.v[j];
        }
    }
}

template <int N, typename T>
__device__ inline void write_tile(const struct tiles *t, const struct tile *at,
                                  const T *part, T *y)
{
    int size = 1 << (t->row_bits + t->column_bits);
    int last = (1 << t->row_bits) - 1;
    int stride = (1 << t->column_bits) + TILE_PAD<T>;

#pragma unroll AT_ONCE < N>
    for (int i = (int)threadIdx.x * N; i < size; i += THREADS * N) {
        int column = i >> t->row_bits, row = i & last;

        if (row < at->rows && column < at->columns) {
            pack<T, N> p;

#pragma unroll
            for (int j = 0; j < N; j++)
                p.v[j] = part[(row + j) * stride + column];
            *(pack<T, N> *)(y + at->y + column * t->y_column + row) = p;
        }
    }
}

template <typename T>
__global__ void swap_tiles(const T *x, T *y, struct tiles t)
{
    constexpr int N = 16 / (int)sizeof(T), SIZE = 1 << TILE_BITS<T>;
    __shared__ T part[SIZE + (SIZE >> SIDE_BITS) * TILE_PAD<T>];

    for (int64_t i = blockIdx.x; i < t.n; i += gridDim.x) {
        struct tile at = tile_at(&t, i);

        __syncthreads(); /* of the tile before */
        if (t.packed_in)
            read_tile<N>(&t, &at, x, part);
        else
            read_tile<1>(&t, &at, x, part);
        __syncthreads();
        if (t.packed_out)
            write_tile<N>(&t, &at, part, y);
        else
            write_tile<1>(&t, &at, part, y);
    }
}

static inline int bits_for(int64_t n)
{
    int bits = SIDE_BITS;

    while (bits < 30 && (INT64_C(1) << bits) < n)
        bits++;
    return bits;
}

/* Sides that hold all of a short dimension and as much of the other as fits. */
static inline void set_sides(struct tiles *t, int bits)
{
    t->row_bits = bits_for(t->rows);
    t->column_bits = bits_for(t->columns);
    while (t->row_bits + t->column_bits > bits)
        --*(t->row_bits > t->column_bits ? &t->row_bits : &t->column_bits);
    t->down = divisor_of((t->rows + (1 << t->row_bits) - 1) >> t->row_bits);
    t->across =
        divisor_of((t->columns + (1 << t->column_bits) - 1) >> t->column_bits);
    t->n = t->down.by * t->across.by;
}

/* Of a permutation that moves x's last dimension. */
static inline struct tiles tiles_of(const struct permutation *p, int bits)
{
    int64_t y_step = 1;
    struct tiles t = {};
    int n = 0;

    t.rows = p->dim[p->rank - 1];
    t.x_row = p->step[p->rank - 1];
    for (int d = p->rank - 1; d >= 0; d--) {
        if (p->step[d] == 1) {
            t.columns = p->dim[d];
            t.y_column = y_step;
        } else if (d < p->rank - 1) {
            t.rest.rank++;
        }
        y_step *= p->dim[d];
    }
    set_sides(&t, bits);
    for (int d = 0; d < p->rank - 1; d++) {
        y_step /= p->dim[d];
        if (p->step[d] == 1)
            continue;
        t.rest.dim[n] = divisor_of(p->dim[d]);
        t.rest.step[n] = p->step[d];
        t.y_step[n++] = y_step;
        t.n *= p->dim[d];
    }
    return t;
}

/* Matrices that are too small for a block's threads go by elements. */
template <typename T>
static enum tfd_code run_swap(struct tfd_kctx *k, const struct permutation *p,
                              const T *x, T *y, struct tfd_status *st)
{
    constexpr int N = pack_size<T, T>();
    struct tiles t = tiles_of(p, TILE_BITS<T>);

    if ((1 << (t.row_bits + t.column_bits)) < THREADS)
        return run_elements(k, p, x, y, st);
    t.packed_in = t.columns % N == 0 && is_multiple(x, 16);
    t.packed_out = t.rows % N == 0 && is_multiple(y, 16);
    swap_tiles<<<blocks_for(k, t.n * THREADS), THREADS, 0, stream_of(k)>>>(x, y,
                                                                           t);
    return launched(k, st);
}

/* ---- Both ---------------------------------------------------------------- */

/* Two neighbours of the last dimension, which stays, as one. */
static inline bool widen_last(struct permutation *p, size_t *item,
                              const void *x, const void *y)
{
    int last = p->rank - 1;

    if (*item == ITEM_MAX || p->dim[last] % 2 || !is_multiple(x, 2 * *item) ||
        !is_multiple(y, 2 * *item))
        return false;
    p->dim[last] /= 2;
    for (int d = 0; d < last; d++)
        p->step[d] /= 2; /* a multiple of that dimension */
    *item *= 2;
    return true;
}

/* x is not empty; item: bytes of an element. */
template <typename = void>
static enum tfd_code run_permutation(struct tfd_kctx *k, struct permutation p,
                                     size_t item, const void *x, void *y,
                                     struct tfd_status *st)
{
    bool stays = p.rank == 0 || p.step[p.rank - 1] == 1;

    while (stays && p.rank > 0 && widen_last(&p, &item, x, y))
        ;
    return with_item(item, [&](auto one) {
        using T = decltype(one);

        return stays ? run_elements(k, &p, (const T *)x, (T *)y, st)
                     : run_swap(k, &p, (const T *)x, (T *)y, st);
    });
}

#endif
