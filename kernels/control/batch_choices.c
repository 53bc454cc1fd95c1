/*
 * batch_choices.c - see batch_choices.h.
 */
#include "kernels/control/batch_choices.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

/* The last one is what a batch has at most. */
static enum tfd_code check_filled_sizes(const struct tfd_batch_choices *c,
                                        struct tfd_status *st)
{
    for (int i = 1; i < c->size_count; i++)
        if (c->sizes[i] <= c->sizes[i - 1])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "allowed_batch_sizes entries must be monotonically "
                            "increasing");
    if (c->size_count && c->sizes[c->size_count - 1] != c->rows_max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "final entry in allowed_batch_sizes must equal "
                        "max_batch_size");
    return TFD_OK;
}

static enum tfd_code read_filled_sizes(const struct tfd_node *n,
                                       struct tfd_batch_choices *c,
                                       struct tfd_status *st)
{
    c->sizes = calloc(TFD_BATCH_SIZES_MAX, sizeof(int64_t));
    if (!c->sizes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for sizes");
    TFD_TRY(tfd_node_ints(n, "allowed_batch_sizes", c->sizes,
                          TFD_BATCH_SIZES_MAX, &c->size_count, st));
    return check_filled_sizes(c, st);
}

/* TensorFlow keeps these in 32 bits. */
static enum tfd_code read_int32(const struct tfd_node *n, const char *name,
                                int64_t *out, struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, name, out, st));
    if (*out == (int32_t)*out)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attr %s has value %" PRId64 " out of range for an int32",
                    name, *out);
}

enum tfd_code tfd_batch_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    const struct tfd_node *n = p->node;
    struct tfd_batch_choices *c = state;

    TFD_TRY(tfd_node_str(n, "container", &c->container, st));
    TFD_TRY(tfd_node_str(n, "shared_name", &c->name, st));
    TFD_TRY(tfd_node_str(n, "batching_queue", &c->line, st));
    TFD_TRY(read_int32(n, "num_batch_threads", &c->threads, st));
    TFD_TRY(read_int32(n, "max_batch_size", &c->rows_max, st));
    TFD_TRY(read_int32(n, "batch_timeout_micros", &c->timeout_us, st));
    TFD_TRY(read_int32(n, "max_enqueued_batches", &c->batches_max, st));
    if (c->name.size == 0)
        c->name = n->name;
    return read_filled_sizes(n, c, st);
}

void tfd_batch_release(void *state)
{
    free(((struct tfd_batch_choices *)state)->sizes);
}
