/*
 * base64.c - EncodeBase64 and DecodeBase64 (base64_text.h).
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/parse/base64_text.h"

typedef enum tfd_code convert_fn(const struct tfd_kctx *k,
                                 struct tfd_bytes *out, struct tfd_str in,
                                 struct tfd_status *st);

static enum tfd_code convert_all(struct tfd_kctx *k, convert_fn *convert,
                                 struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    const int64_t n = tfd_tensor_elements(&k->in[0]);
    enum tfd_code rc = TFD_OK;
    struct tfd_tstring *y;
    struct tfd_bytes out;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &k->in[0].shape, st));
    y = tfd_tensor_data(&k->out[0]);
    tfd_bytes_init(&out, TFD_CONVERTED_SIZE_MAX);
    for (int64_t i = 0; i < n && rc == TFD_OK && !tfd_halted(); i++) {
        tfd_bytes_clear(&out);
        rc = convert(k, &out, tfd_tstring_view(&x[i]), st);
        if (rc == TFD_OK)
            rc = tfd_bytes_ok(&out, "a string", st);
        if (rc == TFD_OK)
            rc = tfd_tstring_set(&y[i], tfd_bytes_view(&out), st);
    }
    tfd_bytes_deinit(&out);
    return rc;
}

static enum tfd_code pad_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    return tfd_node_bool(p->node, "pad", state, st);
}

static enum tfd_code encode(const struct tfd_kctx *k, struct tfd_bytes *out,
                            struct tfd_str in, struct tfd_status *st)
{
    (void)st;
    tfd_base64_encode(out, in, *(const bool *)k->state);
    return TFD_OK;
}

static enum tfd_code decode(const struct tfd_kctx *k, struct tfd_bytes *out,
                            struct tfd_str in, struct tfd_status *st)
{
    (void)k;
    return tfd_base64_decode(out, in, false, st);
}

static enum tfd_code encode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return convert_all(k, encode, st);
}

static enum tfd_code decode_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return convert_all(k, decode, st);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "EncodeBase64",
        .inputs = "input: string",
        .outputs = "output: string",
        .attrs = "pad: bool = false",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DecodeBase64",
        .inputs = "input: string",
        .outputs = "output: string",
        .attrs = "",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("EncodeBase64", encode_compute, .prepare = pad_prepare,
                   .state_size = sizeof(bool), .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("DecodeBase64", decode_compute, .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_base64 = {
    .name = "base64",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
