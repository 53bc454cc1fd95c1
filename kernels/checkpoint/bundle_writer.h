/*
 * bundle_writer.h - writes a checkpoint of format V2, a "tensor bundle":
 *
 *   PREFIX.data-00000-of-00001   tensors one after another as they are added:
 *       plain    elements row-major, little-endian
 *       strings  varint64 length of each, u32 masked CRC-32C of the lengths
 *                (as u32, or u64 from 2^32 on), the bytes of each.  The entry's
 *                sum goes over the lengths in that form, their stored sum, and
 *                the bytes.
 *   PREFIX.index                 a table (kernels/io/table.h): under "" the
 *                                header, under each name its entry
 *                                (kernels/checkpoint/checkpoint_proto.h)
 *
 * A slice has an entry of its own under a key made of name and slice; the name
 * itself has the whole shape and the list of slices.
 *
 * finish() works in this order:
 *
 *     1. both files are written under temporary names, and on their way to the
 *        disk at once
 *     2. both are on disk (fsync); until here an older checkpoint stays
 *     3. an older index is removed
 *     4. the data takes over its name
 *     5. the index takes over its name
 *     6. the directory is on disk (fsync)
 *
 * A checkpoint that was reported as written survives a power cut, by 2 and 6.
 * A part that waits to be merged (tfd_bundle_is_part) is none yet: 6 is left to
 * bundle_merge.h, which gives its files other names.
 * What 3, 4 and 5 change in the directory reaches the disk in that order: all
 * three with 6 where the directory is one block, each by an fsync of its own
 * where it is larger (order_dir of kernels/io/file.h).  So whoever finds an
 * index, after a power cut too, finds the data that belongs to it.  After a
 * failure from 3 on there is no index, though the older data may be left, and
 * never a temporary file.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_BUNDLE_WRITER_H
#define TFD_KERNELS_BUNDLE_WRITER_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/late_close.h"
#include "kernels/io/file_draft.h"
#include "kernels/checkpoint/tensor_slice.h"

struct tfd_bundle_writer {
    struct tfd_file_access *access;
    struct tfd_bytes prefix;
    struct tfd_file_draft data;
    struct tfd_bytes buffer; /* not yet written to data */
    uint64_t size;           /* of data, with the buffer */
    uint32_t crc;            /* of the tensor being written */
    struct tfd_bundle_index index;
    /* What finish() replaced, kept open; the caller may take them over, else
     * deinit() closes them. */
    struct tfd_file replaced[TFD_LATE_CLOSE_FILES];
};

/* Creates the directory when only the last part of its name is missing. */
enum tfd_code tfd_bundle_writer_open(struct tfd_bundle_writer *w,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix,
                                     struct tfd_status *st) TFD_MUST_USE;

enum tfd_code tfd_bundle_writer_add(struct tfd_bundle_writer *w,
                                    struct tfd_str name,
                                    const struct tfd_tensor *t,
                                    struct tfd_status *st) TFD_MUST_USE;
/* t is slice s of a tensor of shape `whole`. */
enum tfd_code tfd_bundle_writer_add_slice(struct tfd_bundle_writer *w,
                                          struct tfd_str name,
                                          const struct tfd_shape *whole,
                                          const struct tfd_tensor_slice *s,
                                          const struct tfd_tensor *t,
                                          struct tfd_status *st) TFD_MUST_USE;

enum tfd_code tfd_bundle_writer_finish(struct tfd_bundle_writer *w,
                                       struct tfd_status *st) TFD_MUST_USE;
/* Without finish(): leaves nothing behind. */
void tfd_bundle_writer_deinit(struct tfd_bundle_writer *w);

#endif
