/*
 * segment_loops.c - see segment_loops.h.
 *
 * Threads share the rows; a segment is that thread's whose rows hold its first
 * one.  It finds the places where ids change, block by block and without a
 * branch a row, and folds what lies between two of them with sums in registers:
 * a row of 5 to 8 elements is its first 4 and its last 4, which overlap, and
 * longer ones are as many columns at a time.
 *
 * Where a row is few elements, segments are too short for that: those are for
 * segment_short.h.
 */
#include "kernels/sparse/segment_short.h"

#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/index/scatter_functions.h"
#include "kernels/vector/simd.h"
#include "kernels/vector/type_rows.h"

#include <string.h>

/* ---- Folds of one segment ------------------------------------------------ */

/* Rows that one output row is made of. */
struct run {
    const void *x;
    void *y;
    int64_t inner;
    bool mean; /* wide folds of floats and doubles divide by the rows */
};

#define FOLD_COUNT (TFD_SEGMENT_MEAN + 1)
#define INLINE static inline __attribute__((always_inline))

typedef void fold_fn(const struct run *r, int64_t rows);

/* Of any type; the compiler makes vectors of it where it can. */
#define FOLD(f, T)                                          \
    static void fold_##f(const struct run *r, int64_t rows) \
    {                                                       \
        const int64_t n = r->inner;                         \
        const T *x = r->x;                                  \
        T *y = r->y;                                        \
                                                            \
        memcpy(y, x, (size_t)n * sizeof(T));                \
        for (int64_t i = 1; i < rows; i++)                  \
            for (int64_t c = 0; c < n; c++)                 \
                y[c] = f(y[c], x[i * n + c]);               \
    }

#define SUMS(X, name, T) X(add_##name, T) X(mul_##name, T)
#define ORDERS(X, name, T) X(min_##name, T) X(max_##name, T)

TFD_REAL_ROWS(SUMS, FOLD)
TFD_HALF_ROWS(SUMS, FOLD)
TFD_COMPLEX_ROWS(SUMS, FOLD)
TFD_REAL_ROWS(ORDERS, FOLD)
TFD_HALF_ROWS(ORDERS, FOLD)

/* ---- With vectors -------------------------------------------------------- */

#if defined(__x86_64__)
#define TARGET_avx2 __attribute__((target("avx2")))
#else
#define TARGET_avx2
#endif

/* Vectors of 2, of 4 and of 32 bytes of T, wherever they lie. */
#define VECTOR(T, word, n)                                            \
    typedef T T##_##word __attribute__((vector_size((n) * sizeof(T)), \
                                        aligned(sizeof(T)), may_alias))
#define VECTORS(T)   \
    VECTOR(T, 2, 2); \
    VECTOR(T, 4, 4); \
    VECTOR(T, whole, 32 / sizeof(T))

VECTORS(float);
VECTORS(double);
VECTORS(int32_t);
VECTORS(int64_t);
VECTORS(uint32_t);
VECTORS(uint64_t);

/* b where the mask m has ones, a where it has zeros. */
#define PICK(V, m, a, b) \
    (V)(((__typeof__(m))(b) & (m)) | ((__typeof__(m))(a) & ~(m)))
/* As scatter_functions.h has them, NaN too; n: which of those vectors. */
#define ADD(V, n, a, b) ((a) + (b))
#define MUL(V, n, a, b) ((a) * (b))
#define MIN(V, n, a, b) PICK(V, (b) < (a), a, b)
#define MAX(V, n, a, b) PICK(V, (b) > (a), a, b)
#define MIN_FLOAT(V, n, a, b) MIN_FLOAT_##n(V, a, b)
#define MAX_FLOAT(V, n, a, b) MAX_FLOAT_##n(V, a, b)
#define MIN_DOUBLE(V, n, a, b) MIN_DOUBLE_##n(V, a, b)
#define MAX_DOUBLE(V, n, a, b) MAX_DOUBLE_##n(V, a, b)
#define MIN_FLOAT_2(V, a, b) MIN(V, 2, a, b)
#define MAX_FLOAT_2(V, a, b) MAX(V, 2, a, b)
#if defined(__x86_64__)
/* One instruction gives its first number where that is beyond the second, and
 * the second otherwise; compilers do not see that it is this. */
