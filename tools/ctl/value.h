/*
 * value.h - a tensor as JSON, and as text for people.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_VALUE_H
#define TFD_TOOLS_CTL_VALUE_H

#include "tools/ctl/report.h"

#include "common/base/tensor.h"

/* {"name", "type", "shape", "values"}; values lie in one array, in the order of
 * memory.  What JSON has no number for is a text: "NaN", "Infinity",
 * "-Infinity", and integers above 2^63 - 1; a complex number is [re, im]. */
json_t *tfd_ctl_value_json(struct tfd_str name, const struct tfd_tensor *t);

/* Lines of the last dimension, and at most 1,000 elements. */
void tfd_ctl_value_print(const struct tfd_ctl *c, struct tfd_str name,
                         const struct tfd_tensor *t);

#endif
