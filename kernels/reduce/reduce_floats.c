/*
 * reduce_floats.c - Sum Mean Prod L2Loss of float and double, and the loops of
 * Sum and Mean of bfloat16.
 *
 * A run goes into eight vectors of 16 bytes, which every processor has; these
 * are joined at the end.  Sums of floats are made of vectors of floats, which
 * take twice as many elements as those of doubles, but for SUM_STEPS elements
 * at a time only: then each lane goes into a double (blocked summation).  So an
 * error does not grow with the length, and which lane an element goes to
 * depends on its place alone.
 *
 * Columns are folded by plain loops, which compilers vectorise.
 */
#include "kernels/reduce/reduce.h"

#include "common/base/half.h"
#include "common/base/min.h"
#include "kernels/reduce/reduce_floats.h"
#include "kernels/reduce/reduce_loops.h"

#include <string.h>

#define SUM_STEPS 16    /* elements of a lane until it goes into a double */
#define PRODUCT_STEPS 2 /* products leave the range of a float soon */
#define FEW_ROWS 16     /* as many as a sum of floats takes */
#define LONGS 4         /* long vectors side by side */

/* A product of doubles that is no float any more becomes 0 before it is no
 * normal number, either: those take a processor a hundred times as long.  All
 * bits of TINY are set where a's exponent is below 2^-830; compilers make
 * vectors of this, but not of comparisons.  Both products are made, so that
 * what waits for `a` is one of them and then a choice. */
