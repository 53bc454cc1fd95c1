/*
 * fuzz_graphdef.c - libFuzzer target: any bytes as a GraphDef.
 *
 *     clang-14 -fsanitize=fuzzer,address,undefined -I. ... fuzz_graphdef.c
 *     ./fuzz_graphdef -max_total_time=30 tests/fuzz/corpus/graphdef
 *
 * Beyond "no crash, no leak, no hang": a graph that is refused is not there,
 * one that is taken has an order, and exported it is taken again and comes out
 * the same.  Constants are decoded, and shapes inferred, as a worker does.
 */
#include "common/base/alloc.h"
#include "common/proto/graphdef.h"
#include "kernels/core/families.h"
#include "kernels/core/registry.h"

#include <assert.h>
#include <string.h>

#define MEMORY_MAX ((size_t)256 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tfd_opdef flow[] = {
    {.name = "AddN",
     .inputs = "inputs: N * T",
     .outputs = "sum: T",
     .attrs = "N: int >= 1; T: {numbertype, variant}"},
    {.name = "Split",
     .inputs = "axis: int32, value: T",
     .outputs = "output: num_split * T",
     .attrs = "num_split: int >= 1; T: type"},
    {.name = "VariableV2",
     .outputs = "ref: Ref(dtype)",
     .attrs = "shape: shape; dtype: type; container: string = ''",
     .key = "dtype"},
    {.name = "Assign",
     .inputs = "ref: Ref(T), value: T",
     .outputs = "output_ref: Ref(T)",
     .attrs = "T: type; validate_shape: bool = true"},
    {.name = "Merge",
     .inputs = "inputs: N * T",
     .outputs = "output: T, value_index: int32",
     .attrs = "T: type; N: int >= 1",
     .flags = TFD_OP_MERGE},
    {.name = "NextIteration",
     .inputs = "data: T",
     .outputs = "output: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
};

static const struct tfd_family flow_family = {
    .name = "flow", .ops = flow, .op_count = TFD_COUNT(flow)};
static const struct tfd_family *const families[] = {&flow_family,
                                                    &tfd_family_const};

/* Once per process: reading it changes nothing. */
static struct tfd_registry *registry(void)
{
    static struct tfd_registry r;
    static bool made;

    if (!made) {
        enum tfd_code rc = tfd_registry_init(&r, families, 2, NULL);

        assert(rc == TFD_OK);
        made = true;
        tfd_alloc_limit(MEMORY_MAX);
        tfd_alloc_cache_limit(0);
    }
    return &r;
}

static void check_node(const struct tfd_graph *g, const struct tfd_node *n)
{
    struct tfd_tensor value = TFD_TENSOR_INIT;
    struct tfd_shape in[8], out[8];
    struct tfd_shape_ctx s = {.node = n,
                              .in = in,
                              .in_count = n->in_count,
                              .out = out,
                              .out_count = n->out_count};
    int32_t first, count, sum = 0;

    for (int i = 0; i < n->op->in_count; i++) {
        tfd_node_arg(n, i, &first, &count);
        assert(first == sum && count >= 0);
        sum += count;
    }
    assert(sum == n->in_count);
    for (int32_t i = 0; i < n->in_count; i++)
        assert(n->in[i].node < g->count);
    if (n->op->flags & TFD_OP_CONST &&
        tfd_node_tensor(n, "value", &value, NULL) == TFD_OK)
        tfd_tensor_unref(&value);
    for (int i = 0; i < 8; i++)
        in[i] = (struct tfd_shape)TFD_SHAPE_UNKNOWN;
    if (n->in_count <= 8 && n->out_count <= 8)
        (void)!tfd_registry_infer(&s, NULL);
    (void)tfd_registry_kernel(registry(), n, TFD_CPU);
}

static void check_graph(const struct tfd_graph *g)
{
    struct tfd_arena arena;
    int32_t *order;
    enum tfd_code rc;

    tfd_arena_init(&arena, MEMORY_MAX);
    rc = tfd_graph_order(g, &arena, &order, NULL);
    assert(rc == TFD_OK);
    tfd_arena_deinit(&arena);
    for (int32_t i = 0; i < g->count; i++)
        check_node(g, g->nodes[i]);
}

/* Exported and imported, a graph stays as it is. */
static void check_again(const struct tfd_graph *g)
{
    struct tfd_graph *again = tfd_graph_new(g->ops, NULL);
    struct tfd_graphdef_options alone = {.prefix = TFD_STR_EMPTY};
    struct tfd_bytes a, b;
    enum tfd_code rc;

    assert(again);
    again->versions.producer = INT32_MAX; /* else it is the older one's */
    tfd_bytes_init(&a, MEMORY_MAX);
    tfd_bytes_init(&b, MEMORY_MAX);
    tfd_graphdef_export(&a, g);
    rc = tfd_graphdef_import(again, tfd_bytes_view(&a), &alone, NULL, NULL);
    assert(rc == TFD_OK);
    tfd_graphdef_export(&b, again);
    assert(tfd_str_eq(tfd_bytes_view(&a), tfd_bytes_view(&b)));
    tfd_bytes_deinit(&a);
    tfd_bytes_deinit(&b);
    tfd_graph_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_graph *g = tfd_graph_new(&registry()->ops, NULL);
    struct tfd_str bytes = {(const char *)data, size};
    struct tfd_status st = TFD_STATUS_INIT;

    assert(g);
    if (tfd_graphdef_import(g, bytes, NULL, NULL, &st) == TFD_OK) {
        check_graph(g);
        check_again(g);
    } else {
        assert(g->count == 0 && g->by_name.count == 0);
        assert(st.code != TFD_OK && st.code != TFD_INTERNAL && *st.text);
    }
    tfd_graph_unref(g);
    return 0;
}
