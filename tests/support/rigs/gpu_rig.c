/*
 * gpu_rig.c - see gpu_rig.h.
 */
#include "tests/support/gpu_rig.h"

void gpu_check_memory(const struct tfd_kctx *k, const struct tfd_tensor *t)
{
    struct tfd_cuda_memory_pool *pool = tfd_cuda_memory_pool_of(t->buffer);

    assert_non_null(pool);
    assert_ptr_equal(tfd_cuda_device_of(&pool->memory),
                     tfd_cuda_device_of(k->memory));
}

enum tfd_code gpu_launch(struct tfd_kctx *k, void (*kernel)(void *args),
                         const void *args, size_t size, struct tfd_status *st)
{
    return tfd_cuda_device_check(tfd_cuda_device_of(k->memory),
                                 fake_launch(k->stream, kernel, args, size),
                                 "launch", st);
}

static void gpu_sum(void *args)
{
    const struct gpu_sum *a = args;

    *a->z = *a->x + (a->y ? *a->y : 0);
}

enum tfd_code gpu_compute_add(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};
    struct gpu_sum a = {NULL, NULL, NULL};

    for (int i = 0; i < k->in_count; i++)
        gpu_check_memory(k, &k->in[i]);
    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    gpu_check_memory(k, &k->out[0]);
    a.x = tfd_tensor_data(&k->in[0]);
    a.y = k->in_count > 1 ? tfd_tensor_data(&k->in[1]) : NULL;
    a.z = tfd_tensor_data(&k->out[0]);
    return gpu_launch(k, gpu_sum, &a, sizeof(a), st);
}

struct tfd_cuda_options gpu_options(size_t memory_mib,
                                    enum tfd_cuda_graphs graphs)
{
    return (struct tfd_cuda_options){
        .count_max = -1,
        .memory_limit = (int64_t)(memory_mib * FAKE_MIB),
        .graphs = graphs,
    };
}

static void gpu_count_lost(void *ctx, const struct tfd_cuda_device *d)
{
    (void)d;
    __atomic_add_fetch(&((struct gpu_rig *)ctx)->lost, 1, __ATOMIC_RELAXED);
}

void gpu_init(struct gpu_rig *r, int threads, const struct tfd_family *family,
              const struct tfd_cuda_options *o)
{
    struct tfd_status st = TFD_STATUS_INIT;

    fake_init();
    r->lost = 0;
    assert_int_equal(
        tfd_gpus_new(&fake_driver, o, gpu_count_lost, r, &r->gpus, &st),
        TFD_OK);
    wrig_own_family = family;
    wrig_init_as(&r->w, threads,
                 (struct tfd_worker_options){
                     .devices = tfd_gpus_rows(r->gpus),
                     .device_count = tfd_gpus_count(r->gpus),
                 });
}

void gpu_deinit(struct gpu_rig *r)
{
    fake_let_go();
    wrig_deinit(&r->w);
    tfd_gpus_free(r->gpus);
    fake_deinit();
}

void gpu_fetch(struct wrig *w, const char *from)
{
    w->device = WRIG_CPU0;
    wrig_fetch(w, from);
}

void gpu_node(struct wrig *w, const char *device, const char *name,
              const char *op, const char *inputs)
{
    w->device = device;
    wrig_attr_type(w, "T", TFD_FLOAT);
    wrig_node(w, name, op, inputs);
}

void gpu_add(struct wrig *w, const char *device, const char *name,
             const char *inputs)
{
    wrig_attr_int(w, "N", *inputs && strchr(inputs, ',') ? 2 : 1);
    gpu_node(w, device, name, "TestAdd", inputs);
}

void gpu_variable(struct wrig *w, const char *name, const char *shared_name,
                  const char *op)
{
    const struct tfd_shape scalar = {0, {0}};

    wrig_attr_type(w, "dtype", TFD_FLOAT);
    tfd_attr_put_shape(wrig_attr(w, "shape"), &scalar);
    wrig_attr_str(w, "shared_name", shared_name);
    wrig_node(w, name, op, "");
}

uint64_t gpu_register(struct wrig *w)
{
    uint64_t graph = wrig_register(w);

    if (!graph)
        fail_msg("%s", w->st.text);
    return graph;
}

void gpu_run(struct wrig *w, uint64_t graph)
{
    if (wrig_run(w, graph) != TFD_OK)
        fail_msg("%s", w->st.text);
}

void gpu_ready(struct gpu_rig *r)
{
    r->graph = gpu_register(&r->w);
}

void gpu_go(struct gpu_rig *r)
{
    gpu_run(&r->w, r->graph);
}

void gpu_go_with(struct gpu_rig *r, double x)
{
    r->w.fed[0] = wrig_scalar(TFD_FLOAT, x);
    gpu_go(r);
}
