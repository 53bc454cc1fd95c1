/*
 * letter_case.h - strings of UTF-8 in lower or upper case, by ICU's tables and
 * the rules of no language.  As in TensorFlow, what is no UTF-8 becomes U+FFFD,
 * and a string ends before its first byte of zero.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LETTER_CASE_H
#define TFD_KERNELS_LETTER_CASE_H

#include "common/base/tstring.h"

struct tfd_letter_case {
    bool upper, unicode; /* else ASCII */
};

/* y[i] is x[i] in the other case, for count strings.  FAILED_PRECONDITION
 * without ICU, RESOURCE_EXHAUSTED without memory or above 2^31 bytes. */
enum tfd_code tfd_letter_case(const struct tfd_letter_case *c,
                              const struct tfd_tstring *x,
                              struct tfd_tstring *y, int64_t count,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
