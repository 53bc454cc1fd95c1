/*
 * test_cuda_server.c - a whole server whose GPUs are those of
 * tests/support/fake_cuda.h, linked in the place of cuda/device/all.c, when one
 * of them is lost.
 */
#define _POSIX_C_SOURCE 200809L /* unsetenv() */

#include "daemon/server.h"

#include "client/session/backend.h"
#include "cuda/device/cuda.h"
#include "cuda/device/cuda_device.h"
#include "daemon/gpu.h"
#include "daemon/server_impl.h"
#include "kernels/core/families.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/nodes.h"

#include <semaphore.h>
#include <unistd.h>

#define HANGS_S 100

/* ---- What the build has of CUDA ------------------------------------------ */

static sem_t enqueued;

/* Ends when the device does. */
static enum tfd_code hold(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    fake_hold(k->stream);
    sem_post(&enqueued);
    return TFD_OK;
}

static enum tfd_code break_device(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_FLOAT, &scalar, st));
    fake_break(TFD_CUDA_ILLEGAL_ADDRESS);
    return TFD_OK;
}

static const struct tfd_kernel kernels[] = {
    {.op = "Neg", .device = TFD_GPU, .compute = hold},
    {.op = "Relu", .device = TFD_GPU, .compute = break_device},
};

static const struct tfd_family family = {
    .name = "fakegpu",
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};

const struct tfd_family *const tfd_cuda_families[] = {&tfd_cuda_family_host,
                                                      &family};

const int tfd_cuda_family_count = TFD_COUNT(tfd_cuda_families);

const struct tfd_cuda_driver *tfd_cuda_driver(void)
{
    return &fake_driver;
}

/* ---- The server ---------------------------------------------------------- */

struct fixture {
    struct tfd_config config;
    struct tfd_server *server;
    struct tfd_backend *session; /* of a client, through the port */
    pthread_t thread;
    int exit_code;
};

static void *serve(void *arg)
{
    struct fixture *f = arg;

    f->exit_code = tfd_server_run(f->server);
    return NULL;
}

static void start(struct fixture *f, const char *scheme)
{
    static char *arguments[] = {"tfd", "--port=0", "--gpu_memory_limit=8M",
                                "--drain_timeout=5s", NULL};
    struct tfd_server_options o = {.config = &f->config, .listen = true};
    struct tfd_bytes graph = nodes_bytes(
        "a Const; held Neg a; lost Relu a; one ConstI; p Placeholder; "
        "q Placeholder; packed Pack1 p,q; cut Unpack1 packed; "
        "joined ConcatV2 cut:1,q,one");
    struct tfd_status st = TFD_STATUS_INIT;
    char target[64];

    alarm(HANGS_S);
    fake_init();
    sem_init(&enqueued, 0, 0);
    f->exit_code = -1;
    assert_int_equal(
        tfd_flags_parse(&f->config, 4, arguments, "", stdout, stderr),
        TFD_FLAGS_RUN);
    if (tfd_server_new(&o, &f->server, &st) != TFD_OK)
        fail_msg("%s", st.text);
    pthread_create(&f->thread, NULL, serve, f);
    snprintf(target, sizeof(target), "%s://127.0.0.1:%d", scheme,
             tfd_server_port(f->server));
    f->session = tfd_remote_backend(target, TFD_STR_EMPTY, &st);
    if (!f->session ||
        f->session->ops->open(f->session, tfd_bytes_view(&graph), &st))
        fail_msg("%s", st.text);
    tfd_bytes_deinit(&graph);
}

/* The server has ended by itself, or does when it is asked to. */
static void end(struct fixture *f)
{
    pthread_join(f->thread, NULL);
    f->session->ops->free(f->session);
    tfd_server_free(f->server);
    tfd_config_deinit(&f->config);
    sem_destroy(&enqueued);
    fake_deinit();
    alarm(0);
}

static enum tfd_code fetch(struct fixture *f, const char *name,
                           struct tfd_status *st)
{
    struct tfd_str fetches = tfd_str_of(name);
    struct tfd_tensor got;
    struct tfd_local_run r = {
        .fetch_names = &fetches, .fetches = &got, .fetch_count = 1};

    TFD_TRY(f->session->ops->run(f->session, &r, st));
    tfd_tensor_unref(&got);
    return TFD_OK;
}

struct fetching {
    struct fixture *f;
    struct tfd_status st;
};

static void *fetch_held(void *arg)
{
    struct fetching *r = arg;

    (void)!fetch(r->f, "held:0", &r->st);
    return NULL;
}

static void expect_lost(const struct tfd_status *st)
{
    if (st->code != TFD_UNAVAILABLE ||
        !strstr(st->text, "GPU:0 is lost: an illegal memory access"))
        fail_msg("%s: %s", tfd_code_name(st->code), st->text);
}

