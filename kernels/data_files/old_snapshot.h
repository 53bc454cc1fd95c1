/*
 * old_snapshot.h - runs of snapshots as TensorFlow first wrote them, with files
 * of whole elements (element_file.h):
 *
 *     DIR/snapshot.metadata            as of later ones (snapshot_files.h)
 *     DIR/RUN/00000000.snapshot        up to so many bytes, then the next one
 *     DIR/RUN/00000001.snapshot
 *
 * A run is written, and read, by the thread that wants its elements, where
 * TensorFlow has threads of its own; so elements come as they were.
 *
 * Ownership: the caller's structs; the dataset outlives them.
 * Threads: one at a time; all wait for the disk.
 */
#ifndef TFD_KERNELS_DATA_FILES_OLD_SNAPSHOT_H
#define TFD_KERNELS_DATA_FILES_OLD_SNAPSHOT_H

#include "kernels/data_files/element_file.h"
#include "kernels/data_files/snapshot_files.h"

/* "DIR/NAME" with one slash, whatever there is at their ends. */
void tfd_old_snapshot_join(struct tfd_bytes *out, struct tfd_str dir,
                           struct tfd_str name);

/* ---- Reading ------------------------------------------------------------- */

struct tfd_old_snapshot_reader { /* all zero: not open */
    const struct tfd_dataset *elements;
    enum tfd_data_compression compression;
    int64_t version;
    struct tfd_str prefix; /* of files' names; borrowed */
    struct tfd_bytes run_dir, names;
    struct tfd_str *sorted; /* within names */
    int count, next;
    struct tfd_element_file file;
    bool file_is_open;
    struct tfd_status failure; /* the first */
};

struct tfd_old_snapshot_order {
    bool shuffled;
    uint64_t seed; /* 0: another order each time */
};

/* NOT_FOUND when the directory has no files. */
enum tfd_code tfd_old_snapshot_open(struct tfd_old_snapshot_reader *r,
                                    const struct tfd_dataset *elements,
                                    struct tfd_str run_dir,
                                    const struct tfd_old_snapshot_order *order,
                                    struct tfd_status *st) TFD_MUST_USE;
/* After a failure it fails again. */
enum tfd_code tfd_old_snapshot_next(struct tfd_old_snapshot_reader *r,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st) TFD_MUST_USE;
void tfd_old_snapshot_close(struct tfd_old_snapshot_reader *r);

/* ---- Writing ------------------------------------------------------------- */

struct tfd_old_snapshot_writer { /* all zero: not begun */
    const struct tfd_dataset *elements;
    enum tfd_data_compression compression;
    uint64_t file_size_max;
    struct tfd_bytes run_dir;
    struct tfd_element_writer file;
    bool file_is_open;
    uint64_t next_file, bytes; /* bytes: of elements in the file */
    double ratio;              /* of bytes to the file's; 0: not known */
    struct tfd_status failure; /* the first; nothing is written behind it */
};

/* compression and file_size_max are set. */
enum tfd_code tfd_old_snapshot_begin(struct tfd_old_snapshot_writer *w,
                                     const struct tfd_dataset *elements,
                                     struct tfd_str run_dir,
                                     struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_old_snapshot_put(struct tfd_old_snapshot_writer *w,
                                   const struct tfd_tensor *element,
                                   struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_old_snapshot_finish(struct tfd_old_snapshot_writer *w,
                                      struct tfd_status *st) TFD_MUST_USE;
void tfd_old_snapshot_end(struct tfd_old_snapshot_writer *w);

#endif
