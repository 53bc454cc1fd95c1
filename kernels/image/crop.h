/*
 * crop.h - boxes of images, as CropAndResize and its gradients see them: what
 * arrives, checked, and where a row or column of a crop lies in its image.
 *
 * The corners of a box are fractions of the image's size less one.  Of pairs of
 * sizes the first is the height's.
 *
 * Threads: any; there is no state.
 */
#ifndef TFD_KERNELS_CROP_H
#define TFD_KERNELS_CROP_H

#include "kernels/core/kernel.h"

struct tfd_crop_state {
    float extrapolation;
    bool nearest;
};

struct tfd_crop {
    const struct tfd_crop_state *state;
    const void *image;
    const float *boxes, *dy;
    const int32_t *index;
    void *y;
    int64_t box_count, batch, depth;
    int64_t size[2], crop[2]; /* height, width */
};

struct tfd_crop_point {
    int64_t low, high;
    float lerp; /* from low to high */
};

/* Where `at` lies along an axis; false outside of the image, and where it is no
 * number. */
bool tfd_crop_point_of(const struct tfd_crop *j, float at, int axis,
                       struct tfd_crop_point *p);
/* The rows or columns of the crop of box b: one lies at first + i * step. */
struct tfd_crop_line {
    float first, step;
};
struct tfd_crop_line tfd_crop_line_of(const struct tfd_crop *j, int64_t b,
                                      int axis);
/* Where row or column i of the crop of box b lies. */
bool tfd_crop_locate(const struct tfd_crop *j, int64_t b, int axis, int64_t i,
                     struct tfd_crop_point *p);

/* INVALID_ARGUMENT unless t is an image with pixels; the words are those that
 * TensorFlow has for it. */
enum tfd_code tfd_crop_check_image(const struct tfd_tensor *t, const char *what,
                                   const char *dims,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Batch, size and depth are those of this shape. */
void tfd_crop_take_image(const struct tfd_shape *s, struct tfd_crop *j);
/* Inputs `first` and the next one are boxes, and the images they are of. */
enum tfd_code tfd_crop_read_boxes(const struct tfd_kctx *k, int first,
                                  struct tfd_crop *j,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_crop_check_finite(const struct tfd_crop *j,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Boxes are of images that there are. */
enum tfd_code tfd_crop_check_index(const struct tfd_crop *j,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Input 0 is the gradient of the crops; then, as many as boxes. */
enum tfd_code tfd_crop_take_grads(const struct tfd_kctx *k, struct tfd_crop *j,
                                  struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_crop_check_grads(const struct tfd_kctx *k,
                                   const struct tfd_crop *j,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
