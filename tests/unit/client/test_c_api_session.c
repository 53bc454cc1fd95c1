/*
 * test_c_api_session.c - sessions in process, and on a server of this process
 * by both protocols.
 */
#include "tests/unit/client/session_rig.h"

/* ---- What every kind of session does ------------------------------------- */

static void check_values(struct fixture *f, TF_Session *s)
{
    TF_Output a = scalar(f, "a", 1), b = scalar(f, "b", 2);
    TF_Output sum = op2(f, "AddV2", "sum", a, b), twice;

    for (int i = 0; i < 3; i++)
        assert_true(run1(f, s, sum) == 3);
    expect(f, TF_OK, "");
    twice = op2(f, "Mul", "twice", sum, b); /* the graph grows */
    assert_true(run1(f, s, twice) == 6);
    assert_true(run1(f, s, sum) == 3);
    expect(f, TF_OK, "");
}

static void check_feeds(struct fixture *f, TF_Session *s)
{
    static const int64_t dims[] = {3};
    TF_Output x = placeholder(f, "x", NULL, -1);
    TF_Output y = op1(f, "Neg", "y", x), fetches[3];
    TF_Output same = op1(f, "Identity", "x_again", x);
    TF_Tensor *in, *out[3];

    fetches[0] = y;
    fetches[1] = same;
    fetches[2] = y; /* asked for twice */
    for (int i = 1; i < 4; i++) {
        const float values[] = {(float)i, 2, 3};

        in = floats(values, dims, 1);
        TF_SessionRun(s, NULL, &x, &in, 1, fetches, out, 3, NULL, 0, NULL,
                      f->st);
        expect(f, TF_OK, "");
        assert_int_equal(TF_TensorByteSize(out[0]), 12);
        assert_true(((float *)TF_TensorData(out[0]))[0] == (float)-i);
        assert_true(((float *)TF_TensorData(out[1]))[0] == (float)i);
        assert_true(((float *)TF_TensorData(out[2]))[2] == -3);
        TF_DeleteTensor(in);
        for (int k = 0; k < 3; k++)
            TF_DeleteTensor(out[k]);
    }
}

/* 1 MiB goes beside the message. */
static void check_large(struct fixture *f, TF_Session *s)
{
    const int64_t dims[] = {1 << 18};
    TF_Output x = placeholder(f, "large", dims, 1);
    TF_Output y = op1(f, "Neg", "large_y", x);
    TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, dims, 1, 4u << 18), *out;
    float *values = TF_TensorData(in);

    for (int i = 0; i < 1 << 18; i++)
        values[i] = (float)i;
    for (int k = 0; k < 2; k++) {
        TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, f->st);
        expect(f, TF_OK, "");
        assert_true(((float *)TF_TensorData(out))[12345] == -12345);
        TF_DeleteTensor(out);
    }
    TF_DeleteTensor(in);
}

static void check_strings(struct fixture *f, TF_Session *s)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "Placeholder", "s");
    TF_Tensor *in = TF_AllocateTensor(TF_STRING, NULL, 0, 24), *out;
    TF_Output x = {NULL, 0}, y;

    TF_SetAttrType(d, "dtype", TF_STRING);
    x.oper = TF_FinishOperation(d, f->st);
    y = op1(f, "Identity", "same", x);
    TF_StringCopy(TF_TensorData(in), "some text that is not short", 27);
    TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, f->st);
    expect(f, TF_OK, "");
    assert_int_equal(TF_StringGetSize(TF_TensorData(out)), 27);
    assert_memory_equal(TF_StringGetDataPointer(TF_TensorData(out)),
                        "some text that is not short", 27);
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
}

