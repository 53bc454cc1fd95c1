/*
 * log.h - one line per event, to stderr.
 *
 *     tfd_log(TFD_LOG_INFO, "session-created", "handle=%s nodes=%d", h, n);
 *
 *     <6>session-created handle=direct-1 nodes=12          under journald
 *     2026-11-21T12:00:00.123456Z INFO session-created ...       elsewhere
 *
 * journald listens when its variable JOURNAL_STREAM names stderr, which is
 * asked once; it adds the time itself and reads the level from "<N>".
 *
 * ERROR: a person must act.  WARN: a peer misbehaved.  INFO: life cycle.
 * DEBUG: per step.  Never contents of tensors, never tokens.  A failure is
 * logged once, where it stops travelling.
 *
 * Control characters in values are written as \n, \t or \xNN, so that a peer
 * cannot forge a line or steer a terminal.  A line over TFD_LOG_LINE_MAX bytes
 * is cut and ends in "...".  A line that cannot be written is lost; a log must
 * not stop the program.
 *
 * Threads: any.  A line is one write(), so lines do not mix.
 */
#ifndef TFD_COMMON_LOG_H
#define TFD_COMMON_LOG_H

#include "common/status.h"

#include <stdbool.h>

#define TFD_LOG_LINE_MAX 4096 /* PIPE_BUF: pipes keep such a write whole */

/* Numbers of syslog. */
enum tfd_log_level {
    TFD_LOG_ERROR = 3,
    TFD_LOG_WARN = 4,
    TFD_LOG_INFO = 6,
    TFD_LOG_DEBUG = 7,
};

void tfd_log(enum tfd_log_level level, const char *event, const char *fmt, ...)
    TFD_PRINTF(3, 4);

/* Lines of this level and more important ones appear; INFO at the start. */
void tfd_log_level_set(enum tfd_log_level level);
/* For callers whose arguments are expensive. */
bool tfd_log_enabled(enum tfd_log_level level);
/* False when name is none of "error", "warn", "info", "debug". */
bool tfd_log_level_parse(const char *name, enum tfd_log_level *level);

#endif
