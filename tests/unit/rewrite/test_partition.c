/*
 * test_partition.c - daemon/rewrite/partition.c: what each task is
 * given.  The graphs and their pieces are those that TensorFlow 2.21 showed as
 * RunMetadata.partition_graphs, but for the numbers of edges and names.
 *
 * The client's task is worker 0 with two CPUs, then ps 0 and ps 1.  Loops have
 * a test of their own.
 */
#include "daemon/rewrite/partition.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "tests/support/planning.h"

#include <inttypes.h>

#define WORKERS 3

static const char *const device_names[] = {
    "/job:worker/replica:0/task:0/device:CPU:0",
    "/job:worker/replica:0/task:0/device:CPU:1",
    "/job:ps/replica:0/task:0/device:CPU:0",
    "/job:ps/replica:0/task:1/device:CPU:0",
};

/* What is partitioned: nodes with their device as a number: "c Const - 2". */
struct fixture {
    struct tfd_graph *graph;
    struct tfd_device_set devices;
    int32_t device_of[64];
    bool native[WORKERS];
    struct signature signature;
    struct tfd_arena arena;
    struct tfd_pruned pruned;
    int64_t suffix;
    struct tfd_bytes out[WORKERS];
    struct tfd_status st;
};

static void open_devices(struct tfd_device_set *set)
{
    tfd_device_set_init(set);
    add_device(set, "worker", 0, "CPU", 0, 0);
    add_device(set, "worker", 0, "CPU", 1, 0);
    add_device(set, "ps", 0, "CPU", 0, 1);
    add_device(set, "ps", 1, "CPU", 0, 2);
    assert_int_equal(tfd_device_set_finish(set, NULL), TFD_OK);
}

/* Adds nodes and notes their devices. */
static void add_nodes(struct fixture *f, const char *nodes)
{
    int32_t before = f->graph->count;

    nodes_import(f->graph, nodes);
    note_devices(f->graph, before, f->device_of);
}

static enum tfd_code run(struct fixture *f, const char *signature)
{
    struct tfd_partition_request r = {
        .graph = f->graph,
        .pruned = &f->pruned,
        .signature = &f->signature.sig,
        .devices = &f->devices,
        .device_of = f->device_of,
        .native = f->native,
        .worker_count = WORKERS,
        .suffix = &f->suffix,
        .arena = &f->arena,
    };

    for (int i = 0; i < WORKERS; i++)
        tfd_bytes_clear(&f->out[i]);
    tfd_status_clear(&f->st);
    parse(&f->signature, signature);
    TFD_TRY(
        tfd_prune(f->graph, &f->signature.sig, &f->arena, &f->pruned, &f->st));
    return tfd_partition(&r, f->out, &f->st);
}

static struct fixture *open_fixture(const char *nodes)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->graph = tfd_graph_new(&registry.ops, NULL);
    open_devices(&f->devices);
    tfd_arena_init(&f->arena, 64 << 20);
    for (int i = 0; i < WORKERS; i++) {
        f->native[i] = true;
        tfd_bytes_init(&f->out[i], 64 << 20);
    }
    add_nodes(f, nodes);
    return f;
}

static void close_fixture(struct fixture *f)
{
    for (int i = 0; i < WORKERS; i++)
        tfd_bytes_deinit(&f->out[i]);
    tfd_arena_deinit(&f->arena);
    tfd_device_set_deinit(&f->devices);
    tfd_graph_unref(f->graph);
    free(f);
}

/* ---- What came out ------------------------------------------------------- */

static int64_t int_attr(const struct tfd_node *n, const char *name)
{
    int64_t value = -1;

    return tfd_node_int(n, name, &value, NULL) == TFD_OK ? value : -1;
}

static struct tfd_str str_attr(const struct tfd_node *n, const char *name)
{
    struct tfd_str value = TFD_STR_EMPTY;

    assert_int_equal(tfd_node_str(n, name, &value, NULL), TFD_OK);
    return value;
}

static int device_number(struct tfd_str name)
{
    for (int i = 0; i < 4; i++)
        if (tfd_str_is(name, device_names[i]))
            return i;
    fail_msg("no device " TFD_STR_FMT, TFD_STR_ARG(name));
    return -1;
}

