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

#include "config/limits.h"
#include "kernels/data/dataset.h"
#include "kernels/data_sources/data_file.h"

#define TFD_SNAPSHOT_RUN_MAX 64 /* characters of a run's name, and NUL */
#define TFD_SNAPSHOT_VERSION 2
/* Of files that are read: this one, or one before it. */
enum tfd_code tfd_snapshot_check_version(int64_t version,
                                         struct tfd_status *st) TFD_MUST_USE;

struct tfd_snapshot_metadata {
    char run[TFD_SNAPSHOT_RUN_MAX];
    char hash[24]; /* of what was saved, as text; "": none; not read */
    int64_t version, element_count;
    int64_t created_us; /* since 1970; set by who writes them */
    bool finalized;
    int64_t type_count; /* of the components; when it is written, those of the
                         * elements; of many the first are there */
    int32_t types[TFD_SNAPSHOT_TYPES_MAX];
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

/* UNIMPLEMENTED for what cannot be saved: handles, and variants that stay in
 * their task. */
enum tfd_code tfd_snapshot_check_kept(const struct tfd_tensor *t,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Makes the directory, too. */
enum tfd_code tfd_snapshot_write_metadata(struct tfd_file_access *a,
                                          struct tfd_str dir,
                                          const struct tfd_dataset *elements,
                                          const struct tfd_snapshot_metadata *m,
                                          struct tfd_status *st) TFD_MUST_USE;
/* *exists: there is a file; else *m is empty. */
enum tfd_code tfd_snapshot_read_metadata(struct tfd_file_access *a,
                                         struct tfd_str dir,
                                         struct tfd_snapshot_metadata *m,
                                         bool *exists,
                                         struct tfd_status *st) TFD_MUST_USE;

/* The same for an iterator of a snapshot.  An error that would be an iterator's
 * end is INTERNAL, in TensorFlow's words. */
enum tfd_code tfd_snapshot_metadata_of(const struct tfd_data_iterator *it,
                                       struct tfd_str dir,
                                       struct tfd_snapshot_metadata *m,
                                       bool *exists,
                                       struct tfd_status *st) TFD_MUST_USE;
/* The path of an iterator within it, as TensorFlow names that: its own with
 * `name` behind it.  free() frees; NULL without memory. */
char *tfd_snapshot_path(const struct tfd_data_iterator *it, const char *name,
                        struct tfd_status *st);

#endif
