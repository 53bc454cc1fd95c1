/*
 * test_trainer.c - TFD_Trainer in one process: to the end, again from the
 * checkpoint, stopped, over the loss of its server.
 */
#define _GNU_SOURCE 1 /* mkdtemp() */

#include "tests/support/model.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A server in a process of its own, forked while this one has no threads: it
 * serves when it is told a port, and tells which. */
struct child {
    pid_t pid;
    int to, from;
};

/* What one training told. */
struct told {
    TFD_Trainer *trainer;
    int steps, evaluations, waits, losts, restores;
    int64_t first_step, last_step;
    double loss, accuracy;
    void (*at_step)(struct told *t, int64_t step);
    void (*when_failed)(void);
    int failures;
    bool stop_when_restored;
    struct child children[2];
    TF_Server *server;
    int port;
    pthread_t stopper;
    TF_Status *st;
};

static void after_step(void *ctx, int64_t step, double loss)
{
    struct told *t = ctx;

    if (t->steps++ == 0)
        t->first_step = step;
    t->last_step = step;
    t->loss = loss;
    if (t->at_step)
        t->at_step(t, step);
}

static void evaluated(void *ctx, const char *name, double value)
{
    struct told *t = ctx;

    assert_string_equal(name, "Mean");
    t->evaluations++;
    t->accuracy = value;
}

static void said(void *ctx, const char *text)
{
    struct told *t = ctx;

    t->waits += strstr(text, "waiting") != NULL;
    t->losts += strstr(text, "lost") != NULL;
    t->restores += strstr(text, "restored") != NULL;
    t->failures += strstr(text, "save_failed") != NULL;
    if (strstr(text, "save_failed") && t->when_failed)
        t->when_failed();
    if (strstr(text, "restored") && t->stop_when_restored)
        TFD_StopTraining(t->trainer);
    if (strstr(text, "waiting") && t->trainer)
        TFD_StopTraining(t->trainer);
}

/* ---- Files --------------------------------------------------------------- */

static char dir[64], meta_file[96], checkpoints[96];

static void write_meta(struct fixture *f, bool saver)
{
    struct line_model m;
    TF_Buffer *b = TF_NewBuffer();
    FILE *file;

    TF_SetStatus(f->st, TF_OK, "");
    m = line_model(f, "GradientDescent", 0.1f);
    TFD_Collect(m.scope, "tfd_eval", m.loss, f->st);
    if (saver)
        TFD_AddSaver(m.scope, f->st);
    TFD_ExportMetaGraph(m.scope, b, f->st);
    if (TF_GetCode(f->st) != TF_OK)
        fail_msg("%s", TF_Message(f->st));
    file = fopen(meta_file, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->length, file), b->length);
    fclose(file);
    TF_DeleteBuffer(b);
    TFD_DeleteScope(m.scope);
}

static int set_up(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/tfd-trainer-XXXXXX");
    if (!mkdtemp(dir))
        return 1;
    snprintf(meta_file, sizeof(meta_file), "%s/line.meta", dir);
    snprintf(checkpoints, sizeof(checkpoints), "%s/ckpt", dir);
    return fixture_setup(state);
}

static int tear_down(void **state)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return fixture_teardown(state) || system(command);
}

static TFD_TrainerOptions options(struct told *t)
{
    *t = (struct told){.last_step = -1};
    return (TFD_TrainerOptions){
        .struct_size = sizeof(TFD_TrainerOptions),
        .meta_file = meta_file,
        .checkpoint_dir = checkpoints,
        .is_chief = true,
        .max_steps = 50,
        .recovery_wait_secs = 0.2,
        .after_step = after_step,
        .evaluated = evaluated,
        .said = said,
        .ctx = t,
    };
}

/* Trains with these options; the code. */
static TF_Code train(struct fixture *f, const TFD_TrainerOptions *o,
                     struct told *t)
{
    TFD_Trainer *trainer = TFD_NewTrainer(o, f->st);

    t->trainer = trainer;
    t->st = f->st;
    if (trainer) {
        assert_non_null(TFD_TrainerGraph(trainer));
        TFD_Train(trainer, f->st);
        assert_null(TFD_TrainerSession(trainer));
    }
    t->trainer = NULL;
    TFD_DeleteTrainer(trainer);
    return TF_GetCode(f->st);
}

static bool has_checkpoint(int step)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/model.ckpt-%d.index", checkpoints, step);
    return access(path, F_OK) == 0;
}

/* ---- Tests --------------------------------------------------------------- */

