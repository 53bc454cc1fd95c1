/*
 * letters.c - StringLength, StringStrip, StringLower, StringUpper.
 *
 * Letters change by ASCII where the encoding is '', and where it is 'utf-8' as
 * the Unicode standard says, which is ICU's work.
 */
#include "common/base/min.h"
#include "common/base/small.h"
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/letter_case.h"
#include "kernels/text/utf8.h"
#include "kernels/vector/simd.h"

#define STRING_COST_NS 30
#define STRINGS_BETWEEN_LOOKS 4096

/* ---- StringLength -------------------------------------------------------- */

static enum tfd_code length_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    bool *in_characters = state;
    struct tfd_str unit;

    TFD_TRY(tfd_node_str(p->node, "unit", &unit, st));
    *in_characters = tfd_str_is(unit, "UTF8_CHAR");
    return TFD_OK;
}

/* In bytes.  Both kinds of sizes are read, and no kind is guessed. */
TFD_SIMD_LOOP(sizes)
{
    const struct tfd_kctx *k = arg;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    int32_t *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        const size_t size = x[i].u.large.size,
                     mask = size & 3 ? SIZE_MAX : UINT8_MAX;

        y[i] = (int32_t)((size & mask) >> 2);
    }
}
TFD_SIMD_CLONES_WIDE(sizes)

static void length_range(void *arg, int64_t begin, int64_t end)
{
    struct tfd_kctx *k = arg;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    const bool *in_characters = k->state;
    int32_t *y = tfd_tensor_data(&k->out[0]);

    while (begin < end && !tfd_halted()) {
        const int64_t n = tfd_min(end - begin, STRINGS_BETWEEN_LOOKS);

        if (!*in_characters)
            sizes(k, begin, begin + n);
        for (int64_t i = begin; *in_characters && i < begin + n; i++)
            y[i] = (int32_t)tfd_utf8_count(tfd_tstring_view(&x[i]));
        begin += n;
    }
}

static enum tfd_code length_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &k->in[0].shape, st));
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), STRING_COST_NS,
                      length_range, k);
    return TFD_OK;
}

/* ---- StringStrip --------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static enum tfd_code strip_range(void *arg, int64_t begin, int64_t end,
                                 struct tfd_status *st)
{
    struct tfd_kctx *k = arg;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    struct tfd_tstring *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        struct tfd_str s = tfd_tstring_view(&x[i]);

        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        for (; s.size && is_space(*s.data); s.size--)
            s.data++;
        while (s.size && is_space(s.data[s.size - 1]))
            s.size--;
        TFD_TRY(tfd_small_set(&y[i], s, st));
    }
    return TFD_OK;
}

static enum tfd_code strip_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    return tfd_kctx_try(k, tfd_tensor_elements(&k->in[0]), STRING_COST_NS,
                        strip_range, k, st);
}

/* ---- StringLower, StringUpper -------------------------------------------- */

static enum tfd_code case_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct tfd_letter_case *c = state;
    struct tfd_str encoding;

    TFD_TRY(tfd_node_str(p->node, "encoding", &encoding, st));
    c->upper = tfd_str_is(p->node->op->name, "StringUpper");
    c->unicode = tfd_str_is(encoding, "utf-8");
    if (encoding.size && !c->unicode)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "only utf-8 or '' (no encoding) is supported, "
                        "received " TFD_STR_FMT,
                        TFD_STR_ARG(encoding));
    return TFD_OK;
}

static enum tfd_code ascii_case(struct tfd_str s, bool upper,
                                struct tfd_tstring *y, struct tfd_status *st)
{
    char first = upper ? 'a' : 'A', *to;

    TFD_TRY(tfd_tstring_resize(y, s.size, st));
    to = tfd_tstring_room(y);
    for (size_t i = 0; i < s.size; i++) {
        bool changes = s.data[i] >= first && s.data[i] <= first + 'z' - 'a';

        to[i] = changes ? (char)(s.data[i] ^ 0x20) : s.data[i];
    }
    return TFD_OK;
}

static enum tfd_code case_range(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    struct tfd_kctx *k = arg;
    const struct tfd_letter_case *c = k->state;
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    struct tfd_tstring *y = tfd_tensor_data(&k->out[0]);

    if (c->unicode)
        return tfd_letter_case(c, x + begin, y + begin, end - begin, st);
    for (int64_t i = begin; i < end; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(ascii_case(tfd_tstring_view(&x[i]), c->upper, &y[i], st));
    }
    return TFD_OK;
}

static enum tfd_code case_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[0]);

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    return count == 0
               ? TFD_OK
               : tfd_kctx_try(k, count, STRING_COST_NS, case_range, k, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define LETTERS(op, attributes)                                             \
    {                                                                       \
        .name = op, .inputs = "input: string", .outputs = "output: string", \
        .attrs = attributes, .shape = tfd_shape_like_first,                 \
        .flags = TFD_OP_NO_GRADIENT,                                        \
    }

static const struct tfd_opdef ops[] = {
    {
        .name = "StringLength",
        .inputs = "input: string",
        .outputs = "output: int32",
        .attrs = "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
    LETTERS("StringLower", "encoding: string = ''"),
    LETTERS("StringUpper", "encoding: string = ''"),
    LETTERS("StringStrip", ""),
};

/* The first letter outside ASCII loads a library. */
#define CASE(op)                                                 \
    TFD_KERNEL_ANY(op, case_compute, .prepare = case_prepare,    \
                   .state_size = sizeof(struct tfd_letter_case), \
                   .flags = TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("StringLength", length_compute, .prepare = length_prepare,
                   .state_size = sizeof(bool)),
    CASE("StringLower"),
    CASE("StringUpper"),
    TFD_KERNEL_ANY("StringStrip", strip_compute),
};

const struct tfd_family tfd_family_letters = {
    .name = "letters",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
