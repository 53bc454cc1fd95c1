/*
 * fake_streams.c - see fake_streams.h.
 */
#include "tests/support/fake_streams.h"

struct fake_machine fake;

/* From any thread. */
static void fake_die(const char *why)
{
    fprintf(stderr, "the fake GPU: %s\n", why);
    abort();
}

int fake_state(void)
{
    int broken;

    pthread_mutex_lock(&fake.lock);
    fake.asked++;
    broken = fake.broken;
    pthread_mutex_unlock(&fake.lock);
    return broken;
}

void fake_break(int error)
{
    pthread_mutex_lock(&fake.lock);
    fake.broken = error;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

/* Under the lock. */
static void fake_unref(struct fake_mark *m)
{
    if (m && --m->refs == 0)
        free(m);
}

static void fake_do(struct fake_op *op)
{
    if (op->kind == FAKE_KERNEL)
        op->kernel(op->args);
    if (op->kind == FAKE_COPY)
        memcpy(op->to, op->from, op->size);
    pthread_mutex_lock(&fake.lock);
    if (op->kind == FAKE_RECORD)
        op->mark->passed = true;
    while (op->kind == FAKE_WAIT && op->mark && !op->mark->passed &&
           !fake.broken)
        pthread_cond_wait(&fake.changed, &fake.lock);
    while (op->kind == FAKE_HOLD && fake.let_go == 0 && !fake.broken)
        pthread_cond_wait(&fake.changed, &fake.lock);
    fake_unref(op->mark);
    if (op->graph)
        op->graph->under_way--;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

static void *fake_stream_run(void *arg)
{
    struct fake_stream *s = arg;

    for (;;) {
        struct fake_op *op;

        pthread_mutex_lock(&fake.lock);
        while (!s->first && !s->stopping)
            pthread_cond_wait(&fake.changed, &fake.lock);
        op = s->first;
        if (op)
            s->first = op->next;
        if (!s->first)
            s->last = NULL;
        pthread_mutex_unlock(&fake.lock);
        if (!op)
            return NULL;
        fake_do(op);
        free(op);
    }
}

int fake_stream_make(void **stream)
{
    struct fake_stream *s;

    if (fake.stream_error)
        return fake.stream_error;
    s = calloc(1, sizeof(*s));
    pthread_create(&s->thread, NULL, fake_stream_run, s);
    pthread_mutex_lock(&fake.lock);
    fake.streams++;
    pthread_mutex_unlock(&fake.lock);
    *stream = s;
    return fake_state();
}

int fake_stream_release(void *stream)
{
    struct fake_stream *s = stream;

    pthread_mutex_lock(&fake.lock);
    s->stopping = true;
    fake.streams--;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    pthread_join(s->thread, NULL);
    free(s);
    return TFD_CUDA_OK;
}

static void fake_append(struct fake_op **first, struct fake_op **last,
                        struct fake_op *op)
{
    if (*last)
        (*last)->next = op;
    else
        *first = op;
    *last = op;
}

static void fake_keep(struct fake_stream *s, struct fake_op *op)
{
    if (op->kind != FAKE_KERNEL && op->kind != FAKE_COPY)
        fake_die("an event on a stream that captures");
    if (!pthread_equal(s->capturer, pthread_self()))
        fake_die("a launch on a stream that another thread captures");
    fake_append(&s->captured->first, &s->captured->last, op);
}

static int fake_enqueue(void *stream, const struct fake_op *what)
{
    struct fake_stream *s = stream;
    struct fake_op *op = malloc(sizeof(*op));

    *op = *what;
    op->next = NULL;
    pthread_mutex_lock(&fake.lock);
    if (s->stopping)
        fake_die("work for a stream that is released");
    if (op->graph)
        op->graph->under_way++;
    if (s->captured)
        fake_keep(s, op);
    else
        fake_append(&s->first, &s->last, op);
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    return TFD_CUDA_OK;
}

int fake_launch(void *stream, void (*kernel)(void *args), const void *args,
                size_t size)
{
    struct fake_op op = {.kind = FAKE_KERNEL, .kernel = kernel};
    int error = fake_state();

    assert_true(size <= FAKE_ARGS);
    memcpy(op.args, args, size);
    return error ? error : fake_enqueue(stream, &op);
}

void fake_hold(void *stream)
{
    fake_enqueue(stream, &(struct fake_op){.kind = FAKE_HOLD});
}

void fake_let_go(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.let_go = 1;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

int fake_event_make(void **event)
{
    *event = calloc(1, sizeof(struct fake_event));
    pthread_mutex_lock(&fake.lock);
    fake.events++;
    pthread_mutex_unlock(&fake.lock);
    return TFD_CUDA_OK;
}

int fake_event_release(void *event)
{
    struct fake_event *e = event;

    pthread_mutex_lock(&fake.lock);
    fake_unref(e->mark);
    fake.events--;
    pthread_mutex_unlock(&fake.lock);
    free(e);
    return TFD_CUDA_OK;
}

int fake_event_record(void *event, void *stream)
{
    struct fake_op op = {.kind = FAKE_RECORD};
    struct fake_event *e = event;

    op.mark = calloc(1, sizeof(*op.mark));
    op.mark->refs = 2;
    pthread_mutex_lock(&fake.lock);
    fake_unref(e->mark);
    e->mark = op.mark;
    pthread_mutex_unlock(&fake.lock);
    fake_enqueue(stream, &op);
    return fake_state();
}

static struct fake_mark *fake_last_mark(struct fake_event *e)
{
    struct fake_mark *m;

    pthread_mutex_lock(&fake.lock);
    m = e->mark;
    if (m)
        m->refs++;
    pthread_mutex_unlock(&fake.lock);
    return m;
}

int fake_stream_wait(void *stream, void *event)
{
    struct fake_op op = {.kind = FAKE_WAIT, .mark = fake_last_mark(event)};

    fake_enqueue(stream, &op);
    return fake_state();
}

int fake_event_query(void *event)
{
    struct fake_mark *m = fake_last_mark(event);
    bool passed;

    pthread_mutex_lock(&fake.lock);
    passed = !m || m->passed;
    fake_unref(m);
    pthread_mutex_unlock(&fake.lock);
    return passed ? fake_state() : TFD_CUDA_NOT_READY;
}

int fake_event_wait(void *event)
{
    struct fake_mark *m = fake_last_mark(event);
    int error;

    pthread_mutex_lock(&fake.lock);
    while (m && !m->passed && !fake.broken)
        pthread_cond_wait(&fake.changed, &fake.lock);
    error = fake.broken;
    fake_unref(m);
    pthread_mutex_unlock(&fake.lock);
    return error;
}

int fake_copy(void *to, const void *from, size_t size,
              enum tfd_cuda_direction direction, void *stream)
{
    struct fake_op op = {
        .kind = FAKE_COPY, .to = to, .from = from, .size = size};
    int error = fake_state();

    (void)direction;
    if (!error)
        error = fake.copy_error;
    return error ? error : fake_enqueue(stream, &op);
}

int fake_copy_runs(void *to, size_t to_step, const void *from, size_t from_step,
                   size_t size, size_t count, void *stream)
{
    int error = TFD_CUDA_OK;

    for (size_t i = 0; i < count && !error; i++)
        error = fake_copy((char *)to + i * to_step,
                          (const char *)from + i * from_step, size,
                          TFD_CUDA_TO_DEVICE, stream);
    return error;
}

int fake_copy_peer(void *to, int to_device, const void *from, int from_device,
                   size_t size, void *stream)
{
    (void)to_device;
    (void)from_device;
    return fake_copy(to, from, size, TFD_CUDA_TO_DEVICE, stream);
}

static void fake_graph_free(struct fake_graph *g)
{
    while (g->first) {
        struct fake_op *op = g->first;

        g->first = op->next;
        free(op);
    }
    free(g);
}

int fake_capture_begin(void *stream)
{
    struct fake_stream *s = stream;
    int error = fake_state();

    if (!error)
        error = fake.begin_error;
    if (error)
        return error;
    pthread_mutex_lock(&fake.lock);
    if (s->captured)
        fake_die("a capture on a stream that captures");
    s->captured = calloc(1, sizeof(*s->captured));
    s->capturer = pthread_self();
    pthread_mutex_unlock(&fake.lock);
    return TFD_CUDA_OK;
}

int fake_capture_end(void *stream, void **graph)
{
    struct fake_stream *s = stream;
    int error = fake_state();
    struct fake_graph *g;

    pthread_mutex_lock(&fake.lock);
    g = s->captured;
    s->captured = NULL;
    if (!g)
        fake_die("the end of a capture that did not begin");
    if (!error)
        error = fake.end_error;
    fake.graphs += !error;
    pthread_mutex_unlock(&fake.lock);
    if (error)
        fake_graph_free(g);
    *graph = error ? NULL : g;
    return error;
}

int fake_graph_launch(void *graph, void *stream)
{
    struct fake_graph *g = graph;
    int error = fake_state();

    if (!error)
        error = fake.launch_error;
    for (struct fake_op *at = g->first; at && !error; at = at->next) {
        struct fake_op op = *at;

        op.graph = g;
        error = fake_enqueue(stream, &op);
    }
    return error;
}

int fake_graph_release(void *graph)
{
    struct fake_graph *g = graph;

    pthread_mutex_lock(&fake.lock);
    if (g->under_way > 0)
        fake_die("a graph is released while a launch of it is under way");
    fake.graphs--;
    pthread_mutex_unlock(&fake.lock);
    fake_graph_free(g);
    return fake_state();
}
