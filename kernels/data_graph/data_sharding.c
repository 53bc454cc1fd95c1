/*
 * data_sharding.c - see data_sharding.h.  Which ops are gone through, and what
 * is done where, is as TensorFlow's own rewrite does it.
 */
#include "kernels/data_graph/data_sharding.h"

#include "common/graph/function.h"

#include <string.h>

#define SHARD_HINT (-1)

static const char *const readers[] = {
    "ArrayRecordDataset",
    "FixedLengthRecordDataset",
    "RecordIODataset",
    "SSTableDataset",
    "TextLineDataset",
    "TFRecordDataset",
    NULL,
};

static const char *const joins[] = {"ConcatenateDataset", "ZipDataset", NULL};

static const char *const passing[] = {
    "_Retval",
    "AssertNextDataset",
    "BatchDataset",
    "CacheDataset",
    "ExperimentalMapAndBatchDataset",
    "ExperimentalParseExampleDataset",
    "ExperimentalRebatchDataset",
    "FilterDataset",
    "FinalizeDataset",
    "Identity",
    "MapAndBatchDataset",
    "MapDataset",
    "MaxIntraOpParallelismDataset",
    "ModelDataset",
    "OptimizeDataset",
    "OptionsDataset",
    "PaddedBatchDataset",
    "ParallelBatchDataset",
    "ParallelMapDataset",
    "ParseExampleDataset",
    "PrefetchDataset",
    "PrivateThreadPoolDataset",
    "ReduceDataset",
    "RebatchDataset",
    "RepeatDataset",
    "ShardDataset",
    "ShuffleAndRepeatDataset",
    "ShuffleDataset",
    "SkipDataset",
    "TakeDataset",
    "WindowDataset",
    NULL,
};

static const char *const nesting[] = {
    "ExperimentalParallelInterleaveDataset",
    "FlatMapDataset",
    "InterleaveDataset",
    "LegacyParallelInterleaveDataset",
    "ParallelInterleaveDataset",
    NULL,
};

static const char *const unshardable[] = {
    "GeneratorDataset",          "RangeDataset",  "TensorSliceDataset",
    "SparseTensorsSliceDataset", "TensorDataset", NULL,
};

static const char *const at_the_end[] = {"PrefetchDataset", "OptionsDataset",
                                         "FinalizeDataset", NULL};

struct sharding {
    const struct tfd_data_sharding *asked;
    struct tfd_data_nodes *g;
    struct tfd_status *st;
};

/* ---- Which op ------------------------------------------------------------ */

/* The name, or a later version of it: "MapDatasetV2". */
static bool is_version(struct tfd_str op, const char *name)
{
    size_t size = strlen(name);

    if (op.size < size || memcmp(op.data, name, size) != 0)
        return false;
    if (op.size == size)
        return true;
    if (op.size < size + 2 || op.data[size] != 'V')
        return false;
    for (size_t i = size + 1; i < op.size; i++)
        if (op.data[i] < '0' || op.data[i] > '9')
            return false;
    return true;
}

static bool is_one_of(struct tfd_str op, const char *const *names)
{
    for (; *names; names++)
        if (is_version(op, *names))
            return true;
    return false;
}

static struct tfd_data_node *input_of(const struct sharding *s,
                                      const struct tfd_data_node *n)
{
    return n->in_count > 0 && n->in[0].node >= 0 ? s->g->node[n->in[0].node]
                                                 : NULL;
}

/* ---- A node of functions ------------------------------------------------- */

/* Functions that wait to be looked at, each once. */
struct looking {
    const struct tfd_function **line;
    int32_t count, capacity;
};

static void look_later(struct looking *l, const struct tfd_function *f)
{
    for (int32_t i = 0; f && i < l->count; i++)
        if (l->line[i] == f)
            return;
    if (f && l->count < l->capacity)
        l->line[l->count++] = f;
}

static void look_at(const struct sharding *s, struct looking *l,
                    const struct tfd_attr *attrs, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (tfd_str_is(attrs[i].name, "f"))
            look_later(l, tfd_data_library_find(
                              s->asked->library,
                              tfd_data_library_name(attrs[i].value)));
}

