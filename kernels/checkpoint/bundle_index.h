/*
 * bundle_index.h - the entries of a bundle in memory, while it is written or
 * merged from several.
 *
 * Threads: one at a time.
 */
#ifndef TFD_KERNELS_BUNDLE_INDEX_H
#define TFD_KERNELS_BUNDLE_INDEX_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "kernels/checkpoint/checkpoint_proto.h"
#include "kernels/io/file_draft.h"

struct tfd_bundle_item {
    struct tfd_str key; /* in the arena */
    struct tfd_bundle_entry entry;
    struct tfd_bytes slices; /* what entry.slices shows once it is written */
};

struct tfd_bundle_index {
    struct tfd_arena keys;
    struct tfd_map by_key; /* to an item's number */
    struct tfd_bundle_item *items;
    size_t count, capacity;
};

void tfd_bundle_index_init(struct tfd_bundle_index *x);
void tfd_bundle_index_deinit(struct tfd_bundle_index *x);

/* NULL: there is none.  The pointer holds until the next add. */
struct tfd_bundle_item *tfd_bundle_index_find(struct tfd_bundle_index *x,
                                              struct tfd_str key);
/* A new item with an empty entry; the key is not there yet. */
enum tfd_code tfd_bundle_index_add(struct tfd_bundle_index *x,
                                   struct tfd_str key,
                                   struct tfd_bundle_item **item,
                                   struct tfd_status *st) TFD_MUST_USE;

/* Writes header and entries, sorted, as a draft of PREFIX.index, which is begun
 * and not sealed; then the order of the items is that of the keys and no more
 * can be found. */
enum tfd_code tfd_bundle_index_write(struct tfd_bundle_index *x,
                                     struct tfd_file_access *access,
                                     struct tfd_str prefix, int32_t num_shards,
                                     struct tfd_file_draft *draft,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Whether a checkpoint of this name only waits to be merged with others, as
 * TensorFlow's savers name such: CHECKPOINT_temp/part-00000-of-00002, and, in
 * TensorFlow 1, CHECKPOINT_temp_0123456789abcdef0123456789abcdef/part-...; its
 * directory need not be on the disk before the merge. */
bool tfd_bundle_is_part(struct tfd_str prefix);

/* "PREFIX.index", "PREFIX.data-00003-of-00010" appended to b. */
void tfd_bundle_index_name(struct tfd_bytes *b, struct tfd_str prefix);
void tfd_bundle_data_name(struct tfd_bytes *b, struct tfd_str prefix,
                          int32_t shard, int32_t num_shards);

/* Takes an older index of this prefix away, on disk before what follows, so
 * that it is never seen with newer data; OK when there is none. */
enum tfd_code tfd_bundle_index_retire(struct tfd_file_access *access,
                                      struct tfd_str prefix,
                                      struct tfd_status *st) TFD_MUST_USE;

/* Opens a draft of a file of a bundle; makes its directory when only the last
 * part of that name is missing. */
enum tfd_code tfd_bundle_draft_open(struct tfd_file_draft *draft,
                                    struct tfd_file_access *access,
                                    struct tfd_str name,
                                    struct tfd_status *st) TFD_MUST_USE;

#endif
