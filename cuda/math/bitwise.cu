/*
 * bitwise.cu - bits of integers: BitwiseAnd, BitwiseOr, BitwiseXor, Invert,
 * LeftShift, RightShift, PopulationCount of kernels/math/bitwise.c, which says how
 * shifts are bounded.
 */
#include "cuda/lib/elementwise.cuh"

namespace
{

CUDA_FUNCTION2(bit_and, (T)(a &b))
CUDA_FUNCTION2(bit_or, (T)(a | b))
CUDA_FUNCTION2(bit_xor, (T)(a ^ b))
CUDA_FUNCTION1(invert, (T)~x)

template <typename T> __device__ inline int shift_by(T b)
{
    const T most = (T)(8 * sizeof(T) - 1);

    return b < (T)1 ? 0 : b > most ? (int)most : (int)b;
}

struct shift_left {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return (T)((uint64_t)a << shift_by(b));
    }
};

struct shift_right {
    template <typename T> __device__ T operator()(T a, T b) const
    {
        return (T)(a >> shift_by(b));
    }
};

/* Of the bits that the type has. */
struct population_count {
    template <typename T> __device__ uint8_t operator()(T x) const
    {
        uint64_t rest = (uint64_t)x & (~(uint64_t)0 >> (64 - 8 * sizeof(T)));
        uint8_t count = 0;

        for (; rest; rest &= rest - 1)
            count++;
        return count;
    }
};

#define ROW(op, name, T, f) row(op, TFD_##name, binary_plain<T, f>),
#define ROWS(name, T)                            \
    ROW("BitwiseAnd", name, T, bit_and)          \
    ROW("BitwiseOr", name, T, bit_or)            \
    ROW("BitwiseXor", name, T, bit_xor)          \
    ROW("LeftShift", name, T, shift_left)        \
    ROW("RightShift", name, T, shift_right)      \
    row("Invert", TFD_##name, unary<T, invert>), \
        row("PopulationCount", TFD_##name,       \
            unary_to<T, uint8_t, TFD_UINT8, population_count>),

static const struct tfd_kernel kernels[] = {CUDA_INT_DTYPES(ROWS)
                                                ROWS(INT32, int32_t)};

} /* namespace */

CUDA_FAMILY_OF(bitwise);
