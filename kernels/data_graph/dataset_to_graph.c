/*
 * dataset_to_graph.c - DatasetToGraph and V2, which write a dataset as the
 * GraphDef that makes it; DatasetFingerprint, a number that equal datasets have
 * in common; and WrapDatasetVariant with its inverse.
 */
#include "common/proto/graph.pb.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data_graph/data_writing.h"
#include "kernels/data_graph/data_fingerprint.h"
#include "common/base/container.h"

#include <stdlib.h>

static const struct tfd_shape scalar = {0, {0}};

enum state_policy { WARN, IGNORE, FAIL };

struct to_graph {
    enum state_policy policy;
};

static enum tfd_code v1_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    bool allow;

    TFD_TRY(tfd_node_bool(p->node, "allow_stateful", &allow, st));
    ((struct to_graph *)state)->policy = allow ? WARN : FAIL;
    return TFD_OK;
}

static enum tfd_code v2_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    int64_t policy;

    TFD_TRY(tfd_node_int(p->node, "external_state_policy", &policy, st));
    ((struct to_graph *)state)->policy = policy == FAIL ? FAIL : IGNORE;
    return TFD_OK;
}

static enum tfd_code explain(const struct tfd_status *why,
                             struct tfd_status *st)
{
    return tfd_fail(st, why->code,
                    "Failed to serialize the input pipeline graph: %s",
                    why->text);
}

static enum tfd_code write_graph(void *arg, const struct tfd_data_nodes *g,
                                 const struct tfd_data_library *l,
                                 struct tfd_status *st)
{
    struct tfd_kctx *k = arg;
    const struct to_graph *t = k->state;
    struct tfd_status why = TFD_STATUS_INIT;
    struct tfd_bytes text;
    enum tfd_code rc;

    if (t->policy == FAIL && tfd_data_library_check(l, &why) != TFD_OK)
        return explain(&why, st);
    tfd_bytes_init(&text, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_data_write(g, l, &text, st);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, TFD_STRING, &scalar, st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(&k->out[0]), tfd_bytes_view(&text),
                             st);
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code graph_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_data_library_use(&k->in[0], write_graph, k, st);
}

/* ---- Fingerprint --------------------------------------------------------- */

static enum tfd_code fingerprint_compute(struct tfd_kctx *k,
                                         struct tfd_status *st)
{
    uint64_t found;

    TFD_TRY(tfd_data_fingerprint(&k->in[0], &found, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_UINT64, &scalar, st));
    *(uint64_t *)tfd_tensor_data(&k->out[0]) = found;
    return TFD_OK;
}

/* ---- Wrappers ------------------------------------------------------------ */

struct wrapper {
    struct tfd_variant_object object;
    struct tfd_dataset *dataset;
};

static void free_wrapper(struct tfd_variant_object *o)
{
    struct wrapper *w = TFD_CONTAINER_OF(o, struct wrapper, object);

    tfd_dataset_unref(w->dataset);
    free(w);
}

static const struct tfd_variant_object_type wrapper_type = {
    .name = "Variant<type: WrappedDatasetVariant>",
    .free = free_wrapper,
};

static enum tfd_code wrap_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    struct wrapper *w;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    if (d->object.depth >= TFD_VARIANT_DEPTH_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "datasets of datasets are more than %d deep",
                        TFD_VARIANT_DEPTH_MAX);
    w = calloc(1, sizeof(*w));
    if (!w)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    w->object.refs = 1;
    w->object.depth = d->object.depth + 1;
    w->object.type = &wrapper_type;
    w->dataset = tfd_dataset_ref(d);
    return tfd_variant_object_tensor(&w->object, &k->out[0], st);
}

static enum tfd_code unwrap_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_variant_object *o;
    struct wrapper *w;

    if (k->in[0].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Dataset tensor must be a scalar of dtype DT_VARIANT.");
    o = tfd_variant_object_of(&k->in[0], &wrapper_type);
    if (!o)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Tensor must be a WrappedDataset variant object.");
    w = TFD_CONTAINER_OF(o, struct wrapper, object);
    return tfd_variant_object_tensor(&tfd_dataset_ref(w->dataset)->object,
                                     &k->out[0], st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "DatasetToGraph",
        .inputs = "input_dataset: variant",
        .outputs = "graph: string",
        .attrs = "stateful_whitelist: list(string) >= 0 = []; "
                 "allow_stateful: bool = false; "
                 "strip_device_assignment: bool = false",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DatasetToGraphV2",
        .inputs = "input_dataset: variant",
        .outputs = "graph: string",
        .attrs = "external_state_policy: int = 0; "
                 "strip_device_assignment: bool = false",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "DatasetFingerprint",
        .inputs = "input_dataset: variant",
        .outputs = "fingerprint: uint64",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "WrapDatasetVariant",
        .inputs = "input_handle: variant",
        .outputs = "output_handle: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "UnwrapDatasetVariant",
        .inputs = "input_handle: variant",
        .outputs = "output_handle: variant",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DatasetToGraph", graph_compute, .prepare = v1_prepare,
                   .state_size = sizeof(struct to_graph),
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("DatasetToGraphV2", graph_compute, .prepare = v2_prepare,
                   .state_size = sizeof(struct to_graph),
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("DatasetFingerprint", fingerprint_compute,
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("WrapDatasetVariant", wrap_compute),
    TFD_KERNEL_ANY("UnwrapDatasetVariant", unwrap_compute),
};

const struct tfd_family tfd_family_dataset_to_graph = {
    .name = "dataset_to_graph",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
