/*
 * regex_compile.c - patterns to programs, in one pass.
 *
 * Every part of a pattern is a run of steps that nothing jumps into or out of
 * but at its ends, with relative jumps.  So a part is repeated by copying it,
 * and a SPLIT is put before it by moving it:
 *
 *     x*      SPLIT +1, end   x   JUMP to SPLIT
 *     x+      x   SPLIT to x, +1
 *     x?      SPLIT +1, end   x
 *     x|y     SPLIT +1, y     x   JUMP end   y
 *
 * Open groups are on a stack of their own, so depth costs no recursion.
 */
#include "kernels/text/regex_compile.h"

#include <stdlib.h>
#include <string.h>

enum tfd_code tfd_regex_wrong(const struct tfd_regex_compiler *c,
                              const char *what)
{
    return tfd_fail(c->st, TFD_INVALID_ARGUMENT,
                    "Invalid pattern: " TFD_STR_FMT ", error: %s",
                    TFD_STR_ARG(c->pattern), what);
}

/* What is wrong with the whole of it: said with the pattern, as RE2 does. */
static enum tfd_code wrong_parentheses(const struct tfd_regex_compiler *c,
                                       const char *what)
{
    return tfd_fail(c->st, TFD_INVALID_ARGUMENT,
                    "Invalid pattern: " TFD_STR_FMT ", error: %s: " TFD_STR_FMT,
                    TFD_STR_ARG(c->pattern), what, TFD_STR_ARG(c->pattern));
}

bool tfd_regex_left(const struct tfd_regex_compiler *c)
{
    return c->p < c->end;
}

bool tfd_regex_take(struct tfd_regex_compiler *c, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0)
        return false;
    c->p += n;
    return true;
}

/* ---- Steps --------------------------------------------------------------  */

static enum tfd_code make_program_room(struct tfd_regex_compiler *c,
                                       int32_t more)
{
    struct tfd_regex *r = c->r;
    int32_t capacity = r->step_capacity ? r->step_capacity : 32;
    struct tfd_regex_step *grown;

    if (more > TFD_REGEX_STEPS_MAX - r->step_count)
        return tfd_regex_wrong(c, "pattern too large - compile failed");
    while (capacity < r->step_count + more)
        capacity *= 2;
    if (capacity == r->step_capacity)
        return TFD_OK;
    grown = realloc(r->steps, (size_t)capacity * sizeof(*grown));
    if (!grown)
        return tfd_fail(c->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a pattern");
    r->steps = grown;
    r->step_capacity = capacity;
    return TFD_OK;
}

static enum tfd_code append_instruction(struct tfd_regex_compiler *c,
                                        enum tfd_regex_op op, int32_t x,
                                        int32_t y)
{
    TFD_TRY(make_program_room(c, 1));
    c->r->steps[c->r->step_count++] = (struct tfd_regex_step){op, x, y};
    return TFD_OK;
}

static enum tfd_code insert_split(struct tfd_regex_compiler *c, int32_t at,
                                  int32_t x, int32_t y)
{
    struct tfd_regex *r = c->r;

    TFD_TRY(make_program_room(c, 1));
    memmove(&r->steps[at + 1], &r->steps[at],
            (size_t)(r->step_count - at) * sizeof(*r->steps));
    r->steps[at] = (struct tfd_regex_step){TFD_REGEX_SPLIT, x, y};
    r->step_count++;
    return TFD_OK;
}

/* A step for the ranges from `begin` on. */
static enum tfd_code append_class(struct tfd_regex_compiler *c, int32_t begin)
{
    c->atom = c->r->step_count;
    return append_instruction(c, TFD_REGEX_CLASS, begin,
                              c->r->range_count - begin);
}

static enum tfd_code append_character(struct tfd_regex_compiler *c,
                                      uint32_t character)
{
    int32_t begin = c->r->range_count;

    if (c->flags & TFD_REGEX_FOLD && character > 0x7f)
        return tfd_regex_wrong(c, "(?i) is supported for ASCII only");
    TFD_TRY(
        tfd_regex_class_kept(c, tfd_regex_set_add(c->r, character, character)));
    if (c->flags & TFD_REGEX_FOLD)
        TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_fold(c->r, begin)));
    return append_class(c, begin);
}

