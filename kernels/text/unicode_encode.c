/*
 * unicode_encode.c - UnicodeEncode and UnicodeScript: what becomes of code
 * points.
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/code_points.h"

#define ROWS_BETWEEN_LOOKS 1024
#define SCRIPT_COST_NS 20

struct encoder {
    struct tfd_code_point_errors errors;
    tfd_code_point_put_fn *put;
};

static enum tfd_code encode_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct encoder *e = state;
    struct tfd_str encoding;

    TFD_TRY(tfd_code_points_errors(p->node, &e->errors, st));
    TFD_TRY(tfd_node_str(p->node, "output_encoding", &encoding, st));
    e->put = tfd_code_points_put(encoding);
    return TFD_OK;
}

/* ---- UnicodeEncode ------------------------------------------------------- */

static enum tfd_code check_splits_order(const struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[1]), last = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t split = tfd_check_int_at(&k->in[1], i);

        if (i == 0 && split != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "First value in input_splits must be zero.");
        if (split < last)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Values in input_splits must be equal or in "
                            "ascending order.");
        last = split;
    }
    return TFD_OK;
}

static enum tfd_code check_splits(const struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    int64_t points = tfd_tensor_elements(&k->in[0]);
    int64_t count = tfd_tensor_elements(&k->in[1]);

    if (k->in[0].shape.rank != 1 || k->in[1].shape.rank != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Both the input_tensor and input_splits should be of "
                        "rank 1. ");
    if (count == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Input_splits should contain elements, but given "
                        "input_values has 0 elements");
    TFD_TRY(check_splits_order(k, st));
    if (tfd_check_int_at(&k->in[1], count - 1) != points)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Last value in input_splits must be equal to length "
                        "of input_tensor.");
    return TFD_OK;
}

static bool is_character(int32_t point)
{
    return point >= 0 && point <= TFD_CODE_POINT_MAX &&
           (point < 0xd800 || point > 0xdfff);
}

static enum tfd_code encode_row(const struct tfd_kctx *k, int64_t row,
                                struct tfd_bytes *out, struct tfd_status *st)
{
    const struct encoder *e = k->state;
    const int32_t *x = tfd_tensor_data(&k->in[0]);
    int64_t end = tfd_check_int_at(&k->in[1], row + 1);

    tfd_bytes_clear(out);
    for (int64_t i = tfd_check_int_at(&k->in[1], row); i < end; i++) {
        if (is_character(x[i]))
            e->put(out, x[i]);
        else if (e->errors.strict)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Code point is out of range for Unicode, or is a "
                            "surrogate.");
        else if (!e->errors.ignore)
            e->put(out, e->errors.replacement);
    }
    return tfd_bytes_ok(out, "encoded string", st);
}

static enum tfd_code encode_range(void *arg, int64_t begin, int64_t end,
                                  struct tfd_status *st)
{
    struct tfd_kctx *k = arg;
    struct tfd_tstring *y = tfd_tensor_data(&k->out[0]);
    enum tfd_code rc = TFD_OK;
    struct tfd_bytes text;

    tfd_bytes_init(&text, TFD_DECODED_SIZE_MAX);
    for (int64_t i = begin; i < end && rc == TFD_OK; i++) {
        if (i % ROWS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        rc = encode_row(k, i, &text, st);
        if (rc == TFD_OK)
            rc = tfd_tstring_set(&y[i], tfd_bytes_view(&text), st);
    }
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code encode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape out = {1, {0}};
    int64_t cost;

    TFD_TRY(check_splits(k, st));
    out.dim[0] = tfd_tensor_elements(&k->in[1]) - 1;
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &out, st));
    cost = tfd_tensor_elements(&k->in[0]) / (out.dim[0] + 1) * 2 + 20;
    return tfd_kctx_try(k, out.dim[0], cost < 1000000 ? (int)cost : 1000000,
                        encode_range, k, st);
}

static enum tfd_code encode_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){1, {-1}};
    if (s->in[1].rank == 1 && s->in[1].dim[0] > 0)
        s->out[0].dim[0] = s->in[1].dim[0] - 1;
    return TFD_OK;
}

/* ---- UnicodeScript ------------------------------------------------------- */

struct scripts {
    const struct tfd_icu *icu;
    const int32_t *x;
    int32_t *y;
};

static void script_range(void *arg, int64_t begin, int64_t end)
{
    const struct scripts *s = arg;

    for (int64_t i = begin; i < end; i++) {
        int error = 0;
        int32_t script = s->icu->uscript_getScript(s->x[i], &error);

        s->y[i] = error > 0 ? -1 : script;
    }
}

static enum tfd_code script_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct scripts s = {.x = tfd_tensor_data(&k->in[0])};

    TFD_TRY(tfd_icu_get(&s.icu, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &k->in[0].shape, st));
    s.y = tfd_tensor_data(&k->out[0]);
    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), SCRIPT_COST_NS,
                      script_range, &s);
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "UnicodeEncode",
        .inputs = "input_values: int32, input_splits: Tsplits",
        .outputs = "output: string",
        .attrs = "errors: {'ignore', 'replace', 'strict'} = 'replace'; "
                 "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; "
                 "replacement_char: int = 65533; "
                 "Tsplits: {int32, int64} = DT_INT64",
        .key = "Tsplits",
        .shape = encode_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "UnicodeScript",
        .inputs = "input: int32",
        .outputs = "output: int32",
        .attrs = "",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("UnicodeEncode", encode_compute, .prepare = encode_prepare,
                   .state_size = sizeof(struct encoder)),
    TFD_KERNEL_ANY("UnicodeScript", script_compute, .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_unicode_encode = {
    .name = "unicode_encode",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
