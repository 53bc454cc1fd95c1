/*
 * piecewise.h - a function of one number as many short polynomials.
 *
 * The range from a power of 2 up is cut into octaves, and each of these into
 * equal parts, so that the upper bits of a double say which part it lies in and
 * the lower ones where.  The polynomial of a part meets the function at the
 * nodes of Chebyshev; it is made of the function itself when the table is first
 * used, which takes some milliseconds at most.  A function that is smooth by
 * octaves (singular at 0 only) needs 8 parts to one: with polynomials of 8
 * terms the error is 1e-12 of it, and a float that is rounded from it is that
 * of the function but for one in some ten thousand; with 12 terms it is less
 * than the last place of a double, and what is left are the roundings of the
 * sum.
 *
 * What is tabulated is smooth: the function over a factor that takes its growth
 * or its zero away.
 *
 *     function(x) = factor(x) * table(z(x))
 *
 * Threads: any; who comes first makes the table and others wait.  A result
 * depends on its argument alone.
 */
#ifndef TFD_KERNELS_PIECEWISE_H
#define TFD_KERNELS_PIECEWISE_H

#include <stdbool.h>
#include <stdint.h>

/* Of a polynomial, for floats and for doubles. */
#define TFD_PIECEWISE_TERMS 8
#define TFD_PIECEWISE_TERMS_MAX 12

/* Where x is looked for. */
enum tfd_piecewise_z {
    TFD_PIECEWISE_X,
    TFD_PIECEWISE_FROM_0,       /* |x| + 1 */
    TFD_PIECEWISE_FROM_0_EXACT, /* the same, and what that sum lost of x */
    TFD_PIECEWISE_FROM_1,       /* 1 - |x| */
    TFD_PIECEWISE_ENDS,         /* the lesser of x and 1 - x */
};

enum tfd_piecewise_factor {
    TFD_PIECEWISE_NO_FACTOR,
    TFD_PIECEWISE_BY_X,
    TFD_PIECEWISE_BY_CUBE,
    TFD_PIECEWISE_BY_EXP,      /* e^|x| to 2^-34; |x| < 690 */
    TFD_PIECEWISE_BY_REST,     /* 1 - x */
    TFD_PIECEWISE_BY_CENTERED, /* x - 1/2 */
    TFD_PIECEWISE_BY_GROWTH,   /* e^|x| as a double has it */
    TFD_PIECEWISE_BY_X_GROWTH, /* x e^|x| */
    TFD_PIECEWISE_BY_DECAY     /* e^-|x| */
};

#define TFD_PIECEWISE_BLOCK 256

typedef long double tfd_piecewise_fn(long double x);
/* The same of n <= TFD_PIECEWISE_BLOCK numbers, to what the table's are. */
typedef void tfd_piecewise_rare(const double *x, double *y, int64_t n);

struct tfd_piecewise {
    tfd_piecewise_fn *of;     /* z: what is tabulated */
    tfd_piecewise_fn *any;    /* x: the function, where the table has it not */
    tfd_piecewise_rare *rare; /* NULL, or in its place */
    enum tfd_piecewise_z z;
    enum tfd_piecewise_factor factor;
    int exponent, bits, parts; /* 2^exponent on, 2^bits parts an octave */
    int count;                 /* of the terms of a polynomial */
    double *terms;             /* [parts][count], of 1, t, t^2 ... */
    int made;                  /* atomic */
};

/* The table `name`, with room for so many octaves. */
#define TFD_PIECEWISE_OF(name, count, of, any, rare, z, factor, exponent, \
                         bits, octaves)                                   \
    static double name##_terms[(((octaves) << (bits)) + 1) * (count)];    \
    static struct tfd_piecewise name = {                                  \
        (of),     (any),        (rare), (z),                              \
        (factor), (exponent),   (bits), (octaves) << (bits),              \
        (count),  name##_terms, 0};
#define TFD_PIECEWISE(name, ...) \
    TFD_PIECEWISE_OF(name, TFD_PIECEWISE_TERMS, __VA_ARGS__)
#define TFD_PIECEWISE_DOUBLE(name, ...) \
    TFD_PIECEWISE_OF(name, TFD_PIECEWISE_TERMS_MAX, __VA_ARGS__)

/* y[i] = function(x[i]); y may be x. */
void tfd_piecewise_floats(struct tfd_piecewise *p, const float *x, float *y,
                          int64_t n);
/* The same of a row of floats (elementwise.h), as a kernel's loop; and of a row
 * of doubles, by a table of TFD_PIECEWISE_DOUBLE. */
void tfd_piecewise_row(struct tfd_piecewise *p, const void *row, int64_t begin,
                       int64_t end);
void tfd_piecewise_double_row(struct tfd_piecewise *p, const void *row,
                              int64_t begin, int64_t end);
/* What is tabulated, of one z that the table has. */
double tfd_piecewise_look(struct tfd_piecewise *p, double z);

#endif
