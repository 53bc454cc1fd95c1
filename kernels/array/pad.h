/*
 * pad.h - what the operations with a matrix of paddings share: how many
 * elements stand before and after the input in each dimension.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_PAD_H
#define TFD_KERNELS_PAD_H

#include "kernels/core/kernel.h"

struct tfd_pad {
    int64_t before[TFD_RANK_MAX], after[TFD_RANK_MAX];
};

/* How TensorFlow's ops tell their mistakes apart. */
struct tfd_pad_words {
    const char *paddings; /* "Paddings" or "paddings" */
    const char *comma;    /* between two paddings */
    const char *between;  /* two shapes */
};

/* Input 1, for input 0.  INVALID_ARGUMENT for another form, or below 0. */
enum tfd_code tfd_pad_paddings(const struct tfd_kctx *k,
                               const struct tfd_pad_words *words,
                               struct tfd_pad *p,
                               struct tfd_status *st) TFD_MUST_USE;
/* INVALID_ARGUMENT where a dimension or the whole is too large. */
enum tfd_code tfd_pad_shape_out(const struct tfd_shape *in,
                                const struct tfd_pad *p, struct tfd_shape *out,
                                struct tfd_status *st) TFD_MUST_USE;
/* Both, and makes output 0; *done: it is the input itself. */
enum tfd_code tfd_pad_begin(struct tfd_kctx *k, struct tfd_pad *p, bool *done,
                            struct tfd_status *st) TFD_MUST_USE;

/* Shape functions, of what adds the border and of what takes it off. */
enum tfd_code tfd_pad_infer(struct tfd_shape_ctx *s, struct tfd_status *st);
enum tfd_code tfd_pad_infer_back(struct tfd_shape_ctx *s,
                                 struct tfd_status *st);

#endif
