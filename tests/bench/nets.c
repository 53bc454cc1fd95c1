/*
 * nets.c - how fast a task trains the networks of models.h, multiplies, goes
 * through memory, copies and steps; tests/bench/gpu puts it beside PyTorch.
 *
 *     nets train MODEL BATCH TYPE SECONDS TARGET [SIDE]   steps_per_s X loss Y
 *     nets matmul N TYPE SECONDS TARGET                   tflops X
 *     nets elementwise BYTES SECONDS TARGET               gbytes_per_s X
 *     nets copy h2d|d2h BYTES SECONDS TARGET              gbytes_per_s X
 *     nets step empty|scalar SECONDS TARGET               us X (a median)
 *     nets write MODEL BATCH TYPE FILE [SIDE]             a MetaGraphDef
 *
 * TYPE is float or bfloat16, TARGET tfd://HOST:PORT or grpc://HOST:PORT, SIDE
 * that of the images where it is not the model's.  Ops go where the task puts
 * those without a device; BYTES are of one tensor, and elementwise counts those
 * read and those written.  Steps do not fetch; the first element of what was
 * computed last is fetched before the clock starts and before it stops.
 */
#define _GNU_SOURCE 1

#include "tests/bench/models.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define WARM_STEPS 30
#define CHAIN 8 /* products or passes in a step */
#define CHAIN_COPIES 4
#define SAMPLES_MAX 2000000
#define TARGETS_MAX 1024

static void die(const char *what, const char *why)
{
    fprintf(stderr, "nets: %s: %s\n", what, why);
    exit(1);
}

