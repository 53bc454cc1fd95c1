/*
 * report.h - what a verb says: errors, texts that others wrote, JSON.
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_REPORT_H
#define TFD_TOOLS_CTL_REPORT_H

#include "tools/ctl/ctl.h"

#include "common/base/str.h"

/* "tfdctl: VERB: TEXT" to c->err; returns code. */
int tfd_ctl_fail(const struct tfd_ctl *c, int code, const char *fmt, ...)
    TFD_PRINTF(3, 4);
/* "tfdctl: VERB: WHAT: TEXT", and the exit code that says so of a call. */
int tfd_ctl_fail_call(const struct tfd_ctl *c, const char *what,
                      const struct tfd_status *st);
/* What the server cannot tell, beside an answer: "tfdctl: VERB: note: ...". */
void tfd_ctl_note(const struct tfd_ctl *c, const char *fmt, ...)
    TFD_PRINTF(2, 3);

/* The text on one line; bytes of which tfd_unicode_shown() is 0 as \xNN. */
void tfd_ctl_put_clean(FILE *to, const char *text);

/* A text from outside as JSON: bytes that are no UTF-8 as \xNN. */
json_t *tfd_ctl_text(struct tfd_str s);

/* Prints it for --json and returns code; takes it.  NULL: out of memory, which
 * is said. */
int tfd_ctl_put_json(const struct tfd_ctl *c, json_t *take_value, int code);

/* ---- Numbers for people -------------------------------------------------- */

#define TFD_CTL_NUMBER_SIZE 32

/* "1.5 GiB" */
const char *tfd_ctl_bytes(double bytes, char text[TFD_CTL_NUMBER_SIZE]);
/* "12.5 ms", "3 min", from microseconds. */
const char *tfd_ctl_time(double us, char text[TFD_CTL_NUMBER_SIZE]);

#endif
