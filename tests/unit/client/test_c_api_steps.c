/*
 * test_c_api_steps.c - what a step of a session is asked for: names, outputs,
 * feeds and targets there are none of, and traces.
 */
#include "tests/unit/client/session_rig.h"

/* As in TensorFlow: building takes any name, running takes none of these. */
static void test_names_are_checked_when_they_are_run(void **state)
{
    static const char *const names[] = {"bad name!", "", "a:0", "^c",
                                        "\xc3\xa9"};
    struct fixture *f = *state;
    TF_Output one = scalar(f, "one", 1), last = one;
    TF_Session *s = open_session(f, "");

    assert_true(run1(f, s, one) == 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        last = op1(f, "Neg", names[i], one);
        expect(f, TF_OK, "");
        assert_string_equal(TF_OperationName(last.oper), names[i]);
        assert_ptr_equal(TF_GraphOperationByName(f->g, names[i]), last.oper);
    }
    for (int i = 0; i < 2; i++) {
        run1(f, s, i ? one : last);
        expect(f, TF_INVALID_ARGUMENT,
               "Node 'bad name!': Node name contains invalid characters");
    }
    TF_DeleteSession(s, f->st);
}

/* As in TensorFlow: of a server's session the task is named, of one in process
 * it is not. */
static void test_a_session_in_process_names_no_task(void **state)
{
    static const char text[] = "You must feed a value for placeholder tensor "
                               "'x' with dtype float\n\t [[{{node x}}]]";
    struct fixture *f = *state;
    TF_Output y = op1(f, "Neg", "y", placeholder(f, "x", NULL, -1));
    TF_Session *s = open_session(f, "");
    TF_Server *server;

    run1(f, s, y);
    assert_string_equal(TF_Message(f->st), text);
    TF_DeleteSession(s, f->st);
    server = start_server(f);
    s = open_session(f, TF_ServerTarget(server));
    run1(f, s, y);
    expect(f, TF_INVALID_ARGUMENT,
           "From /job:worker/replica:0/task:0:\nYou must feed");
    TF_DeleteSession(s, f->st);
    TF_DeleteServer(server);
}

struct stray {
    int index;
    int of_other, fed;
    TF_Code code;
    const char *text;
};

static const struct stray strays[] = {
    {-1, 0, 0, TF_INVALID_ARGUMENT,
     "Tensor p:-1:0, specified in either feed_devices or fetch_devices was not "
     "found in the Graph"},
    {-2, 0, 1, TF_INVALID_ARGUMENT,
     "Tensor p:-2:0, specified in either feed_devices or fetch_devices was not "
     "found in the Graph"},
    {1, 0, 0, TF_OUT_OF_RANGE,
     "Node 'p' (type: 'Placeholder', num of outputs: 1) does not have output "
     "1"},
    {0, 1, 0, TF_INVALID_ARGUMENT,
     "Tensor q:0, specified in either feed_devices or fetch_devices was not "
     "found in the Graph"},
    {7, 1, 1, TF_INVALID_ARGUMENT,
     "Tensor q:7, specified in either feed_devices or fetch_devices was not "
     "found in the Graph"},
};

/* The texts are those of TensorFlow's direct session. */
static void test_outputs_and_targets_there_are_not(void **state)
{
    struct fixture *f = *state;
    struct fixture other = {TF_NewGraph(), f->st};
    TF_Output p = placeholder(f, "p", NULL, -1), c = scalar(f, "c", 1);
    TF_Output q = placeholder(&other, "q", NULL, -1);
    TF_Session *s = open_session(f, "");
    TF_Tensor *in = floats((const float[]){1}, NULL, 0), *out = NULL;

    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++) {
        TF_Output o = {strays[i].of_other ? q.oper : p.oper, strays[i].index};

        TF_SessionRun(s, NULL, &o, &in, strays[i].fed, strays[i].fed ? &c : &o,
                      &out, 1, NULL, 0, NULL, f->st);
        assert_int_equal(TF_GetCode(f->st), strays[i].code);
        assert_string_equal(TF_Message(f->st), strays[i].text);
        assert_null(out);
    }
    run_target(f, s, q.oper);
    assert_int_equal(TF_GetCode(f->st), TF_NOT_FOUND);
    assert_string_equal(TF_Message(f->st),
                        "PruneForTargets: Some target nodes not found: q ");
    assert_true(run1(f, s, c) == 1);
    TF_DeleteTensor(in);
    TF_DeleteSession(s, f->st);
    TF_DeleteGraph(other.g);
}

