/*
 * json.h - JSON that an operator or a launcher wrote, read within limits.
 *
 * Size and nesting are checked before jansson, which recurses, sees the text;
 * a key that is given twice is an error, because the reader who kept the other
 * one would run another cluster.
 *
 * Ownership: a loaded value is the caller's (json_decref).  Threads: any; no
 * shared state.
 */
#ifndef TFD_CONFIG_JSON_H
#define TFD_CONFIG_JSON_H

#include "config/report.h"

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* Loads one JSON object.  NULL after a line was added to `errors`, for which
 * `path` names the whole ("TF_CONFIG", "--cluster_spec"). */
json_t *tfd_json_load(const char *text, size_t size, const char *path,
                      struct tfd_report *errors);

/* Adds a line whose value is `value` as JSON; "PATH = VALUE: TEXT". */
void tfd_json_fail(struct tfd_report *errors, const char *path,
                   const json_t *value, const char *fmt, ...) TFD_PRINTF(4, 5);

/* A whole number written as one, as text ("3") or as 3.0: all three occur.
 * False when it is none of them. */
bool tfd_json_int(const json_t *value, int64_t *out);

#endif
