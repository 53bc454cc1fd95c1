/*
 * pattern.c - see pattern.h.
 *
 * A pattern is compiled outside the lock.  Two threads that miss at the same
 * time both compile, and the later one's stays.
 */
#include "kernels/text/pattern.h"

#include "common/base/atomic.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

static int live; /* compiled patterns of the process */

static void pattern_free(struct tfd_pattern *p)
{
    tfd_re2_free(p->re2);
    free(p);
    TFD_COUNTER_ADD(&live, -1);
}

void tfd_pattern_unref(struct tfd_pattern *p)
{
    if (p && tfd_refs_drop(&p->refs))
        pattern_free(p);
}

/* RE2 reads a pattern before it finds that its program is too large; a long one
 * is refused unread, in the same words. */
static enum tfd_code check_pattern_size(struct tfd_str text,
                                        struct tfd_status *st)
{
    if (text.size <= TFD_PATTERN_SIZE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid pattern: " TFD_STR_FMT
                    ", error: pattern too large - compile failed",
                    TFD_STR_ARG(text));
}

static enum tfd_code pattern_new(struct tfd_str text, struct tfd_pattern **out,
                                 struct tfd_status *st)
{
    struct tfd_pattern *p;
    enum tfd_code rc;

    TFD_TRY(check_pattern_size(text, st));
    p = malloc(sizeof(*p) + text.size);
    if (!p)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a pattern");
    *p = (struct tfd_pattern){.refs = 1,
                              .text = {(const char *)(p + 1), text.size}};
    if (text.size)
        memcpy(p + 1, text.data, text.size);
    if (TFD_COUNTER_ADD(&live, 1) > TFD_PATTERNS_MAX)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                      "there are %d regular expressions already",
                      TFD_PATTERNS_MAX);
    else
        rc = tfd_re2_new(text, &p->re2, st);
    if (rc == TFD_OK)
        *out = p;
    else
        pattern_free(p);
    return rc;
}

void tfd_pattern_cache_init(struct tfd_pattern_cache *c)
{
    tfd_lock_init(&c->lock, TFD_LOCK_RESOURCE);
    c->last = NULL;
}

void tfd_pattern_cache_deinit(struct tfd_pattern_cache *c)
{
    tfd_pattern_unref(c->last);
    tfd_lock_deinit(&c->lock);
}

/* One more reference to the cached pattern, if it is this one. */
static struct tfd_pattern *cached_pattern(struct tfd_pattern_cache *c,
                                          struct tfd_str text)
{
    struct tfd_pattern *p = NULL;

    tfd_lock(&c->lock);
    if (c->last && tfd_str_eq(c->last->text, text)) {
        p = c->last;
        tfd_refs_add(&p->refs, 1);
    }
    tfd_unlock(&c->lock);
    return p;
}

enum tfd_code tfd_pattern_get(struct tfd_pattern_cache *c, struct tfd_str text,
                              struct tfd_pattern **out, struct tfd_status *st)
{
    struct tfd_pattern *old;

    *out = cached_pattern(c, text);
    if (*out)
        return TFD_OK;
    TFD_TRY(pattern_new(text, out, st));
    tfd_refs_add(&(*out)->refs, 1);
    tfd_lock(&c->lock);
    old = c->last;
    c->last = *out;
    tfd_unlock(&c->lock);
    tfd_pattern_unref(old);
    return TFD_OK;
}
