/*
 * element_file.h - files of the first snapshots, with whole elements as
 * records.
 *
 *     record: [u64 size][size bytes]
 *
 *     plain, gzip        a SnapshotRecord: a TensorProto of each component
 *     Snappy, version 1  two records: a SnapshotTensorMetadata, and all bytes
 * of the components, compressed; TensorProtos for strings Snappy, version 0
 * SnapshotRecords in a file that is compressed
 *
 * Version 1 is written.  Gzip packs the file.  As in TensorFlow a file ends
 * where no whole record follows.
 *
 * Threads: one at a time; all wait for the disk.
 */
#ifndef TFD_KERNELS_DATA_FILES_ELEMENT_FILE_H
#define TFD_KERNELS_DATA_FILES_ELEMENT_FILE_H

#include "kernels/data/dataset.h"
#include "kernels/data_files/record_writer.h"

#define TFD_ELEMENT_FILE_VERSION 1

/* ---- Reading ------------------------------------------------------------- */

struct tfd_element_file { /* all zero: not open */
    struct tfd_data_file file;
    const struct tfd_dataset *elements; /* borrowed; whose types they have */
    bool is_split;                      /* each element is two records */
    struct tfd_bytes record, unpacked;
};

enum tfd_code tfd_element_file_open(struct tfd_element_file *f,
                                    const struct tfd_dataset *elements,
                                    struct tfd_str name,
                                    enum tfd_data_compression compression,
                                    int64_t version,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_element_file_close(struct tfd_element_file *f);
/* Into empty tensors; *end: there is none. */
enum tfd_code tfd_element_file_next(struct tfd_element_file *f,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st) TFD_MUST_USE;

/* ---- Writing ------------------------------------------------------------- */

struct tfd_element_writer { /* all zero: not open */
    struct tfd_record_writer writer;
    int32_t count; /* tensors of an element */
    bool is_split;
    uint64_t size; /* bytes of records so far */
    struct tfd_bytes record, bytes;
};

/* The file appears when it is finished. */
enum tfd_code tfd_element_writer_open(struct tfd_element_writer *w,
                                      const struct tfd_dataset *elements,
                                      struct tfd_str name,
                                      enum tfd_data_compression compression,
                                      struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_element_writer_put(struct tfd_element_writer *w,
                                     const struct tfd_tensor *element,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_element_writer_finish(struct tfd_element_writer *w,
                                        struct tfd_status *st) TFD_MUST_USE;
void tfd_element_writer_deinit(struct tfd_element_writer *w);

#endif
