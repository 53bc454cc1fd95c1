/*
 * batch_choices.c - see batch_choices.h.
 */
#include "kernels/control/batch_choices.h"

#include "config/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Batches at once of a scheduler that adapts, at most: TensorFlow's number. */
#define ADAPTIVE_THREADS 64

/* ---- Reading ------------------------------------------------------------- */

/* TensorFlow keeps these in 32 bits. */
static enum tfd_code check_int32(const char *name, int64_t value,
                                 struct tfd_status *st)
{
    if (value == (int32_t)value)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Attr %s has value %" PRId64 " out of range for an int32",
                    name, value);
}

static enum tfd_code read_int32(const struct tfd_node *n, const char *name,
                                int64_t *out, struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, name, out, st));
    return check_int32(name, *out, st);
}

static enum tfd_code read_filled_sizes(const struct tfd_node *n,
                                       const char *name, int64_t *sizes,
                                       int *count, struct tfd_status *st)
{
    TFD_TRY(tfd_node_ints(n, name, sizes, TFD_BATCH_SIZES_MAX, count, st));
    for (int i = 0; i < *count; i++)
        TFD_TRY(check_int32(name, sizes[i], st));
    return TFD_OK;
}

/* The last one is what a batch has at most; `when` is the end of the text. */
static enum tfd_code check_filled_sizes(const struct tfd_batch_choices *c,
                                        const char *when, struct tfd_status *st)
{
    for (int i = 1; i < c->size_count; i++)
        if (c->sizes[i] <= c->sizes[i - 1])
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "allowed_batch_sizes entries must be monotonically "
                            "increasing");
    if (c->size_count && !c->splits &&
        c->sizes[c->size_count - 1] != c->rows_max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "final entry in allowed_batch_sizes must equal "
                        "max_batch_size%s",
                        when);
    return TFD_OK;
}

static enum tfd_code read_common(const struct tfd_node *n,
                                 struct tfd_batch_choices *c,
                                 struct tfd_status *st)
{
    TFD_TRY(tfd_node_str(n, "container", &c->container, st));
    TFD_TRY(tfd_node_str(n, "shared_name", &c->name, st));
    TFD_TRY(tfd_node_str(n, "batching_queue", &c->line, st));
    TFD_TRY(read_int32(n, "num_batch_threads", &c->threads, st));
    TFD_TRY(read_int32(n, "max_batch_size", &c->rows_max, st));
    TFD_TRY(read_int32(n, "batch_timeout_micros", &c->timeout_us, st));
    TFD_TRY(read_int32(n, "max_enqueued_batches", &c->batches_max, st));
    if (c->name.size == 0)
        c->name = n->name;
    c->batch_rows_max = c->rows_max;
    c->sizes = calloc(TFD_BATCH_SIZES_MAX, sizeof(int64_t));
    if (!c->sizes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for sizes");
    return read_filled_sizes(n, "allowed_batch_sizes", c->sizes, &c->size_count,
                             st);
}

enum tfd_code tfd_batch_prepare(const struct tfd_prepare *p, void *state,
                                struct tfd_status *st)
{
    struct tfd_batch_choices *c = state;

    TFD_TRY(read_common(p->node, c, st));
    return check_filled_sizes(c, "", st);
}

/* No step of a session is of low priority, which is a word of the library that
 * a server of models calls TensorFlow by: these are checked and left. */
static enum tfd_code check_low_priority(const struct tfd_node *n,
                                        struct tfd_status *st)
{
    int64_t value, sizes[TFD_BATCH_SIZES_MAX];
    int count;

    TFD_TRY(read_int32(n, "low_priority_max_batch_size", &value, st));
    TFD_TRY(read_int32(n, "low_priority_batch_timeout_micros", &value, st));
    TFD_TRY(read_filled_sizes(n, "low_priority_allowed_batch_sizes", sizes,
                              &count, st));
    return read_int32(n, "low_priority_max_enqueued_batches", &value, st);
}

/* As many threads as there is work for: each node has a line of its own. */
static enum tfd_code adapt(const struct tfd_node *n,
                           struct tfd_batch_choices *c, struct tfd_status *st)
{
    struct tfd_str shared;
    size_t size;

