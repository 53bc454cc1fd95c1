/*
 * test_metagraph.c - MetaGraphDefs: what is exported is what is read, and what
 * is damaged is refused.
 */
#include "tests/support/model.h"

#include "client/train/metagraph.h"
#include "client/train/model.h"
#include "client/train/placement.h"
#include "client/train/trainer_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static TF_Buffer *export(struct fixture *f, TFD_Scope *s)
{
    TF_Buffer *b = TF_NewBuffer();

    TFD_ExportMetaGraph(s, b, f->st);
    expect(f, TF_OK, "");
    return b;
}

static struct tfd_str bytes_of(const TF_Buffer *b)
{
    return (struct tfd_str){b->data, b->length};
}

static TF_Buffer *export_line(struct fixture *f)
{
    struct line_model m = line_model(f, "Adagrad", 0.5f);
    TF_Buffer *b;

    TFD_NewVariable(m.scope, "mine", TFD_ConstFloat(m.scope, NULL, 7, f->st),
                    TFD_LOCAL, f->st);
    TFD_AddSaver(m.scope, f->st);
    b = export(f, m.scope);
    TFD_DeleteScope(m.scope);
    return b;
}

static int length_of(const struct tfd_meta_graph *m, const char *collection)
{
    struct tfd_meta_list l = tfd_meta_graph_list(m, collection);
    struct tfd_str value;
    int count = 0;

    while (tfd_meta_list_next(&l, &value))
        count++;
    return count;
}

static void test_what_is_exported_is_read(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture *f = *state;
    TF_Buffer *b = export_line(f);
    struct tfd_variable_names names;
    struct tfd_meta_graph m;
    struct tfd_meta_list l;
    struct tfd_str value;

    assert_int_equal(tfd_meta_graph_read(bytes_of(b), &m, &st), TFD_OK);
    assert_true(tfd_str_is(m.saver.filename_tensor, "save/Const:0"));
    assert_true(tfd_str_is(m.saver.save_tensor, "save/control_dependency:0"));
    assert_true(tfd_str_is(m.saver.restore_op, "save/restore_all"));
    assert_int_equal(m.saver.max_to_keep, 5);
    assert_int_equal(length_of(&m, "variables"), 5);
    assert_int_equal(length_of(&m, "trainable_variables"), 2);
    assert_int_equal(length_of(&m, "local_variables"), 1);
    assert_int_equal(length_of(&m, "train_op"), 1);
    assert_int_equal(length_of(&m, "nothing"), 0);
    l = tfd_meta_graph_list(&m, "losses");
    assert_true(tfd_meta_list_next(&l, &value));
    assert_true(tfd_str_is(value, "Mean:0"));
    assert_false(tfd_meta_list_next(&l, &value));
    l = tfd_meta_graph_list(&m, "global_step");
    assert_true(tfd_meta_list_next(&l, &value));
    assert_int_equal(tfd_variable_names_read(value, &names, &st), TFD_OK);
    assert_true(tfd_str_is(names.variable, "global_step:0"));
    assert_true(tfd_str_is(names.initializer, "global_step/Assign"));
    assert_true(
        tfd_str_is(names.snapshot, "global_step/Read/ReadVariableOp:0"));
    assert_true(names.is_resource);
    TF_DeleteBuffer(b);
}

static void test_a_collection_holds_one_kind(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);

    TFD_Collect(m.scope, "variables", m.loss, f->st);
    expect(f, TF_INVALID_ARGUMENT, "variables");
    TF_SetStatus(f->st, TF_OK, "");
    TFD_Collect(m.scope, "mine", (TF_Output){NULL, 0}, f->st);
    expect(f, TF_INVALID_ARGUMENT, "");
    TF_SetStatus(f->st, TF_OK, "");
    TFD_CollectOp(m.scope, "mine", NULL, f->st);
    expect(f, TF_INVALID_ARGUMENT, "mine");
    TFD_DeleteScope(m.scope);
}

static void test_every_cut_is_refused_or_harmless(void **state)
{
    struct fixture *f = *state;
    TF_Buffer *b = export_line(f);
    struct tfd_meta_graph m;
    size_t refused = 0;

    for (size_t size = 0; size < b->length; size++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_str cut = {b->data, size};

        if (tfd_meta_graph_read(cut, &m, &st) == TFD_OK)
            (void)length_of(&m, "variables");
        else
            refused++;
    }
    assert_true(refused > b->length / 2);
    TF_DeleteBuffer(b);
}

