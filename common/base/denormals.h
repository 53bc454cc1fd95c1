/*
 * denormals.h - how the calling thread computes with floats and doubles below
 * the smallest normal number (subnormal numbers, denormals): with the mode
 * TFD_DENORMALS_FLUSH set, they are zero as operands and as results (FTZ and
 * DAZ of MXCSR on x86-64, FZ of FPCR on arm64).
 *
 * TensorFlow computes so in all threads of its kernels, and it is fast: a
 * processor takes some hundred cycles for such an operand or result.  What
 * moves bits (copies, Neg, Abs) keeps them, and so do half and bfloat16 as
 * operands of conversions (common/base/half.h).
 *
 * Threads: of the caller alone; one that it makes inherits it.
 */
#ifndef TFD_COMMON_DENORMALS_H
#define TFD_COMMON_DENORMALS_H

#include <stdint.h>

#if defined(__SSE2__)

#include <xmmintrin.h>

#define TFD_DENORMALS_FLUSH 0x8040u /* FTZ, DAZ */

static inline uint64_t tfd_denormals_get(void)
{
    return _mm_getcsr();
}

static inline void tfd_denormals_set(uint64_t mode)
{
    _mm_setcsr((unsigned)mode);
}

#elif defined(__aarch64__)

#define TFD_DENORMALS_FLUSH (UINT64_C(1) << 24) /* FZ */

static inline uint64_t tfd_denormals_get(void)
{
    uint64_t mode;

    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void tfd_denormals_set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

#else

#define TFD_DENORMALS_FLUSH 0

static inline uint64_t tfd_denormals_get(void)
{
    return 0;
}

static inline void tfd_denormals_set(uint64_t mode)
{
    (void)mode;
}

#endif

/* Returns what tfd_denormals_set() takes to end it. */
static inline uint64_t tfd_denormals_flush(void)
{
    uint64_t before = tfd_denormals_get();

    tfd_denormals_set(before | TFD_DENORMALS_FLUSH);
    return before;
}

#endif
