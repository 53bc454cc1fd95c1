/*
 * substr.c - Substr: parts of strings, by bytes or by characters.
 *
 * Position and length are broadcast against the strings; TensorFlow does that
 * for results of two dimensions at most.
 */
#include "common/base/atomic.h"
#include "common/base/min.h"
#include "common/base/small.h"
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/broadcast.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/utf8.h"

#define STRING_COST_NS 40
#define STRINGS_BETWEEN_LOOKS 4096

struct substr {
    const struct tfd_kctx *k;
    bool in_characters;
    bool by_rows; /* the result has two dimensions that were broadcast */
    int64_t columns;
    /* How far the strings and the positions move by row and by column. */
    int64_t x_row, x_column, at_row, at_column;
    uint64_t made; /* bytes outside of the elements; atomic */
};

static enum tfd_code substr_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    bool *in_characters = state;
    struct tfd_str unit;

    TFD_TRY(tfd_node_str(p->node, "unit", &unit, st));
    *in_characters = tfd_str_is(unit, "UTF8_CHAR");
    return TFD_OK;
}

/* ---- One string ---------------------------------------------------------- */

/* Moves *at over `count` characters; false when there are fewer. */
static bool skip_forward(struct tfd_str s, int64_t count, size_t *at)
{
    for (; count > 0 && *at < s.size; count--) {
        ++*at;
        while (*at < s.size && tfd_utf8_continues(s.data[*at]))
            ++*at;
    }
    return count <= 0;
}

static bool skip_back(struct tfd_str s, int64_t count, size_t *at)
{
    for (; count > 0 && *at > 0; count--) {
        --*at;
        while (*at > 0 && tfd_utf8_continues(s.data[*at]))
            --*at;
    }
    return count <= 0;
}

static bool part_of_characters(struct tfd_str s, int64_t pos, int64_t len,
                               struct tfd_str *out)
{
    size_t begin = pos < 0 ? s.size : 0, end;

    /* From the end TensorFlow knows no negative length. */
    if (pos < 0 && (pos == INT64_MIN || len < 0))
        return false;
    if (!(pos < 0 ? skip_back(s, -pos, &begin) : skip_forward(s, pos, &begin)))
        return false;
    end = begin;
    skip_forward(s, len, &end);
    *out = (struct tfd_str){s.data + begin, end - begin};
    return true;
}

static bool part_of_bytes(struct tfd_str s, int64_t pos, int64_t len,
                          struct tfd_str *out)
{
    int64_t size = (int64_t)s.size, begin = pos < 0 ? pos + size : pos;

    if (pos < -size || pos > size)
        return false;
    if (len < 0 || len > size - begin) /* as an unsigned length it is huge */
        len = size - begin;
    *out = (struct tfd_str){s.data + begin, (size_t)len};
    return true;
}

static enum tfd_code fail_at(const struct substr *u, struct tfd_str s,
                             int64_t pos, int64_t i, struct tfd_status *st)
{
    long long row = (long long)(i / u->columns);

    if (u->in_characters)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "pos %lld out of range for string at index %lld",
                        (long long)pos, u->by_rows ? row : (long long)i);
    if (u->by_rows)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "pos %lld out of range for string b'" TFD_STR_FMT
                        "' at index (%lld, %lld)",
                        (long long)pos, TFD_STR_ARG(s), row,
                        (long long)(i % u->columns));
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "pos %lld out of range for string b'" TFD_STR_FMT
                    "' at index %lld",
                    (long long)pos, TFD_STR_ARG(s), (long long)i);
}

/* Short parts take no memory of their own, and need no counting. */
static inline enum tfd_code put_substr(struct substr *u, struct tfd_tstring *y,
                                       struct tfd_str part,
                                       struct tfd_status *st)
{
    if (!tfd_small_fits(y, part.size) &&
        TFD_COUNTER_ADD(&u->made, part.size) > TFD_SUBSTR_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "substrings of more than %zu bytes together",
                        TFD_SUBSTR_SIZE_MAX);
    return tfd_small_set(y, part, st);
}

static inline int64_t int_at(const struct tfd_tensor *t, int64_t i)
{
    return t->dtype == TFD_INT64 ? ((const int64_t *)tfd_tensor_data(t))[i]
                                 : ((const int32_t *)tfd_tensor_data(t))[i];
}

/* n of one row, from element i on; x and at are the operands' first. */
static enum tfd_code substr_stretch(struct substr *u, int64_t i, int64_t n,
                                    int64_t x, int64_t at,
                                    struct tfd_status *st)
{
    const struct tfd_tstring *from = tfd_tensor_data(&u->k->in[0]);
    struct tfd_tstring *y = tfd_tensor_data(&u->k->out[0]);
    size_t since = 0; /* bytes, the last look */

