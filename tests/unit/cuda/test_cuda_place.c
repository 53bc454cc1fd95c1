/*
 * test_cuda_place.c - daemon/rewrite/place.c where some tasks have GPUs:
 * the master is /job:worker/task:0 with two GPUs, /job:ps/task:0 has none.
 *
 * Kernels of GPUs are those of cuda/device/host.c and two that stand for
 * cuda/linalg/matmul.cu and cuda/math/unary.cu; of Log10, say, there is none.
 */
#include "daemon/rewrite/place.h"

#include "kernels/core/families.h"
#include "tests/support/planning.h"

static enum tfd_code compute(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

static const struct tfd_kernel kernels[] = {
    {.op = "MatMul", .dtype = TFD_FLOAT, .device = TFD_GPU, .compute = compute},
    {.op = "Relu", .dtype = TFD_FLOAT, .device = TFD_GPU, .compute = compute},
    {.op = "AssignAdd",
     .dtype = TFD_FLOAT,
     .device = TFD_GPU,
     .compute = compute},
};

static const struct tfd_family family = {
    .name = "stand-in",
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};

/* w0:0 is CPU:0 of /job:worker/task:0, w0G1 its GPU:1, p0 the ps.  '!' begins a
 * text of a failure. */
static const struct {
    const char *name;
    bool soft;
    const char *nodes, *want;
} placements[] = {
    {"what has a kernel goes to the first GPU", false, "c Const; r Relu c",
     "c=w0G0 r=w0G0"},
    {"what has none stays on the CPU", false, "c Const; r Relu c; t Tan r",
     "c=w0G0 r=w0G0 t=w0C0"},
    {"a source joins its consumer on the CPU", false, "c Const; t Tan c",
     "c=w0C0 t=w0C0"},
    {"a device is chosen by number", false, "c Const; r Relu c /gpu:1",
     "c=w0G1 r=w0G1"},
    {"the job's device", false, "c Const; r Relu c /job:worker/task:0/gpu:1",
     "c=w0G1 r=w0G1"},
    {"the CPU is chosen", false, "c Const; r Relu c /cpu:0", "c=w0C0 r=w0C0"},
    {"a task without a GPU", false, "c Const; r Relu c /job:ps",
     "c=p0C0 r=p0C0"},
    {"any GPU", false, "c Const; r Relu c /device:GPU:*", "c=w0G0 r=w0G0"},
    {"int32 may be asked for on a GPU", false, "c ConstI; s ShapeI c /gpu:0",
     "c=w0G0 s=w0G0"},
    {"a variable and its users share a GPU", false,
     "v VariableV2 - /gpu:1; c Const; a AssignAdd v,c", "v=w0G1 c=w0G1 a=w0G1"},
    {"a variable goes where all its users have kernels", false,
     "v VariableV2; c Const; a AssignSub v,c", "v=w0C0 c=w0C0 a=w0C0"},
    {"metadata follows its input", false, "c Const; r Relu c /gpu:1; s Shape r",
     "c=w0G1 r=w0G1 s=w0G1"},
    {"an op without a kernel is asked for on a GPU", false,
     "c Const; t Tan c /gpu:0",
     "!Cannot assign a device for operation t: Could not satisfy explicit "
     "device specification '/gpu:0' because no supported kernel for GPU "
     "devices is available."},
    {"the same, softly", true, "c Const; t Tan c /gpu:0", "c=w0C0 t=w0C0"},
    {"a GPU that is not there", false, "c Const; r Relu c /gpu:7",
     "!Cannot assign a device for operation r: {{node r}} was explicitly "
     "assigned to /gpu:7 but available devices are [ "
     "/job:ps/replica:0/task:0/device:CPU:0, "
     "/job:worker/replica:0/task:0/device:CPU:0, "
     "/job:worker/replica:0/task:0/device:GPU:0, "
     "/job:worker/replica:0/task:0/device:GPU:1 ]. Make sure the device "
     "specification refers to a valid device.\n\t [[r]]"},
    {"the same, softly", true, "c Const; r Relu c /gpu:7", "c=w0G0 r=w0G0"},
    {"a GPU of a task that has none", false, "c Const; r Relu c /job:ps/gpu:0",
     "!Cannot assign a device for operation r: {{node r}} was explicitly "
     "assigned to /job:ps/gpu:0 but available devices are"},
    {"the same, softly", true, "c Const; r Relu c /job:ps/gpu:0",
     "c=p0C0 r=p0C0"},
};

static void make_devices(struct tfd_device_set *set)
{
    tfd_device_set_init(set);
    add_device(set, "worker", 0, "CPU", 0, 0);
    add_device(set, "worker", 0, "GPU", 0, 0);
    add_device(set, "worker", 0, "GPU", 1, 0);
    add_device(set, "ps", 0, "CPU", 0, 1);
    assert_int_equal(tfd_device_set_finish(set, NULL), TFD_OK);
}

static void placed_text(const struct tfd_graph *g,
                        const struct tfd_device_set *set,
                        const int32_t *device_of, char *text, size_t size)
{
    size_t at = 0;

    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_device *d = &set->devices[device_of[i]];

        at +=
            (size_t)snprintf(text + at, size - at, "%s%s=%c0%c%d", i ? " " : "",
                             g->nodes[i]->name.data, d->name.job[0],
                             d->attributes.type[0], d->name.id);
    }
}

static void test_placements(void **state)
{
    (void)state;
    for (int i = 0; i < TFD_COUNT(placements); i++) {
        struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_device_set set;
        struct tfd_place_request r = {.graph = g,
                                      .registry = &registry,
                                      .devices = &set,
                                      .soft = placements[i].soft};
        const char *want = placements[i].want;
        int32_t device_of[16];
        char text[512] = "";

        make_devices(&set);
        nodes_import(g, placements[i].nodes);
        if (tfd_place(&r, device_of, &st) == TFD_OK)
            placed_text(g, &set, device_of, text, sizeof(text));
        if (*want == '!' ? strncmp(st.text, want + 1, strlen(want + 1)) != 0
                         : strcmp(text, want) != 0)
            fail_msg("%s:\n%s\n%s", placements[i].name, text, st.text);
        tfd_device_set_deinit(&set);
        tfd_graph_unref(g);
    }
}

#define FAMILIES_MAX 1024

static int setup(void **state)
{
    static const struct tfd_family *families[FAMILIES_MAX];
    int count = tfd_family_count;

    (void)state;
    assert_true(count + 2 <= FAMILIES_MAX);
    memcpy(families, tfd_families, sizeof(*families) * (size_t)count);
    families[count++] = &tfd_cuda_family_host;
    families[count++] = &family;
    return tfd_registry_init(&registry, families, count, NULL) != TFD_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placements),
    };

    return cmocka_run_group_tests(tests, setup, teardown_registry);
}