/* The function of the node makes a reader, or a function of a dataset in it
 * does. */
static enum tfd_code has_reader(const struct sharding *s,
                                const struct tfd_data_node *node, bool *out)
{
    struct looking l = {NULL, 0, (int32_t)s->asked->library->by_name.count};

    *out = false;
    l.line =
        tfd_arena_array(&s->g->arena, (size_t)l.capacity + 1, sizeof(*l.line));
    TFD_TRY(tfd_arena_check(l.line, "functions of a dataset", s->st));
    look_at(s, &l, node->attrs, node->attr_count);
    for (int32_t i = 0; i < l.count; i++)
        for (int32_t k = 0; k < l.line[i]->node_count; k++) {
            const struct tfd_function_node *n = &l.line[i]->nodes[k];

            if (n->in_count > 0 && is_one_of(n->op, readers)) {
                *out = true;
                return TFD_OK;
            }
            if (is_one_of(n->op, nesting))
                look_at(s, &l, n->attrs, n->attr_count);
        }
    return TFD_OK;
}

/* ---- Shards -------------------------------------------------------------- */

#define TRUE_ATTR TFD_STR("\x28\x01")

static bool is_dataset(const struct tfd_data_node *n)
{
    for (size_t i = 0; n && i + 7 <= n->op.size; i++)
        if (memcmp(n->op.data + i, "Dataset", 7) == 0)
            return true;
    return false;
}

/* Readers of files have no attributes: a string of any shape. */
static struct tfd_str types_of(const struct tfd_data_node *n)
{
    struct tfd_str value;

    if (tfd_data_node_attr(n, "output_types", &value) ||
        tfd_data_node_attr(n, "Toutput_types", &value))
        return value;
    return TFD_STR("\x0a\x03\x32\x01\x07"); /* list { type: DT_STRING } */
}

static struct tfd_str shapes_of(const struct tfd_data_node *n)
{
    struct tfd_str value;

    if (tfd_data_node_attr(n, "output_shapes", &value))
        return value;
    /* list { shape { unknown_rank: true } } */
    return TFD_STR("\x0a\x04\x3a\x02\x18\x01");
}

/* A node between `before` and its input, of the same elements; more attributes
 * than their types and shapes: one. */
static enum tfd_code put_between(const struct sharding *s,
                                 struct tfd_data_node *before,
                                 struct tfd_str op, int32_t in_count,
                                 struct tfd_attr more,
                                 struct tfd_data_node **out)
{
    const struct tfd_data_node *after = input_of(s, before);
    struct tfd_attr *attrs = tfd_arena_array(&s->g->arena, 3, sizeof(*attrs));
    struct tfd_data_node *n;

    TFD_TRY(tfd_arena_check(attrs, "a shard of a dataset", s->st));
    TFD_TRY(tfd_data_nodes_add(s->g, op, in_count, &n, s->st));
    attrs[0] = (struct tfd_attr){TFD_STR("output_types"), types_of(after)};
    attrs[1] = (struct tfd_attr){TFD_STR("output_shapes"), shapes_of(after)};
    attrs[2] = more;
    n->attrs = attrs;
    n->attr_count = 3;
    n->in[0] = before->in[0];
    n->changed = before->changed = true;
    before->in[0].node = s->g->count - 1;
    *out = n;
    return TFD_OK;
}

static enum tfd_code cannot_shard(const struct sharding *s)
{
    return tfd_fail(s->st, TFD_NOT_FOUND,
                    "Unable to shard this input. You may need to wrap the "
                    "inputs to your reader dataset in a TensorSliceDataset. "
                    "Input node is op: \"Const\"");
}

static enum tfd_code add_shard(const struct sharding *s,
                               struct tfd_data_node *before)
{
    const struct tfd_attr non_empty = {TFD_STR("require_non_empty"), TRUE_ATTR};
    struct tfd_data_node *n;