static void check(TF_Status *st, const char *what)
{
    if (TF_GetCode(st) != TF_OK)
        die(what, TF_Message(st));
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- Arguments ----------------------------------------------------------- */

static int64_t number(const char *text)
{
    char *end;
    int64_t n = strtoll(text, &end, 10);

    if (*end || n < 1)
        die(text, "is not a number of at least 1");
    return n;
}

static double seconds_of(const char *text)
{
    char *end;
    double s = strtod(text, &end);

    if (*end || !(s > 0))
        die(text, "is not a time in seconds");
    return s;
}

static TF_DataType type_of(const char *text)
{
    if (strcmp(text, "float") == 0)
        return TF_FLOAT;
    if (strcmp(text, "bfloat16") != 0)
        die(text, "is neither float nor bfloat16");
    return TF_BFLOAT16;
}

static const struct model *model_of(const char *text)
{
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (strcmp(models[i].name, text) == 0)
            return &models[i];
    die(text, "is no model; there are mlp, cnn and resnet50");
    return NULL;
}

/* ---- A session ----------------------------------------------------------- */

struct run {
    TF_Graph *graph;
    TF_Status *st;
    TF_Session *session;
    struct net net; /* the scope, type and size that operations are added by */
};

static struct run begin(void)
{
    struct run r = {.graph = TF_NewGraph(), .st = TF_NewStatus()};

    r.net.s = TFD_NewScope(r.graph);
    r.net.st = r.st;
    r.net.type = TF_FLOAT;
    if (!r.net.s)
        die("a scope", "no memory");
    return r;
}

static void end(struct run *r)
{
    TF_CloseSession(r->session, r->st);
    TF_DeleteSession(r->session, r->st);
    TFD_DeleteScope(r->net.s);
    TF_DeleteGraph(r->graph);
    TF_DeleteStatus(r->st);
}

static void run_ops(struct run *r, const TF_Operation *const *ops, int count)
{
    TF_SessionRun(r->session, NULL, NULL, NULL, 0, NULL, NULL, 0, ops, count,
                  NULL, r->st);
    check(r->st, TF_OperationName((TF_Operation *)ops[0]));
}

/* Every variable, in one step. */
static void initialise(struct run *r)
{
    static const char suffix[] = "/Assign";
    const TF_Operation *ops[TARGETS_MAX];
    TF_Operation *op;
    size_t at = 0;
    int count = 0;

    while ((op = TF_GraphNextOperation(r->graph, &at)) != NULL) {
        const char *name = TF_OperationName(op);
        size_t n = strlen(name);

        if (n >= sizeof(suffix) && count < TARGETS_MAX &&
            strcmp(name + n + 1 - sizeof(suffix), suffix) == 0)
            ops[count++] = op;
    }
    if (count)
        run_ops(r, ops, count);
}

/* Where a task has no GPU, what is placed there runs on its CPU. */
static void open_session(struct run *r, const char *target)
{
    static const unsigned char allow_soft_placement[] = {7 << 3, 1};
    TF_SessionOptions *o = TF_NewSessionOptions();

    check(r->st, "the graph");
    TF_SetTarget(o, target);
    TF_SetConfig(o, allow_soft_placement, sizeof(allow_soft_placement), r->st);
    r->session = TF_NewSession(r->graph, o, r->st);
    check(r->st, target);
    TF_DeleteSessionOptions(o);
    initialise(r);
}

static float fetched(struct run *r, TF_Output x)
{
    TF_Tensor *t = NULL;
    float value;

    TF_SessionRun(r->session, NULL, NULL, NULL, 0, &x, &t, 1, NULL, 0, NULL,
                  r->st);
    check(r->st, TF_OperationName(x.oper));
    memcpy(&value, TF_TensorData(t), sizeof(value));
    TF_DeleteTensor(t);
    return value;
}

/* The first element of x, as a float. */
static TF_Output first_of(const struct run *r, TF_Output x)
{
    const int32_t all = -1, zero = 0, one = 1;
    const struct net *n = &r->net;
    TF_Output in[3] = {reshaped(n, x, &all, 1), ints(n, &zero, 1),
                       ints(n, &one, 1)};

    x = TFD_Op(n->s, "Slice", NULL, in, 3, NULL, 0, n->st);
    return n->type == TF_FLOAT ? x : cast_to(n, x, TF_FLOAT);
}

/* What ran last is `last`, which computes anew what the steps computed, once
 * more: it waits for what they left to do on the device. */
static double steps_per_second(struct run *r, const TF_Operation *op,
                               TF_Output last, double seconds, float *value)
{
    double start = now(), stop = start + seconds;
    int64_t steps = 0;

    for (int i = 0; i < 2 || (i < WARM_STEPS && now() < stop); i++)
        run_ops(r, &op, 1);
    fetched(r, last);
    start = now();
    stop = start + seconds;
    do {
        run_ops(r, &op, 1);
        steps++;
    } while (now() < stop);
    *value = fetched(r, last);
    return (double)steps / (now() - start);
}

/* ---- Commands ------------------------------------------------------------ */

static void add_named_model(struct run *r, char **v, int c, int side)
{
    r->net.batch = (int)number(v[1]);
    r->net.type = type_of(v[2]);
    r->net.side = c > side ? (int)number(v[side]) : 0;
    add_model(&r->net, model_of(v[0]));
    check(r->st, v[0]);
}

static void train(int c, char **v)
{
    struct run r = begin();
    double rate;
    float loss;

    add_named_model(&r, v, c, 5);
    open_session(&r, v[4]);
    rate =
        steps_per_second(&r, r.net.step, r.net.loss, seconds_of(v[3]), &loss);
    printf("steps_per_s %.4g loss %.6g\n", rate, (double)loss);
    end(&r);
}

static void write_model(int c, char **v)
{
    struct run r = begin();
    TF_Buffer *meta = TF_NewBuffer();
    FILE *file = fopen(v[3], "wb");

    if (!file)
        die(v[3], "cannot be written");
    add_named_model(&r, v, c, 4);
    TFD_ExportMetaGraph(r.net.s, meta, r.st);
    check(r.st, v[0]);
    if (fwrite(meta->data, 1, meta->length, file) != meta->length ||
        fclose(file) != 0)
        die(v[3], "cannot be written");
    TF_DeleteBuffer(meta);
    TFD_DeleteScope(r.net.s);
    TF_DeleteGraph(r.graph);
    TF_DeleteStatus(r.st);
}

/* A variable of normal values times `scale`. */
static TF_Output random_variable(struct run *r, const char *name,
                                 const int32_t *shape, int rank, float scale)
{
    const TFD_Attr type = TFD_AttrType("dtype", TF_FLOAT);
    const struct net *n = &r->net;
    TF_Output x = ints(n, shape, rank);

    x = TFD_Op(n->s, "RandomStandardNormal", NULL, &x, 1, &type, 1, n->st);
    x = narrowed(n, scaled_by(n, x, scale));
    return TFD_Read(TFD_NewVariable(n->s, name, x, TFD_LOCAL, n->st));
}

/* a b, a b b, ...: of about the same size throughout. */
static void matmul(int c, char **v)
{
    const int32_t n = (int32_t)number(v[0]), shape[] = {n, n};
    struct run r = begin();
    TF_Output x, b;
    double rate;
    float value;

    (void)c;
    r.net.type = type_of(v[1]);
    x = random_variable(&r, "a", shape, 2, 1);
    b = random_variable(&r, "b", shape, 2, 1 / sqrtf((float)n));
    for (int i = 0; i < CHAIN; i++)
        x = TFD_Op2(r.net.s, "MatMul", x, b, r.st);
    x = first_of(&r, x);
    open_session(&r, v[3]);
    rate = steps_per_second(&r, x.oper, x, seconds_of(v[2]), &value);
    printf("tflops %.4g\n", rate * CHAIN * 2 * pow(n, 3) / 1e12);
    end(&r);
}

static void elementwise(int c, char **v)
{
    const int64_t bytes = number(v[0]);
    const int32_t shape = (int32_t)(bytes / 4);
    struct run r = begin();
    TF_Output x;
    double rate;
    float value;

    (void)c;
    x = random_variable(&r, "x", &shape, 1, 1);
    for (int i = 0; i < CHAIN; i++)
        x = TFD_Op2(r.net.s, "Maximum", x,
                    TFD_ConstFloat(r.net.s, NULL, (float)-i - 1, r.st), r.st);
    x = first_of(&r, x);
    open_session(&r, v[2]);
    rate = steps_per_second(&r, x.oper, x, seconds_of(v[1]), &value);
    printf("gbytes_per_s %.4g\n", rate * CHAIN * 2 * (double)bytes / 1e9);
    end(&r);
}

/* CHAIN_COPIES tensors from one device to the other in a step. */
static void copy(int c, char **v)
{
    const bool to_device = strcmp(v[0], "h2d") == 0;
    const char *const from = to_device ? "/cpu:0" : "/gpu:0";
    const char *const to = to_device ? "/gpu:0" : "/cpu:0";
    const int64_t bytes = number(v[1]);
    const int32_t shape = (int32_t)(bytes / 4);
    struct run r = begin();
    TF_Output x[CHAIN_COPIES], sum;
    char name[16];
    double rate;
    float value;

    (void)c;
    if (!to_device && strcmp(v[0], "d2h") != 0)
        die(v[0], "is neither h2d nor d2h");
    TFD_SetScopeDevice(r.net.s, from, r.st);
    for (int i = 0; i < CHAIN_COPIES; i++) {
        snprintf(name, sizeof(name), "x%d", i);
        x[i] = random_variable(&r, name, &shape, 1, 1);
    }
    TFD_SetScopeDevice(r.net.s, to, r.st);
    sum = first_of(&r, x[0]);
    for (int i = 1; i < CHAIN_COPIES; i++)
        sum = TFD_Op2(r.net.s, "AddV2", sum, first_of(&r, x[i]), r.st);
    open_session(&r, v[3]);
    rate = steps_per_second(&r, sum.oper, sum, seconds_of(v[2]), &value);
    printf("gbytes_per_s %.4g\n", rate * CHAIN_COPIES * (double)bytes / 1e9);
    end(&r);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One up, on the CPU: what the task adds to it, with and without a GPU. */
static TF_Operation *scalar_update(struct run *r)
{
    const TFD_Attr type = TFD_AttrType("dtype", TF_FLOAT);
    const struct net *n = &r->net;
    TFD_Variable *v;
    TF_Output in[2];

    TFD_SetScopeDevice(n->s, "/cpu:0", n->st);
    v = TFD_NewVariable(n->s, "v", TFD_ConstFloat(n->s, NULL, 0, n->st), 0,
                        n->st);
    in[0] = TFD_Handle(v);
    in[1] = TFD_ConstFloat(n->s, NULL, 1, n->st);
    return TFD_Op(n->s, "AssignAddVariableOp", NULL, in, 2, &type, 1, n->st)
        .oper;
}

static void step(int c, char **v)
{
    const bool empty = strcmp(v[0], "empty") == 0;
    double *samples = calloc(SAMPLES_MAX, sizeof(*samples)), start, stop;
    struct run r = begin();
    const TF_Operation *op;
    size_t count = 0;

    (void)c;
    if (!samples)
        die("samples", "no memory");
    if (!empty && strcmp(v[0], "scalar") != 0)
        die(v[0], "is neither empty nor scalar");
    op = empty ? TFD_Group(r.net.s, "empty", NULL, 0, r.st) : scalar_update(&r);
    open_session(&r, v[2]);
    for (int i = 0; i < WARM_STEPS; i++)
        run_ops(&r, &op, 1);
    stop = now() + seconds_of(v[1]);
    do {
        start = now();
        run_ops(&r, &op, 1);
        samples[count++] = now() - start;
    } while (count < SAMPLES_MAX && start < stop);
    qsort(samples, count, sizeof(*samples), by_size);
    printf("us %.2f\n", samples[count / 2] * 1e6);
    free(samples);
    end(&r);
}

static const struct command {
    const char *name;
    int least, most; /* arguments */
    void (*run)(int c, char **v);
} commands[] = {
    {"train", 5, 6, train},
    {"matmul", 4, 4, matmul},
    {"elementwise", 3, 3, elementwise},
    {"copy", 4, 4, copy},
    {"step", 3, 3, step},
    {"write", 4, 5, write_model},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (argc > 1 && strcmp(commands[i].name, argv[1]) == 0 &&
            argc - 2 >= commands[i].least && argc - 2 <= commands[i].most) {
            commands[i].run(argc - 2, argv + 2);
            return 0;
        }
    fprintf(stderr, "usage: nets train MODEL BATCH TYPE SECONDS TARGET [SIDE] "
                    "| matmul N TYPE SECONDS TARGET "
                    "| elementwise BYTES SECONDS TARGET "
                    "| copy h2d|d2h BYTES SECONDS TARGET "
                    "| step empty|scalar SECONDS TARGET "
                    "| write MODEL BATCH TYPE FILE [SIDE]\n");
    return 64;
}
