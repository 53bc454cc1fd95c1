/*
 * record_file.h - the records of a TFRecord file, one after the other.
 *
 *     record: [u64 length][u32 check of it][length bytes][u32 check of them]
 *
 * Checks are CRC-32C, masked as TensorFlow masks them.  As there, a file ends
 * where no whole length with its check follows; what else is cut is an error.
 *
 * Threads: one at a time; reading waits for the disk.
 */
#ifndef TFD_KERNELS_DATA_SOURCES_RECORD_FILE_H
#define TFD_KERNELS_DATA_SOURCES_RECORD_FILE_H

#include "kernels/data_sources/data_file.h"

struct tfd_record_file { /* all zero: not open */
    struct tfd_data_file file;
    enum tfd_data_compression compression;
    uint64_t offset; /* of the next record, in what is unpacked */
    struct tfd_bytes record;
};

enum tfd_code tfd_record_file_open(struct tfd_record_file *f,
                                   struct tfd_file_access *a,
                                   struct tfd_str name,
                                   enum tfd_data_compression compression,
                                   struct tfd_status *st) TFD_MUST_USE;
void tfd_record_file_close(struct tfd_record_file *f);
/* Leaves out what comes before `offset`. */
enum tfd_code tfd_record_file_skip_to(struct tfd_record_file *f,
                                      uint64_t offset,
                                      struct tfd_status *st) TFD_MUST_USE;
/* The bytes of the next one, the file's until the next call; *end: there is
 * none. */
enum tfd_code tfd_record_file_next(struct tfd_record_file *f,
                                   struct tfd_str *out, bool *end,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
