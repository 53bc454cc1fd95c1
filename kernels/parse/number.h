/*
 * number.h - a text as a number, all of it, with white space around it, as
 * TensorFlow's strings become numbers: reals as strtod() reads them (decimal or
 * hexadecimal, "inf", "nan"), rounded to nearest; whole numbers in decimal
 * digits, of which those without a sign may have a "+".
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_PARSE_NUMBER_H
#define TFD_KERNELS_PARSE_NUMBER_H

#include "common/base/tensor.h"
#include "common/base/str.h"

/* FLOAT, DOUBLE, INT32, INT64, UINT32, UINT64.  False where it is no such
 * number, or none that the type has. */
bool tfd_number_parse(enum tfd_dtype dtype, struct tfd_str text, void *out);

#endif
