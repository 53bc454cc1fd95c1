/*
 * tensor.h - element types, shapes, and the tensor every layer passes around.
 *
 * A tensor is a small value: type, shape, and one reference to a buffer.
 * Copying a struct tfd_tensor copies the reference without counting it, so
 * a copy that outlives its source goes through tfd_tensor_ref().
 *
 * A buffer is written by exactly one kernel, before it has a second reference,
 * and is read-only from then on.  That is why tensors need no lock.
 * Variables are the exception and live behind kernels/core/runtime.h.
 *
 * Elements lie row-major, as TensorFlow's tensor_content has them, except:
 *
 *   STRING    struct tfd_tstring each (tstring.h), owned by the buffer
 *   RESOURCE  struct tfd_handle * each (common/resource/handle.h), counted
 *   VARIANT   struct tfd_variant * each (common/base/variant.h), counted
 *   HALF, BFLOAT16  their bits in a uint16_t (common/base/half.h converts)
 *
 * Numbers of types are those of TensorFlow's DataType; 100 more is the type of
 * a reference edge (TFD_REF), which no tensor ever has.
 *
 * Threads: any; references are counted atomically.
 */
#ifndef TFD_COMMON_TENSOR_H
#define TFD_COMMON_TENSOR_H

#include "common/base/status.h"
#include "common/base/tstring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Dimensions that lie open in dim[], and that shape functions and kernels see;
 * a long shape has more (common/base/shape_long.h). */
#define TFD_RANK_MAX 8
#define TFD_RANK_UNKNOWN (-1)
#define TFD_DIM_UNKNOWN (-1)

/* Bits of a half or bfloat16; names of their own so that one X-macro can make
 * functions for uint16_t and for these. */
typedef uint16_t tfd_half;
typedef uint16_t tfd_bfloat16;
typedef uint8_t tfd_bool;
typedef struct {
    float re, im;
} tfd_complex64;
typedef struct {
    double re, im;
} tfd_complex128;

/* name, number on the wire, C type.  The types C arithmetic is defined on. */
#define TFD_INT_DTYPES(X)   \
    X(INT32, 3, int32_t)    \
    X(UINT8, 4, uint8_t)    \
    X(INT16, 5, int16_t)    \
    X(INT8, 6, int8_t)      \
    X(INT64, 9, int64_t)    \
    X(UINT16, 17, uint16_t) \
    X(UINT32, 22, uint32_t) \
    X(UINT64, 23, uint64_t)

#define TFD_FLOAT_DTYPES(X) \
    X(FLOAT, 1, float)      \
    X(DOUBLE, 2, double)

#define TFD_REAL_DTYPES(X) \
    TFD_FLOAT_DTYPES(X)    \
    TFD_INT_DTYPES(X)

#define TFD_HALF_DTYPES(X) \
    X(HALF, 19, tfd_half)  \
    X(BFLOAT16, 14, tfd_bfloat16)

#define TFD_COMPLEX_DTYPES(X)      \
    X(COMPLEX64, 8, tfd_complex64) \
    X(COMPLEX128, 18, tfd_complex128)

#define TFD_QUANT_DTYPES(X) \
    X(QINT8, 11, int8_t)    \
    X(QUINT8, 12, uint8_t)  \
    X(QINT32, 13, int32_t)  \
    X(QINT16, 15, int16_t)  \
    X(QUINT16, 16, uint16_t)

/* Types whose elements are plain bytes: may be copied with memcpy. */
#define TFD_POD_DTYPES(X) \
    TFD_REAL_DTYPES(X)    \
    TFD_HALF_DTYPES(X)    \
    TFD_COMPLEX_DTYPES(X) \
    TFD_QUANT_DTYPES(X)   \
    X(BOOL, 10, tfd_bool)

enum tfd_dtype {
    TFD_DTYPE_INVALID = 0,
#define X(name, number, ctype) TFD_##name = number,
    TFD_POD_DTYPES(X)
#undef X
        TFD_STRING = 7,
    TFD_RESOURCE = 20,
    TFD_VARIANT = 21,
};

#define TFD_DTYPE_END 24 /* one past the last number */
#define TFD_REF 100 /* added to a type: an edge that refers to a variable */

/* In graph construction rank and dimensions may be unknown; in a tensor that
 * exists they never are.  Of a rank over TFD_RANK_MAX dim[] holds a packed form
 * that only shape_long.h and the functions below read.  Whoever is not named in
 * kernels/layout/long_shape.h never meets one. */
struct tfd_shape {
    int rank;
    int64_t dim[TFD_RANK_MAX];
};

#define TFD_SHAPE_UNKNOWN \
    {                     \
        TFD_RANK_UNKNOWN, \
        {                 \
            0             \
        }                 \
    }