/* ---- What a trainer makes of it ------------------------------------------ */

static void test_a_training_is_found_in_the_collections(void **state)
{
    struct tfd_trainer_graph_options o = {0, NULL};
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture *f = *state;
    TF_Buffer *b = export_line(f);
    struct tfd_trainer_graph t;

    assert_int_equal(tfd_trainer_graph_init(&t, bytes_of(b), &o, &st), TFD_OK);
    assert_string_equal(TF_OperationName(t.train_op), "Adagrad");
    assert_string_equal(TF_OperationName(t.loss.oper), "Mean");
    assert_int_equal(t.init_count, 5);
    assert_int_equal(t.ready_count, 5);
    assert_int_equal(t.local_init_count, 1);
    assert_string_equal(TF_OperationName(t.local_init[0]), "mine/Assign");
    assert_string_equal(TF_OperationName(t.restore), "save/restore_all");
    assert_int_equal(TF_OperationNumControlInputs(t.step_after.oper), 1);
    tfd_trainer_graph_deinit(&t);
    TF_DeleteBuffer(b);
}

static const char *device(const struct tfd_trainer_graph *t, const char *name)
{
    TF_Operation *op = TF_GraphOperationByName(t->graph, name);

    if (!op)
        fail_msg("no operation %s", name);
    return TF_OperationDevice(op);
}

static void test_placement_spreads_variables_and_keeps_what_belongs(void **s)
{
    static const struct {
        const char *name, *device;
    } places[] = {
        {"w", "/job:ps/task:0"},
        {"w/Assign", "/job:ps/task:0"},
        {"w/initial", "/job:ps/task:0"}, /* nobody else reads it */
        {"w/Adagrad", "/job:ps/task:0"},
        {"w/Adagrad/Initializer/Const", "/job:worker/task:2"},
        {"b", "/job:ps/task:1"},
        {"b/Adagrad", "/job:ps/task:1"},
        {"Adagrad/update_b/ResourceApplyAdagrad", "/job:ps/task:1"},
        {"Adagrad/update_b/learning_rate", "/job:ps/task:1"},
        {"global_step", "/job:ps/task:0"},
        {"Adagrad", "/job:ps/task:0"},
        {"Mean", "/job:worker/task:2"},
        {"mine", "/job:worker/task:2"},
        {"mine/Assign", "/job:worker/task:2"},
        {"save/SaveV2", "/job:worker/task:2"},
        {"save/SaveV2/tensor_names", "/job:worker/task:2"},
        {"save/RestoreV2", "/job:worker/task:2"},
        {"save/RestoreV2/tensor_names", "/job:worker/task:2"},
        {"save/Identity", "/job:ps/task:1"},
        {"save/AssignVariableOp", "/job:ps/task:1"},
    };
    struct tfd_trainer_graph_options o = {2, "/job:worker/task:2"};
    struct tfd_status st = TFD_STATUS_INIT;
    TF_Buffer *b = export_line(*s);
    struct tfd_trainer_graph t;

    assert_int_equal(tfd_trainer_graph_init(&t, bytes_of(b), &o, &st), TFD_OK);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (strcmp(device(&t, places[i].name), places[i].device) != 0)
            fail_msg("%s is on %s, not %s", places[i].name,
                     device(&t, places[i].name), places[i].device);
    tfd_trainer_graph_deinit(&t);
    TF_DeleteBuffer(b);
}

static void test_devices_that_name_a_job_stay(void **state)
{
    struct tfd_trainer_graph_options o = {1, "/job:worker/task:0"};
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g);
    TFD_Variable *w;
    struct tfd_trainer_graph t;
    TF_Buffer *b;

    TFD_SetScopeDevice(s, "/job:worker/task:7/device:CPU:0", f->st);
    TFD_ConstFloat(s, "pinned", 1, f->st);
    TFD_SetScopeDevice(s, "/device:CPU:1", f->st);
    TFD_ConstFloat(s, "typed", 1, f->st);
    w = TFD_NewVariable(s, "w", TFD_ConstFloat(s, NULL, 1, f->st),
                        TFD_TRAINABLE, f->st);
    TFD_Minimize(s, "GradientDescent", 1,
                 TFD_Op1(s, "Square", TFD_Read(w), f->st), f->st);
    b = export(f, s);
    assert_int_equal(tfd_trainer_graph_init(&t, bytes_of(b), &o, &st), TFD_OK);
    assert_string_equal(device(&t, "pinned"),
                        "/job:worker/task:7/device:CPU:0");
    assert_string_equal(device(&t, "typed"), "/job:worker/task:0/device:CPU:1");
    assert_string_equal(device(&t, "w"), "/job:ps/task:0");
    assert_non_null(t.restore); /* one of ours */
    assert_null(t.loss.oper);
    tfd_trainer_graph_deinit(&t);
    TF_DeleteBuffer(b);
    TFD_DeleteScope(s);
}