static enum tfd_code append_dot(struct tfd_regex_compiler *c)
{
    int32_t begin = c->r->range_count;

    if (!(c->flags & TFD_REGEX_DOT_LINE))
        TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_add(c->r, '\n', '\n')));
    TFD_TRY(tfd_regex_class_kept(c, tfd_regex_set_invert(c->r, begin)));
    return append_class(c, begin);
}

/* ---- Groups -------------------------------------------------------------- */

static enum tfd_code open_group(struct tfd_regex_compiler *c, unsigned outside)
{
    if (c->depth == TFD_REGEX_DEPTH_MAX)
        return tfd_regex_wrong(c, "expression nests too deeply");
    c->groups[c->depth++] = (struct tfd_regex_group){
        c->r->step_count,
        c->r->step_count,
        -1,
        outside,
    };
    c->atom = -1;
    return TFD_OK;
}

static enum tfd_code next_branch(struct tfd_regex_compiler *c)
{
    struct tfd_regex_group *g = &c->groups[c->depth - 1];
    struct tfd_regex *r = c->r;
    int32_t size = r->step_count - g->branch, at;

    TFD_TRY(insert_split(c, g->branch, 1, size + 2));
    at = r->step_count;
    TFD_TRY(append_instruction(c, TFD_REGEX_JUMP,
                               g->jumps < 0 ? 0 : at - g->jumps, 0));
    g->jumps = at;
    g->branch = r->step_count;
    c->atom = -1;
    return TFD_OK;
}

static void end_group(struct tfd_regex_compiler *c)
{
    struct tfd_regex_group *g = &c->groups[--c->depth];
    struct tfd_regex *r = c->r;
    int32_t at = g->jumps;

    while (at >= 0) {
        int32_t back = r->steps[at].x;

        r->steps[at].x = r->step_count - at;
        at = back ? at - back : -1;
    }
    c->flags = g->flags;
    c->atom = g->begin;
}

static enum tfd_code close_group(struct tfd_regex_compiler *c)
{
    if (c->depth == 1)
        return wrong_parentheses(c, "unexpected )");
    end_group(c);
    return TFD_OK;
}

static bool is_name(struct tfd_str name)
{
    for (size_t i = 0; i < name.size; i++) {
        char a = name.data[i];

        if (!(a >= 'a' && a <= 'z') && !(a >= 'A' && a <= 'Z') &&
            !(a >= '0' && a <= '9') && a != '_')
            return false;
    }
    return name.size > 0;
}

static enum tfd_code open_named(struct tfd_regex_compiler *c)
{
    const char *close = memchr(c->p, '>', (size_t)(c->end - c->p));

    if (!close || !is_name((struct tfd_str){c->p, (size_t)(close - c->p)}))
        return tfd_regex_wrong(c, "invalid named capture group");
    c->p = close + 1;
    return open_group(c, c->flags);
}

/* The letters of (?flags) and (?flags:...), up to the sign that ends them. */
static enum tfd_code read_flags(struct tfd_regex_compiler *c, unsigned *flags)
{
    static const struct {
        char letter;
        unsigned flag;
    } letters[] = {{'i', TFD_REGEX_FOLD},
                   {'m', TFD_REGEX_LINES},
                   {'s', TFD_REGEX_DOT_LINE},
                   {'U', 0}};
    bool off = false;

    for (; tfd_regex_left(c) && *c->p != ')' && *c->p != ':'; c->p++) {
        size_t i = 0;

        if (*c->p == '-' && !off) {
            off = true;
            continue;
        }
        while (i < 4 && letters[i].letter != *c->p)
            i++;
        if (i == 4)
            break;
        *flags = off ? *flags & ~letters[i].flag : *flags | letters[i].flag;
    }
    if (!tfd_regex_left(c) || (*c->p != ')' && *c->p != ':'))
        return tfd_regex_wrong(c, "invalid perl operator: (?");
    return TFD_OK;
}

/* After '('. */
static enum tfd_code read_group(struct tfd_regex_compiler *c)
{
    unsigned flags = c->flags, outside = c->flags;

