/*
 * worker_rig.c - see worker_rig.h.
 */
#include "tests/support/worker_rig.h"

static void wrig_bark(struct tfd_timer *t)
{
    (void)t;
    fprintf(stderr, "the test hangs\n");
    abort();
}

static void wrig_release_handle(void *handle)
{
    tfd_handle_unref(handle);
}

void wrig_clear(struct wrig *w)
{
    tfd_bytes_clear(&w->graph);
    w->device = WRIG_CPU0;
    w->feed_count = w->fetch_count = w->attr_count = 0;
}

const struct tfd_family *wrig_own_family;

void wrig_init_as(struct wrig *w, int threads, struct tfd_worker_options o)
{
    const struct tfd_family *const families[] = {
        &tfd_family_assert,   &tfd_family_const,    &tfd_family_control_flow,
        &tfd_family_sendrecv, &tfd_family_variable, &tfd_family_assign,
        &wrig_family,         wrig_own_family};

    memset(w, 0, sizeof(*w));
    tfd_tensor_handle_release(wrig_release_handle);
    assert_int_equal(tfd_registry_init(&w->registry, families,
                                       TFD_COUNT(families) - !wrig_own_family,
                                       &w->st),
                     TFD_OK);
    w->own_loop = !o.loop;
    w->loop = o.loop ? o.loop : tfd_loop_new(&w->st);
    assert_non_null(w->loop);
    if (threads > 0)
        w->pool = tfd_pool_new(threads, &w->st);
    o.loop = w->loop;
    o.pool = w->pool;
    o.registry = &w->registry;
    o.cpu_count = 2;
    o.container = "t";
    o.task = o.task ? o.task : WRIG_TASK;
    assert_int_equal(tfd_worker_service_new(&o, &w->service, &w->st), TFD_OK);
    w->worker = tfd_worker_local(w->service);
    tfd_timer_init(&w->watchdog, w->loop, wrig_bark);
    tfd_bytes_init(&w->graph, 1 << 28);
    for (int i = 0; i < WRIG_ATTRS_MAX; i++)
        tfd_bytes_init(&w->text[i], 1 << 24);
    w->session = TFD_STR_EMPTY;
    w->step = 1000;
    wrig_clear(w);
    wrig_held_count = wrig_cancelled_count = wrig_runs = 0;
    memset(wrig_held, 0, sizeof(wrig_held));
    wrig_threads_max = 0;
}

void wrig_init(struct wrig *w, int threads)
{
    wrig_init_as(w, threads, (struct tfd_worker_options){.cpu_count = 2});
}

void wrig_deinit(struct wrig *w)
{
    tfd_timer_stop(&w->watchdog);
    tfd_worker_service_free(w->service);
    tfd_pool_free(w->pool);
    if (w->own_loop)
        tfd_loop_free(w->loop);
    tfd_registry_deinit(&w->registry);
    tfd_bytes_deinit(&w->graph);
    for (int i = 0; i < WRIG_ATTRS_MAX; i++)
        tfd_bytes_deinit(&w->text[i]);
    for (int i = 0; i < WRIG_ENDS_MAX; i++) {
        tfd_tensor_unref(&w->fed[i]);
        tfd_tensor_unref(&w->fetched[i]);
    }
    tfd_alloc_trim();
}

void wrig_stop(struct wrig *w)
{
    w->done = true;
    if (w->running)
        tfd_loop_stop(w->loop);
}

void wrig_wait(struct wrig *w)
{
    if (w->done)
        return;
    assert_int_equal(tfd_timer_start(&w->watchdog, WRIG_WATCHDOG_US, NULL),
                     TFD_OK);
    w->running = true;
    tfd_loop_run(w->loop);
    w->running = false;
    tfd_timer_stop(&w->watchdog);
    assert_true(w->done);
}

struct tfd_bytes *wrig_attr(struct wrig *w, const char *name)
{
    struct tfd_bytes *b = &w->text[w->attr_count];

    assert_true(w->attr_count < WRIG_ATTRS_MAX);
    tfd_bytes_clear(b);
    w->attrs[w->attr_count++].name = tfd_str_of(name);
    return b;
}

void wrig_attr_str(struct wrig *w, const char *name, const char *value)
{
    tfd_attr_put_str(wrig_attr(w, name), tfd_str_of(value));
}

void wrig_attr_type(struct wrig *w, const char *name, int value)
{
    tfd_attr_put_type(wrig_attr(w, name), value);
}

void wrig_attr_int(struct wrig *w, const char *name, int64_t value)
{
    tfd_attr_put_int(wrig_attr(w, name), value);
}

void wrig_attr_bool(struct wrig *w, const char *name, bool value)
{
    tfd_attr_put_bool(wrig_attr(w, name), value);
}

void wrig_node(struct wrig *w, const char *name, const char *op,
               const char *inputs)
{
    struct tfd_str in[256];
    struct tfd_nodedef n = {.name = tfd_str_of(name),
                            .op = tfd_str_of(op),
                            .device = tfd_str_of(w->device),
                            .in = in};

    while (*inputs) {
        size_t size = strcspn(inputs, ",");

        in[n.in_count++] = (struct tfd_str){inputs, size};
        inputs += size + (inputs[size] == ',');
    }
    for (int i = 0; i < w->attr_count; i++)
        w->attrs[i].value = tfd_bytes_view(&w->text[i]);
    n.attrs = w->attrs;
    n.attr_count = w->attr_count;
    tfd_graphdef_put(&w->graph, &n);
    w->attr_count = 0;
}

