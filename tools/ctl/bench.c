/*
 * bench.c - tfdctl bench: how long small steps of one client take, by the C
 * API, as a program of a user has them.
 *
 *     empty step     an operation that does nothing
 *     scalar step    a number is fed, one is added, the sum is fetched
 *     megabyte step  the same with 262,144 floats
 */
#include "tools/ctl/server.h"
#include "tools/ctl/table.h"

#include "common/base/clock.h"
#include "common/proto/config.pb.h"

#include <stdlib.h>
#include <tensorflow/c/c_api.h>

#define STEPS_DEFAULT 1000
#define FLOATS 262144
#define WARM_UP 20

struct bench {
    struct tfd_ctl *ctl;
    TF_Graph *graph;
    TF_Session *session;
    TF_Status *st;
    TF_Operation *nothing;
    TF_Output x, sum;
};

/* ---- The graph ----------------------------------------------------------- */

static void build_graph(struct bench *b)
{
    TF_Tensor *one = TF_AllocateTensor((TF_DataType)TFD_FLOAT, NULL, 0, 4);
    TF_OperationDescription *d = TF_NewOperation(b->graph, "NoOp", "nothing");
    TF_Output constant = {NULL, 0};

    b->nothing = TF_FinishOperation(d, b->st);
    *(float *)TF_TensorData(one) = 1;
    d = TF_NewOperation(b->graph, "Const", "one");
    TF_SetAttrTensor(d, "value", one, b->st);
    TF_SetAttrType(d, "dtype", (TF_DataType)TFD_FLOAT);
    constant.oper = TF_FinishOperation(d, b->st);
    TF_DeleteTensor(one);
    d = TF_NewOperation(b->graph, "Placeholder", "x");
    TF_SetAttrType(d, "dtype", (TF_DataType)TFD_FLOAT);
    b->x.oper = TF_FinishOperation(d, b->st);
    if (!constant.oper || !b->x.oper)
        return;
    d = TF_NewOperation(b->graph, "AddV2", "sum");
    TF_AddInput(d, b->x);
    TF_AddInput(d, constant);
    b->sum.oper = TF_FinishOperation(d, b->st);
}

/* ---- Steps --------------------------------------------------------------- */

static bool run_empty(struct bench *b)
{
    const TF_Operation *target = b->nothing;

    TF_SessionRun(b->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1,
                  NULL, b->st);
    return TF_GetCode(b->st) == TF_OK;
}

static bool run_sum(struct bench *b, int64_t count)
{
    TF_Tensor *value = TF_AllocateTensor((TF_DataType)TFD_FLOAT, &count,
                                         count > 1 ? 1 : 0, 4 * (size_t)count);
    TF_Tensor *sum = NULL;
    float *data = value ? TF_TensorData(value) : NULL;
    bool good = data != NULL;

    for (int64_t i = 0; good && i < count; i++)
        data[i] = 41;
    if (good)
        TF_SessionRun(b->session, NULL, &b->x, &value, 1, &b->sum, &sum, 1,
                      NULL, 0, NULL, b->st);
    good = good && TF_GetCode(b->st) == TF_OK;
    if (good && (TF_TensorByteSize(sum) != 4 * (size_t)count ||
                 *(const float *)TF_TensorData(sum) != 42)) {
        TF_SetStatus(b->st, TF_DATA_LOSS, "41 + 1 is not 42 there");
        good = false;
    }
    if (value)
        TF_DeleteTensor(value);
    if (sum)
        TF_DeleteTensor(sum);
    return good;
}

static bool run_scalar(struct bench *b)
{
    return run_sum(b, 1);
}

static bool run_megabyte(struct bench *b)
{
    return run_sum(b, FLOATS);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static json_t *time_steps(struct bench *b, const char *name,
                          bool (*run)(struct bench *b), int64_t count)
{
    int64_t *us = calloc((size_t)count, sizeof(*us)), sum = 0;
    json_t *row = NULL;
    bool good = us != NULL;

    for (int i = 0; good && i < WARM_UP; i++)
        good = run(b);
    for (int64_t i = 0; good && i < count; i++) {
        int64_t begin = tfd_clock_now_us();

        good = run(b);
        us[i] = tfd_clock_now_us() - begin;
        sum += us[i];
    }
    if (good) {
        qsort(us, (size_t)count, sizeof(*us), by_size);
        row = json_pack("{s:s, s:I, s:I, s:I, s:I, s:f}", "name", name, "steps",
                        (json_int_t)count, "min_us", (json_int_t)us[0],
                        "median_us", (json_int_t)us[count / 2], "p99_us",
                        (json_int_t)us[count * 99 / 100], "mean_us",
                        (double)sum / (double)count);
    }
    free(us);
    return row;
}

/* ---- The verb ------------------------------------------------------------ */

/* tfd's own protocol where the server speaks it: that is what its clients do,
 * as libtfd does. */
static const char *find_scheme(struct tfd_ctl_server *s)
{
    struct tfd_status st = TFD_STATUS_INIT;
    enum tfd_code rc =
        tfd_ctl_server_call(s, TFD_METHOD_Hello, TFD_STR_EMPTY, 0, NULL, &st);

    return rc == TFD_UNIMPLEMENTED ? "grpc" : "tfd";
}

static int fail_bench(const struct bench *b, const char *address)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)tfd_fail(&st, (enum tfd_code)TF_GetCode(b->st), "%s",
                   TF_Message(b->st));
    return tfd_ctl_fail_call(b->ctl, address, &st);
}

