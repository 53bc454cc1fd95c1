/*
 * metric_text.c - see metric_text.h.
 *
 * Who scrapes does it on the loop thread.  printf() takes half a microsecond
 * for a word and one for a number, of which a page has many hundreds, so that
 * it is left what it alone can do.
 */
#include "daemon/status/metric_text.h"

#include "config/limits.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Whole numbers up to this are exact, and their digits fit. */
#define WHOLE_MAX 1e15
#define WHOLE_DIGITS 16

const char *tfd_metric_type_name(enum tfd_metric_type type)
{
    static const char *const names[] = {"counter", "gauge", "histogram"};

    return names[type];
}

void tfd_metric_text_begin(struct tfd_metric_text *t, const char *name,
                           enum tfd_metric_type type, const char *help)
{
    t->name = name;
    t->type = type;
    t->help = help;
    t->begun = false;
}

/* ---- Labels -------------------------------------------------------------- */

/* How many bytes follow the first of a character, and the least and the most
 * that the second may be; -1: none begins so. */
static int follows(unsigned char c, unsigned char *least, unsigned char *most)
{
    *least = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *most = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (c < 0x80)
        return 0;
    if (c < 0xc2 || c > 0xf4)
        return -1;
    return c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
}

static bool is_utf8(struct tfd_str s)
{
    const unsigned char *at = (const unsigned char *)s.data;
    const unsigned char *end = at + s.size;

    while (at < end) {
        unsigned char least, most;
        int more = follows(*at++, &least, &most);

        if (more < 0 || end - at < more)
            return false;
        for (; more > 0; more--) {
            if (*at < least || *at > most)
                return false;
            at++;
            least = 0x80;
            most = 0xbf;
        }
    }
    return true;
}

static bool can_be_told(const struct tfd_metric_label *labels, int count)
{
    for (int i = 0; i < count; i++)
        if (labels[i].value.size > TFD_METRIC_LABEL_SIZE_MAX ||
            memchr(labels[i].value.data, '\0', labels[i].value.size) ||
            !is_utf8(labels[i].value))
            return false;
    return true;
}

static void put_word(struct tfd_bytes *b, const char *text)
{
    tfd_bytes_add_str(b, tfd_str_of(text));
}

static void put_escaped(struct tfd_bytes *b, struct tfd_str s)
{
    size_t told = 0;

    for (size_t i = 0; i < s.size; i++) {
        bool line = s.data[i] == '\n';

        if (!line && s.data[i] != '"' && s.data[i] != '\\')
            continue;
        tfd_bytes_add(b, s.data + told, i - told);
        tfd_bytes_add(b, "\\", 1);
        tfd_bytes_add(b, line ? "n" : s.data + i, 1);
        told = i + 1;
    }
    tfd_bytes_add(b, s.size ? s.data + told : NULL, s.size - told);
}

/* le: the bound of a bucket in seconds; NULL: it is none. */
static void put_labels(struct tfd_bytes *b,
                       const struct tfd_metric_label *labels, int count,
                       const char *le)
{
    if (count == 0 && !le)
        return;
    for (int i = 0; i < count; i++) {
        put_word(b, i == 0 ? "{" : ",");
        put_word(b, labels[i].name);
        put_word(b, "=\"");
        put_escaped(b, labels[i].value);
        put_word(b, "\"");
    }
    if (le) {
        put_word(b, count == 0 ? "{le=\"" : ",le=\"");
        put_word(b, le);
        put_word(b, "\"");
    }
    put_word(b, "}");
}

/* ---- Samples ------------------------------------------------------------- */

static bool begin_sample(struct tfd_metric_text *t,
                         const struct tfd_metric_label *labels, int count)
{
    if (!can_be_told(labels, count)) {
        t->left_out++;
        return false;
    }
    if (!t->begun) {
        const char *const parts[] = {
            "# HELP ",   t->name, " ", t->help,
            "\n# TYPE ", t->name, " ", tfd_metric_type_name(t->type),
            "\n"};

        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            put_word(t->out, parts[i]);
    }
    t->begun = true;
    return true;
}

/* As "%.17g" has it. */
static void put_number(struct tfd_bytes *b, double value)
{
    char text[WHOLE_DIGITS];
    char *at = text + sizeof(text);
    uint64_t left;

    if (!(value >= 0 && value <= WHOLE_MAX) || signbit(value) ||
        value != floor(value)) {
        tfd_bytes_printf(b, "%.17g", value);
        return;
    }
    left = (uint64_t)value;
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    tfd_bytes_add(b, at, (size_t)(text + sizeof(text) - at));
}

static void put_sample(struct tfd_metric_text *t, const char *suffix,
                       const struct tfd_metric_label *labels, int count,
                       const char *le, double value)
{
    put_word(t->out, t->name);
    put_word(t->out, suffix);
    put_labels(t->out, labels, count, le);
    put_word(t->out, " ");
    put_number(t->out, value);
    put_word(t->out, "\n");
}

void tfd_metric_text_put(struct tfd_metric_text *t,
                         const struct tfd_metric_label *labels, int count,
                         double value)
{
    if (begin_sample(t, labels, count))
        put_sample(t, "", labels, count, NULL, value);
}

/* The bounds of the buckets in seconds. */
static char bounds[TFD_HISTOGRAM_BOUNDS][16];
static pthread_once_t bounds_once = PTHREAD_ONCE_INIT;

static void print_bounds(void)
{
    for (int i = 0; i < TFD_HISTOGRAM_BOUNDS; i++)
        snprintf(bounds[i], sizeof(bounds[i]), "%g",
                 (double)tfd_histogram_bound_us(i) / 1e6);
}

void tfd_metric_text_histogram(struct tfd_metric_text *t,
                               const struct tfd_metric_label *labels, int count,
                               const struct tfd_histogram *h)
{
    uint64_t below = 0;

    if (!begin_sample(t, labels, count))
        return;
    (void)pthread_once(&bounds_once, print_bounds);
    for (int i = 0; i < TFD_HISTOGRAM_BOUNDS; i++) {
        below += h->counts[i];
        put_sample(t, "_bucket", labels, count, bounds[i], (double)below);
    }
    below += h->counts[TFD_HISTOGRAM_BOUNDS];
    put_sample(t, "_bucket", labels, count, "+Inf", (double)below);
    put_sample(t, "_sum", labels, count, NULL, (double)h->sum_us / 1e6);
    put_sample(t, "_count", labels, count, NULL, (double)below);
}
