/*
 * base64_text.h - bytes as text in base64 with the letters for names of files
 * and addresses (RFC 4648, section 5): '-' and '_' for 62 and 63.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_PARSE_BASE64_TEXT_H
#define TFD_KERNELS_PARSE_BASE64_TEXT_H

#include "common/base/str.h"

/* pad: '=' to a length of fours. */
void tfd_base64_encode(struct tfd_bytes *out, struct tfd_str bytes, bool pad);
/* Padded or not; bits behind the last byte may be anything.  both: '+' and '/'
 * (RFC 4648, section 4) are letters as well. */
enum tfd_code tfd_base64_decode(struct tfd_bytes *out, struct tfd_str text,
                                bool both, struct tfd_status *st) TFD_MUST_USE;

#endif
