/*
 * deprecated.h - ops that TensorFlow gave up: from which version of a graph's
 * producer on, and what it says instead of running one.
 *
 *     producer <  version   the op runs; the log has one line per op
 *     producer >= version   UNIMPLEMENTED "Op X is not available in GraphDef
 *                           version P. It has been removed in version V. WHY."
 *
 * A GraphDef without versions has producer 0.  TensorFlow asks where a kernel
 * is made, where nodes are added to a session's graph, and where a client makes
 * one; not where a session is created: a node that no step needs stays unseen.
 *
 * Source: OpDef.deprecation of the ops of TensorFlow 2.21.
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_DEPRECATED_H
#define TFD_COMMON_DEPRECATED_H

#include "common/base/status.h"
#include "common/base/str.h"

#include <stdint.h>

struct tfd_deprecated {
    const char *op;
    int32_t version;
    const char *why; /* what to use instead */
};

/* NULL: the op is as good as ever. */
const struct tfd_deprecated *tfd_deprecated_find(struct tfd_str op);

/* May an op be in a graph of this producer? */
enum tfd_code tfd_deprecated_check(struct tfd_str op, int32_t producer,
                                   struct tfd_status *st) TFD_MUST_USE;

/* All, sorted by op. */
const struct tfd_deprecated *tfd_deprecated_all(int *count);

#endif
