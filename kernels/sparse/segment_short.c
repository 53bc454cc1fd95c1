/*
 * segment_short.c - see segment_short.h.
 *
 * Several stretches of rows take turns, so that additions which wait for the
 * one before overlap; what a segment has so far is written after every row, so
 * that nobody asks whether it ends.
 *
 * Ids are compared some hundred at a time for sums and means of floats, which
 * are divided where they lie.
 */
#include "kernels/sparse/segment_short.h"

#include "common/base/min.h"
#include "kernels/core/element.h"

#include <string.h>

void tfd_segment_gap(const struct tfd_segments *s, int64_t begin, int64_t end)
{
    (void)!tfd_elements_fill(s->dtype,
                             tfd_element_at(s->y, s->dtype, begin * s->inner),
                             s->empty, (end - begin) * s->inner, NULL);
}

#if defined(__x86_64__)
#define TARGET_avx2 __attribute__((target("avx2")))
#else
#define TARGET_avx2
#endif

/* Vectors of 2 and of 4 of T, wherever they lie. */
#define VECTOR(T, n)                                               \
    typedef T T##_##n __attribute__((vector_size((n) * sizeof(T)), \
                                     aligned(sizeof(T)), may_alias))
VECTOR(float, 4);
VECTOR(int32_t, 4);
VECTOR(uint32_t, 4);
VECTOR(double, 2);
VECTOR(int64_t, 2);
VECTOR(uint64_t, 2);

/* b where the mask m has ones, a where it has zeros. */
#define PICK(V, m, a, b) \
    (V)(((__typeof__(m))(b) & (m)) | ((__typeof__(m))(a) & ~(m)))
/* As scatter_functions.h has them, NaN too. */
#define ADD(V, a, b) ((a) + (b))
#define MIN(V, a, b) PICK(V, (b) < (a), a, b)
#define MAX(V, a, b) PICK(V, (b) > (a), a, b)

#define LOAD_1(V, x) ((V){(x)[0]})
#define LOAD_2(V, x) ((V){(x)[0], (x)[1]})
#define LOAD_3(V, x) ((V){(x)[0], (x)[1], (x)[2]})
#define LOAD_4(V, x) (*(const V *)(x))
#define SUM_OF(V, sum, rows) (sum)
#define MEAN_OF(V, sum, rows) ((sum) / __builtin_convertvector(rows, V))
/* Below 2^52 a number is what its bits add to those of 2^52 as a double; AVX2
 * converts none of 64 bits. */
#define WIDE_MEAN_OF(V, sum, rows) \
    ((sum) / ((V)((rows) | 0x4330000000000000) - 0x1p52))
/* Of one number each.  A double's quotient of numbers below 2^52, of which the
 * lower is below 2^31, never reaches the whole number above it; processors have
 * it long before that of integers. */
static inline int64_t quotient(int64_t sum, int64_t rows)
{
    const int64_t far = INT64_C(1) << 52;

    if (sum > -far && sum < far)
        return (int64_t)((double)sum / (double)rows);
    return sum / rows;
}
#define INT32_MEAN_OF(V, sum, rows) \
    ((V){(uint32_t)quotient((int32_t)(sum)[0], (rows)[0])})
#define INT64_MEAN_OF(V, sum, rows) \
    ((V){(uint64_t)quotient((int64_t)(sum)[0], (rows)[0])})
#define COUNT_INT32_MEAN_OF true
#define COUNT_INT64_MEAN_OF true
#define COUNT_SUM_OF false
#define COUNT_WIDE_MEAN_OF true
#define COUNT_MEAN_OF true

/* `count` stretches for so many steps.  A row of N elements is the beginning of
 * a vector V; `same` is ones where it is of the segment of the row before it,
 * and what the segment has so far is written after each row.  No stretch begins
 * with row 0. */
