/*
 * bundle_merge.h - makes one checkpoint of the parts that several tasks saved.
 *
 * Data files are renamed, not copied, and numbered in the order in which the
 * parts' entries first name them; entries get the new numbers; slices of one
 * tensor that lie in several parts are listed together.  The result has the
 * bytes TensorFlow's merge gives.  Parts' index files are removed at the end.
 *
 * When a step fails, data files already renamed get their old names back.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_BUNDLE_MERGE_H
#define TFD_KERNELS_BUNDLE_MERGE_H

#include "kernels/io/file.h"

/* allow_missing: parts that are not there are left out, unless all are. */
enum tfd_code tfd_bundle_merge(struct tfd_file_access *access,
                               const struct tfd_str *parts, size_t part_count,
                               struct tfd_str prefix, bool allow_missing,
                               struct tfd_status *st) TFD_MUST_USE;

/* Removes the parts' directories that are empty now and are not the prefix's
 * own; what cannot be removed stays. */
void tfd_bundle_merge_remove_dirs(struct tfd_file_access *access,
                                  const struct tfd_str *parts,
                                  size_t part_count, struct tfd_str prefix);

#endif
