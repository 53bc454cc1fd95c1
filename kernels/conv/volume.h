/*
 * volume.h - windows that move over volumes: convolutions and pools in three
 * dimensions, and patches of volumes.
 *
 * A volume tensor has five dimensions, [batch, planes, rows, columns, channels]
 * (NDHWC) or [batch, channels, planes, rows, columns] (NCDHW).  Attributes that
 * hold a number per dimension have them in the tensor's order; struct
 * tfd_volume has them by meaning.  Sizes and paddings are those of window.h,
 * whose sides serve here, too.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_VOLUME_H
#define TFD_KERNELS_VOLUME_H

#include "kernels/conv/window.h"

enum tfd_volume_dim {
    TFD_VOLUME_BATCH,
    TFD_VOLUME_PLANE,
    TFD_VOLUME_ROW,
    TFD_VOLUME_COLUMN,
    TFD_VOLUME_CHANNEL,
    TFD_VOLUME_DIMS
};

struct tfd_volume {
    enum tfd_window_padding padding;   /* VALID or SAME */
    bool channels_second;              /* NCDHW */
    int64_t stride[TFD_VOLUME_DIMS];   /* > 0, as the others */
    int64_t dilation[TFD_VOLUME_DIMS]; /* 1 where there is no such attribute */
    int64_t size[TFD_VOLUME_DIMS];     /* of a pool's window */
};

/* An attribute with a number for each dimension, in a failure's words. */
struct tfd_volume_attr {
    const char *name;
    const char *words; /* of a wrong count: "... must specify 5 dimensions" */
    const char *small; /* of a number below 1, which is put behind it */
};

/* The padding and the layout, as far as the node has them; numbers are 1. */
enum tfd_code tfd_volume_read(const struct tfd_node *n, struct tfd_volume *v,
                              struct tfd_status *st) TFD_MUST_USE;
/* Five numbers of an attribute, by meaning.  INVALID_ARGUMENT for others. */
enum tfd_code tfd_volume_numbers(const struct tfd_node *n,
                                 const struct tfd_volume_attr *attr,
                                 const struct tfd_volume *v, int64_t *out,
                                 struct tfd_status *st) TFD_MUST_USE;

/* Where a dimension is in a tensor's shape. */
int tfd_volume_at(const struct tfd_volume *v, enum tfd_volume_dim d);

/* INVALID_ARGUMENT when no window fits. */
enum tfd_code tfd_volume_side(const struct tfd_volume *v, enum tfd_volume_dim d,
                              int64_t in, int64_t size,
                              struct tfd_window_side *side,
                              struct tfd_status *st) TFD_MUST_USE;
/* The same for shape functions: unknown in, unknown out. */
enum tfd_code tfd_volume_out(const struct tfd_volume *v, enum tfd_volume_dim d,
                             int64_t in, int64_t size, int64_t *out,
                             struct tfd_status *st) TFD_MUST_USE;

/* Five dimensions that are not known. */
struct tfd_shape tfd_volume_unknown(void);

#endif