static void test_it_trains_to_the_last_step_and_goes_on_from_there(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);

    write_meta(f, true);
    o.save_steps = 20;
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_int_equal(t.first_step, 1);
    assert_int_equal(t.last_step, 50);
    assert_int_equal(t.steps, 50);
    assert_int_equal(t.evaluations, 1);
    assert_true(t.accuracy < 0.1);
    assert_true(has_checkpoint(0) && has_checkpoint(20) && has_checkpoint(40));
    assert_true(has_checkpoint(50));

    o = options(&t);
    o.max_steps = 60;
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_int_equal(t.restores, 1);
    assert_int_equal(t.first_step, 51);
    assert_int_equal(t.last_step, 60);
    assert_true(t.loss < 0.1);

    o = options(&t); /* nothing is left to do */
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_int_equal(t.steps, 0);
    assert_int_equal(t.evaluations, 1);
}

static void test_a_model_without_saver_gets_one(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);

    write_meta(f, false);
    o.checkpoint_dir = NULL;
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_int_equal(t.last_step, 50);
    assert_false(has_checkpoint(50));
    o = options(&t);
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_true(has_checkpoint(50));
    o = options(&t);
    o.max_steps = 60;
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_int_equal(t.restores, 1);
    assert_int_equal(t.first_step, 51);
}

static void stop_at_10(struct told *t, int64_t step)
{
    if (step == 10)
        TFD_StopTraining(t->trainer);
}

static void test_stopping_saves(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);

    write_meta(f, true);
    o.max_steps = 0; /* no end */
    t.at_step = stop_at_10;
    assert_int_equal(train(f, &o, &t), TF_OK);
    assert_int_equal(t.last_step, 10);
    assert_int_equal(t.evaluations, 0);
    assert_true(has_checkpoint(10));
}

static void test_a_worker_waits_for_its_chief(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);

    write_meta(f, true);
    o.is_chief = false;
    assert_int_equal(train(f, &o, &t), TF_OK); /* said() stops it */
    assert_int_equal(t.waits, 1);
    assert_int_equal(t.steps, 0);
}

static void test_bad_models_and_directories(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);
    FILE *file;

    assert_int_equal(train(f, &o, &t), TF_NOT_FOUND);
    file = fopen(meta_file, "w");
    fputs("this is no MetaGraphDef", file);
    fclose(file);
    assert_int_equal(train(f, &o, &t), TF_INVALID_ARGUMENT);
    assert_non_null(strstr(TF_Message(f->st), "line.meta"));
    write_meta(f, true);
    o.checkpoint_dir = meta_file; /* a file */
    assert_int_not_equal(train(f, &o, &t), TF_OK);
    o.meta_file = NULL;
    assert_int_equal(train(f, &o, &t), TF_INVALID_ARGUMENT);
    o.struct_size = 0;
    assert_int_equal(train(f, &o, &t), TF_INVALID_ARGUMENT);
}

static void test_a_checkpoint_that_is_gone_ends_it(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);
    char command[200];

    write_meta(f, true);
    assert_int_equal(train(f, &o, &t), TF_OK);
    snprintf(command, sizeof(command), "rm %s/*.index", checkpoints);
    assert_int_equal(system(command), 0);
    assert_int_equal(train(f, &o, &t), TF_DATA_LOSS);
}

/* ---- A server that is lost ----------------------------------------------- */

static TF_Server *start_server(TF_Status *st, int port)
{
    char task[64], def[128];
    int task_size, size;
    TF_Server *server;

    task_size = snprintf(task, sizeof(task), "localhost:%d", port);
    size = snprintf(def, sizeof(def),
                    "\x0a%c\x0a%c\x0a\x06worker\x12%c\x08%c\x12%c%s"
                    "\x12\x06worker",
                    task_size + 16, task_size + 14, task_size + 4, 1, task_size,
                    task);
    for (int i = 0; i < size; i++) /* "\x08\x00" cannot be printed */
        if (def[i] == 1 && def[i - 1] == 8)
            def[i] = 0;
    server = TF_NewServer(def, (size_t)size, st);
    if (!server)
        fail_msg("%s", TF_Message(st));
    TF_ServerStart(server, st);
    return server;
}

static int port_of(TF_Server *server)
{
    return atoi(strrchr(TF_ServerTarget(server), ':') + 1);
}

static void serve_in_child(int in, int out)
{
    TF_Status *st = TF_NewStatus();
    int port;

    if (read(in, &port, sizeof(port)) != sizeof(port))
        _exit(0);
    port = port_of(start_server(st, port));
    if (write(out, &port, sizeof(port)) == sizeof(port))
        while (read(in, &port, sizeof(port)) > 0)
            ;
    _exit(0);
}

static struct child fork_child(void)
{
    int to[2], from[2];
    struct child c;

    assert_int_equal(pipe(to) | pipe(from), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        close(to[1]);
        serve_in_child(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    c.to = to[1];
    c.from = from[0];
    return c;
}

static int serve(struct child *c, int port)
{
    assert_int_equal(write(c->to, &port, sizeof(port)), sizeof(port));
    assert_int_equal(read(c->from, &port, sizeof(port)), sizeof(port));
    return port;
}

static void kill_child(struct child *c)
{
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->to);
    close(c->from);
}

static void replace_at_30(struct told *t, int64_t step)
{
    if (step != 30 || t->losts)
        return;
    kill_child(&t->children[0]);
    assert_int_equal(serve(&t->children[1], t->port), t->port);
}

static void test_a_killed_server_costs_the_steps_since_the_save(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);
    char target[64];

