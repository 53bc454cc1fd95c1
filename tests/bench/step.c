/*
 * step.c - steps from C: a session on a target runs one operation over and
 * over; and a raw TCP ping-pong of 64 bytes, the floor under it.
 *
 *     step LIBRARY TARGET SECONDS            median microseconds of a NoOp
 *     step LIBRARY TARGET SECONDS GRAPH      of the operation "run" of a
 *                                            GraphDef, once "init" has run
 *     step ping SECONDS                      of a round trip
 *
 * LIBRARY is any that has TensorFlow's C API: build/libtfd.so or TensorFlow's
 * own, loaded by name, so that both run the same program.  tests/bench/run
 * alternates them.
 */
#define _GNU_SOURCE 1

#include "tensorflow/c/c_api.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 2000000

/* What we call, by the declared types. */
#define FUNCTIONS(X)               \
    X(TF_NewStatus)                \
    X(TF_GetCode)                  \
    X(TF_Message)                  \
    X(TF_NewGraph)                 \
    X(TF_NewOperation)             \
    X(TF_FinishOperation)          \
    X(TF_NewBufferFromString)      \
    X(TF_NewImportGraphDefOptions) \
    X(TF_GraphImportGraphDef)      \
    X(TF_GraphOperationByName)     \
    X(TF_NewSessionOptions)        \
    X(TF_SetTarget)                \
    X(TF_NewSession)               \
    X(TF_SessionRun)               \
    X(TF_CloseSession)             \
    X(TF_DeleteSession)

static struct {
#define X(name) __typeof__(&name) name;
    FUNCTIONS(X)
#undef X
} api;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "step: %s: %s\n", what, why);
    exit(1);
}

static void load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        die(library, dlerror());
#define X(name)                                 \
    *(void **)&api.name = dlsym(handle, #name); \
    if (!api.name)                              \
        die(library, #name " is missing");
    FUNCTIONS(X)
#undef X
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Calls fn for about the given time and prints the median. */
static void measure(void (*fn)(void *), void *arg, double seconds)
{
    double *samples = calloc(SAMPLES_MAX, sizeof(*samples));
    double end = now_us() + seconds * 1e6;
    size_t n = 0;

    if (!samples)
        die("samples", "no memory");
    for (int i = 0; i < 50; i++)
        fn(arg); /* warm */
    while (n < SAMPLES_MAX && now_us() < end) {
        double start = now_us();

        fn(arg);
        samples[n++] = now_us() - start;
    }
    qsort(samples, n, sizeof(*samples), compare);
    printf("%.2f\n", n ? samples[n / 2] : 0.0);
    free(samples);
}

/* ---- Steps --------------------------------------------------------------- */

struct step {
    TF_Session *session;
    const TF_Operation *op;
    TF_Status *status;
};

static void check(const struct step *s, const char *what)
{
    if (api.TF_GetCode(s->status) != TF_OK)
        die(what, api.TF_Message(s->status));
}

static void run_step(void *arg)
{
    struct step *s = arg;

    api.TF_SessionRun(s->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &s->op, 1,
                      NULL, s->status);
    check(s, "TF_SessionRun");
}

static void import(const struct step *s, TF_Graph *graph, const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

    if (size == 0 || size == sizeof(bytes))
        die(path, "cannot be read");
    fclose(file);
    api.TF_GraphImportGraphDef(graph, api.TF_NewBufferFromString(bytes, size),
                               api.TF_NewImportGraphDefOptions(), s->status);
    check(s, path);
}

static void measure_steps(const char *target, double seconds, const char *path)
{
    struct step s = {.status = api.TF_NewStatus()};
    TF_Graph *graph = api.TF_NewGraph();
    TF_SessionOptions *options = api.TF_NewSessionOptions();

    if (path)
        import(&s, graph, path);
    s.op = path ? api.TF_GraphOperationByName(graph, "init")
                : api.TF_FinishOperation(
                      api.TF_NewOperation(graph, "NoOp", "init"), s.status);
    check(&s, "NoOp");
    api.TF_SetTarget(options, target);
    s.session = api.TF_NewSession(graph, options, s.status);
    check(&s, target);
    run_step(&s);
    if (path)
        s.op = api.TF_GraphOperationByName(graph, "run");
    measure(run_step, &s, seconds);
    api.TF_CloseSession(s.session, s.status);
    api.TF_DeleteSession(s.session, s.status);
}

/* ---- Ping-pong ----------------------------------------------------------- */

#define PING_SIZE 64

static void all(int fd, ssize_t (*io)(int, void *, size_t), char *data)
{
    size_t have = 0;

    while (have < PING_SIZE) {
        ssize_t n = io(fd, data + have, PING_SIZE - have);

        if (n <= 0)
            exit(n < 0);
        have += (size_t)n;
    }
}

static ssize_t put(int fd, void *data, size_t size)
{
    return write(fd, data, size);
}

static ssize_t get(int fd, void *data, size_t size)
{
    return read(fd, data, size);
}

static void ping(void *arg)
{
    char data[PING_SIZE] = "ping";
    int fd = *(int *)arg;

    all(fd, put, data);
    all(fd, get, data);
}

static void echo(int listener)
{
    char data[PING_SIZE];
    int one = 1, fd = accept(listener, NULL, NULL);

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (;;) {
        all(fd, get, data);
        all(fd, put, data);
    }
}

static void measure_ping(double seconds)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd, one = 1;
    pid_t child;

    if (bind(listener, (struct sockaddr *)&at, size) < 0 ||
        listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) < 0)
        die("ping", "cannot listen");
    child = fork();
    if (child == 0)
        echo(listener);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, size) < 0)
        die("ping", "cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    measure(ping, &fd, seconds);
    close(fd);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "ping") == 0) {
        measure_ping(strtod(argv[2], NULL));
        return 0;
    }
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: step LIBRARY TARGET SECONDS [GRAPH] | "
                        "step ping SECONDS\n");
        return 64;
    }
    load(argv[1]);
    measure_steps(argv[2], strtod(argv[3], NULL), argv[4]);
    return 0;
}
