/*
 * string_to_number.c - StringToNumber: texts as numbers (number.h).
 */
#include "common/thread/halt.h"
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/parse/number.h"

static enum tfd_code number_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_tstring *x = tfd_tensor_data(&k->in[0]);
    const int64_t n = tfd_tensor_elements(&k->in[0]);
    const enum tfd_dtype dtype = k->kernel->dtype;
    void *y;

    TFD_TRY(tfd_kctx_output(k, 0, dtype, &k->in[0].shape, st));
    y = tfd_tensor_data(&k->out[0]);
    for (int64_t i = 0; i < n && !tfd_halted(); i++) {
        struct tfd_str text = tfd_tstring_view(&x[i]);

        if (!tfd_number_parse(dtype, text, tfd_element_at(y, dtype, i)))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "StringToNumberOp could not correctly convert "
                            "string: " TFD_STR_FMT,
                            TFD_STR_ARG(text));
    }
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "StringToNumber",
        .inputs = "string_tensor: string",
        .outputs = "output: out_type",
        .attrs = "out_type: {float, double, int32, int64, uint32, uint64} "
                 "= DT_FLOAT",
        .key = "out_type",
        .shape = tfd_shape_like_first,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

#define NUMBER(type)                                   \
    TFD_KERNEL("StringToNumber", type, number_compute, \
               .flags = TFD_KERNEL_HEAVY)

static const struct tfd_kernel kernels[] = {
    NUMBER(FLOAT), NUMBER(DOUBLE), NUMBER(INT32),
    NUMBER(INT64), NUMBER(UINT32), NUMBER(UINT64),
};

const struct tfd_family tfd_family_string_to_number = {
    .name = "string_to_number",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
