/*
 * image.h - tensors as loops over images want them.
 *
 * Such loops have channels last and compute in float where the type is half or
 * bfloat16.  A kernel lists its operands and results; beginning makes a `work`
 * tensor of each, which is the tensor itself where that has the right form, and
 * ending stores the results and lets go of all:
 *
 *     struct tfd_image o[] = {tfd_image_operand(&k->in[0], second),
 *                             tfd_image_result(0, second)};
 *     enum tfd_code rc = tfd_image_begin(k, o, 2, st);
 *
 *     if (rc == TFD_OK)
 *         ... o[0].work -> o[1].work ...
 *     return tfd_image_end(k, o, 2, rc, st);
 *
 * The output has been made (tfd_kctx_output) before.  RESOURCE_EXHAUSTED when
 * there is no memory.  Threads: any.
 */
#ifndef TFD_KERNELS_IMAGE_H
#define TFD_KERNELS_IMAGE_H

#include "kernels/core/kernel.h"

struct tfd_image {
    const struct tfd_tensor *from; /* NULL: a result */
    int out;                       /* of a result */
    bool second;                   /* channels are the second dimension */
    struct tfd_tensor work;
};

struct tfd_image tfd_image_operand(const struct tfd_tensor *from, bool second);
struct tfd_image tfd_image_result(int out, bool second);

enum tfd_code tfd_image_begin(struct tfd_kctx *k, struct tfd_image *o, int n,
                              struct tfd_status *st) TFD_MUST_USE;
/* Whether one of them has no elements. */
bool tfd_image_empty(const struct tfd_image *o, int n);
/* Zeros in the results. */
void tfd_image_zero(const struct tfd_image *o, int n);
/* rc: how the work went; results are stored only when it is TFD_OK. */
enum tfd_code tfd_image_end(struct tfd_kctx *k, struct tfd_image *o, int n,
                            enum tfd_code rc, struct tfd_status *st);

#endif
