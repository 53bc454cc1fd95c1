/*
 * simd.h - hot loops compiled twice: for the baseline, and for AVX2; those
 * with much arithmetic an element, and those that run often on what is in a
 * near cache, also for AVX-512.
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
 * TFD_SIMD_CLONES_WIDE(add_FLOAT) in its place makes three copies: a loop
 * bound by arithmetic is twice as fast with vectors twice as wide, one whose
 * memory is in the first cache 1.1 to 1.9 times, in the second 1 to 1.2 times
 * (Zen 5), one bound by memory is not, and may be slower.  With
 * TFD_SIMD_CLONES_WIDE_IF(add_FLOAT, pays) it takes them where it pays.
 *
 * TFD_SIMD_CLONES_FUSED(add_FLOAT), likewise, is for a loop that says fmaf(),
 * which is an instruction where there is AVX2 and FMA, and a function of the C
 * library, slow, on processors older than those.
 *
 * Under ThreadSanitizer, and clang's AddressSanitizer, which are built at -O1,
 * where no loop is vectorised, the copies would differ in nothing but the
 * time that it takes to compile them: there is the baseline's alone, but of
 * loops that say fmaf().  Those written in instructions of a processor stay.
 *
 * The copies compute the same bits: no multiplication is fused with an
 * addition but by fmaf() (-ffp-contract=off).  Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_SIMD_H
#define TFD_KERNELS_SIMD_H

#include "kernels/core/kernel.h"

#define TFD_SIMD_LOOP(name)                                        \
    static inline __attribute__((always_inline)) void name##_loop( \
        void *arg, int64_t begin, int64_t end)

#define TFD_SIMD_COPY(name, suffix, instructions)                   \
    __attribute__((target(instructions))) static void name##suffix( \
        void *arg, int64_t begin, int64_t end)                      \
    {                                                               \
        name##_loop(arg, begin, end);                               \
    }

#if defined(__SANITIZE_THREAD__)
#define TFD_SIMD_ALIKE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TFD_SIMD_ALIKE
#endif
#endif

#if defined(__x86_64__)

/* gcc would take half of a vector, so as not to lower the clock for the rest
 * of the program; clang takes all of it. */
#ifdef __clang__
#define TFD_SIMD_AVX512 "avx512f,avx512bw,avx512dq,avx512vl"
#else
#define TFD_SIMD_AVX512 \
    "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#endif

static inline int tfd_simd_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

/* Conversions of halves.  clang 14 cannot ask for them. */
#define TFD_SIMD_F16C "avx2,f16c"

static inline int tfd_simd_has_f16c(void)
{
#ifdef __clang__
    return 0;
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
#endif
}

#ifndef TFD_SIMD_ALIKE
#define TFD_SIMD_CLONES(name)                               \
    TFD_SIMD_COPY(name, _avx2, "avx2")                      \
                                                            \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        if (__builtin_cpu_supports("avx2"))                 \
            name##_avx2(arg, begin, end);                   \
        else                                                \
            name##_loop(arg, begin, end);                   \
    }

#define TFD_SIMD_CLONES_WIDE(name) TFD_SIMD_CLONES_WIDE_IF(name, true)

/* With the longest vectors only where `pays`, of arg, begin and end, is true.
 */
#define TFD_SIMD_CLONES_WIDE_IF(name, pays)                 \
    TFD_SIMD_COPY(name, _avx2, "avx2")                      \
    TFD_SIMD_COPY(name, _avx512, TFD_SIMD_AVX512)           \
                                                            \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        if ((pays) && tfd_simd_has_avx512())                \
            name##_avx512(arg, begin, end);                 \
        else if (__builtin_cpu_supports("avx2"))            \
            name##_avx2(arg, begin, end);                   \
        else                                                \
            name##_loop(arg, begin, end);                   \
    }
#endif

#define TFD_SIMD_FMA "avx2,fma"

static inline int tfd_simd_has_fma(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define TFD_SIMD_CLONES_FUSED(name)                         \
    TFD_SIMD_COPY(name, _fma, TFD_SIMD_FMA)                 \
    TFD_SIMD_COPY(name, _avx512, TFD_SIMD_AVX512)           \
                                                            \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        if (tfd_simd_has_avx512())                          \
            name##_avx512(arg, begin, end);                 \
        else if (tfd_simd_has_fma())                        \
            name##_fma(arg, begin, end);                    \
        else                                                \
            name##_loop(arg, begin, end);                   \
    }

/* Arithmetic of halves as such, in vectors of 32.  clang 14 has none. */
#if !defined(__clang__) && __GNUC__ >= 12
#define TFD_SIMD_FP16 TFD_SIMD_AVX512 ",avx512fp16"

__extension__ typedef _Float16 tfd_simd_half;

static inline int tfd_simd_has_fp16(void)
{
    return __builtin_cpu_supports("avx512fp16") && tfd_simd_has_avx512();
}
#endif

#else

static inline int tfd_simd_has_avx512(void)
{
    return 0;
}

#define TFD_SIMD_ALIKE
#define TFD_SIMD_CLONES_FUSED(name) TFD_SIMD_CLONES(name)

#endif

#ifdef TFD_SIMD_ALIKE
#define TFD_SIMD_CLONES(name)                               \
    static void name(void *arg, int64_t begin, int64_t end) \
    {                                                       \
        name##_loop(arg, begin, end);                       \
    }

#define TFD_SIMD_CLONES_WIDE(name) TFD_SIMD_CLONES(name)
#define TFD_SIMD_CLONES_WIDE_IF(name, pays) TFD_SIMD_CLONES(name)
#endif

/* name##_lanes() alone, of a TFD_SIMD_LOOP(name) whose code is large: it is
 * called where TFD_SIMD_HAS_AVX2(), and something else, a library perhaps, does
 * the work elsewhere. */
#if defined(__x86_64__)
#define TFD_SIMD_HAS_AVX2() __builtin_cpu_supports("avx2")
#define TFD_SIMD_AVX2_ONLY(name) TFD_SIMD_COPY(name, _lanes, "avx2")
#else
#define TFD_SIMD_HAS_AVX2() true
#define TFD_SIMD_AVX2_ONLY(name)                                    \
    static void name##_lanes(void *arg, int64_t begin, int64_t end) \
    {                                                               \
        name##_loop(arg, begin, end);                               \
    }
#endif

#endif