/* "[edge_0_b 2>0 #0]": name, devices, channel; '!' for the client's. */
static void put_pair(struct tfd_bytes *text, const struct tfd_node *n)
{
    int from = device_number(str_attr(n, "send_device"));
    int to = device_number(str_attr(n, "recv_device"));
    int64_t channel = int_attr(n, "_tfd_channel");
    struct tfd_str name = str_attr(n, "tensor_name");
    bool client = false;

    assert_int_equal(int_attr(n, "send_device_incarnation"), 100 + from);
    assert_int_equal(tfd_node_bool(n, "client_terminated", &client, NULL),
                     TFD_OK);
    assert_int_equal(device_number(n->device),
                     tfd_str_is(n->op->name, "_Send") ? from : to);
    tfd_bytes_printf(text, "[" TFD_STR_FMT " %d>%d%s", TFD_STR_ARG(name), from,
                     to, client ? " !" : "");
    if (channel >= 0)
        tfd_bytes_printf(text, " #%" PRId64, channel);
    tfd_bytes_printf(text, "]");
}

static void put_inputs(struct tfd_bytes *text, const struct tfd_graph *g,
                       const struct tfd_node *n)
{
    int count = 0;

    for (int32_t i = 0; i < n->in_count; i++) {
        tfd_bytes_printf(text, "%s%s", count++ ? "," : "(",
                         g->nodes[n->in[i].node]->name.data);
        if (n->in[i].output > 0)
            tfd_bytes_printf(text, ":%d", n->in[i].output);
    }
    for (int32_t i = 0; i < n->control_count; i++)
        tfd_bytes_printf(text, "%s^%s", count++ ? "," : "(",
                         g->nodes[n->control[i]]->name.data);
    if (count)
        tfd_bytes_printf(text, ")");
}

/* A piece as its worker reads it: "a=Const c=Relu(a)[...]". */
static void read_piece(struct tfd_str bytes, struct tfd_bytes *text)
{
    const struct tfd_graphdef_options options = {.require_full_device = true};
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
    struct tfd_status st = TFD_STATUS_INIT;
    int32_t first;

    if (tfd_graphdef_import(g, bytes, &options, &first, &st) != TFD_OK)
        fail_msg("%s", st.text);
    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_node *n = g->nodes[i];

        tfd_bytes_printf(text, "%s%s=%s", i ? " " : "", n->name.data,
                         n->op->name.data);
        put_inputs(text, g, n);
        if (tfd_str_is(n->op->name, "_Send") ||
            tfd_str_is(n->op->name, "_Recv"))
            put_pair(text, n);
        else if (device_number(n->device) == 1)
            tfd_bytes_printf(text, "@1");
    }
    tfd_graph_unref(g);
}

/* Each piece is written so; NULL: that task takes no part. */
static void assert_pieces(struct fixture *f, const char *worker,
                          const char *ps0, const char *ps1)
{
    const char *const want[WORKERS] = {worker, ps0, ps1};

    for (int i = 0; i < WORKERS; i++) {
        struct tfd_bytes text;

        assert_int_equal(f->out[i].size == 0, want[i] == NULL);
        if (!want[i])
            continue;
        tfd_bytes_init(&text, 1 << 20);
        read_piece(tfd_bytes_view(&f->out[i]), &text);
        if (strcmp(text.data, want[i]) != 0)
            fail_msg("worker %d\nwant %s\ngot  %s", i, want[i], text.data);
        tfd_bytes_deinit(&text);
    }
}

static void run_ok(struct fixture *f, const char *signature)
{
    if (run(f, signature) != TFD_OK)
        fail_msg("%s: %s", signature, f->st.text);
}

/* ---- Edges --------------------------------------------------------------- */

static void test_what_stays_in_one_task_is_not_cut(void **state)
{
    struct fixture *f = open_fixture("a Const - 0; b Relu a 1; n NoOp ^b 0");

    (void)state;
    run_ok(f, "||n");
    assert_pieces(f, "a=Const b=Relu(a)@1 n=NoOp(^b)", NULL, NULL);
    close_fixture(f);
}

static void test_one_pair_serves_all_consumers_in_a_task(void **state)
{
    struct fixture *f = open_fixture(
        "a Const - 2; c Relu a 0; d Relu a 1; e Relu a 3; g Relu a 2");

    (void)state;
    run_ok(f, "||c,d,e,g");
    assert_pieces(f, "a_S1=_Recv[edge_0_a 2>0 #0] c=Relu(a_S1) d=Relu(a_S1)@1",
                  "a=Const a_S0=_Send(a)[edge_0_a 2>0 #0] "
                  "a_S2=_Send(a)[edge_1_a 2>3 #1] g=Relu(a)",
                  "a_S3=_Recv[edge_1_a 2>3 #1] e=Relu(a_S3)");
    close_fixture(f);
}

