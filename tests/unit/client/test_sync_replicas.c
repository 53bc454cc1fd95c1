/*
 * test_sync_replicas.c - TFD_MinimizeInStep() and what a trainer makes of it.
 */
#define _GNU_SOURCE 1 /* mkdtemp() */

#include "tests/support/model.h"

#include "client/train/trainer_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* As in test_optimizers.c: with w = 0.5, b = 0. */
#define W_GRADIENT -3.5

/* ---- The graph ----------------------------------------------------------- */

static void test_gradients_of_two_make_one_step(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    TF_Operation *train = TFD_MinimizeInStep(m.scope, "GradientDescent", 0.1f,
                                             m.loss, 2, 2, f->st);
    const char *const init[] = {"w/Assign", "b/Assign", "global_step/Assign",
                                "sync_replicas/sync_rep_local_step/Assign",
                                "sync_replicas/chief_init_op"};
    TF_Session *s;

    expect(f, TF_OK, "");
    assert_string_equal(TF_OperationName(train), "sync_replicas/train_op");
    s = open_session(f);
    for (int i = 0; i < 5; i++)
        run(f, s, init[i]);
    for (int i = 0; i < 2; i++) {
        run(f, s, "sync_replicas/apply_grad");
        run(f, s, "sync_replicas/apply_grad_1");
    }
    run(f, s, "sync_replicas/sync_token_q_EnqueueMany_1"); /* the update */
    check_near(value(f, s, "w/Read/ReadVariableOp"), 0.5 - 0.1 * W_GRADIENT);
    check_near(value(f, s, "global_step/Read/ReadVariableOp"), 1);
    for (int i = 0; i < 2; i++) { /* two tokens for two workers */
        check_near(value(f, s,
                         "sync_replicas/sync_rep_local_step/Read/"
                         "ReadVariableOp"),
                   i);
        run(f, s, "sync_replicas/train_op");
    }
    TF_DeleteSession(s, f->st);
    TFD_DeleteScope(m.scope);
}

static void test_numbers_of_replicas_that_cannot_be(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    const struct {
        const char *optimizer;
        int aggregate, total;
        const char *text;
    } cases[] = {
        {"GradientDescent", 0, 1, "replicas_to_aggregate is 0"},
        {"GradientDescent", -1, 1, "replicas_to_aggregate is -1"},
        {"GradientDescent", 1, 0, "total_replicas is 0"},
        {"GradientDescent", 1, 2000000, "total_replicas is 2000000"},
        {"Nonsense", 1, 1, "no optimizer 'Nonsense'"},
    };

    for (int i = 0; i < 5; i++) {
        assert_null(TFD_MinimizeInStep(m.scope, cases[i].optimizer, 0.1f,
                                       m.loss, cases[i].aggregate,
                                       cases[i].total, f->st));
        expect(f, TF_INVALID_ARGUMENT, cases[i].text);
        TF_SetStatus(f->st, TF_OK, "");
    }
    assert_null(TFD_MinimizeInStep(m.scope, "GradientDescent", 0.1f,
                                   TFD_ConstFloat(m.scope, NULL, 1, f->st), 1,
                                   1, f->st));
    expect(f, TF_INVALID_ARGUMENT, "No gradients provided");
    TFD_DeleteScope(m.scope);
}

/* ---- Files --------------------------------------------------------------- */

static char dir[64], meta_file[96];

static int set_up(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/tfd-sync-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    snprintf(meta_file, sizeof(meta_file), "%s/line.meta", dir);
    return fixture_setup(state);
}

static int tear_down(void **state)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return fixture_teardown(state) || system(command);
}

static void write_meta(struct fixture *f, TFD_Scope *s)
{
    TF_Buffer *b = TF_NewBuffer();
    FILE *file = fopen(meta_file, "w");

    assert_non_null(file);
    TFD_ExportMetaGraph(s, b, f->st);
    expect(f, TF_OK, "");
    assert_int_equal(fwrite(b->data, 1, b->length, file), b->length);
    fclose(file);
    TF_DeleteBuffer(b);
    TFD_DeleteScope(s);
}

/* ---- Placement ----------------------------------------------------------- */

static struct tfd_str device_of(const struct tfd_trainer_graph *t,
                                const char *name)
{
    const struct tfd_node *n =
        tfd_graph_find(t->graph->graph, tfd_str_of(name));

    if (!n)
        fail_msg("no node %s", name);
    return n->device;
}

