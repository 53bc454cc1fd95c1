/*
 * worker_kernels.c - see worker_kernels.h.
 */
#include "tests/support/worker_kernels.h"

struct tfd_kctx *wrig_held[64];

int wrig_held_count;

int wrig_cancelled_count;

int wrig_runs;

int wrig_threads_at_once, wrig_threads_max;

float wrig_float_at(const struct tfd_tensor *t)
{
    return *(const float *)tfd_tensor_data(t);
}

enum tfd_code wrig_put(struct tfd_kctx *k, enum tfd_dtype dtype, double v,
                       struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, dtype, &scalar, st));
    if (dtype == TFD_BOOL)
        *(tfd_bool *)tfd_tensor_data(&k->out[0]) = v != 0;
    else
        *(float *)tfd_tensor_data(&k->out[0]) = (float)v;
    return TFD_OK;
}

static enum tfd_code wrig_add(struct tfd_kctx *k, struct tfd_status *st)
{
    float sum = 0;

    for (int i = 0; i < k->in_count; i++)
        sum += wrig_float_at(&k->in[i]);
    return wrig_put(k, TFD_FLOAT, (double)sum, st);
}

static enum tfd_code wrig_less(struct tfd_kctx *k, struct tfd_status *st)
{
    return wrig_put(k, TFD_BOOL,
                    wrig_float_at(&k->in[0]) < wrig_float_at(&k->in[1]), st);
}

static enum tfd_code wrig_fails(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "bad luck");
}

static enum tfd_code wrig_silent(struct tfd_kctx *k, struct tfd_status *st)
{
    (void)k;
    (void)st;
    return TFD_OK;
}

static enum tfd_code wrig_wrong_type(struct tfd_kctx *k, struct tfd_status *st)
{
    return wrig_put(k, TFD_BOOL, 1, st);
}

static enum tfd_code wrig_count(struct tfd_kctx *k, struct tfd_status *st)
{
    __atomic_add_fetch(&wrig_runs, 1, __ATOMIC_RELAXED);
    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    *(float *)tfd_tensor_data(&k->out[0]) = wrig_float_at(&k->in[0]);
    return TFD_OK;
}

/* One more, in the place of its input if that may be. */
static enum tfd_code wrig_more(struct tfd_kctx *k, struct tfd_status *st)
{
    float x = wrig_float_at(&k->in[0]);

    TFD_TRY(tfd_kctx_output_like(k, 0, 0, st));
    *(float *)tfd_tensor_data(&k->out[0]) = x + 1;
    return TFD_OK;
}

static enum tfd_code wrig_to_float(struct tfd_kctx *k, struct tfd_status *st)
{
    return wrig_put(k, TFD_FLOAT, *(const int32_t *)tfd_tensor_data(&k->in[0]),
                    st);
}

static enum tfd_code wrig_to_int(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&k->out[0]) = (int32_t)wrig_float_at(&k->in[0]);
    return TFD_OK;
}

static enum tfd_code wrig_bools(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape two = {1, {2}};

    TFD_TRY(tfd_kctx_output(k, 0, TFD_BOOL, &two, st));
    memset(tfd_tensor_data(&k->out[0]), 0, 2);
    return TFD_OK;
}

/* Computes until another thread does the same, or for 100 ms at least: the
 * clock has left out a part of a microsecond. */
static enum tfd_code wrig_spin(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t until = tfd_clock_now_us() + 100001;
    int now = __atomic_add_fetch(&wrig_threads_at_once, 1, __ATOMIC_SEQ_CST);

    if (now > __atomic_load_n(&wrig_threads_max, __ATOMIC_SEQ_CST))
        __atomic_store_n(&wrig_threads_max, now, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&wrig_threads_max, __ATOMIC_SEQ_CST) < 2 &&
           tfd_clock_now_us() < until)
        continue;
    __atomic_sub_fetch(&wrig_threads_at_once, 1, __ATOMIC_SEQ_CST);
    return wrig_put(k, TFD_FLOAT, (double)wrig_float_at(&k->in[0]), st);
}

static void wrig_hold_cancelled(struct tfd_cancel *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_kctx *k = ((struct wrig_hold *)c)->k;

    __atomic_add_fetch(&wrig_cancelled_count, 1, __ATOMIC_RELAXED);
    tfd_fail(&st, TFD_CANCELLED, "hold was cancelled");
    tfd_kctx_finish(k, &st);
}

static void wrig_hold(struct tfd_kctx *k)
{
    struct wrig_hold *h = k->state;
    struct tfd_status st = TFD_STATUS_INIT;
    int at;

    h->cancel.fn = wrig_hold_cancelled;
    h->k = k;
    if (!tfd_step_on_cancel(k->step, &h->cancel)) {
        tfd_fail(&st, TFD_CANCELLED, "hold came too late");
        tfd_kctx_finish(k, &st);
        return;
    }
    at = __atomic_fetch_add(&wrig_held_count, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&wrig_held[at], k, __ATOMIC_RELEASE);
}

struct tfd_kctx *wrig_wait_held(int at)
{
    struct tfd_kctx *k;

