/*
 * log.h - one line per event, to stderr.
 *
 *     tfd_log(TFD_LOG_INFO, "session_open", "session=%s nodes=%d", h, n);
 *
 *     <6>session_open session=direct-1 nodes=12            under journald
 *     2026-11-21T12:00:00.123456Z INFO session_open ...    elsewhere
 *     {"time":"2026-11-21T12:00:00.123456Z","level":"info",    JSON, which is
 *      "event":"session_open","session":"direct-1",            one line as well
 *      "nodes":12}
 *
 * An event's name is words with underscores.  The format is fields of
 * "key=value", divided by blanks; a value that may hold blanks stands in
 * quotes, key=\"%s\".  The rules of both formats, and of escaping, so that a
 * peer can neither forge a line nor steer a terminal: log_line.h.
 *
 * journald listens when JOURNAL_STREAM, which tfd_log_journal_set() is given,
 * names stderr; it adds the time itself and takes the level from "<N>", also
 * in front of JSON.
 *
 * ERROR: a person must act.  WARN: a peer misbehaved.  INFO: life cycle.
 * DEBUG: per step.  Never contents of tensors, never tokens.  A failure is
 * logged once, where it stops travelling.
 *
 * A line over TFD_LOG_LINE_MAX bytes (log_line.h) is cut.  One that cannot be
 * written is lost; a log must not stop the program.
 *
 * Threads: any.  A line is one write(), so lines do not mix.
 */
#ifndef TFD_COMMON_LOG_H
#define TFD_COMMON_LOG_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

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

/* The value of JOURNAL_STREAM; NULL, as at the start: no journal. */
void tfd_log_journal_set(const char *stream);

/* Text at the start. */
void tfd_log_format_set(bool json);
bool tfd_log_is_json(void);
/* False when name is none of "text", "json". */
bool tfd_log_format_parse(const char *name, bool *json);

/* For events that clients cause as often as they like: so many lines, of one
 * kind, in so much time.  All zero at first; one thread. */
#define TFD_LOG_RATE_LINES 20
#define TFD_LOG_RATE_US 1000000u
struct tfd_log_rate {
    uint64_t begun_us;
    unsigned written, dropped;
};
/* Whether one more may be written; if so, *dropped is how many could not be
 * since the last one that was. */
bool tfd_log_rate_allows(struct tfd_log_rate *r, uint64_t now_us,
                         unsigned *dropped);

#endif
