/*
 * shapes.h - shape functions of tf.data's ops.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_SHAPES_H
#define TFD_KERNELS_DATA_SHAPES_H

#include "kernels/core/kernel.h"

/* Outputs as the attribute output_shapes has it; unknown where it is empty. */
enum tfd_code tfd_data_shape_components(struct tfd_shape_ctx *s,
                                        struct tfd_status *st);

#endif