    do
        k = __atomic_load_n(&wrig_held[at], __ATOMIC_ACQUIRE);
    while (!k);
    return k;
}

bool wrig_let_go(struct tfd_kctx *k)
{
    struct wrig_hold *h = k->state;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!tfd_step_off_cancel(k->step, &h->cancel))
        return false;
    (void)!wrig_put(k, TFD_FLOAT, (double)wrig_float_at(&k->in[0]), &st);
    tfd_kctx_finish(k, &st);
    return true;
}

/* An asynchronous kernel that finishes before start() returns. */
static void wrig_at_once(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)!wrig_put(k, TFD_FLOAT, (double)wrig_float_at(&k->in[0]), &st);
    tfd_kctx_finish(k, &st);
}

static enum tfd_code wrig_split(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct tfd_shape scalar = {0, {0}};

    for (int i = 0; i < k->out_count; i++) {
        TFD_TRY(tfd_kctx_output(k, i, TFD_FLOAT, &scalar, st));
        *(float *)tfd_tensor_data(&k->out[i]) = (float)i;
    }
    return TFD_OK;
}

/* Counts prepare() in the state, to see who shares one. */
static int wrig_prepared;

static enum tfd_code wrig_shared_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    (void)p;
    (void)st;
    *(int *)state = __atomic_add_fetch(&wrig_prepared, 1, __ATOMIC_RELAXED);
    return TFD_OK;
}

static enum tfd_code wrig_shared(struct tfd_kctx *k, struct tfd_status *st)
{
    return wrig_put(k, TFD_FLOAT, *(int *)k->state, st);
}

static enum tfd_code wrig_bad_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    (void)p;
    (void)state;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "cannot be prepared");
}

static const struct tfd_opdef wrig_ops[] = {
    {.name = "TestAdd",
     .inputs = "x: N * T",
     .outputs = "z: T",
     .attrs = "T: type; N: int >= 1"},
    {.name = "TestLess",
     .inputs = "x: T, y: T",
     .outputs = "z: bool",
     .attrs = "T: type"},
    {.name = "TestVector",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: type",
     .checks = "x: vector"},
#define UNARY(n)                                                           \
    {                                                                      \
        .name = n, .inputs = "x: T", .outputs = "y: T", .attrs = "T: type" \
    }
    UNARY("TestFail"),
    UNARY("TestSilent"),
    UNARY("TestWrongType"),
    UNARY("TestCount"),
    UNARY("TestMore"),
    UNARY("TestSpin"),
    UNARY("TestHold"),
    UNARY("TestAtOnce"),
    UNARY("TestBlocks"),
    UNARY("TestBadPrepare"),
#undef UNARY
    {.name = "TestFloat", .inputs = "x: int32", .outputs = "y: float"},
    {.name = "TestInt", .inputs = "x: float", .outputs = "y: int32"},
    {.name = "TestBools", .inputs = "x: float", .outputs = "y: bool"},
    {.name = "TestSplit",
     .inputs = "x: T",
     .outputs = "y: N * T",
     .attrs = "T: type; N: int >= 1"},
    {.name = "TestShared",
     .outputs = "y: float",
     .attrs = "seed: int = 0",
     .flags = TFD_OP_STATEFUL},
};

static const struct tfd_kernel wrig_kernels[] = {
    TFD_KERNEL_ANY("TestAdd", wrig_add),
    TFD_KERNEL_ANY("TestLess", wrig_less),
    TFD_KERNEL_ANY("TestVector", wrig_add),
    TFD_KERNEL_ANY("TestFail", wrig_fails),
    TFD_KERNEL_ANY("TestSilent", wrig_silent),
    TFD_KERNEL_ANY("TestWrongType", wrig_wrong_type),
    TFD_KERNEL_ANY("TestCount", wrig_count),
    TFD_KERNEL_ANY("TestMore", wrig_more),
    TFD_KERNEL_ANY("TestFloat", wrig_to_float),
    TFD_KERNEL_ANY("TestInt", wrig_to_int),
    TFD_KERNEL_ANY("TestBools", wrig_bools),
    TFD_KERNEL_ANY("TestSpin", wrig_spin, .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("TestHold", NULL, .start = wrig_hold,
                   .state_size = sizeof(struct wrig_hold)),
    TFD_KERNEL_ANY("TestAtOnce", NULL, .start = wrig_at_once),
    TFD_KERNEL_ANY("TestBlocks", wrig_count, .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("TestBadPrepare", wrig_count, .prepare = wrig_bad_prepare),
    TFD_KERNEL_ANY("TestSplit", wrig_split),
    TFD_KERNEL_ANY("TestShared", wrig_shared, .prepare = wrig_shared_prepare,
                   .state_size = sizeof(int), .flags = TFD_KERNEL_SHARED),
};

const struct tfd_family wrig_family = {
    .name = "test",
    .ops = wrig_ops,
    .op_count = TFD_COUNT(wrig_ops),
    .kernels = wrig_kernels,
    .kernel_count = TFD_COUNT(wrig_kernels),
};
