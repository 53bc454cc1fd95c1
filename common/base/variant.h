/*
 * variant.h - what an element of a VARIANT tensor points to: a list of tensors,
 * tensors that may be missing, one tensor, a compressed element, tensors that
 * are parts of one thing, or an object of some kernels'.
 *
 *     LIST       TensorFlow's TensorList: elements of one type, of shapes that
 *                agree with `element_shape`; an empty slot has dtype INVALID
 *     OPTIONAL   any tensors, or nothing
 *     MAP        TensorFlow's TensorMap: pairs of a key and its value, each in
 *                the first free slot of a hash table from its place on, so
 *                tensors[2 i] and tensors[2 i + 1] are slot i's; a free slot's
 *                have dtype INVALID
 *     TENSOR     one tensor: a part of a sparse one on its way through a
 *                dataset
 *     RAGGED     the splits of a ragged tensor, outer ones first, and its
 *                values
 *     COMPRESSED an element of a dataset, compressed: a scalar string, the
 *                bytes of a CompressedElement message
 *     COMPOSITE  tensors of which a Python object is made: first a scalar
 * string, the bytes of a CompositeTensorVariantMetadata message CSR        a
 * sparse matrix, or a batch of them: dimensions, where batches begin, where
 * rows begin, columns, values (kernels/csr/csr.h) OBJECT     a counted object
 * that only its kernels know, a dataset; it does not leave the task
 *
 * A variant is written only by who holds the one reference to it; others copy
 * it first (its tensors are shared, not their bytes).  Variants in variants are
 * at most TFD_VARIANT_DEPTH_MAX deep, so freeing and adding them may recurse.
 *
 * Threads: counted; otherwise as tensors.
 */
#ifndef TFD_COMMON_VARIANT_H
#define TFD_COMMON_VARIANT_H

#include "common/base/tensor.h"
#include "common/proto/tensor_proto.h"
#include "common/thread/lock.h"

struct tfd_variant_object;

enum tfd_variant_kind {
    TFD_VARIANT_LIST,
    TFD_VARIANT_OPTIONAL,
    TFD_VARIANT_MAP,
    TFD_VARIANT_TENSOR,
    TFD_VARIANT_RAGGED,
    TFD_VARIANT_COMPRESSED,
    TFD_VARIANT_COMPOSITE,
    TFD_VARIANT_CSR,
    TFD_VARIANT_OBJECT,
};

struct tfd_variant_object_type {
    const char *name;                           /* "Dataset": for messages */
    void (*free)(struct tfd_variant_object *o); /* no lock is held */
};

/* First member of what an OBJECT refers to. */
struct tfd_variant_object {
    int refs;  /* atomic */
    int depth; /* as a variant's: variants behind it, one within the other */
    const struct tfd_variant_object_type *type;
    struct tfd_deferred end; /* it is freed when no lock is held */
};

struct tfd_variant {
    int refs;  /* atomic */
    int depth; /* 1: holds no other variants */
    enum tfd_variant_kind kind;
    enum tfd_dtype dtype;           /* LIST: of elements */
    struct tfd_shape element_shape; /* LIST: may be partial */
    int32_t max_elements;           /* LIST: -1: any number */
    bool has_value;                 /* OPTIONAL */
    int32_t pairs;                  /* MAP */
    struct tfd_variant_object *object;
    struct tfd_tensor *tensors;
    int32_t count, capacity;
    int32_t used; /* tensors[used] and on are empty and were never touched: a
                   * list of millions takes no time to make */
};

struct tfd_variant *tfd_variant_new(enum tfd_variant_kind kind,
                                    struct tfd_status *st);
struct tfd_variant *tfd_variant_ref(struct tfd_variant *v);
void tfd_variant_unref(struct tfd_variant *v); /* NULL is nothing */
bool tfd_variant_sole(const struct tfd_variant *v);
/* The same tensors in a variant of its own. */
struct tfd_variant *tfd_variant_copy(const struct tfd_variant *v,
                                     struct tfd_status *st);
/* Counts with empty slots at the end, or drops what is beyond. */
enum tfd_code tfd_variant_resize(struct tfd_variant *v, int64_t count,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Slot i becomes this tensor, which is taken; at `count`, one more. */
enum tfd_code tfd_variant_set(struct tfd_variant *v, int32_t i,
                              struct tfd_tensor *take,
                              struct tfd_status *st) TFD_MUST_USE;

/* A new variant of this kind that holds these tensors, which stay the caller's.
 */
enum tfd_code tfd_variant_holding(enum tfd_variant_kind kind,
                                  const struct tfd_tensor *tensors,
                                  int32_t count, struct tfd_variant **out,
                                  struct tfd_status *st) TFD_MUST_USE;

/* A MAP: the key's index in tensors[], its value's is one more; -1 where there
 * is none.  Keys are the same when type, shape and bytes are. */
int32_t tfd_variant_map_find(const struct tfd_variant *v,
                             const struct tfd_tensor *key);
/* The key, plain bytes or strings in host memory, has this value from now on.
 * The value is taken; INVALID_ARGUMENT for a key of another type. */
enum tfd_code tfd_variant_map_put(struct tfd_variant *v,
                                  const struct tfd_tensor *key,
                                  struct tfd_tensor *take_value,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The pair whose key tfd_variant_map_find() found goes. */
void tfd_variant_map_remove(struct tfd_variant *v, int32_t at);

/* The variant in a scalar VARIANT tensor; NULL when it is something else. */
struct tfd_variant *tfd_variant_of(const struct tfd_tensor *t);
/* A scalar of it. */
enum tfd_code tfd_variant_tensor(struct tfd_variant *take,
                                 struct tfd_tensor *out,
                                 struct tfd_status *st) TFD_MUST_USE;

struct tfd_variant_object *tfd_variant_object_ref(struct tfd_variant_object *o);
void tfd_variant_object_unref(struct tfd_variant_object *o); /* NULL: nothing */
/* A scalar of it.  The object's reference is taken, also on failure. */
enum tfd_code tfd_variant_object_tensor(struct tfd_variant_object *take,
                                        struct tfd_tensor *out,
                                        struct tfd_status *st) TFD_MUST_USE;
/* The object in a scalar; NULL when it is something else. */
struct tfd_variant_object *
tfd_variant_object_of(const struct tfd_tensor *t,
                      const struct tfd_variant_object_type *type);
/* The deepest of the variants in t; 0: none. */
int tfd_variant_depth(const struct tfd_tensor *t);

/* VariantTensorDataProto (variant_proto.c).  Lists of lists do not travel. */
void tfd_variant_encode(struct tfd_bytes *b, const struct tfd_variant *v,
                        tfd_handle_encode_fn *handle);
enum tfd_code tfd_variant_decode(struct tfd_str proto,
                                 tfd_handle_decode_fn *handle,
                                 struct tfd_variant **out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