#define STEP(name, T, V, M, N, F, OUT, I)                                      \
    TARGET_avx2 static inline                                                  \
        __attribute__((always_inline)) void step_##name##_##N##_##I(           \
            const struct tfd_segments *s, struct tfd_segment_stretch *stretch, \
            int count, int64_t steps)                                          \
    {                                                                          \
        T *const y = s->y;                                                     \
        const I *id[TFD_SEGMENT_STRETCHES];                                    \
        const T *x[TFD_SEGMENT_STRETCHES];                                     \
        V sum[TFD_SEGMENT_STRETCHES];                                          \
        M rows[TFD_SEGMENT_STRETCHES];                                         \
                                                                               \
        for (int k = 0; k < count; k++) {                                      \
            id[k] = (const I *)s->ids + stretch[k].at;                         \
            x[k] = (const T *)s->x + stretch[k].at * (N);                      \
            memcpy(&sum[k], stretch[k].sum, sizeof(V));                        \
            memcpy(&rows[k], stretch[k].rows, sizeof(M));                      \
        }                                                                      \
        for (int64_t i = 0; i < steps; i++)                                    \
            for (int k = 0; k < count; k++) {                                  \
                const I at = id[k][i], rise = at - id[k][i - 1];               \
                const M same = (M){0} - (rise == 0);                           \
                const V value = LOAD_##N(V, x[k] + i * (N));                   \
                const V more = F(V, sum[k], value);                            \
                V out;                                                         \
                                                                               \
                if (rise > 1)                                                  \
                    tfd_segment_gap(s, (int64_t)at - rise + 1, at);            \
                sum[k] = PICK(V, same, value, more);                           \
                if (COUNT_##OUT)                                               \
                    rows[k] = (rows[k] & same) + 1;                            \
                out = OUT(V, sum[k], rows[k]);                                 \
                for (int c = 0; c < (N); c++)                                  \
                    y[(int64_t)at * (N) + c] = out[c];                         \
            }                                                                  \
        for (int k = 0; k < count; k++) {                                      \
            stretch[k].at += steps;                                            \
            memcpy(stretch[k].sum, &sum[k], sizeof(V));                        \
            memcpy(stretch[k].rows, &rows[k], sizeof(M));                      \
        }                                                                      \
    }

#define SHORT(name, T, V, M, N, F, OUT, I)                                     \
    TARGET_avx2 static void short_##name##_##N##_##I(                          \
        const struct tfd_segments *s, struct tfd_segment_stretch *stretch)     \
    {                                                                          \
        int64_t steps = stretch[0].end - stretch[0].at;                        \
                                                                               \
        for (int k = 1; k < TFD_SEGMENT_STRETCHES; k++)                        \
            if (stretch[k].end - stretch[k].at < steps)                        \
                steps = stretch[k].end - stretch[k].at;                        \
        if (steps > 0)                                                         \
            step_##name##_##N##_##I(s, stretch, TFD_SEGMENT_STRETCHES, steps); \
        for (int k = 0; k < TFD_SEGMENT_STRETCHES; k++)                        \
            if (stretch[k].at < stretch[k].end)                                \
                step_##name##_##N##_##I(s, &stretch[k], 1,                     \
                                        stretch[k].end - stretch[k].at);       \
    }

#define SHORT_IDS(X, name, T, V, M, N, F, OUT) \
    X(name, T, V, M, N, F, OUT, int32_t)       \
    X(name, T, V, M, N, F, OUT, int64_t)
#define SHORT_2(X, name, T, V, M, F, OUT)  \
    SHORT_IDS(X, name, T, V, M, 1, F, OUT) \
    SHORT_IDS(X, name, T, V, M, 2, F, OUT)
#define SHORT_4(X, name, T, V, M, F, OUT)  \
    SHORT_2(X, name, T, V, M, F, OUT)      \
    SHORT_IDS(X, name, T, V, M, 3, F, OUT) \
    SHORT_IDS(X, name, T, V, M, 4, F, OUT)

