/*
 * bitwise.c - bits of integers:
 *
 *     BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift
 *     PopulationCount
 *
 * Shifts by less than 0 are by 0, those by more bits than there are by one bit
 * less than that.  Shifting right keeps the sign.
 */
#include "kernels/core/families.h"

#include "kernels/core/check.h"
#include "kernels/core/elementwise.h"
#include "kernels/vector/type_rows.h"

#define BITS(T) ((int)(8 * sizeof(T)))

/* Types narrower than int would be promoted, and shifting a negative number
 * left is not defined; U is wide enough and has no sign. */
#define DEFINE_INT(name, T, U)                                                \
    static inline T and_##name(T a, T b)                                      \
    {                                                                         \
        return (T)(a & b);                                                    \
    }                                                                         \
    static inline T or_##name(T a, T b)                                       \
    {                                                                         \
        return (T)(a | b);                                                    \
    }                                                                         \
    static inline T xor_##name(T a, T b)                                      \
    {                                                                         \
        return (T)(a ^ b);                                                    \
    }                                                                         \
    static inline T invert_##name(T a)                                        \
    {                                                                         \
        return (T)~a;                                                         \
    }                                                                         \
    static inline U by_##name(T b)                                            \
    {                                                                         \
        return b < (T)1 ? 0 : b > (T)(BITS(T) - 1) ? (U)(BITS(T) - 1) : (U)b; \
    }                                                                         \
    static inline T left_##name(T a, T b)                                     \
    {                                                                         \
        return (T)((U)a << by_##name(b));                                     \
    }                                                                         \
    static inline T right_##name(T a, T b)                                    \
    {                                                                         \
        return (T)(a >> by_##name(b));                                        \
    }                                                                         \
    static inline uint8_t count_##name(T a)                                   \
    {                                                                         \
        const U ones = (U)UINT64_MAX; /* all bits */                          \
        U v = (U)a & (U)(UINT64_MAX >> (64 - BITS(T)));                       \
                                                                              \
        v = v - ((v >> 1) & ones / 3);                                        \
        v = (v & ones / 5) + ((v >> 2) & ones / 5);                           \
        v = (v + (v >> 4)) & ones / 17;                                       \
        v += BITS(T) > 8 ? v >> 8 : 0;                                        \
        v += BITS(T) > 16 ? v >> 16 : 0;                                      \
        v += BITS(T) > 32 ? v >> BITS(T) / 2 : 0;                             \
        return (uint8_t)(v & 0xff);                                           \
    }

#define LOOP(X, function, name, T) \
    X##name(loop_##function##_##name, T, T, function##_##name)
#define TWO_LOOPS(X, name, T) \
    LOOP(X, and, name, T)     \
    LOOP(X, or, name, T)      \
    LOOP(X, xor, name, T)     \
    LOOP(X, left, name, T)    \
    LOOP(X, right, name, T)
#define ONE_LOOPS(X, name, T) LOOP(X, invert, name, T)
#define COUNT_LOOPS(X, name, T) X(loop_count_##name, T, uint8_t, count_##name)

TFD_WRAPPING_DTYPES(DEFINE_INT)
TFD_INT_ROWS(TWO_LOOPS, TFD_BINARY_OF_)
TFD_INT_ROWS(ONE_LOOPS, TFD_UNARY_OF_)
TFD_INT_ROWS(COUNT_LOOPS, TFD_UNARY_WIDE)

static enum tfd_code invert_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {k->in[0].dtype, TFD_COST_MEMORY, NULL,
                                      NULL};

    return tfd_elementwise_unary(k, &e, st);
}

static enum tfd_code count_cpu(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_elementwise e = {TFD_UINT8, TFD_COST_MEMORY, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define TYPES "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}"

#define BINARY_OP(name_, flags_)                                    \
    {                                                               \
        .name = (name_), .inputs = "x: T, y: T", .outputs = "z: T", \
        .attrs = "T: " TYPES, .shape = tfd_shape_broadcast2,        \
        .flags = TFD_OP_NO_GRADIENT | (flags_),                     \
    }
#define UNARY_OP(name_, out)                                 \
    {                                                        \
        .name = (name_), .inputs = "x: T", .outputs = out,   \
        .attrs = "T: " TYPES, .shape = tfd_shape_like_first, \
        .flags = TFD_OP_NO_GRADIENT,                         \
    }

static const struct tfd_opdef ops[] = {
    BINARY_OP("BitwiseAnd", TFD_OP_COMMUTATIVE),
    BINARY_OP("BitwiseOr", TFD_OP_COMMUTATIVE),
    BINARY_OP("BitwiseXor", TFD_OP_COMMUTATIVE),
    BINARY_OP("LeftShift", 0),
    BINARY_OP("RightShift", 0),
    UNARY_OP("Invert", "y: T"),
    UNARY_OP("PopulationCount", "y: uint8"),
};

#define KERNEL(op, name, loop) \
    TFD_KERNEL(op, name, tfd_elementwise_compute2, loop_##loop##_##name),
#define KERNELS(name, number, T)                                \
    KERNEL("BitwiseAnd", name, and)                             \
    KERNEL("BitwiseOr", name, or)                               \
    KERNEL("BitwiseXor", name, xor)                             \
    KERNEL("LeftShift", name, left)                             \
    KERNEL("RightShift", name, right)                           \
    TFD_KERNEL("Invert", name, invert_cpu, loop_invert_##name), \
        TFD_KERNEL("PopulationCount", name, count_cpu, loop_count_##name),

static const struct tfd_kernel kernels[] = {TFD_INT_DTYPES(KERNELS)};

const struct tfd_family tfd_family_bitwise = {
    .name = "bitwise",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