/* As a sharded saver of Python has it, and one that was built beside w. */
static void test_a_saver_leaves_the_devices_it_names(void **state)
{
    static const char *const ours[] = {"save/SaveV2", "save/RestoreV2",
                                       "save/SaveV2/tensor_names"};
    struct tfd_trainer_graph_options o = {1, "/job:chief/task:0"};
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture *f = *state;
    TFD_Scope *s = TFD_NewScope(f->g);
    TFD_Variable *w;
    struct tfd_trainer_graph t;
    struct tfd_str value;
    TF_Buffer *b;

    TFD_SetScopeDevice(s, "/job:ps/task:0/device:GPU:0", f->st);
    w = TFD_NewVariable(s, "w", TFD_ConstFloat(s, NULL, 1, f->st),
                        TFD_TRAINABLE, f->st);
    TFD_Minimize(s, "GradientDescent", 1,
                 TFD_Op1(s, "Square", TFD_Read(w), f->st), f->st);
    TFD_AddSaver(s, f->st);
    b = export(f, s);
    assert_int_equal(tfd_trainer_graph_init(&t, bytes_of(b), &o, &st), TFD_OK);
    for (int i = 0; i < TFD_COUNT(ours); i++)
        assert_string_equal(device(&t, ours[i]), "/job:chief/task:0");
    assert_string_equal(device(&t, "w"), "/job:ps/task:0/device:GPU:0");
    assert_string_equal(device(&t, "save/AssignVariableOp"),
                        "/job:ps/task:0/device:GPU:0");
    assert_false(
        tfd_node_attr(tfd_graph_find(t.graph->graph, TFD_STR("save/SaveV2")),
                      "_class", &value));
    tfd_trainer_graph_deinit(&t);
    TF_DeleteBuffer(b);
    TFD_DeleteScope(s);
}

static void expect_refused(struct fixture *f, TFD_Scope *s, const char *part)
{
    struct tfd_trainer_graph_options o = {0, NULL};
    struct tfd_status st = TFD_STATUS_INIT;
    TF_Buffer *b = export(f, s);
    struct tfd_trainer_graph t;

    if (tfd_trainer_graph_init(&t, bytes_of(b), &o, &st) == TFD_OK ||
        !strstr(st.text, part))
        fail_msg("expected '%s', got %d: %s", part, st.code, st.text);
    TF_DeleteBuffer(b);
}

static void test_what_cannot_be_trained_is_refused(void **state)
{
    struct tfd_trainer_graph_options o = {1, "no device"};
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    struct tfd_trainer_graph t;
    TF_Buffer *b;

    expect_refused(f, m.scope, "train_op");
    TFD_CollectOp(m.scope, "train_op", m.loss.oper, f->st);
    expect_refused(f, m.scope, "global_step");
    TFD_ConstFloat(m.scope, "global_step", 1, f->st);
    expect_refused(f, m.scope, "no int64 variable");
    b = export(f, m.scope);
    assert_int_equal(tfd_trainer_graph_init(&t, bytes_of(b), &o, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "no device"));
    TF_DeleteBuffer(b);
    tfd_status_clear(&st);
    assert_int_equal(tfd_trainer_graph_init(&t, TFD_STR(""), &o, &st),
                     TFD_INVALID_ARGUMENT);
    TFD_DeleteScope(m.scope);
}

/* ---- Queue runners ------------------------------------------------------- */

/* A model whose collection queue_runners has this entry. */
static enum tfd_code init_with_runner(struct tfd_str runner,
                                      struct tfd_trainer_graph *t,
                                      struct tfd_status *st)
{
    struct fixture *f = NULL;
    struct tfd_trainer_graph_options o = {0, NULL};
    struct line_model m;
    enum tfd_code rc;
    TF_Buffer *b;

