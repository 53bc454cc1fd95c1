/*
 * value.h - values as people write them: numbers, durations, sizes, yes and
 * no; and the word they may have meant.
 *
 * The readers take the whole text or fail with INVALID_ARGUMENT; the status
 * text then says what is wrong and what to write instead, for report.h.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CONFIG_VALUE_H
#define TFD_CONFIG_VALUE_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits with an optional "-", within min..max. */
enum tfd_code tfd_value_number(const char *text, int64_t min, int64_t max,
                               int64_t *out,
                               struct tfd_status *st) TFD_MUST_USE;

/* "250ms", "60s", "5m", "2h", "1d"; a plain number is seconds. */
enum tfd_code tfd_value_duration(const char *text, int64_t *ms,
                                 struct tfd_status *st) TFD_MUST_USE;

/* Bytes: "1048576", "512K", "512M", "8G", "1T", also "8GiB"; powers of 1024. */
enum tfd_code tfd_value_size(const char *text, int64_t *bytes,
                             struct tfd_status *st) TFD_MUST_USE;

enum tfd_code tfd_value_bool(const char *text, bool *out,
                             struct tfd_status *st) TFD_MUST_USE;

/* How many letters to insert, drop, change or swap to make b of a; "_" and
 * "-" are the same letter, and so are "A" and "a". */
size_t tfd_value_distance(const char *a, const char *b);

/* Whether a reader would take `word` for a slip of the pen for `meant`. */
bool tfd_value_near(const char *word, const char *meant);

#endif
