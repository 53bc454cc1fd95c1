/*
 * late_send.c - Sends of what was read from reference variables: see late.c.
 *
 * TensorFlow's Send leaves a tensor that shares the variable's memory, and what
 * it holds is read when the other task's request for it is there.  That takes a
 * fraction of a millisecond, in which a step does what is quickly done: what it
 * assigns is sent, as in a fetch of a variable that the same step counts up.
 * Here nothing waits for a request, so a runner keeps such a Send until it has
 * nothing left to run that is quick, and leaves it to another runner that has.
 *
 * A kept Send counts as run, and what it refers to is the runner's.
 */
#include "daemon/worker/run/runner.h"

#include "kernels/state/variable.h"

#include <assert.h>

/* It has its place by its memory, not by its variable, where an assignment may
 * give that other memory. */
static enum tfd_code bind_memory(struct tfd_variable **ref,
                                 struct tfd_status *st)
{
    struct tfd_tensor seen = TFD_TENSOR_INIT;
    struct tfd_variable *view = NULL;
    enum tfd_code rc;

    if ((*ref)->of)
        return TFD_OK;
    TFD_TRY(tfd_variable_read(*ref, &seen, st));
    rc = tfd_variable_view(*ref, &seen, &view, st);
    tfd_tensor_unref(&seen);
    if (rc != TFD_OK)
        return rc;
    tfd_resource_unref(&(*ref)->resource);
    *ref = view;
    return TFD_OK;
}

bool tfd_late_send_keep(struct tfd_runner *r, struct tfd_ready *item)
{
    struct tfd_iter *it = item->it;
    int32_t slot = item->node->slot;
    struct tfd_variable *ref = it->refs[slot];

    if (!ref)
        return false;
    if (r->kept_count == TFD_RUNNER_KEPT_MAX)
        tfd_late_send_all(r);
    it->refs[slot] = NULL;
    if (r->step->exec->replaces)
        (void)!bind_memory(&ref, &r->st);
    r->kept[r->kept_count++] = (struct tfd_kept_send){item, ref};
    return true;
}

static void send_kept(struct tfd_runner *r, struct tfd_kept_send *kept)
{
    const struct tfd_exec_node *n = kept->item->node;
    struct tfd_tensor *value = &kept->item->it->slots[n->slot];
    enum tfd_code rc = tfd_variable_read(kept->ref, value, &r->st);

    tfd_resource_unref(&kept->ref->resource);
    if (rc == TFD_OK) {
        tfd_runner_prepare(r, kept->item);
        tfd_runner_compute(r, n);
    }
    tfd_tensor_unref(value);
    if (r->st.code == TFD_OK)
        return;
    tfd_runner_fail(r, n, &r->st);
    tfd_status_clear(&r->st);
}

void tfd_late_send_all(struct tfd_runner *r)
{
    assert(r->st.code == TFD_OK);
    for (int i = 0; i < r->kept_count; i++)
        send_kept(r, &r->kept[i]);
    r->kept_count = 0;
}

struct tfd_ready *tfd_late_send_back(struct tfd_runner *r)
{
    struct tfd_kept_send *kept;

    if (r->kept_count == 0)
        return NULL;
    kept = &r->kept[--r->kept_count];
    kept->item->it->refs[kept->item->node->slot] = kept->ref;
    return kept->item;
}

void tfd_late_send_drop(struct tfd_runner *r)
{
    for (int i = 0; i < r->kept_count; i++)
        tfd_resource_unref(&r->kept[i].ref->resource);
    r->kept_count = 0;
}
