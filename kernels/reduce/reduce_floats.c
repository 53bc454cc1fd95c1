/*
 * reduce_floats.c - Sum Mean Prod L2Loss Max Min of float and double.
 *
 * A run goes into eight vectors of 16 bytes, which every processor has; these
 * are joined at the end.  Sums of floats are made of vectors of floats, which
 * take twice as many elements as those of doubles, but for SUM_STEPS elements
 * at a time only: then each lane goes into a double (blocked summation).  So an
 * error does not grow with the length, and which lane an element goes to
 * depends on its place alone.
 *
 * A comparison with NaN is false, so the larger of two is cheap where NaN does
 * not count; a sum beside tells whether there is one to look for.
 *
 * Columns are folded by plain loops, which compilers vectorise.
 */
#include "kernels/reduce/reduce.h"

#include "kernels/reduce/reduce_floats.h"
#include "kernels/vector/simd.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <math.h>
#include <string.h>

#define VECTORS 8       /* side by side, so that none waits for another */
#define SUM_STEPS 16    /* elements of a lane until it goes into a double */
#define PRODUCT_STEPS 2 /* products leave the range of a float soon */
#define FEW_ROWS 16     /* as many as a sum of floats takes */
#define LONGS 4         /* long vectors side by side */
#define SHORT 8         /* elements of a row that are taken one by one */

/* A product of doubles that is no float any more becomes 0 before it is no
 * normal number, either: those take a processor a hundred times as long.  All
 * bits of NOT_TINY are set where a's exponent is not below 2^-830; compilers
 * make vectors of this, but not of comparisons. */
