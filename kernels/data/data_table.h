/*
 * data_table.h - macros for the rows of a dataset family's tables: the
 * definition of an op that makes a dataset, and its kernel.
 *
 * Threads: macros only.
 */
#ifndef TFD_KERNELS_DATA_DATA_TABLE_H
#define TFD_KERNELS_DATA_DATA_TABLE_H

#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/maker.h"

#define TFD_DATA_TYPES                \
    "output_types: list(type) >= 1; " \
    "output_shapes: list(shape) >= 1"
#define TFD_DATA_METADATA "; metadata: string = ''"

/* An op that makes a dataset: attrs_ come before output_types, more_ after
 * output_shapes. */
#define TFD_DATA_OP(name_, inputs_, attrs_, more_, flags_)                \
    {                                                                     \
        .name = (name_), .inputs = inputs_, .outputs = "handle: variant", \
        .attrs = attrs_ TFD_DATA_TYPES more_, .shape = tfd_shape_scalar,  \
        .flags = (flags_) | TFD_OP_NO_GRADIENT,                           \
    }

/* Its kernel, whose state is a maker: with no function, or that of "f". */
#define TFD_DATA_KERNEL(name_, compute_)                                  \
    TFD_KERNEL_ANY(name_, compute_, .prepare = tfd_dataset_prepare_plain, \
                   .release = tfd_dataset_maker_release,                  \
                   .state_size = sizeof(struct tfd_dataset_maker))
#define TFD_DATA_KERNEL_F(name_, compute_, prepare_)     \
    TFD_KERNEL_ANY(name_, compute_, .prepare = prepare_, \
                   .release = tfd_dataset_maker_release, \
                   .state_size = sizeof(struct tfd_dataset_maker))

#define TFD_DATA_FAMILY(id)                     \
    const struct tfd_family tfd_family_##id = { \
        .name = #id,                            \
        .ops = ops,                             \
        .op_count = TFD_COUNT(ops),             \
        .kernels = kernels,                     \
        .kernel_count = TFD_COUNT(kernels),     \
    }

#endif
