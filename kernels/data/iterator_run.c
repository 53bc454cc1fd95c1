/*
 * iterator_run.c - see iterator_run.h.
 */
#include "kernels/data/iterator_run.h"

#include "common/base/atomic.h"
#include "common/base/container.h"

#include <stdlib.h>
#include <string.h>

/* ---- Runs ---------------------------------------------------------------- */

void tfd_iterator_run_unref(struct tfd_iterator_run *r)
{
    if (!r || !tfd_refs_drop(&r->refs))
        return;
    tfd_data_close(r->root);
    tfd_data_scope_unref(r->scope);
    free(r->seeds);
    free(r);
}

static enum tfd_code keep_seeds(struct tfd_iterator_run *r,
                                const struct tfd_dataset *d,
                                struct tfd_status *st)
{
    r->seeds = calloc((size_t)d->seed_count + 1, sizeof(*r->seeds));
    if (!r->seeds)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    for (int i = 0; i < d->seed_count; i++)
        tfd_data_seeds_save(
            TFD_CONTAINER_OF(d->seeds[i], struct tfd_data_seeds, resource),
            &r->seeds[i]);
    return TFD_OK;
}

enum tfd_code tfd_iterator_run_new(const struct tfd_data_task *task,
                                   struct tfd_dataset *d,
                                   struct tfd_iterator_run **out,
                                   struct tfd_status *st)
{
    struct tfd_iterator_run *r = calloc(1, sizeof(*r));
    enum tfd_code rc;

    if (!r)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for an iterator");
    r->refs = 1;
    r->scope = tfd_data_scope_new(task, st);
    rc = keep_seeds(r, d, st);
    if (rc == TFD_OK)
        rc = r->scope
                 ? tfd_data_open(d, r->scope, TFD_DATA_ROOT, 0, &r->root, st)
                 : TFD_RESOURCE_EXHAUSTED;
    if (rc == TFD_OK)
        *out = r;
    else
        tfd_iterator_run_unref(r);
    return rc;
}

/* ---- Elements ------------------------------------------------------------ */

/* What a restored iterator has behind it.  That it failed there it has told. */
static enum tfd_code catch_up(struct tfd_iterator_run *run,
                              struct tfd_tensor *e, bool *end,
                              struct tfd_status *st)
{
    int32_t count = run->root->dataset->count;

    *end = false;
    while (run->behind > 0 && !*end) {
        struct tfd_status ignored = TFD_STATUS_INIT;

        TFD_TRY(tfd_data_scope_check(run->scope, st));
        (void)!tfd_data_next(run->root, e, end, &ignored);
        tfd_data_element_drop(e, count);
        TFD_TRY(tfd_data_scope_check(run->scope, st));
        run->behind--;
    }
    return TFD_OK;
}

/* A failure counts as an element: the next comes behind it. */
enum tfd_code tfd_iterator_run_next(struct tfd_iterator_run *run,
                                    struct tfd_tensor *e, bool *end,
                                    struct tfd_status *st)
{
    enum tfd_code rc;

    TFD_TRY(catch_up(run, e, end, st));
    if (*end)
        return TFD_OK;
    rc = tfd_data_next(run->root, e, end, st);
    if (rc != TFD_CANCELLED && !(rc == TFD_OK && *end))
        TFD_COUNTER_ADD(&run->given, 1);
    return rc;
}

/* ---- Positions ----------------------------------------------------------- */

enum tfd_code tfd_iterator_run_save(const struct tfd_iterator_run *run,
                                    struct tfd_iterator_position *out,
                                    struct tfd_status *st)
{
    struct tfd_dataset *d = run->root->dataset;
    size_t size = (size_t)d->seed_count * sizeof(*out->seeds);

    if (TFD_LOAD_ACQUIRE(&run->scope->unsaved) > 0)
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "GeneratorDataset does not support checkpointing.");
    out->seeds = malloc(size + sizeof(*out->seeds));
    if (!out->seeds)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the state of an iterator");
    memcpy(out->seeds, run->seeds, size);
    out->given = TFD_LOAD_ACQUIRE(&run->given);
    out->dataset = tfd_dataset_ref(d);
    return TFD_OK;
}

void tfd_iterator_position_drop(struct tfd_iterator_position *p)
{
    tfd_dataset_unref(p->dataset);
    free(p->seeds);
}

enum tfd_code tfd_iterator_run_at(const struct tfd_data_task *task,
                                  const struct tfd_iterator_position *p,
                                  struct tfd_iterator_run **out,
                                  struct tfd_status *st)
{
    struct tfd_dataset *d = p->dataset;

    for (int i = 0; i < d->seed_count; i++)
        tfd_data_seeds_load(
            TFD_CONTAINER_OF(d->seeds[i], struct tfd_data_seeds, resource),
            &p->seeds[i]);
    TFD_TRY(tfd_iterator_run_new(task, d, out, st));
    (*out)->given = (*out)->behind = p->given;
    return TFD_OK;
}
