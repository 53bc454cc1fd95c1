/*
 * resource_facts.h - resources as a page shows them: what kind each is, its
 * type and shape, how large it is, how many elements it has and who waits.
 *
 * A kind is described by a row of the table in resource_facts.c, which looks at
 * it under its lock for a moment, and copies nothing of its values.  It waits
 * for no kernel: of a table that is filled, or an accumulator that is added to
 * at this moment, sizes are not known.  A kind without a row is told by its
 * name alone.
 *
 * Ownership: facts are a copy.  Threads: any.
 */
#ifndef TFD_DAEMON_WORKER_RESOURCE_FACTS_H
#define TFD_DAEMON_WORKER_RESOURCE_FACTS_H

#include "common/base/tensor.h"
#include "common/resource/resource.h"

struct tfd_resource_facts {
    const char *kind; /* "variable", "queue", ...; a literal */
    enum tfd_dtype dtype;
    struct tfd_shape shape;
    bool has_shape;
    int64_t bytes;    /* -1: not known, as for all that follow */
    int64_t count;    /* elements, entries, gradients */
    int64_t capacity; /* of them */
    /* Of a queue: somebody waits to put, to take; -1: no such thing. */
    int puts_wait, takes_wait;
    bool closed;
};

/* Bytes of a queue of more elements than are looked at are those of the first
 * ones, times as many. */
void tfd_resource_facts(struct tfd_resource *r, struct tfd_resource_facts *out);

#endif
