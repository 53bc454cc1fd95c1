/*
 * segment_short.c - see segment_short.h.
 *
 * Several stretches of rows take turns, so that additions which wait for the
 * one before overlap; what a segment has so far is written after every row, so
 * that nobody asks whether it ends.
 *
 * Ids are looked at some hundred at a time, before the rows: where segments
 * begin, where they are written, and whether some are left out.  Means are sums
 * that are divided where they lie, a segment at a time.
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

#define INLINE static inline __attribute__((always_inline))

/* ---- Ids ----------------------------------------------------------------- */

#define WORD 64 /* rows whose beginnings are bits of a number */
#define BLOCK 256

struct block {
    uint32_t same[BLOCK]; /* ones: of the segment of the row before it */
    int64_t at[BLOCK];    /* its segment */
};

/* No segment begins after the n ids. */
static void end_block(struct block *b, int64_t n)
{
    for (int64_t i = n; i % WORD; i++)
        b->same[i] = UINT32_MAX;
}

/* Looks at n ids; whether some are left out before them. */
#define FIND_SAME(I)                                              \
    TARGET_avx2 static bool find_same_##I(const I *id, int64_t n, \
                                          struct block *b)        \
    {                                                             \
        I gap = 0;                                                \
                                                                  \
        for (int64_t i = 0; i < n; i++) {                         \
            b->same[i] = 0u - (uint32_t)(id[i] == id[i - 1]);     \
            b->at[i] = id[i];                                     \
            gap |= (I)(id[i] - id[i - 1] > 1);                    \
        }                                                         \
        end_block(b, n);                                          \
        return gap != 0;                                          \
    }

FIND_SAME(int32_t)
FIND_SAME(int64_t)

static bool find_same(const struct tfd_segments *s, int64_t at, int64_t n,
                      struct block *b)
{
    return s->ids_type == TFD_INT32
               ? find_same_int32_t((const int32_t *)s->ids + at, n, b)
               : find_same_int64_t((const int64_t *)s->ids + at, n, b);
}

/* `last`: the id before those of the block. */
static void fill_gaps(const struct tfd_segments *s, const struct block *b,
                      int64_t n, int64_t last)
{
    for (int64_t i = 0; i < n; i++) {
        if (b->at[i] > last + 1)
            tfd_segment_gap(s, last + 1, b->at[i]);
        last = b->at[i];
    }
}

/* ---- Rows ---------------------------------------------------------------- */

/* Vectors of n of T, wherever they lie. */
#define VECTOR(T, n)                                               \
    typedef T T##_##n __attribute__((vector_size((n) * sizeof(T)), \
                                     aligned(sizeof(T)), may_alias))
VECTOR(float, 4);
#if defined(__x86_64__)
typedef float float_8 __attribute__((vector_size(32)));
#endif
VECTOR(int32_t, 4);
VECTOR(uint32_t, 4);
VECTOR(uint32_t, 8);
VECTOR(double, 2);
VECTOR(double, 4);
VECTOR(int64_t, 4);
VECTOR(uint64_t, 4);

/* b where the mask m has ones, a where it has zeros. */
#define PICK(V, m, a, b) \
    (V)(((__typeof__(m))(b) & (m)) | ((__typeof__(m))(a) & ~(m)))
#if defined(__x86_64__)
/* In one instruction. */
#define PICK_float_4(m, a, b) __builtin_ia32_blendvps(a, b, (float_4)(m))
#define PICK_double_2(m, a, b) __builtin_ia32_blendvpd(a, b, (double_2)(m))
#define PICK_double_4(m, a, b) __builtin_ia32_blendvpd256(a, b, (double_4)(m))
#define PICK_int32_t_4(m, a, b) \
    (int32_t_4) PICK_float_4(m, (float_4)(a), (float_4)(b))
#define PICK_int64_t_4(m, a, b) \
    (int64_t_4) PICK_double_4(m, (double_4)(a), (double_4)(b))