    if (!is_dataset(input_of(s, before)))
        return cannot_shard(s);
    TFD_TRY(put_between(s, before, TFD_STR("ShardDataset"), 3, non_empty, &n));
    n->in[1].value = s->asked->workers;
    n->in[2].value = s->asked->index;
    return TFD_OK;
}

/* ---- Shuffles ------------------------------------------------------------ */

/* Nodes that `node` is made of. */
static enum tfd_code mark_below(const struct sharding *s, int32_t node,
                                bool **out)
{
    bool *below = tfd_arena_array(&s->g->arena, (size_t)s->g->count + 1, 1);
    bool more = true;

    TFD_TRY(tfd_arena_check(below, "a shard of a dataset", s->st));
    below[node] = true;
    while (more) {
        more = false;
        for (int32_t i = s->g->count - 1; i >= 0; i--)
            for (int32_t k = 0; below[i] && k < s->g->node[i]->in_count; k++) {
                int32_t in = s->g->node[i]->in[k].node;

                if (in >= 0 && !below[in])
                    below[in] = more = true;
            }
    }
    *out = below;
    return TFD_OK;
}

/* What was of the node is of its input. */
static void take_out(const struct sharding *s, const bool *below, int32_t node)
{
    for (int32_t i = 0; i < s->g->count; i++)
        for (int32_t k = 0; below[i] && k < s->g->node[i]->in_count; k++)
            if (s->g->node[i]->in[k].node == node) {
                s->g->node[i]->in[k] = s->g->node[node]->in[0];
                s->g->node[i]->changed = true;
            }
}

/* All of this name; *out is the one that is nearest to the source. */
static void take_shuffles(const struct sharding *s, const bool *below,
                          const char *name, struct tfd_data_node **out)
{
    for (int32_t i = s->g->count - 1; i >= 0; i--)
        if (below[i] && tfd_str_is(s->g->node[i]->op, name)) {
            take_out(s, below, i);
            *out = s->g->node[i];
        }
}

static enum tfd_code put_shuffle(const struct sharding *s,
                                 struct tfd_data_node *before,
                                 const struct tfd_data_node *shuffle)
{
    struct tfd_attr again = {TFD_STR("reshuffle_each_iteration"), TRUE_ATTR};
    struct tfd_data_node *n;

    if (tfd_str_is(shuffle->op, "ShuffleDatasetV2"))
        again = (struct tfd_attr){TFD_STR("metadata"), TFD_STR("\x12\x00")};
    else
        (void)tfd_data_node_attr(shuffle, "reshuffle_each_iteration",
                                 &again.value);
    TFD_TRY(put_between(s, before, shuffle->op, shuffle->in_count, again, &n));
    for (int32_t i = 1; i < n->in_count; i++)
        n->in[i] = shuffle->in[i];
    return TFD_OK;
}

/* The list of files is split before it is shuffled, or two workers would read
 * the same file. */
static enum tfd_code shard_before(const struct sharding *s, int32_t node)
{
    static const char *const names[] = {"ShuffleDataset", "ShuffleDatasetV2",
                                        "ShuffleDatasetV3"};
    struct tfd_data_node *before = s->g->node[node], *shuffle = NULL;
    bool *below;

    TFD_TRY(add_shard(s, before));
    TFD_TRY(mark_below(s, node, &below));
    for (int i = 0; i < 3 && !shuffle; i++)
        take_shuffles(s, below, names[i], &shuffle);
    return shuffle ? put_shuffle(s, before, shuffle) : TFD_OK;
}

/* ---- Files --------------------------------------------------------------- */

/* Below a dataset that calls functions is one whose elements are datasets:
 * *user is the node that has that for its input; -1. */
static void find_datasets(const struct sharding *s, int32_t node, int32_t *user)
{
    const struct tfd_data_node *n = s->g->node[node], *in, *values;

    for (*user = -1; n; node = n->in[0].node, n = in) {
        in = input_of(s, n);
        values = in ? input_of(s, in) : NULL;
        if (!in)
            return;
        if (is_one_of(in->op, nesting)) {
            const struct tfd_data_node *slices = input_of(s, in);

            values = slices ? input_of(s, slices) : NULL;
            if (values && (tfd_str_is(slices->op, "TensorSliceDataset") ||
                           tfd_str_is(slices->op, "TensorDataset")))
                *user = node;
            return;
        }
        if (!is_one_of(in->op, passing))
            return;
    }
}

