/*
 * stage.c - Stage, Unstage, StagePeek, StageSize, StageClear: an area whose
 * tuples come out in the order in which they were put in.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/state/staging.h"

static const struct tfd_resource_type area_type = {
    .name = "N10tensorflow12_GLOBAL__N_16BufferE",
    .what = "staging area",
    .free = tfd_area_free,
};

static enum tfd_code stage_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    return tfd_stager_prepare(state, p, &area_type, st);
}

/* ---- Kernels ------------------------------------------------------------- */

static bool serve_put(struct tfd_area *a, struct tfd_staging *s)
{
    if (tfd_area_is_full(a, s->row))
        return false;
    if (!tfd_shelf_insert(&a->complete, a->complete.count, s->row)) {
        tfd_fail(&s->st, TFD_RESOURCE_EXHAUSTED, "no memory to stage a tuple");
        return true;
    }
    a->bytes += s->row->bytes;
    s->row = NULL;
    return true;
}

static void stage_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_area *a = tfd_area_of(k);
    struct tfd_staged *row;

    if (!a)
        return;
    row = tfd_staged_of(k, 0, &st);
    for (int i = 0; row && i < row->count; i++)
        row->bytes += tfd_staged_bytes(&row->part[i]);
    if (row && tfd_area_check_bytes(a, row->bytes, &st) == TFD_OK) {
        tfd_area_begin(a, k, serve_put, row, 0);
        return;
    }
    tfd_staged_free(row);
    tfd_area_end(a, k, &st);
}

static void give_all(struct tfd_staging *s, const struct tfd_staged *row)
{
    enum tfd_code rc = TFD_OK;

    if (row->count != s->k->out_count)
        rc = tfd_fail(&s->st, TFD_INVALID_ARGUMENT,
                      "Mismatch stage/unstage: %d vs. %d", row->count,
                      s->k->out_count);
    for (int i = 0; rc == TFD_OK && i < row->count; i++)
        rc = tfd_staged_give(s->k, i, &row->part[i], &s->st);
}

static bool serve_get(struct tfd_area *a, struct tfd_staging *s)
{
    struct tfd_staged *row;

    if (a->complete.count == 0)
        return false;
    row = tfd_shelf_remove(&a->complete, 0);
    a->bytes -= row->bytes;
    give_all(s, row);
    s->row = row; /* freed without the lock: staging.h */
    return true;
}

static void unstage_start(struct tfd_kctx *k)
{
    struct tfd_area *a = tfd_area_of(k);

    if (a)
        tfd_area_begin(a, k, serve_get, NULL, 0);
}

/* The key is the index; one below zero never comes to be. */
static bool serve_peek(struct tfd_area *a, struct tfd_staging *s)
{
    if (s->key < 0 || s->key >= a->complete.count)
        return false;
    give_all(s, tfd_shelf_at(&a->complete, s->key));
    return true;
}

static void peek_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_area *a = tfd_area_of(k);
    int64_t index;

    if (!a)
        return;
    if (tfd_check_int(k, 0, &index, &st) == TFD_OK)
        tfd_area_begin(a, k, serve_peek, NULL, index);
    else
        tfd_area_end(a, k, &st);
}

/* ---- Tables -------------------------------------------------------------- */

#define ATTRS(types_)                                                     \
    "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: " types_ \
    "; container: string = ''; shared_name: string = ''"
#define OP(name_, inputs_, outputs_, types_, ...)                              \
    {                                                                          \
        .name = name_, .inputs = inputs_, .outputs = outputs_,                 \
        .attrs = ATTRS(types_), .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT, \
        __VA_ARGS__                                                            \
    }

static const struct tfd_opdef ops[] = {
    OP("Stage", "values: dtypes", "", "list(type) >= 1",
       .shape = tfd_shape_none),
    OP("Unstage", "", "values: dtypes", "list(type) >= 1", .shape = NULL),
    OP("StagePeek", "index: int32", "values: dtypes", "list(type) >= 1",
       .checks = "index: scalar 'index must be scalar'"),
    OP("StageSize", "", "size: int32", "list(type)", .shape = tfd_shape_scalar),
    OP("StageClear", "", "", "list(type)", .shape = tfd_shape_none),
};

#define KERNEL(name_, ...)                                       \
    TFD_KERNEL_ANY(name_, __VA_ARGS__, .prepare = stage_prepare, \
                   .release = tfd_stager_release,                \
                   .state_size = sizeof(struct tfd_stager))
#define WAITS(name_, start_) \
    KERNEL(name_, NULL, .start = start_, .flags = TFD_KERNEL_WAITS)

static const struct tfd_kernel kernels[] = {
    WAITS("Stage", stage_start),
    WAITS("Unstage", unstage_start),
    WAITS("StagePeek", peek_start),
    KERNEL("StageSize", tfd_area_compute_size),
    KERNEL("StageClear", tfd_area_compute_clear),
};

const struct tfd_family tfd_family_stage = {
    .name = "stage",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
