/*
 * dataset_info.c - DatasetCardinality and GetOptions: properties of a dataset
 * that are known without an iterator.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data/dataset.h"

static const struct tfd_shape scalar = {0, {0}};

static enum tfd_code cardinality_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &scalar, st));
    *(int64_t *)tfd_tensor_data(&k->out[0]) = tfd_dataset_cardinality(d);
    return TFD_OK;
}

static enum tfd_code options_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar, st));
    return tfd_tstring_set(tfd_tensor_data(&k->out[0]), d->options, st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "DatasetCardinality",
        .inputs = "input_dataset: variant",
        .outputs = "cardinality: int64",
        .attrs = "cardinality_options: string = ''",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "ExperimentalDatasetCardinality",
        .inputs = "input_dataset: variant",
        .outputs = "cardinality: int64",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "GetOptions",
        .inputs = "input_dataset: variant",
        .outputs = "serialized_options: string",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DatasetCardinality", cardinality_compute),
    TFD_KERNEL_ANY("ExperimentalDatasetCardinality", cardinality_compute),
    TFD_KERNEL_ANY("GetOptions", options_compute),
};

const struct tfd_family tfd_family_dataset_info = {
    .name = "dataset_info",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
