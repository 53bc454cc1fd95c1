/*
 * test_early.c - daemon/rewrite/early_recv.c: what reaches a task whatever
 * its GPUs do, of graphs over two workers with GPUs and a ps.
 */
#include "daemon/rewrite/early_recv.h"

#include "tests/support/planning.h"

#define WORKERS 3

struct fixture {
    struct tfd_graph *graph;
    struct tfd_device_set devices;
    int32_t device_of[256];
    struct tfd_arena arena;
    struct tfd_pruned pruned;
    struct tfd_early_recv early;
};

/* Worker 1 is the ps. */
static void init(struct fixture *f, const char *nodes)
{
    *f = (struct fixture){.graph = new_graph(nodes)};
    tfd_arena_init(&f->arena, 16 << 20);
    tfd_device_set_init(&f->devices);
    add_device(&f->devices, "worker", 0, "CPU", 0, 0);
    add_device(&f->devices, "worker", 0, "GPU", 0, 0);
    add_device(&f->devices, "ps", 0, "CPU", 0, 1);
    add_device(&f->devices, "worker", 1, "GPU", 0, 2);
    assert_int_equal(tfd_device_set_finish(&f->devices, NULL), TFD_OK);
    note_devices(f->graph, 0, f->device_of);
}

static void deinit(struct fixture *f)
{
    tfd_arena_deinit(&f->arena);
    tfd_device_set_deinit(&f->devices);
    tfd_graph_unref(f->graph);
}

static void find(struct fixture *f, const char *feed, const char *target,
                 bool partial)
{
    const struct tfd_str feeds[] = {tfd_str_of(feed)};
    const struct tfd_str targets[] = {tfd_str_of(target)};
    const struct tfd_signature signature = {
        .feeds = feeds,
        .feed_count = *feed != '\0',
        .targets = targets,
        .target_count = 1,
    };
    const struct tfd_partition_request r = {
        .graph = f->graph,
        .pruned = &f->pruned,
        .signature = &signature,
        .partial = partial,
        .devices = &f->devices,
        .device_of = f->device_of,
        .worker_count = WORKERS,
        .arena = &f->arena,
    };

    assert_int_equal(
        tfd_prune(f->graph, &signature, &f->arena, &f->pruned, NULL), TFD_OK);
    assert_int_equal(tfd_early_recv_find(&r, f->device_of, &f->early, NULL),
                     TFD_OK);
}

/* Workers that node `name` reaches early, as bits. */
static int early_at(const struct fixture *f, const char *name)
{
    int bits = 0;

    for (int32_t i = 0; i < f->pruned.count; i++)
        if (tfd_str_is(f->graph->nodes[f->pruned.nodes[i].node]->name, name))
            for (int w = 0; w < WORKERS; w++)
                bits |= tfd_early_recv_is(&f->early, i, w) << w;
    return bits;
}

#define WORKER0 1 /* the ps, which has no GPU, has bit 2 */
#define WORKER1 4

static void test_what_comes_after_a_gpu_of_the_task_is_not_early(void **state)
{
    static const struct {
        const char *nodes, *feed, *target, *of;
        int early;
    } cases[] = {
        /* from a ps alone: to both */
        {"v Const - 2; y Relu v 1", "", "y", "v", WORKER0 | WORKER1},
        {"v VarHandleOp - 2; r ReadVariableOp v 2; y Relu r 1", "", "y", "r",
         WORKER0 | WORKER1},
        /* after a GPU: not to its task */
        {"a Const - 1; b Relu a 2; y Relu b 1", "", "y", "b", WORKER1},
        {"a Const - 1; b Relu a 2; y Relu b 1", "", "y", "a", WORKER1},
        {"a Const - 3; b Relu a 2; y Relu b 1", "", "y", "b", WORKER0},
        {"a Const - 1; d Relu a 3; b Relu d 2; y Relu b 1", "", "y", "b", 0},
        /* after the CPU of the task only */
        {"a Const - 0; b Relu a 2; y Relu b 1", "", "y", "b",
         WORKER0 | WORKER1},
        /* by a control edge */
        {"a Const - 1; b Const ^a 2; y Relu b 1", "", "y", "b", WORKER1},
        /* what has a state that others may wait for */
        {"s ConstI - 2; t TensorArrayV3 s 2; b Const ^t 2; y Relu b 1", "", "y",
         "b", 0},
        /* fed */
        {"x Placeholder - 2; b Relu x 2; y Relu b 1", "x", "y", "b",
         WORKER0 | WORKER1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;

        init(&f, cases[i].nodes);
        find(&f, cases[i].feed, cases[i].target, false);
        if (early_at(&f, cases[i].of) != cases[i].early)
            fail_msg("%zu: %d", i, early_at(&f, cases[i].of));
        deinit(&f);
    }
}

static void test_feeds_of_a_partial_run_come_when_they_come(void **state)
{
    struct fixture f;

    (void)state;
    init(&f, "x Placeholder - 2; b Relu x 2; y Relu b 1");
    find(&f, "x", "y", true);
    assert_int_equal(early_at(&f, "b"), 0);
    deinit(&f);
}

/* Longer than there are passes: those are for edges that lead back in the list.
 */
static void test_long_chains_end(void **state)
{
    struct tfd_bytes nodes;
    struct fixture f;

    (void)state;
    tfd_bytes_init(&nodes, 1 << 20);
    tfd_bytes_printf(&nodes, "n0 Const - 1");
    for (int i = 1; i < 250; i++)
        tfd_bytes_printf(&nodes, "; n%d Relu n%d 2", i, i - 1);
    tfd_bytes_add(&nodes, "", 1);
    init(&f, nodes.data);
    find(&f, "", "n249", false);
    assert_int_equal(early_at(&f, "n249"), WORKER1);
    deinit(&f);
    tfd_bytes_deinit(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_after_a_gpu_of_the_task_is_not_early),
        cmocka_unit_test(test_feeds_of_a_partial_run_come_when_they_come),
        cmocka_unit_test(test_long_chains_end),
    };

    return cmocka_run_group_tests_name("early", tests, setup_registry,
                                       teardown_registry);
}