#else
#define PICK_float_4(m, a, b) PICK(float_4, m, a, b)
#define PICK_double_2(m, a, b) PICK(double_2, m, a, b)
#define PICK_double_4(m, a, b) PICK(double_4, m, a, b)
#define PICK_int32_t_4(m, a, b) PICK(int32_t_4, m, a, b)
#define PICK_int64_t_4(m, a, b) PICK(int64_t_4, m, a, b)
#endif

/* What a segment has with the row x, which begins it where `same` is zero: then
 * x itself, whose bits no instruction of numbers may see, as threads compute
 * without subnormal ones.  As scatter_functions.h has them, NaN too. */
#define ADD_REAL(V, same, fold, x) PICK_##V(same, x, (fold) + (x))
#define MIN(V, same, fold, x) PICK_##V(same, x, PICK_##V((x) < (fold), fold, x))
#define MAX(V, same, fold, x) PICK_##V(same, x, PICK_##V((x) > (fold), fold, x))
#define ADD(V, same, fold, x) (PICK(V, same, (V){0}, fold) + (x))

#define LOAD_1(V, x) ((V){(x)[0]})
#define LOAD_2(V, x) ((V){(x)[0], (x)[1]})
#define LOAD_3(V, x) ((V){(x)[0], (x)[1], (x)[2]})
#define LOAD_4(V, x) (*(const V *)(x))
#define EACH_4(one) ((uint32_t_4){one, one, one, one})
#define EACH_8(one) ((uint32_t_8){one, one, one, one, one, one, one, one})

/* Asks for what lies that far behind, for which processors ask too late where
 * stretches take turns. */
#define FETCH_BYTES 4096
#define FETCH(x) \
    __builtin_prefetch((const void *)((uintptr_t)(x) + FETCH_BYTES))

typedef void rows_fn(const struct tfd_segments *s,
                     struct tfd_segment_stretch *stretch, const struct block *b,
                     int count, int64_t n, int64_t whole);

/* Of the next rows of `count` stretches those from `at` to n.  A row of N
 * elements is the beginning of a vector V, which `words` numbers of 32 bits
 * are.  Where what lies behind a row, of x and of y, may be read and written,
 * it is a `whole` vector. */
#define FOLD_ROWS(name, T, V, words, N, F)                                    \
    TARGET_avx2 INLINE void fold_##name##_##N(                                \
        const struct tfd_segments *s, struct tfd_segment_stretch *stretch,    \
        const struct block *b, const int count, int64_t at, int64_t n,        \
        const bool whole)                                                     \
    {                                                                         \
        T *const y = s->y;                                                    \
        const T *x[TFD_SEGMENT_STRETCHES];                                    \
        V fold[TFD_SEGMENT_STRETCHES];                                        \
                                                                              \
        for (int k = 0; k < count; k++) {                                     \
            x[k] = (const T *)s->x + stretch[k].at * (N);                     \
            fold[k] = *(const V *)stretch[k].fold;                            \
        }                                                                     \
        for (int64_t i = at; i < n; i++)                                      \
            for (int k = 0; k < count; k++) {                                 \
                const uint32_t same = b[k].same[i];                           \
                const V value = whole ? LOAD_4(V, x[k] + i * (N))             \
                                      : LOAD_##N(V, x[k] + i * (N));          \
                                                                              \
                fold[k] = F(V, EACH_##words(same), fold[k], value);           \
                if (whole) {                                                  \
                    FETCH(x[k] + i * (N));                                    \
                    *(V *)(y + b[k].at[i] * (N)) = fold[k];                   \
                }                                                             \
                for (int c = 0; !whole && c < (N); c++)                       \
                    y[b[k].at[i] * (N) + c] = fold[k][c];                     \
            }                                                                 \
        for (int k = 0; k < count; k++)                                       \
            *(V *)stretch[k].fold = fold[k];                                  \
    }                                                                         \
                                                                              \
    TARGET_avx2 static void rows_##name##_##N(                                \
        const struct tfd_segments *s, struct tfd_segment_stretch *stretch,    \
        const struct block *b, int count, int64_t n, int64_t whole)           \
    {                                                                         \
        if (count == 1) {                                                     \
            fold_##name##_##N(s, stretch, b, 1, 0, n, false);                 \
            return;                                                           \
        }                                                                     \
        if ((N) == 3 && whole > 0)                                            \
            fold_##name##_##N(s, stretch, b, TFD_SEGMENT_STRETCHES, 0, whole, \
                              true);                                          \
        if ((N) != 3 || whole < n)                                            \
            fold_##name##_##N(s, stretch, b, TFD_SEGMENT_STRETCHES,           \
                              (N) == 3 ? whole : 0, n, false);                \
    }