    if (!tfd_regex_take(c, "?"))
        return open_group(c, outside);
    if (tfd_regex_take(c, "P<"))
        return open_named(c);
    TFD_TRY(read_flags(c, &flags));
    c->flags = flags;
    if (tfd_regex_take(c, ":"))
        return open_group(c, outside);
    c->p++; /* ')': the flags hold until the enclosing group ends */
    c->atom = -1;
    return TFD_OK;
}

/* ---- Repetition ---------------------------------------------------------- */

static enum tfd_code copy_part(struct tfd_regex_compiler *c, int32_t from,
                               int32_t size)
{
    struct tfd_regex *r = c->r;

    TFD_TRY(make_program_room(c, size));
    memcpy(&r->steps[r->step_count], &r->steps[from],
           (size_t)size * sizeof(*r->steps));
    r->step_count += size;
    return TFD_OK;
}

static enum tfd_code star(struct tfd_regex_compiler *c, int32_t at)
{
    int32_t size = c->r->step_count - at;

    TFD_TRY(insert_split(c, at, 1, size + 2));
    return append_instruction(c, TFD_REGEX_JUMP, -size - 1, 0);
}

/* x{least,most}, most -1 for any: copies of x, the later ones to be skipped. */
static enum tfd_code repeat(struct tfd_regex_compiler *c, int32_t least,
                            int32_t most)
{
    int32_t at = c->atom, size = c->r->step_count - at;
    int32_t copies = most < 0 ? least + 1 : most;

    if (most == 0) {
        c->r->step_count = at;
        return TFD_OK;
    }
    for (int32_t i = 1; i < copies; i++)
        TFD_TRY(copy_part(c, at, size));
    if (most < 0)
        return star(c, at + least * size);
    for (int32_t i = most - 1; i >= least; i--)
        TFD_TRY(insert_split(c, at + i * size, 1,
                             c->r->step_count - (at + i * size) + 1));
    return TFD_OK;
}

/* Longer numbers are no repetition but plain text, as in RE2. */
#define REPEAT_DIGITS_MAX 8

/* "{2}", "{2,}", "{2,5}"; false and nothing read when it is plain text. */
static bool read_bounds(struct tfd_regex_compiler *c, uint32_t *least,
                        uint32_t *most, bool *open)
{
    const char *start = c->p;

    *open = false;
    if (tfd_regex_take(c, "{") &&
        tfd_regex_class_number(c, 10, 1, REPEAT_DIGITS_MAX, least)) {
        *most = *least;
        if (tfd_regex_take(c, ","))
            *open = !tfd_regex_class_number(c, 10, 1, REPEAT_DIGITS_MAX, most);
        if (tfd_regex_take(c, "}"))
            return true;
    }
    c->p = start;
    return false;
}

/* What stands for a repetition at c->p; *found tells whether one did. */
static enum tfd_code read_repeat(struct tfd_regex_compiler *c, bool *found)
{
    uint32_t least = 0, most = 0;
    bool open = false;

    *found = true;
    if (tfd_regex_take(c, "*")) {
        open = true;
    } else if (tfd_regex_take(c, "+")) {
        open = true;
        least = 1;
    } else if (tfd_regex_take(c, "?")) {
        most = 1;
    } else if (!read_bounds(c, &least, &most, &open)) {
        *found = false;
        return TFD_OK;
    }
    (void)tfd_regex_take(c, "?"); /* lazy */
    if (c->atom < 0)
        return tfd_regex_wrong(c, "no argument for repetition operator");
    if (least > TFD_REGEX_REPEAT_MAX ||
        (!open && (most > TFD_REGEX_REPEAT_MAX || most < least)))
        return tfd_regex_wrong(c, "invalid repetition size");
    TFD_TRY(repeat(c, (int32_t)least, open ? -1 : (int32_t)most));
    return TFD_OK;
}

/* Whether another one follows. */
static bool repeats(struct tfd_regex_compiler *c)
{
    const char *p = c->p;
    uint32_t least, most;
    bool open, found;

    if (!tfd_regex_left(c))
        return false;
    found = *p == '*' || *p == '+' || *p == '?' ||
            read_bounds(c, &least, &most, &open);
    c->p = p;
    return found;
}

