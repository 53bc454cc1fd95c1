/*
 * opdef_parse.c - see opdef.h for the notation.
 *
 * One pass over each of the texts with a scanner that knows what it stands on.
 * Attributes come first, because arguments name them.  Lists are counted by
 * their separators, which is never too few, and allocated once.
 */
#include "common/graph/opdef_parse.h"

#include "common/graph/attr.h"
#include "common/graph/opdef_scan.h"

#include <string.h>

/* An upper bound for the number of parts. */
static size_t count_parts(const char *text, char separator)
{
    size_t n = 1;

    for (; *text; text++)
        n += *text == separator;
    return n;
}

/* ---- Attributes: kinds --------------------------------------------------- */

/* "{float, half}": behind the brace. */
static enum tfd_code parse_type_set(struct tfd_scan *s, struct tfd_op_attr *a)
{
    a->kind = TFD_ATTR_TYPE;
    a->types = 0;
    do {
        uint32_t types = tfd_scan_types(tfd_scan_word(s));

        if (!types)
            return tfd_scan_fail(s, "a type");
        a->types |= types;
    } while (tfd_scan_eat(s, ","));
    return tfd_scan_need(s, "}");
}

/* "{'SAME', 'VALID'}": behind the brace. */
static enum tfd_code parse_string_set(struct tfd_scan *s, struct tfd_op_attr *a)
{
    struct tfd_str strings[TFD_SCAN_LIST_MAX];
    void *copy;

    a->kind = TFD_ATTR_STRING;
    do {
        if (a->string_count == TFD_SCAN_LIST_MAX)
            return tfd_scan_fail(s, "fewer strings");
        TFD_TRY(tfd_scan_quoted(s, &strings[a->string_count++]));
    } while (tfd_scan_eat(s, ","));

    TFD_TRY(
        tfd_scan_array(s, (size_t)a->string_count, sizeof(*strings), &copy));
    memcpy(copy, strings, sizeof(*strings) * (size_t)a->string_count);
    a->strings = copy;
    return tfd_scan_need(s, "}");
}

static enum tfd_code parse_kind(struct tfd_scan *s, struct tfd_op_attr *a)
{
    struct tfd_str name;

    if (tfd_scan_eat(s, "{")) {
        return !tfd_scan_end(s) && (*s->at == '\'' || *s->at == '"')
                   ? parse_string_set(s, a)
                   : parse_type_set(s, a);
    }
    TFD_TRY(tfd_scan_name(s, &name));
    for (int kind = TFD_ATTR_STRING; kind <= TFD_ATTR_FUNC; kind++)
        if (kind != TFD_ATTR_TYPE &&
            tfd_str_is(name, tfd_attr_kind_name((enum tfd_attr_kind)kind))) {
            a->kind = (enum tfd_attr_kind)kind;
            return TFD_OK;
        }
    a->kind = TFD_ATTR_TYPE;
    a->types = tfd_scan_types(name);
    return a->types ? TFD_OK : tfd_scan_fail(s, "a kind of attribute before");
}

static enum tfd_code parse_any_kind(struct tfd_scan *s, struct tfd_op_attr *a)
{
    const char *start = s->at;

    if (tfd_scan_eat(s, "list")) {
        if (tfd_scan_eat(s, "(")) {
            a->list = true;
            TFD_TRY(parse_kind(s, a));
            return tfd_scan_need(s, ")");
        }
        s->at = start;
    }
    return parse_kind(s, a);
}

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code parse_attr(struct tfd_scan *s, struct tfd_op_attr *a)
{
    TFD_TRY(tfd_scan_name(s, &a->name));
    a->name = tfd_arena_str(s->arena, a->name);
    TFD_TRY(tfd_arena_check(a->name.data, "an attribute's name", s->st));
    TFD_TRY(tfd_scan_need(s, ":"));
    TFD_TRY(parse_any_kind(s, a));
    if (tfd_scan_eat(s, ">=")) {
        if (a->kind != TFD_ATTR_INT && !a->list)
            return tfd_scan_fail(s, "no minimum before");
        a->has_minimum = true;
        TFD_TRY(tfd_scan_int(s, &a->minimum));
    }
    return tfd_scan_eat(s, "=") ? tfd_scan_default(s, a) : TFD_OK;
}

static enum tfd_code parse_attrs(struct tfd_scan *s, const char *text,
                                 struct tfd_op *op)
{
    struct tfd_op_attr *attrs;
    void *memory;

