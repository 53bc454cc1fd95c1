/*
 * part_def.h - turns one task's part of a function, a GraphDef as cut.h makes
 * it, into the form in which it is registered:
 *
 *     here        a GraphDef whose arguments and results are client-terminated
 *     elsewhere   a RegisterFunctionOp: a component function
 *
 * The part numbers its arguments and results from 0; a table says which of the
 * whole function's each of them is.
 *
 * Ownership: embedded.  Threads: one at a time.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_PART_DEF_H
#define TFD_DAEMON_EAGER_PARTS_PART_DEF_H

#include "common/graph/graph.h"
#include "daemon/worker_api.h"

/* The nodes that stand for them in a function that is cut, with their numbers
 * behind these: a Placeholder without inputs, an Identity. */
#define TFD_EAGER_CUT_ARG "tfd>arg/"
#define TFD_EAGER_CUT_RESULT "tfd>result/"

struct tfd_eager_part_def {
    int *args, *results; /* of the function; both free() */
    int arg_count, result_count;
    struct tfd_bytes def;
};

/* arg_count, result_count: the function's.  on: the device here; NULL for a
 * component, which is called `name`. */
enum tfd_code tfd_eager_part_def_make(const struct tfd_op_set *ops,
                                      struct tfd_str graph_def, int arg_count,
                                      int result_count,
                                      const struct tfd_device_attributes *on,
                                      struct tfd_str name,
                                      struct tfd_eager_part_def *out,
                                      struct tfd_status *st) TFD_MUST_USE;
void tfd_eager_part_def_deinit(struct tfd_eager_part_def *p);

#endif