static enum tfd_code no_reader(const struct sharding *s,
                               const struct tfd_data_node *n)
{
    if (is_one_of(n->op, unshardable))
        return tfd_fail(s->st, TFD_NOT_FOUND,
                        "Found an unshardable source dataset: op: "
                        "\"" TFD_STR_FMT "\"",
                        TFD_STR_ARG(n->op));
    return tfd_fail(
        s->st, TFD_NOT_FOUND,
        "Did not find a shardable source, walked to a node which is not a "
        "dataset: op: \"" TFD_STR_FMT "\". Consider either turning off "
        "auto-sharding or switching the auto_shard_policy to DATA to shard "
        "this dataset. You can do this by creating a new `tf.data.Options()` "
        "object then setting "
        "`options.experimental_distribute.auto_shard_policy = "
        "AutoShardPolicy.DATA` before applying the options object to the "
        "dataset via `dataset.with_options(options)`.",
        TFD_STR_ARG(n->op));
}

/* Nodes that are still to be gone through, the next one last. */
struct way {
    int32_t *nodes;
    int32_t count;
};

/* Towards the source, one node further. */
static enum tfd_code go_on(const struct sharding *s, struct way *w,
                           const struct tfd_data_node *n)
{
    if (n->in_count == 0 || n->in[0].node < 0)
        return tfd_fail(s->st, TFD_NOT_FOUND,
                        "Did not find a shardable source: " TFD_STR_FMT
                        " has no dataset for its input",
                        TFD_STR_ARG(n->op));
    w->nodes[w->count++] = n->in[0].node;
    return TFD_OK;
}

static enum tfd_code drop_assertion(const struct sharding *s, struct way *w,
                                    int32_t node)
{
    bool *below;

    TFD_TRY(mark_below(s, s->g->sink, &below));
    take_out(s, below, node);
    return go_on(s, w, s->g->node[node]);
}

static enum tfd_code go_through(const struct sharding *s, struct way *w,
                                int32_t node)
{
    const struct tfd_data_node *n = s->g->node[node];
    int32_t user = -1;
    bool reads = false;

    if (tfd_str_is(n->op, "AssertCardinalityDataset"))
        return drop_assertion(s, w, node);
    if (is_one_of(n->op, unshardable))
        return no_reader(s, n);
    if (is_one_of(n->op, joins)) {
        for (int32_t i = n->in_count - 1; i >= 0; i--)
            w->nodes[w->count++] = n->in[i].node;
        return TFD_OK;
    }
    if (is_one_of(n->op, nesting))
        find_datasets(s, node, &user);
    if (user >= 0)
        return shard_before(s, user);
    if (is_one_of(n->op, nesting) || is_one_of(n->op, passing))
        TFD_TRY(has_reader(s, n, &reads));
    if (reads || is_one_of(n->op, readers))
        return shard_before(s, node);
    if (!is_one_of(n->op, nesting) && !is_one_of(n->op, passing))
        return no_reader(s, n);
    return go_on(s, w, n);
}

/* A node that several have for an input is gone through once. */
static enum tfd_code shard_files(const struct sharding *s)
{
    int32_t count = s->g->count;
    int64_t edges = 1;
    struct way w = {NULL, 0};
    bool *seen = tfd_arena_array(&s->g->arena, (size_t)count + 1, 1);

    for (int32_t i = 0; i < count; i++)
        edges += s->g->node[i]->in_count;
    w.nodes =
        tfd_arena_array(&s->g->arena, (size_t)edges + 1, sizeof(*w.nodes));
    TFD_TRY(
        tfd_arena_check(seen ? w.nodes : NULL, "a shard of a dataset", s->st));
    w.nodes[w.count++] = s->g->sink;
    while (w.count > 0) {
        int32_t node = w.nodes[--w.count];

        if (node < 0 || node >= count || seen[node])
            continue;
        seen[node] = true;
        TFD_TRY(go_through(s, &w, node));
    }
    return TFD_OK;
}