    for (const int64_t end = i + n; i < end; i++) {
        const int64_t pos = int_at(&u->k->in[1], at),
                      len = int_at(&u->k->in[2], at);
        struct tfd_str s = tfd_tstring_view(&from[x]), part;

        since += s.size; /* as characters it may be looked through */
        if (since >= TFD_HALT_BLOCK_SIZE) {
            if (tfd_halted())
                break;
            since = 0;
        }
        if (!(u->in_characters ? part_of_characters(s, pos, len, &part)
                               : part_of_bytes(s, pos, len, &part)))
            return fail_at(u, s, pos, i, st);
        TFD_TRY(put_substr(u, &y[i], part, st));
        x += u->x_column;
        at += u->at_column;
    }
    return TFD_OK;
}

static enum tfd_code substr_range(void *arg, int64_t begin, int64_t end,
                                  struct tfd_status *st)
{
    struct substr *u = arg;

    while (begin < end && !tfd_halted()) {
        const int64_t row = begin / u->columns, column = begin % u->columns;
        const int64_t n = tfd_min(tfd_min(u->columns - column, end - begin),
                                  STRINGS_BETWEEN_LOOKS);

        TFD_TRY(substr_stretch(u, begin, n,
                               row * u->x_row + column * u->x_column,
                               row * u->at_row + column * u->at_column, st));
        begin += n;
    }
    return TFD_OK;
}

/* ---- All of them --------------------------------------------------------- */

/* How far an operand moves by row and by column of a result of two dimensions
 * or one. */
static void steps_of(const struct tfd_shape *s, int64_t *row, int64_t *column)
{
    int64_t columns = s->rank > 0 ? s->dim[s->rank - 1] : 1;

    *column = columns > 1;
    *row = s->rank > 1 && s->dim[0] > 1 ? columns : 0;
}

static enum tfd_code substr_broadcast(struct substr *u, struct tfd_shape *out,
                                      struct tfd_status *st)
{
    const struct tfd_shape *x = &u->k->in[0].shape, *at = &u->k->in[1].shape;
    char left[TFD_SHAPE_TEXT_MAX], right[TFD_SHAPE_TEXT_MAX];

    if (!tfd_broadcast_fits(x, at))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible shapes: %s vs. %s",
                        tfd_shape_text(x, left), tfd_shape_text(at, right));
    TFD_TRY(tfd_broadcast_shape(x, at, out, st));
    if (out->rank > 2)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Substr broadcast not implemented for %d dimensions",
                        out->rank);
    u->by_rows = out->rank == 2;
    u->columns = out->dim[out->rank - 1];
    steps_of(x, &u->x_row, &u->x_column);
    steps_of(at, &u->at_row, &u->at_column);
    return TFD_OK;
}

static enum tfd_code substr_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape *at = &k->in[1].shape, *len = &k->in[2].shape;
    char left[TFD_SHAPE_TEXT_MAX], right[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape out = k->in[0].shape;
    struct substr u = {.k = k, .in_characters = *(const bool *)k->state};

    if (!tfd_shape_equal(at, len))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "pos and len should have the same shape, got: %s vs. "
                        "%s",
                        tfd_shape_text(at, left), tfd_shape_text(len, right));
    /* One long row, unless it has to be broadcast. */
    u.columns = tfd_tensor_elements(&k->in[0]);
    u.x_column = 1;
    u.at_column = at->rank > 0;
    if (at->rank > 0 && !tfd_shape_equal(at, &out))
        TFD_TRY(substr_broadcast(&u, &out, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &out, st));
    return tfd_kctx_try(k, tfd_shape_elements(&out), STRING_COST_NS,
                        substr_range, &u, st);
}

static enum tfd_code substr_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    struct tfd_shape at = s->in[1];

    TFD_TRY(tfd_shape_merge(&at, &s->in[2], st));
    return tfd_shape_broadcast2(s, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Substr",
        .inputs = "input: string, pos: T, len: T",
        .outputs = "output: string",
        .attrs = "T: {int32, int64}; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
        .shape = substr_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define SUBSTR(type)                                                      \
    TFD_KERNEL("Substr", type, substr_compute, .prepare = substr_prepare, \
               .state_size = sizeof(bool))

static const struct tfd_kernel kernels[] = {
    SUBSTR(INT32),
    SUBSTR(INT64),
};

const struct tfd_family tfd_family_substr = {
    .name = "substr",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