/* Feeds [[1, 2, 3], [4, 5, 6]] and ten times that; a name that is fetched. */
static void fetch_of_two(struct fixture *f, const char *name,
                         struct tfd_tensor *got)
{
    static const struct tfd_str feeds[] = {TFD_STR_INIT("p:0"),
                                           TFD_STR_INIT("q:0")};
    const struct tfd_shape shape = {2, {2, 3}};
    struct tfd_str fetches = tfd_str_of(name);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_tensor in[2];
    struct tfd_local_run r = {.feed_names = feeds,
                              .feeds = in,
                              .feed_count = 2,
                              .fetch_names = &fetches,
                              .fetches = got,
                              .fetch_count = 1};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(tfd_tensor_new(&in[i], TFD_FLOAT, &shape, NULL),
                         TFD_OK);
        for (int j = 0; j < 6; j++)
            ((float *)tfd_tensor_data(&in[i]))[j] =
                (float)((j + 1) * (i ? 10 : 1));
    }
    if (f->session->ops->run(f->session, &r, &st) != TFD_OK)
        fail_msg("%s: %s", name, st.text);
}

/* ---- Tests --------------------------------------------------------------- */

static void lose_a_device(const char *scheme)
{
    struct fetching held = {.st = TFD_STATUS_INIT};
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture f;
    pthread_t thread;

    start(&f, scheme);
    held.f = &f;
    pthread_create(&thread, NULL, fetch_held, &held);
    sem_wait(&enqueued);
    assert_int_equal(fetch(&f, "lost:0", &st), TFD_UNAVAILABLE);
    expect_lost(&st);
    pthread_join(thread, NULL);
    expect_lost(&held.st);
    end(&f);
    assert_int_equal(f.exit_code, TFD_EXIT_GPU_LOST);
    assert_int_equal(f.exit_code, 138);
}

static void test_a_lost_device_ends_its_steps_and_the_server(void **state)
{
    (void)state;
    lose_a_device("tfd");
    lose_a_device("grpc");
}

static void test_a_server_that_loses_nothing_ends_with_0(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture f;

    (void)state;
    start(&f, "tfd");
    fake_let_go();
    if (fetch(&f, "held:0", &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_server_stop(f.server);
    end(&f);
    assert_int_equal(f.exit_code, 0);
}

/* A step fails and the next one runs. */
static void test_a_device_out_of_memory_is_not_lost(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct fixture f;

    (void)state;
    start(&f, "tfd");
    fake_let_go();
    fake.copy_error = TFD_CUDA_NO_MEMORY;
    assert_int_equal(fetch(&f, "held:0", &st), TFD_RESOURCE_EXHAUSTED);
    fake.copy_error = 0;
    st = (struct tfd_status)TFD_STATUS_INIT;
    if (fetch(&f, "held:0", &st) != TFD_OK)
        fail_msg("%s", st.text);
    tfd_server_stop(f.server);
    end(&f);
    assert_int_equal(f.exit_code, 0);
}

static void test_parts_are_copied_within_the_device(void **state)
{
    static const struct {
        const char *name;
        struct tfd_shape shape;
        float want[12];
    } cases[] = {
        {"packed:0",
         {3, {2, 2, 3}},
         {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60}},
        {"cut:0", {2, {2, 3}}, {1, 2, 3, 4, 5, 6}},
        {"cut:1", {2, {2, 3}}, {10, 20, 30, 40, 50, 60}},
        {"joined:0",
         {2, {2, 6}},
         {10, 20, 30, 10, 20, 30, 40, 50, 60, 40, 50, 60}},
    };
    struct tfd_cuda_memory_pool_stats stats;
    struct fixture f;

    (void)state;
    start(&f, "tfd");
    for (int i = 0; i < TFD_COUNT(cases); i++) {
        struct tfd_tensor got;

        fetch_of_two(&f, cases[i].name, &got);
        assert_true(tfd_shape_equal(&got.shape, &cases[i].shape));
        assert_memory_equal(tfd_tensor_data(&got), cases[i].want,
                            tfd_tensor_size(&got));
        tfd_tensor_unref(&got);
    }
    tfd_cuda_memory_pool_stats(&tfd_gpus_at(tfd_server_gpus(f.server), 0)->pool,
                               &stats);
    assert_true(stats.allocs > 0); /* there, and not on the host */
    tfd_server_stop(f.server);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_device_ends_its_steps_and_the_server),
        cmocka_unit_test(test_a_server_that_loses_nothing_ends_with_0),
        cmocka_unit_test(test_a_device_out_of_memory_is_not_lost),
        cmocka_unit_test(test_parts_are_copied_within_the_device),
    };

    unsetenv("CUDA_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