    if (!text)
        return TFD_OK;
    s->at = text;
    TFD_TRY(tfd_scan_array(s, count_parts(text, ';'), sizeof(*attrs), &memory));
    op->attrs = attrs = memory;
    while (!tfd_scan_end(s)) {
        struct tfd_op_attr a = {.list = false};

        TFD_TRY(parse_attr(s, &a));
        if (tfd_op_attr_find(op, a.name))
            return tfd_scan_fail(s, "each attribute once before");
        attrs[op->attr_count++] = a;
        if (!tfd_scan_eat(s, ";") && !tfd_scan_end(s))
            return tfd_scan_fail(s, ";");
    }
    return TFD_OK;
}

/* ---- Arguments ----------------------------------------------------------- */

/* The index of an attribute of this kind, or -1. */
static int attr_index(const struct tfd_op *op, struct tfd_str name,
                      enum tfd_attr_kind kind, bool list)
{
    const struct tfd_op_attr *a = tfd_op_attr_find(op, name);

    if (!a || a->kind != kind || a->list != list)
        return -1;
    return (int)(a - op->attrs);
}

/* Behind the colon: "T", "N * T", "int32", "Tvalues". */
static enum tfd_code parse_arg_type(struct tfd_scan *s, const struct tfd_op *op,
                                    struct tfd_op_arg *arg)
{
    struct tfd_str name;

    TFD_TRY(tfd_scan_name(s, &name));
    if (tfd_scan_eat(s, "*")) {
        arg->number_attr = attr_index(op, name, TFD_ATTR_INT, false);
        if (arg->number_attr < 0)
            return tfd_scan_fail(s, "an int attribute before");
        TFD_TRY(tfd_scan_name(s, &name));
    }
    arg->dtype = tfd_scan_dtype(name);
    arg->type_attr = attr_index(op, name, TFD_ATTR_TYPE, false);
    arg->list_attr = attr_index(op, name, TFD_ATTR_TYPE, true);
    if (arg->dtype)
        arg->type_attr = arg->list_attr = -1;
    else if (arg->type_attr < 0 && arg->list_attr < 0)
        return tfd_scan_fail(s, "a type or an attribute before");
    if (arg->list_attr >= 0 && (arg->number_attr >= 0 || arg->ref))
        return tfd_scan_fail(s, "a single type before");
    return TFD_OK;
}

static enum tfd_code parse_arg(struct tfd_scan *s, const struct tfd_op *op,
                               struct tfd_op_arg *arg)
{
    *arg = (struct tfd_op_arg){.number_attr = -1};
    TFD_TRY(tfd_scan_name(s, &arg->name));
    TFD_TRY(tfd_scan_need(s, ":"));
    arg->ref = tfd_scan_eat(s, "Ref(");
    TFD_TRY(parse_arg_type(s, op, arg));
    return arg->ref ? tfd_scan_need(s, ")") : TFD_OK;
}

static enum tfd_code parse_args(struct tfd_scan *s, const char *text,
                                const struct tfd_op *op,
                                const struct tfd_op_arg **out, int *count)
{
    struct tfd_op_arg *args;
    void *memory;

    s->at = text ? text : "";
    if (tfd_scan_end(s))
        return TFD_OK;
    TFD_TRY(tfd_scan_array(s, count_parts(text, ','), sizeof(*args), &memory));
    *out = args = memory;
    do {
        TFD_TRY(parse_arg(s, op, &args[*count]));
        ++*count;
    } while (tfd_scan_eat(s, ","));
    return tfd_scan_end(s) ? TFD_OK : tfd_scan_fail(s, ",");
}

/* ---- Checks -------------------------------------------------------------- */

struct check_list {
    struct tfd_check checks[TFD_SCAN_LIST_MAX];
    int count;
};

static enum tfd_code add_check(struct tfd_scan *s, struct check_list *l,
                               enum tfd_check_kind kind, int arg, int64_t value)
{
    if (l->count == TFD_SCAN_LIST_MAX || value < 0 || value > TFD_RANK_MAX)
        return tfd_scan_fail(s, "a possible check before");
    l->checks[l->count++] =
        (struct tfd_check){.kind = kind, .arg = arg, .value = (int)value};
    return TFD_OK;
}

static enum tfd_code input_index(struct tfd_scan *s, const struct tfd_op *op,
                                 int *out)
{
    struct tfd_str name;

    TFD_TRY(tfd_scan_name(s, &name));
    for (*out = 0; *out < op->in_count; ++*out)
        if (tfd_str_eq(op->in[*out].name, name))
            return TFD_OK;
    return tfd_scan_fail(s, "the name of an input before");
}

static enum tfd_code add_rank(struct tfd_scan *s, struct check_list *l, int arg,
                              int64_t rank)
{
    TFD_TRY(add_check(s, l, TFD_CHECK_RANK_MIN, arg, rank));
    return add_check(s, l, TFD_CHECK_RANK_MAX, arg, rank);
}

