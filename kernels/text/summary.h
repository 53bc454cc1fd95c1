/*
 * summary.h - what the summary families share: the bytes of a Summary, tags,
 * and the output made of them.
 *
 *     struct tfd_summary s;
 *     TFD_TRY(tfd_summary_begin(&s, k, st));
 *     mark = tfd_summary_value(&s, tag);
 *     ... fields of a Summary.Value into s.bytes ...
 *     tfd_pb_finish(&s.bytes, mark);
 *     return tfd_summary_end(&s, k, rc, st);
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_SUMMARY_H
#define TFD_KERNELS_SUMMARY_H

#include "common/base/pbio.h"
#include "kernels/core/kernel.h"

struct tfd_summary {
    struct tfd_bytes bytes;
};

void tfd_summary_begin(struct tfd_summary *s);
/* Opens a value with this tag; its fields follow. */
size_t tfd_summary_value(struct tfd_summary *s, struct tfd_str tag);
/* The same with a tag of TensorFlow's form for several of a kind: "tag/image"
 * when there can be only one, else "tag/image/3". */
size_t tfd_summary_value_of(struct tfd_summary *s, struct tfd_str tag,
                            const char *kind, int64_t index, int64_t max);
/* Makes output 0, a scalar string, of the bytes when rc is TFD_OK, and frees
 * them in any case.  Returns rc or the failure to make the output. */
enum tfd_code tfd_summary_end(struct tfd_summary *s, struct tfd_kctx *k,
                              enum tfd_code rc,
                              struct tfd_status *st) TFD_MUST_USE;

/* Input `in` as a scalar string; INVALID_ARGUMENT "<what> must be scalar". */
enum tfd_code tfd_summary_tag(const struct tfd_kctx *k, int in,
                              const char *what, struct tfd_str *out,
                              struct tfd_status *st) TFD_MUST_USE;

/* Whether these bytes can be a message of any kind. */
bool tfd_summary_is_message(struct tfd_str bytes);

/* Element i of a tensor of numbers. */
double tfd_summary_number(const struct tfd_tensor *t, int64_t i);

#endif
