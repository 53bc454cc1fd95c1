/*
 * conv_primitive.h - a convolution of one shape that oneDNN has compiled.
 *
 * x and y lie as in conv_gemm.h.  w lies as the compiled code wants it, packed;
 * tfd_conv_primitive_reorder() turns one into the other: for FORWARD and INPUT
 * what lies as in conv_gemm.h becomes packed, for FILTER what is packed becomes
 * as in conv_gemm.h.
 *
 * Threads: any; one primitive may run on several at once.  What needs memory
 * returns false or NULL without it.
 */
#ifndef TFD_KERNELS_CONV_PRIMITIVE_H
#define TFD_KERNELS_CONV_PRIMITIVE_H

#include "kernels/conv/conv_gemm.h"

enum tfd_conv_kind { TFD_CONV_FORWARD, TFD_CONV_INPUT, TFD_CONV_FILTER };

/* All that the code depends on; groups are 1.  Elements are FLOAT, or BFLOAT16
 * but for the plain w of FILTER, which is FLOAT.  No padding between members:
 * compared by bytes. */
struct tfd_conv_shape_key {
    int64_t kind, bfloat16, images, in_channels, out_channels;
    struct tfd_window_side plane, row, column; /* plane.size 0: an image */
};

struct tfd_conv_primitive;

/* NULL and refused: oneDNN has no faster code for this than products of
 * matrices, or it is out of the ordinary; it will be so the next time.  NULL
 * alone: no memory, or no oneDNN. */
struct tfd_conv_primitive *
tfd_conv_primitive_new(const struct tfd_conv_shape_key *key,
                       bool *refused) TFD_MUST_USE;
/* NULL is none. */
void tfd_conv_primitive_free(struct tfd_conv_primitive *p);

/* Bytes of a packed w. */
size_t tfd_conv_primitive_packed(const struct tfd_conv_primitive *p);
/* Whether both want w packed in the same way. */
bool tfd_conv_primitive_packs_alike(const struct tfd_conv_primitive *p,
                                    const struct tfd_conv_primitive *q);
bool tfd_conv_primitive_reorder(const struct tfd_conv_primitive *p,
                                const void *from, void *to) TFD_MUST_USE;
/* `times` times, with x and y moving on by key.images. */
bool tfd_conv_primitive_run(const struct tfd_conv_primitive *p, void *x,
                            void *packed, void *y, int64_t times) TFD_MUST_USE;

#endif
