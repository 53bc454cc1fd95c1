/*
 * json_example.c - DecodeJSONExample: Examples in JSON as serialized ones
 * (json_to_example.h).
 */
#include "common/thread/halt.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/parse/json_to_example.h"

static enum tfd_code json_compute(struct tfd_kctx *k, struct tfd_status *st)
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
        rc = tfd_json_to_example(tfd_tstring_view(&x[i]), &out, st);
        if (rc == TFD_OK)
            rc = tfd_tstring_set(&y[i], tfd_bytes_view(&out), st);
    }
    tfd_bytes_deinit(&out);
    if (rc == TFD_INVALID_ARGUMENT)
        tfd_status_context(st, "Error while parsing JSON");
    return rc;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "DecodeJSONExample",
        .inputs = "json_examples: string",
        .outputs = "binary_examples: string",
        .attrs = "",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DecodeJSONExample", json_compute,
                   .flags = TFD_KERNEL_HEAVY),
};

const struct tfd_family tfd_family_json_example = {
    .name = "json_example",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
