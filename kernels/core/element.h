/*
 * element.h - copies, gathers, fills and clears elements of any type: numbers
 * as bytes, strings and handles with their ownership.  Ops that only move
 * elements are made of these functions.
 *
 * All of them stop between blocks where the thread is told to
 * (common/thread/halt.h), and return TFD_OK then.  Threads: any.
 */
#ifndef TFD_KERNELS_ELEMENT_H
#define TFD_KERNELS_ELEMENT_H

#include "kernels/core/runtime.h"

/* Copies n elements; dst holds elements as tfd_tensor_new() made them (zero for
 * strings and handles) or older ones, which are released. */
enum tfd_code tfd_elements_copy(enum tfd_dtype dtype, void *dst,
                                const void *src, int64_t n,
                                struct tfd_status *st) TFD_MUST_USE;

/* n elements from src, each `stride` elements after the one before. */
enum tfd_code tfd_elements_gather(enum tfd_dtype dtype, void *dst,
                                  const void *src, int64_t stride, int64_t n,
                                  struct tfd_status *st) TFD_MUST_USE;

/* n times the same element. */
enum tfd_code tfd_elements_fill(enum tfd_dtype dtype, void *dst,
                                const void *value, int64_t n,
                                struct tfd_status *st) TFD_MUST_USE;

/* Zero; false; the empty string. */
void tfd_elements_zero(enum tfd_dtype dtype, void *dst, int64_t n);
/* All of the tensor's. */
void tfd_elements_clear(const struct tfd_tensor *t);

/* Address of element i, which may be negative; NULL where there is no base. */
static inline void *tfd_element_at(void *base, enum tfd_dtype dtype, int64_t i)
{
    return base ? (char *)base + i * (int64_t)tfd_dtype_size(dtype) : NULL;
}

static inline const void *tfd_element_of(const void *base, enum tfd_dtype dtype,
                                         int64_t i)
{
    return base ? (const char *)base + i * (int64_t)tfd_dtype_size(dtype)
                : NULL;
}

/* Copies the box of `shape` from src to dst, whose elements lie by strides (in
 * elements, one per dimension, negative allowed), shared among the compute
 * threads, unless k is NULL; numbers as kernels/layout/box.h has it. */
enum tfd_code tfd_elements_box(struct tfd_kctx *k, enum tfd_dtype dtype,
                               const struct tfd_shape *shape, void *dst,
                               const int64_t *dst_stride, const void *src,
                               const int64_t *src_stride,
                               struct tfd_status *st) TFD_MUST_USE;

/* Row-major strides of a shape. */
void tfd_element_strides(const struct tfd_shape *s, int64_t *stride);

#endif