struct tfd_buffer {
    int refs; /* atomic; only the functions below touch it */
    size_t size;
    void *data; /* in the memory of the device that allocated it */
    void (*release)(struct tfd_buffer *b);
};

struct tfd_tensor {
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    struct tfd_buffer *buffer; /* NULL only when there are no elements */
};

#define TFD_TENSOR_INIT                    \
    {                                      \
        TFD_DTYPE_INVALID, {0, {0}}, NULL, \
    }

/* ---- Types -------------------------------------------------------------- */

bool tfd_dtype_valid(int number);        /* a type we have, not a reference */
size_t tfd_dtype_size(enum tfd_dtype t); /* of one element in memory */
bool tfd_dtype_is_pod(enum tfd_dtype t);
const char *tfd_dtype_name(int number); /* "float", "int64_ref"; "invalid" */
const char *tfd_dtype_enum_name(int number); /* "DT_FLOAT" */
enum tfd_dtype tfd_dtype_base(int number);   /* without TFD_REF */
bool tfd_dtype_is_ref(int number);

/* ---- Shapes ------------------------------------------------------------- */

/* The one way to make the shape of a tensor from numbers that were not made
 * here: refuses a rank over TFD_RANK_MAX, a negative dimension, a number of
 * elements that does not fit int64_t.  *out is untouched on failure. */
enum tfd_code tfd_shape_make(struct tfd_shape *out, const int64_t *dim,
                             int rank, struct tfd_status *st) TFD_MUST_USE;

/* Same with unknown dimensions (-1) allowed, for graph construction. */
enum tfd_code tfd_shape_make_partial(struct tfd_shape *out, const int64_t *dim,
                                     int rank,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Number of elements, or -1 when the shape is not fully known. */
int64_t tfd_shape_elements(const struct tfd_shape *s);

/* Makes *into the most specific shape compatible with both; fails when two
 * known dimensions or ranks differ.  *into is unchanged on failure. */
enum tfd_code tfd_shape_merge(struct tfd_shape *into, const struct tfd_shape *s,
                              struct tfd_status *st) TFD_MUST_USE;

bool tfd_shape_equal(const struct tfd_shape *a, const struct tfd_shape *b);

/* 254 dimensions, of which few have more than one digit, as their product fits
 * 63 bits. */
#define TFD_SHAPE_TEXT_MAX 600
/* "[2,3]", "[]", "[?,3]", "<unknown>" as TensorFlow prints shapes.  Returns
 * text, which has TFD_SHAPE_TEXT_MAX bytes. */
const char *tfd_shape_text(const struct tfd_shape *s, char *text);

/* ---- Tensors (host memory; alloc.h makes the buffers) -------------------- */

/* A new tensor with one reference, contents undefined; strings are empty,
 * handles NULL.  The shape must come from tfd_shape_make() or a tensor. */
enum tfd_code tfd_tensor_new(struct tfd_tensor *out, enum tfd_dtype dtype,
                             const struct tfd_shape *shape,
                             struct tfd_status *st) TFD_MUST_USE;

struct tfd_tensor tfd_tensor_ref(const struct tfd_tensor *t);
/* Drops the reference and leaves *t empty; does nothing on an empty one. */
void tfd_tensor_unref(struct tfd_tensor *t);

int64_t tfd_tensor_elements(const struct tfd_tensor *t);
/* Bytes of the elements as they lie in memory. */
size_t tfd_tensor_size(const struct tfd_tensor *t);
/* Of bytes that come from outside: INVALID_ARGUMENT when they are no elements
 * of this type.  A bool is 0 or 1, and kernels compute with it as it lies;
 * every other type whose elements are plain bytes takes any bits. */
enum tfd_code tfd_tensor_check_bytes(enum tfd_dtype dtype, const void *bytes,
                                     size_t size,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Elements of BOOL that are neither 0 nor 1 become 1. */
void tfd_tensor_normalize_bools(const struct tfd_tensor *t);

/* NULL when there are no elements. */
void *tfd_tensor_data(const struct tfd_tensor *t);

/* Called for each handle that is not NULL when a buffer of RESOURCE goes.  Set
 * once by the kernels, before there are threads; without it handles are
 * forgotten. */
typedef void tfd_handle_release_fn(void *handle);
void tfd_tensor_handle_release(tfd_handle_release_fn *fn);

struct tfd_buffer *tfd_buffer_ref(struct tfd_buffer *b); /* NULL stays NULL */
/* count at once; NULL is allowed. */
void tfd_buffer_ref_times(struct tfd_buffer *b, int count);
/* The second reference, by the holder of the only one. */
struct tfd_buffer *tfd_buffer_ref_sole(struct tfd_buffer *b);
void tfd_buffer_unref(struct tfd_buffer *b);
/* One reference left: whoever holds it may write.  Acquires. */
bool tfd_buffer_sole(const struct tfd_buffer *b);

#endif
