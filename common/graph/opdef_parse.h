/*
 * opdef_parse.h - the text of a definition, parsed; between opdef.c and
 * opdef_parse.c only.
 *
 * Threads: one at a time for an arena.
 */
#ifndef TFD_COMMON_OPDEF_PARSE_H
#define TFD_COMMON_OPDEF_PARSE_H

#include "common/graph/opdef.h"

/* Fills in *op, whose name and index the caller knows.  INTERNAL naming the op
 * and the place when the text is wrong: it is ours, not a client's. */
enum tfd_code tfd_opdef_parse(const struct tfd_opdef *def,
                              struct tfd_arena *arena, struct tfd_op *op,
                              struct tfd_status *st) TFD_MUST_USE;

#endif