/* ---- The pattern --------------------------------------------------------- */

static enum tfd_code append_test(struct tfd_regex_compiler *c,
                                 enum tfd_regex_op op)
{
    c->atom = c->r->step_count;
    return append_instruction(c, op, 0, 0);
}

/* \Q...\E */
static enum tfd_code read_quoted(struct tfd_regex_compiler *c)
{
    uint32_t character;

    while (tfd_regex_left(c) && !tfd_regex_take(c, "\\E")) {
        TFD_TRY(tfd_regex_class_plain(c, &character));
        TFD_TRY(append_character(c, character));
    }
    return TFD_OK;
}

static enum tfd_code read_escape(struct tfd_regex_compiler *c)
{
    int32_t begin = c->r->range_count;
    uint32_t character;
    bool found;

    if (tfd_regex_take(c, "A"))
        return append_test(c, TFD_REGEX_TEXT_BEGIN);
    if (tfd_regex_take(c, "z"))
        return append_test(c, TFD_REGEX_TEXT_END);
    if (tfd_regex_take(c, "b"))
        return append_test(c, TFD_REGEX_WORD_EDGE);
    if (tfd_regex_take(c, "B"))
        return append_test(c, TFD_REGEX_NO_WORD_EDGE);
    if (tfd_regex_take(c, "Q"))
        return read_quoted(c);
    TFD_TRY(tfd_regex_class_perl(c, &found));
    if (found)
        return append_class(c, begin);
    TFD_TRY(tfd_regex_class_escaped(c, &character));
    return append_character(c, character);
}

static enum tfd_code read_part(struct tfd_regex_compiler *c)
{
    bool lines = c->flags & TFD_REGEX_LINES;
    int32_t begin = c->r->range_count;
    uint32_t character;

    if (tfd_regex_take(c, "("))
        return read_group(c);
    if (tfd_regex_take(c, ")"))
        return close_group(c);
    if (tfd_regex_take(c, "|"))
        return next_branch(c);
    if (tfd_regex_take(c, "[")) {
        TFD_TRY(tfd_regex_class_read(c));
        return append_class(c, begin);
    }
    if (tfd_regex_take(c, "\\"))
        return read_escape(c);
    if (tfd_regex_take(c, "."))
        return append_dot(c);
    if (tfd_regex_take(c, "^"))
        return append_test(c,
                           lines ? TFD_REGEX_LINE_BEGIN : TFD_REGEX_TEXT_BEGIN);
    if (tfd_regex_take(c, "$"))
        return append_test(c, lines ? TFD_REGEX_LINE_END : TFD_REGEX_TEXT_END);
    TFD_TRY(tfd_regex_class_plain(c, &character));
    return append_character(c, character);
}

static enum tfd_code read_pattern(struct tfd_regex_compiler *c)
{
    bool found;

    TFD_TRY(open_group(c, 0));
    while (tfd_regex_left(c)) {
        TFD_TRY(read_repeat(c, &found));
        if (found && repeats(c))
            return tfd_regex_wrong(c, "bad repetition operator");
        if (!found)
            TFD_TRY(read_part(c));
    }
    if (c->depth > 1)
        return wrong_parentheses(c, "missing )");
    end_group(c);
    return append_instruction(c, TFD_REGEX_MATCH, 0, 0);
}

enum tfd_code tfd_regex_compile(struct tfd_regex *r, struct tfd_str pattern,
                                struct tfd_status *st)
{
    struct tfd_regex_compiler *c = calloc(1, sizeof(*c));
    enum tfd_code rc;

    memset(r, 0, sizeof(*r));
    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a pattern");
    c->r = r;
    c->pattern = pattern;
    c->p = pattern.size ? pattern.data : "";
    c->end = c->p + pattern.size;
    c->st = st;
    rc = read_pattern(c);
    free(c);
    if (rc != TFD_OK)
        tfd_regex_deinit(r);
    return rc;
}

void tfd_regex_deinit(struct tfd_regex *r)
{
    free(r->steps);
    free(r->ranges);
    memset(r, 0, sizeof(*r));
}
