/*
 * json_to_example.h - an Example in JSON, by protobuf's mapping, as a
 * serialized one.
 *
 *     {"features": {"feature": {"a": {"int64List": {"value": [1, "2"]}}}}}
 *
 * Fields are written as they come, as TensorFlow writes them, which makes no
 * message in between: what is there twice is twice in the result, but for the
 * list of a feature, which has one, and for names of features, which may not be
 * twice in one object.  Values are not packed.  Lists within a list are one
 * list, and a value that is no array is a list of one.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_KERNELS_PARSE_JSON_TO_EXAMPLE_H
#define TFD_KERNELS_PARSE_JSON_TO_EXAMPLE_H

#include "common/base/str.h"

/* Appends to out, which holds a part of it after a failure.  INVALID_ARGUMENT,
 * in TensorFlow's words, where the text is no such JSON. */
enum tfd_code tfd_json_to_example(struct tfd_str text, struct tfd_bytes *out,
                                  struct tfd_status *st) TFD_MUST_USE;

#endif