/* Any byte but 0 is true, as in TensorFlow. */
static void check_bools(struct fixture *f, TF_Session *s)
{
    static const uint8_t bytes[] = {0, 1, 2, 255};
    static const float want[] = {0, 1, 1, 1};
    static const int64_t dims[] = {4};
    TF_OperationDescription *d = TF_NewOperation(f->g, "Placeholder", "bools");
    TF_Tensor *in = TF_AllocateTensor(TF_BOOL, dims, 1, sizeof(bytes)), *out;
    TF_Output x = {NULL, 0}, y = {NULL, 0};

    TF_SetAttrType(d, "dtype", TF_BOOL);
    x.oper = TF_FinishOperation(d, f->st);
    d = TF_NewOperation(f->g, "Cast", "counted");
    TF_AddInput(d, x);
    TF_SetAttrType(d, "DstT", TF_FLOAT);
    y.oper = TF_FinishOperation(d, f->st);
    memcpy(TF_TensorData(in), bytes, sizeof(bytes));
    TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, f->st);
    expect(f, TF_OK, "");
    assert_memory_equal(TF_TensorData(out), want, sizeof(want));
    assert_memory_equal(TF_TensorData(in), bytes, sizeof(bytes));
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
}

static void check_failures(struct fixture *f, TF_Session *s)
{
    TF_Output p = placeholder(f, "unfed", NULL, -1), c = scalar(f, "one", 1);
    TF_Output y = op1(f, "Neg", "needs", p), none = {NULL, 0};
    TF_Output beyond = {c.oper, 1};
    TF_Tensor *out = NULL, *null_feed = NULL;
    TF_Tensor *fed = floats((const float[]){1}, NULL, 0);

    run1(f, s, y);
    expect(f, TF_INVALID_ARGUMENT, "must feed a value");
    TF_SessionRun(s, NULL, &p, &fed, 1, &p, &out, 1, NULL, 0, NULL, f->st);
    expect(f, TF_INVALID_ARGUMENT, "both fed and fetched");
    TF_DeleteTensor(fed);
    out = (TF_Tensor *)f;
    run1(f, s, none);
    expect(f, TF_INVALID_ARGUMENT, "without operation");
    run1(f, s, beyond);
    expect(f, TF_OUT_OF_RANGE, "output 1");
    run_target(f, s, NULL);
    expect(f, TF_INVALID_ARGUMENT, "target 0");
    TF_SessionRun(s, NULL, &p, &null_feed, 1, &y, &out, 1, NULL, 0, NULL,
                  f->st);
    expect(f, TF_INVALID_ARGUMENT, "unfed");
    assert_null(out);
    assert_true(run1(f, s, c) == 1); /* none of this hurts the session */
    expect(f, TF_OK, "");
}

static void check_variables(struct fixture *f, TF_Session *s)
{
    TF_OperationDescription *d = TF_NewOperation(f->g, "VarHandleOp", "v");
    TF_Output v = {NULL, 0}, read, two = scalar(f, "two", 2);
    TF_Operation *assign, *add;

    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", NULL, 0);
    v.oper = TF_FinishOperation(d, f->st);
    assign = op2(f, "AssignVariableOp", "assign", v, two).oper;
    add = op2(f, "AssignAddVariableOp", "add", v, two).oper;
    d = TF_NewOperation(f->g, "ReadVariableOp", "read");
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_AddInput(d, v);
    read = (TF_Output){TF_FinishOperation(d, f->st), 0};
    assert_int_equal(TF_GraphGetTensorNumDims(f->g, read, f->st), 0);
    run1(f, s, read);
    expect(f, TF_FAILED_PRECONDITION, "v");
    run_target(f, s, assign);
    expect(f, TF_OK, "");
    run_target(f, s, add);
    run_target(f, s, add);
    assert_true(run1(f, s, read) == 6);
}

static void check_all(struct fixture *f, const char *target)
{
    TF_Session *s = open_session(f, target);

    expect(f, TF_OK, "");
    check_values(f, s);
    check_feeds(f, s);
    check_large(f, s);
    check_strings(f, s);
    check_bools(f, s);
    check_failures(f, s);
    check_variables(f, s);
    TF_CloseSession(s, f->st);
    run1(f, s, (TF_Output){TF_GraphOperationByName(f->g, "a"), 0});
    expect(f, TF_CANCELLED, "closed");
    TF_CloseSession(s, f->st);
    TF_DeleteSession(s, f->st);
    expect(f, TF_OK, "");
}

static void test_a_session_in_process(void **state)
{
    check_all(*state, "");
}

/* ---- Servers ------------------------------------------------------------- */

static void test_a_session_by_grpc(void **state)
{
    TF_Server *server = start_server(*state);

    check_all(*state, TF_ServerTarget(server));
    TF_DeleteServer(server);
}

