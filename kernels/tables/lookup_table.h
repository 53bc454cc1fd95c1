/*
 * lookup_table.h - lookup tables: the resource, and what its operations share.
 *
 * A static table is filled once, under its lock, and is only read from then on,
 * without a lock.  A mutable one is read and written under its lock.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_LOOKUP_TABLE_H
#define TFD_KERNELS_LOOKUP_TABLE_H

#include "common/thread/lock.h"
#include "kernels/data/anonymous.h"
#include "kernels/tables/table_dense.h"
#include "kernels/tables/table_store.h"

enum tfd_table_kind {
    TFD_TABLE_STATIC,
    TFD_TABLE_MUTABLE,
    TFD_TABLE_OF_TENSORS, /* mutable; its values have a shape */
    TFD_TABLE_DENSE,      /* mutable; its buckets are what is exported */
};

struct tfd_table_spec {
    enum tfd_table_kind kind;
    enum tfd_dtype key_dtype, value_dtype;
    struct tfd_shape value_shape; /* a scalar, or a vector */
};

struct tfd_table {
    struct tfd_resource resource;
    struct tfd_anonymous anonymous;
    struct tfd_lock lock;
    struct tfd_table_spec spec;
    int initialized; /* atomic; of a static one: nobody writes any more */
    struct tfd_table_store store;
    struct tfd_dense *dense; /* of the dense kind, instead of a store */
};

extern const struct tfd_resource_type tfd_table_type;

/* A tfd_resource_make_fn; arg is a struct tfd_table_spec. */
enum tfd_code tfd_table_make(void *arg, struct tfd_resource **out,
                             struct tfd_status *st) TFD_MUST_USE;

/* The same for a dense table; arg is a struct tfd_dense_spec. */
enum tfd_code tfd_table_make_dense(void *arg, struct tfd_resource **out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* The table that input 0 names, counted. */
enum tfd_code tfd_table_find(struct tfd_kctx *k, struct tfd_table **out,
                             struct tfd_status *st) TFD_MUST_USE;

/* A static table that nobody may write any more. */
bool tfd_table_ready(const struct tfd_table *t);

/* INVALID_ARGUMENT, by the names at input 0, for a mutable one. */
enum tfd_code tfd_table_check_static(struct tfd_kctx *k,
                                     const struct tfd_table *t,
                                     struct tfd_status *st) TFD_MUST_USE;

/* The types of the node's arguments are the table's: inputs behind the handle
 * are keys, then values; so are two outputs, and one is values.
 * INVALID_ARGUMENT "Signature mismatch, have: ... expected: ...". */
enum tfd_code tfd_table_check_types(const struct tfd_kctx *k,
                                    const struct tfd_table *t,
                                    struct tfd_status *st) TFD_MUST_USE;
/* The shape of the values of such keys. */
enum tfd_code tfd_table_values_shape(const struct tfd_table *t,
                                     const struct tfd_shape *keys,
                                     struct tfd_shape *out,
                                     struct tfd_status *st) TFD_MUST_USE;

/* Fills a static table, whose lock is held, with an entry.  FAILED_PRECONDITION
 * where the key has another value. */
enum tfd_code tfd_table_put_once(struct tfd_table *t, struct tfd_table_key key,
                                 const void *value,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Whether a static table that is filled may be given `total` entries again:
 * FAILED_PRECONDITION where it has another count of them, which is as far as
 * TensorFlow looks. */
enum tfd_code tfd_table_refill(const struct tfd_table *t, int64_t total,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
