/*
 * string_split.c - StringSplit, StringSplitV2: strings into pieces, as a sparse
 * matrix that has a row for each string.
 *
 * The strings are cut twice: once to count the pieces, once to copy them.  Most
 * callers ask for words, the runs of bytes that do not separate; those are
 * found by 64 bytes at once, as the bits of a number, since a loop that looks
 * for the end of each word guesses its length wrong.
 */
#define _GNU_SOURCE 1 /* memmem */
#include "common/base/alloc.h"
#include "common/base/min.h"
#include "common/base/small.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"

#include <string.h>

#define PIECES_BETWEEN_LOOKS 65536
#define BLOCK 64 /* bytes */
#define BLOCKS_BETWEEN_LOOKS 4096
#define STRING_COST_NS 20 /* and one for each byte */

/* A byte that separates is `one`, or one of `count` from `from` on.  Where that
 * does not say it, it is in a table. */
struct separator {
    unsigned char one, from, count;
    bool by_table;
};

static const struct separator white_space = {' ', '\t', '\r' - '\t' + 1, false};

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

/* ---- Words --------------------------------------------------------------- */

/* Bit i: whether byte i of a block separates. */
static uint64_t separating_bits(const struct separator *s, const bool *table,
                                const unsigned char *block)
{
    unsigned char is[BLOCK];
    uint64_t bits = 0, eight;

    if (s->by_table)
        for (int i = 0; i < BLOCK; i++)
            is[i] = table[block[i]];
    else
        for (int i = 0; i < BLOCK; i++)
            is[i] = (block[i] == s->one) |
                    ((unsigned char)(block[i] - s->from) < s->count);
    for (int i = 0; i < BLOCK; i += 8) {
        memcpy(&eight, is + i, 8);
        /* The lowest bits of eight bytes, side by side. */
        bits |= eight * UINT64_C(0x0102040810204080) >> 56 << i;
    }
    return bits;
}

/* Those of a string from byte `at` on; behind its end all separate. */
static uint64_t separating_at(const struct separator *s, const bool *table,
                              struct tfd_str text, size_t at)
{
    const unsigned char *from = (const unsigned char *)text.data + at;
    unsigned char block[BLOCK];

    if (text.size - at >= BLOCK)
        return separating_bits(s, table, from);
    memset(block, s->one, BLOCK);
    memcpy(block, from, text.size - at);
    return separating_bits(s, table, block);
}

static bool halted_at_byte(size_t at)
{
    return at % (BLOCKS_BETWEEN_LOOKS * (size_t)BLOCK) == 0 && tfd_halted();
}

static int64_t count_words(const struct separator *s, const bool *table,
                           struct tfd_str text)
{
    uint64_t before = 1; /* whether the last byte separates */
    int64_t count = 0;

    for (size_t at = 0; at < text.size && !halted_at_byte(at); at += BLOCK) {
        uint64_t bits = separating_at(s, table, text, at);

        count += __builtin_popcountll(~bits & (bits << 1 | before));
        before = bits >> (BLOCK - 1);
    }
    return count;
}

/* ---- Pieces -------------------------------------------------------------- */

struct splitting {
    const struct tfd_kctx *k;
    struct cutter how; /* what a cutter begins with */
    struct separator separator;
    bool words;     /* pieces are what lies between separators */
    bool by_byte;   /* and empty ones, too; the separator has one byte */
    bool second;    /* StringSplitV2 */
    int64_t *first; /* piece of each string, and of one behind the last */
};

static struct cutter cutter_of(const struct splitting *s, struct tfd_str text,
                               cut_fn **next)
{
    struct cutter c = s->how;

    c.rest = text;
    *next = s->second ? start_split_v2(&c) : start_split(&c);
    return c;
}

static int64_t count_by_byte(char separator, struct tfd_str text)
{
    int64_t count = 1;
    size_t n;

    for (; text.size > 0 && !tfd_halted(); text.data += n, text.size -= n) {
        n = text.size < TFD_HALT_BLOCK_SIZE ? text.size : TFD_HALT_BLOCK_SIZE;
        for (size_t i = 0; i < n; i++)
            count += text.data[i] == separator;
    }
    return count;
}