#define MIN_FLOAT_4(V, a, b) ((V)__builtin_ia32_minps(b, a))
#define MAX_FLOAT_4(V, a, b) ((V)__builtin_ia32_maxps(b, a))
#define MIN_FLOAT_whole(V, a, b) ((V)__builtin_ia32_minps256(b, a))
#define MAX_FLOAT_whole(V, a, b) ((V)__builtin_ia32_maxps256(b, a))
#define MIN_DOUBLE_2(V, a, b) ((V)__builtin_ia32_minpd(b, a))
#define MAX_DOUBLE_2(V, a, b) ((V)__builtin_ia32_maxpd(b, a))
#define MIN_DOUBLE_4(V, a, b) ((V)__builtin_ia32_minpd256(b, a))
#define MAX_DOUBLE_4(V, a, b) ((V)__builtin_ia32_maxpd256(b, a))
#else
#define MIN_FLOAT_4(V, a, b) MIN(V, 4, a, b)
#define MAX_FLOAT_4(V, a, b) MAX(V, 4, a, b)
#define MIN_FLOAT_whole(V, a, b) MIN(V, whole, a, b)
#define MAX_FLOAT_whole(V, a, b) MAX(V, whole, a, b)
#define MIN_DOUBLE_2(V, a, b) MIN(V, 2, a, b)
#define MAX_DOUBLE_2(V, a, b) MAX(V, 2, a, b)
#define MIN_DOUBLE_4(V, a, b) MIN(V, 4, a, b)
#define MAX_DOUBLE_4(V, a, b) MAX(V, 4, a, b)
#endif
#define MIN_DOUBLE_whole(V, a, b) MIN_DOUBLE_4(V, a, b)
#define MAX_DOUBLE_whole(V, a, b) MAX_DOUBLE_4(V, a, b)
#define AT_ONCE 4 /* vectors of a row */

/* `count` vectors of n elements of each row: the first at column `at`, each
 * `step` columns after the one before. */
#define EACH _Pragma("GCC unroll 4") for (int v = 0; v < count; v++)
#define FOLD_VECTORS(name, T, F, L, n)                                       \
    TARGET_avx2 INLINE void wide_##name##_##n(const struct run *r,           \
                                              int64_t rows, int64_t at,      \
                                              int64_t step, const int count) \
    {                                                                        \
        typedef T##_##n V;                                                   \
        const T *row = (const T *)r->x + at;                                 \
        V fold[AT_ONCE];                                                     \
                                                                             \
        EACH fold[v] = *(const V *)(row + v * step);                         \
        for (int64_t i = 1; i < rows; i++) {                                 \
            row += r->inner;                                                 \
            EACH fold[v] = F(V, n, fold[v], *(const V *)(row + v * step));   \
        }                                                                    \
        if (IS_REAL(T) && r->mean)                                           \
            EACH fold[v] /= (T)rows;                                         \
        EACH *(V *)((T *)r->y + at + v * step) = fold[v];                    \
    }
#define IS_REAL(T) ((T)0.5 != 0)

/* Of rows of two elements or more.  L: elements of 32 bytes; the compiler keeps
 * longer vectors in memory. */
#define WIDE_FOLD(name, T, F, L, n_)                                       \
    TARGET_avx2 static void wide_##name(const struct run *r, int64_t rows) \
    {                                                                      \
        const int64_t n = r->inner, last = n - (L), four = n - 4 * (L);    \
                                                                           \
        if (n <= 4)                                                        \
            wide_##name##_2(r, rows, 0, n - 2, 2);                         \
        else if (n <= 8)                                                   \
            wide_##name##_4(r, rows, 0, n - 4, 2);                         \
        else if (n < 4 * (L))                                              \
            for (int64_t at = 0; at < n; at += 2 * (L)) {                  \
                const int64_t first = at < last ? at : last;               \
                const int64_t second = at + (L) < last ? at + (L) : last;  \
                                                                           \
                wide_##name##_whole(r, rows, first, second - first, 2);    \
            }                                                              \
        else                                                               \
            for (int64_t at = 0; at < n; at += 4 * (L))                    \
                wide_##name##_whole(r, rows, at < four ? at : four, L, 4); \
    }

/* X(dtype, number); integers wrap unsigned. */
#define WIDE_TYPES(X) \
    X(FLOAT, 1)       \
    X(DOUBLE, 2)      \
    X(INT32, 3)       \
    X(INT64, 9)

