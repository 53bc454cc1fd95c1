/*
 * sparse_segment_loops.c - see sparse_segment_loops.h.
 *
 * Sums stay in registers: as many columns at a time as fit there, the last of
 * which reach back to where the row ends.  A row of 5 to 8 elements is its
 * first 4 and its last 4.
 */
#include "kernels/sparse/sparse_segment_loops.h"

#include "common/base/half.h"
#include "common/thread/halt.h"
#include "kernels/core/elementwise.h"

#define INLINE static inline __attribute__((always_inline))

/* How picks are given: a loop of its own for each. */
enum kind { BY_INT32, BY_INT64, BY_LIST, KIND_END };

INLINE int64_t row_of(const struct tfd_picks *p, enum kind kind, int64_t i)
{
    return kind == BY_LIST    ? p->list[i].from
           : kind == BY_INT64 ? ((const int64_t *)p->index)[i]
                              : ((const int32_t *)p->index)[i];
}

/* ---- Any type ------------------------------------------------------------ */

#define WIDTH 16 /* columns at a time */

/* A: what is added.  The row's rest is summed by a loop that is not as wide. */
#define SUM(name, T, A, LOAD, STORE)                                           \
    INLINE void columns_##name(const struct tfd_picks *p, enum kind kind,      \
                               int64_t begin, int64_t end, int64_t at,         \
                               int64_t n, T *y, double scale)                  \
    {                                                                          \
        A sum[WIDTH] = {0};                                                    \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            const T *x = (const T *)p->x + row_of(p, kind, i) * p->inner + at; \
            const A weight = (A)(kind == BY_LIST ? p->list[i].weight : 1);     \
                                                                               \
            for (int64_t c = 0; c < n; c++)                                    \
                sum[c] += LOAD(x[c]) * weight;                                 \
        }                                                                      \
        for (int64_t c = 0; c < n; c++)                                        \
            y[at + c] = STORE(sum[c] * (A)scale);                              \
    }                                                                          \
    INLINE void rows_##name(const struct tfd_picks *p, enum kind kind,         \
                            int64_t begin, int64_t end, int64_t row,           \
                            double scale)                                      \
    {                                                                          \
        T *y = (T *)p->y + row * p->inner;                                     \
        int64_t at = 0;                                                        \
                                                                               \
        for (; at + WIDTH <= p->inner; at += WIDTH)                            \
            columns_##name(p, kind, begin, end, at, WIDTH, y, scale);          \
        if (at < p->inner)                                                     \
            columns_##name(p, kind, begin, end, at, p->inner - at, y, scale);  \
    }                                                                          \
    KINDS(name, rows_##name)

#define KIND(name, word, kind, fn)                                      \
    static void word##_##name(const struct tfd_picks *p, int64_t begin, \
                              int64_t end, int64_t row, double scale)   \
    {                                                                   \
        fn(p, kind, begin, end, row, scale);                            \
    }
#define KINDS(name, fn)             \
    KIND(name, int32, BY_INT32, fn) \
    KIND(name, int64, BY_INT64, fn) \
    KIND(name, list, BY_LIST, fn)

SUM(FLOAT, float, float, (float), (float))
SUM(DOUBLE, double, double, (double), (double))
SUM(HALF, tfd_half, float, tfd_half_to_float, tfd_half_from_float)
SUM(BFLOAT16, tfd_bfloat16, float, tfd_bfloat16_to_float,
    tfd_bfloat16_from_float)
/* Integers are summed without a sign, so that they wrap. */
SUM(INT8, int8_t, uint32_t, (uint32_t), (int8_t))
SUM(INT16, int16_t, uint32_t, (uint32_t), (int16_t))
SUM(INT32, int32_t, uint32_t, (uint32_t), (int32_t))
SUM(INT64, int64_t, uint64_t, (uint64_t), (int64_t))
SUM(UINT8, uint8_t, uint32_t, (uint32_t), (uint8_t))
SUM(UINT16, uint16_t, uint32_t, (uint32_t), (uint16_t))
SUM(UINT32, uint32_t, uint32_t, (uint32_t), (uint32_t))
SUM(UINT64, uint64_t, uint64_t, (uint64_t), (uint64_t))

