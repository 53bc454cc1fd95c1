/*
 * string_split.c - StringSplit, StringSplitV2: strings into pieces, as a sparse
 * matrix that has a row for each string.
 *
 * The strings are cut twice: once to count the pieces, once to copy them.
 */
#define _GNU_SOURCE 1 /* memmem */
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

#define STRINGS_BETWEEN_LOOKS 1024
#define PIECES_BETWEEN_LOOKS 65536

/* A string that is being cut. */
struct cutter {
    struct tfd_str rest;
    struct tfd_str separator;
    const bool *separates; /* of StringSplit: whether a byte is in separator */
    int64_t left; /* cuts that may still be made; negative: any number */
    bool done;    /* the last piece has been given */
    bool skip_empty;
};

/* The next piece; false when there is none. */
typedef bool cut_fn(struct cutter *c, struct tfd_str *piece);

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The piece of `size` bytes goes, with what separates it from the rest. */
static struct tfd_str cut_off(struct cutter *c, size_t size, size_t separator)
{
    struct tfd_str piece = {c->rest.data, size};

    c->rest.data += size + separator;
    c->rest.size -= size + separator;
    return piece;
}

static bool cut_rest(struct cutter *c, struct tfd_str *piece)
{
    *piece = c->rest;
    c->done = true;
    return true;
}

/* ---- StringSplit: any byte of the delimiter ------------------------------ */

static bool cut_bytes(struct cutter *c, struct tfd_str *piece)
{
    if (c->rest.size == 0)
        return false;
    *piece = cut_off(c, 1, 0);
    return true;
}

static bool cut_any(struct cutter *c, struct tfd_str *piece)
{
    while (!c->done) {
        size_t n = 0;

        while (n < c->rest.size && !c->separates[(uint8_t)c->rest.data[n]])
            n++;
        if (n == c->rest.size)
            cut_rest(c, piece);
        else
            *piece = cut_off(c, n, 1);
        if (piece->size || !c->skip_empty)
            return true;
    }
    return false;
}

static cut_fn *start_split(struct cutter *c)
{
    c->done = c->rest.size == 0;
    return c->separator.size ? cut_any : cut_bytes;
}

/* ---- StringSplitV2: a separator, or white space -------------------------- */

static bool cut_separator(struct cutter *c, struct tfd_str *piece)
{
    const char *found;

    if (c->done)
        return false;
    found = c->left == 0 || c->rest.size == 0
                ? NULL
                : memmem(c->rest.data, c->rest.size, c->separator.data,
                         c->separator.size);
    if (!found)
        return cut_rest(c, piece);
    c->left -= c->left > 0;
    *piece = cut_off(c, (size_t)(found - c->rest.data), c->separator.size);
    return true;
}

/* After the last cut that may be made comes the rest, even an empty one. */
static bool cut_words(struct cutter *c, struct tfd_str *piece)
{
    size_t n = 0;

    if (c->done)
        return false;
    while (c->rest.size && is_space(*c->rest.data))
        cut_off(c, 1, 0);
    if (c->left == 0)
        return cut_rest(c, piece);
    while (n < c->rest.size && !is_space(c->rest.data[n]))
        n++;
    *piece = cut_off(c, n, 0);
    c->left -= c->left > 0;
    return n > 0;
}

static cut_fn *start_split_v2(struct cutter *c)
{
    if (c->left == 0) /* a string that is not cut keeps its blanks */
        return cut_separator;
    return c->separator.size ? cut_separator : cut_words;
}

/* ---- Both ---------------------------------------------------------------- */

struct splitting {
    const struct tfd_kctx *k;
    struct cutter how; /* what a cutter begins with */
    bool second;       /* StringSplitV2 */
    int64_t pieces, columns;
};

