/*
 * box.h - copies of boxes: elements that lie in two places by strides, as all
 * of Transpose, Slice, Pad, Tile, ConcatV2 and their kin are made of.
 *
 *     struct tfd_box box;
 *
 *     tfd_box_init(&box, sizeof(float));
 *     tfd_box_add(&box, rows, bytes to the next row there, and here);
 *     tfd_box_add(&box, columns, sizeof(float), sizeof(float));
 *     tfd_box_copy(k, &box, there, here);
 *
 * Dimensions are added from the outermost to the innermost, and join where
 * both places allow it.  What is left decides how the box is copied: as whole
 * runs; by special loops where runs are short; as the same element again and
 * again; by blocks that fit the first cache where both places have another
 * dimension innermost, which is a transpose; or an element at a time.
 *
 * Only numbers: bytes are moved and nobody's count is kept
 * (kernels/core/element.h knows the other types).
 *
 * Threads: any; large boxes are shared among the compute threads.
 */
#ifndef TFD_KERNELS_BOX_H
#define TFD_KERNELS_BOX_H

#include "kernels/core/runtime.h"

#define TFD_BOX_RANK_MAX (2 * TFD_RANK_MAX)

struct tfd_box {
    int rank;
    int64_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int64_t dim[TFD_BOX_RANK_MAX];
    /* Bytes from an element to the next; may be negative, or 0 in what is
     * read. */
    int64_t to[TFD_BOX_RANK_MAX], from[TFD_BOX_RANK_MAX];
};

void tfd_box_init(struct tfd_box *b, size_t size);
/* At most TFD_BOX_RANK_MAX times. */
void tfd_box_add(struct tfd_box *b, int64_t dim, int64_t to, int64_t from);

/* Copies it; the two places do not overlap.  Whoever is halted
 * (common/thread/halt.h) leaves elements out.  k is NULL: on this thread alone.
 */
void tfd_box_copy(struct tfd_kctx *k, const struct tfd_box *b, void *to,
                  const void *from);

#endif