static int64_t count_pieces(const struct splitting *s, struct tfd_str text)
{
    struct tfd_str piece;
    int64_t count = 0;
    struct cutter c;
    cut_fn *next;

    if (s->by_byte)
        return count_by_byte(*s->how.separator.data, text);
    if (s->words)
        return count_words(&s->separator, s->how.separates, text);
    for (c = cutter_of(s, text, &next); next(&c, &piece); count++)
        if (count % PIECES_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
    return count;
}

/* Where the pieces of a string go. */
struct pieces {
    int64_t row;
    int64_t (*index)[2];
    struct tfd_tstring *value;
    int64_t count, most;
};

/* A short string of bytes behind which there are others that may be read: in
 * three words, whatever its size. */
static void set_short(struct tfd_tstring *t, const char *data, size_t size)
{
    static const unsigned char keep[2 * TFD_TSTRING_SMALL_MAX + 1] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    const unsigned char *mask = keep + TFD_TSTRING_SMALL_MAX - size;
    static const int from[] = {0, 7, 15};
    uint64_t word[3], kept;

    for (int i = 0; i < 3; i++) {
        memcpy(&word[i], data + from[i], 8);
        memcpy(&kept, mask + from[i], 8);
        word[i] &= kept;
    }
    word[0] = word[0] << 8 | size << 2;
    memcpy(t, word, sizeof(*t));
}

static enum tfd_code add_piece(struct pieces *p, struct tfd_str text,
                               struct tfd_str piece, struct tfd_status *st)
{
    const size_t behind = text.size - (size_t)(piece.data - text.data);
    struct tfd_tstring *t = &p->value[p->count];

    p->index[p->count][0] = p->row;
    p->index[p->count][1] = p->count;
    p->count++;
    if (piece.size > TFD_TSTRING_SMALL_MAX || behind < sizeof(*t))
        return tfd_small_set(t, piece, st);
    set_short(t, piece.data, piece.size);
    return TFD_OK;
}

static enum tfd_code copy_words(const struct splitting *s, struct pieces *p,
                                struct tfd_str text, struct tfd_status *st)
{
    uint64_t before = 1;
    size_t begin = 0;

    for (size_t at = 0; at < text.size + 1 && !halted_at_byte(at);
         at += BLOCK) {
        uint64_t bits =
            separating_at(&s->separator, s->how.separates, text, at);
        uint64_t edges = bits ^ (bits << 1 | before);
        bool inside = !before;

        for (; edges && p->count < p->most; edges &= edges - 1) {
            size_t edge = at + (size_t)__builtin_ctzll(edges);

            if (inside)
                TFD_TRY(add_piece(
                    p, text, (struct tfd_str){text.data + begin, edge - begin},
                    st));
            begin = edge;
            inside = !inside;
        }
        before = bits >> (BLOCK - 1);
    }
    return TFD_OK;
}

static enum tfd_code copy_by_byte(char separator, struct pieces *p,
                                  struct tfd_str text, struct tfd_status *st)
{
    struct tfd_str rest = text;

    for (; p->count < p->most; rest.data++, rest.size--) {
        const char *stop =
            rest.size ? memchr(rest.data, separator, rest.size) : NULL;
        const size_t size = stop ? (size_t)(stop - rest.data) : rest.size;

        if (p->count % PIECES_BETWEEN_LOOKS == PIECES_BETWEEN_LOOKS - 1 &&
            tfd_halted())
            break;
        TFD_TRY(add_piece(p, text, (struct tfd_str){rest.data, size}, st));
        if (!stop)
            break;
        rest.data += size;
        rest.size -= size;
    }
    return TFD_OK;
}

static enum tfd_code copy_pieces(const struct splitting *s, struct pieces *p,
                                 struct tfd_str text, struct tfd_status *st)
{
    struct tfd_str piece;
    struct cutter c;
    cut_fn *next;

    if (s->words)
        return copy_words(s, p, text, st);
    if (s->by_byte)
        return copy_by_byte(*s->how.separator.data, p, text, st);
    c = cutter_of(s, text, &next);
    while (p->count < p->most && next(&c, &piece)) {
        if (p->count % PIECES_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(add_piece(p, text, piece, st));
    }
    return TFD_OK;
}

/* ---- Strings ------------------------------------------------------------- */

static struct tfd_str text_at(const struct splitting *s, int64_t row)
{
    const struct tfd_tstring *x = tfd_tensor_data(&s->k->in[0]);

    return tfd_tstring_view(&x[row]);
}

static void count_strings(void *arg, int64_t begin, int64_t end)
{
    const struct splitting *s = arg;

    for (int64_t row = begin; row < end && !tfd_halted(); row++)
        s->first[row + 1] = count_pieces(s, text_at(s, row));
}

static enum tfd_code split_rows(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    const struct splitting *s = arg;
    int64_t(*index)[2] = tfd_tensor_data(&s->k->out[0]);
    struct tfd_tstring *value = tfd_tensor_data(&s->k->out[1]);

    for (int64_t row = begin; row < end && !tfd_halted(); row++) {
        const int64_t first = s->first[row];
        struct pieces p = {.row = row,
                           .index = index + first,
                           .value = value + first,
                           .most = s->first[row + 1] - first};

        if (p.most)
            TFD_TRY(copy_pieces(s, &p, text_at(s, row), st));
    }
    return TFD_OK;
}

static int cost_of_string(const struct splitting *s, int64_t rows)
{
    double size = 0;

    for (int64_t row = 0; row < rows; row++)
        size += (double)text_at(s, row).size;
    size = rows ? size / (double)rows : 0;
    return size < 1e9 ? (int)size + STRING_COST_NS : 1000000000;
}

static enum tfd_code split_counted(struct tfd_kctx *k, struct splitting *s,
                                   int64_t rows, struct tfd_status *st)
{
    struct tfd_shape pairs = {2, {0, 2}}, two = {1, {2}};
    const int cost = cost_of_string(s, rows);
    int64_t *shape, columns = 0;

    memset(s->first, 0, (size_t)(rows + 1) * sizeof(*s->first));
    tfd_kctx_parallel(k, rows, cost, count_strings, s);
    for (int64_t row = 0; row < rows; row++) {
        columns = tfd_max(columns, s->first[row + 1]);
        s->first[row + 1] += s->first[row];
    }
    pairs.dim[0] = s->first[rows];
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &pairs, st));
    pairs.rank = 1;
    TFD_TRY(tfd_kctx_output(k, 1, TFD_STRING, &pairs, st));
    TFD_TRY(tfd_kctx_output(k, 2, TFD_INT64, &two, st));
    shape = tfd_tensor_data(&k->out[2]);
    shape[0] = rows;
    shape[1] = columns;
    return tfd_kctx_try(k, rows, cost, split_rows, s, st);
}

static enum tfd_code split_strings(struct tfd_kctx *k, struct splitting *s,
                                   struct tfd_status *st)
{
    const int64_t rows = tfd_tensor_elements(&k->in[0]);
    struct tfd_buffer *b =
        tfd_buffer_new((size_t)(rows + 1) * sizeof(*s->first));
    enum tfd_code rc;

    if (!b)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "OOM when allocating the counts of %lld strings",
                        (long long)rows);
    s->first = b->data;
    rc = split_counted(k, s, rows, st);
    tfd_buffer_unref(b);
    return rc;
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
    s.words = s.how.skip_empty && s.how.separator.size > 0;
    if (s.words)
        s.separator =
            (struct separator){.one = (unsigned char)s.how.separator.data[0],
                               .by_table = s.how.separator.size > 1};
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
    struct splitting s = {.k = k,
                          .how = *(const struct cutter *)k->state,
                          .separator = white_space,
                          .second = true};

    TFD_TRY(tfd_check_str(k, 1, &s.how.separator, st));
    s.words = s.how.left < 0 && s.how.separator.size == 0;
    s.by_byte = s.how.left < 0 && s.how.separator.size == 1;
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
