/*
 * anonymous.h - a table of resources that have no owner but their handles, such
 * as the iterators of eager programs: the last handle frees the resource.
 *
 * A handle may be written as a string and read again.  For that the table knows
 * the resources by number; it holds no reference, and forgets a resource that
 * is freed.
 *
 * Threads: any.
 */
#ifndef TFD_KERNELS_DATA_ANONYMOUS_H
#define TFD_KERNELS_DATA_ANONYMOUS_H

#include "kernels/core/runtime.h"

struct tfd_anonymous { /* embedded in the resource; all zero: not in the table
                        */
    struct tfd_resource *resource;
    uint64_t number;
    struct tfd_anonymous *next, *previous;
};

/* Output `out` of k: a handle of the resource, which is taken, also on failure;
 * by the name "_N_WHAT". */
enum tfd_code tfd_anonymous_output(struct tfd_kctx *k, int out,
                                   const char *what, struct tfd_anonymous *a,
                                   struct tfd_resource *take,
                                   struct tfd_status *st) TFD_MUST_USE;
/* Output `out`: what an op that deletes it is given beside the handle. */
enum tfd_code tfd_anonymous_deleter(struct tfd_kctx *k, int out,
                                    struct tfd_status *st) TFD_MUST_USE;
/* When the resource is freed. */
void tfd_anonymous_forget(struct tfd_anonymous *a);
/* NULL when there is none of this number and type; counted.  Only handles of
 * the table have a number, as their hash code: names may look alike. */
struct tfd_resource *tfd_anonymous_find(const struct tfd_handle *h,
                                        const struct tfd_resource_type *type);

#endif
