/*
 * table_dense.h - the buckets of a MutableDenseHashTable, as TensorFlow lays
 * them out, since a client saves and restores them as they lie:
 *
 *     keys     [ empty | 17 | deleted | 3 | empty ... ]   a row each
 *     values   [   0   | .. |   ..    | ..|   0   ... ]
 *
 * A key is a scalar or a vector.  Two keys stand for a bucket that is free and
 * for one that was freed.  A key's bucket is its hash (of integers the number
 * itself) modulo the number of buckets, a power of two; where that is taken,
 * the 1st, 3rd, 6th ... behind it.
 *
 * Ownership: owns its memory, which is that of tensors.
 * Threads: the table's lock is held, but for tfd_dense_new() and free().
 */
#ifndef TFD_KERNELS_TABLE_DENSE_H
#define TFD_KERNELS_TABLE_DENSE_H

#include "kernels/core/runtime.h"

struct tfd_dense {
    enum tfd_dtype key_dtype, value_dtype;
    struct tfd_shape key_shape, value_shape; /* scalars or vectors */
    int64_t key_size, value_size;            /* their elements */
    struct tfd_tensor empty, deleted;
    float max_load_factor;
    int64_t count;   /* entries */
    int64_t buckets; /* rows of the next two */
    struct tfd_tensor keys, values;
};

struct tfd_dense_spec {
    enum tfd_dtype key_dtype, value_dtype;
    struct tfd_shape value_shape;
    const struct tfd_tensor *empty, *deleted;
    int64_t buckets;
    float max_load_factor;
};

/* INVALID_ARGUMENT in TensorFlow's words for what no table can be made of. */
enum tfd_code tfd_dense_new(const struct tfd_dense_spec *spec,
                            struct tfd_dense **out,
                            struct tfd_status *st) TFD_MUST_USE;
void tfd_dense_free(struct tfd_dense *d); /* NULL is nothing */

/* What LookupTableFind and its kin do, whose types were checked, to the table
 * of input 0. */
enum tfd_code tfd_dense_find(struct tfd_dense *d, struct tfd_kctx *k,
                             struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dense_insert(struct tfd_dense *d, struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dense_erase(struct tfd_dense *d, struct tfd_kctx *k,
                              struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dense_import(struct tfd_dense *d, struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_dense_export(struct tfd_dense *d, struct tfd_kctx *k,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
