/*
 * step_record.c - keeps a step's first failure, with the name of the node that
 * failed: the status that the step ends with.
 */
#include "daemon/worker/run/executor.h"
#include "common/base/atomic.h"
#include "daemon/worker/run/runner.h"

#include <stdio.h>
#include <string.h>

void tfd_step_record(struct tfd_step *s, const struct tfd_exec_node *n,
                     const struct tfd_status *st)
{
    tfd_lock(&s->lock);
    if (s->status.code == TFD_OK) {
        size_t used;

        tfd_status_copy(&s->status, st);
        used = strlen(s->status.text);
        if (n)
            snprintf(s->status.text + used, sizeof(s->status.text) - used,
                     "\n\t [[{{node " TFD_STR_FMT "}}]]",
                     TFD_STR_ARG(n->node->name));
    }
    TFD_STORE_RELEASE(&s->failed, 1);
    tfd_unlock(&s->lock);
}

void tfd_runner_fail(struct tfd_runner *r, const struct tfd_exec_node *n,
                     const struct tfd_status *st)
{
    tfd_step_record(r->step, n, st);
}

void tfd_executor_record(struct tfd_step *s, const struct tfd_status *st)
{
    tfd_step_record(s, NULL, st);
}
