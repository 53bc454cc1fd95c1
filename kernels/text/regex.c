/*
 * regex.c - RegexFullMatch, RegexReplace, and StaticRegexFullMatch and
 * StaticRegexReplace, whose pattern and rewrite are attributes.
 *
 * A pattern is compiled at its first execution: on a compute thread, as that
 * may take milliseconds.
 */
#include "common/base/atomic.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/pattern.h"
#include "kernels/text/replace.h"

/* Of a match in a short string. */
#define MATCH_COST_NS 200
#define REPLACE_COST_NS 1000
#define ELEMENTS_BETWEEN_LOOKS 4096

struct regex {
    struct tfd_pattern_cache cache;
    struct tfd_str pattern, rewrite; /* of the static ops */
    bool all;
};

static void regex_release(void *state)
{
    struct regex *r = state;

    tfd_pattern_cache_deinit(&r->cache);
}

/* ---- Matching ------------------------------------------------------------ */

struct matching {
    const struct tfd_re2 *re2;
    const struct tfd_tstring *x;
    tfd_bool *y;
};

static enum tfd_code match_range(void *arg, int64_t begin, int64_t end,
                                 struct tfd_status *st)
{
    const struct matching *m = arg;

    for (int64_t i = begin; i < end; i++) {
        bool matches;

        if (i % ELEMENTS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(tfd_re2_full_match(m->re2, tfd_tstring_view(&m->x[i]), &matches,
                                   st));
        m->y[i] = matches;
    }
    return TFD_OK;
}

static enum tfd_code match_all(struct tfd_kctx *k, struct tfd_str pattern,
                               struct tfd_status *st)
{
    struct regex *r = k->state;
    struct matching m = {.x = tfd_tensor_data(&k->in[0])};
    struct tfd_pattern *p;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &k->in[0].shape, st));
    m.y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(tfd_pattern_get(&r->cache, pattern, &p, st));
    m.re2 = p->re2;
    rc = tfd_kctx_try(k, tfd_tensor_elements(&k->in[0]), MATCH_COST_NS,
                      match_range, &m, st);
    tfd_pattern_unref(p);
    return rc;
}

static enum tfd_code match_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct regex *r = state;

    (void)p;
    (void)st;
    tfd_pattern_cache_init(&r->cache);
    return TFD_OK;
}

static enum tfd_code match_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str pattern;

    TFD_TRY(tfd_check_str(k, 1, &pattern, st));
    return match_all(k, pattern, st);
}

static enum tfd_code static_match_prepare(const struct tfd_prepare *p,
                                          void *state, struct tfd_status *st)
{
    struct regex *r = state;

    tfd_pattern_cache_init(&r->cache);
    return tfd_node_str(p->node, "pattern", &r->pattern, st);
}

static enum tfd_code static_match_compute(struct tfd_kctx *k,
                                          struct tfd_status *st)
{
    const struct regex *r = k->state;

    return match_all(k, r->pattern, st);
}

/* ---- Replacing ----------------------------------------------------------- */

struct replacing {
    struct tfd_replace replace;
    const struct tfd_tstring *x;
    struct tfd_tstring *y;
    size_t made; /* bytes, by all threads */
};

static enum tfd_code replace_one(struct replacing *r, int64_t i,
                                 struct tfd_bytes *text, struct tfd_status *st)
{
    size_t made;
    bool changed;

    TFD_TRY(tfd_replace(&r->replace, tfd_tstring_view(&r->x[i]), text, &changed,
                        st));
    TFD_TRY(tfd_bytes_ok(text, "replaced string", st));
    if (!changed)
        return tfd_tstring_copy(&r->y[i], &r->x[i], st);
    made = TFD_COUNTER_ADD(&r->made, text->size);
    if (made > TFD_REPLACED_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "the strings would have %zu bytes, at most %zu may be",
                        made, TFD_REPLACED_SIZE_MAX);
    return tfd_tstring_set(&r->y[i], tfd_bytes_view(text), st);
}

static enum tfd_code replace_range(void *arg, int64_t begin, int64_t end,
                                   struct tfd_status *st)
{
    enum tfd_code rc = TFD_OK;
    struct tfd_bytes text;

    tfd_bytes_init(&text, TFD_REPLACED_SIZE_MAX);
    for (int64_t i = begin; i < end && rc == TFD_OK; i++) {
        if (i % ELEMENTS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        rc = replace_one(arg, i, &text, st);
    }
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code replace_strings(struct tfd_kctx *k, struct tfd_str pattern,
                                     struct tfd_str rewrite,
                                     struct tfd_status *st)
{
    struct regex *state = k->state;
    struct replacing r = {.x = tfd_tensor_data(&k->in[0])};
    struct tfd_pattern *p;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    r.y = tfd_tensor_data(&k->out[0]);
    TFD_TRY(tfd_pattern_get(&state->cache, pattern, &p, st));
    tfd_replace_init(&r.replace, p->re2, rewrite, state->all);
    rc = tfd_kctx_try(k, tfd_tensor_elements(&k->in[0]), REPLACE_COST_NS,
                      replace_range, &r, st);
    tfd_pattern_unref(p);
    return rc;
}

static enum tfd_code replace_prepare(const struct tfd_prepare *p, void *state,
                                     struct tfd_status *st)
{
    struct regex *r = state;

    tfd_pattern_cache_init(&r->cache);
    return tfd_node_bool(p->node, "replace_global", &r->all, st);
}

static enum tfd_code replace_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_str pattern, rewrite;

    TFD_TRY(tfd_check_str(k, 1, &pattern, st));
    TFD_TRY(tfd_check_str(k, 2, &rewrite, st));
    return replace_strings(k, pattern, rewrite, st);
}

static enum tfd_code static_replace_prepare(const struct tfd_prepare *p,
                                            void *state, struct tfd_status *st)
{
    struct regex *r = state;

    TFD_TRY(replace_prepare(p, state, st));
    TFD_TRY(tfd_node_str(p->node, "pattern", &r->pattern, st));
    return tfd_node_str(p->node, "rewrite", &r->rewrite, st);
}

static enum tfd_code static_replace_compute(struct tfd_kctx *k,
                                            struct tfd_status *st)
{
    const struct regex *r = k->state;

    return replace_strings(k, r->pattern, r->rewrite, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define PATTERN "pattern: scalar 'Pattern must be scalar, but received %s'"
#define REWRITE "rewrite: scalar 'Rewrite must be scalar, but received %s'"

static const struct tfd_opdef ops[] = {
    {
        .name = "RegexFullMatch",
        .inputs = "input: string, pattern: string",
        .outputs = "output: bool",
        .attrs = "",
        .checks = PATTERN,
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "RegexReplace",
        .inputs = "input: string, pattern: string, rewrite: string",
        .outputs = "output: string",
        .attrs = "replace_global: bool = true",
        .checks = PATTERN "; " REWRITE,
        .shape = tfd_shape_like_first,
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
        .name = "StaticRegexReplace",
        .inputs = "input: string",
        .outputs = "output: string",
        .attrs = "pattern: string; rewrite: string; "
                 "replace_global: bool = true",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define REGEX(op, name)                                           \
    TFD_KERNEL_ANY(op, name##_compute, .prepare = name##_prepare, \
                   .release = regex_release,                      \
                   .state_size = sizeof(struct regex),            \
                   .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    REGEX("RegexFullMatch", match),
    REGEX("RegexReplace", replace),
    REGEX("StaticRegexFullMatch", static_match),
    REGEX("StaticRegexReplace", static_replace),
};

const struct tfd_family tfd_family_regex = {
    .name = "regex",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