#define EVERY_SHORT(X)                                                       \
    SHORT_4(X, min_FLOAT, float, float_4, int32_t_4, MIN, SUM_OF)            \
    SHORT_4(X, max_FLOAT, float, float_4, int32_t_4, MAX, SUM_OF)            \
    SHORT_IDS(X, sum_INT32, uint32_t, uint32_t_4, int32_t_4, 1, ADD, SUM_OF) \
    SHORT_IDS(X, min_INT32, int32_t, int32_t_4, int32_t_4, 1, MIN, SUM_OF)   \
    SHORT_IDS(X, max_INT32, int32_t, int32_t_4, int32_t_4, 1, MAX, SUM_OF)   \
    SHORT_IDS(X, mean_INT32, uint32_t, uint32_t_4, int32_t_4, 1, ADD,        \
              INT32_MEAN_OF)                                                 \
    SHORT_2(X, sum_DOUBLE, double, double_2, int64_t_2, ADD, SUM_OF)         \
    SHORT_2(X, min_DOUBLE, double, double_2, int64_t_2, MIN, SUM_OF)         \
    SHORT_2(X, max_DOUBLE, double, double_2, int64_t_2, MAX, SUM_OF)         \
    SHORT_2(X, mean_DOUBLE, double, double_2, int64_t_2, ADD, WIDE_MEAN_OF)  \
    SHORT_IDS(X, sum_INT64, uint64_t, uint64_t_2, int64_t_2, 1, ADD, SUM_OF) \
    SHORT_IDS(X, min_INT64, int64_t, int64_t_2, int64_t_2, 1, MIN, SUM_OF)   \
    SHORT_IDS(X, max_INT64, int64_t, int64_t_2, int64_t_2, 1, MAX, SUM_OF)   \
    SHORT_IDS(X, mean_INT64, uint64_t, uint64_t_2, int64_t_2, 1, ADD,        \
              INT64_MEAN_OF)

EVERY_SHORT(STEP)
EVERY_SHORT(SHORT)
SHORT_4(STEP, sum_FLOAT, float, float_4, int32_t_4, ADD, SUM_OF)
SHORT_4(STEP, mean_FLOAT, float, float_4, int32_t_4, ADD, MEAN_OF)

/* ---- Sums of floats ------------------------------------------------------ */

#define BLOCK 256 /* rows whose ids are compared at once */

struct block {
    uint32_t same[BLOCK]; /* ones: of the segment of the row before it */
};

#define FIND_SAME(I)                                                     \
    /* Whether an id is left out. */                                     \
    TARGET_avx2 static inline bool find_same_##I(const I *id, int64_t n, \
                                                 struct block *b)        \
    {                                                                    \
        I gap = 0;                                                       \
                                                                         \
        for (int64_t i = 0; i < n; i++) {                                \
            b->same[i] = 0u - (uint32_t)(id[i] == id[i - 1]);            \
            gap |= (I)(id[i] - id[i - 1] > 1);                           \
        }                                                                \
        return gap != 0;                                                 \
    }

FIND_SAME(int32_t)
FIND_SAME(int64_t)

/* Divides by their rows the segments of a block of n rows, of which `last` has
 * the last row of each, and counts the rows of the last segment. */
#define DIVIDE_BLOCK(word, N, I, mean)                                  \
    TARGET_avx2 static inline void divide_block_##N##_##I(              \
        const struct tfd_segments *s, const I *id, const int32_t *last, \
        int64_t n, int32_t carried, int32_t *rows)                      \
    {                                                                   \
        const int64_t segments = (int64_t)(id[n - 1] - id[0]);          \
        float *y = (float *)s->y + (int64_t)id[0] * (N);                \
                                                                        \
        *rows = last[0] + 1 + carried;                                  \
        for (int c = 0; c < (N); c++)                                   \
            y[c] /= (float)*rows;                                       \
        y += (N);                                                       \
        for (int64_t i = 1; (N) == 1 && i <= segments; i++)             \
            y[i - 1] /= (float)(last[i] - last[i - 1]);                 \
        for (int64_t i = 1; (N) > 1 && i <= segments; i++, y += (N)) {  \
            const float by = (float)(last[i] - last[i - 1]);            \
            const float_4 quotient =                                    \
                LOAD_##N(float_4, y) / (float_4){by, by, by, by};       \
                                                                        \
            for (int c = 0; c < (N); c++)                               \
                y[c] = quotient[c];                                     \
        }                                                               \
        if (segments > 0)                                               \
            *rows = last[segments] - last[segments - 1];                \
    }

/* The next n rows of `count` stretches, none of which leaves out an id: as
 * step_..., but that a mean is divided once a block. */
