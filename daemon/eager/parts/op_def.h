/*
 * op_def.h - writes a single op whose values lie on several tasks as a GraphDef
 * that can be cut into parts (cut.h), as a function's body is.  The values are
 * the arguments of that graph, the op's outputs its results.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_OP_DEF_H
#define TFD_DAEMON_EAGER_PARTS_OP_DEF_H

#include "daemon/eager/context.h"
#include "daemon/eager/operation.h"

/* A GraphDef.  INVALID_ARGUMENT for a wrong number of inputs, and for one of
 * another task whose type is not said. */
enum tfd_code tfd_eager_op_def(const struct tfd_eager_context *c,
                               const struct tfd_eager_operation *o,
                               struct tfd_bytes *def, int *result_count,
                               struct tfd_status *st) TFD_MUST_USE;

#endif
