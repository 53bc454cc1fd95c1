/*
 * checkpoint_proto.h - the messages inside checkpoints that both formats share,
 * and the index entries of the second.
 *
 * Fields are those of common/proto/bundle.proto.  An entry's crc32c is masked;
 * a sliced tensor's entry has slices and no bytes of its own.
 *
 * Fields that are zero are left out.  Readers check what they read: an entry
 * they return has a type we know, a legal shape and no negative number.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_CHECKPOINT_PROTO_H
#define TFD_KERNELS_CHECKPOINT_PROTO_H

#include "common/base/pbio.h"
#include "common/base/tensor.h"

/* Version of both formats that we write and the newest we read. */
#define TFD_CHECKPOINT_VERSION 1

/* As field `tag`. */
void tfd_checkpoint_put_shape(struct tfd_bytes *b, uint32_t tag,
                              const struct tfd_shape *shape);
/* Of a tensor that is stored whole: may be long (common/base/shape_long.h). */
enum tfd_code tfd_checkpoint_take_any_shape(struct tfd_str proto,
                                            struct tfd_shape *shape,
                                            struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_checkpoint_take_shape(struct tfd_str proto,
                                        struct tfd_shape *shape,
                                        struct tfd_status *st) TFD_MUST_USE;

void tfd_checkpoint_put_version(struct tfd_bytes *b, uint32_t tag);
/* Fails when a newer TensorFlow wrote it for newer readers only. */
enum tfd_code tfd_checkpoint_check_version(struct tfd_str proto,
                                           struct tfd_status *st) TFD_MUST_USE;

struct tfd_bundle_header {
    int32_t num_shards;
    bool big_endian;
    struct tfd_str version; /* inside the message; "" when it has none */
};

void tfd_bundle_header_put(struct tfd_bytes *b, int32_t num_shards);
enum tfd_code tfd_bundle_header_take(struct tfd_str proto,
                                     struct tfd_bundle_header *h,
                                     struct tfd_status *st) TFD_MUST_USE;

struct tfd_bundle_entry {
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    int32_t shard_id;
    uint64_t offset, size;
    uint32_t crc32c; /* masked */
    /* Field 7 with its head, once for each slice: of the message that was
     * taken, or of the buffer the writer keeps. */
    struct tfd_str slices;
};

void tfd_bundle_entry_put(struct tfd_bytes *b,
                          const struct tfd_bundle_entry *e);
/* slices, when not NULL, receives the slices' fields and must live as long as
 * the entry; else the entry has none. */
enum tfd_code tfd_bundle_entry_take(struct tfd_str proto,
                                    struct tfd_bundle_entry *e,
                                    struct tfd_bytes *slices,
                                    struct tfd_status *st) TFD_MUST_USE;

/* One slice's proto as a field of an entry. */
void tfd_bundle_entry_slices_put(struct tfd_bytes *slices,
                                 struct tfd_str proto);
/* Takes slices one by one, false at the end. */
bool tfd_bundle_entry_slices_next(struct tfd_str *slices,
                                  struct tfd_str *proto);

#endif
