/*
 * log.c - see log.h.
 *
 * A line is formatted twice: the values as the caller wants them, then their
 * escaped copy behind the prefix.  Both lie on the stack, so logging needs
 * neither memory nor a lock.
 */
#define _GNU_SOURCE 1 /* gmtime_r() */

#include "common/log.h"

#include "common/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
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

static atomic_int level_max = TFD_LOG_INFO;

void tfd_log_level_set(enum tfd_log_level level)
{
    atomic_store_explicit(&level_max, (int)level, memory_order_relaxed);
}

bool tfd_log_enabled(enum tfd_log_level level)
{
    return (int)level <= atomic_load_explicit(&level_max, memory_order_relaxed);
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

static const char *label_of(enum tfd_log_level level)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        if (levels[i].level == level)
            return levels[i].label;
    return "LOG";
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

static bool under_journald(void)
{
    static atomic_int answer; /* 0: not asked yet */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);

    if (!known) {
        known = is_journal(getenv("JOURNAL_STREAM")) ? 1 : 2;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 1;
}

static size_t put_prefix(char *line, size_t size, enum tfd_log_level level)
{
    int64_t now_us = tfd_clock_wall_us();
    time_t seconds = (time_t)(now_us / 1000000);
    char stamp[32];
    struct tm tm;
    int n;

    if (under_journald()) {
        n = snprintf(line, size, "<%d>", (int)level);
    } else {
        gmtime_r(&seconds, &tm);
        strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
        n = snprintf(line, size, "%s.%06dZ %s ", stamp, (int)(now_us % 1000000),
                     label_of(level));
    }
    assert(n > 0 && (size_t)n < size);
    return (size_t)n;
}

/* Writes c as it may appear and returns the number of bytes, at most 4. */
static size_t escape(char c, char *to)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char byte = (unsigned char)c;

    if (byte >= 0x20 && byte != 0x7f) {
        to[0] = c;
        return 1;
    }
    to[0] = '\\';
    if (c == '\n' || c == '\t') {
        to[1] = c == '\n' ? 'n' : 't';
        return 2;
    }
    to[1] = 'x';
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
    return 4;
}

/* Leaves room for "..." and the newline. */
static size_t put_text(char *line, size_t used, const char *text)
{
    char one[4];

    for (; *text; text++) {
        size_t n = escape(*text, one);

        if (used + n > TFD_LOG_LINE_MAX - 4) {
            memcpy(line + used, "...", 3);
            return used + 3;
        }
        memcpy(line + used, one, n);
        used += n;
    }
    return used;
}

void tfd_log(enum tfd_log_level level, const char *event, const char *fmt, ...)
{
    char text[TFD_LOG_LINE_MAX], line[TFD_LOG_LINE_MAX];
    int errno_before = errno;
    va_list args;
    ssize_t written;
    size_t used;

    if (!tfd_log_enabled(level))
        return;
    used = (size_t)snprintf(text, sizeof(text), "%.200s ", event);
    va_start(args, fmt);
    if (vsnprintf(text + used, sizeof(text) - used, fmt, args) < 0)
        text[used] = '\0';
    va_end(args);

    used = put_prefix(line, sizeof(line), level);
    used = put_text(line, used, text);
    line[used++] = '\n';
    do
        written = write(STDERR_FILENO, line, used);
    while (written < 0 && errno == EINTR);
    errno = errno_before;
}
