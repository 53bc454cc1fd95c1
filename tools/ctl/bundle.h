/*
 * bundle.h - a checkpoint (a bundle, TensorFlow's format V2) that is looked at
 * tensor by tensor, in the order of their names, by the readers of
 * kernels/checkpoint.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_BUNDLE_H
#define TFD_TOOLS_CTL_BUNDLE_H

#include "tools/ctl/report.h"

#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/io/file_roots.h"

struct tfd_ctl_bundle {
    const char *prefix;
    struct tfd_file_roots files;
    bool has_files, is_open;
    struct tfd_bundle_reader reader;
    struct tfd_bundle_table names; /* stands at a tensor */
    int32_t shard_count;

    /* The tensor that next() has come to. */
    struct tfd_str name;
    struct tfd_bundle_entry entry;
    struct tfd_bytes slices, file;
};

/* UNREADABLE or, for an index that is damaged, NO after a line that names the
 * file.  Closed in every case. */
int tfd_ctl_bundle_open(struct tfd_ctl *c, const char *prefix,
                        struct tfd_ctl_bundle *b);
void tfd_ctl_bundle_close(struct tfd_ctl_bundle *b);

/* The next tensor; *more is false after the last.  A failure is damage of the
 * index, and names it. */
enum tfd_code tfd_ctl_bundle_next(struct tfd_ctl_bundle *b, bool *more,
                                  struct tfd_status *st) TFD_MUST_USE;

/* The value of a tensor, whose checksum was compared. */
enum tfd_code tfd_ctl_bundle_read(struct tfd_ctl_bundle *b, struct tfd_str name,
                                  struct tfd_tensor *out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* The file that has the bytes of the tensor that it stands at, or the index
 * where those are of several; without folders. */
const char *tfd_ctl_bundle_file(struct tfd_ctl_bundle *b);

/* {"name", "type", "shape", "bytes", "file", "slices"} of it. */
json_t *tfd_ctl_bundle_json(struct tfd_ctl_bundle *b);

#endif
