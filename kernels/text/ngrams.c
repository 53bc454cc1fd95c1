/*
 * ngrams.c - StringNGrams: runs of neighbouring strings of each row of a ragged
 * tensor, joined, with padding at both ends.
 *
 * The n-gram number i of a row of `size` strings, at a width and its padding,
 * shows places [i - padding, i - padding + width) of the row; places before it
 * are the left padding, those behind it the right one.
 */
#include "common/base/atomic.h"
#include "common/base/min.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

#define PLACES_BETWEEN_LOOKS 65536
#define ROWS_BETWEEN_LOOKS 256
#define INT_MAX_32 INT64_C(2147483647)

struct ngrams {
    struct tfd_str separator, left, right;
    int64_t width[TFD_NGRAM_WIDTHS_MAX];
    int width_count;
    int64_t pad_width; /* negative: as much as the width allows */
    bool keep_short;
};

struct row {
    const struct tfd_tstring *strings;
    int64_t size;
    uint64_t *made; /* bytes, of all rows; atomic */
};

/* What ngram_rows() works on. */
struct making {
    struct tfd_kctx *k;
    uint64_t made;
};

static enum tfd_code ngrams_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct ngrams *g = state;

    TFD_TRY(tfd_node_str(p->node, "separator", &g->separator, st));
    TFD_TRY(tfd_node_str(p->node, "left_pad", &g->left, st));
    TFD_TRY(tfd_node_str(p->node, "right_pad", &g->right, st));
    TFD_TRY(tfd_node_int(p->node, "pad_width", &g->pad_width, st));
    TFD_TRY(
        tfd_node_bool(p->node, "preserve_short_sequences", &g->keep_short, st));
    return tfd_node_ints(p->node, "ngram_widths", g->width,
                         TFD_NGRAM_WIDTHS_MAX, &g->width_count, st);
}

/* ---- How many ------------------------------------------------------------ */

static int64_t padding_of(const struct ngrams *g, int64_t width)
{
    return g->pad_width < 0 ? width - 1 : tfd_min(g->pad_width, width - 1);
}

static enum tfd_code ngram_count(const struct ngrams *g, int64_t size,
                                 int64_t width, int64_t *count,
                                 struct tfd_status *st)
{
    int64_t padding = padding_of(g, width);

    if (padding > INT_MAX_32 / 2 - size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Pad width could lead to integer overflow, got "
                        "pad_width = %lld",
                        (long long)padding);
    *count = tfd_max(0, size + 2 * padding - width + 1);
    return TFD_OK;
}

static enum tfd_code add_places(int64_t *places, int64_t more,
                                struct tfd_status *st)
{
    *places += tfd_min(more, 2 * TFD_NGRAM_PLACES_MAX);
    if (*places <= TFD_NGRAM_PLACES_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "n-grams of more than %lld strings together",
                    (long long)TFD_NGRAM_PLACES_MAX);
}

/* Adds to *places what all n-grams of the row show together. */
static enum tfd_code count_row(const struct ngrams *g, int64_t size,
                               int64_t *count, int64_t *places,
                               struct tfd_status *st)
{
    int64_t some = 0, padding;

    *count = 0;
    for (int w = 0; w < g->width_count; w++) {
        TFD_TRY(ngram_count(g, size, g->width[w], &some, st));
        *count += some;
        TFD_TRY(add_places(places, some * g->width[w], st));
    }
    if (!g->keep_short || size == 0 || *count > 0)
        return TFD_OK;
    *count = 1;
    padding = tfd_max(0, tfd_min(g->pad_width, TFD_NGRAM_PLACES_MAX));
    return add_places(places, size + 2 * padding, st);
}

/* ---- One n-gram ---------------------------------------------------------- */

static struct tfd_str gram_place(const struct ngrams *g, const struct row *r,
                                 int64_t place)
{
    if (place < 0)
        return g->left;
    return place < r->size ? tfd_tstring_view(&r->strings[place]) : g->right;
}

static char *put(char *at, struct tfd_str s)
{
    if (s.size)
        memcpy(at, s.data, s.size);
    return at + s.size;
}

static enum tfd_code make_ngram(const struct ngrams *g, const struct row *r,
                                int64_t first, int64_t width,
                                struct tfd_tstring *y, struct tfd_status *st)
{
    size_t size = (size_t)(width - 1) * g->separator.size;
    char *at;

    for (int64_t i = 0; i < width; i++) {
        if (i % PLACES_BETWEEN_LOOKS == 0 && tfd_halted())
            return TFD_OK;
        size += gram_place(g, r, first + i).size;
    }
    if (TFD_COUNTER_ADD(r->made, size) > TFD_NGRAM_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "n-grams of more than %zu bytes together",
                        TFD_NGRAM_SIZE_MAX);
    TFD_TRY(tfd_tstring_resize(y, size, st));
    at = tfd_tstring_room(y);
    for (int64_t i = 0; i < width; i++) {
        if (i)
            at = put(at, g->separator);
        at = put(at, gram_place(g, r, first + i));
    }
    return TFD_OK;
}

/* ---- One row ------------------------------------------------------------- */