struct tfd_tensor wrig_scalar(enum tfd_dtype dtype, double v)
{
    const struct tfd_shape scalar = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, dtype, &scalar, NULL), TFD_OK);
    if (dtype == TFD_BOOL)
        *(tfd_bool *)tfd_tensor_data(&t) = v != 0;
    else if (dtype == TFD_INT32)
        *(int32_t *)tfd_tensor_data(&t) = (int32_t)v;
    else
        *(float *)tfd_tensor_data(&t) = (float)v;
    return t;
}

void wrig_const_of(struct wrig *w, const char *name, enum tfd_dtype dtype,
                   double v, const char *inputs)
{
    struct tfd_tensor t = wrig_scalar(dtype, v);

    tfd_attr_put_tensor(wrig_attr(w, "value"), &t);
    tfd_tensor_unref(&t);
    wrig_attr_type(w, "dtype", (int)dtype);
    wrig_node(w, name, "Const", inputs);
}

void wrig_const(struct wrig *w, const char *name, double v)
{
    wrig_const_of(w, name, TFD_FLOAT, v, "");
}

void wrig_ends(struct wrig *w, const char *from, const char *to,
               const char *tensor)
{
    wrig_attr_str(w, "tensor_name", tensor);
    wrig_attr_str(w, "send_device", from);
    wrig_attr_int(w, "send_device_incarnation", 1);
    wrig_attr_str(w, "recv_device", to);
}

static struct tfd_str wrig_keep(struct wrig *w, int kind, int at,
                                const char *name)
{
    assert_true(at < WRIG_ENDS_MAX);
    snprintf(w->names[kind][at], sizeof(w->names[kind][at]), "%s", name);
    return tfd_str_of(w->names[kind][at]);
}

void wrig_feed_of(struct wrig *w, const char *name, enum tfd_dtype dtype)
{
    wrig_ends(w, WRIG_CPU0, WRIG_CPU0, name);
    wrig_attr_bool(w, "client_terminated", true);
    wrig_attr_type(w, "tensor_type", (int)dtype);
    wrig_node(w, name, "_Recv", "");
    w->feeds[w->feed_count] = wrig_keep(w, 0, w->feed_count, name);
    w->feed_count++;
}

void wrig_feed(struct wrig *w, const char *name)
{
    wrig_feed_of(w, name, TFD_FLOAT);
}

void wrig_fetch(struct wrig *w, const char *from)
{
    char name[80];

    wrig_ends(w, WRIG_CPU0, WRIG_CPU0, from);
    wrig_attr_bool(w, "client_terminated", true);
    snprintf(name, sizeof(name), "_fetch_%d", w->fetch_count);
    wrig_node(w, name, "_Send", from);
    w->fetches[w->fetch_count] = wrig_keep(w, 1, w->fetch_count, from);
    w->fetch_count++;
}

void wrig_registered(void *ctx, const struct tfd_status *st, uint64_t graph)
{
    struct wrig *w = ctx;

    w->st = *st;
    w->registered = graph;
    wrig_stop(w);
}

uint64_t wrig_register(struct wrig *w)
{
    struct tfd_register_graph r = {
        .session = w->session,
        .graph_def = tfd_bytes_view(&w->graph),
        .feeds = w->feeds,
        .feed_count = w->feed_count,
        .fetches = w->fetches,
        .fetch_count = w->fetch_count,
    };

    w->done = false;
    w->worker->ops->register_graph(w->worker, &r, wrig_registered, w);
    wrig_wait(w);
    wrig_clear(w);
    return w->registered;
}

void wrig_ran(struct tfd_run_graph *run, const struct tfd_status *st)
{
    struct wrig *w = run->master;

    w->st = *st;
    wrig_stop(w);
}

void wrig_start(struct wrig *w, uint64_t graph)
{
    for (int i = 0; i < WRIG_ENDS_MAX; i++)
        tfd_tensor_unref(&w->fetched[i]);
    w->done = false;
    w->run = (struct tfd_run_graph){
        .session = w->session,
        .graph = graph,
        .step_id = w->step++,
        .feeds = w->fed,
        .fetches = w->fetched,
        .done = wrig_ran,
        .master = w,
    };
    w->worker->ops->run_graph(w->worker, &w->run);
}

enum tfd_code wrig_run(struct wrig *w, uint64_t graph)
{
    wrig_start(w, graph);
    wrig_wait(w);
    w->worker->ops->cleanup_graph(w->worker, w->run.step_id);
    return w->st.code;
}

bool wrig_is_dead(const struct wrig *w, int at)
{
    return w->fetched[at].dtype == TFD_DTYPE_INVALID;
}

double wrig_result(const struct wrig *w, int at)
{
    const struct tfd_tensor *t = &w->fetched[at];

    assert_int_equal(tfd_tensor_elements(t), 1);
    if (t->dtype == TFD_INT32)
        return *(const int32_t *)tfd_tensor_data(t);
    if (t->dtype == TFD_BOOL)
        return *(const tfd_bool *)tfd_tensor_data(t);
    assert_int_equal(t->dtype, TFD_FLOAT);
    return (double)wrig_float_at(t);
}
