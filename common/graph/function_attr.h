/*
 * function_attr.h - replaces the placeholders in the attributes of a function's
 * body by the attributes of the node that calls the function.
 *
 * Threads: one at a time for an arena.
 */
#ifndef TFD_COMMON_FUNCTION_ATTR_H
#define TFD_COMMON_FUNCTION_ATTR_H

#include "common/graph/function.h"

/* *value, an AttrValue, becomes a copy in which attributes of the call stand
 * for placeholders; also within the functions that it names.  Without
 * placeholders it stays.  INVALID_ARGUMENT for an attribute that the call
 * lacks. */
enum tfd_code tfd_function_attr(const struct tfd_func *call,
                                struct tfd_arena *arena, struct tfd_str *value,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