/* Behind "rank". */
static enum tfd_code parse_rank(struct tfd_scan *s, struct check_list *l,
                                int arg)
{
    bool least = tfd_scan_eat(s, ">="), most = !least && tfd_scan_eat(s, "<=");
    int64_t rank;

    if (!least && !most)
        TFD_TRY(tfd_scan_need(s, "="));
    TFD_TRY(tfd_scan_int(s, &rank));
    if (least)
        return add_check(s, l, TFD_CHECK_RANK_MIN, arg, rank);
    if (most)
        return add_check(s, l, TFD_CHECK_RANK_MAX, arg, rank);
    return add_rank(s, l, arg, rank);
}

static enum tfd_code parse_check(struct tfd_scan *s, const struct tfd_op *op,
                                 struct check_list *l, int arg)
{
    int like;

    if (tfd_scan_eat(s, "scalar"))
        return add_rank(s, l, arg, 0);
    if (tfd_scan_eat(s, "vector"))
        return add_rank(s, l, arg, 1);
    if (tfd_scan_eat(s, "matrix"))
        return add_rank(s, l, arg, 2);
    if (tfd_scan_eat(s, "rank"))
        return parse_rank(s, l, arg);
    if (tfd_scan_eat(s, "one"))
        return add_check(s, l, TFD_CHECK_ONE, arg, 0);
    if (tfd_scan_eat(s, "nonempty"))
        return add_check(s, l, TFD_CHECK_NONEMPTY, arg, 0);
    TFD_TRY(tfd_scan_need(s, "like"));
    TFD_TRY(input_index(s, op, &like));
    if (l->count == TFD_SCAN_LIST_MAX)
        return tfd_scan_fail(s, "fewer checks");
    l->checks[l->count++] =
        (struct tfd_check){.kind = TFD_CHECK_LIKE, .arg = arg, .value = like};
    return TFD_OK;
}

/* A check, and what its failure says where that stands behind it. */
static enum tfd_code parse_told_check(struct tfd_scan *s,
                                      const struct tfd_op *op,
                                      struct check_list *l, int arg)
{
    struct tfd_str words;
    int first = l->count;

    TFD_TRY(parse_check(s, op, l, arg));
    if (tfd_scan_end(s) || (*s->at != '\'' && *s->at != '"'))
        return TFD_OK;
    TFD_TRY(tfd_scan_quoted(s, &words));
    for (int i = first; i < l->count; i++)
        l->checks[i].words = words;
    return TFD_OK;
}

static enum tfd_code parse_checks(struct tfd_scan *s, const char *text,
                                  struct tfd_op *op)
{
    struct check_list l = {.count = 0};
    void *copy;
    int arg;

    if (!text)
        return TFD_OK;
    s->at = text;
    while (!tfd_scan_end(s)) {
        TFD_TRY(input_index(s, op, &arg));
        TFD_TRY(tfd_scan_need(s, ":"));
        do
            TFD_TRY(parse_told_check(s, op, &l, arg));
        while (!tfd_scan_eat(s, ";") && !tfd_scan_end(s));
    }
    TFD_TRY(tfd_scan_array(s, (size_t)l.count, sizeof(l.checks[0]), &copy));
    memcpy(copy, l.checks, sizeof(l.checks[0]) * (size_t)l.count);
    op->checks = copy;
    op->check_count = l.count;
    return TFD_OK;
}

/* ---- Whole definitions --------------------------------------------------- */

static enum tfd_code find_key(const struct tfd_scan *s, struct tfd_op *op)
{
    const char *key = op->def->key;

    op->key_attr =
        attr_index(op, tfd_str_of(key ? key : "T"), TFD_ATTR_TYPE, false);
    if (key && op->key_attr < 0)
        return tfd_fail(s->st, TFD_INTERNAL,
                        "definition of %s: the key %s is no type attribute",
                        s->op, key);
    return TFD_OK;
}

enum tfd_code tfd_opdef_parse(const struct tfd_opdef *def,
                              struct tfd_arena *arena, struct tfd_op *op,
                              struct tfd_status *st)
{
    struct tfd_scan s = {"", def->name, arena, st};

    op->def = def;
    op->flags = def->flags;
    TFD_TRY(parse_attrs(&s, def->attrs, op));
    TFD_TRY(parse_args(&s, def->inputs, op, &op->in, &op->in_count));
    TFD_TRY(parse_args(&s, def->outputs, op, &op->out, &op->out_count));
    TFD_TRY(parse_checks(&s, def->checks, op));
    return find_key(&s, op);
}