static void test_outputs_are_sent_one_by_one(void **state)
{
    struct fixture *f =
        open_fixture("n ConstI - 2; v Const - 2; s Split n,v 2; c Add s,s:1 0; "
                     "d Relu s:1 0");

    (void)state;
    run_ok(f, "||c,d");
    assert_pieces(f,
                  "s_S1=_Recv[edge_0_s 2>0 #0] s_S3=_Recv[edge_1_s 2>0 #1] "
                  "c=Add(s_S1,s_S3) d=Relu(s_S3)",
                  "n=Const v=Const s=Split(n,v) s_S0=_Send(s)[edge_0_s 2>0 #0] "
                  "s_S2=_Send(s:1)[edge_1_s 2>0 #1]",
                  NULL);
    close_fixture(f);
}

static void test_a_control_edge_travels_as_nothing(void **state)
{
    struct fixture *f =
        open_fixture("a Const - 2; c Relu a 0; n NoOp ^a 0; m NoOp ^a,^c 0");

    (void)state;
    run_ok(f, "||n,m");
    assert_pieces(
        f,
        "a_S1=_Recv[edge_0_a 2>0 #0] c=Relu(a_S1) a_S4=_Recv[edge_1_a 2>0 #1] "
        "a_S5=Identity(a_S4) n=NoOp(^a_S5) m=NoOp(^a_S5,^c)",
        "a=Const a_S0=_Send(a)[edge_0_a 2>0 #0] a/ctrl_S2=Const(^a) "
        "a_S3=_Send(a/ctrl_S2)[edge_1_a 2>0 #1]",
        NULL);
    close_fixture(f);
}

static void test_feeds_and_fetches_are_the_masters(void **state)
{
    struct fixture *f = open_fixture("p Placeholder - 2; b Identity p 2");

    (void)state;
    run_ok(f, "p:0|b:0,b|");
    assert_pieces(
        f,
        "_recv_p_0_0=_Recv[p:0 0>0 !] "
        "_recv_p_0_0_S0=_Send(_recv_p_0_0)[edge_0__recv_p_0_0 0>2 #0] "
        "b_S3=_Recv[edge_1_b 2>0 #1] _send_b_0_0=_Send(b_S3)[b:0 0>0 !] "
        "_send_b_0_1=_Send(b_S3)[b 0>0 !]",
        "_recv_p_0_0_S1=_Recv[edge_0__recv_p_0_0 0>2 #0] "
        "b=Identity(_recv_p_0_0_S1) b_S2=_Send(b)[edge_1_b 2>0 #1]",
        NULL);
    close_fixture(f);
}

static void test_only_tfd_pushes(void **state)
{
    struct fixture *f =
        open_fixture("a Const - 2; b Relu a 3; c Relu b 0; d Relu a 0");

    (void)state;
    f->native[2] = false;
    run_ok(f, "||c,d");
    assert_pieces(f,
                  "b_S3=_Recv[edge_1_b 3>0] c=Relu(b_S3) "
                  "a_S5=_Recv[edge_2_a 2>0 #2] d=Relu(a_S5)",
                  "a=Const a_S0=_Send(a)[edge_0_a 2>3] "
                  "a_S4=_Send(a)[edge_2_a 2>0 #2]",
                  "a_S1=_Recv[edge_0_a 2>3] b=Relu(a_S1) "
                  "b_S2=_Send(b)[edge_1_b 3>0]");
    close_fixture(f);
}

/* ---- References ---------------------------------------------------------- */

