/*
 * attr_depth.h - refuses an AttrValue that is nested too deep: functions have
 * attributes, which may be functions.  Protobuf, and so TensorFlow, stops at
 * 100 messages.
 *
 * Iterative.  Threads: any.
 */
#ifndef TFD_COMMON_ATTR_DEPTH_H
#define TFD_COMMON_ATTR_DEPTH_H

#include "common/base/str.h"

/* INVALID_ARGUMENT naming the attribute and both depths when value is nested
 * deeper than TFD_PROTO_DEPTH_MAX messages. */
enum tfd_code tfd_attr_depth_check(struct tfd_str name, struct tfd_str value,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
