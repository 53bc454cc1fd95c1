/*
 * staging.h - areas in which tuples of tensors wait to be fetched: those of
 * Stage, in the order in which they came, and those of MapStage, by key.
 *
 *     put    waits while the area has its capacity of tuples or of bytes
 *     get    waits until there is what it wants
 *
 * Who waits stands in a line.  Whatever changes the area lets all of those try
 * again, in their order, and finishes those that are through without the lock.
 *
 * Ownership: an area is a counted resource; who waits holds a reference.
 * Threads: any; functions on an area that say so need its lock.
 */
#ifndef TFD_KERNELS_STAGING_H
#define TFD_KERNELS_STAGING_H

#include "kernels/core/owner.h"

/* A tuple.  A part that was taken, or has not come yet, is empty. */
struct tfd_staged {
    int64_t key;
    int64_t bytes;   /* as TensorFlow counts them */
    int64_t charged; /* of them to the area so far */
    int count, held; /* parts; of them there */
    struct tfd_tensor part[];
};

/* In the order of their keys, or in which they came. */
struct tfd_shelf {
    struct tfd_staged **rows; /* from head on */
    int64_t head, count, room;
};

struct tfd_area {
    struct tfd_resource resource;
    struct tfd_lock lock;
    int64_t capacity, bytes_max; /* 0: as many as there are */
    int parts;                   /* of a tuple */
    struct tfd_shelf complete, incomplete;
    int64_t bytes;
    struct tfd_staging *first, *last; /* who waits */
};

/* What a kernel wants of an area. */
struct tfd_staging {
    struct tfd_staging *next, *previous; /* in the line */
    struct tfd_cancel cancel;
    struct tfd_area *area;
    struct tfd_kctx *k;
    /* Tries, locked: false, it has to wait.  The outputs of k are set, or st
     * says why not. */
    bool (*serve)(struct tfd_area *a, struct tfd_staging *s);
    /* To put, or was taken; owned.  Freed without the lock: with the last
     * handle of another resource that one goes, and takes locks of its own. */
    struct tfd_staged *row;
    int64_t key;
    bool waiting;
    struct tfd_status st;
};

/* ---- Areas --------------------------------------------------------------- */

/* State of all kernels: first a tfd_owner. */
struct tfd_stager {
    struct tfd_owner owner;
    int64_t capacity, bytes_max;
    int parts;
};
enum tfd_code tfd_stager_prepare(struct tfd_stager *m,
                                 const struct tfd_prepare *p,
                                 const struct tfd_resource_type *type,
                                 struct tfd_status *st) TFD_MUST_USE;
void tfd_stager_release(void *state);

/* Frees an area: for a struct tfd_resource_type. */
void tfd_area_free(struct tfd_resource *r);
/* That of the node, counted; made where there is none. */
enum tfd_code tfd_area_find(struct tfd_kctx *k, struct tfd_area **out,
                            struct tfd_status *st) TFD_MUST_USE;
/* The same for an asynchronous kernel; NULL: k is finished. */
struct tfd_area *tfd_area_of(struct tfd_kctx *k);
/* Begins; k is finished sooner or later, and area and row let go of. */
void tfd_area_begin(struct tfd_area *take_area, struct tfd_kctx *k,
                    bool (*serve)(struct tfd_area *a, struct tfd_staging *s),
                    struct tfd_staged *take_row, int64_t key);
/* Finishes k, and lets go of the area. */
void tfd_area_end(struct tfd_area *take_area, struct tfd_kctx *k,
                  const struct tfd_status *st);
/* compute() of the ops Clear and Size. */
tfd_compute_fn tfd_area_compute_clear, tfd_area_compute_size;

/* ---- Tuples -------------------------------------------------------------- */

/* Empty. */
struct tfd_staged *tfd_staged_new(int count, struct tfd_status *st);
void tfd_staged_free(struct tfd_staged *row); /* NULL is allowed */
/* The inputs of k from `first` on. */
struct tfd_staged *tfd_staged_of(const struct tfd_kctx *k, int first,
                                 struct tfd_status *st);
int64_t tfd_staged_bytes(const struct tfd_tensor *t);

/* Locked. */
struct tfd_staged *tfd_shelf_at(const struct tfd_shelf *s, int64_t index);
/* Where the key is, or would be. */
int64_t tfd_shelf_find(const struct tfd_shelf *s, int64_t key, bool *found);
bool tfd_shelf_insert(struct tfd_shelf *s, int64_t at, struct tfd_staged *row);
struct tfd_staged *tfd_shelf_remove(struct tfd_shelf *s, int64_t at);

/* Locked.  There is no room for the row yet. */
bool tfd_area_is_full(const struct tfd_area *a, const struct tfd_staged *row);
enum tfd_code tfd_area_check_bytes(const struct tfd_area *a, int64_t bytes,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Output `out` is t, which is of its type. */
enum tfd_code tfd_staged_give(struct tfd_kctx *k, int out,
                              const struct tfd_tensor *t,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
