/*
 * einsum_equation.h - equations of Einsum: which label each dimension has.
 *
 *     "...ij,...jk->...ik"      subscripts of one or two inputs, and the output
 *
 * A label is any character.  An ellipsis stands for the dimensions that labels
 * leave over; they are counted from the last one, so that those of two inputs
 * meet as in broadcasting.  Threads: any.
 */
#ifndef TFD_KERNELS_EINSUM_EQUATION_H
#define TFD_KERNELS_EINSUM_EQUATION_H

#include "common/base/tensor.h"

#define TFD_EINSUM_LABELS_MAX 32 /* of one input, or of the output */

struct tfd_einsum_side {
    char label[TFD_EINSUM_LABELS_MAX]; /* without the ellipsis */
    int count;
    int ellipsis; /* stands before this label; -1: there is none */
};

struct tfd_einsum_equation {
    struct tfd_einsum_side in[2], out;
    int in_count;
};

/* INVALID_ARGUMENT, in TensorFlow's words, for what is no equation of so many
 * inputs. */
enum tfd_code tfd_einsum_parse(struct tfd_str text, int in_count,
                               struct tfd_einsum_equation *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* Whether a side has the label. */
bool tfd_einsum_has(const struct tfd_einsum_side *s, char label);

#endif