#define ADD_BLOCK(word, N, I, mean)                                            \
    TARGET_avx2 static inline                                                  \
        __attribute__((always_inline)) void add_block_##word##_##N##_##I(      \
            const struct tfd_segments *s, struct tfd_segment_stretch *stretch, \
            const struct block *b, int count, int64_t n)                       \
    {                                                                          \
        typedef float_4 V;                                                     \
        float *const y = s->y;                                                 \
        int32_t last[TFD_SEGMENT_STRETCHES][BLOCK];                            \
        const I *id[TFD_SEGMENT_STRETCHES];                                    \
        I first[TFD_SEGMENT_STRETCHES];                                        \
        const float *x[TFD_SEGMENT_STRETCHES];                                 \
        V sum[TFD_SEGMENT_STRETCHES];                                          \
                                                                               \
        for (int k = 0; k < count; k++) {                                      \
            id[k] = (const I *)s->ids + stretch[k].at;                         \
            first[k] = id[k][0];                                               \
            x[k] = (const float *)s->x + stretch[k].at * (N);                  \
            memcpy(&sum[k], stretch[k].sum, sizeof(V));                        \
        }                                                                      \
        for (int64_t i = 0; i < n; i++)                                        \
            for (int k = 0; k < count; k++) {                                  \
                const int64_t at = (int64_t)id[k][i];                          \
                const uint32_t one = b[k].same[i];                             \
                const uint32_t_4 same = {one, one, one, one};                  \
                const V value = LOAD_##N(V, x[k] + i * (N));                   \
                const V more = sum[k] + value;                                 \
                                                                               \
                sum[k] = PICK(V, same, value, more);                           \
                for (int c = 0; c < (N); c++)                                  \
                    y[at * (N) + c] = sum[k][c];                               \
                if (mean)                                                      \
                    last[k][at - (int64_t)first[k]] = (int32_t)i;              \
            }                                                                  \
        for (int k = 0; k < count; k++) {                                      \
            int32_t_4 rows;                                                    \
            int32_t carried;                                                   \
                                                                               \
            memcpy(&rows, stretch[k].rows, sizeof(rows));                      \
            carried = b[k].same[0] ? rows[0] : 0;                              \
            if (mean) {                                                        \
                divide_block_##N##_##I(s, id[k], last[k], n, carried,          \
                                       &carried);                              \
                rows = (int32_t_4){carried, carried, carried, carried};        \
            }                                                                  \
            stretch[k].at += n;                                                \
            memcpy(stretch[k].rows, &rows, sizeof(rows));                      \
            memcpy(stretch[k].sum, &sum[k], sizeof(V));                        \
        }                                                                      \
    }                                                                          \
                                                                               \
    /* To the end of the shortest stretch. */                                  \
    TARGET_avx2 static inline                                                  \
        __attribute__((always_inline)) void add_blocks_##word##_##N##_##I(     \
            const struct tfd_segments *s, struct tfd_segment_stretch *stretch, \
            int count)                                                         \
    {                                                                          \
        struct block b[TFD_SEGMENT_STRETCHES];                                 \
                                                                               \
        for (;;) {                                                             \
            int64_t n = BLOCK;                                                 \
            bool gap = false;                                                  \
                                                                               \
            for (int k = 0; k < count; k++)                                    \
                n = tfd_min(n, stretch[k].end - stretch[k].at);                \
            if (n <= 0)                                                        \
                return;                                                        \
            for (int k = 0; k < count; k++)                                    \
                gap |= find_same_##I((const I *)s->ids + stretch[k].at, n,     \
                                     &b[k]);                                   \
            if (gap)                                                           \
                step_##word##_FLOAT_##N##_##I(s, stretch, count, n);           \
            else                                                               \
                add_block_##word##_##N##_##I(s, stretch, b, count, n);         \
        }                                                                      \
    }                                                                          \
                                                                               \
    TARGET_avx2 static void blocks_##word##_##N##_##I(                         \
        const struct tfd_segments *s, struct tfd_segment_stretch *stretch)     \
    {                                                                          \
        add_blocks_##word##_##N##_##I(s, stretch, TFD_SEGMENT_STRETCHES);      \
        for (int k = 0; k < TFD_SEGMENT_STRETCHES; k++)                        \
            add_blocks_##word##_##N##_##I(s, &stretch[k], 1);                  \
    }

