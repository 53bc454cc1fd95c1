/*
 * simd.h - hot loops compiled twice: for the baseline, and for AVX2.
 *
 * The loop is written once, as a tfd_range_fn named NAME_loop that is always
 * inlined and that the compiler can vectorise:
 *
 *     TFD_SIMD_LOOP(add_FLOAT) { ... loop over [begin, end) ... }
 *     TFD_SIMD_CLONES(add_FLOAT)
 *
 * The second line makes add_FLOAT(), which asks the processor and calls one of
 * the two copies.  Asking is a load and a test.  This is what target_clones
 * does with an ifunc; an ifunc is resolved before a sanitizer is ready and
 * needs the dynamic linker, so it is not used here.
 *
 * The copies compute the same bits: AVX2 alone fuses no multiplication with an
 * addition.  Threads: pure.
 */
#ifndef TFD_KERNELS_SIMD_H
#define TFD_KERNELS_SIMD_H

#include "kernels/kernel.h"

#define TFD_SIMD_LOOP(name)                                        \
    static inline __attribute__((always_inline)) void name##_loop( \
        void *arg, int64_t begin, int64_t end)

#if defined(__x86_64__)

#define TFD_SIMD_CLONES(name)                                \
    __attribute__((target("avx2"))) static void name##_avx2( \
        void *arg, int64_t begin, int64_t end)               \
    {                                                        \
        name##_loop(arg, begin, end);                        \
    }                                                        \
                                                             \
    static void name(void *arg, int64_t begin, int64_t end)  \
    {                                                        \
        if (__builtin_cpu_supports("avx2"))                  \
            name##_avx2(arg, begin, end);                    \
        else                                                 \
            name##_loop(arg, begin, end);                    \
    }

#else

#define TFD_SIMD_CLONES(name)                               \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_loop(arg, begin, end);                       \
    }

#endif

#endif
