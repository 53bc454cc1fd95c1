/*
 * regex.c - matching: the set of steps that the text so far can lead to, moved
 * on character by character.
 *
 * Steps that read no character are followed at once, so a set holds only CLASS
 * and MATCH steps after close_over(); `seen` keeps each from entering twice.
 */
#include "kernels/text/regex.h"

#include <stdlib.h>
#include <string.h>

/* ---- UTF-8 --------------------------------------------------------------- */

uint32_t tfd_regex_character(const char **p, const char *end)
{
    /* The smallest character that needs 2, 3, 4 bytes. */
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*p;
    int more = *at < 0x80   ? 0
               : *at < 0xc0 ? -1
               : *at < 0xe0 ? 1
               : *at < 0xf0 ? 2
               : *at < 0xf8 ? 3
                            : -1;
    uint32_t c = *at;

    *p += 1;
    if (more <= 0)
        return more == 0 ? c : TFD_REGEX_INVALID;
    if (end - *p < more)
        return TFD_REGEX_INVALID;
    c &= 0x3fu >> more;
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return TFD_REGEX_INVALID;
        c = c << 6 | (at[i] & 0x3f);
    }
    if (c < least[more] || c > TFD_REGEX_CHARACTER_MAX ||
        (c >= 0xd800 && c < 0xe000))
        return TFD_REGEX_INVALID;
    *p += more;
    return c;
}

/* ---- Sets of steps ------------------------------------------------------- */

/* Views of a matcher's memory. */
struct sets {
    int32_t *now, *next, *pending;
    int32_t *seen; /* by step: the round it was last entered in */
    int32_t now_count, next_count, round;
};

/* Where in the text a step is looked at. */
struct place {
    bool begin, end;
    uint32_t before, after; /* characters, where there are any */
};

static bool is_word(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static bool holds(enum tfd_regex_op op, const struct place *p)
{
    bool edge =
        (!p->begin && is_word(p->before)) != (!p->end && is_word(p->after));

    switch (op) {
    case TFD_REGEX_TEXT_BEGIN:
        return p->begin;
    case TFD_REGEX_TEXT_END:
        return p->end;
    case TFD_REGEX_LINE_BEGIN:
        return p->begin || p->before == '\n';
    case TFD_REGEX_LINE_END:
        return p->end || p->after == '\n';
    case TFD_REGEX_WORD_EDGE:
        return edge;
    case TFD_REGEX_NO_WORD_EDGE:
        return !edge;
    default:
        return true;
    }
}

/* Adds a step, and those that follow without reading, to s->next. */
static void close_over(const struct tfd_regex *r, struct sets *s, int32_t first,
                       const struct place *p)
{
    int32_t depth = 0;

    s->pending[depth++] = first;
    while (depth > 0) {
        int32_t at = s->pending[--depth];
        const struct tfd_regex_step *step = &r->steps[at];

        if (s->seen[at] == s->round)
            continue;
        s->seen[at] = s->round;
        if (step->op == TFD_REGEX_CLASS || step->op == TFD_REGEX_MATCH) {
            s->next[s->next_count++] = at;
        } else if (step->op == TFD_REGEX_JUMP) {
            s->pending[depth++] = at + step->x;
        } else if (step->op == TFD_REGEX_SPLIT) {
            s->pending[depth++] = at + step->y;
            s->pending[depth++] = at + step->x;
        } else if (holds(step->op, p)) {
            s->pending[depth++] = at + 1;
        }
    }
}

static void swap(const struct tfd_regex *r, struct sets *s)
{
    int32_t *now = s->now;

    s->now = s->next;
    s->next = now;
    s->now_count = s->next_count;
    s->next_count = 0;
    if (s->round == INT32_MAX) {
        memset(s->seen, 0xff, (size_t)r->step_count * sizeof(*s->seen));
        s->round = -1;
    }
    s->round++;
}

static bool takes(const struct tfd_regex *r, const struct tfd_regex_step *step,
                  uint32_t c)
{
    const struct tfd_regex_range *range;

    if (step->op != TFD_REGEX_CLASS || c == TFD_REGEX_INVALID || step->y == 0)
        return false;
    range = &r->ranges[step->x];
    for (int32_t i = 0; i < step->y; i++)
        if (c >= range[i].first && c <= range[i].last)
            return true;
    return false;
}

/* ---- Matching ------------------------------------------------------------ */

/* now, next, seen, pending; a split leaves one more pending, once a round. */
#define SETS 4

enum tfd_code tfd_regex_matcher_init(struct tfd_regex_matcher *m,
                                     const struct tfd_regex *r,
                                     struct tfd_status *st)
{
    m->regex = r;
    m->memory = malloc((size_t)(r->step_count + 1) * SETS * sizeof(int32_t));
    if (!m->memory)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to match a pattern of %d steps",
                        (int)r->step_count);
    return TFD_OK;
}

void tfd_regex_matcher_deinit(struct tfd_regex_matcher *m)
{
    free(m->memory);
    m->memory = NULL;
}

static struct sets sets_of(const struct tfd_regex_matcher *m)
{
    size_t n = (size_t)m->regex->step_count + 1;
    struct sets s = {
        .now = m->memory,
        .next = m->memory + n,
        .seen = m->memory + 2 * n,
        .pending = m->memory + 3 * n,
    };

    return s;
}

static void look_ahead(struct place *place, const char **p, const char *end)
{
    place->end = *p == end;
    if (!place->end)
        place->after = tfd_regex_character(p, end);
}

bool tfd_regex_matches(struct tfd_regex_matcher *m, struct tfd_str text)
{
    const struct tfd_regex *r = m->regex;
    struct place place = {.begin = true};
    struct sets s = sets_of(m);
    const char *p = text.size ? text.data : "", *end = p + text.size;

    memset(s.seen, 0xff, (size_t)r->step_count * sizeof(*s.seen));
    look_ahead(&place, &p, end);
    close_over(r, &s, 0, &place);
    while (!place.end) {
        uint32_t c = place.after;

        swap(r, &s);
        if (s.now_count == 0)
            return false;
        place.begin = false;
        place.before = c;
        look_ahead(&place, &p, end);
        for (int32_t i = 0; i < s.now_count; i++)
            if (takes(r, &r->steps[s.now[i]], c))
                close_over(r, &s, s.now[i] + 1, &place);
    }
    for (int32_t i = 0; i < s.next_count; i++)
        if (r->steps[s.next[i]].op == TFD_REGEX_MATCH)
            return true;
    return false;
}
