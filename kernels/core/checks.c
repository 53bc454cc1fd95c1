/*
 * checks.c - the checks of definitions, tested before a kernel runs.
 *
 * On the hot path, so arguments are mapped to inputs by counting: the tensors
 * that no single argument claims are shared evenly by the lists, which is right
 * unless an op has lists of different lengths.
 */
#include "kernels/core/registry.h"

struct range {
    int first, count;
};

static bool is_list(const struct tfd_op_arg *arg)
{
    return arg->number_attr >= 0 || arg->list_attr >= 0;
}

static int length_attr(const struct tfd_op_arg *arg)
{
    return arg->number_attr >= 0 ? arg->number_attr : arg->list_attr;
}

/* The lists' attribute; -1 when there is no list, -2 when there are several
 * attributes. */
static int common_length(const struct tfd_op *op, int *lists)
{
    int attr = -1;

    *lists = 0;
    for (int i = 0; i < op->in_count; i++) {
        if (!is_list(&op->in[i]))
            continue;
        ++*lists;
        if (attr != -1 && attr != length_attr(&op->in[i]))
            return -2;
        attr = length_attr(&op->in[i]);
    }
    return attr;
}

static struct range inputs_of(const struct tfd_op *op, const struct tfd_kctx *k,
                              int arg)
{
    struct range r = {0, 1};
    int lists, length = 1, attr = common_length(op, &lists);

    if (attr == -2) {
        int32_t first, count;

        tfd_node_arg(k->node, arg, &first, &count);
        return (struct range){first, count};
    }
    if (lists)
        length = (k->in_count - (op->in_count - lists)) / lists;
    for (int i = 0; i < arg; i++)
        r.first += is_list(&op->in[i]) ? length : 1;
    r.count = is_list(&op->in[arg]) ? length : 1;
    return r;
}

/* ---- Messages ------------------------------------------------------------ */

/* The words of the check, with what it found for %s and %d. */
static enum tfd_code fail_words(const struct tfd_check *c,
                                const struct tfd_tensor *t,
                                struct tfd_status *st)
{
    char shape[TFD_SHAPE_TEXT_MAX];
    struct tfd_bytes text;

    tfd_shape_text(&t->shape, shape);
    tfd_bytes_init(&text, TFD_STATUS_TEXT_MAX);
    for (size_t i = 0; i < c->words.size; i++) {
        char kind = i + 1 < c->words.size ? c->words.data[i + 1] : '\0';

        if (c->words.data[i] != '%' || (kind != 's' && kind != 'd')) {
            tfd_bytes_printf(&text, "%c", c->words.data[i]);
            continue;
        }
        if (kind == 's')
            tfd_bytes_printf(&text, "%s", shape);
        else
            tfd_bytes_printf(&text, "%d", t->shape.rank);
        i++;
    }
    tfd_fail(st, TFD_INVALID_ARGUMENT, TFD_STR_FMT,
             TFD_STR_ARG(tfd_bytes_view(&text)));
    tfd_bytes_deinit(&text);
    return TFD_INVALID_ARGUMENT;
}

static enum tfd_code fail_check(const struct tfd_op *op,
                                const struct tfd_check *c,
                                const struct tfd_tensor *t, const char *what,
                                struct tfd_status *st)
{
    char text[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " must %s, but its shape is %s",
                    TFD_STR_ARG(op->in[c->arg].name), what,
                    tfd_shape_text(&t->shape, text));
}

static const char *const rank_names[] = {"be a scalar", "be a vector",
                                         "be a matrix"};

/* A lower and an equal upper bound, side by side, mean one rank. */
static bool is_exact(const struct tfd_op *op, const struct tfd_check *c)
{
    int at = (int)(c - op->checks);
    int other = c->kind == TFD_CHECK_RANK_MIN ? at + 1 : at - 1;
    const struct tfd_check *o;

    if (other < 0 || other >= op->check_count)
        return false;
    o = &op->checks[other];
    return o->kind != c->kind && o->kind <= TFD_CHECK_RANK_MAX &&
           o->arg == c->arg && o->value == c->value;
}