    assert_int_equal(fixture_setup((void **)&f), 0);
    m = line_model(f, "Adagrad", 0.5f);
    TFD_ConstFloat(m.scope, "one", 1, f->st);
    tfd_model_collect(m.scope->model, "queue_runners", true, runner,
                      &f->st->st);
    b = export(f, m.scope);
    TFD_DeleteScope(m.scope);
    tfd_status_clear(st);
    rc = tfd_trainer_graph_init(t, bytes_of(b), &o, st);
    TF_DeleteBuffer(b);
    fixture_teardown((void **)&f);
    return rc;
}

#define CLOSED_BY "\x1a\x03one\x22\x03one" /* close_op_name, cancel_op_name */

static void test_queue_runners_are_found(void **state)
{
    static const struct {
        struct tfd_str def;
        int threads;
        uint32_t codes;
    } cases[] = {
        {TFD_STR_INIT("\x12\x03one\x12\x03one" CLOSED_BY), 2,
         1u << TFD_OUT_OF_RANGE},
        {TFD_STR_INIT(CLOSED_BY "\x2a\x02\x0b\x01"), 0,
         1u << TFD_OUT_OF_RANGE | 1u << TFD_CANCELLED},
        {TFD_STR_INIT(CLOSED_BY "\x28\x05\x28\x7f"), 0, 1u << TFD_NOT_FOUND},
    };
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_trainer_graph t;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(init_with_runner(cases[i].def, &t, &st), TFD_OK);
        assert_int_equal(t.queue_runner_count, 1);
        assert_int_equal(t.queue_runners[0].enqueue_count, cases[i].threads);
        assert_int_equal(t.queue_runners[0].closed_codes, cases[i].codes);
        assert_string_equal(TF_OperationName(t.queue_runners[0].close), "one");
        tfd_trainer_graph_deinit(&t);
    }
}

static void test_bad_queue_runners_are_refused(void **state)
{
    static const struct {
        struct tfd_str def;
        enum tfd_code code;
        const char *text;
    } cases[] = {
        {TFD_STR_INIT(""), TFD_INVALID_ARGUMENT, "entry 0 does not name"},
        {TFD_STR_INIT("\x1a\x03one"), TFD_INVALID_ARGUMENT, "does not name"},
        {TFD_STR_INIT("\x12\x03two" CLOSED_BY), TFD_INVALID_ARGUMENT,
         "queue_runners of the MetaGraphDef, 'two', is no operation"},
        {TFD_STR_INIT("\x1a\x03two\x22\x03one"), TFD_INVALID_ARGUMENT, "'two'"},
        {TFD_STR_INIT("\x12\x7fone"), TFD_INVALID_ARGUMENT, "QueueRunnerDef"},
        {TFD_STR_INIT(CLOSED_BY "\xff"), TFD_INVALID_ARGUMENT,
         "QueueRunnerDef"},
    };
    char many[5 * (TFD_QUEUE_THREADS_MAX + 1) + 1];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_trainer_graph t;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (init_with_runner(cases[i].def, &t, &st) != cases[i].code ||
            !strstr(st.text, cases[i].text))
            fail_msg("%zu: %s", i, st.text);
    }
    for (int i = 0; i <= TFD_QUEUE_THREADS_MAX; i++)
        memcpy(many + 5 * i, "\x12\x03one", 5);
    assert_int_equal(
        init_with_runner((struct tfd_str){many, sizeof(many) - 1}, &t, &st),
        TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st.text, "257 threads; the limit is 256"));
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_exported_is_read),
        TEST(test_a_collection_holds_one_kind),
        TEST(test_every_cut_is_refused_or_harmless),
        TEST(test_a_training_is_found_in_the_collections),
        TEST(test_placement_spreads_variables_and_keeps_what_belongs),
        TEST(test_devices_that_name_a_job_stay),
        TEST(test_a_saver_leaves_the_devices_it_names),
        TEST(test_what_cannot_be_trained_is_refused),
        cmocka_unit_test(test_queue_runners_are_found),
        cmocka_unit_test(test_bad_queue_runners_are_refused),
    };

    return cmocka_run_group_tests_name("metagraph", tests, NULL, NULL);
}