static void test_a_feed_of_another_type_is_refused(void **state)
{
    struct fixture *f = *state;
    TF_Output x = placeholder(f, "x", NULL, -1), y = op1(f, "Neg", "y", x);
    TF_Tensor *in = TF_AllocateTensor(TF_INT32, NULL, 0, 4), *out = NULL;
    TF_Session *s = open_session(f, "");

    memset(TF_TensorData(in), 0, 4);
    for (int i = 0; i < 2; i++) {
        TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, f->st);
        expect(f, TF_INVALID_ARGUMENT,
               "Expects arg[0] to be float but int32 is provided");
        assert_null(out);
    }
    TF_DeleteTensor(in);
    TF_DeleteSession(s, f->st);
}

/* One run with RunOptions; how often `name` is among its step stats' texts. */
static int traced(struct fixture *f, TF_Session *s, TF_Output fetch,
                  const char *options, size_t size, const char *name)
{
    TF_Buffer *o = TF_NewBufferFromString(options, size);
    TF_Buffer *metadata = TF_NewBuffer();
    TF_Tensor *t = NULL;
    int count = 0;

    TF_SessionRun(s, o, NULL, NULL, 0, &fetch, &t, 1, NULL, 0, metadata, f->st);
    assert_int_equal(metadata->data != NULL, TF_GetCode(f->st) == TF_OK);
    for (size_t at = 0; at + strlen(name) <= metadata->length; at++)
        count +=
            memcmp((const char *)metadata->data + at, name, strlen(name)) == 0;
    TF_DeleteTensor(t);
    TF_DeleteBuffer(o);
    TF_DeleteBuffer(metadata);
    return count;
}

static void check_traces(struct fixture *f, TF_Session *s, bool local)
{
    TF_Output y = op2(f, "AddV2", "total", scalar(f, "traced_a", 1),
                      scalar(f, "traced_b", 2));

    assert_int_equal(traced(f, s, y, "", 0, "traced_a = Const()"), 0);
    expect(f, TF_OK, "");
    for (int round = 0; round < 2; round++) { /* by names, then by plan */
        const char *full = "\x08\x03", *software = "\x08\x01";

        assert_int_equal(traced(f, s, y, full, 2, "traced_a = Const()"), 1);
        assert_int_equal(
            traced(f, s, y, full, 2, "total = AddV2(traced_a, traced_b)"), 1);
        assert_int_equal(traced(f, s, y, software, 2, "traced_b = Const()"),
                         local);
        assert_true(run1(f, s, y) == 3);
    }
    assert_true(traced(f, s, y, "\x28\x01", 2, "traced_a") > 0); /* graphs */
    expect(f, TF_OK, "");
    (void)traced(f, s, y, "\x32\x02\x22\x00", 4, "total");
    expect(f, TF_UNIMPLEMENTED, "debug_tensor_watch_opts");
    (void)traced(f, s, y, "\xff", 1, "total");
    expect(f, TF_INVALID_ARGUMENT, "Unparseable RunOptions proto");
    assert_true(run1(f, s, y) == 3);
}

/* As TensorFlow: in process every level traces, a server's only the full one.
 */
static void test_steps_say_when_their_nodes_ran(void **state)
{
    struct fixture *f = *state;
    TF_Session *s = open_session(f, "");

    check_traces(f, s, true);
    TF_DeleteSession(s, f->st);
}

static void test_steps_of_a_server_say_when_their_nodes_ran(void **state)
{
    struct fixture *f = *state;
    TF_Server *server = start_server(f);
    char target[64];
    TF_Session *s =
        open_session(f, native_target(server, target, sizeof(target)));

    check_traces(f, s, false);
    TF_DeleteSession(s, f->st);
    TF_DeleteServer(server);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_are_checked_when_they_are_run),
        TEST(test_a_session_in_process_names_no_task),
        TEST(test_outputs_and_targets_there_are_not),
        TEST(test_a_feed_of_another_type_is_refused),
        TEST(test_steps_say_when_their_nodes_ran),
        TEST(test_steps_of_a_server_say_when_their_nodes_ran),
    };

    return cmocka_run_group_tests_name("c_api_steps", tests, NULL, NULL);
}