static int time_all(struct bench *b, const char *address, json_t *list)
{
    static const struct {
        const char *name;
        bool (*run)(struct bench *b);
        int less; /* of the steps: it takes longer */
    } cases[] = {{"empty step", run_empty, 1},
                 {"scalar step", run_scalar, 1},
                 {"megabyte step", run_megabyte, 10}};
    int64_t steps = b->ctl->steps > 0 ? b->ctl->steps : STEPS_DEFAULT;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t count = (steps + cases[i].less - 1) / cases[i].less;
        json_t *row = time_steps(b, cases[i].name, cases[i].run, count);

        if (!row)
            return fail_bench(b, address);
        json_array_append_new(list, row);
    }
    return TFD_CTL_DONE;
}

/* Of one step, as of every call. */
static void set_timeout(struct bench *b, TF_SessionOptions *o)
{
    struct tfd_bytes config;

    tfd_bytes_init(&config, 64);
    tfd_pb_put_int(&config, tensorflow_ConfigProto_operation_timeout_in_ms_tag,
                   b->ctl->timeout_ms);
    TF_SetConfig(o, config.data, config.size, b->st);
    tfd_bytes_deinit(&config);
}

static int run_bench(struct bench *b, struct tfd_ctl_server *s, json_t *list)
{
    char target[TFD_ADDRESS_SIZE_MAX + 16];
    TF_SessionOptions *o = TF_NewSessionOptions();
    const char *protocol = find_scheme(s);
    int code;

    snprintf(target, sizeof(target), "%s://%s", protocol, s->address);
    TF_SetTarget(o, target);
    set_timeout(b, o);
    if (TF_GetCode(b->st) == TF_OK)
        build_graph(b);
    if (TF_GetCode(b->st) == TF_OK)
        b->session = TF_NewSession(b->graph, o, b->st);
    TF_DeleteSessionOptions(o);
    if (!b->session)
        return fail_bench(b, s->address);
    code = time_all(b, s->address, list);
    TF_DeleteSession(b->session, b->st);
    return code;
}

static int tell_bench(struct tfd_ctl *c, const char *address, json_t *list)
{
    static const struct tfd_ctl_column columns[] = {
        {"CASE", "name", TFD_CTL_PLAIN},     {"STEPS", "steps", TFD_CTL_PLAIN},
        {"MEDIAN", "median_us", TFD_CTL_US}, {"P99", "p99_us", TFD_CTL_US},
        {"MEAN", "mean_us", TFD_CTL_US},     {"MIN", "min_us", TFD_CTL_US},
    };

    if (c->json)
        return tfd_ctl_put_json(
            c, json_pack("{s:s, s:O}", "target", address, "cases", list),
            TFD_CTL_DONE);
    tfd_ctl_table(c, list, columns, sizeof(columns) / sizeof(columns[0]));
    return TFD_CTL_DONE;
}

int tfd_ctl_bench(struct tfd_ctl *c)
{
    struct bench b = {.ctl = c};
    struct tfd_ctl_server s;
    json_t *list = json_array();
    int code = tfd_ctl_server_open(c, &s);

    if (code == TFD_CTL_DONE)
        code = tfd_ctl_server_greet(&s);
    if (code == TFD_CTL_DONE) {
        b.graph = TF_NewGraph();
        b.st = TF_NewStatus();
        code = run_bench(&b, &s, list);
        if (code == TFD_CTL_DONE)
            code = tell_bench(c, s.address, list);
        TF_DeleteGraph(b.graph);
        TF_DeleteStatus(b.st);
    }
    tfd_ctl_server_close(&s);
    json_decref(list);
    return code;
}
