/*
 * reduce_bools.c - All and Any.
 *
 * Elements are folded as long words.  An element may be folded twice, so what
 * is left of a run is a word that overlaps the one before; and a long run is
 * left as soon as what it has so far decides.
 */
#include "kernels/reduce/reduce_bools.h"

#include "kernels/vector/simd.h"

#include <string.h>

#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))

#define BLOCK 4096 /* elements until it is asked whether they decide */
#define BOOL_PS 50
#define ROW 64 /* elements of a row of which a loop knows it */

#define INLINE static inline __attribute__((always_inline))

typedef uint64_t word32 __attribute__((vector_size(32)));

/* Whether each byte is not 0, and whether any is. */
#define LOW_BITS UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)
#define EVERY(word) ((((word)-LOW_BITS) & ~(word)&HIGH_BITS) == 0)
#define SOME(word) ((word) != 0)

/* FIRST: what nothing folds to; TRUTH: of eight elements folded byte by byte.
 */
#define FOLD(id, OP, FIRST, TRUTH)                                        \
    static const tfd_bool first_of_##id = FIRST;                          \
                                                                          \
    /* n is at least 32. */                                               \
    INLINE bool words_##id(const tfd_bool *x, int64_t n)                  \
    {                                                                     \
        word32 both[4], more;                                             \
        int64_t i = 0;                                                    \
        uint64_t all;                                                     \
                                                                          \
        memcpy(&both[0], x + n - 32, 32);                                 \
        if (n >= 128) {                                                   \
            both[1] = both[2] = both[3] = both[0];                        \
            for (; n - i >= 128; i += 128)                                \
                for (int k = 0; k < 4; k++) {                             \
                    memcpy(&more, x + i + 32 * k, 32);                    \
                    both[k] = OP(both[k], more);                          \
                }                                                         \
            both[0] = OP(OP(both[0], both[1]), OP(both[2], both[3]));     \
        }                                                                 \
        for (; n - i > 32; i += 32) {                                     \
            memcpy(&more, x + i, 32);                                     \
            both[0] = OP(both[0], more);                                  \
        }                                                                 \
        all = OP(OP(both[0][0], both[0][1]), OP(both[0][2], both[0][3])); \
        return TRUTH(all);                                                \
    }                                                                     \
                                                                          \
    INLINE bool few_##id(const tfd_bool *x, int64_t n)                    \
    {                                                                     \
        uint64_t word, both;                                              \
        tfd_bool one = FIRST;                                             \
                                                                          \
        if (n < 8) {                                                      \
            for (int64_t i = 0; i < n; i++)                               \
                one = (tfd_bool)OP(one, x[i]);                            \
            return one != 0;                                              \
        }                                                                 \
        memcpy(&both, x + n - 8, 8);                                      \
        for (int64_t i = 0; n - i > 8; i += 8) {                          \
            memcpy(&word, x + i, 8);                                      \
            both = OP(both, word);                                        \
        }                                                                 \
        return TRUTH(both);                                               \
    }                                                                     \
                                                                          \
    INLINE bool row_##id(const tfd_bool *x, int64_t n)                    \
    {                                                                     \
        bool one = FIRST;                                                 \
                                                                          \
        if (n < 32)                                                       \
            return few_##id(x, n);                                        \
        for (int64_t some; n > 0 && one == FIRST; n -= some, x += some) { \
            some = n < 2 * BLOCK ? n : BLOCK;                             \
            one = words_##id(x, some);                                    \
        }                                                                 \
        return one;                                                       \
    }                                                                     \
                                                                          \
    TFD_SIMD_LOOP(run_##id)                                               \
    {                                                                     \
        const struct tfd_fold *f = arg;                                   \
        tfd_bool *acc = f->acc;                                           \
                                                                          \
        if ((*acc != 0) == (FIRST))                                       \
            *acc = row_##id((const tfd_bool *)f->x + begin, end - begin); \
    }                                                                     \
    TFD_SIMD_CLONES(run_##id)                                             \
                                                                          \
    TFD_SIMD_LOOP(rows_##id)                                              \
    {                                                                     \
        const struct tfd_fold_whole *f = arg;                             \
        const tfd_bool *x = f->x;                                         \
        tfd_bool *y = f->y;                                               \
                                                                          \
        if (f->length == ROW) {                                           \
            for (int64_t r = begin; r < end; r++)                         \
                y[r] = words_##id(x + r * ROW, ROW);                      \
            return;                                                       \
        }                                                                 \
        for (int64_t r = begin; r < end; r++)                             \
            y[r] = row_##id(x + r * f->length, f->length);                \
    }                                                                     \
    TFD_SIMD_CLONES(rows_##id)                                            \
                                                                          \
    TFD_SIMD_LOOP(columns_##id)                                           \
    {                                                                     \
        const struct tfd_fold *f = arg;                                   \
        const int64_t s = f->stride;                                      \
        const tfd_bool *restrict x = f->x;                                \
        tfd_bool *restrict acc = f->acc;                                  \
        int64_t r = 0;                                                    \
                                                                          \
        for (; f->rows - r >= 4; r += 4, x += 4 * s)                      \
            for (int64_t j = begin; j < end; j++)                         \
                acc[j] = (tfd_bool)OP(OP(acc[j], OP(x[j], x[j + s])),     \
                                      OP(x[j + 2 * s], x[j + 3 * s]));    \
        for (; r < f->rows; r++, x += s)                                  \
            for (int64_t j = begin; j < end; j++)                         \
                acc[j] = (tfd_bool)OP(acc[j], x[j]);                      \
    }                                                                     \
    TFD_SIMD_CLONES(columns_##id)                                         \
                                                                          \
    const struct tfd_reducer tfd_reduce_##id = {                          \
        .acc_size = sizeof(tfd_bool),                                     \
        .identity = &first_of_##id,                                       \
        .run = run_##id,                                                  \
        .columns = columns_##id,                                          \
        .merge = merge_##id,                                              \
        .finish = finish_##id,                                            \
        .rows = rows_##id,                                                \
        .element_ps = BOOL_PS,                                            \
    };

#define CUT(T, acc, n) ((T)(acc))

TFD_REDUCE_MERGE(all, tfd_bool, (tfd_bool)AND)
TFD_REDUCE_MERGE(any, tfd_bool, (tfd_bool)OR)
TFD_REDUCE_FINISH(all, tfd_bool, tfd_bool, CUT)
TFD_REDUCE_FINISH(any, tfd_bool, tfd_bool, CUT)
FOLD(all, AND, 1, EVERY)
FOLD(any, OR, 0, SOME)