static enum tfd_code make_width(const struct ngrams *g, const struct row *r,
                                int64_t width, struct tfd_tstring **y,
                                struct tfd_status *st)
{
    int64_t count = 0;

    TFD_TRY(ngram_count(g, r->size, width, &count, st));
    for (int64_t i = 0; i < count && !tfd_halted(); i++)
        TFD_TRY(make_ngram(g, r, i - padding_of(g, width), width, (*y)++, st));
    return TFD_OK;
}

static enum tfd_code make_row(const struct ngrams *g, const struct row *r,
                              struct tfd_tstring *y, struct tfd_status *st)
{
    struct tfd_tstring *at = y;

    for (int w = 0; w < g->width_count; w++)
        TFD_TRY(make_width(g, r, g->width[w], &at, st));
    if (!g->keep_short || at != y || r->size == 0 || tfd_halted())
        return TFD_OK;
    if (g->pad_width < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Pad width should be >= 0 when "
                        "preserve_short_sequences is True and ngram_widths "
                        "are not provided, got %lld",
                        (long long)g->pad_width);
    if (g->pad_width > INT_MAX_32 / 2 - r->size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Pad width could lead to integer overflow, got "
                        "pad_width = %lld",
                        (long long)g->pad_width);
    return make_ngram(g, r, -g->pad_width, r->size + 2 * g->pad_width, y, st);
}

/* ---- The tensor ---------------------------------------------------------- */

static enum tfd_code check_splits(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    int64_t size = tfd_tensor_elements(&k->in[0]), last = 0;
    int64_t count = tfd_tensor_elements(&k->in[1]);

    for (int64_t i = 0; i < count; i++) {
        int64_t split = tfd_check_int_at(&k->in[1], i);

        if (i == 0 && split != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "First split value must be 0, got %lld",
                            (long long)split);
        if (split < last || (i > 0 && split > size))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid split value %lld, must be in [%lld, %lld]",
                            (long long)split, (long long)last, (long long)size);
        last = split;
    }
    if (count > 0 && last != size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Last split value must be data size. Expected %lld, "
                        "got %lld",
                        (long long)size, (long long)last);
    return TFD_OK;
}

static void put_split(const struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

/* Writes the splits of the result; *total is the number of n-grams. */
static enum tfd_code count_ngrams(struct tfd_kctx *k, int64_t *total,
                                  struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[1]), some = 0, places = 0;

    *total = 0;
    put_split(&k->out[1], 0, 0);
    for (int64_t i = 1; i < count; i++) {
        int64_t size =
            tfd_check_int_at(&k->in[1], i) - tfd_check_int_at(&k->in[1], i - 1);

        TFD_TRY(count_row(k->state, size, &some, &places, st));
        *total += some;
        if (k->in[1].dtype == TFD_INT32 && *total > INT32_MAX)
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                            "splits of int32 of %lld n-grams",
                            (long long)*total);
        put_split(&k->out[1], i, *total);
    }
    return TFD_OK;
}

static enum tfd_code ngram_rows(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    struct making *m = arg;
    struct tfd_kctx *k = m->k;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    struct tfd_tstring *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        int64_t first = tfd_check_int_at(&k->in[1], i);
        struct row r = {x + first, tfd_check_int_at(&k->in[1], i + 1) - first,
                        &m->made};

        if (i % ROWS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(
            make_row(k->state, &r, y + tfd_check_int_at(&k->out[1], i), st));
    }
    return TFD_OK;
}

static enum tfd_code ngrams_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct ngrams *g = k->state;
    int64_t rows = tfd_tensor_elements(&k->in[1]) - 1;
    struct tfd_shape out = {1, {0}};
    struct making m = {.k = k};

    for (int w = 0; w < g->width_count; w++)
        if (g->width[w] <= 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "ngram_widths must contain positive values");
    TFD_TRY(check_splits(k, st));
    TFD_TRY(tfd_kctx_output(k, 1, k->in[1].dtype, &k->in[1].shape, st));
    if (rows < 0 || tfd_tensor_elements(&k->in[0]) == 0) {
        for (int64_t i = 0; i <= rows; i++)
            put_split(&k->out[1], i, 0);
        return tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st);
    }
    TFD_TRY(count_ngrams(k, &out.dim[0], st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &out, st));
    return tfd_kctx_try(k, rows,
                        (int)tfd_min(1 + out.dim[0] / (rows + 1) * 50, 1000000),
                        ngram_rows, &m, st);
}

static enum tfd_code ngrams_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {-1}};
    s->out[1] = s->in[1];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "StringNGrams",
        .inputs = "data: string, data_splits: Tsplits",
        .outputs = "ngrams: string, ngrams_splits: Tsplits",
        .attrs = "separator: string; ngram_widths: list(int) >= 0; "
                 "left_pad: string; right_pad: string; pad_width: int; "
                 "preserve_short_sequences: bool; "
                 "Tsplits: {int32, int64} = DT_INT64",
        .key = "Tsplits",
        .shape = ngrams_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StringNGrams", ngrams_compute, .prepare = ngrams_prepare,
                   .state_size = sizeof(struct ngrams)),
};

const struct tfd_family tfd_family_ngrams = {
    .name = "ngrams",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
