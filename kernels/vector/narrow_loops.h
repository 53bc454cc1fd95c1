/*
 * narrow_loops.h - elementwise loops of half and bfloat16 by way of those of
 * float: a block of elements is widened, goes through the loop of floats, and
 * is rounded once.  What comes out is what the float operation rounds to.
 *
 *     TFD_NARROW_LOOP(loop_add_HALF, HALF, loop_add_FLOAT)
 *
 * An operation of several steps that TensorFlow rounds after each has a loop
 * of its own, in floats that hold halves: see TFD_ROUND_HALF.
 *
 * Threads: as other elementwise loops.
 */
#ifndef TFD_KERNELS_NARROW_LOOPS_H
#define TFD_KERNELS_NARROW_LOOPS_H

#include "kernels/vector/narrow_lanes.h"

/* Runs `wide`, a loop over a struct tfd_row of floats, over elements
 * [begin, end) of one of type t; the results are of type t, too. */
void tfd_narrow_row(enum tfd_dtype t, tfd_range_fn *wide,
                    const struct tfd_row *row, int64_t begin, int64_t end);
/* The same where `wide` makes results of `size` bytes, which are not rounded.
 */
void tfd_narrow_into(enum tfd_dtype t, tfd_range_fn *wide, size_t size,
                     const struct tfd_row *row, int64_t begin, int64_t end);

#define TFD_NARROW_LOOP(name, dtype, wide)                    \
    static void name(void *arg, int64_t begin, int64_t end)   \
    {                                                         \
        tfd_narrow_row(TFD_##dtype, (wide), arg, begin, end); \
    }

/* loop_<function>_<name> by loop_<function>_FLOAT. */
#define TFD_NARROW_AS_FLOAT(function, name) \
    TFD_NARROW_LOOP(loop_##function##_##name, name, loop_##function##_FLOAT)

/* TFD_LANES_LOOP(), see narrow_lanes.h, or `wide` by blocks. */
#if defined(__x86_64__)
#define TFD_LANES_OR(name, dtype, ARITY, FUNCTION, wide)          \
    TFD_LANES_LOOP(name##_lanes, dtype, ARITY, FUNCTION)          \
    static void name(void *arg, int64_t begin, int64_t end)       \
    {                                                             \
        if (tfd_simd_has_avx512())                                \
            name##_lanes(arg, begin, end);                        \
        else                                                      \
            tfd_narrow_row(TFD_##dtype, (wide), arg, begin, end); \
    }
#define TFD_LANES16_OR(name, FUNCTION, other)               \
    TFD_LANES16_LOOP(name##_lanes16, FUNCTION, other)       \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        if (tfd_lanes16_pay())                              \
            name##_lanes16(arg, begin, end);                \
        else                                                \
            other(arg, begin, end);                         \
    }
#else
#define TFD_LANES_OR(name, dtype, ARITY, FUNCTION, wide) \
    TFD_NARROW_LOOP(name, dtype, wide)
#define TFD_LANES16_OR(name, FUNCTION, other)               \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        other(arg, begin, end);                             \
    }
#endif

/* A loop of halves by NATIVE, a macro of one (UNARY) or two (BINARY) numbers
 * of type tfd_simd_half whose every operation is rounded, where the processor
 * has those; else by LANES, as above.  The bits are the same: a float has more
 * than twice the bits of a half, so rounding a sum, product or quotient of
 * halves to it first changes nothing. */
#define TFD_HALF_LOOP(name, ARITY, NATIVE, LANES, wide)      \
    TFD_LANES_OR(name##_otherwise, HALF, ARITY, LANES, wide) \
    TFD_HALF_TO(name, name##_otherwise, ARITY, NATIVE)

/* The same, BINARY, of a function that rounds between its steps. */
#define TFD_HALF_LOOP_OF_STEPS(name, NATIVE, LANES, wide) \
    TFD_LANES_OR(name##_of_8, HALF, BINARY, LANES, wide)  \
    TFD_LANES16_OR(name##_otherwise, LANES, name##_of_8)  \
    TFD_HALF_TO(name, name##_otherwise, BINARY, NATIVE)

#ifdef TFD_SIMD_FP16
#define TFD_HALF_TO(name, otherwise, ARITY, FUNCTION)                     \
    TFD_##ARITY##_EACH(__attribute__((target(TFD_SIMD_FP16))), name,      \
                       tfd_simd_half, tfd_simd_half, FUNCTION)            \
        __attribute__((target(TFD_SIMD_FP16))) static void name##_native( \
            void *arg, int64_t begin, int64_t end)                        \
    {                                                                     \
        name##_each(arg, begin, end);                                     \
    }                                                                     \
    static void name(void *arg, int64_t begin, int64_t end)               \
    {                                                                     \
        if (tfd_simd_has_fp16())                                          \
            name##_native(arg, begin, end);                               \
        else                                                              \
            otherwise(arg, begin, end);                                   \
    }
#else
#define TFD_HALF_TO(name, otherwise, ARITY, FUNCTION)       \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        otherwise(arg, begin, end);                         \
    }
#endif

#endif
