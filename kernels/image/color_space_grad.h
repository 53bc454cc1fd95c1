/*
 * color_space_grad.h - the gradient of RGBToHSV.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_COLOR_SPACE_GRAD_H
#define TFD_KERNELS_COLOR_SPACE_GRAD_H

#include "kernels/core/kernel.h"

enum tfd_code tfd_color_hsv_gradient(struct tfd_grad *g, struct tfd_status *st);

#endif