#define WIDE_ROWS(X, name, U, T, least, most, L, n) \
    X(add_##name, U, ADD, L, n)                     \
    X(mul_##name, U, MUL, L, n)                     \
    X(min_##name, T, least, L, n)                   \
    X(max_##name, T, most, L, n)
#define WIDE_SET(X, n)                                                 \
    WIDE_ROWS(X, FLOAT, float, float, MIN_FLOAT, MAX_FLOAT, 8, n)      \
    WIDE_ROWS(X, DOUBLE, double, double, MIN_DOUBLE, MAX_DOUBLE, 4, n) \
    WIDE_ROWS(X, INT32, uint32_t, int32_t, MIN, MAX, 8, n)             \
    WIDE_ROWS(X, INT64, uint64_t, int64_t, MIN, MAX, 4, n)

WIDE_SET(FOLD_VECTORS, 2)
WIDE_SET(FOLD_VECTORS, 4)
WIDE_SET(FOLD_VECTORS, whole)
WIDE_SET(WIDE_FOLD, )

/* ---- Division by counts -------------------------------------------------- */

/* A count that a small integer has no number for wraps, as the sum does and as
 * TensorFlow's count does.  Where it wraps to 0, which TensorFlow ends by, the
 * count itself is more than any sum, and the quotient 0. */
#define DIVIDE(name, T, number, wraps_to_0)                      \
    static void divide_##name(const struct run *r, int64_t rows) \
    {                                                            \
        const T count = number;                                  \
        T *y = r->y;                                             \
                                                                 \
        if (wraps_to_0) {                                        \
            memset(y, 0, sizeof(*y) * (size_t)r->inner);         \
            return;                                              \
        }                                                        \
        for (int64_t i = 0; i < r->inner; i++)                   \
            y[i] = div_##name(y[i], count);                      \
    }
#define DIVIDE_REAL(X, name, T) X(name, T, (T)rows, count == 0)
#define DIVIDE_HALF(X, name, T) X(name, T, T##_from_float((float)rows), false)

TFD_REAL_ROWS(DIVIDE_REAL, DIVIDE)
TFD_HALF_ROWS(DIVIDE_HALF, DIVIDE)
DIVIDE(COMPLEX64, tfd_complex64, ((tfd_complex64){(float)rows, 0}), false)
DIVIDE(COMPLEX128, tfd_complex128, ((tfd_complex128){(double)rows, 0}), false)

/* ---- Tables -------------------------------------------------------------- */

typedef fold_fn *const fold_table[FOLD_COUNT][TFD_DTYPE_END];

#define SUM_ROWS(prefix, name, number)                \
    [TFD_SEGMENT_SUM][number] = prefix##_add_##name,  \
    [TFD_SEGMENT_MEAN][number] = prefix##_add_##name, \
    [TFD_SEGMENT_PROD][number] = prefix##_mul_##name,
#define ORDER_ROWS(prefix, name, number)             \
    [TFD_SEGMENT_MIN][number] = prefix##_min_##name, \
    [TFD_SEGMENT_MAX][number] = prefix##_max_##name,
#define SUM_ROW(name, number, T) SUM_ROWS(fold, name, number)
#define ORDER_ROW(name, number, T) ORDER_ROWS(fold, name, number)
#define WIDE_ROW(name, number) \
    SUM_ROWS(wide, name, number) ORDER_ROWS(wide, name, number)

static fold_table folds = {TFD_REAL_DTYPES(SUM_ROW) TFD_HALF_DTYPES(SUM_ROW)
                               TFD_COMPLEX_DTYPES(SUM_ROW)
                                   TFD_REAL_DTYPES(ORDER_ROW)
                                       TFD_HALF_DTYPES(ORDER_ROW)};
static fold_table wide_folds = {WIDE_TYPES(WIDE_ROW)};

static fold_fn *const dividers[TFD_DTYPE_END] = {
#define DIVIDE_ROW(name, number, T) [number] = divide_##name,
    TFD_REAL_DTYPES(DIVIDE_ROW) TFD_HALF_DTYPES(DIVIDE_ROW)
        TFD_COMPLEX_DTYPES(DIVIDE_ROW)
#undef DIVIDE_ROW
};

/* NULL: none of such rows. */
static fold_fn *wide_fold_for(enum tfd_segment_fold fold, enum tfd_dtype dtype,
                              int64_t inner)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2"))
        return NULL;
#endif
    return inner < 2 ? NULL : wide_folds[fold][dtype];
}

/* ---- Ids ----------------------------------------------------------------- */

struct job {
    const struct tfd_segments *s;
    enum tfd_segment_fold kind;
    fold_fn *fold, *divide; /* divide: or NULL */
    int64_t row;            /* bytes of one */
    bool mean;              /* which `fold` makes itself */
};

static int64_t id_at(const struct tfd_segments *s, int64_t i)
{
    return s->ids_type == TFD_INT32 ? ((const int32_t *)s->ids)[i]
                                    : ((const int64_t *)s->ids)[i];
}

/* The first row from `at` on that begins a segment; count: none does. */
static int64_t next_begin(const struct tfd_segments *s, int64_t at)
{
    while (at > 0 && at < s->count && id_at(s, at) == id_at(s, at - 1))
        at++;
    return at;
}

#define BEGINS_MAX 512

/* Which of 8 ids are not those before them: a bit for each. */
#define DIFFER(I)                                        \
    INLINE unsigned differ_##I(const I *id)              \
    {                                                    \
        unsigned bits = 0;                               \
                                                         \
        for (int i = 0; i < 8; i++)                      \
            bits |= (unsigned)(id[i] != id[i - 1]) << i; \
        return bits;                                     \
    }
DIFFER(int32_t)
DIFFER(int64_t)

#if defined(__x86_64__)
typedef float float_signs __attribute__((vector_size(32)));
typedef double double_signs __attribute__((vector_size(32)));

TARGET_avx2 INLINE unsigned avx2_differ_int32_t(const int32_t *id)
{
    typedef int32_t_whole V;
    const V same = *(const V *)id == *(const V *)(id - 1);

    return 0xff & ~(unsigned)__builtin_ia32_movmskps256((float_signs)same);
}

TARGET_avx2 INLINE unsigned avx2_differ_int64_t(const int64_t *id)
{
    typedef int64_t_whole V;
    const V same = *(const V *)id == *(const V *)(id - 1);
    const V more = *(const V *)(id + 4) == *(const V *)(id + 3);
    const int low = __builtin_ia32_movmskpd256((double_signs)same);
    const int high = __builtin_ia32_movmskpd256((double_signs)more);

    return 0xff & ~(unsigned)(low | high << 4);
}
#endif

/* Rows of [at, end), BEGINS_MAX at most, that begin segments: how many. */
#define FIND_BEGINS(target, name, I, differ)                                   \
    target static int name(const I *id, int64_t at, int64_t end, int64_t *out) \
    {                                                                          \
        int n = 0;                                                             \
                                                                               \
        if (at == 0)                                                           \
            out[n++] = at++;                                                   \
        for (; at + 8 <= end; at += 8)                                         \
            for (unsigned bits = differ(id + at); bits; bits &= bits - 1)      \
                out[n++] = at + __builtin_ctz(bits);                           \
        for (; at < end; at++) {                                               \
            out[n] = at;                                                       \
            n += id[at] != id[at - 1];                                         \
        }                                                                      \
        return n;                                                              \
    }

FIND_BEGINS(, find_int32_t, int32_t, differ_int32_t)
FIND_BEGINS(, find_int64_t, int64_t, differ_int64_t)
#if defined(__x86_64__)
FIND_BEGINS(TARGET_avx2, avx2_find_int32_t, int32_t, avx2_differ_int32_t)
FIND_BEGINS(TARGET_avx2, avx2_find_int64_t, int64_t, avx2_differ_int64_t)
#endif

static int find_begins(const struct tfd_segments *s, int64_t at, int64_t end,
                       int64_t *out)
{
    if (end - at > BEGINS_MAX)
        end = at + BEGINS_MAX;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return s->ids_type == TFD_INT32
                   ? avx2_find_int32_t(s->ids, at, end, out)
                   : avx2_find_int64_t(s->ids, at, end, out);
#endif
    return s->ids_type == TFD_INT32 ? find_int32_t(s->ids, at, end, out)
                                    : find_int64_t(s->ids, at, end, out);
}

/* ---- Walking ------------------------------------------------------------- */

INLINE void fold_one(const struct job *j, int64_t begin, int64_t end)
{
    const struct tfd_segments *s = j->s;
    const int64_t id = id_at(s, begin);
    const int64_t last = begin > 0 ? id_at(s, begin - 1) : -1;
    const struct run r = {(const char *)s->x + begin * j->row,
                          (char *)s->y + id * j->row, s->inner, j->mean};

    if (id > last + 1)
        tfd_segment_gap(s, last + 1, id);
    j->fold(&r, end - begin);
    if (j->divide && end - begin > 1)
        j->divide(&r, end - begin);
}

/* The segments that begin in rows [at, end). */
static void fold_segments(const struct job *j, int64_t at, int64_t end)
{
    int64_t begin[BEGINS_MAX + 1], open = -1;

    for (; at < end; at += BEGINS_MAX) {
        int n = find_begins(j->s, at, end, begin);

        for (int i = 0; i < n; i++) {
            if (open >= 0)
                fold_one(j, open, begin[i]);
            open = begin[i];
        }
    }
    if (open >= 0)
        fold_one(j, open, next_begin(j->s, end));
}

static void fold_short(const struct job *j, int64_t begin, int64_t end)
{
    struct tfd_segment_stretch stretch[TFD_SEGMENT_STRETCHES] = {0};
    int64_t at = next_begin(j->s, begin),
            each = (end - begin) / TFD_SEGMENT_STRETCHES;

    if (at == 0) {
        at = next_begin(j->s, 1);
        fold_one(j, 0, at);
    }
    for (int k = 0; k < TFD_SEGMENT_STRETCHES; k++) {
        int64_t to =
            k + 1 < TFD_SEGMENT_STRETCHES ? begin + (k + 1) * each : end;

        stretch[k].at = at;
        stretch[k].last = id_at(j->s, at - 1);
        stretch[k].end = at = to > at ? next_begin(j->s, to) : at;
    }
    tfd_segment_short_fold(j->kind, j->s, stretch);
}

static void fold_range(void *arg, int64_t begin, int64_t end)
{
    const struct job *j = arg;

    (tfd_segment_short_has(j->kind, j->s) ? fold_short
                                          : fold_segments)(j, begin, end);
}

enum tfd_code tfd_segment_fold_sorted(struct tfd_kctx *k,
                                      enum tfd_segment_fold fold,
                                      const struct tfd_segments *s,
                                      struct tfd_status *st)
{
    size_t size = tfd_dtype_size(s->dtype) * (size_t)s->inner;
    fold_fn *wide = wide_fold_for(fold, s->dtype, s->inner);
    struct job j = {.s = s,
                    .kind = fold,
                    .row = (int64_t)size,
                    .fold = wide ? wide : folds[fold][s->dtype],
                    .mean = wide && fold == TFD_SEGMENT_MEAN &&
                            (s->dtype == TFD_FLOAT || s->dtype == TFD_DOUBLE)};

    if (!j.fold)
        return tfd_fail(st, TFD_UNIMPLEMENTED, "no such fold of type %s",
                        tfd_dtype_name((int)s->dtype));
    if (fold == TFD_SEGMENT_MEAN && !j.mean)
        j.divide = dividers[s->dtype];
    tfd_kctx_parallel(k, s->count, size < 40000 ? (int)(size / 24) + 1 : 1700,
                      fold_range, &j);
    return TFD_OK;
}

/* ---- Checking ------------------------------------------------------------ */

#define INCREASES(I)                          \
    TFD_SIMD_LOOP(find_fall_##I)              \
    {                                         \
        const struct fall *c = arg;           \
        const I *id = c->ids;                 \
        I falls = 0;                          \
                                              \
        for (int64_t i = begin; i < end; i++) \
            falls |= (I)(id[i] < id[i - 1]);  \
        if (falls)                            \
            *c->found = true;                 \
    }                                         \
    TFD_SIMD_CLONES(find_fall_##I)

struct fall {
    const void *ids;
    bool *found;
};

INCREASES(int32_t)
INCREASES(int64_t)

bool tfd_segment_increases(const struct tfd_tensor *ids)
{
    int64_t n = tfd_tensor_elements(ids);
    bool found = false;
    struct fall fall = {tfd_tensor_data(ids), &found};

    if (n > 0)
        (ids->dtype == TFD_INT32 ? find_fall_int32_t : find_fall_int64_t)(&fall,
                                                                          1, n);
    return !found && (n == 0 || tfd_check_int_at(ids, 0) >= 0);
}