static void test_everything_stands_beside_its_variable(void **state)
{
    static const char *const pairs[][2] = {
        {"sync_replicas/accumulator", "w"},
        {"sync_replicas/apply_grad", "w"},
        {"sync_replicas/take_grad", "w"},
        {"sync_replicas/accumulator_1", "b"},
        {"sync_replicas/SetGlobalStep_1", "b"},
        {"sync_replicas/sync_token_q", "global_step"},
        {"sync_replicas/tokens", "global_step"},
        {"sync_replicas/tokens_1", "global_step"},
        {"sync_replicas/sync_token_q_Dequeue", "global_step"},
    };
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    struct tfd_trainer_graph_options o = {3, "/job:worker/task:1"};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_trainer_graph t;
    TF_Buffer *b = TF_NewBuffer();

    TFD_MinimizeInStep(m.scope, "Adagrad", 0.1f, m.loss, 2, 3, f->st);
    TFD_ExportMetaGraph(m.scope, b, f->st);
    expect(f, TF_OK, "");
    if (tfd_trainer_graph_init(&t, (struct tfd_str){b->data, b->length}, &o,
                               &st))
        fail_msg("%s", st.text);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (!tfd_str_eq(device_of(&t, pairs[i][0]), device_of(&t, pairs[i][1])))
            fail_msg("%s is not beside %s", pairs[i][0], pairs[i][1]);
    assert_true(tfd_str_is(device_of(&t, "w"), "/job:ps/task:0/device:CPU:0") ||
                tfd_str_starts(device_of(&t, "w"), "/job:ps"));
    assert_true(tfd_str_starts(device_of(&t, "sync_replicas/"
                                             "sync_rep_local_step"),
                               "/job:worker"));
    assert_true(
        tfd_str_starts(device_of(&t, "sync_replicas/train_op"), "/job:worker"));
    assert_non_null(t.sync_update);
    tfd_trainer_graph_deinit(&t);
    TF_DeleteBuffer(b);
    TFD_DeleteScope(m.scope);
}

/* ---- Trainers ------------------------------------------------------------ */

struct told {
    int64_t last_step;
    int steps;
    double loss;
};

static void after_step(void *ctx, int64_t step, double loss)
{
    struct told *t = ctx;

    t->last_step = step;
    t->loss = loss;
    t->steps++;
}

static void train(struct fixture *f, struct told *t)
{
    TFD_TrainerOptions o = {.struct_size = sizeof(o),
                            .meta_file = meta_file,
                            .is_chief = true,
                            .max_steps = 50,
                            .after_step = after_step,
                            .ctx = t};
    TFD_Trainer *trainer = TFD_NewTrainer(&o, f->st);

    *t = (struct told){.last_step = -1};
    if (trainer)
        TFD_Train(trainer, f->st);
    TFD_DeleteTrainer(trainer);
}

static void test_a_chief_alone_keeps_step_with_itself(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    struct told t;

    TFD_MinimizeInStep(m.scope, "GradientDescent", 0.1f, m.loss, 1, 1, f->st);
    write_meta(f, m.scope);
    train(f, &t);
    expect(f, TF_OK, "");
    assert_true(t.last_step >= 50);
    assert_true(t.loss < 0.1);
}

/* The updates fail while a step waits for a token that never comes. */
static void test_what_the_updates_fail_with_ends_the_training(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, NULL, 0);
    TF_Output name = TFD_ConstString(m.scope, NULL, "/no/such/file", f->st);
    struct told t;

    /* A trainer takes the first. */
    TFD_CollectOp(m.scope, "tfd_sync_update",
                  TFD_Op1(m.scope, "ReadFile", name, f->st).oper, f->st);
    TFD_MinimizeInStep(m.scope, "GradientDescent", 0.1f, m.loss, 2, 2, f->st);
    write_meta(f, m.scope);
    train(f, &t);
    expect(f, TF_NOT_FOUND, "/no/such/file");
    assert_true(t.steps <= 2); /* those of the first tokens */
}

static void test_a_part_that_is_missing_is_named(void **state)
{
    struct fixture *f = *state;
    struct line_model m = line_model(f, "GradientDescent", 0.1f);
    struct told t;

    TFD_CollectOp(m.scope, "tfd_sync_update", m.train_op, f->st);
    write_meta(f, m.scope);
    train(f, &t);
    expect(f, TF_INVALID_ARGUMENT,
           "collection tfd_sync_update but no tfd_sync_chief_init");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gradients_of_two_make_one_step),
        TEST(test_numbers_of_replicas_that_cannot_be),
        TEST(test_everything_stands_beside_its_variable),
        TEST(test_a_chief_alone_keeps_step_with_itself),
        TEST(test_what_the_updates_fail_with_ends_the_training),
        TEST(test_a_part_that_is_missing_is_named),
    };

    return cmocka_run_group_tests_name("sync_replicas", tests, NULL, NULL);
}
