/*
 * string.c - StringJoin, StaticRegexFullMatch, ShardedFilename.
 *
 * Patterns are handed to the C library as POSIX extended expressions.  What RE2
 * (TensorFlow's) has beyond them - \d, \w, lazy quantifiers, (?...) groups - is
 * refused with INVALID_ARGUMENT when the graph is registered, never matched in
 * another sense.
 */
#include "kernels/check.h"
#include "kernels/families.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- StringJoin ---------------------------------------------------------- */

static enum tfd_code separator_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    return tfd_node_str(p->node, "separator", state, st);
}

static struct tfd_str string_at(const struct tfd_tensor *t, int64_t i)
{
    const struct tfd_tstring *s = tfd_tensor_data(t);

    return tfd_tstring_view(&s[t->shape.rank == 0 ? 0 : i]);
}

static enum tfd_code join_one(struct tfd_kctx *k, int64_t i,
                              struct tfd_tstring *out, struct tfd_status *st)
{
    const struct tfd_str *separator = k->state;
    size_t size = 0;
    char *at;

    for (int n = 0; n < k->in_count; n++)
        size += string_at(&k->in[n], i).size + (n ? separator->size : 0);
    TFD_TRY(tfd_tstring_resize(out, size, st));
    at = out->data;
    for (int n = 0; n < k->in_count; n++) {
        struct tfd_str s = string_at(&k->in[n], i);

        if (n && separator->size) {
            memcpy(at, separator->data, separator->size);
            at += separator->size;
        }
        if (s.size)
            memcpy(at, s.data, s.size);
        at += s.size;
    }
    return TFD_OK;
}

static enum tfd_code join_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape shape = {0, {0}};
    struct tfd_tstring *y;
    int64_t n;

    for (int i = 0; i < k->in_count; i++) {
        if (k->in[i].shape.rank == 0)
            continue;
        if (shape.rank != 0 && !tfd_shape_equal(&shape, &k->in[i].shape))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input shapes do not match: input %d has another "
                            "shape than an earlier one",
                            i);
        shape = k->in[i].shape;
    }
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &shape, st));
    y = tfd_tensor_data(&k->out[0]);
    n = tfd_shape_elements(&shape);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(join_one(k, i, &y[i], st));
    return TFD_OK;
}

static enum tfd_code join_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    struct tfd_shape out = {0, {0}};

    for (int i = 0; i < s->in_count; i++) {
        if (s->in[i].rank == TFD_RANK_UNKNOWN)
            return TFD_OK;
        if (s->in[i].rank == 0)
            continue;
        if (out.rank == 0)
            out = s->in[i];
        else
            TFD_TRY(tfd_shape_merge(&out, &s->in[i], st));
    }
    s->out[0] = out;
    return TFD_OK;
}

/* ---- StaticRegexFullMatch ------------------------------------------------ */

struct pattern {
    regex_t regex;
    bool compiled;
};

/* A construct of RE2 that POSIX reads differently; NULL when there is none. */
static const char *beyond_posix(struct tfd_str p)
{
    for (size_t i = 0; i + 1 < p.size; i++) {
        char a = p.data[i], b = p.data[i + 1];

        if (a == '\\' && ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') ||
                          (b >= '0' && b <= '9')))
            return "an escape sequence";
        if (a == '\\') {
            i++; /* an escaped character stands for itself */
            continue;
        }
        if (a == '(' && b == '?')
            return "a (? group";
        if ((a == '*' || a == '+' || a == '?' || a == '}') && b == '?')
            return "a lazy quantifier";
    }
    return NULL;
}

static enum tfd_code pattern_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct pattern *pattern = state;
    struct tfd_str text;
    const char *beyond;
    char whole[4096];
    int rc;

    TFD_TRY(tfd_node_str(p->node, "pattern", &text, st));
    beyond = beyond_posix(text);
    if (beyond || text.size + 8 > sizeof(whole) ||
        memchr(text.data, '\0', text.size))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid pattern: " TFD_STR_FMT ": %s is not supported",
                        TFD_STR_ARG(text), beyond ? beyond : "its size");
    snprintf(whole, sizeof(whole), "(%.*s)", (int)text.size, text.data);
    rc = regcomp(&pattern->regex, whole, REG_EXTENDED | REG_NEWLINE);
    if (rc != 0) {
        char why[128];

        regerror(rc, &pattern->regex, why, sizeof(why));
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid pattern: " TFD_STR_FMT ", error: %s",
                        TFD_STR_ARG(text), why);
    }
    pattern->compiled = true;
    return TFD_OK;
}

static void pattern_release(void *state)
{
    struct pattern *pattern = state;

    if (pattern->compiled)
        regfree(&pattern->regex);
}

/* regexec() wants a terminated string; one with a NUL inside matches nothing
 * but ".*", which is not worth a second engine. */
static enum tfd_code matches(const struct pattern *p, struct tfd_str s,
                             tfd_bool *out, struct tfd_status *st)
{
    regmatch_t match;
    char small[256];
    char *copy = s.size < sizeof(small) ? small : malloc(s.size + 1);

    if (!copy)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to match a string of %zu bytes", s.size);
    if (s.size)
        memcpy(copy, s.data, s.size);
    copy[s.size] = '\0';
    /* POSIX finds the longest of the leftmost matches: the whole string, if
     * that matches.  "." does not match a line's end, as in RE2. */
    *out = regexec(&p->regex, copy, 1, &match, 0) == 0 && match.rm_so == 0 &&
           (size_t)match.rm_eo == s.size;
    if (copy != small)
        free(copy);
    return TFD_OK;
}

static enum tfd_code match_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    int64_t n = tfd_tensor_elements(&k->in[0]);
    tfd_bool *y;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &k->in[0].shape, st));
    y = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(matches(k->state, tfd_tstring_view(&x[i]), &y[i], st));
    return TFD_OK;
}

/* ---- ShardedFilename ----------------------------------------------------- */

static enum tfd_code sharded_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    int64_t shard, count;
    struct tfd_str base;
    char tail[64];
    struct tfd_tstring *y;
    int n;

    TFD_TRY(tfd_check_str(k, 0, &base, st));
    TFD_TRY(tfd_check_int(k, 1, &shard, st));
    TFD_TRY(tfd_check_int(k, 2, &count, st));
    n = snprintf(tail, sizeof(tail), "-%05lld-of-%05lld", (long long)shard,
                 (long long)count);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(tfd_tstring_resize(y, base.size + (size_t)n, st));
    if (base.size)
        memcpy(y->data, base.data, base.size);
    memcpy(y->data + base.size, tail, (size_t)n);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "StringJoin",
        .inputs = "inputs: N * string",
        .outputs = "output: string",
        .attrs = "N: int >= 0; separator: string = ''",
        .shape = join_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StaticRegexFullMatch",
        .inputs = "input: string",
        .outputs = "output: bool",
        .attrs = "pattern: string",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ShardedFilename",
        .inputs = "basename: string, shard: int32, num_shards: int32",
        .outputs = "filename: string",
        .attrs = "",
        .checks = "basename: scalar; shard: scalar; num_shards: scalar",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StringJoin", join_compute, .prepare = separator_prepare,
                   .state_size = sizeof(struct tfd_str)),
    TFD_KERNEL_ANY("StaticRegexFullMatch", match_compute,
                   .prepare = pattern_prepare, .release = pattern_release,
                   .state_size = sizeof(struct pattern)),
    TFD_KERNEL_ANY("ShardedFilename", sharded_compute),
};

const struct tfd_family tfd_family_string = {
    .name = "string",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