/* ---- With vectors -------------------------------------------------------- */

/* Vectors of n of T, wherever they lie. */
#define VECTOR(T, n)                                               \
    typedef T T##_##n __attribute__((vector_size((n) * sizeof(T)), \
                                     aligned(sizeof(T)), may_alias))
#define VECTORS(T) \
    VECTOR(T, 2);  \
    VECTOR(T, 4)

VECTORS(float);
VECTOR(float, 8);
VECTORS(double);

#define SUMS_MAX 8 /* vectors */

/* `count` vectors of n elements of each row: the first at column `at`, each
 * `step` columns after the one before. */
#define SUM_VECTORS(name, T, n)                                                \
    INLINE void sum_##name##_##n(                                              \
        const struct tfd_picks *p, enum kind kind, int64_t begin, int64_t end, \
        int64_t at, int64_t step, const int count, T *y, double scale)         \
    {                                                                          \
        typedef T##_##n V;                                                     \
        const T *x = (const T *)p->x + at;                                     \
        V sum[SUMS_MAX] = {{0}};                                               \
                                                                               \
        for (int64_t i = begin; i < end; i++) {                                \
            const T *from = x + row_of(p, kind, i) * p->inner;                 \
                                                                               \
            for (int v = 0; v < count; v++) {                                  \
                V value = *(const V *)(from + v * step);                       \
                                                                               \
                if (kind == BY_LIST)                                           \
                    value *= (T)p->list[i].weight;                             \
                sum[v] += value;                                               \
            }                                                                  \
        }                                                                      \
        for (int v = 0; v < count; v++)                                        \
            *(V *)(y + at + v * step) = sum[v] * (T)scale;                     \
    }

SUM_VECTORS(FLOAT, float, 2)
SUM_VECTORS(FLOAT, float, 4)
SUM_VECTORS(FLOAT, float, 8)
SUM_VECTORS(DOUBLE, double, 2)
SUM_VECTORS(DOUBLE, double, 4)

/* Of rows of two elements or more.  L: elements of 32 bytes; the compiler keeps
 * sums of longer vectors in memory. */
#define WIDE(name, T, L)                                                       \
    INLINE void wide_##name(const struct tfd_picks *p, enum kind kind,         \
                            int64_t begin, int64_t end, int64_t row,           \
                            double scale)                                      \
    {                                                                          \
        const int64_t n = p->inner, two = n - 2 * (L), eight = n - 8 * (L);    \
        T *y = (T *)p->y + row * n;                                            \
                                                                               \
        if (n <= 4)                                                            \
            sum_##name##_2(p, kind, begin, end, 0, n - 2, 2, y, scale);        \
        else if (n <= 8)                                                       \
            sum_##name##_4(p, kind, begin, end, 0, n - 4, 2, y, scale);        \
        else if (n <= 2 * (L))                                                 \
            sum_##name##_##L(p, kind, begin, end, 0, n - (L), 2, y, scale);    \
        else if (n < 8 * (L))                                                  \
            for (int64_t at = 0; at < n; at += 2 * (L))                        \
                sum_##name##_##L(p, kind, begin, end, at < two ? at : two, L,  \
                                 2, y, scale);                                 \
        else                                                                   \
            for (int64_t at = 0; at < n; at += 8 * (L))                        \
                sum_##name##_##L(p, kind, begin, end, at < eight ? at : eight, \
                                 L, 8, y, scale);                              \
    }

WIDE(FLOAT, float, 8)
WIDE(DOUBLE, double, 4)

/* Each for any processor and for one that has AVX2. */
#define WIDE_KIND(set, name, word, kind)                                       \
    TARGET_##set static void set##_##word##_##name(const struct tfd_picks *p,  \
                                                   int64_t begin, int64_t end, \
                                                   int64_t row, double scale)  \
    {                                                                          \
        wide_##name(p, kind, begin, end, row, scale);                          \
    }
#define WIDE_KINDS(set, name)             \
    WIDE_KIND(set, name, int32, BY_INT32) \
    WIDE_KIND(set, name, int64, BY_INT64) \
    WIDE_KIND(set, name, list, BY_LIST)