#define EVERY_BLOCK(X, word, mean) \
    X(word, 1, int32_t, mean)      \
    X(word, 2, int32_t, mean)      \
    X(word, 3, int32_t, mean)      \
    X(word, 4, int32_t, mean)      \
    X(word, 1, int64_t, mean)      \
    X(word, 2, int64_t, mean)      \
    X(word, 3, int64_t, mean)      \
    X(word, 4, int64_t, mean)

EVERY_BLOCK(DIVIDE_BLOCK, , )
EVERY_BLOCK(ADD_BLOCK, sum, false)
EVERY_BLOCK(ADD_BLOCK, mean, true)

/* ---- Which one ----------------------------------------------------------- */

#define SHORT_MAX 4 /* elements of a row */

#define SHORT_ROW(name, N)                                         \
    {                                                              \
        short_##name##_##N##_int32_t, short_##name##_##N##_int64_t \
    }
#define BLOCK_ROW(word, N)                                           \
    {                                                                \
        blocks_##word##_##N##_int32_t, blocks_##word##_##N##_int64_t \
    }
#define BLOCK_ROWS(word)                                            \
    {                                                               \
        BLOCK_ROW(word, 1), BLOCK_ROW(word, 2), BLOCK_ROW(word, 3), \
            BLOCK_ROW(word, 4)                                      \
    }
#define SHORT_ROWS_2(name)                     \
    {                                          \
        SHORT_ROW(name, 1), SHORT_ROW(name, 2) \
    }
#define SHORT_ROWS_4(name)                                          \
    {                                                               \
        SHORT_ROW(name, 1), SHORT_ROW(name, 2), SHORT_ROW(name, 3), \
            SHORT_ROW(name, 4)                                      \
    }

/* By fold, type, elements of a row, and ids of 32 and of 64 bits. */
static tfd_segment_short_fn
    *const shorts[TFD_SEGMENT_MEAN + 1][TFD_DTYPE_END][SHORT_MAX][2] = {
        [TFD_SEGMENT_SUM] = {[TFD_FLOAT] = BLOCK_ROWS(sum),
                             [TFD_INT32] = {SHORT_ROW(sum_INT32, 1)},
                             [TFD_DOUBLE] = SHORT_ROWS_2(sum_DOUBLE),
                             [TFD_INT64] = {SHORT_ROW(sum_INT64, 1)}},
        [TFD_SEGMENT_MIN] = {[TFD_FLOAT] = SHORT_ROWS_4(min_FLOAT),
                             [TFD_INT32] = {SHORT_ROW(min_INT32, 1)},
                             [TFD_DOUBLE] = SHORT_ROWS_2(min_DOUBLE),
                             [TFD_INT64] = {SHORT_ROW(min_INT64, 1)}},
        [TFD_SEGMENT_MAX] = {[TFD_FLOAT] = SHORT_ROWS_4(max_FLOAT),
                             [TFD_INT32] = {SHORT_ROW(max_INT32, 1)},
                             [TFD_DOUBLE] = SHORT_ROWS_2(max_DOUBLE),
                             [TFD_INT64] = {SHORT_ROW(max_INT64, 1)}},
        [TFD_SEGMENT_MEAN] = {[TFD_FLOAT] = BLOCK_ROWS(mean),
                              [TFD_INT32] = {SHORT_ROW(mean_INT32, 1)},
                              [TFD_DOUBLE] = SHORT_ROWS_2(mean_DOUBLE),
                              [TFD_INT64] = {SHORT_ROW(mean_INT64, 1)}},
};

tfd_segment_short_fn *tfd_segment_short_for(enum tfd_segment_fold fold,
                                            const struct tfd_segments *s)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2"))
        return NULL;
#endif
    /* Rows are counted in as many bits as an element has. */
    if (s->inner > SHORT_MAX || s->count > INT32_MAX)
        return NULL;
    return shorts[fold][s->dtype][s->inner - 1][s->ids_type == TFD_INT64];
}
