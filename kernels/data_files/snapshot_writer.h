/*
 * snapshot_writer.h - writes a pass of a dataset as a run of a saved dataset
 * (snapshot_files.h): its elements go into shards, by a function of the program
 * or all into one.
 *
 *     begin    run and metadata, which say that it is not complete
 *     put      an element, as often as there are
 *     finish   files appear; the metadata say that it is complete
 *
 * Ownership: the iterator it was begun for, and the function, outlive it.
 * Threads: the one that is in the scope (data_scope.h).
 */
#ifndef TFD_KERNELS_DATA_FILES_SNAPSHOT_WRITER_H
#define TFD_KERNELS_DATA_FILES_SNAPSHOT_WRITER_H

#include "kernels/data/maker.h"
#include "kernels/data_files/snapshot_files.h"

struct tfd_snapshot_shard;

struct tfd_snapshot_target {
    struct tfd_str dir;
    uint64_t hash; /* 0: none */
    enum tfd_data_compression compression;
    const struct tfd_captured *shard; /* of an element; NULL: all into `only` */
    int64_t only;
};

struct tfd_snapshot_writer { /* all zero: not begun */
    struct tfd_snapshot_target to;
    struct tfd_data_scope *scope;       /* borrowed */
    const struct tfd_dataset *elements; /* borrowed */
    struct tfd_snapshot_metadata metadata;
    struct tfd_bytes run_dir, record;
    struct tfd_snapshot_shard *shards;
    int shard_count;
    bool is_begun;
};

enum tfd_code tfd_snapshot_writer_begin(struct tfd_snapshot_writer *w,
                                        const struct tfd_snapshot_target *to,
                                        struct tfd_data_scope *scope,
                                        const struct tfd_dataset *elements,
                                        struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_snapshot_writer_put(struct tfd_snapshot_writer *w,
                                      const struct tfd_tensor *element,
                                      struct tfd_status *st) TFD_MUST_USE;
/* element_count: what the metadata say of it. */
enum tfd_code tfd_snapshot_writer_finish(struct tfd_snapshot_writer *w,
                                         int64_t element_count,
                                         struct tfd_status *st) TFD_MUST_USE;
/* Of a run that is not finished nothing but metadata stays. */
void tfd_snapshot_writer_deinit(struct tfd_snapshot_writer *w);

#endif
