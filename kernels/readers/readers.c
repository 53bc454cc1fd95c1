/*
 * readers.c - the operations on readers: ReaderRead, ReaderReadUpTo, what a
 * reader has done, its state; in the older form (handles by reference) and as
 * V2 (resources).  FakeQueue makes the one from the other.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/readers/reader.h"
#include "kernels/state/queue_core.h"

#include "config/limits.h"

static const struct tfd_shape scalar_shape = {0, {0}};

/* NULL: k is finished. */
static struct tfd_reader *find_reader(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *r;

    if (tfd_owner_find(k, &tfd_reader_type, &r, &st) == TFD_OK)
        return (struct tfd_reader *)r;
    tfd_kctx_finish(k, &st);
    return NULL;
}

/* ---- Reading ------------------------------------------------------------- */

static enum tfd_code find_both(struct tfd_kctx *k, struct tfd_resource **reader,
                               struct tfd_resource **queue,
                               struct tfd_status *st)
{
    enum tfd_code rc;

    TFD_TRY(tfd_owner_find(k, &tfd_reader_type, reader, st));
    rc = tfd_owner_find_at(k, 1, &tfd_queue_type, queue, st);
    if (rc != TFD_OK)
        tfd_resource_unref(*reader);
    return rc;
}

static void read_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *reader, *queue;

    if (find_both(k, &reader, &queue, &st) == TFD_OK)
        tfd_reader_read((struct tfd_reader *)reader, queue, k, -1);
    else
        tfd_kctx_finish(k, &st);
}

/* A negative number ends TensorFlow's process. */
static enum tfd_code check_max(const struct tfd_kctx *k, int64_t *max,
                               struct tfd_status *st)
{
    TFD_TRY(tfd_check_int(k, 2, max, st));
    if (*max < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_records must be >= 0 not %lld", (long long)*max);
    return TFD_OK;
}

static void up_to_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_resource *reader, *queue;
    int64_t max;

    if (check_max(k, &max, &st) == TFD_OK &&
        find_both(k, &reader, &queue, &st) == TFD_OK)
        tfd_reader_read((struct tfd_reader *)reader, queue, k, max);
    else
        tfd_kctx_finish(k, &st);
}

/* ---- What it has done ---------------------------------------------------- */

static enum tfd_code give_int(struct tfd_kctx *k, int64_t value,
                              struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &scalar_shape, st));
    *(int64_t *)tfd_tensor_data(&k->out[0]) = value;
    return TFD_OK;
}

static enum tfd_code ask_produced(struct tfd_reader *r, struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    return give_int(k, r->produced, st);
}

static enum tfd_code ask_finished(struct tfd_reader *r, struct tfd_kctx *k,
                                  struct tfd_status *st)
{
    return give_int(k, r->finished, st);
}

static enum tfd_code ask_reset(struct tfd_reader *r, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    (void)k;
    (void)st;
    tfd_reader_clear(r);
    return TFD_OK;
}

static enum tfd_code ask_state(struct tfd_reader *r, struct tfd_kctx *k,
                               struct tfd_status *st)
{
    struct tfd_bytes state;
    enum tfd_code rc;

    tfd_bytes_init(&state, TFD_DATA_RECORD_SIZE_MAX + 64);
    rc = tfd_reader_save(r, &state, st);
    if (rc == TFD_OK)
        rc = tfd_kctx_output(k, 0, TFD_STRING, &scalar_shape, st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(&k->out[0]),
                             tfd_bytes_view(&state), st);
    tfd_bytes_deinit(&state);
    return rc;
}

static enum tfd_code ask_restore(struct tfd_reader *r, struct tfd_kctx *k,
                                 struct tfd_status *st)
{
    struct tfd_str state;

    TFD_TRY(tfd_check_str(k, 1, &state, st));
    return tfd_reader_restore(r, state, st);
}

#define ASK(id)                                \
    static void id##_start(struct tfd_kctx *k) \
    {                                          \
        struct tfd_reader *r = find_reader(k); \
                                               \
        if (r)                                 \
            tfd_reader_ask(r, k, ask_##id);    \
    }

ASK(produced)
ASK(finished)
ASK(reset)
ASK(state)
ASK(restore)

/* ---- FakeQueue ----------------------------------------------------------- */

static enum tfd_code fake_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    return tfd_owner_refer(k, &tfd_queue_type, st);
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code two_vectors(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    (void)st;
    s->out[0] = s->out[1] = (struct tfd_shape){1, {TFD_DIM_UNKNOWN}};
    return TFD_OK;
}

#define ONE(name_, handle_, more_, outputs_, checks_, shape_, flags_) \
    {                                                                 \
        .name = name_, .inputs = "reader_handle: " handle_ more_,     \
        .outputs = outputs_, .checks = checks_, .shape = shape_,      \
        .flags = (flags_) | TFD_OP_NO_GRADIENT,                       \
    }
#define REF "Ref(string)"
#define QUEUE ", queue_handle: "
#define BOTH_OPS(name_, more_, outputs_, checks_, shape_)             \
    ONE(name_, REF, more_, outputs_, checks_, shape_, 0),             \
        ONE(name_ "V2", "resource", more_, outputs_, checks_, shape_, \
            TFD_OP_STATEFUL)
#define READ_OPS(name_, more_, outputs_, checks_, shape_)                      \
    ONE(name_, REF, QUEUE REF more_, outputs_, checks_, shape_, 0),            \
        ONE(name_ "V2", "resource", QUEUE "resource" more_, outputs_, checks_, \
            shape_, TFD_OP_STATEFUL)

static const struct tfd_opdef ops[] = {
    READ_OPS("ReaderRead", "", "key: string, value: string", NULL,
             tfd_shape_scalar),
    READ_OPS("ReaderReadUpTo", ", num_records: int64",
             "keys: string, values: string", "num_records: scalar",
             two_vectors),
    BOTH_OPS("ReaderNumRecordsProduced", "", "records_produced: int64", NULL,
             tfd_shape_scalar),
    BOTH_OPS("ReaderNumWorkUnitsCompleted", "", "units_completed: int64", NULL,
             tfd_shape_scalar),
    BOTH_OPS("ReaderSerializeState", "", "state: string", NULL,
             tfd_shape_scalar),
    BOTH_OPS("ReaderRestoreState", ", state: string", "",
             "state: scalar 'Reader state must be scalar, but had shape: %s'",
             tfd_shape_none),
    BOTH_OPS("ReaderReset", "", "", NULL, tfd_shape_none),
    {
        .name = "FakeQueue",
        .inputs = "resource: resource",
        .outputs = "handle: " REF,
        .shape = tfd_owner_shape,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

#define KERNEL(name_, start_) \
    TFD_KERNEL_ANY(name_, NULL, .start = start_, .flags = TFD_KERNEL_WAITS)
#define BOTH(name_, start_) KERNEL(name_, start_), KERNEL(name_ "V2", start_)

static const struct tfd_kernel kernels[] = {
    BOTH("ReaderRead", read_start),
    BOTH("ReaderReadUpTo", up_to_start),
    BOTH("ReaderNumRecordsProduced", produced_start),
    BOTH("ReaderNumWorkUnitsCompleted", finished_start),
    BOTH("ReaderSerializeState", state_start),
    BOTH("ReaderRestoreState", restore_start),
    BOTH("ReaderReset", reset_start),
    TFD_KERNEL_ANY("FakeQueue", fake_compute),
};

const struct tfd_family tfd_family_readers = {
    .name = "readers",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