static enum tfd_code fail_rank(const struct tfd_op *op,
                               const struct tfd_check *c,
                               const struct tfd_tensor *t,
                               struct tfd_status *st)
{
    const char *bound = c->kind == TFD_CHECK_RANK_MIN ? "at least" : "at most";
    char text[TFD_SHAPE_TEXT_MAX];

    if (is_exact(op, c)) {
        if (c->value < TFD_COUNT(rank_names))
            return fail_check(op, c, t, rank_names[c->value], st);
        bound = "exactly";
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " must have %s %d dimensions, but its shape is "
                                "%s",
                    TFD_STR_ARG(op->in[c->arg].name), bound, c->value,
                    tfd_shape_text(&t->shape, text));
}

static enum tfd_code fail_like(const struct tfd_op *op,
                               const struct tfd_check *c,
                               const struct tfd_tensor *a,
                               const struct tfd_tensor *b,
                               struct tfd_status *st)
{
    char x[TFD_SHAPE_TEXT_MAX], y[TFD_SHAPE_TEXT_MAX];

    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    TFD_STR_FMT " and " TFD_STR_FMT " must have the same "
                                "shape, but have %s and %s",
                    TFD_STR_ARG(op->in[c->arg].name),
                    TFD_STR_ARG(op->in[c->value].name),
                    tfd_shape_text(&a->shape, x), tfd_shape_text(&b->shape, y));
}

/* ---- Testing ------------------------------------------------------------- */

/* A reference has its value behind a lock; kernels that take one check it. */
static bool is_value(const struct tfd_kctx *k, int in)
{
    return !k->ref || !k->ref[in];
}

static enum tfd_code check_like(const struct tfd_op *op,
                                const struct tfd_kctx *k,
                                const struct tfd_check *c, int in, int at,
                                struct tfd_status *st)
{
    struct range other = inputs_of(op, k, c->value);
    int with = other.first + (other.count > 1 ? at : 0);

    if (at >= other.count && other.count != 1)
        return TFD_OK;
    if (!is_value(k, with) ||
        tfd_shape_equal(&k->in[in].shape, &k->in[with].shape))
        return TFD_OK;
    return fail_like(op, c, &k->in[in], &k->in[with], st);
}

static enum tfd_code check_input(const struct tfd_op *op,
                                 const struct tfd_kctx *k,
                                 const struct tfd_check *c, int in, int at,
                                 struct tfd_status *st)
{
    const struct tfd_tensor *t = &k->in[in];

    switch (c->kind) {
    case TFD_CHECK_RANK_MIN:
        return t->shape.rank >= c->value ? TFD_OK : fail_rank(op, c, t, st);
    case TFD_CHECK_RANK_MAX:
        return t->shape.rank <= c->value ? TFD_OK : fail_rank(op, c, t, st);
    case TFD_CHECK_ONE:
        return tfd_tensor_elements(t) == 1
                   ? TFD_OK
                   : fail_check(op, c, t, "have one element", st);
    case TFD_CHECK_NONEMPTY:
        return tfd_tensor_elements(t) > 0
                   ? TFD_OK
                   : fail_check(op, c, t, "not be empty", st);
    case TFD_CHECK_LIKE:
        return check_like(op, k, c, in, at, st);
    }
    return TFD_OK;
}

static enum tfd_code check_one(const struct tfd_op *op,
                               const struct tfd_kctx *k,
                               const struct tfd_check *c, int in, int at,
                               struct tfd_status *st)
{
    if (!c->words.size)
        return check_input(op, k, c, in, at, st);
    if (check_input(op, k, c, in, at, NULL) == TFD_OK)
        return TFD_OK;
    return fail_words(c, &k->in[in], st);
}

enum tfd_code tfd_checks_run(const struct tfd_op *op, const struct tfd_kctx *k,
                             struct tfd_status *st)
{
    for (int i = 0; i < op->check_count; i++) {
        const struct tfd_check *c = &op->checks[i];
        struct range r = inputs_of(op, k, c->arg);

        for (int at = 0; at < r.count; at++)
            if (is_value(k, r.first + at))
                TFD_TRY(check_one(op, k, c, r.first + at, at, st));
    }
    return TFD_OK;
}
