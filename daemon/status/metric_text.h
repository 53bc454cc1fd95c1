/*
 * metric_text.h - writes samples of one metric after another in Prometheus'
 * text format:
 *
 *     # HELP tfd_peer_up 1 while ...
 *     # TYPE tfd_peer_up gauge
 *     tfd_peer_up{peer="/job:ps/replica:0/task:0"} 1
 *
 * The two lines of a metric come with its first sample.  A label's value is
 * escaped; one that is no UTF-8, holds a NUL or is longer than
 * TFD_METRIC_LABEL_SIZE_MAX cannot be told, and the sample is left out: cut or
 * changed, two names could become one, and Prometheus would take neither.
 *
 * Errors: those of the buffer.  Threads: a writer belongs to one.
 */
#ifndef TFD_DAEMON_STATUS_METRIC_TEXT_H
#define TFD_DAEMON_STATUS_METRIC_TEXT_H

#include "common/base/str.h"
#include "common/measure/histogram.h"

enum tfd_metric_type {
    TFD_METRIC_COUNTER,
    TFD_METRIC_GAUGE,
    TFD_METRIC_HISTOGRAM,
};

const char *tfd_metric_type_name(enum tfd_metric_type type);

struct tfd_metric_label {
    const char *name;
    struct tfd_str value;
};

struct tfd_metric_text {
    struct tfd_bytes *out;
    const char *name, *help;
    enum tfd_metric_type type;
    bool begun;        /* its two lines are there */
    uint64_t left_out; /* samples, of all metrics so far */
};

/* The next metric. */
void tfd_metric_text_begin(struct tfd_metric_text *t, const char *name,
                           enum tfd_metric_type type, const char *help);
void tfd_metric_text_put(struct tfd_metric_text *t,
                         const struct tfd_metric_label *labels, int count,
                         double value);
/* In seconds. */
void tfd_metric_text_histogram(struct tfd_metric_text *t,
                               const struct tfd_metric_label *labels, int count,
                               const struct tfd_histogram *h);

#endif