#define TINY_LEAST ((int64_t)(1023 - 830) << 52)
#define TINY(a, size) \
    ((size##_bits)((((size##_ints)(a)&INT64_MAX) - TINY_LEAST) >> 63))
#define MUL_WIDE(a, b, size)                                       \
    ((size##_double)((~TINY(a, size) & (size##_bits)((a) * (b))) | \
                     (TINY(a, size) & (size##_bits)(0 * (b)))))

#define SQUARE(x) ((x) * (x))
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
/* Of doubles in vectors of a size, long or half. */
#define ADD_WIDE(a, b, size) ADD(a, b)
#define MUL_FLOAT(a, b, size) MUL_WIDE(a, b, size)
#define MUL_DOUBLE(a, b, size) MUL(a, b)

/* ---- Long vectors -------------------------------------------------------- */

/* Long ones, which compilers make of what the processor has. */
#define LONG_BYTES 64
#define PER_LONG(T) ((int64_t)(LONG_BYTES / sizeof(T)))

typedef float long_float __attribute__((vector_size(LONG_BYTES)));
typedef double long_double __attribute__((vector_size(LONG_BYTES)));
typedef uint64_t long_bits __attribute__((vector_size(LONG_BYTES)));
typedef int64_t long_ints __attribute__((vector_size(LONG_BYTES)));
typedef float half_float __attribute__((vector_size(LONG_BYTES / 2)));
typedef double half_double __attribute__((vector_size(LONG_BYTES / 2)));
typedef uint64_t half_bits __attribute__((vector_size(LONG_BYTES / 2)));
typedef int64_t half_ints __attribute__((vector_size(LONG_BYTES / 2)));
typedef float quarter_float __attribute__((vector_size(LONG_BYTES / 4)));

/* bfloat16, which are the upper halves of floats, two to a word. */
typedef uint32_t long_float_words __attribute__((vector_size(LONG_BYTES)));
typedef uint32_t half_float_words __attribute__((vector_size(LONG_BYTES / 2)));
typedef uint16_t narrow_float __attribute__((vector_size(8)));
typedef uint32_t vector_float_words __attribute__((vector_size(16)));

/* Vector i of what lies at x, whose elements are E.  LONG_: a long one, HALF_:
 * halves of those.  Of bfloat16 a long vector has the lower ones of words, and
 * the next the upper ones. */
#define LONG_float(V, out, x, i) \
    memcpy(&(out), (x) + (i) * (int)(sizeof(V) / sizeof(*(x))), sizeof(out))
#define LONG_double LONG_float
#define HALF_float LONG_float
#define HALF_double LONG_float
#define SHORT_float LONG_float
#define SHORT_double LONG_float
#define HALF_OF_WORDS(V, out, at, upper)                                   \
    do {                                                                   \
        V##_words words;                                                   \
                                                                           \
        memcpy(&words, at, sizeof(words));                                 \
        (out) = (V)((upper) ? words & UINT32_C(0xffff0000) : words << 16); \
    } while (0)
#define LONG_tfd_bfloat16(V, out, x, i) \
    HALF_OF_WORDS(V, out, (x) + (i) / 2 * 32, (i) % 2)
#define HALF_tfd_bfloat16(V, out, x, i) \
    HALF_OF_WORDS(V, out, (x) + (i) / 4 * 32 + (i) % 2 * 16, (i) / 2 % 2)
#define SHORT_tfd_bfloat16(V, out, x, i)                                    \
    do {                                                                    \
        narrow_float narrow;                                                \
                                                                            \
        memcpy(&narrow, (x) + 4 * (i), sizeof(narrow));                     \
        (out) =                                                             \
            (V)(__builtin_convertvector(narrow, vector_float_words) << 16); \
    } while (0)
#define ITEM_float(x) (x)
#define ITEM_double(x) (x)
#define ITEM_tfd_bfloat16(x) tfd_bfloat16_to_float(x)

#define HALVES (2 * LONGS)

/* The lanes of a long vector of doubles where no register holds one: a
 * compiler would keep it in memory. */
struct halves {
    half_double low, high;
};

#define LOW_HALF(a) __builtin_shufflevector(a, a, 0, 1, 2, 3)
#define HIGH_HALF(a) __builtin_shufflevector(a, a, 4, 5, 6, 7)

/* Of the ends of SOME rows, which make one vector. */
#define SOME 4
#define LOWERS(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define UPPERS(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)

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

/* So that a loop stays one, whose loads go over memory line by line: that is
 * what a processor's prefetcher for its first cache looks for.  Where a
 * compiler unrolls it whole, or puts loads in an order of its own, 64,000
 * doubles from a second cache take 3.2 us in place of 2.0 (Zen 5). */
#define NOT_KNOWN(count) __asm__("" : "+r"(count))

/* ---- Runs and rows ------------------------------------------------------- */

/* n elements from x, of type E and folded as T, into one double.  TERM: of an
 * element; JOIN: two of them.  FIRST is what nothing folds to. */
#define FOLD_RUN(id, E, T, TERM, JOIN, WIDE, FIRST, STEPS, ROWS)        \
    TFD_FOLD_INLINE T item_##id(E x)                                    \
    {                                                                   \
        const T item = ITEM_##E(x);                                     \
                                                                        \
        return TERM(item);                                              \
    }                                                                   \
    static const double first_of_##id = FIRST;                          \
    /* A TFD_FOLD_STEP, for what is left of a run. */                   \
    TFD_FOLD_INLINE const E *step_##id(const E *x, half_double *ends)   \
    {                                                                   \
        vector_##T v[TFD_FOLD_VECTORS];                                 \
                                                                        \
        for (int i = 0; i < TFD_FOLD_VECTORS; i++) {                    \
            SHORT_##E(vector_##T, v[i], x, i);                          \
            v[i] = TERM(v[i]);                                          \
        }                                                               \
        for (int i = 0; i < 4; i++)                                     \
            v[i] = JOIN(v[i], v[i + 4]);                                \
        v[0] = JOIN(JOIN(v[0], v[2]), JOIN(v[1], v[3]));                \
        for (int i = 0; i < TFD_PER_VECTOR(T); i++)                     \
            (*ends)[i] = JOIN((*ends)[i], (double)v[0][i]);             \
        return x + TFD_FOLD_STEP(T);                                    \
    }                                                                   \
                                                                        \
    /* `steps` times LONGS vectors, whose lanes are joined in `all`. */ \
    TFD_FOLD_INLINE const E *whole_##id(const E *x, int64_t steps,      \
                                        long_double *all)               \
    {                                                                   \
        long_##T v[LONGS], in;                                          \
                                                                        \
        NOT_KNOWN(steps);                                               \
        for (int i = 0; i < LONGS; i++) {                               \
            LONG_##E(long_##T, in, x, i);                               \
            v[i] = TERM(in);                                            \
        }                                                               \
        for (int64_t s = 1; s < steps; s++) {                           \
            x += LONGS * PER_LONG(T);                                   \
            for (int i = 0; i < LONGS; i++) {                           \
                LONG_##E(long_##T, in, x, i);                           \
                v[i] = JOIN(v[i], TERM(in));                            \
            }                                                           \
        }                                                               \
        in = JOIN(JOIN(v[0], v[2]), JOIN(v[1], v[3]));                  \
        WIDEN_##T(*all, in, JOIN);                                      \
        return x + LONGS * PER_LONG(T);                                 \
    }                                                                   \
                                                                        \
    /* The same in halves of vectors. */                                \
    TFD_FOLD_INLINE const E *halves_##id(const E *x, int64_t steps,     \
                                         struct halves *all)            \
    {                                                                   \
        half_##T v[HALVES], in, low, high;                              \
                                                                        \
        NOT_KNOWN(steps);                                               \
        for (int i = 0; i < HALVES; i++) {                              \
            HALF_##E(half_##T, in, x, i);                               \
            v[i] = TERM(in);                                            \
        }                                                               \
        for (int64_t s = 1; s < steps; s++) {                           \
            x += LONGS * PER_LONG(T);                                   \
            for (int i = 0; i < HALVES; i++) {                          \
                HALF_##E(half_##T, in, x, i);                           \
                v[i] = JOIN(v[i], TERM(in));                            \
            }                                                           \
        }                                                               \
        low = JOIN(JOIN(v[0], v[4]), JOIN(v[2], v[6]));                 \
        high = JOIN(JOIN(v[1], v[5]), JOIN(v[3], v[7]));                \
        WIDEN_HALVES_##T(*all, low, high, JOIN);                        \
        return x + LONGS * PER_LONG(T);                                 \
    }                                                                   \
                                                                        \
    /* Of most rows one of `all` is all there is. */                    \
    TFD_FOLD_INLINE const E *all_whole_##id(const E *x, int64_t rest,   \
                                            half_double *ends)          \
    {                                                                   \
        long_double all = {FIRST, FIRST, FIRST, FIRST,                  \
                           FIRST, FIRST, FIRST, FIRST};                 \
        long_double wide;                                               \
                                                                        \
        if (rest <= (STEPS)) {                                          \
            if (rest > 0)                                               \
                x = whole_##id(x, rest, &all);                          \
            *ends = JOIN(LOW_HALF(all), HIGH_HALF(all));                \
            return x;                                                   \
        }                                                               \
        wide = all;                                                     \
        for (int64_t left = rest; left > 0; left -= (STEPS)) {          \
            x = whole_##id(x, left < (STEPS) ? left : (STEPS), &all);   \
            wide = left == rest ? all : WIDE(wide, all, long);          \
        }                                                               \
        *ends = JOIN(LOW_HALF(wide), HIGH_HALF(wide));                  \
        return x;                                                       \
    }                                                                   \
                                                                        \
    TFD_FOLD_INLINE const E *all_halves_##id(const E *x, int64_t rest,  \
                                             half_double *ends)         \
    {                                                                   \
        struct halves all, wide = {{FIRST, FIRST, FIRST, FIRST},        \
                                   {FIRST, FIRST, FIRST, FIRST}};       \
                                                                        \
        for (int64_t left = rest; left > 0; left -= (STEPS)) {          \
            x = halves_##id(x, left < (STEPS) ? left : (STEPS), &all);  \
            if (left == rest) {                                         \
                wide = all;                                             \
            } else {                                                    \
                wide.low = WIDE(wide.low, all.low, half);               \
                wide.high = WIDE(wide.high, all.high, half);            \
            }                                                           \
        }                                                               \
        *ends = JOIN(wide.low, wide.high);                              \
        return x;                                                       \
    }                                                                   \
                                                                        \
    TFD_FOLD_INLINE void rest_##id(const E *x, const E *end,            \
                                   half_double *ends)                   \
    {                                                                   \
        if (end - x >= TFD_FOLD_STEP(T))                                \
            x = step_##id(x, ends);                                     \
        for (; end - x >= 4; x += 4)                                    \
            for (int i = 0; i < 4; i++)                                 \
                (*ends)[i] = JOIN((*ends)[i], (double)item_##id(x[i])); \
        for (int i = 0; i < end - x; i++)                               \
            (*ends)[i] = JOIN((*ends)[i], (double)item_##id(x[i]));     \
    }                                                                   \
                                                                        \
    TFD_FOLD_INLINE double long_##id(const E *x, int64_t n, int size)   \
    {                                                                   \
        const int64_t whole = n / (LONGS * PER_LONG(T));                \
        const E *end = x + n;                                           \
        half_double ends;                                               \
                                                                        \
        x = size == LONG_BYTES ? all_whole_##id(x, whole, &ends)        \
                               : all_halves_##id(x, whole, &ends);      \
        if (x < end)                                                    \
            rest_##id(x, end, &ends);                                   \
        return JOIN(JOIN(ends[0], ends[2]), JOIN(ends[1], ends[3]));    \
    }                                                                   \
                                                                        \
    TFD_FOLD_INLINE double short_##id(const E *x, int64_t n)            \
    {                                                                   \
        double one = first_of_##id;                                     \
                                                                        \
        for (int64_t i = 0; i < n; i++)                                 \
            one = JOIN(one, (double)item_##id(x[i]));                   \
        return one;                                                     \
    }                                                                   \
                                                                        \
    /* Of a row of few whole vectors, whose `steps` are one block. */   \
    TFD_FOLD_INLINE void set_##id(const E *x, int64_t steps,            \
                                  half_double *ends, int size)          \
    {                                                                   \
        struct halves two;                                              \
        long_double all;                                                \
                                                                        \
        if (size == LONG_BYTES) {                                       \
            whole_##id(x, steps, &all);                                 \
            *ends = JOIN(LOW_HALF(all), HIGH_HALF(all));                \
        } else {                                                        \
            halves_##id(x, steps, &two);                                \
            *ends = JOIN(two.low, two.high);                            \
        }                                                               \
    }                                                                   \
                                                                        \
    /* Such rows, SOME at a time: with what is asked of others, they    \
     * would wait for their memory.  Returns how many. */               \
    TFD_FOLD_INLINE int64_t sets_##id(const E *x, int64_t n, double *y, \
                                      int64_t rows, int size)           \
    {                                                                   \
        const int64_t steps = n / (LONGS * PER_LONG(T));                \
        half_double e[SOME], low, high;                                 \
        int64_t r = 0;                                                  \
                                                                        \
        if (size < (int)sizeof(*e) || steps > (STEPS) ||                \
            n % (LONGS * PER_LONG(T)))                                  \
            return 0;                                                   \
        for (; rows - r >= SOME; r += SOME) {                           \
            for (int i = 0; i < SOME; i++)                              \
                set_##id(x + (r + i) * n, steps, &e[i], size);          \
            low = JOIN(LOWERS(e[0], e[2]), UPPERS(e[0], e[2]));         \
            high = JOIN(LOWERS(e[1], e[3]), UPPERS(e[1], e[3]));        \
            low = JOIN(EVENS(low, high), ODDS(low, high));              \
            memcpy(y + r, &low, sizeof(low));                           \
        }                                                               \
        return r;                                                       \
    }                                                                   \
                                                                        \
    TFD_WIDTH_LOOP(many_##id)                                           \
    {                                                                   \
        const struct tfd_fold_whole *f = arg;                           \
        const int64_t n = f->length;                                    \
        const E *x = f->x;                                              \
        double *y = f->y;                                               \
        int64_t r = begin;                                              \
                                                                        \
        if (n < TFD_FOLD_SHORT) {                                       \
            for (; r < end; r++)                                        \
                y[r] = short_##id(x + r * n, n);                        \
            return;                                                     \
        }                                                               \
        r += sets_##id(x + r * n, n, y + r, end - r, size);             \
        for (; r < end; r++)                                            \
            y[r] = long_##id(x + r * n, n, size);                       \
    }                                                                   \
    TFD_WIDTH_CLONES(many_##id)                                         \
                                                                        \
    static void run_##id(void *arg, int64_t begin, int64_t end)         \
    {                                                                   \
        const struct tfd_fold *f = arg;                                 \
        double *acc = f->acc, one;                                      \
        struct tfd_fold_whole run = {(const E *)f->x + begin, &one,     \
                                     end - begin, 1};                   \
                                                                        \
        many_##id(&run, 0, 1);                                          \
        *acc = JOIN(*acc, one);                                         \
    }

/* Whole rows, some at a time, which become outputs together: what folds is the
 * same for all that are made of it. */
#define ROWS_AT_ONCE 64

static void rows_by(const struct tfd_fold_whole *f, int64_t begin, int64_t end,
                    size_t item, tfd_range_fn *many,
                    void (*finish)(void *y, const void *acc, int64_t n,
                                   int64_t folded))
{
    double acc[ROWS_AT_ONCE];

    for (int64_t r = begin; r < end; r += ROWS_AT_ONCE) {
        const int64_t count = tfd_min(end - r, ROWS_AT_ONCE);
        struct tfd_fold_whole some = {(const char *)f->x +
                                          (size_t)(r * f->length) * item,
                                      acc, f->length, 1};

        many(&some, 0, count);
        finish((char *)f->y + (size_t)r * item, acc, count, f->length);
    }
}

#define FOLD_ROWS(id, T, folding)                                         \
    static void rows_##id(void *arg, int64_t begin, int64_t end)          \
    {                                                                     \
        rows_by(arg, begin, end, sizeof(T), many_##folding, finish_##id); \
    }

/* ---- Columns ------------------------------------------------------------- */

/* As many as registers hold are folded side by side, row after row as they lie
 * in memory: ROWS of them, before they go into accumulators. */
#define STRIP(T) ((int64_t)(256 / sizeof(T)))
#define FEW(T) (STRIP(T) / 4)
/* Of wide rows, so that more of them is read in one go. */
#define BROAD(T) (2 * STRIP(T))

/* n is a constant: columns of the rows at x, whose first `skip` are in their
 * accumulators already. */
#define FOLD_COLUMNS(id, E, T, TERM, JOIN, WIDE, FIRST, STEPS, ROWS)           \
    TFD_FOLD_INLINE void strip_##id(const E *restrict x, int64_t stride,       \
                                    int64_t rows, double *restrict acc, int n, \
                                    int64_t skip)                              \
    {                                                                          \
        T a[BROAD(T)];                                                         \
                                                                               \
        for (int j = 0; j < n; j++)                                            \
            a[j] = item_##id(x[j]);                                            \
        for (int64_t r = 1; r < rows; r++) {                                   \
            x += stride;                                                       \
            for (int j = 0; j < n; j++)                                        \
                a[j] = JOIN(a[j], item_##id(x[j]));                            \
        }                                                                      \
        for (int64_t j = skip; j < n; j++)                                     \
            acc[j] = JOIN(acc[j], (double)a[j]);                               \
    }                                                                          \
                                                                               \
    /* Fewer than a strip has, one by one. */                                  \
    TFD_FOLD_INLINE void single_##id(const E *x, int64_t stride, int64_t rows, \
                                     double *acc)                              \
    {                                                                          \
        T a = item_##id(x[0]);                                                 \
                                                                               \
        for (int64_t r = 1; r < rows; r++)                                     \
            a = JOIN(a, item_##id(x[r * stride]));                             \
        *acc = JOIN(*acc, (double)a);                                          \
    }                                                                          \
                                                                               \
    TFD_SIMD_LOOP(columns_##id)                                                \
    {                                                                          \
        const struct tfd_fold *f = arg;                                        \
        const int64_t s = f->stride, few = FEW(T);                             \
        const E *x = f->x;                                                     \
        double *acc = f->acc;                                                  \
                                                                               \
        for (int64_t r = 0; r < f->rows; r += (ROWS), x += (ROWS)*s) {         \
            const int64_t rows = tfd_min(f->rows - r, ROWS);                   \
            int64_t j = begin;                                                 \
                                                                               \
            for (; end - j >= BROAD(T); j += BROAD(T))                         \
                strip_##id(x + j, s, rows, acc + j, BROAD(T), 0);              \
            for (; end - j >= STRIP(T); j += STRIP(T))                         \
                strip_##id(x + j, s, rows, acc + j, STRIP(T), 0);              \
            for (; end - j >= few; j += few)                                   \
                strip_##id(x + j, s, rows, acc + j, FEW(T), 0);                \
            if (j < end && end - begin >= few)                                 \
                strip_##id(x + end - few, s, rows, acc + end - few, FEW(T),    \
                           few - (end - j));                                   \
            else                                                               \
                for (; j < end; j++)                                           \
                    single_##id(x + j, s, rows, acc + j);                      \
        }                                                                      \
    }                                                                          \
    TFD_SIMD_CLONES_WIDE(columns_##id)

/* Products, four rows at a time. */
#define FOLD_FOURS(id, E, T, TERM, JOIN, WIDE, FIRST, STEPS, ROWS)             \
    TFD_SIMD_LOOP(columns_##id)                                                \
    {                                                                          \
        const struct tfd_fold *f = arg;                                        \
        const int64_t s = f->stride;                                           \
        const E *restrict x = f->x;                                            \
        double *restrict acc = f->acc;                                         \
        int64_t r = 0;                                                         \
                                                                               \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                           \
            for (int64_t j = begin; j < end; j++)                              \
                acc[j] = JOIN(acc[j],                                          \
                              (double)JOIN(JOIN(x[j], x[j + s]),               \
                                           JOIN(x[j + 2 * s], x[j + 3 * s]))); \
        for (; r < f->rows; r++, x += s)                                       \
            for (int64_t j = begin; j < end; j++)                              \
                acc[j] = JOIN(acc[j], (double)x[j]);                           \
    }                                                                          \
    TFD_SIMD_CLONES(columns_##id)

/* L2Loss folds all there is: columns only where that is one element. */
#define LOSS_COLUMNS(id, T)                                         \
    static void columns_##id(void *arg, int64_t begin, int64_t end) \
    {                                                               \
        const struct tfd_fold *f = arg;                             \
        const T *x = f->x;                                          \
        double *acc = f->acc;                                       \
                                                                    \
        for (int64_t r = 0; r < f->rows; r++, x += f->stride)       \
            for (int64_t j = begin; j < end; j++)                   \
                acc[j] += (double)item_##id(x[j]);                  \
    }

/* ---- Sums and products --------------------------------------------------- */

#define DIVIDE(T, acc, n) ((T)((acc) / (double)(n)))
#define HALVE(T, acc, n) ((T)((acc) / 2))

#define SUM_FOLD(X, id, E, T) \
    X(id, E, T, TFD_FOLD_ITSELF, ADD, ADD_WIDE, 0, SUM_STEPS, FEW_ROWS)
#define PROD_FOLD(X, name, T) \
    X(prod_##name, T, T, TFD_FOLD_ITSELF, MUL, MUL_##name, 1, PRODUCT_STEPS, 4)
#define LOSS_FOLD(X, name, T) \
    X(loss_##name, T, T, SQUARE, ADD, ADD_WIDE, 0, SUM_STEPS, FEW_ROWS)
#define SUM_FOLDS(X, name, T) SUM_FOLD(X, sum_##name, T, T)
#define LOSSES(X, name, T) X(loss_##name, T)
#define SLABS(X, name, T)                  \
    X(sum_##name, T, TFD_FOLD_ITSELF, ADD) \
    X(prod_##name, T, TFD_FOLD_ITSELF, MUL)
#define MERGES(X, name, T)      \
    X(sum_##name, double, ADD)  \
    X(loss_##name, double, ADD) \
    X(prod_##name, double, MUL)
#define OUTPUTS(X, name, T)       \
    X(sum_##name, T, sum_##name)  \
    X(mean_##name, T, sum_##name) \
    X(prod_##name, T, prod_##name)
#define SLAB_OUTPUTS(X, name, T)               \
    X(sum_##name, T, sum_##name, TFD_FOLD_CUT) \
    X(prod_##name, T, prod_##name, TFD_FOLD_CUT)
#define MEANS(X, name, T) X(mean_##name, T, sum_##name)

/* Of sums. */
#define MEAN_SLABS(id, T, sums)                                     \
    static void slabs_##id(void *arg, int64_t begin, int64_t end)   \
    {                                                               \
        const struct tfd_fold_whole *f = arg;                       \
        T *y = f->y;                                                \
                                                                    \
        slabs_##sums(arg, begin, end);                              \
        for (int64_t i = begin * f->width; i < end * f->width; i++) \
            y[i] = DIVIDE(T, y[i], f->length);                      \
    }
#define ENDS(X, name, T)                   \
    X(sum_##name, T, double, TFD_FOLD_CUT) \
    X(mean_##name, T, double, DIVIDE)      \
    X(loss_##name, T, double, HALVE)       \
    X(prod_##name, T, double, TFD_FOLD_CUT)
#define REDUCERS(X, name, T)             \
    X(sum, name, sum, double, FEW_ROWS)  \
    X(mean, name, sum, double, FEW_ROWS) \
    X(prod, name, prod, double, 4)

#define LOSS_REDUCER(id, T)                      \
    const struct tfd_reducer tfd_reduce_##id = { \
        .acc_size = sizeof(double),              \
        .identity = &first_of_##id,              \
        .run = run_##id,                         \
        .columns = columns_##id,                 \
        .merge = merge_##id,                     \
        .finish = finish_##id,                   \
        .element_ps = TFD_FLOAT_PS,              \
    };

TFD_FLOAT_ROWS(SUM_FOLDS, FOLD_RUN)
TFD_FLOAT_ROWS(PROD_FOLD, FOLD_RUN)
TFD_FLOAT_ROWS(LOSS_FOLD, FOLD_RUN)
TFD_FLOAT_ROWS(SUM_FOLDS, FOLD_COLUMNS)
TFD_FLOAT_ROWS(PROD_FOLD, FOLD_FOURS)
TFD_FLOAT_ROWS(LOSSES, LOSS_COLUMNS)
TFD_FLOAT_ROWS(SLABS, TFD_FOLD_SLAB)
TFD_FLOAT_ROWS(MERGES, TFD_REDUCE_MERGE)
TFD_FLOAT_ROWS(ENDS, TFD_REDUCE_FINISH)
TFD_FLOAT_ROWS(OUTPUTS, FOLD_ROWS)
TFD_FLOAT_ROWS(SLAB_OUTPUTS, TFD_FOLD_SLABS)
TFD_FLOAT_ROWS(MEANS, MEAN_SLABS)
TFD_FLOAT_ROWS(REDUCERS, TFD_FLOAT_REDUCER)
TFD_FLOAT_ROWS(LOSSES, LOSS_REDUCER)

/* ---- bfloat16 ------------------------------------------------------------ */

/* Widened in registers: for every processor that is a shift. */
#define CUT_NARROW(T, acc, n) T##_from_float((float)(acc))
#define DIVIDE_NARROW(T, acc, n) T##_from_float((float)((acc) / (double)(n)))

SUM_FOLD(FOLD_RUN, sum_BFLOAT16, tfd_bfloat16, float)
SUM_FOLD(FOLD_COLUMNS, sum_BFLOAT16, tfd_bfloat16, float)
TFD_REDUCE_FINISH(sum_BFLOAT16, tfd_bfloat16, double, CUT_NARROW)
TFD_REDUCE_FINISH(mean_BFLOAT16, tfd_bfloat16, double, DIVIDE_NARROW)
FOLD_ROWS(sum_BFLOAT16, tfd_bfloat16, sum_BFLOAT16)
FOLD_ROWS(mean_BFLOAT16, tfd_bfloat16, sum_BFLOAT16)

#define PUBLIC(part, loop)                                                 \
    void tfd_reduce_bfloat16_##part(void *arg, int64_t begin, int64_t end) \
    {                                                                      \
        loop(arg, begin, end);                                             \
    }

PUBLIC(run, run_sum_BFLOAT16)
PUBLIC(columns, columns_sum_BFLOAT16)
PUBLIC(sums, rows_sum_BFLOAT16)
PUBLIC(means, rows_mean_BFLOAT16)