/* ---- Elements ------------------------------------------------------------ */

/* RebatchDatasetV2 counts on elements that another worker may have: each batch
 * is split for itself. */
static enum tfd_code split_batches(const struct sharding *s,
                                   struct tfd_data_node *n)
{
    int64_t replicas = *(const int64_t *)tfd_tensor_data(s->asked->replicas);
    struct tfd_attr *attrs = tfd_arena_array(&s->g->arena, 3, sizeof(*attrs));

    if (replicas < 1)
        return tfd_fail(s->st, TFD_INVALID_ARGUMENT,
                        "Cannot rewrite RebatchDatasetV2 to legacy "
                        "RebatchDataset with invalid num_replicas argument. "
                        "`num_replicas` is %lld, but expected to be >= 1.",
                        (long long)replicas);
    TFD_TRY(tfd_arena_check(attrs, "a shard of a dataset", s->st));
    attrs[0] = (struct tfd_attr){TFD_STR("output_types"), types_of(n)};
    attrs[1] = (struct tfd_attr){TFD_STR("output_shapes"), shapes_of(n)};
    attrs[2] = (struct tfd_attr){TFD_STR("use_fallback"), TRUE_ATTR};
    n->op = TFD_STR("RebatchDataset");
    n->attrs = attrs;
    n->attr_count = 3;
    n->in_count = 2;
    n->in[1] = (struct tfd_data_input){-1, s->asked->replicas};
    n->changed = true;
    return TFD_OK;
}

static enum tfd_code shard_elements(const struct sharding *s)
{
    struct tfd_data_node *before = s->g->node[s->g->sink];
    struct tfd_data_node *in = input_of(s, before);

    while (in) {
        bool last = true;

        for (const char *const *name = at_the_end; *name; name++)
            last = last && !tfd_str_is(in->op, *name);
        if (last)
            break;
        before = in;
        in = input_of(s, in);
    }
    if (in && tfd_str_is(in->op, "RebatchDatasetV2"))
        TFD_TRY(split_batches(s, in));
    return add_shard(s, before);
}

/* ---- Hints --------------------------------------------------------------- */

static bool is_hint(const struct tfd_data_node *n)
{
    return tfd_str_is(n->op, "ShardDataset") && n->in_count == 3 &&
           n->in[1].node < 0 &&
           *(const int64_t *)tfd_tensor_data(n->in[1].value) == SHARD_HINT;
}

static void shard_hints(const struct sharding *s)
{
    for (int32_t i = 0; i < s->g->count; i++) {
        struct tfd_data_node *n = s->g->node[i];

        if (!is_hint(n))
            continue;
        n->in[1].value = s->asked->workers;
        n->in[2].value = s->asked->index;
        n->changed = true;
    }
}

enum tfd_code tfd_data_shard(const struct tfd_data_sharding *asked,
                             struct tfd_status *st)
{
    struct sharding s = {.asked = asked, .g = asked->g, .st = st};
    struct tfd_status why = TFD_STATUS_INIT;

    switch (asked->policy) {
    case TFD_DATA_SHARD_OFF:
        return TFD_OK;
    case TFD_DATA_SHARD_DATA:
        return shard_elements(&s);
    case TFD_DATA_SHARD_HINT:
        shard_hints(&s);
        return TFD_OK;
    case TFD_DATA_SHARD_FILE:
        return *(const int64_t *)tfd_tensor_data(asked->workers) == 1
                   ? TFD_OK
                   : shard_files(&s);
    case TFD_DATA_SHARD_AUTO:
        break;
    }
    s.st = &why;
    if (shard_files(&s) == TFD_OK)
        return TFD_OK;
    s.st = st;
    return why.code == TFD_NOT_FOUND ? shard_elements(&s)
                                     : tfd_fail(st, why.code, "%s", why.text);
}