#define ROWS_4(X, name, T, F)    \
    X(name, T, float_4, 4, 1, F) \
    X(name, T, float_4, 4, 2, F) \
    X(name, T, float_4, 4, 3, F) \
    X(name, T, float_4, 4, 4, F)
#define ROWS_3(X, name, T, F)     \
    X(name, T, double_2, 4, 1, F) \
    X(name, T, double_2, 4, 2, F) \
    X(name, T, double_4, 8, 3, F)

#define INT_ROWS(X, name, T, V, words, F) \
    X(name, T, V, words, 1, F)            \
    X(name, T, V, words, 2, F)            \
    X(name, T, V, words, 3, F)

ROWS_4(FOLD_ROWS, sum_FLOAT, float, ADD_REAL)
ROWS_4(FOLD_ROWS, min_FLOAT, float, MIN)
ROWS_4(FOLD_ROWS, max_FLOAT, float, MAX)
ROWS_3(FOLD_ROWS, sum_DOUBLE, double, ADD_REAL)
ROWS_3(FOLD_ROWS, min_DOUBLE, double, MIN)
ROWS_3(FOLD_ROWS, max_DOUBLE, double, MAX)
INT_ROWS(FOLD_ROWS, sum_INT32, uint32_t, uint32_t_4, 4, ADD)
INT_ROWS(FOLD_ROWS, min_INT32, int32_t, int32_t_4, 4, MIN)
INT_ROWS(FOLD_ROWS, max_INT32, int32_t, int32_t_4, 4, MAX)
INT_ROWS(FOLD_ROWS, sum_INT64, uint64_t, uint64_t_4, 8, ADD)
INT_ROWS(FOLD_ROWS, min_INT64, int64_t, int64_t_4, 8, MIN)
INT_ROWS(FOLD_ROWS, max_INT64, int64_t, int64_t_4, 8, MAX)

/* ---- Means --------------------------------------------------------------- */

/* A double's quotient of numbers below 2^52, of which the lower is below 2^31,
 * never reaches the whole number above it; processors have it long before that
 * of integers. */
static inline int64_t quotient(int64_t sum, int64_t rows)
{
    const int64_t far = INT64_C(1) << 52;

    if (sum > -far && sum < far)
        return (int64_t)((double)sum / (double)rows);
    return sum / rows;
}

/* The signs of the next 8 of those. */
#if defined(__x86_64__)
TARGET_avx2 static inline uint64_t signs_of_8(const uint32_t *same)
{
    float_8 x;

    memcpy(&x, same, sizeof(x));
    return (uint64_t)__builtin_ia32_movmskps256(x);
}
#else
static inline uint64_t signs_of_8(const uint32_t *same)
{
    uint64_t bits = 0;

    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)(same[i] & 1) << i;
    return bits;
}
#endif

/* Ones where segments begin. */
TARGET_avx2 static inline uint64_t beginnings(const uint32_t *same)
{
    uint64_t bits = 0;

    for (int i = 0; i < WORD; i += 8)
        bits |= signs_of_8(same + i) << i;
    return ~bits;
}

typedef void divide_fn(void *y, int64_t segment, int64_t rows);
typedef void divide_rows_fn(const struct tfd_segments *s,
                            struct tfd_segment_stretch *t,
                            const struct block *b, int64_t n);

