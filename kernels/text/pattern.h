/*
 * pattern.h - a node's compiled regular expression, kept from one execution to
 * the next.
 *
 * Compiling takes longer than most matching.  A node keeps the pattern that it
 * compiled last; an attribute never changes, and an input seldom does.  A
 * client may have TFD_PATTERNS_MAX of them in a process at once.
 *
 * Threads: any; executions of a node at the same time share its cache.
 */
#ifndef TFD_KERNELS_PATTERN_H
#define TFD_KERNELS_PATTERN_H

#include "common/thread/lock.h"
#include "kernels/text/re2.h"

struct tfd_pattern {
    int refs;
    struct tfd_re2 *re2;
    struct tfd_str text;
};

struct tfd_pattern_cache {
    struct tfd_lock lock;
    struct tfd_pattern *last; /* NULL at first */
};

void tfd_pattern_cache_init(struct tfd_pattern_cache *c);
void tfd_pattern_cache_deinit(struct tfd_pattern_cache *c);

/* *out is the caller's until tfd_pattern_unref().  INVALID_ARGUMENT where the
 * pattern is wrong, RESOURCE_EXHAUSTED where there are too many. */
enum tfd_code tfd_pattern_get(struct tfd_pattern_cache *c, struct tfd_str text,
                              struct tfd_pattern **out,
                              struct tfd_status *st) TFD_MUST_USE;
void tfd_pattern_unref(struct tfd_pattern *p); /* NULL allowed */

#endif
