/*
 * type_rows.h - lists of element types, each of which expands ROWS with a macro
 * X to apply: a table of types and operations that is one macro deep.
 *
 *     #define SUMS(X, name, T) X(add_##name, T) X(mul_##name, T)
 *     TFD_FLOAT_ROWS(SUMS, FOLD)
 *
 * is FOLD(add_FLOAT, float) FOLD(mul_FLOAT, float) and the same of double.
 *
 * Threads: macros only.
 */
#ifndef TFD_KERNELS_TYPE_ROWS_H
#define TFD_KERNELS_TYPE_ROWS_H

#define TFD_FLOAT_ROWS(ROWS, X) \
    ROWS(X, FLOAT, float)       \
    ROWS(X, DOUBLE, double)
#define TFD_HALF_ROWS(ROWS, X) \
    ROWS(X, HALF, tfd_half)    \
    ROWS(X, BFLOAT16, tfd_bfloat16)
#define TFD_COMPLEX_ROWS(ROWS, X)     \
    ROWS(X, COMPLEX64, tfd_complex64) \
    ROWS(X, COMPLEX128, tfd_complex128)
#define TFD_INT_ROWS(ROWS, X) \
    ROWS(X, INT8, int8_t)     \
    ROWS(X, INT16, int16_t)   \
    ROWS(X, INT32, int32_t)   \
    ROWS(X, INT64, int64_t)   \
    ROWS(X, UINT8, uint8_t)   \
    ROWS(X, UINT16, uint16_t) \
    ROWS(X, UINT32, uint32_t) \
    ROWS(X, UINT64, uint64_t)
#define TFD_REAL_ROWS(ROWS, X) TFD_FLOAT_ROWS(ROWS, X) TFD_INT_ROWS(ROWS, X)

#endif