/* A reference is read after what its consumer waits for besides. */
static void test_a_reference_is_read_late(void **state)
{
    struct fixture *f = open_fixture(
        "v VariableV2 - 2; o Const - 2; a AssignAdd v,o 2; "
        "c Identity v 0; d Identity v,^a 0; e Add v,c 0; g Add v,v 0");

    (void)state;
    run_ok(f, "||c,g");
    assert_pieces(f,
                  "v_S1=_Recv[edge_0_v 2>0 #0] c=Identity(v_S1) "
                  "v_S3=_Recv[edge_1_v 2>0 #1] v_S5=_Recv[edge_2_v 2>0 #2] "
                  "g=Add(v_S3,v_S5)",
                  "v=VariableV2 v_S0=_Send(v)[edge_0_v 2>0 #0] "
                  "v_S2=_Send(v)[edge_1_v 2>0 #1] "
                  "v_S4=_Send(v)[edge_2_v 2>0 #2]",
                  NULL);
    f->suffix = 0;
    run_ok(f, "||d");
    assert_pieces(
        f,
        "v_S1=_Recv[edge_0_v 2>0 #0] a_S4=_Recv[edge_1_a 2>0 #1] "
        "a_S5=Identity(a_S4) d=Identity(v_S1,^a_S5)",
        "v=VariableV2 o=Const a=AssignAdd(v,o) v_S0=_Send(v,^a)[edge_0_v 2>0 "
        "#0] a/ctrl_S2=Const(^a) a_S3=_Send(a/ctrl_S2)[edge_1_a 2>0 #1]",
        NULL);
    close_fixture(f);
}

static void test_a_reference_waits_for_other_tasks_too(void **state)
{
    struct fixture *f =
        open_fixture("v VariableV2 - 2; c Const - 0; e Add v,c 0");

    (void)state;
    run_ok(f, "||e");
    assert_pieces(
        f,
        "c=Const c/ctrl_S0=Const(^c) c_S1=_Send(c/ctrl_S0)[edge_0_c 0>2 #0] "
        "v_S5=_Recv[edge_1_v 2>0 #1] e=Add(v_S5,c)",
        "v=VariableV2 c_S2=_Recv[edge_0_c 0>2 #0] c_S3=Identity(c_S2) "
        "v_S4=_Send(v,^c_S3)[edge_1_v 2>0 #1]",
        NULL);
    close_fixture(f);
}

static void test_alternatives_do_not_wait_for_each_other(void **state)
{
    struct fixture *f =
        open_fixture("v VariableV2 - 2; c Const - 0; m Merge v,c 0");

    (void)state;
    run_ok(f, "||m");
    assert_pieces(f, "c=Const v_S1=_Recv[edge_0_v 2>0 #0] m=Merge(v_S1,c)",
                  "v=VariableV2 v_S0=_Send(v)[edge_0_v 2>0 #0]", NULL);
    close_fixture(f);
}

/* ---- Names --------------------------------------------------------------- */

static void test_added_names_are_new(void **state)
{
    struct fixture *f = open_fixture(
        "a Const - 2; a_S0 Const - 2; a_S2 Const - 0; b Add a,a_S0 0");

    (void)state;
    run_ok(f, "||b");
    assert_pieces(f,
                  "a_S3=_Recv[edge_0_a 2>0 #0] a_S0_S5=_Recv[edge_1_a_S0 2>0 "
                  "#1] b=Add(a_S3,a_S0_S5)",
                  "a=Const a_S0=Const a_S1=_Send(a)[edge_0_a 2>0 #0] "
                  "a_S0_S4=_Send(a_S0)[edge_1_a_S0 2>0 #1]",
                  NULL);
    run_ok(f, "||b"); /* another plan: no name comes twice */
    assert_pieces(f,
                  "a_S7=_Recv[edge_0_a 2>0 #0] a_S0_S9=_Recv[edge_1_a_S0 2>0 "
                  "#1] b=Add(a_S7,a_S0_S9)",
                  "a=Const a_S0=Const a_S6=_Send(a)[edge_0_a 2>0 #0] "
                  "a_S0_S8=_Send(a_S0)[edge_1_a_S0 2>0 #1]",
                  NULL);
    close_fixture(f);
}

static void test_versions_travel_along(void **state)
{
    struct fixture *f = open_fixture("a Const - 2; b Relu a 0");

    (void)state;
    f->graph->versions.producer = 1234;
    f->graph->versions.min_consumer = 12;
    run_ok(f, "||b");
    for (int i = 0; i < 2; i++) {
        struct tfd_pb_reader r = tfd_pb_reader_of(tfd_bytes_view(&f->out[i]));
        struct tfd_pb_field field;
        int found = 0;

        while (tfd_pb_next(&r, &field))
            if (field.tag == tensorflow_GraphDef_versions_tag) {
                struct tfd_str bytes = tfd_pb_str(&r, &field);

                assert_int_equal(bytes.size, 5);
                assert_memory_equal(bytes.data, "\x08\xd2\x09\x10\x0c", 5);
                found++;
            }
        assert_int_equal(found, 1);
    }
    close_fixture(f);
}