/* Divides the segments that end where others in the next n rows begin. */
TARGET_avx2 INLINE void divide_ended(const struct tfd_segments *s,
                                     struct tfd_segment_stretch *t,
                                     const struct block *b, int64_t n,
                                     divide_fn *divide)
{
    int64_t segment = t->segment, begin = t->begin;

    for (int64_t i = 0; i < n; i += WORD)
        for (uint64_t bits = beginnings(b->same + i); bits; bits &= bits - 1) {
            const int64_t at = i + __builtin_ctzll(bits);

            if (begin >= 0)
                divide(s->y, segment, t->at + at - begin);
            begin = t->at + at;
            segment = b->at[at];
        }
    t->segment = segment;
    t->begin = begin;
}

#define DIVIDE_ROWS(name, N)                                         \
    TARGET_avx2 static void divide_rows_##name##_##N(                \
        const struct tfd_segments *s, struct tfd_segment_stretch *t, \
        const struct block *b, int64_t n)                            \
    {                                                                \
        divide_ended(s, t, b, n, divide_##name##_##N);               \
    }
#define DIVIDE_REAL(name, T, V, N)                                         \
    TARGET_avx2 INLINE void divide_##name##_##N(void *to, int64_t segment, \
                                                int64_t rows)              \
    {                                                                      \
        T *y = (T *)to + segment * (N);                                    \
        const V quotients = LOAD_##N(V, y) / (T)rows;                      \
                                                                           \
        for (int c = 0; c < (N); c++)                                      \
            y[c] = quotients[c];                                           \
    }                                                                      \
    DIVIDE_ROWS(name, N)
#define DIVIDE_INT(name, T, N)                                             \
    TARGET_avx2 INLINE void divide_##name##_##N(void *to, int64_t segment, \
                                                int64_t rows)              \
    {                                                                      \
        T *y = (T *)to + segment * (N);                                    \
                                                                           \
        for (int c = 0; c < (N); c++)                                      \
            y[c] = (T)quotient(y[c], rows);                                \
    }                                                                      \
    DIVIDE_ROWS(name, N)

DIVIDE_REAL(FLOAT, float, float_4, 1)
DIVIDE_REAL(FLOAT, float, float_4, 2)
DIVIDE_REAL(FLOAT, float, float_4, 3)
DIVIDE_REAL(FLOAT, float, float_4, 4)
DIVIDE_REAL(DOUBLE, double, double_2, 1)
DIVIDE_REAL(DOUBLE, double, double_2, 2)
DIVIDE_REAL(DOUBLE, double, double_4, 3)
DIVIDE_INT(INT32, int32_t, 1)
DIVIDE_INT(INT32, int32_t, 2)
DIVIDE_INT(INT32, int32_t, 3)
DIVIDE_INT(INT64, int64_t, 1)
DIVIDE_INT(INT64, int64_t, 2)
DIVIDE_INT(INT64, int64_t, 3)

/* ---- Which ones ---------------------------------------------------------- */

#define SHORT_MAX 4 /* elements of a row */

#define OF_4(name)                             \
    {                                          \
        name##_1, name##_2, name##_3, name##_4 \
    }
#define OF_3(name)                   \
    {                                \
        name##_1, name##_2, name##_3 \
    }
