/*
 * fractional_loops.c - see fractional.h.
 *
 * The innermost loops run along the channels.  The gradient of a mean is summed
 * in double, as TensorFlow does it, a row of dx at a time.
 */
#include "kernels/nn/fractional.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/vector/simd.h"

#include <float.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define BLOCK 64        /* channels at a time */
#define ASK_EVERY 65536 /* elements */

/* The elements [first, end) of window i along a side of so many. */
struct stretch {
    int64_t first, end;
};

static inline struct stretch stretch_of(const struct tfd_fractional *f,
                                        const int64_t *at, int64_t i,
                                        int64_t size)
{
    int64_t end = at[i + 1];

    if (end < size && f->overlapping)
        end++;
    return (struct stretch){at[i], end < size ? end : size};
}

static inline int64_t row_of_y(const struct tfd_fractional *f, int64_t i,
                               struct stretch *rows)
{
    *rows = stretch_of(f, f->row_at, i % f->out_rows, f->rows);
    return i / f->out_rows;
}

static inline struct stretch columns_of(const struct tfd_fractional *f,
                                        int64_t i)
{
    return stretch_of(f, f->column_at, i, f->columns);
}

static inline int64_t pixel_of(const struct tfd_fractional *f, int64_t image,
                               int64_t row, int64_t column)
{
    return ((image * f->rows + row) * f->columns + column) * f->channels;
}

static enum tfd_code fail_index(struct tfd_status *st, int64_t elements)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid input backprop index: -1, %lld",
                    (long long)elements);
}

/* So many more elements are done, and nobody wants the rest.  Nothing is asked
 * before ASK_EVERY of them; once true, it stays true for loops around. */
static inline bool halted_after(int64_t *done, int64_t elements)
{
    *done += elements;
    if (*done < ASK_EVERY)
        return false;
    if (tfd_halted())
        return true;
    *done = 0;
    return false;
}

/* What a row of a window makes of y; `first`: y is nothing yet. */
typedef void fold_row(const void *x, int64_t columns, int64_t n, bool first,
                      void *y);

/* False: there is nothing in the window. */
INLINE bool fold_window(const struct tfd_fractional *f, int64_t image,
                        struct stretch r, struct stretch c, size_t size,
                        fold_row *fold, void *y)
{
    for (int64_t i = r.first; i < r.end && !tfd_halted(); i++)
        fold((const char *)f->x + (size_t)pixel_of(f, image, i, c.first) * size,
             c.end - c.first, f->channels, i == r.first, y);
    return r.first < r.end && c.first < c.end;
}

#define LINE 64             /* bytes of the caches' */
#define AHEAD 2048          /* bytes of a row that are asked for in advance */
#define FAR_BYTES (1 << 24) /* of an image, which come from memory */

/* Asks for what windows after this one have in a row: rows are left and come
 * back to, too often for a processor to foresee. */
INLINE void fetch_ahead(const struct tfd_fractional *f, int64_t image,
                        struct stretch r, struct stretch c, size_t size)
{
    const size_t bytes = (size_t)((c.end - c.first) * f->channels) * size;

    for (int64_t i = r.first; i < r.end; i++) {
        const char *x = (const char *)f->x +
                        (size_t)pixel_of(f, image, i, c.first) * size + AHEAD;

        for (size_t at = 0; at < bytes; at += LINE)
            __builtin_prefetch(x + at);
    }
}

typedef void make_window(const struct tfd_fractional *f, int64_t image,
                         struct stretch r, struct stretch c, void *y);

/* Rows of y, of elements of so many bytes. */
INLINE void pool_rows(const struct tfd_fractional *f, int64_t begin,
                      int64_t end, size_t size, make_window *make)
{
    const size_t pixel = (size_t)f->channels * size;
    char *y = (char *)f->out + (size_t)(begin * f->out_columns) * pixel;
    const bool far = f->rows * f->columns > FAR_BYTES / (int64_t)(pixel + 1);
    int64_t done = 0;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        struct stretch r;
        const int64_t image = row_of_y(f, i, &r);

        for (int64_t j = 0;
             j < f->out_columns && !halted_after(&done, f->channels);
             j++, y += pixel) {
            if (far)
                fetch_ahead(f, image, r, columns_of(f, j), size);
            make(f, image, r, columns_of(f, j), y);
        }
    }
}

/* The double of a sum as an integer; what has none becomes the smallest. */
#define TO_REAL(T, LOW, v) ((T)(v))
#define TO_INT(T, LOW, v) \
    ((v) >= (double)(LOW) && (v) < -(double)(LOW) ? (T)(v) : (LOW))

