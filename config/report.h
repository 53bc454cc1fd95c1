/*
 * report.h - what is wrong with a configuration, one line each.
 *
 *     TF_CONFIG.cluster.worker[1] = "w1": no port; write "w1:2222"
 *     --port = abc: not a number; give 0 to 65535
 *
 * A line names the place (a JSON path or a flag), the value found there, what
 * is wrong with it and the fix, because the person who reads it often did not
 * write the configuration: a launcher did.  All errors are collected before
 * the program gives up, so that one start shows all of them.
 *
 * The same struct collects notes: keys that were read and not used.
 *
 * Values come from outside: control characters are shown as "\x0a", so that a
 * line stays one line.  Nothing is allocated; lines above the maximum are
 * counted only.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CONFIG_REPORT_H
#define TFD_CONFIG_REPORT_H

#include "common/base/status.h"
#include "config/limits.h"

#include <stddef.h>
#include <stdio.h>

struct tfd_report {
    size_t count; /* of all lines, also those not kept */
    char lines[TFD_REPORT_LINES_MAX][TFD_REPORT_LINE_SIZE_MAX];
};

void tfd_report_init(struct tfd_report *r);

/* Adds "PATH = VALUE: TEXT", or "PATH: TEXT" where value is NULL. */
void tfd_report_add(struct tfd_report *r, const char *path, const char *value,
                    const char *fmt, ...) TFD_PRINTF(4, 5);

/* Prints each line after `prefix`, and how many more there were. */
void tfd_report_print(const struct tfd_report *r, FILE *to, const char *prefix);

/* The path of a part: appends ".NAME" or "[INDEX]" to `path` within `size`. */
void tfd_report_path(char *path, size_t size, const char *fmt, ...)
    TFD_PRINTF(3, 4);

#endif