static void test_a_session_by_native_frames(void **state)
{
    TF_Server *server = start_server(*state);
    char target[64];

    check_all(*state, native_target(server, target, sizeof(target)));
    TF_DeleteServer(server);
}

static void test_two_sessions_share_variables_of_a_server(void **state)
{
    struct fixture *f = *state;
    TF_Server *server = start_server(f);
    char target[64];
    TF_Session *first, *second;

    native_target(server, target, sizeof(target));
    first = open_session(f, target);
    second = open_session(f, target);
    check_variables(f, first);
    assert_true(run1(f, second,
                     (TF_Output){TF_GraphOperationByName(f->g, "read"), 0}) ==
                6);
    TF_DeleteSession(first, f->st);
    TF_DeleteSession(second, f->st);
    TF_DeleteServer(server);
}

/* server_def with default_session_config: two CPU devices, and sessions that
 * do not see each other's variables. */
static const char def_with_config[] =
    "\x0a\x1b\x0a\x19\x0a\x06worker\x12\x0f\x08\x00\x12\x0blocalhost:0"
    "\x12\x06worker\x18\x00\x22\x0b\x0a\x07\x0a\x03"
    "CPU\x10\x02\x78\x01";

static void test_sessions_begin_with_the_config_of_their_server(void **state)
{
    struct fixture *f = *state;
    TF_Server *server =
        start_server_of(f, def_with_config, sizeof(def_with_config) - 1);
    TF_OperationDescription *d;
    char target[64];
    TF_Session *first, *second;
    TF_Output y;

    native_target(server, target, sizeof(target));
    first = open_session(f, target);
    second = open_session(f, target);
    check_variables(f, first);
    run1(f, second, (TF_Output){TF_GraphOperationByName(f->g, "read"), 0});
    expect(f, TF_FAILED_PRECONDITION, "v");
    d = TF_NewOperation(f->g, "Neg", "on_the_second_cpu");
    TF_AddInput(d, scalar(f, "one", 1));
    TF_SetDevice(d, "/job:worker/task:0/cpu:1");
    y = (TF_Output){TF_FinishOperation(d, f->st), 0};
    assert_true(run1(f, first, y) == -1);
    TF_DeleteSession(first, f->st);
    TF_DeleteSession(second, f->st);
    TF_DeleteServer(server);
}

/* Its own ConfigProto is merged into the server's. */
static void test_a_session_adds_to_the_config_of_its_server(void **state)
{
    static const char soft[] = "\x38\x01"; /* allow_soft_placement */
    struct fixture *f = *state;
    TF_Server *server =
        start_server_of(f, def_with_config, sizeof(def_with_config) - 1);
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_OperationDescription *d;
    TF_Session *first, *second;
    TF_Output y;

    TF_SetTarget(o, TF_ServerTarget(server));
    TF_SetConfig(o, soft, sizeof(soft) - 1, f->st);
    first = TF_NewSession(f->g, o, f->st);
    second = TF_NewSession(f->g, o, f->st);
    TF_DeleteSessionOptions(o);
    check_variables(f, first);
    run1(f, second, (TF_Output){TF_GraphOperationByName(f->g, "read"), 0});
    expect(f, TF_FAILED_PRECONDITION, "v");
    d = TF_NewOperation(f->g, "Neg", "on_no_device");
    TF_AddInput(d, scalar(f, "one", 1));
    TF_SetDevice(d, "/job:worker/task:0/gpu:7");
    y = (TF_Output){TF_FinishOperation(d, f->st), 0};
    assert_true(run1(f, first, y) == -1);
    TF_DeleteSession(first, f->st);
    TF_DeleteSession(second, f->st);
    TF_DeleteServer(server);
}

static void test_sessions_in_process_share_nothing(void **state)
{
    struct fixture *f = *state;
    TF_Session *first = open_session(f, ""), *second = open_session(f, "");

    check_variables(f, first);
    run1(f, second, (TF_Output){TF_GraphOperationByName(f->g, "read"), 0});
    expect(f, TF_FAILED_PRECONDITION, "v");
    TF_DeleteSession(first, f->st);
    TF_DeleteSession(second, f->st);
}

