/*
 * snapshot_reader.h - reads what snapshot_writer.h has written: a dataset of
 * datasets, one for each shard, goes through a function of the program, which
 * makes one dataset of them.
 *
 * Ownership: as datasets.  Threads: any.
 */
#ifndef TFD_KERNELS_DATA_FILES_SNAPSHOT_READER_H
#define TFD_KERNELS_DATA_FILES_SNAPSHOT_READER_H

#include "kernels/data/maker.h"
#include "kernels/data_files/snapshot_files.h"

struct tfd_snapshot_source {
    struct tfd_str dir;
    const char *run;
    int64_t version;
    enum tfd_data_compression compression;
};

/* A pass for `it`, whose dataset has the same elements; path: of who pulls. */
enum tfd_code tfd_snapshot_open(struct tfd_data_iterator *it,
                                const struct tfd_snapshot_source *from,
                                const struct tfd_captured *reader,
                                const char *path,
                                struct tfd_data_iterator **out,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