#define EXPONENT(a, bits) (((bits)(a) << 1) >> 53)
#define NOT_TINY(a, bits) (((EXPONENT(a, bits) - (1023 - 830)) >> 63) - 1)
#define MUL_WIDE(a, b, size) \
    ((size##_double)((size##_bits)(a)&NOT_TINY(a, size##_bits)) * (b))

#define ITSELF(x) (x)
#define SQUARE(x) ((x) * (x))
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
/* Of doubles in vectors of a size, long or half. */
#define ADD_WIDE(a, b, size) ADD(a, b)
#define MUL_FLOAT(a, b, size) MUL_WIDE(a, b, size)
#define MUL_DOUBLE(a, b, size) MUL(a, b)

#define INLINE static inline __attribute__((always_inline))

/* ---- Vectors ------------------------------------------------------------- */

/* V: T in a vector, M: the integers that comparisons of it give. */
#define DEFINE_VECTOR(T, I, V, M)                 \
    typedef T V __attribute__((vector_size(16))); \
    typedef I M __attribute__((vector_size(16))); \
                                                  \
    INLINE V V##_load(const T *x)                 \
    {                                             \
        V v;                                      \
                                                  \
        memcpy(&v, x, sizeof(v));                 \
        return v;                                 \
    }

DEFINE_VECTOR(float, int32_t, vector_float, mask_float)
DEFINE_VECTOR(double, int64_t, vector_double, mask_double)

/* Long ones, which compilers make of what the processor has. */
#define LONG_BYTES 64
#define PER_LONG(T) ((int64_t)(LONG_BYTES / sizeof(T)))

typedef float long_float __attribute__((vector_size(LONG_BYTES)));
typedef double long_double __attribute__((vector_size(LONG_BYTES)));
typedef uint64_t long_bits __attribute__((vector_size(LONG_BYTES)));
typedef float half_float __attribute__((vector_size(LONG_BYTES / 2)));
typedef double half_double __attribute__((vector_size(LONG_BYTES / 2)));
typedef uint64_t half_bits __attribute__((vector_size(LONG_BYTES / 2)));
typedef float quarter_float __attribute__((vector_size(LONG_BYTES / 4)));

#define PER_HALF(T) (PER_LONG(T) / 2)
#define HALVES (2 * LONGS)

/* The lanes of a long vector of doubles where no register holds one: a
 * compiler would keep it in memory. */
struct halves {
    half_double low, high;
};

#define LOW_HALF(a) __builtin_shufflevector(a, a, 0, 1, 2, 3)
#define HIGH_HALF(a) __builtin_shufflevector(a, a, 4, 5, 6, 7)

/* As many doubles as a long vector holds. */
#define WIDEN_double(out, in, JOIN) ((out) = (in))
#define WIDEN_float(out, in, JOIN)                                         \
    do {                                                                   \
        half_float low =                                                   \
            __builtin_shufflevector(in, in, 0, 1, 2, 3, 4, 5, 6, 7);       \
        half_float high =                                                  \
            __builtin_shufflevector(in, in, 8, 9, 10, 11, 12, 13, 14, 15); \
                                                                           \
        (out) = __builtin_convertvector(JOIN(low, high), long_double);     \
    } while (0)

/* The same from the halves of `in`. */
#define WIDEN_HALVES_double(out, low_in, high_in, JOIN) \
    ((out).low = (low_in), (out).high = (high_in))
#define WIDEN_HALVES_float(out, low_in, high_in, JOIN)                       \
    do {                                                                     \
        half_float both = JOIN(low_in, high_in);                             \
        quarter_float one = __builtin_shufflevector(both, both, 0, 1, 2, 3); \
        quarter_float two = __builtin_shufflevector(both, both, 4, 5, 6, 7); \
                                                                             \
        (out).low = __builtin_convertvector(one, half_double);               \
        (out).high = __builtin_convertvector(two, half_double);              \
    } while (0)

#define PER_VECTOR(T) ((int64_t)(16 / sizeof(T)))
#define STEP(T) (VECTORS * PER_VECTOR(T))

/* A loop that is told whether registers hold long vectors. */
#define WIDTH_LOOP(name) \
    INLINE void name##_by(void *arg, int64_t begin, int64_t end, bool wide)

#define HALF_CLONES(name)                  \
    TFD_SIMD_LOOP(name##_halves)           \
    {                                      \
        name##_by(arg, begin, end, false); \
    }                                      \
    TFD_SIMD_CLONES(name##_halves)

#if defined(__x86_64__)
#define WIDTH_CLONES(name)                                             \
    HALF_CLONES(name)                                                  \
    __attribute__((target(TFD_SIMD_AVX512))) static void name##_whole( \
        void *arg, int64_t begin, int64_t end)                         \
    {                                                                  \
        name##_by(arg, begin, end, true);                              \
    }                                                                  \
    static void name(void *arg, int64_t begin, int64_t end)            \
    {                                                                  \
        if (tfd_simd_has_avx512())                                     \
            name##_whole(arg, begin, end);                             \
        else                                                           \
            name##_halves(arg, begin, end);                            \
    }
#else
#define WIDTH_CLONES(name)                                  \
    HALF_CLONES(name)                                       \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_halves(arg, begin, end);                     \
    }
#endif

/* ---- Runs and rows ------------------------------------------------------- */

/* n elements from x, folded into one double.  TERM: of an element; JOIN: two
 * of them.  FIRST is what nothing folds to. */
#define FOLD_RUN(id, T, TERM, JOIN, WIDE, FIRST, STEPS)                        \
    /* A STEP, for what is left of a run. */                                   \
    INLINE const T *step_##id(const T *x, half_double *ends)                   \
    {                                                                          \
        vector_##T v[VECTORS];                                                 \
                                                                               \
        for (int i = 0; i < VECTORS; i++, x += PER_VECTOR(T)) {                \
            v[i] = vector_##T##_load(x);                                       \
            v[i] = TERM(v[i]);                                                 \
        }                                                                      \
        for (int i = 0; i < 4; i++)                                            \
            v[i] = JOIN(v[i], v[i + 4]);                                       \
        v[0] = JOIN(JOIN(v[0], v[2]), JOIN(v[1], v[3]));                       \
        for (int i = 0; i < PER_VECTOR(T); i++)                                \
            (*ends)[i] = JOIN((*ends)[i], (double)v[0][i]);                    \
        return x;                                                              \
    }                                                                          \
                                                                               \
    /* `steps` times LONGS vectors, whose lanes go into those of `wide`. */    \
    INLINE const T *whole_##id(const T *x, int64_t steps, long_double *wide)   \
    {                                                                          \
        long_##T v[LONGS], in;                                                 \
        long_double all;                                                       \
                                                                               \
        for (int i = 0; i < LONGS; i++, x += PER_LONG(T)) {                    \
            memcpy(&in, x, sizeof(in));                                        \
            v[i] = TERM(in);                                                   \
        }                                                                      \
        for (int64_t s = 1; s < steps; s++)                                    \
            for (int i = 0; i < LONGS; i++, x += PER_LONG(T)) {                \
                memcpy(&in, x, sizeof(in));                                    \
                v[i] = JOIN(v[i], TERM(in));                                   \
            }                                                                  \
        in = JOIN(JOIN(v[0], v[2]), JOIN(v[1], v[3]));                         \
        WIDEN_##T(all, in, JOIN);                                              \
        *wide = WIDE(*wide, all, long);                                        \
        return x;                                                              \
    }                                                                          \
                                                                               \
    /* The same in halves of vectors. */                                       \
    INLINE const T *halves_##id(const T *x, int64_t steps,                     \
                                struct halves *wide)                           \
    {                                                                          \
        half_##T v[HALVES], in, low, high;                                     \
        struct halves all;                                                     \
                                                                               \
        for (int i = 0; i < HALVES; i++, x += PER_HALF(T)) {                   \
            memcpy(&in, x, sizeof(in));                                        \
            v[i] = TERM(in);                                                   \
        }                                                                      \
        for (int64_t s = 1; s < steps; s++)                                    \
            for (int i = 0; i < HALVES; i++, x += PER_HALF(T)) {               \
                memcpy(&in, x, sizeof(in));                                    \
                v[i] = JOIN(v[i], TERM(in));                                   \
            }                                                                  \
        low = JOIN(JOIN(v[0], v[4]), JOIN(v[2], v[6]));                        \
        high = JOIN(JOIN(v[1], v[5]), JOIN(v[3], v[7]));                       \
        WIDEN_HALVES_##T(all, low, high, JOIN);                                \
        wide->low = WIDE(wide->low, all.low, half);                            \
        wide->high = WIDE(wide->high, all.high, half);                         \
        return x;                                                              \
    }                                                                          \
                                                                               \
    INLINE const T *all_whole_##id(const T *x, int64_t rest,                   \
                                   half_double *ends)                          \
    {                                                                          \
        long_double wide = {FIRST, FIRST, FIRST, FIRST,                        \
                            FIRST, FIRST, FIRST, FIRST};                       \
                                                                               \
        for (; rest > 0; rest -= (STEPS))                                      \
            x = whole_##id(x, rest < (STEPS) ? rest : (STEPS), &wide);         \
        *ends = JOIN(LOW_HALF(wide), HIGH_HALF(wide));                         \
        return x;                                                              \
    }                                                                          \
                                                                               \
    INLINE const T *all_halves_##id(const T *x, int64_t rest,                  \
                                    half_double *ends)                         \
    {                                                                          \
        struct halves wide = {{FIRST, FIRST, FIRST, FIRST},                    \
                              {FIRST, FIRST, FIRST, FIRST}};                   \
                                                                               \
        for (; rest > 0; rest -= (STEPS))                                      \
            x = halves_##id(x, rest < (STEPS) ? rest : (STEPS), &wide);        \
        *ends = JOIN(wide.low, wide.high);                                     \
        return x;                                                              \
    }                                                                          \
                                                                               \
    INLINE double long_##id(const T *x, int64_t n, bool wide)                  \
    {                                                                          \
        const int64_t whole = n / (LONGS * PER_LONG(T));                       \
        const T *end = x + n;                                                  \
        half_double ends;                                                      \
                                                                               \
        x = wide ? all_whole_##id(x, whole, &ends)                             \
                 : all_halves_##id(x, whole, &ends);                           \
        if (end - x >= STEP(T))                                                \
            x = step_##id(x, &ends);                                           \
        for (; end - x >= 4; x += 4)                                           \
            for (int i = 0; i < 4; i++)                                        \
                ends[i] = JOIN(ends[i], (double)TERM(x[i]));                   \
        for (int i = 0; i < end - x; i++)                                      \
            ends[i] = JOIN(ends[i], (double)TERM(x[i]));                       \
        return JOIN(JOIN(ends[0], ends[2]), JOIN(ends[1], ends[3]));           \
    }                                                                          \
                                                                               \
    INLINE double short_##id(const T *x, int64_t n)                            \
    {                                                                          \
        double one = (FIRST);                                                  \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            one = JOIN(one, (double)TERM(x[i]));                               \
        return one;                                                            \
    }                                                                          \
                                                                               \
    WIDTH_LOOP(run_##id)                                                       \
    {                                                                          \
        const struct tfd_fold *f = arg;                                        \
        double *acc = f->acc;                                                  \
                                                                               \
        *acc =                                                                 \
            JOIN(*acc, long_##id((const T *)f->x + begin, end - begin, wide)); \
    }                                                                          \
    WIDTH_CLONES(run_##id)

/* Whole rows, each of which is an output. */
#define FOLD_ROWS(id, T, run, DONE)                                \
    WIDTH_LOOP(rows_##id)                                          \
    {                                                              \
        const struct tfd_fold_whole *f = arg;                      \
        const int64_t n = f->length;                               \
        const T *x = f->x;                                         \
        T *y = f->y;                                               \
                                                                   \
        if (n < SHORT)                                             \
            for (int64_t r = begin; r < end; r++)                  \
                y[r] = DONE(T, short_##run(x + r * n, n), n);      \
        else                                                       \
            for (int64_t r = begin; r < end; r++)                  \
                y[r] = DONE(T, long_##run(x + r * n, n, wide), n); \
    }                                                              \
    WIDTH_CLONES(rows_##id)

/* ---- Columns ------------------------------------------------------------- */

/* Sixteen rows are added up before they go into an accumulator. */
#define FOLD_COLUMNS(id, T, TERM, JOIN, ROWS)                              \
    TFD_SIMD_LOOP(columns_##id)                                            \
    {                                                                      \
        const struct tfd_fold *f = arg;                                    \
        const int64_t s = f->stride;                                       \
        const T *restrict x = f->x;                                        \
        double *restrict acc = f->acc;                                     \
        int64_t r = 0;                                                     \
                                                                           \
        for (; f->rows - r >= 16 && (ROWS) == 16; r += 16, x += 16 * s)    \
            for (int64_t j = begin; j < end; j++) {                        \
                T a = FOUR(x + j, s, TERM, JOIN);                          \
                T b = FOUR(x + j + 4 * s, s, TERM, JOIN);                  \
                T c = FOUR(x + j + 8 * s, s, TERM, JOIN);                  \
                T d = FOUR(x + j + 12 * s, s, TERM, JOIN);                 \
                                                                           \
                a = JOIN(JOIN(a, b), JOIN(c, d));                          \
                acc[j] = JOIN(acc[j], (double)a);                          \
            }                                                              \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                       \
            for (int64_t j = begin; j < end; j++)                          \
                acc[j] = JOIN(acc[j], (double)FOUR(x + j, s, TERM, JOIN)); \
        for (; r < f->rows; r++, x += s)                                   \
            for (int64_t j = begin; j < end; j++)                          \
                acc[j] = JOIN(acc[j], (double)TERM(x[j]));                 \
    }                                                                      \
    TFD_SIMD_CLONES(columns_##id)

#define FOUR(x, s, TERM, JOIN)               \
    JOIN(JOIN(TERM((x)[0]), TERM((x)[(s)])), \
         JOIN(TERM((x)[2 * (s)]), TERM((x)[3 * (s)])))

/* Rows from x that lie `width` apart, folded into y: a first few, so that the
 * rest are fours; then those. */
#define FOLD_SLAB(id, T, TERM, JOIN)                                           \
    INLINE void first_##id(const T *restrict x, T *restrict y, int64_t width,  \
                           int64_t rows)                                       \
    {                                                                          \
        const int64_t s = width;                                               \
                                                                               \
        for (int64_t j = 0; j < width && rows == 1; j++)                       \
            y[j] = TERM(x[j]);                                                 \
        for (int64_t j = 0; j < width && rows == 2; j++)                       \
            y[j] = JOIN(TERM(x[j]), TERM(x[j + s]));                           \
        for (int64_t j = 0; j < width && rows == 3; j++)                       \
            y[j] = JOIN(JOIN(TERM(x[j]), TERM(x[j + s])), TERM(x[j + 2 * s])); \
        for (int64_t j = 0; j < width && rows == 4; j++)                       \
            y[j] = FOUR(x + j, s, TERM, JOIN);                                 \
    }                                                                          \
                                                                               \
    INLINE void slab_##id(const T *restrict x, T *restrict y, int64_t width,   \
                          int64_t rows)                                        \
    {                                                                          \
        const int64_t s = width, first = (rows - 1) % 4 + 1;                   \
                                                                               \
        first_##id(x, y, width, first);                                        \
        x += first * s;                                                        \
        for (int64_t r = first; r < rows; r += 4, x += 4 * s)                  \
            for (int64_t j = 0; j < width; j++)                                \
                y[j] = JOIN(y[j], FOUR(x + j, s, TERM, JOIN));                 \
    }

#define FOLD_SLABS(id, T, slab, DONE)                                \
    TFD_SIMD_LOOP(slabs_##id)                                        \
    {                                                                \
        const struct tfd_fold_whole *f = arg;                        \
        const int64_t n = f->length, width = f->width;               \
        const T *x = f->x;                                           \
        T *y = f->y;                                                 \
                                                                     \
        for (int64_t i = begin; i < end; i++)                        \
            slab_##slab(x + i * n * width, y + i * width, width, n); \
        for (int64_t i = begin * width; i < end * width; i++)        \
            y[i] = DONE(T, y[i], n);                                 \
    }                                                                \
    TFD_SIMD_CLONES(slabs_##id)

/* ---- Accumulators -------------------------------------------------------- */

#define REDUCER(id, name, folding, A, ROWS)               \
    const struct tfd_reducer tfd_reduce_##id##_##name = { \
        .acc_size = sizeof(A),                            \
        .identity = &first_of_##folding##_##name,         \
        .run = run_##folding##_##name,                    \
        .columns = columns_##folding##_##name,            \
        .merge = merge_##folding##_##name,                \
        .finish = finish_##id##_##name,                   \
        .rows = rows_##id##_##name,                       \
        .slabs = slabs_##id##_##name,                     \
        .slab_rows = (ROWS),                              \
        .element_ps = ELEMENT_PS,                         \
    };

#define ELEMENT_PS 100 /* with vectors, from a second cache */

/* ---- Sums and products --------------------------------------------------- */

#define CUT(T, acc, n) ((T)(acc))
#define DIVIDE(T, acc, n) ((T)((acc) / (double)(n)))
#define HALVE(T, acc, n) ((T)((acc) / 2))

#define FOLDING(id, T, name, TERM, JOIN, WIDE, FIRST, STEPS, ROWS) \
    static const double first_of_##id##_##name = FIRST;            \
    FOLD_RUN(id##_##name, T, TERM, JOIN, WIDE, FIRST, STEPS)       \
    FOLD_COLUMNS(id##_##name, T, TERM, JOIN, ROWS)                 \
    FOLD_SLAB(id##_##name, T, TERM, JOIN)                          \
    TFD_REDUCE_MERGE(id##_##name, double, JOIN)

#define OUTPUTS(id, T, name, folding, DONE, ROWS)      \
    FOLD_ROWS(id##_##name, T, folding##_##name, DONE)  \
    FOLD_SLABS(id##_##name, T, folding##_##name, DONE) \
    TFD_REDUCE_FINISH(id##_##name, T, double, DONE)    \
    REDUCER(id, name, folding, double, ROWS)

#define SUMS(name, number, T)                                             \
    FOLDING(sum, T, name, ITSELF, ADD, ADD_WIDE, 0, SUM_STEPS, FEW_ROWS)  \
    FOLDING(loss, T, name, SQUARE, ADD, ADD_WIDE, 0, SUM_STEPS, FEW_ROWS) \
    FOLDING(prod, T, name, ITSELF, MUL, MUL_##name, 1, PRODUCT_STEPS, 4)  \
    OUTPUTS(sum, T, name, sum, CUT, FEW_ROWS)                             \
    OUTPUTS(mean, T, name, sum, DIVIDE, FEW_ROWS)                         \
    OUTPUTS(loss, T, name, loss, HALVE, FEW_ROWS)                         \
    OUTPUTS(prod, T, name, prod, CUT, 4)

TFD_FLOAT_DTYPES(SUMS)

/* ---- Max, Min ------------------------------------------------------------ */

#define ABOVE(a, b) ((a) > (b))
#define BELOW(a, b) ((a) < (b))

/* A NaN in acc stays: all of its bits are set.  One in x fails the comparison
 * that `extreme` was chosen by.  U: as many bits as T. */
#define DEFINE_STICKY(T, U)                           \
    INLINE T sticky_##T(T acc, T extreme)             \
    {                                                 \
        U bits;                                       \
                                                      \
        memcpy(&bits, &extreme, sizeof(bits));        \
        bits |= acc == acc ? 0 : ~(U)0;               \
        memcpy(&extreme, &bits, sizeof(bits));        \
        return extreme;                               \
    }                                                 \
                                                      \
    INLINE bool has_nan_##T(const T *x, const T *end) \
    {                                                 \
        bool nan = false;                             \
                                                      \
        for (; x < end; x++)                          \
            nan |= *x != *x;                          \
        return nan;                                   \
    }

DEFINE_STICKY(float, uint32_t)
DEFINE_STICKY(double, uint64_t)

#define HALF_OF_VECTORS 4 /* each beside a sum */

/* a where it comes before b, else b: what these instructions do, which no
 * compiler makes of the general way. */
#if defined(__x86_64__)
#define CHOOSE_ABOVE_float(a, b) _mm_max_ps(a, b)
#define CHOOSE_BELOW_float(a, b) _mm_min_ps(a, b)
#define CHOOSE_ABOVE_double(a, b) _mm_max_pd(a, b)
#define CHOOSE_BELOW_double(a, b) _mm_min_pd(a, b)
#else
#define CHOOSE(T, which, a, b) \
    ((vector_##T)(((which) & (mask_##T)(a)) | (~(which) & (mask_##T)(b))))
#define CHOOSE_ABOVE_float(a, b) CHOOSE(float, a > b, a, b)
#define CHOOSE_BELOW_float(a, b) CHOOSE(float, a < b, a, b)
#define CHOOSE_ABOVE_double(a, b) CHOOSE(double, a > b, a, b)
#define CHOOSE_BELOW_double(a, b) CHOOSE(double, a < b, a, b)
#endif

/* OF: whether a comes before b. */
#define EXTREME_RUN(id, T, OF, FIRST)                                          \
    INLINE T join_##id(T acc, T x)                                             \
    {                                                                          \
        return sticky_##T(acc, OF(acc, x) ? acc : x);                          \
    }                                                                          \
                                                                               \
    INLINE vector_##T choose_##id(vector_##T a, vector_##T b)                  \
    {                                                                          \
        return CHOOSE_##OF##_##T(a, b);                                        \
    }                                                                          \
                                                                               \
    INLINE T short_##id(const T *x, int64_t n)                                 \
    {                                                                          \
        T one = (FIRST);                                                       \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            one = join_##id(one, x[i]);                                        \
        return one;                                                            \
    }                                                                          \
                                                                               \
    /* From x to stop, in steps; NaN may be lost, but not from the sum. */     \
    INLINE T steps_##id(const T *x, const T *stop, T *sum)                     \
    {                                                                          \
        vector_##T most[HALF_OF_VECTORS], sums[HALF_OF_VECTORS];               \
                                                                               \
        for (int i = 0; i < HALF_OF_VECTORS; i++)                              \
            sums[i] = most[i] = vector_##T##_load(x + i * PER_VECTOR(T));      \
        for (x += STEP(T) / 2; x < stop; x += STEP(T) / 2)                     \
            for (int i = 0; i < HALF_OF_VECTORS; i++) {                        \
                vector_##T in = vector_##T##_load(x + i * PER_VECTOR(T));      \
                                                                               \
                most[i] = choose_##id(in, most[i]);                            \
                sums[i] += in;                                                 \
            }                                                                  \
        most[0] = choose_##id(choose_##id(most[0], most[1]),                   \
                              choose_##id(most[2], most[3]));                  \
        sums[0] += sums[1] + (sums[2] + sums[3]);                              \
        *sum = sums[0][0];                                                     \
        for (int i = 1; i < PER_VECTOR(T); i++) {                              \
            most[0][0] = OF(most[0][i], most[0][0]) ? most[0][i] : most[0][0]; \
            *sum += sums[0][i];                                                \
        }                                                                      \
        return most[0][0];                                                     \
    }                                                                          \
                                                                               \
    INLINE T long_##id(const T *x, int64_t n, bool wide)                       \
    {                                                                          \
        const T *stop = x + n / (STEP(T) / 2) * (STEP(T) / 2);                 \
        T one, sum;                                                            \
                                                                               \
        (void)wide;                                                            \
        if (x == stop)                                                         \
            return short_##id(x, n);                                           \
        one = steps_##id(x, stop, &sum);                                       \
        /* Opposite infinities have no sum, either. */                         \
        if (sum != sum && has_nan_##T(x, stop))                                \
            one = (T)NAN;                                                      \
        return join_##id(one, short_##id(stop, x + n - stop));                 \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(run_##id)                                                    \
    {                                                                          \
        const struct tfd_fold *f = arg;                                        \
        T *acc = f->acc;                                                       \
                                                                               \
        *acc = join_##id(*acc,                                                 \
                         long_##id((const T *)f->x + begin, end - begin, 0));  \
    }                                                                          \
    TFD_SIMD_CLONES(run_##id)

#define EXTREME_COLUMNS(id, T, JOIN)                                 \
    TFD_SIMD_LOOP(columns_##id)                                      \
    {                                                                \
        const struct tfd_fold *f = arg;                              \
        const int64_t s = f->stride;                                 \
        const T *restrict x = f->x;                                  \
        T *restrict acc = f->acc;                                    \
        int64_t r = 0;                                               \
                                                                     \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                 \
            for (int64_t j = begin; j < end; j++)                    \
                acc[j] = JOIN(acc[j], FOUR(x + j, s, ITSELF, JOIN)); \
        for (; r < f->rows; r++, x += s)                             \
            for (int64_t j = begin; j < end; j++)                    \
                acc[j] = JOIN(acc[j], x[j]);                         \
    }                                                                \
    TFD_SIMD_CLONES(columns_##id)

#define EXTREME(id, name, T, OF, FIRST)                   \
    static const T first_of_##id##_##name = FIRST;        \
    EXTREME_RUN(id##_##name, T, OF, FIRST)                \
    EXTREME_COLUMNS(id##_##name, T, join_##id##_##name)   \
    FOLD_SLAB(id##_##name, T, ITSELF, join_##id##_##name) \
    FOLD_ROWS(id##_##name, T, id##_##name, CUT)           \
    FOLD_SLABS(id##_##name, T, id##_##name, CUT)          \
    TFD_REDUCE_MERGE(id##_##name, T, join_##id##_##name)  \
    TFD_REDUCE_FINISH(id##_##name, T, T, CUT)             \
    REDUCER(id, name, id, T, INT64_MAX)

#define EXTREMES(name, number, T)           \
    EXTREME(max, name, T, ABOVE, -INFINITY) \
    EXTREME(min, name, T, BELOW, INFINITY)

TFD_FLOAT_DTYPES(EXTREMES)
