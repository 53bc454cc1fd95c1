/*
 * log_line.h - one line of the log, made from a printf format; log.c writes it.
 *
 * The format says where a field begins and ends, never a value: fields are
 * "key=value" divided by blanks, and a value that holds blanks in the format
 * stands in double quotes there.
 *
 *     "peer=%s why=\"lost: %s\" calls=%d"
 *
 *     text   peer=10.0.0.1:2222 why="lost: no \"pong\"" calls=3
 *     JSON   "peer":"10.0.0.1:2222","why":"lost: no \"pong\"","calls":3
 *
 * Text: a value is quoted if the format quotes it, if it is empty or if it has
 * a blank or something to escape; in quotes \" \\ \n \t and \xNN stand for what
 * they stand for in C.  JSON: a value whose format is one integer conversion is
 * a number, every other a string.
 *
 * Control characters (of Unicode's second block, too) are escaped in both.  A
 * byte that is no UTF-8 is \xNN in text and U+FFFD in JSON.  A value that does
 * not fit ends in "..." and the fields after it are left out; what is there is
 * whole: quotes and braces are closed.
 *
 * Threads: any; a line belongs to one.
 */
#ifndef TFD_COMMON_LOG_LINE_H
#define TFD_COMMON_LOG_LINE_H

#include "common/base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFD_LOG_LINE_MAX 4096 /* PIPE_BUF: pipes keep such a write whole */

struct tfd_log_line {
    char bytes[TFD_LOG_LINE_MAX];
    size_t used;
    bool json;
    bool full; /* something was cut */
};

/* Adds text as it is, up to the room that fields have. */
void tfd_log_line_raw(struct tfd_log_line *l, const char *text);
void tfd_log_line_fields(struct tfd_log_line *l, const char *fmt, va_list args)
    TFD_PRINTF(2, 0);
/* The brace of JSON, and the line's end. */
void tfd_log_line_end(struct tfd_log_line *l);

/* ---- log_ring.c: the last warnings and errors, from and for any thread ----
 */

#define TFD_LOG_KEPT_MAX 32
#define TFD_LOG_KEPT_SIZE 512

struct tfd_log_kept {
    int64_t wall_us;
    int level;                    /* enum tfd_log_level */
    char text[TFD_LOG_KEPT_SIZE]; /* event and fields; cut where it is longer */
};

void tfd_log_ring_keep(int level, const struct tfd_log_line *line);
/* Up to TFD_LOG_KEPT_MAX of them, the newest first; returns how many.  *ever:
 * how many there have been. */
int tfd_log_ring_read(struct tfd_log_kept *out, uint64_t *ever);

#endif
