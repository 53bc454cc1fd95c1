/*
 * list_array.c - _ListToArray and _ArrayToList: tensors passed on, as a list
 * with a type each becomes one with a type for all, or the other way round.
 * TensorFlow puts them into bodies of functions.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"

static enum tfd_code pass_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    const struct tfd_node *n = p->node;

    (void)state;
    if (n->in_count != n->out_count)
        return tfd_fail(st, TFD_INTERNAL, "#inputs != #outputs : %d vs. %d",
                        n->in_count, n->out_count);
    return TFD_OK;
}

static enum tfd_code pass_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    for (int i = 0; i < k->in_count; i++) {
        const enum tfd_dtype in = k->in[i].dtype, out = k->node->out_types[i];

        if (in != out)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Input and output types for position %d does not "
                            "match: %s vs. %s",
                            i, tfd_dtype_name((int)in),
                            tfd_dtype_name((int)out));
        tfd_kctx_output_alias(k, i, i, &k->in[i].shape);
    }
    return TFD_OK;
}

static enum tfd_code pass_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    for (int i = 0; i < s->in_count && i < s->out_count; i++)
        s->out[i] = s->in[i];
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "_ListToArray",
        .inputs = "input: Tin",
        .outputs = "output: N * T",
        .attrs = "Tin: list(type) >= 1; T: type; N: int >= 1",
        .shape = pass_shape,
    },
    {
        .name = "_ArrayToList",
        .inputs = "input: N * T",
        .outputs = "output: out_types",
        .attrs = "T: type; N: int >= 1; out_types: list(type) >= 1",
        .shape = pass_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("_ListToArray", pass_compute, .prepare = pass_prepare),
    TFD_KERNEL_ANY("_ArrayToList", pass_compute, .prepare = pass_prepare),
};

const struct tfd_family tfd_family_list_array = {
    .name = "list_array",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