static void test_a_stopped_server_is_unavailable(void **state)
{
    struct fixture *f = *state;
    TF_Server *server = start_server(f);
    TF_Output c = scalar(f, "c", 1);
    char target[64];
    TF_Session *s =
        open_session(f, native_target(server, target, sizeof(target)));

    assert_true(run1(f, s, c) == 1);
    TF_ServerStop(server, f->st);
    TF_ServerJoin(server, f->st);
    TF_ServerStart(server, f->st);
    expect(f, TF_FAILED_PRECONDITION, "stopped");
    TF_DeleteServer(server);
    run1(f, s, c);
    expect(f, TF_UNAVAILABLE, "");
    TF_DeleteSession(s, f->st);
}

static void test_bad_servers_and_targets_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } defs[] = {
        {"\xff\xff", 2},
        {"\x0a\x1b\x0a\x19\x0a\x06worker\x12\x0f\x08\x00\x12\x0blocalhost:0"
         "\x12\x02ps",
         33},
        {"\x0a\x1b\x0a\x19\x0a\x06worker\x12\x0f\x08\x00\x12\x0blocalhost"
         "\"0",
         29},
        {"\x2a\x04smok", 6},
        {"\x22\x02\xff\xff", 4},         /* default_session_config: damaged */
        {"\x22\x05\x22\x03x:y", 7},      /* ... with a bad device filter */
        {"\x22\x04\x0a\x02\x0a\x7f", 6}, /* ... with a cut device_count */
    };
    static const char *const targets[] = {
        "http://a:1", "localhost:2222", "tfd://", "tfd://host", "grpc://a:b:c"};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        assert_null(TF_NewServer(defs[i].bytes, defs[i].size, f->st));
        expect(f, TF_INVALID_ARGUMENT, "");
    }
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        assert_null(open_session(f, targets[i]));
        assert_int_not_equal(TF_GetCode(f->st), TF_OK);
    }
}

static void test_nobody_listens(void **state)
{
    struct fixture *f = *state;
    /* operation_timeout_in_ms: 100 */
    static const char config[] = "\x58\x64";
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_Output c = scalar(f, "c", 1);
    TF_Session *s;

    TF_SetTarget(o, "tfd://127.0.0.1:1");
    TF_SetConfig(o, config, 2, f->st);
    expect(f, TF_OK, "");
    s = TF_NewSession(f->g, o, f->st);
    run1(f, s, c);
    expect(f, TF_DEADLINE_EXCEEDED, "");
    TF_DeleteSession(s, f->st);
    TF_SetConfig(o, "\xff", 1, f->st);
    expect(f, TF_INVALID_ARGUMENT, "");
    TF_DeleteSessionOptions(o);
}

/* ---- Threads ------------------------------------------------------------- */

struct runner {
    struct fixture f;
    TF_Session *s;
    TF_Output y;
    int failures;
};

static void *run_many(void *arg)
{
    struct runner *r = arg;

    for (int i = 0; i < 50; i++)
        if (run1(&r->f, r->s, r->y) != 3)
            r->failures++;
    return NULL;
}

static void test_many_threads_run_one_session(void **state)
{
    struct fixture *f = *state;
    TF_Output y = op2(f, "AddV2", "y", scalar(f, "a", 1), scalar(f, "b", 2));
    TF_Session *s = open_session(f, "");
    struct runner runners[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        runners[i] = (struct runner){{f->g, TF_NewStatus()}, s, y, 0};
        assert_int_equal(
            pthread_create(&threads[i], NULL, run_many, &runners[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(runners[i].failures, 0);
        TF_DeleteStatus(runners[i].f.st);
    }
    TF_DeleteSession(s, f->st);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_session_in_process),
        TEST(test_a_session_by_grpc),
        TEST(test_a_session_by_native_frames),
        TEST(test_two_sessions_share_variables_of_a_server),
        TEST(test_sessions_begin_with_the_config_of_their_server),
        TEST(test_a_session_adds_to_the_config_of_its_server),
        TEST(test_sessions_in_process_share_nothing),
        TEST(test_a_stopped_server_is_unavailable),
        TEST(test_bad_servers_and_targets_are_refused),
        TEST(test_nobody_listens),
        TEST(test_many_threads_run_one_session),
    };

    return cmocka_run_group_tests_name("c_api_session", tests, NULL, NULL);
}
