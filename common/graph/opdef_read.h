/*
 * opdef_read.h - an OpDef message, as functions have for their signature, into
 * the form that definitions have (opdef.h).
 *
 * Threads: one at a time for an arena.
 */
#ifndef TFD_COMMON_OPDEF_READ_H
#define TFD_COMMON_OPDEF_READ_H

#include "common/graph/opdef.h"

/* Names and defaults are views of the message, which outlives *op.
 * INVALID_ARGUMENT when it contradicts itself. */
enum tfd_code tfd_opdef_read(struct tfd_str message, struct tfd_arena *arena,
                             struct tfd_op *op,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