#define OF_TYPES(name)                                                        \
    {                                                                         \
        [TFD_FLOAT] = OF_4(name##_FLOAT), [TFD_DOUBLE] = OF_3(name##_DOUBLE), \
        [TFD_INT32] = OF_3(name##_INT32), [TFD_INT64] = OF_3(name##_INT64)    \
    }

/* By fold, type, and elements of a row. */
static rows_fn *const rows[TFD_SEGMENT_MEAN + 1][TFD_DTYPE_END][SHORT_MAX] = {
    [TFD_SEGMENT_SUM] = OF_TYPES(rows_sum),
    [TFD_SEGMENT_MIN] = OF_TYPES(rows_min),
    [TFD_SEGMENT_MAX] = OF_TYPES(rows_max),
    [TFD_SEGMENT_MEAN] = OF_TYPES(rows_sum),
};
static divide_rows_fn *const divides[TFD_DTYPE_END][SHORT_MAX] =
    OF_TYPES(divide_rows);

bool tfd_segment_short_has(enum tfd_segment_fold fold,
                           const struct tfd_segments *s)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2"))
        return false;
#endif
    /* A quotient of more rows is not what quotient() makes of them. */
    return s->inner <= SHORT_MAX && s->count <= INT32_MAX &&
           rows[fold][s->dtype][s->inner - 1];
}

/* ---- Stretches ----------------------------------------------------------- */

static int64_t shortest(const struct tfd_segment_stretch *stretch, int count)
{
    int64_t n = BLOCK;

    for (int k = 0; k < count; k++)
        n = tfd_min(n, stretch[k].end - stretch[k].at);
    return n;
}

static int64_t id_at(const struct tfd_segments *s, int64_t i)
{
    return s->ids_type == TFD_INT32 ? ((const int32_t *)s->ids)[i]
                                    : ((const int64_t *)s->ids)[i];
}

/* How many of the n rows have a row and a segment behind them that are the
 * stretch's, too: it writes that segment after those. */
static int64_t going_on(const struct tfd_segments *s,
                        const struct tfd_segment_stretch *t,
                        const struct block *b, int64_t n)
{
    const int64_t last = id_at(s, t->end - 1);

    if (b->at[0] >= last)
        return 0;
    while (n > 0 && b->at[n - 1] >= last)
        n--;
    return n;
}

/* To the end of the shortest of them. */
static void fold_together(enum tfd_segment_fold fold,
                          const struct tfd_segments *s,
                          struct tfd_segment_stretch *stretch, int count)
{
    rows_fn *const run = rows[fold][s->dtype][s->inner - 1];
    divide_rows_fn *const divide =
        fold == TFD_SEGMENT_MEAN ? divides[s->dtype][s->inner - 1] : NULL;
    struct block b[TFD_SEGMENT_STRETCHES];

    for (int64_t n; (n = shortest(stretch, count)) > 0;) {
        bool gaps[TFD_SEGMENT_STRETCHES];
        int64_t whole = s->inner == 3 && count > 1 ? n : 0;

        for (int k = 0; k < count; k++) {
            gaps[k] = find_same(s, stretch[k].at, n, &b[k]);
            whole = going_on(s, &stretch[k], &b[k], whole);
        }
        run(s, stretch, b, count, n, whole);
        for (int k = 0; k < count; k++) {
            if (gaps[k])
                fill_gaps(s, &b[k], n, stretch[k].last);
            if (divide)
                divide(s, &stretch[k], &b[k], n);
            stretch[k].last = b[k].at[n - 1];
            stretch[k].at += n;
        }
    }
}

/* Another segment begins behind the last one. */
static void divide_last(const struct tfd_segments *s,
                        struct tfd_segment_stretch *t)
{
    struct block b; /* of which one word is looked at */

    b.same[0] = 0;
    b.at[0] = 0;
    end_block(&b, 1);
    divides[s->dtype][s->inner - 1](s, t, &b, 1);
}

void tfd_segment_short_fold(enum tfd_segment_fold fold,
                            const struct tfd_segments *s,
                            struct tfd_segment_stretch *stretch)
{
    for (int k = 0; k < TFD_SEGMENT_STRETCHES; k++)
        stretch[k].begin = -1;
    fold_together(fold, s, stretch, TFD_SEGMENT_STRETCHES);
    for (int k = 0; k < TFD_SEGMENT_STRETCHES; k++) {
        fold_together(fold, s, &stretch[k], 1);
        if (fold == TFD_SEGMENT_MEAN)
            divide_last(s, &stretch[k]);
    }
}