#define TARGET_base
WIDE_KINDS(base, FLOAT)
WIDE_KINDS(base, DOUBLE)
#if defined(__x86_64__)
#define TARGET_avx2 __attribute__((target("avx2")))
WIDE_KINDS(avx2, FLOAT)
WIDE_KINDS(avx2, DOUBLE)
#endif

/* ---- Which one ----------------------------------------------------------- */

typedef tfd_picks_sum_fn *const sums_by_kind[KIND_END];

#define ROW(prefix, name)                                               \
    {                                                                   \
        prefix##int32_##name, prefix##int64_##name, prefix##list_##name \
    }

static sums_by_kind sums[TFD_DTYPE_END] = {
#define FLOAT_ROW(name, number, T) [number] = ROW(, name),
#define NARROW_ROW(name, ...) [TFD_##name] = ROW(, name),
    TFD_FLOAT_DTYPES(FLOAT_ROW) TFD_NARROW_DTYPES(NARROW_ROW)
        TFD_WRAPPING_DTYPES(NARROW_ROW)
#undef FLOAT_ROW
#undef NARROW_ROW
};

/* Sets of wide sums: of floats, of doubles. */
static sums_by_kind wide[][2] = {
    {ROW(base_, FLOAT), ROW(base_, DOUBLE)},
#if defined(__x86_64__)
    {ROW(avx2_, FLOAT), ROW(avx2_, DOUBLE)},
#endif
};

tfd_picks_sum_fn *tfd_picks_sum_of(enum tfd_dtype dtype,
                                   const struct tfd_picks *p)
{
    const enum kind kind = p->list                      ? BY_LIST
                           : p->index_type == TFD_INT64 ? BY_INT64
                                                        : BY_INT32;
    int set = 0;

    if (p->inner < 2 || (dtype != TFD_FLOAT && dtype != TFD_DOUBLE))
        return sums[dtype][kind];
#if defined(__x86_64__)
    set = __builtin_cpu_supports("avx2") ? 1 : 0;
#endif
    return wide[set][dtype == TFD_DOUBLE][kind];
}

/* ---- Backward ------------------------------------------------------------ */

#define AHEAD 8     /* picks between the one that is added and one fetched */
#define BLOCK 65536 /* picks between two looks at whether to go on */

INLINE int64_t number_at(const void *numbers, bool wide_ones, int64_t i)
{
    return wide_ones ? ((const int64_t *)numbers)[i]
                     : ((const int32_t *)numbers)[i];
}

#define ADD_BACK(name, T)                                                 \
    static void add_##name(const struct tfd_picks_back *p, int64_t begin, \
                           int64_t end)                                   \
    {                                                                     \
        const bool wide_index = p->index_type == TFD_INT64;               \
        const bool wide_id = p->id_type == TFD_INT64;                     \
        const int64_t n = p->inner;                                       \
                                                                          \
        for (int64_t i = begin; i < end; i++) {                           \
            const int64_t id = number_at(p->id, wide_id, i);              \
            const T weight = p->weight ? (T)p->weight[id] : 1;            \
            const T *x = (const T *)p->x + id * n;                        \
            T *y = (T *)p->y + number_at(p->index, wide_index, i) * n;    \
            int64_t c = 0;                                                \
                                                                          \
            if (i + AHEAD < end)                                          \
                __builtin_prefetch(                                       \
                    (T *)p->y +                                           \
                        number_at(p->index, wide_index, i + AHEAD) * n,   \
                    1);                                                   \
            for (; c + 4 <= n; c += 4)                                    \
                *(T##_4 *)(y + c) += *(const T##_4 *)(x + c) * weight;    \
            for (; c < n; c++)                                            \
                y[c] += x[c] * weight;                                    \
        }                                                                 \
    }

ADD_BACK(FLOAT, float)
ADD_BACK(DOUBLE, double)

bool tfd_picks_add(enum tfd_dtype dtype, const struct tfd_picks_back *p)
{
    if (dtype != TFD_FLOAT && dtype != TFD_DOUBLE)
        return false;
    for (int64_t i = 0, end; i < p->count && !tfd_halted(); i = end) {
        end = p->count - i < BLOCK ? p->count : i + BLOCK;
        (dtype == TFD_FLOAT ? add_FLOAT : add_DOUBLE)(p, i, end);
    }
    return true;
}
