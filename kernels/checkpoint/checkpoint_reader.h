/*
 * checkpoint_reader.h - a checkpoint of either format, as RestoreV2 accepts
 * them: V2 when PREFIX.index is there, else the file PREFIX as V1.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_CHECKPOINT_READER_H
#define TFD_KERNELS_CHECKPOINT_READER_H

#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/slices_reader.h"

struct tfd_checkpoint_reader {
    bool v1;
    union {
        struct tfd_bundle_reader bundle;
        struct tfd_slices_reader slices;
    } u;
};

/* On failure nothing has to be released. */
enum tfd_code tfd_checkpoint_reader_open(struct tfd_checkpoint_reader *r,
                                         struct tfd_file_access *access,
                                         struct tfd_str prefix,
                                         struct tfd_status *st) TFD_MUST_USE;
void tfd_checkpoint_reader_close(struct tfd_checkpoint_reader *r);

/* Type and whole shape of a tensor. */
enum tfd_code tfd_checkpoint_reader_find(struct tfd_checkpoint_reader *r,
                                         struct tfd_str name,
                                         enum tfd_dtype *dtype,
                                         struct tfd_shape *shape,
                                         struct tfd_status *st) TFD_MUST_USE;

/* What RestoreV2 gives for a name and its shape_and_slice ("": all of it), when
 * the tensor has this type.  *out has one reference. */
enum tfd_code tfd_checkpoint_reader_restore(struct tfd_checkpoint_reader *r,
                                            struct tfd_str name,
                                            struct tfd_str shape_and_slice,
                                            enum tfd_dtype dtype,
                                            struct tfd_tensor *out,
                                            struct tfd_status *st) TFD_MUST_USE;

#endif
