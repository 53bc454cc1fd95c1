/*
 * called.h - collects the functions that a function calls, directly or by way
 * of others (the transitive closure), out of a context's library: a worker that
 * registers the function's graph needs their definitions with it.
 *
 * Threads: loop thread.
 */
#ifndef TFD_DAEMON_EAGER_CALLED_H
#define TFD_DAEMON_EAGER_CALLED_H

#include "common/graph/graph.h"
#include "daemon/eager/library.h"

/* Appends each once, without f itself, as fields of a FunctionDefLibrary.
 * Names that the library lacks are passed over: an op may have them. */
enum tfd_code tfd_eager_called(const struct tfd_eager_library *l,
                               const struct tfd_eager_function *f,
                               struct tfd_bytes *library,
                               struct tfd_status *st) TFD_MUST_USE;
/* The same of an op, whose attributes name functions. */
enum tfd_code tfd_eager_called_by(const struct tfd_eager_library *l,
                                  const struct tfd_attr *attrs, int attr_count,
                                  struct tfd_bytes *library,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