/* ---- Limits -------------------------------------------------------------- */

static void test_an_arena_that_is_too_small_is_a_failure(void **state)
{
    struct fixture *f =
        open_fixture("a Const - 2; b Relu a 0; n NoOp ^a,^b 3; v VariableV2 - "
                     "2; c Add v,b 0");
    int failures = 0;

    (void)state;
    for (size_t max = 0; max < 8000; max += 16) {
        enum tfd_code rc;

        tfd_arena_deinit(&f->arena);
        tfd_arena_init(&f->arena, max);
        rc = run(f, "|b:0|n,c");
        assert_true(rc == TFD_OK || rc == TFD_RESOURCE_EXHAUSTED);
        failures += rc != TFD_OK;
    }
    assert_true(failures > 10);
    assert_int_equal(f->st.code, TFD_OK);
    close_fixture(f);
}

static void test_a_piece_that_is_too_large_is_a_failure(void **state)
{
    struct fixture *f = open_fixture("a Const - 2; b Relu a 0");

    (void)state;
    tfd_bytes_deinit(&f->out[1]);
    tfd_bytes_init(&f->out[1], 100);
    assert_int_equal(run(f, "||b"), TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(f->st.text, "the GraphDef of a partition"));
    close_fixture(f);
}

static void test_many_edges_between_tasks(void **state)
{
    enum { COUNT = 5000 };
    struct fixture *f = open_fixture("a Const - 2");
    int32_t *device_of = calloc(COUNT + 1, sizeof(*device_of));
    struct tfd_partition_request r = {
        .graph = f->graph,
        .pruned = &f->pruned,
        .signature = &f->signature.sig,
        .devices = &f->devices,
        .device_of = device_of,
        .native = f->native,
        .worker_count = WORKERS,
        .suffix = &f->suffix,
        .arena = &f->arena,
    };
    struct tfd_bytes b;
    char line[64];
    int32_t first;

    (void)state;
    assert_non_null(device_of);
    tfd_bytes_init(&b, 64 << 20);
    device_of[0] = 2;
    for (int i = 1; i <= COUNT; i++) { /* from task to task and back */
        snprintf(line, sizeof(line), "n%d Relu %s%.0d", i, i == 1 ? "a" : "n",
                 i == 1 ? 0 : i - 1);
        nodes_put(&b, line);
        device_of[i] = i % 2 ? 0 : 2;
    }
    assert_int_equal(
        tfd_graphdef_import(f->graph, tfd_bytes_view(&b), NULL, &first, NULL),
        TFD_OK);
    parse(&f->signature, "||n5000");
    assert_int_equal(
        tfd_prune(f->graph, &f->signature.sig, &f->arena, &f->pruned, NULL),
        TFD_OK);
    assert_int_equal(tfd_partition(&r, f->out, &f->st), TFD_OK);
    assert_int_equal(f->suffix, 2 * COUNT);
    tfd_bytes_deinit(&b);
    free(device_of);
    close_fixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_stays_in_one_task_is_not_cut),
        cmocka_unit_test(test_one_pair_serves_all_consumers_in_a_task),
        cmocka_unit_test(test_outputs_are_sent_one_by_one),
        cmocka_unit_test(test_a_control_edge_travels_as_nothing),
        cmocka_unit_test(test_feeds_and_fetches_are_the_masters),
        cmocka_unit_test(test_only_tfd_pushes),
        cmocka_unit_test(test_a_reference_is_read_late),
        cmocka_unit_test(test_a_reference_waits_for_other_tasks_too),
        cmocka_unit_test(test_alternatives_do_not_wait_for_each_other),
        cmocka_unit_test(test_added_names_are_new),
        cmocka_unit_test(test_versions_travel_along),
        cmocka_unit_test(test_an_arena_that_is_too_small_is_a_failure),
        cmocka_unit_test(test_a_piece_that_is_too_large_is_a_failure),
        cmocka_unit_test(test_many_edges_between_tasks),
    };

    return cmocka_run_group_tests_name("partition", tests, setup_registry,
                                       teardown_registry);
}
