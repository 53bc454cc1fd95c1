/*
 * same_function.h - whether two FunctionDefs say the same.
 *
 * A sender may write the entries of a map in another order the second time; all
 * else is compared as it stands, so that x - y is not y - x.
 *
 * Threads: any.
 */
#ifndef TFD_DAEMON_EAGER_SAME_FUNCTION_H
#define TFD_DAEMON_EAGER_SAME_FUNCTION_H

#include "common/base/str.h"

#include <stdbool.h>

bool tfd_eager_same_function(struct tfd_str a, struct tfd_str b);

#endif