/* Where a product is as exact as the quotient, it is one. */
#define DIVIDE_REAL(T, D, y, n, elements)                              \
    {                                                                  \
        const int64_t count = (elements);                              \
        const T times = (count & (count - 1)) == 0 ? 1 / (T)count : 0; \
                                                                       \
        if (count == 1)                                                \
            return;                                                    \
        if (times != 0)                                                \
            for (int64_t k = 0; k < (n); k++)                          \
                (y)[k] *= times;                                       \
        else                                                           \
            for (int64_t k = 0; k < (n); k++)                          \
                (y)[k] /= (T)count;                                    \
    }
#define DIVIDE_INT(T, D, y, n, elements) \
    for (int64_t k = 0; k < (n); k++)    \
        (y)[k] = (T)((D)(y)[k] / (D)(elements));

#define ONE_COPY(name)                                      \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_loop(arg, begin, end);                       \
    }

/* W: sums of T wrap in it; D: a sum and the number of a window's elements are
 * divided in it, and any number fits. */
#define POOLS(name, T, W, D, LOWEST, FROM_DOUBLE, DIVIDE, COPIES)              \
    /* y = the largest of what it is (or LOWEST) and of two elements. */       \
    INLINE void max_pass_##name(bool first, const T *a, const T *b, int64_t n, \
                                T *restrict y)                                 \
    {                                                                          \
        for (int64_t k = 0; k < n; k++) {                                      \
            const T best = first ? (LOWEST) : y[k];                            \
            const T more = best < a[k] ? a[k] : best;                          \
                                                                               \
            y[k] = more < b[k] ? b[k] : more;                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    /* An element may be taken twice. */                                       \
    INLINE void max_row_##name(const void *from, int64_t columns, int64_t n,   \
                               bool first, void *y)                            \
    {                                                                          \
        const T *a = from;                                                     \
                                                                               \
        for (int64_t j = 0; j < columns; j += 2, a += 2 * n) {                 \
            const T *b = j + 1 < columns ? a + n : a;                          \
                                                                               \
            if (first && j == 0)                                               \
                max_pass_##name(true, a, b, n, y);                             \
            else                                                               \
                max_pass_##name(false, a, b, n, y);                            \
        }                                                                      \
    }                                                                          \
                                                                               \
    INLINE void max_window_##name(const struct tfd_fractional *f,              \
                                  int64_t image, struct stretch r,             \
                                  struct stretch c, void *to)                  \
    {                                                                          \
        if (!fold_window(f, image, r, c, sizeof(T), max_row_##name, to))       \
            for (int64_t k = 0; k < f->channels; k++)                          \
                ((T *)to)[k] = (LOWEST);                                       \
    }                                                                          \
    /* y = the sum of what it is (or 0), of a, and of b where it is `both`. */ \
    INLINE void add_pass_##name(bool first, bool both, const T *a, const T *b, \
                                int64_t n, T *restrict y)                      \
    {                                                                          \
        for (int64_t k = 0; k < n; k++) {                                      \
            const W sum = (first ? (W)0 : (W)y[k]) + (W)a[k];                  \
                                                                               \
            y[k] = both ? (T)((W)(T)sum + (W)b[k]) : (T)sum;                   \
        }                                                                      \
    }                                                                          \
                                                                               \
    INLINE void add_row_##name(const void *from, int64_t columns, int64_t n,   \
                               bool first, void *y)                            \
    {                                                                          \
        const T *a = from;                                                     \
                                                                               \
        for (int64_t j = 0; j < columns; j += 2, a += 2 * n) {                 \
            if (first && j == 0 && columns > 1)                                \
                add_pass_##name(true, true, a, a + n, n, y);                   \
            else if (first && j == 0)                                          \
                add_pass_##name(true, false, a, a, n, y);                      \
            else if (j + 1 < columns)                                          \
                add_pass_##name(false, true, a, a + n, n, y);                  \
            else                                                               \
                add_pass_##name(false, false, a, a, n, y);                     \
        }                                                                      \
    }                                                                          \
                                                                               \
    INLINE void mean_window_##name(const struct tfd_fractional *f,             \
                                   int64_t image, struct stretch r,            \
                                   struct stretch c, void *to)                 \
    {                                                                          \
        const int64_t n = f->channels;                                         \
        T *y = to;                                                             \
                                                                               \
        if (!fold_window(f, image, r, c, sizeof(T), add_row_##name, to))       \
            memset(y, 0, (size_t)n * sizeof(T));                               \
        else                                                                   \
            DIVIDE(T, D, y, n, (r.end - r.first) * (c.end - c.first))          \
    }                                                                          \
    TFD_SIMD_LOOP(max_rows_##name)                                             \
    {                                                                          \
        pool_rows(arg, begin, end, sizeof(T), max_window_##name);              \
    }                                                                          \
    COPIES(max_rows_##name)                                                    \
    TFD_SIMD_LOOP(mean_rows_##name)                                            \
    {                                                                          \
        pool_rows(arg, begin, end, sizeof(T), mean_window_##name);             \
    }                                                                          \
    COPIES(mean_rows_##name)                                                   \
                                                                               \
    static enum tfd_code max_##name(void *arg, int64_t begin, int64_t end,     \
                                    struct tfd_status *st)                     \
    {                                                                          \
        (void)st;                                                              \
        max_rows_##name(arg, begin, end);                                      \
        return TFD_OK;                                                         \
    }                                                                          \
    static enum tfd_code mean_##name(void *arg, int64_t begin, int64_t end,    \
                                     struct tfd_status *st)                    \
    {                                                                          \
        (void)st;                                                              \
        mean_rows_##name(arg, begin, end);                                     \
        return TFD_OK;                                                         \
    }                                                                          \
                                                                               \
    /* n channels of a window: where each has its first maximum. */            \
    static inline void find_##name(                                            \
        const struct tfd_fractional *f, int64_t image, struct stretch r,       \
        struct stretch c, int64_t first, int64_t n, T *best, int64_t *at)      \
    {                                                                          \
        for (int64_t k = 0; k < n; k++)                                        \
            at[k] = -1;                                                        \
        for (int64_t a = r.first; a < r.end && !tfd_halted(); a++)             \
            for (int64_t b = c.first; b < c.end; b++) {                        \
                const int64_t from = pixel_of(f, image, a, b) + first;         \
                const T *x = (const T *)f->x + from;                           \
                                                                               \
                for (int64_t k = 0; k < n; k++)                                \
                    if (at[k] < 0 || best[k] < x[k]) {                         \
                        best[k] = x[k];                                        \
                        at[k] = from + k;                                      \
                    }                                                          \
            }                                                                  \
    }                                                                          \
                                                                               \
    static enum tfd_code give_##name(const struct tfd_fractional *f,           \
                                     int64_t image, int64_t i, int64_t j,      \
                                     struct tfd_status *st)                    \
    {                                                                          \
        const int64_t y_at =                                                   \
            ((image * f->out_rows + i) * f->out_columns + j) * f->channels;    \
        const struct stretch r = stretch_of(f, f->row_at, i, f->rows);         \
        const struct stretch c = columns_of(f, j);                             \
        T best[BLOCK] = {0};                                                   \
        int64_t at[BLOCK];                                                     \
                                                                               \
        for (int64_t k = 0; k < f->channels; k += BLOCK) {                     \
            const int64_t n =                                                  \
                f->channels - k < BLOCK ? f->channels - k : BLOCK;             \
            const T *y = (const T *)f->y + y_at + k;                           \
            const T *dy = (const T *)f->dy + y_at + k;                         \
            T *dx = f->out;                                                    \
                                                                               \
            find_##name(f, image, r, c, k, n, best, at);                       \
            for (int64_t d = 0; d < n && !tfd_halted(); d++) {                 \
                if (at[d] < 0)                                                 \
                    return fail_index(st, f->batch * f->rows * f->columns *    \
                                              f->channels);                    \
                if (best[d] != y[d])                                           \
                    return tfd_fail(st, TFD_INVALID_ARGUMENT,                  \
                                    "tensor_out_dup is not the same as "       \
                                    "tensor_out");                             \
                dx[at[d]] = (T)((W)dx[at[d]] + (W)dy[d]);                      \
            }                                                                  \
        }                                                                      \
        return TFD_OK;                                                         \
    }                                                                          \
                                                                               \
    static enum tfd_code max_grad_##name(void *arg, int64_t begin,             \
                                         int64_t end, struct tfd_status *st)   \
    {                                                                          \
        const struct tfd_fractional *f = arg;                                  \
        const int64_t size = f->rows * f->columns * f->channels;               \
        int64_t done = 0;                                                      \
                                                                               \
        tfd_halt_clear((T *)f->out + begin * size,                             \
                       (size_t)((end - begin) * size) * sizeof(T));            \
        for (int64_t i = begin; i < end; i++)                                  \
            for (int64_t j = 0; j < f->out_rows && !tfd_halted(); j++)         \
                for (int64_t k = 0;                                            \
                     k < f->out_columns && !halted_after(&done, f->channels);  \
                     k++)                                                      \
                    TFD_TRY(give_##name(f, i, j, k, st));                      \
        return TFD_OK;                                                         \
    }                                                                          \
                                                                               \
    /* What the windows of row i of dy give a row of dx; those of a gradient   \
     * may all be as wide as the image. */                                     \
    static void spread_##name(const struct tfd_fractional *f, const T *dy,     \
                              int64_t rows, double *sum)                       \
    {                                                                          \
        const int64_t n = f->channels;                                         \
        int64_t done = 0;                                                      \
                                                                               \
        for (int64_t j = 0; j < f->out_columns && !halted_after(&done, 1);     \
             j++, dy += n) {                                                   \
            const struct stretch c = columns_of(f, j);                         \
            const double count = (double)(rows * (c.end - c.first));           \
                                                                               \
            for (int64_t b = c.first; b < c.end && !halted_after(&done, n);    \
                 b++)                                                          \
                for (int64_t k = 0; k < n; k++)                                \
                    sum[b * n + k] += (double)dy[k] / count;                   \
        }                                                                      \
    }                                                                          \
                                                                               \
    static enum tfd_code mean_grad_##name(void *arg, int64_t begin,            \
                                          int64_t end, struct tfd_status *st)  \
    {                                                                          \
        const struct tfd_fractional *f = arg;                                  \
        const int64_t size = f->columns * f->channels;                         \
        struct tfd_buffer *b = row_buffer(size, st);                           \
        double *sum = b ? b->data : NULL;                                      \
                                                                               \
        if (!b)                                                                \
            return TFD_RESOURCE_EXHAUSTED;                                     \
        for (int64_t i = begin; i < end && !tfd_halted(); i++) {               \
            const int64_t image = i / f->rows, row = i % f->rows;              \
            T *dx = (T *)f->out + i * size;                                    \
                                                                               \
            memset(sum, 0, (size_t)size * sizeof(double));                     \
            for (int64_t j = 0; j < f->out_rows && !tfd_halted(); j++) {       \
                const struct stretch r = stretch_of(f, f->row_at, j, f->rows); \
                                                                               \
                if (row >= r.first && row < r.end)                             \
                    spread_##name(f,                                           \
                                  (const T *)f->dy +                           \
                                      (image * f->out_rows + j) *              \
                                          f->out_columns * f->channels,        \
                                  r.end - r.first, sum);                       \
            }                                                                  \
            for (int64_t j = 0; j < size; j++)                                 \
                dx[j] = FROM_DOUBLE(T, LOWEST, sum[j]);                        \
        }                                                                      \
        tfd_buffer_unref(b);                                                   \
        return TFD_OK;                                                         \
    }

static struct tfd_buffer *row_buffer(int64_t elements, struct tfd_status *st)
{
    struct tfd_buffer *b = tfd_buffer_new((size_t)elements * sizeof(double));

    if (!b)
        (void)tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                       "OOM when allocating a row of %lld elements",
                       (long long)elements);
    return b;
}

#define TYPES(X)                                                        \
    X(FLOAT, float, float, float, -FLT_MAX, TO_REAL, DIVIDE_REAL,       \
      TFD_SIMD_CLONES)                                                  \
    X(DOUBLE, double, double, double, -DBL_MAX, TO_REAL, DIVIDE_REAL,   \
      TFD_SIMD_CLONES)                                                  \
    X(INT32, int32_t, uint32_t, int64_t, INT32_MIN, TO_INT, DIVIDE_INT, \
      ONE_COPY)                                                         \
    X(INT64, int64_t, uint64_t, int64_t, INT64_MIN, TO_INT, DIVIDE_INT, \
      ONE_COPY)

TYPES(POOLS)

tfd_try_fn *tfd_fractional_loop(enum tfd_fractional_loop loop,
                                enum tfd_dtype dtype)
{
#define LOOPS(name, T, W, D, LOWEST, FROM_DOUBLE, DIVIDE, COPIES) \
    [TFD_##name] = {max_##name, mean_##name, max_grad_##name, mean_grad_##name},
    static tfd_try_fn *const loops[TFD_DTYPE_END][TFD_FRACTIONAL_LOOPS] = {
        TYPES(LOOPS)};
#undef LOOPS

    return loops[dtype][loop];
}
