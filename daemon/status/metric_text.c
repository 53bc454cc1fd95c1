/*
 * metric_text.c - see metric_text.h.
 */
#include "daemon/status/metric_text.h"

#include "config/limits.h"

#include <stdio.h>
#include <string.h>

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

static void put_escaped(struct tfd_bytes *b, struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] == '\n')
            tfd_bytes_add(b, "\\n", 2);
        else if (s.data[i] == '"' || s.data[i] == '\\')
            tfd_bytes_printf(b, "\\%c", s.data[i]);
        else
            tfd_bytes_add(b, &s.data[i], 1);
    }
}

/* le: the bound of a bucket in seconds; NULL: it is none. */
static void put_labels(struct tfd_bytes *b,
                       const struct tfd_metric_label *labels, int count,
                       const char *le)
{
    if (count == 0 && !le)
        return;
    for (int i = 0; i < count; i++) {
        tfd_bytes_printf(b, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        put_escaped(b, labels[i].value);
        tfd_bytes_add(b, "\"", 1);
    }
    if (le)
        tfd_bytes_printf(b, "%cle=\"%s\"", count == 0 ? '{' : ',', le);
    tfd_bytes_add(b, "}", 1);
}

/* ---- Samples ------------------------------------------------------------- */

static bool begin_sample(struct tfd_metric_text *t,
                         const struct tfd_metric_label *labels, int count)
{
    if (!can_be_told(labels, count)) {
        t->left_out++;
        return false;
    }
    if (!t->begun)
        tfd_bytes_printf(t->out, "# HELP %s %s\n# TYPE %s %s\n", t->name,
                         t->help, t->name, tfd_metric_type_name(t->type));
    t->begun = true;
    return true;
}

static void put_sample(struct tfd_metric_text *t, const char *suffix,
                       const struct tfd_metric_label *labels, int count,
                       const char *le, double value)
{
    tfd_bytes_printf(t->out, "%s%s", t->name, suffix);
    put_labels(t->out, labels, count, le);
    tfd_bytes_printf(t->out, " %.17g\n", value);
}

void tfd_metric_text_put(struct tfd_metric_text *t,
                         const struct tfd_metric_label *labels, int count,
                         double value)
{
    if (begin_sample(t, labels, count))
        put_sample(t, "", labels, count, NULL, value);
}

void tfd_metric_text_histogram(struct tfd_metric_text *t,
                               const struct tfd_metric_label *labels, int count,
                               const struct tfd_histogram *h)
{
    uint64_t below = 0;

    if (!begin_sample(t, labels, count))
        return;
    for (int i = 0; i < TFD_HISTOGRAM_BOUNDS; i++) {
        char le[32];

        below += h->counts[i];
        snprintf(le, sizeof(le), "%g", (double)tfd_histogram_bound_us(i) / 1e6);
        put_sample(t, "_bucket", labels, count, le, (double)below);
    }
    below += h->counts[TFD_HISTOGRAM_BOUNDS];
    put_sample(t, "_bucket", labels, count, "+Inf", (double)below);
    put_sample(t, "_sum", labels, count, NULL, (double)h->sum_us / 1e6);
    put_sample(t, "_count", labels, count, NULL, (double)below);
}
