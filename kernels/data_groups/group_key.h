/*
 * group_key.h - what groups of elements are found by: an int64 that a function
 * makes of an element.
 *
 * Threads: the iterator's.
 */
#ifndef TFD_KERNELS_DATA_GROUPS_GROUP_KEY_H
#define TFD_KERNELS_DATA_GROUPS_GROUP_KEY_H

#include "kernels/data/maker.h"

/* A function of the node: attribute, and the input argument that has what it
 * has captured. */
struct tfd_group_function {
    const char *attribute;
    int arg;
};

#define TFD_GROUP_FUNCTIONS_MAX 4

/* A kernel's state. */
struct tfd_group_maker {
    struct tfd_dataset_maker maker; /* first */
    struct tfd_rt_function *functions[TFD_GROUP_FUNCTIONS_MAX];
};

enum tfd_code tfd_group_prepare(const struct tfd_prepare *p,
                                const struct tfd_group_function *functions,
                                int count, void *state,
                                struct tfd_status *st) TFD_MUST_USE;
/* Function number i with what it has captured, for `elements` arguments. */
enum tfd_code tfd_group_capture(struct tfd_kctx *k, int i, int arg,
                                int32_t elements, struct tfd_dataset *d,
                                struct tfd_captured *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* Calls f, whose one result is a scalar of int64; the arguments are taken.
 * INVALID_ARGUMENT "`NAME` must return a scalar int64." */
enum tfd_code tfd_group_number(const struct tfd_captured *f,
                               struct tfd_data_scope *s,
                               struct tfd_tensor *args, const char *name,
                               int64_t *out,
                               struct tfd_status *st) TFD_MUST_USE;
/* A scalar of INT64. */
enum tfd_code tfd_group_key_tensor(int64_t key, struct tfd_tensor *out,
                                   struct tfd_status *st) TFD_MUST_USE;

/* ---- Keys in order ------------------------------------------------------- */

/* Things of `size` bytes that begin with their key, an int64. */
struct tfd_group_list {
    char *things;
    size_t size;
    int64_t count, capacity;
};

/* The thing of this key; a new one, zero but for the key, is made where there
 * is none and *is_new set.  NULL without memory. */
void *tfd_group_find(struct tfd_group_list *l, int64_t key, bool *is_new);
void *tfd_group_at(const struct tfd_group_list *l, int64_t i);
void tfd_group_remove(struct tfd_group_list *l, int64_t i);

#endif
