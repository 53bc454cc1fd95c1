/*
 * npy.h - tensors in files of NumPy's format .npy, by its specification
 * (numpy.lib.format): versions 1.0, 2.0 and 3.0 are read, 1.0 is written, or
 * 2.0 where the head is longer than that has room for.
 *
 *     "\x93NUMPY" MAJOR MINOR size "{'descr': '<f4', 'fortran_order': False,
 *     'shape': (2, 3), }" blanks "\n" elements
 *
 *     |b1  |i1 <i2 <i4 <i8  |u1 <u2 <u4 <u8  <f2 <f4 <f8  <c8 <c16
 *     |S<n>  strings: zero bytes at their end are not kept
 *     <U<n>  UTF-32, read as strings in UTF-8
 *     <V2    bfloat16, as ml_dtypes writes it
 *
 * Both byte orders and both orders of elements are read.  Quantised types are
 * written as the integers that they are made of.  Pickled objects are refused.
 *
 * Threads: any.
 */
#ifndef TFD_TOOLS_NPY_H
#define TFD_TOOLS_NPY_H

#include "common/base/str.h"
#include "common/base/tensor.h"

#define TFD_CTL_NPY_SIZE_MAX (INT64_C(64) << 30)

/* INVALID_ARGUMENT for a file that is none, DATA_LOSS for one that ends too
 * soon; the text names the file.  *out has one reference. */
enum tfd_code tfd_ctl_npy_read(const char *path, struct tfd_tensor *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* Replaces the file.  A type that .npy has none for is INVALID_ARGUMENT. */
enum tfd_code tfd_ctl_npy_write(const char *path, const struct tfd_tensor *t,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
