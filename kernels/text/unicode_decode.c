/*
 * unicode_decode.c - UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeTranscode:
 * strings of any encoding as code points, or in another encoding.
 *
 * An encoding may have a state, which goes on from string to string, so one
 * thread reads all of them.
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/text/code_points.h"

#include <string.h>

#define STRINGS_BETWEEN_LOOKS 1024

struct coding {
    struct tfd_str encoding;
    struct tfd_code_point_errors errors;
    tfd_code_point_put_fn *put; /* of UnicodeTranscode */
};

static enum tfd_code decode_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct coding *c = state;

    TFD_TRY(tfd_code_points_errors(p->node, &c->errors, st));
    TFD_TRY(tfd_node_bool(p->node, "replace_control_characters",
                          &c->errors.replace_controls, st));
    return tfd_node_str(p->node, "input_encoding", &c->encoding, st);
}

/* ---- Decoding ------------------------------------------------------------ */

struct decoded {
    struct tfd_bytes points; /* int32_t each */
    struct tfd_bytes begins; /* int64_t each */
    bool with_begins;
};

static void take_point(void *arg, int32_t point, size_t begin)
{
    struct decoded *d = arg;
    int64_t at = (int64_t)begin;

    tfd_bytes_add(&d->points, &point, sizeof(point));
    if (d->with_begins)
        tfd_bytes_add(&d->begins, &at, sizeof(at));
}

static void put_split(const struct tfd_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == TFD_INT32)
        ((int32_t *)tfd_tensor_data(t))[i] = (int32_t)value;
    else
        ((int64_t *)tfd_tensor_data(t))[i] = value;
}

static enum tfd_code decode_strings(struct tfd_kctx *k, struct decoded *d,
                                    struct tfd_code_points *r,
                                    struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    int64_t count = tfd_tensor_elements(&k->in[0]);

    put_split(&k->out[0], 0, 0);
    for (int64_t i = 0; i < count; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        TFD_TRY(tfd_code_points_read(r, tfd_tstring_view(&x[i]), take_point, d,
                                     st));
        put_split(&k->out[0], i + 1,
                  (int64_t)(d->points.size / sizeof(int32_t)));
    }
    TFD_TRY(tfd_bytes_ok(&d->begins, "offsets of decoded characters", st));
    return tfd_bytes_ok(&d->points, "decoded characters", st);
}

static enum tfd_code give_bytes(struct tfd_kctx *k, int out,
                                enum tfd_dtype dtype, const struct tfd_bytes *b,
                                struct tfd_status *st)
{
    struct tfd_shape shape = {1, {(int64_t)(b->size / tfd_dtype_size(dtype))}};

    TFD_TRY(tfd_kctx_output(k, out, dtype, &shape, st));
    if (b->size)
        memcpy(tfd_tensor_data(&k->out[out]), b->data, b->size);
    return TFD_OK;
}

static enum tfd_code decode_all(struct tfd_kctx *k, struct decoded *d,
                                struct tfd_status *st)
{
    const struct coding *c = k->state;
    struct tfd_code_points r;
    enum tfd_code rc;

    TFD_TRY(tfd_code_points_open(&r, c->encoding, &c->errors, st));
    rc = decode_strings(k, d, &r, st);
    tfd_code_points_close(&r);
    if (rc != TFD_OK)
        return rc;
    TFD_TRY(give_bytes(k, 1, TFD_INT32, &d->points, st));
    return d->with_begins ? give_bytes(k, 2, TFD_INT64, &d->begins, st)
                          : TFD_OK;
}

static enum tfd_code decode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_shape splits = {1, {tfd_tensor_elements(&k->in[0]) + 1}};
    struct decoded d = {.with_begins = k->out_count > 2};
    enum tfd_dtype dtype = tfd_dtype_base(k->node->out_types[0]);
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, dtype, &splits, st));
    tfd_bytes_init(&d.points, TFD_DECODED_SIZE_MAX);
    tfd_bytes_init(&d.begins, 2 * TFD_DECODED_SIZE_MAX);
    rc = decode_all(k, &d, st);
    tfd_bytes_deinit(&d.points);
    tfd_bytes_deinit(&d.begins);
    return rc;
}

