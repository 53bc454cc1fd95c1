/*
 * failures.c - see failures.h.
 */
#include "daemon/eager/failures.h"

#include "config/limits.h"

#include <stdbool.h>
#include <stdlib.h>

struct tfd_eager_failure {
    int64_t op;
    struct tfd_status why;
};

void tfd_eager_failures_deinit(struct tfd_eager_failures *f)
{
    free(f->ring);
    *f = (struct tfd_eager_failures){.count = 0};
}

static bool is_of_the_operation(enum tfd_code code)
{
    return code != TFD_OK && code != TFD_CANCELLED && code != TFD_ABORTED &&
           code != TFD_UNAVAILABLE;
}

static uint64_t kept(const struct tfd_eager_failures *f)
{
    return f->count < TFD_EAGER_FAILURES_MAX ? f->count
                                             : TFD_EAGER_FAILURES_MAX;
}

static struct tfd_eager_failure *find_op(const struct tfd_eager_failures *f,
                                         int64_t op)
{
    for (uint64_t i = 0; i < kept(f); i++)
        if (f->ring[i].op == op)
            return &f->ring[i];
    return NULL;
}

void tfd_eager_failures_add(struct tfd_eager_failures *f, int64_t op,
                            const struct tfd_status *why)
{
    struct tfd_eager_failure *x = find_op(f, op);

    if (!is_of_the_operation(why->code))
        return;
    if (!f->ring)
        f->ring = calloc(TFD_EAGER_FAILURES_MAX, sizeof(*f->ring));
    if (!f->ring)
        return;
    if (!x)
        x = &f->ring[f->count++ % TFD_EAGER_FAILURES_MAX];
    x->op = op;
    x->why = *why;
}

const struct tfd_status *
tfd_eager_failures_find(const struct tfd_eager_failures *f, int64_t op,
                        int64_t made)
{
    const struct tfd_eager_failure *x = find_op(f, op);

    if (!x && f->count > 0) {
        x = &f->ring[(f->count - 1) % TFD_EAGER_FAILURES_MAX];
        if (op < x->op || x->op < made)
            x = NULL;
    }
    return x ? &x->why : NULL;
}

size_t tfd_eager_failures_size(const struct tfd_eager_failures *f)
{
    return f->ring ? TFD_EAGER_FAILURES_MAX * sizeof(*f->ring) : 0;
}
