/*
 * row_fingerprint.c - Fingerprint: eight bytes that stand for each row of a
 * tensor, little endian.
 *
 * A row of numbers is its bytes.  A row of several strings is the fingerprints
 * of its strings, so that where one ends and the next begins matters.
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/text/fingerprint.h"

#include <string.h>

#define WORD 8
#define BYTE_COST_NS 1
#define STRING_COST_NS 30
#define ROWS_BETWEEN_LOOKS 1024

static void put_word(uint8_t *at, uint64_t word)
{
    memcpy(at, &word, WORD);
}

/* ---- Numbers ------------------------------------------------------------- */

static void number_rows(void *arg, int64_t begin, int64_t end)
{
    struct tfd_kctx *k = arg;
    const struct tfd_tensor *x = &k->in[0];
    size_t size = tfd_tensor_size(x) / (size_t)x->shape.dim[0];
    const char *data = tfd_tensor_data(x);
    uint8_t *y = tfd_tensor_data(&k->out[0]);

    for (int64_t i = begin; i < end; i++) {
        struct tfd_str row =
            size ? (struct tfd_str){data + (size_t)i * size, size}
                 : TFD_STR_EMPTY;

        if (i % ROWS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        put_word(y + i * WORD, tfd_fingerprint_of(row));
    }
}

/* ---- Strings ------------------------------------------------------------- */

struct strings {
    const struct tfd_tstring *x;
    uint8_t *y;
};

static void string_words(void *arg, int64_t begin, int64_t end)
{
    const struct strings *s = arg;

    for (int64_t i = begin; i < end; i++) {
        if (i % ROWS_BETWEEN_LOOKS == 0 && tfd_halted())
            break;
        put_word(s->y + i * WORD,
                 tfd_fingerprint_of(tfd_tstring_view(&s->x[i])));
    }
}

static enum tfd_code string_rows(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(&k->in[0]);
    int64_t rows = k->in[0].shape.dim[0], columns = count / rows;
    struct strings s = {.x = tfd_tensor_data(&k->in[0])};
    struct tfd_tensor words = TFD_TENSOR_INIT;
    uint8_t *y = tfd_tensor_data(&k->out[0]);

    if (columns == 1) {
        s.y = y;
        tfd_kctx_parallel(k, count, STRING_COST_NS, string_words, &s);
        return TFD_OK;
    }
    TFD_TRY(tfd_tensor_new(&words, TFD_UINT64, &(struct tfd_shape){1, {count}},
                           st));
    s.y = tfd_tensor_data(&words);
    tfd_kctx_parallel(k, count, STRING_COST_NS, string_words, &s);
    for (int64_t i = 0; i < rows && !tfd_halted(); i++)
        put_word(y + i * WORD,
                 tfd_fingerprint_of((struct tfd_str){
                     columns ? (const char *)s.y + i * columns * WORD : "",
                     (size_t)(columns * WORD)}));
    tfd_tensor_unref(&words);
    return TFD_OK;
}

/* ---- Both ---------------------------------------------------------------- */

static enum tfd_code fingerprint_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    const struct tfd_tensor *x = &k->in[0];
    struct tfd_shape out = {2, {0, WORD}};
    struct tfd_str method;
    int64_t cost;

    TFD_TRY(tfd_check_str(k, 1, &method, st));
    if (!tfd_str_is(method, "farmhash64"))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unsupported fingerprint method: " TFD_STR_FMT,
                        TFD_STR_ARG(method));
    if (x->dtype != TFD_STRING && !tfd_dtype_is_pod(x->dtype))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "Type not supported: %s",
                        tfd_dtype_enum_name(x->dtype));
    out.dim[0] = x->shape.dim[0];
    TFD_TRY(tfd_kctx_output(k, 0, TFD_UINT8, &out, st));
    if (out.dim[0] == 0)
        return TFD_OK;
    if (x->dtype == TFD_STRING)
        return string_rows(k, st);
    cost = (int64_t)(tfd_tensor_size(x) / (size_t)out.dim[0]) * BYTE_COST_NS;
    tfd_kctx_parallel(k, out.dim[0], cost < 1000000 ? (int)cost + 10 : 1000000,
                      number_rows, k);
    return TFD_OK;
}

static enum tfd_code fingerprint_shape(struct tfd_shape_ctx *s,
                                       struct tfd_status *st)
{
    (void)st;
    s->out[0] = (struct tfd_shape){2, {-1, WORD}};
    if (s->in[0].rank > 0)
        s->out[0].dim[0] = s->in[0].dim[0];
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Fingerprint",
        .inputs = "data: T, method: string",
        .outputs = "fingerprint: uint8",
        .attrs = "T: type",
        .checks = "method: scalar '`method` should be a scalar string: %s'; "
                  "data: rank>=1 '`data` should have at least one dimension: "
                  "%s'",
        .shape = fingerprint_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Fingerprint", fingerprint_compute),
};

const struct tfd_family tfd_family_row_fingerprint = {
    .name = "row_fingerprint",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
