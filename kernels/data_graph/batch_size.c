/*
 * batch_size.c - ComputeBatchSize: the first dimension that all elements of a
 * dataset have, as far as the ops that made it say.
 *
 * Nodes come after their inputs, so one pass over them finds each node's size
 * from those of its inputs.  -1: it is not known.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/data_graph/data_nodes.h"

#include <string.h>

enum batch_rule {
    SAYS_SIZE,  /* its input number 1 is the size */
    SAYS_THIRD, /* the third of its inputs from the end is */
    ALL_INPUTS, /* that of its inputs, where they have the same */
    FIRST_INPUT,
};

/* By name, and any version of it: "BatchDatasetV2". */
static const struct {
    const char *op;
    enum batch_rule rule;
} rules[] = {
    {"BatchDataset", SAYS_SIZE},
    {"PaddedBatchDataset", SAYS_SIZE},
    {"MapAndBatchDataset", SAYS_THIRD},
    {"ExperimentalMapAndBatchDataset", SAYS_THIRD},
    {"ConcatenateDataset", ALL_INPUTS},
    {"ZipDataset", ALL_INPUTS},
    {"AssertCardinalityDataset", FIRST_INPUT},
    {"CacheDataset", FIRST_INPUT},
    {"FilterDataset", FIRST_INPUT},
    {"ModelDataset", FIRST_INPUT},
    {"OptionsDataset", FIRST_INPUT},
    {"OptimizeDataset", FIRST_INPUT},
    {"ParseExampleDataset", FIRST_INPUT},
    {"PrefetchDataset", FIRST_INPUT},
    {"RepeatDataset", FIRST_INPUT},
    {"ShardDataset", FIRST_INPUT},
    {"ShuffleAndRepeatDataset", FIRST_INPUT},
    {"ShuffleDataset", FIRST_INPUT},
    {"SkipDataset", FIRST_INPUT},
    {"TakeDataset", FIRST_INPUT},
};

static bool is_version_of(struct tfd_str op, const char *name)
{
    size_t size = strlen(name);

    if (op.size < size || memcmp(op.data, name, size) != 0)
        return false;
    if (op.size == size)
        return true;
    if (op.data[size] != 'V' || op.size == size + 1)
        return false;
    for (size_t i = size + 1; i < op.size; i++)
        if (op.data[i] < '0' || op.data[i] > '9')
            return false;
    return true;
}

static int64_t size_in(const struct tfd_data_node *n, int32_t in)
{
    const struct tfd_tensor *t;

    if (in < 0 || in >= n->in_count)
        return -1;
    t = n->in[in].value;
    if (!t || t->dtype != TFD_INT64 || t->shape.rank != 0)
        return -1;
    return *(const int64_t *)tfd_tensor_data(t);
}

static int64_t size_of_input(const struct tfd_data_node *n, int32_t in,
                             const int64_t *sizes)
{
    return in < n->in_count && n->in[in].node >= 0 ? sizes[n->in[in].node] : -1;
}

static int64_t size_of_all(const struct tfd_data_node *n, const int64_t *sizes)
{
    int64_t size = size_of_input(n, 0, sizes);

    for (int32_t i = 1; i < n->in_count; i++)
        if (size_of_input(n, i, sizes) != size)
            return -1;
    return size;
}

static int64_t size_by_rule(const struct tfd_data_node *n, enum batch_rule rule,
                            const int64_t *sizes)
{
    switch (rule) {
    case SAYS_SIZE:
        return size_in(n, 1);
    case SAYS_THIRD:
        return size_in(n, n->in_count - 3);
    case ALL_INPUTS:
        return size_of_all(n, sizes);
    case FIRST_INPUT:
        break;
    }
    return size_of_input(n, 0, sizes);
}

static int64_t size_of_node(const struct tfd_data_node *n, const int64_t *sizes)
{
    for (int i = 0; i < TFD_COUNT(rules); i++)
        if (is_version_of(n->op, rules[i].op))
            return size_by_rule(n, rules[i].rule, sizes);
    return -1;
}

static enum tfd_code find_size(struct tfd_data_nodes *g,
                               const struct tfd_tensor *dataset, int64_t *out,
                               struct tfd_status *st)
{
    int64_t *sizes;

    TFD_TRY(tfd_data_nodes_fill(g, dataset, st));
    sizes = tfd_arena_array(&g->arena, (size_t)g->count + 1, sizeof(*sizes));
    TFD_TRY(tfd_arena_check(sizes, "the nodes of a dataset", st));
    for (int32_t i = 0; i < g->count; i++)
        sizes[i] = size_of_node(g->node[i], sizes);
    *out = size_of_input(g->node[g->sink], 0, sizes);
    return TFD_OK;
}

static enum tfd_code batch_size_compute(struct tfd_kctx *k,
                                        struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_dataset *d;
    struct tfd_data_nodes g;
    enum tfd_code rc;
    int64_t size = -1;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    tfd_data_nodes_init(&g);
    rc = find_size(&g, &k->in[0], &size, st);
    tfd_data_nodes_deinit(&g);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, TFD_INT64, &scalar, st);
    if (rc == TFD_OK)
        *(int64_t *)tfd_tensor_data(&k->out[0]) = size;
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "ComputeBatchSize",
        .inputs = "input_dataset: variant",
        .outputs = "batch_size: int64",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("ComputeBatchSize", batch_size_compute),
};

const struct tfd_family tfd_family_batch_size = {
    .name = "batch_size",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
