/*
 * snapshot_files.h - names and metadata of saved datasets and of snapshots.
 *
 *     PATH/snapshot.metadata                        SnapshotMetadataRecord
 *     PATH/RUN/00000000.shard/00000000.snapshot     TFRecord: a TensorProto of
 *                                                   each component
 *
 * A run is one pass that has written; the metadata say which one counts.  PATH
 * is what a program has named, of a snapshot with the fingerprint of its input
 * behind it.
 *
 * Threads: any; all wait for the disk.
 */
#ifndef TFD_KERNELS_DATA_FILES_SNAPSHOT_FILES_H
#define TFD_KERNELS_DATA_FILES_SNAPSHOT_FILES_H

#include "kernels/data/dataset.h"
#include "kernels/data_sources/data_file.h"

#define TFD_SNAPSHOT_RUN_MAX 64 /* characters of a run's name, and NUL */
#define TFD_SNAPSHOT_VERSION 2

struct tfd_snapshot_metadata {
    char run[TFD_SNAPSHOT_RUN_MAX];
    int64_t version, element_count;
    int64_t created_us; /* since 1970; set by who writes them */
    bool finalized;
};

/* A run that no other has. */
void tfd_snapshot_run(char run[TFD_SNAPSHOT_RUN_MAX]);
/* "DIR/NAME"; or "DIRNAME" where a slash is there already. */
void tfd_snapshot_join(struct tfd_bytes *out, struct tfd_str dir,
                       const char *name);
/* The file of a shard's first and only chunk, or of another. */
void tfd_snapshot_chunk(struct tfd_bytes *out, struct tfd_str shard,
                        uint64_t chunk);
/* "", GZIP, ZLIB, SNAPPY; all others are none, as in TensorFlow. */
enum tfd_data_compression tfd_snapshot_compression(struct tfd_str name);

/* Makes the directory, too.  hash: of a snapshot; 0: none. */
enum tfd_code tfd_snapshot_write_metadata(struct tfd_file_access *a,
                                          struct tfd_str dir,
                                          const struct tfd_dataset *elements,
                                          uint64_t hash,
                                          const struct tfd_snapshot_metadata *m,
                                          struct tfd_status *st) TFD_MUST_USE;
/* *exists: there is a file; else *m is empty. */
enum tfd_code tfd_snapshot_read_metadata(struct tfd_file_access *a,
                                         struct tfd_str dir,
                                         struct tfd_snapshot_metadata *m,
                                         bool *exists,
                                         struct tfd_status *st) TFD_MUST_USE;

#endif