static enum tfd_code decode_shape(struct tfd_shape_ctx *s,
                                  struct tfd_status *st)
{
    int64_t elements = tfd_shape_elements(&s->in[0]);

    (void)st;
    for (int i = 0; i < s->out_count; i++)
        s->out[i] = (struct tfd_shape){1, {-1}};
    if (elements >= 0)
        s->out[0].dim[0] = elements + 1;
    return TFD_OK;
}

/* ---- UnicodeTranscode ---------------------------------------------------- */

static enum tfd_code transcode_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct coding *c = state;
    struct tfd_str encoding;

    TFD_TRY(decode_prepare(p, state, st));
    TFD_TRY(tfd_node_str(p->node, "output_encoding", &encoding, st));
    c->put = tfd_code_points_put(encoding);
    c->errors.strict_controls = true; /* only here */
    return TFD_OK;
}

struct transcoded {
    struct tfd_bytes bytes;
    tfd_code_point_put_fn *put;
};

static void put_point(void *arg, int32_t point, size_t begin)
{
    struct transcoded *t = arg;

    (void)begin;
    t->put(&t->bytes, point);
}

static enum tfd_code transcode_strings(struct tfd_kctx *k,
                                       struct tfd_code_points *r,
                                       struct transcoded *t,
                                       struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    struct tfd_tstring *y = tfd_tensor_data(&k->out[0]);
    int64_t count = tfd_tensor_elements(&k->in[0]);

    for (int64_t i = 0; i < count; i++) {
        if (i % STRINGS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        tfd_bytes_clear(&t->bytes);
        TFD_TRY(
            tfd_code_points_read(r, tfd_tstring_view(&x[i]), put_point, t, st));
        TFD_TRY(tfd_bytes_ok(&t->bytes, "transcoded string", st));
        TFD_TRY(tfd_tstring_set(&y[i], tfd_bytes_view(&t->bytes), st));
    }
    return TFD_OK;
}

static enum tfd_code transcode_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    const struct coding *c = k->state;
    struct transcoded t = {.put = c->put};
    struct tfd_code_points r;
    enum tfd_code rc;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    TFD_TRY(tfd_code_points_open(&r, c->encoding, &c->errors, st));
    tfd_bytes_init(&t.bytes, TFD_DECODED_SIZE_MAX);
    rc = transcode_strings(k, &r, &t, st);
    tfd_bytes_deinit(&t.bytes);
    tfd_code_points_close(&r);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define ERRORS                                              \
    "errors: {'strict', 'replace', 'ignore'} = 'replace'; " \
    "replacement_char: int = 65533; "                       \
    "replace_control_characters: bool = false"

static const struct tfd_opdef ops[] = {
    {
        .name = "UnicodeDecode",
        .inputs = "input: string",
        .outputs = "row_splits: Tsplits, char_values: int32",
        .attrs = "input_encoding: string; " ERRORS
                 "; Tsplits: {int32, int64} = DT_INT64",
        .key = "Tsplits",
        .shape = decode_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "UnicodeDecodeWithOffsets",
        .inputs = "input: string",
        .outputs = "row_splits: Tsplits, char_values: int32, "
                   "char_to_byte_starts: int64",
        .attrs = "input_encoding: string; " ERRORS
                 "; Tsplits: {int32, int64} = DT_INT64",
        .key = "Tsplits",
        .shape = decode_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "UnicodeTranscode",
        .inputs = "input: string",
        .outputs = "output: string",
        .attrs =
            "input_encoding: string; "
            "output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}; " ERRORS,
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

/* The first one that runs loads a library. */
#define CODING(op, name)                                          \
    TFD_KERNEL_ANY(op, name##_compute, .prepare = name##_prepare, \
                   .state_size = sizeof(struct coding),           \
                   .flags = TFD_KERNEL_HEAVY | TFD_KERNEL_BLOCKS)

static const struct tfd_kernel kernels[] = {
    CODING("UnicodeDecode", decode),
    CODING("UnicodeDecodeWithOffsets", decode),
    CODING("UnicodeTranscode", transcode),
};

const struct tfd_family tfd_family_unicode_decode = {
    .name = "unicode_decode",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
