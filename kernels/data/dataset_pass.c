/*
 * dataset_pass.c - datasets that yield what their input does: options, and what
 * TensorFlow rewrites or tunes a pipeline by.
 *
 * Rewriting is answered by results: they are the same with it and without.
 */
#include "kernels/data/data_table.h"

#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

struct passing {
    struct tfd_dataset dataset;
    char *options; /* its own, if it has some */
};

static void passing_release(struct tfd_dataset *d)
{
    free(((struct passing *)d)->options);
}

static enum tfd_code passing_next(struct tfd_data_iterator *it,
                                  struct tfd_tensor *out, bool *end,
                                  struct tfd_status *st)
{
    return tfd_data_next(it->input, out, end, st);
}

static int64_t passing_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static enum tfd_code passing_at(struct tfd_data_iterator *it, int64_t index,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    return tfd_data_at(it->input, index, out, end, st);
}

#define STAGE(id, name_, at_)                              \
    static const struct tfd_dataset_kind id##_kind = {     \
        .name = name_,                                     \
        .iterator_size = sizeof(struct tfd_data_iterator), \
        .opens_input = true,                               \
        .same_elements = true,                             \
        .next = passing_next,                              \
        .at = at_,                                         \
        .cardinality = passing_cardinality,                \
        .release = passing_release,                        \
    }

STAGE(options, NULL, passing_at);
STAGE(finalize, NULL, NULL);
STAGE(model, "Model", NULL);
STAGE(optimize, "Optimize", NULL);
STAGE(rewrite, "Rewrite", passing_at);

static enum tfd_code make_passing(struct tfd_kctx *k,
                                  const struct tfd_dataset_kind *kind,
                                  struct tfd_status *st)
{
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_make(k, kind, sizeof(struct passing), 1, &d, st));
    return tfd_dataset_output(k, d, st);
}

static enum tfd_code finalize_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_passing(k, &finalize_kind, st);
}

static enum tfd_code model_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_passing(k, &model_kind, st);
}

static enum tfd_code optimize_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_passing(k, &optimize_kind, st);
}

static enum tfd_code rewrite_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return make_passing(k, &rewrite_kind, st);
}

/* ---- Options ------------------------------------------------------------- */

/* Messages one after the other are merged when they are read. */
static enum tfd_code set_options(struct tfd_dataset *d, struct tfd_str more,
                                 struct tfd_status *st)
{
    struct tfd_str before = d->options;
    struct passing *x = (struct passing *)d;

    if (before.size + more.size > TFD_DATA_OPTIONS_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "options of a dataset of %zu bytes; at most %zu are "
                        "possible",
                        before.size + more.size, TFD_DATA_OPTIONS_SIZE_MAX);
    x->options = malloc(before.size + more.size + 1);
    if (!x->options)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    if (before.size)
        memcpy(x->options, before.data, before.size);
    if (more.size)
        memcpy(x->options + before.size, more.data, more.size);
    d->options = (struct tfd_str){x->options, before.size + more.size};
    return TFD_OK;
}

static enum tfd_code options_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct tfd_str more;

    TFD_TRY(tfd_node_str(k->node, "serialized_options", &more, st));
    TFD_TRY(
        tfd_dataset_make(k, &options_kind, sizeof(struct passing), 1, &d, st));
    if (set_options(d, more, st) == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return st ? st->code : TFD_INVALID_ARGUMENT;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("OptionsDataset", "input_dataset: variant",
                "serialized_options: string; ", TFD_DATA_METADATA, 0),
    TFD_DATA_OP("FinalizeDataset", "input_dataset: variant",
                "has_captured_ref: bool = false; ", "", 0),
    TFD_DATA_OP("ModelDataset", "input_dataset: variant",
                "algorithm: int = 0; cpu_budget: int = 0; "
                "ram_budget: int = 0; ",
                "", 0),
    TFD_DATA_OP("RewriteDataset",
                "input_dataset: variant, rewrite_name: string", "", "", 0),
    TFD_DATA_OP("OptimizeDataset",
                "input_dataset: variant, optimizations: string", "",
                "; optimization_configs: list(string) = []", 0),
    TFD_DATA_OP("OptimizeDatasetV2",
                "input_dataset: variant, optimizations_enabled: string, "
                "optimizations_disabled: string, "
                "optimizations_default: string",
                "", "; optimization_configs: list(string) = []", 0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL("OptionsDataset", options_compute),
    TFD_DATA_KERNEL("FinalizeDataset", finalize_compute),
    TFD_DATA_KERNEL("ModelDataset", model_compute),
    TFD_DATA_KERNEL("RewriteDataset", rewrite_compute),
    TFD_DATA_KERNEL("OptimizeDataset", optimize_compute),
    TFD_DATA_KERNEL("OptimizeDatasetV2", optimize_compute),
};

TFD_DATA_FAMILY(dataset_pass);