/* Cuts string `row`; copies the pieces from number `first` on, if asked to. */
static enum tfd_code split_row(const struct splitting *s, int64_t row,
                               int64_t first, bool copy, int64_t *count,
                               struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&s->k->in[0]);
    struct cutter c = s->how;
    struct tfd_str piece;
    cut_fn *next;

    c.rest = tfd_tstring_view(&x[row]);
    next = s->second ? start_split_v2(&c) : start_split(&c);
    for (*count = 0; next(&c, &piece); ++*count) {
        int64_t at = first + *count;

        if (*count % PIECES_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        if (!copy)
            continue;
        ((int64_t *)tfd_tensor_data(&s->k->out[0]))[2 * at] = row;
        ((int64_t *)tfd_tensor_data(&s->k->out[0]))[2 * at + 1] = *count;
        TFD_TRY(tfd_tstring_set(
            (struct tfd_tstring *)tfd_tensor_data(&s->k->out[1]) + at, piece,
            st));
    }
    return TFD_OK;
}

static enum tfd_code split_rows(struct splitting *s, bool copy,
                                struct tfd_status *st)
{
    int64_t rows = tfd_tensor_elements(&s->k->in[0]), count;

    s->pieces = 0;
    for (int64_t row = 0; row < rows; row++) {
        if (row % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(split_row(s, row, s->pieces, copy, &count, st));
        s->pieces += count;
        s->columns = tfd_max(s->columns, count);
    }
    return TFD_OK;
}

static enum tfd_code split_strings(struct tfd_kctx *k, struct splitting *s,
                                   struct tfd_status *st)
{
    struct tfd_shape pairs = {2, {0, 2}}, two = {1, {2}};
    int64_t *shape;

    TFD_TRY(split_rows(s, false, st));
    pairs.dim[0] = s->pieces;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &pairs, st));
    pairs.rank = 1;
    TFD_TRY(tfd_kctx_output(k, 1, TFD_STRING, &pairs, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_INT64, &two, st));
    shape = tfd_tensor_data(&k->out[2]);
    shape[0] = tfd_tensor_elements(&k->in[0]);
    shape[1] = s->columns;
    return tfd_halted() ? TFD_OK : split_rows(s, true, st);
}

static enum tfd_code split_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct cutter *how = state;

    return tfd_node_bool(p->node, "skip_empty", &how->skip_empty, st);
}

static enum tfd_code split_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct splitting s = {.k = k, .how = *(const struct cutter *)k->state};
    bool separates[UINT8_MAX + 1] = {false};

    TFD_TRY(tfd_check_str(k, 1, &s.how.separator, st));
    for (size_t i = 0; i < s.how.separator.size; i++)
        separates[(uint8_t)s.how.separator.data[i]] = true;
    s.how.separates = separates;
    return split_strings(k, &s, st);
}

static enum tfd_code split_v2_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct cutter *how = state;

    return tfd_node_int(p->node, "maxsplit", &how->left, st);
}

static enum tfd_code split_v2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct splitting s = {
        .k = k, .how = *(const struct cutter *)k->state, .second = true};

    TFD_TRY(tfd_check_str(k, 1, &s.how.separator, st));
    return split_strings(k, &s, st);
}

static enum tfd_code split_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    static const struct tfd_shape shape[] = {{2, {-1, 2}}, {1, {-1}}, {1, {2}}};

    (void)st;
    for (int i = 0; i < 3; i++)
        s->out[i] = shape[i];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

#define INPUT "input: vector 'input must be a vector, got shape: %s'; "

static const struct tfd_opdef ops[] = {
    {
        .name = "StringSplit",
        .inputs = "input: string, delimiter: string",
        .outputs = "indices: int64, values: string, shape: int64",
        .attrs = "skip_empty: bool = true",
        .checks = INPUT "delimiter: scalar 'delimiter must be a scalar, got "
                        "shape: %s'",
        .shape = split_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StringSplitV2",
        .inputs = "input: string, sep: string",
        .outputs = "indices: int64, values: string, shape: int64",
        .attrs = "maxsplit: int = -1",
        .checks = INPUT "sep: scalar 'sep must be a scalar, got shape: %s'",
        .shape = split_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StringSplit", split_compute, .prepare = split_prepare,
                   .state_size = sizeof(struct cutter)),
    TFD_KERNEL_ANY("StringSplitV2", split_v2_compute,
                   .prepare = split_v2_prepare,
                   .state_size = sizeof(struct cutter)),
};

const struct tfd_family tfd_family_string_split = {
    .name = "string_split",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
