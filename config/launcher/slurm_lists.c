/*
 * slurm_lists.c - see slurm_lists.h.
 */
#include "config/launcher/slurm_lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longest number that is read: no cluster has more hosts. */
#define DIGITS_MAX 9

/* Digits at *at, which moves behind them; -1: none, or too many. */
static int64_t take_number(const char **at, int *digits)
{
    int64_t value = 0;
    int size = (int)strspn(*at, "0123456789");

    *digits = size;
    if (size == 0 || size > DIGITS_MAX)
        return -1;
    for (int i = 0; i < size; i++)
        value = value * 10 + ((*at)[i] - '0');
    *at += size;
    return value;
}

/* ---- Hosts --------------------------------------------------------------- */

void tfd_slurm_hosts_init(struct tfd_slurm_hosts *h, const char *list)
{
    *h = (struct tfd_slurm_hosts){.rest = list};
}

static enum tfd_code fail_part(const char *part, const char *why,
                               struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s at \"%.40s\"; Slurm writes n[1-3,7],m5", why, part);
}

/* "1-3" or "7" of the brackets, and the comma behind it. */
static enum tfd_code take_range(struct tfd_slurm_hosts *h,
                                struct tfd_status *st)
{
    const char *begin = h->ranges;
    int digits;

    h->number = h->last = take_number(&h->ranges, &h->digits);
    if (h->number >= 0 && *h->ranges == '-') {
        h->ranges++;
        h->last = take_number(&h->ranges, &digits);
    }
    if (h->number < 0 || h->last < 0)
        return fail_part(begin, "no number of up to 9 digits", st);
    if (h->last < h->number)
        return fail_part(begin, "a range that ends before it begins", st);
    if (*h->ranges == ',')
        h->ranges++;
    else if (*h->ranges == ']')
        h->ranges = NULL;
    else
        return fail_part(begin, "neither ',' nor ']' after a number", st);
    return TFD_OK;
}

/* "n[1-3]-eth", up to the comma behind it. */
static enum tfd_code take_entry(struct tfd_slurm_hosts *h,
                                struct tfd_status *st)
{
    const char *at = h->rest;
    const char *close;

    h->prefix = at;
    h->prefix_size = (int)strcspn(at, "[],");
    at += h->prefix_size;
    h->number = 0;
    h->last = -1;
    h->suffix_size = 0;
    if (*at == '[') {
        close = strchr(at, ']');
        if (!close)
            return fail_part(at, "'[' without ']'", st);
        h->ranges = at + 1;
        h->suffix = close + 1;
        h->suffix_size = (int)strcspn(h->suffix, "[],");
        at = h->suffix + h->suffix_size;
    } else if (h->prefix_size == 0) {
        return fail_part(at, "no host", st);
    }
    if (*at == '[' || *at == ']')
        return fail_part(at, "a second bracket", st);
    if (*at == ',' && at[1] == '\0')
        return fail_part(at, "no host behind the comma", st);
    h->rest = at + (*at == ',');
    return TFD_OK;
}

static enum tfd_code put_host(const struct tfd_slurm_hosts *h, bool numbered,
                              char host[TFD_HOST_SIZE_MAX + 1],
                              struct tfd_status *st)
{
    char number[DIGITS_MAX + 12] = "";
    size_t size;

    if (numbered)
        snprintf(number, sizeof(number), "%0*" PRId64, h->digits, h->number);
    size = (size_t)h->prefix_size + strlen(number) + (size_t)h->suffix_size;
    if (size > TFD_HOST_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a host name of %zu characters, the limit is %d; "
                        "shorten it",
                        size, TFD_HOST_SIZE_MAX);
    snprintf(host, TFD_HOST_SIZE_MAX + 1, "%.*s%s%.*s", h->prefix_size,
             h->prefix, number, h->suffix_size,
             h->suffix_size ? h->suffix : "");
    return TFD_OK;
}

enum tfd_code tfd_slurm_hosts_next(struct tfd_slurm_hosts *h,
                                   char host[TFD_HOST_SIZE_MAX + 1], bool *end,
                                   struct tfd_status *st)
{
    bool in_range = h->prefix && h->number <= h->last;

    *end = false;
    host[0] = '\0';
    if (!in_range && !h->ranges) {
        *end = *h->rest == '\0';
        if (*end)
            return TFD_OK;
        TFD_TRY(take_entry(h, st));
        if (!h->ranges)
            return put_host(h, false, host, st);
    }
    if (!in_range)
        TFD_TRY(take_range(h, st));
    TFD_TRY(put_host(h, true, host, st));
    h->number++;
    return TFD_OK;
}

/* ---- Counts -------------------------------------------------------------- */

void tfd_slurm_counts_init(struct tfd_slurm_counts *c, const char *list)
{
    *c = (struct tfd_slurm_counts){.rest = list};
}

/* "2(x3)", up to the comma behind it. */
static bool take_count(struct tfd_slurm_counts *c)
{
    const char *at = c->rest;
    int digits;

    c->count = take_number(&at, &digits);
    c->left = 1;
    if (c->count >= 0 && strncmp(at, "(x", 2) == 0) {
        at += 2;
        c->left = take_number(&at, &digits);
        if (*at++ != ')')
            return false;
    }
    if (c->count < 1 || c->count > TFD_TASKS_MAX || c->left < 1 ||
        (*at && *at != ',') || (*at == ',' && at[1] == '\0'))
        return false;
    c->rest = at + (*at == ',');
    return true;
}

enum tfd_code tfd_slurm_counts_next(struct tfd_slurm_counts *c, int64_t *count,
                                    struct tfd_status *st)
{
    *count = 0;
    if (c->left == 0 && *c->rest == '\0')
        return TFD_OK;
    if (c->left == 0 && !take_count(c)) {
        c->left = 0;
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "no count of 1 to %d at \"%.40s\"; Slurm writes "
                        "2(x3),1",
                        TFD_TASKS_MAX, c->rest);
    }
    c->left--;
    *count = c->count;
    return TFD_OK;
}
