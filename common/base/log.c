/*
 * log.c - see log.h; how a line is made: log_line.c.  It lies on the stack, so
 * logging needs neither memory nor a lock.
 */
#define _GNU_SOURCE 1 /* gmtime_r() */

#include "common/base/log.h"

#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/log_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct {
    enum tfd_log_level level;
    const char *name;  /* of the flag */
    const char *label; /* in the line */
} levels[] = {
    {TFD_LOG_ERROR, "error", "ERROR"},
    {TFD_LOG_WARN, "warn", "WARN"},
    {TFD_LOG_INFO, "info", "INFO"},
    {TFD_LOG_DEBUG, "debug", "DEBUG"},
};

#define LEVEL_COUNT (sizeof(levels) / sizeof(levels[0]))

static int level_max = TFD_LOG_INFO;
static bool as_json;

void tfd_log_level_set(enum tfd_log_level level)
{
    TFD_STORE_RELAXED(&level_max, (int)level);
}

bool tfd_log_enabled(enum tfd_log_level level)
{
    return (int)level <= TFD_LOAD_RELAXED(&level_max);
}

bool tfd_log_level_parse(const char *name, enum tfd_log_level *level)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        if (!strcmp(name, levels[i].name)) {
            *level = levels[i].level;
            return true;
        }
    return false;
}

bool tfd_log_format_parse(const char *name, bool *json)
{
    *json = strcmp(name, "json") == 0;
    return *json || strcmp(name, "text") == 0;
}

void tfd_log_format_set(bool json)
{
    TFD_STORE_RELAXED(&as_json, json);
}

bool tfd_log_is_json(void)
{
    return TFD_LOAD_RELAXED(&as_json);
}

/* The variable is inherited by children whose stderr goes elsewhere, so it
 * names the device and inode it was set for. */
static bool is_journal(const char *stream)
{
    unsigned long long device, inode;
    struct stat s;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &s) == 0 && s.st_dev == device &&
           s.st_ino == inode;
}

static bool under_journald;

void tfd_log_journal_set(const char *stream)
{
    TFD_STORE_RELAXED(&under_journald, is_journal(stream));
}

static bool is_under_journald(void)
{
    return TFD_LOAD_RELAXED(&under_journald);
}

static void make_stamp(char *stamp, size_t size)
{
    int64_t now_us = tfd_clock_wall_us();
    time_t seconds = (time_t)(now_us / 1000000);
    struct tm tm;
    size_t used;

    gmtime_r(&seconds, &tm);
    used = strftime(stamp, size, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(stamp + used, size - used, ".%06dZ", (int)(now_us % 1000000));
}

/* Up to the event's name; journald has a clock of its own. */
static void put_head(struct tfd_log_line *line, enum tfd_log_level level,
                     const char *event)
{
    char head[256], stamp[48] = "";
    size_t i = 0;

    while (i + 1 < LEVEL_COUNT && levels[i].level != level)
        i++;
    if (line->json || !is_under_journald())
        make_stamp(stamp, sizeof(stamp));
    if (is_under_journald()) {
        snprintf(head, sizeof(head), "<%d>", (int)level);
        tfd_log_line_raw(line, head);
    }
    if (line->json)
        snprintf(head, sizeof(head),
                 "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%.100s\"",
                 stamp, levels[i].name, event);
    else
        snprintf(head, sizeof(head), "%s%s%s%s%.100s", stamp, *stamp ? " " : "",
                 *stamp ? levels[i].label : "", *stamp ? " " : "", event);
    tfd_log_line_raw(line, head);
}

static void write_line(const struct tfd_log_line *line)
{
    int errno_before = errno;
    ssize_t written;

    do
        written = write(STDERR_FILENO, line->bytes, line->used);
    while (written < 0 && errno == EINTR);
    errno = errno_before;
}

static void keep_line(enum tfd_log_level level, const char *event,
                      const char *fmt, va_list args)
{
    struct tfd_log_line line;

    line.used = 0;
    line.full = line.json = false;
    tfd_log_line_raw(&line, event);
    tfd_log_line_fields(&line, fmt, args);
    tfd_log_ring_keep((int)level, &line);
}

void tfd_log(enum tfd_log_level level, const char *event, const char *fmt, ...)
{
    struct tfd_log_line line;
    va_list args;

    if (!tfd_log_enabled(level))
        return;
    line.used = 0;
    line.full = false;
    line.json = tfd_log_is_json();
    put_head(&line, level, event);
    va_start(args, fmt);
    tfd_log_line_fields(&line, fmt, args);
    va_end(args);
    tfd_log_line_end(&line);
    write_line(&line);
    if (level <= TFD_LOG_WARN) {
        va_start(args, fmt);
        keep_line(level, event, fmt, args);
        va_end(args);
    }
}

/* ---- Rates --------------------------------------------------------------- */

bool tfd_log_rate_allows(struct tfd_log_rate *r, uint64_t now_us,
                         unsigned *dropped)
{
    if (now_us - r->begun_us >= TFD_LOG_RATE_US || r->begun_us == 0) {
        r->begun_us = now_us;
        r->written = 0;
    }
    if (r->written >= TFD_LOG_RATE_LINES) {
        r->dropped++;
        return false;
    }
    r->written++;
    *dropped = r->dropped;
    r->dropped = 0;
    return true;
}