    TFD_TRY(tfd_node_str(n, "shared_name", &shared, st));
    size = n->name.size + 1 + shared.size + c->line.size;
    c->own_line = malloc(size + 1);
    if (!c->own_line)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a line");
    (void)snprintf(
        c->own_line, size + 1, TFD_STR_FMT "/" TFD_STR_FMT TFD_STR_FMT,
        TFD_STR_ARG(n->name), TFD_STR_ARG(shared), TFD_STR_ARG(c->line));
    c->line = (struct tfd_str){c->own_line, strlen(c->own_line)};
    c->adapts = true;
    c->threads = ADAPTIVE_THREADS;
    c->splits = true;
    c->trims = false;
    return TFD_OK;
}

/* An attribute that TensorFlow reads where it is, and that its op lacks. */
static enum tfd_code wants_adaptive(const struct tfd_node *n, bool *out,
                                    struct tfd_status *st)
{
    static const char name[] = "_enable_adaptive_scheduler";
    struct tfd_str value;

    *out = false;
    return tfd_node_attr(n, name, &value) ? tfd_node_bool(n, name, out, st)
                                          : TFD_OK;
}

enum tfd_code tfd_batch_function_choices(const struct tfd_prepare *p,
                                         struct tfd_batch_choices *c,
                                         struct tfd_status *st)
{
    const struct tfd_node *n = p->node;
    struct tfd_str policy;
    bool adapts;

    TFD_TRY(read_common(n, c, st));
    TFD_TRY(check_low_priority(n, st));
    TFD_TRY(tfd_node_bool(n, "enable_large_batch_splitting", &c->splits, st));
    TFD_TRY(tfd_node_str(n, "batch_padding_policy", &policy, st));
    TFD_TRY(check_filled_sizes(c, " when enable_large_batch_splitting is False",
                               st));
    c->trims = tfd_str_is(policy, "BATCH_DOWN");
    TFD_TRY(wants_adaptive(n, &adapts, st));
    if (adapts || c->threads <= 0)
        TFD_TRY(adapt(n, c, st));
    if (c->splits && c->size_count)
        c->batch_rows_max = c->sizes[c->size_count - 1];
    return TFD_OK;
}

void tfd_batch_release(void *state)
{
    struct tfd_batch_choices *c = state;

    free(c->sizes);
    free(c->own_line);
    c->sizes = NULL;
    c->own_line = NULL;
}

/* ---- Checking ------------------------------------------------------------ */

static enum tfd_code check_adaptive(const struct tfd_batch_choices *c,
                                    struct tfd_status *st)
{
    if (c->batch_rows_max <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_batch_size must be positive; was %" PRId64,
                        c->batch_rows_max);
    if (c->batches_max <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_enqueued_batches must be positive; was %" PRId64,
                        c->batches_max);
    if (c->rows_max < c->batch_rows_max)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_input_task_size must be larger than or equal to "
                        "max_batch_size;got max_input_task_size as %" PRId64
                        " and max_batch_size as %" PRId64,
                        c->rows_max, c->batch_rows_max);
    return TFD_OK;
}

/* The numbers at the end of TensorFlow's text stand side by side. */
static enum tfd_code check_splitting(const struct tfd_batch_choices *c,
                                     struct tfd_status *st)
{
    if (c->batches_max == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "max_enqueued_batches must be positive; was 0");
    if (c->batch_rows_max == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a batch of no rows: the last of allowed_batch_sizes "
                        "is 0");
    if (c->rows_max > 0 &&
        (c->batch_rows_max < 0 || c->batch_rows_max > c->rows_max))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "When enable_large_batch_splitting is true, "
                        "input_batch_size_limit must be greater than or equal "
                        "to max_execution_batch_size.1%" PRId64 "%" PRId64,
                        c->rows_max, c->batch_rows_max);
    return TFD_OK;
}

enum tfd_code tfd_batch_check(const struct tfd_batch_choices *c,
                              struct tfd_status *st)
{
    if (c->adapts)
        return check_adaptive(c, st);
    if (c->threads <= 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_batch_threads must be positive; was %" PRId64,
                        c->threads);
    if (c->rows_max == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input_batch_size_limit must be positive; was 0");
    if (c->timeout_us < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_timeout_micros must be non-negative; was "
                        "%" PRId64,
                        c->timeout_us);
    return c->splits ? check_splitting(c, st) : TFD_OK;
}