    write_meta(f, true);
    t.children[1] = fork_child();
    t.children[0] = fork_child();
    t.port = serve(&t.children[0], 0);
    snprintf(target, sizeof(target), "tfd://127.0.0.1:%d", t.port);
    o.target = target;
    o.save_steps = 20;
    t.at_step = replace_at_30;
    if (train(f, &o, &t) != TF_OK)
        fail_msg("%s", TF_Message(f->st));
    assert_true(t.losts >= 1);
    assert_int_equal(t.restores, 1);
    assert_int_equal(t.last_step, 50);
    assert_int_equal(t.steps, 30 + 30);
    kill_child(&t.children[1]);
}

/* It lets the trainer save before it goes, and is back for a later try. */
static void *stop_and_start(void *arg)
{
    TF_Status *st = TF_NewStatus();
    struct told *t = arg;

    TF_DeleteServer(t->server);
    t->server = start_server(st, t->port);
    TF_DeleteStatus(st);
    return NULL;
}

/* The server stops while the steps go on. */
static void stop_at_30(struct told *t, int64_t step)
{
    if (step == 30 && t->losts == 0) {
        t->port = port_of(t->server);
        assert_int_equal(pthread_create(&t->stopper, NULL, stop_and_start, t),
                         0);
    }
}

static void test_a_server_that_is_stopped_costs_nothing(void **state)
{
    static const char *const schemes[] = {"tfd", "grpc"};
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);
    char target[64], command[200];

    write_meta(f, true);
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof(command), "rm -rf %s", checkpoints);
        assert_int_equal(system(command), 0);
        o = options(&t);
        t.server = start_server(f->st, 0);
        snprintf(target, sizeof(target), "%s%s", schemes[i],
                 TF_ServerTarget(t.server) + strlen("grpc"));
        o.target = target;
        o.max_steps = 2000;
        t.at_step = stop_at_30;
        if (train(f, &o, &t) != TF_OK)
            fail_msg("%s", TF_Message(f->st));
        pthread_join(t.stopper, NULL);
        assert_true(t.losts >= 1); /* and the tries before it was back */
        assert_int_equal(t.restores, 1);
        assert_int_equal(t.last_step, 2000);
        assert_int_equal(t.steps, 2000);
        TF_DeleteServer(t.server);
    }
}

/* ... and the disk takes nothing just then. */
static void stop_without_disk_at_30(struct told *t, int64_t step)
{
    char command[400];

    if (step == 30 && t->losts == 0) {
        snprintf(command, sizeof(command), "mv %s %s-away && touch %s",
                 checkpoints, checkpoints, checkpoints);
        assert_int_equal(system(command), 0);
    }
    stop_at_30(t, step);
}

static void give_disk_back(void)
{
    char command[400];

    snprintf(command, sizeof(command), "rm %s && mv %s-away %s", checkpoints,
             checkpoints, checkpoints);
    assert_int_equal(system(command), 0);
}

static void test_a_server_that_stops_while_the_disk_is_full(void **state)
{
    struct fixture *f = *state;
    struct told t;
    TFD_TrainerOptions o = options(&t);
    char target[64];

    write_meta(f, true);
    t.server = start_server(f->st, 0);
    snprintf(target, sizeof(target), "tfd%s",
             TF_ServerTarget(t.server) + strlen("grpc"));
    o.target = target;
    o.max_steps = 0;
    t.at_step = stop_without_disk_at_30;
    t.when_failed = give_disk_back;
    t.stop_when_restored = true;
    if (train(f, &o, &t) != TF_OK)
        fail_msg("%s", TF_Message(f->st));
    pthread_join(t.stopper, NULL);
    assert_int_equal(t.failures, 1);
    assert_int_equal(t.restores, 1);
    assert_int_equal(t.last_step, t.steps);
    TF_DeleteServer(t.server);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_trains_to_the_last_step_and_goes_on_from_there),
        TEST(test_a_model_without_saver_gets_one),
        TEST(test_stopping_saves),
        TEST(test_a_worker_waits_for_its_chief),
        TEST(test_bad_models_and_directories),
        TEST(test_a_checkpoint_that_is_gone_ends_it),
        TEST(test_a_server_that_is_stopped_costs_nothing),
        TEST(test_a_server_that_stops_while_the_disk_is_full),
        TEST(test_a_killed_server_costs_the_steps_since_the_save),
    };

    return cmocka_run_group_tests_name("trainer", tests, NULL, NULL);
}
