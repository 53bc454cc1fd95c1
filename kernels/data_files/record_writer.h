/*
 * record_writer.h - writes a TFRecord file
 * (kernels/data_sources/record_file.h says what one is), which appears when it
 * is whole; as it is, or compressed.
 *
 * Threads: one at a time; writing waits for the disk.
 */
#ifndef TFD_KERNELS_DATA_FILES_RECORD_WRITER_H
#define TFD_KERNELS_DATA_FILES_RECORD_WRITER_H

#include "kernels/data_sources/data_file.h"
#include "kernels/io/file_draft.h"

struct tfd_record_packing; /* what is being compressed */

struct tfd_record_writer { /* all zero: not open */
    struct tfd_file_draft draft;
    bool is_open;
    struct tfd_record_packing *packing; /* NULL: plain */
};

/* After a failure nothing has to be released. */
enum tfd_code tfd_record_writer_open(struct tfd_record_writer *w,
                                     struct tfd_file_access *a,
                                     struct tfd_str name,
                                     enum tfd_data_compression compression,
                                     struct tfd_status *st) TFD_MUST_USE;
/* RESOURCE_EXHAUSTED beyond TFD_DATA_RECORD_SIZE_MAX. */
enum tfd_code tfd_record_writer_put(struct tfd_record_writer *w,
                                    struct tfd_str record,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The same with nothing but its size before it (element_file.h). */
enum tfd_code tfd_record_writer_put_bare(struct tfd_record_writer *w,
                                         struct tfd_str record,
                                         struct tfd_status *st) TFD_MUST_USE;
/* The file is there from now on. */
enum tfd_code tfd_record_writer_finish(struct tfd_record_writer *w,
                                       struct tfd_status *st) TFD_MUST_USE;
/* What is not finished is gone. */
void tfd_record_writer_deinit(struct tfd_record_writer *w);

#endif
