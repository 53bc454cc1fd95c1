/*
 * for_loop.c - For: a function called once for each number of a range, with
 * the number and what the call before it gave.
 *
 * An execution is a struct of its own; a call's done() may come on any thread,
 * but only one is under way at a time.  A call that is over before it is known
 * to run goes on in the loop of whoever began it, so that a body that never
 * waits does not grow the stack.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/function_call.h"
#include "kernels/core/runtime.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "config/limits.h"

#include <stdlib.h>

#define RANGE_INPUTS 3 /* start, limit, delta */

struct for_body {
    struct tfd_rt_function *function;
};

/* Who of the two, the caller and its call, goes on. */
enum for_turn { FOR_CALLING, FOR_ONE_IS_THROUGH };

struct for_run {
    struct tfd_function_call call;
    struct tfd_kctx *k;
    int64_t at, limit, delta;
    int32_t count; /* of values */
    int turn;      /* atomic */
    struct tfd_status st;
    struct tfd_tensor *arguments; /* the number and the values */
    struct tfd_tensor *values;
};

/* ---- Preparing ----------------------------------------------------------- */

static enum tfd_code check_body(const struct tfd_prepare *p,
                                const struct tfd_rt_function *f,
                                struct tfd_status *st)
{
    const int32_t in = tfd_rt_function_in_count(f);
    const int32_t out = tfd_rt_function_out_count(f);
    const int32_t given = p->node->in_count - RANGE_INPUTS;

    if (in != given + 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expects %d arguments, but %d is provided", in,
                        given + 1);
    if (out != given || out != p->node->out_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "For loop body returned %d arguments. Expected: %d",
                        out, given);
    return TFD_OK;
}

static enum tfd_code for_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct for_body *b = state;
    struct tfd_arena arena;
    struct tfd_func f;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_func(p->node, "body", &arena, &f, st);
    if (rc == TFD_OK)
        rc = tfd_rt_function(p, &f, &b->function, st);
    tfd_arena_deinit(&arena);
    return rc == TFD_OK ? check_body(p, b->function, st) : rc;
}

/* ---- Running ------------------------------------------------------------- */

static void drop_values(struct tfd_tensor *t, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        tfd_tensor_unref(&t[i]);
}

static void end_for(struct for_run *r, const struct tfd_status *st)
{
    struct tfd_kctx *k = r->k;

    for (int32_t i = 0; st->code == TFD_OK && i < r->count; i++) {
        k->out[i] = r->values[i];
        r->values[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    drop_values(r->arguments, r->count + 1);
    drop_values(r->values, r->count);
    free(r);
    tfd_kctx_finish(k, st);
}

static bool has_next(const struct for_run *r)
{
    return r->delta > 0 ? r->at < r->limit : r->at > r->limit;
}

/* A body may give another type than it takes only if it is called once. */
static enum tfd_code check_next_values(const struct for_run *r,
                                       struct tfd_status *st)
{
    for (int32_t i = 0; i < r->count; i++) {
        const enum tfd_dtype want = r->k->in[RANGE_INPUTS + i].dtype;

        if (r->values[i].dtype != want)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Expects arg[%d] to be %s but %s is provided",
                            i + 1, tfd_dtype_name((int)want),
                            tfd_dtype_name((int)r->values[i].dtype));
    }
    return TFD_OK;
}

static enum tfd_code give_arguments(struct for_run *r, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};

    TFD_TRY(check_next_values(r, st));
    TFD_TRY(tfd_tensor_new(&r->arguments[0], TFD_INT32, &scalar, st));
    *(int32_t *)tfd_tensor_data(&r->arguments[0]) = (int32_t)r->at;
    for (int32_t i = 0; i < r->count; i++) {
        r->arguments[i + 1] = r->values[i];
        r->values[i] = (struct tfd_tensor)TFD_TENSOR_INIT;
    }
    return TFD_OK;
}

static void go_round(struct for_run *r);

/* The second of both goes on. */
static bool is_second(struct for_run *r)
{
    return TFD_EXCHANGE(&r->turn, FOR_ONE_IS_THROUGH) == FOR_ONE_IS_THROUGH;
}

static void body_is_done(struct tfd_function_call *c,
                         const struct tfd_status *st)
{
    struct for_run *r = TFD_CONTAINER_OF(c, struct for_run, call);

    r->st = *st;
    if (!is_second(r))
        return;
    r->at += r->delta;
    go_round(r);
}

static void go_round(struct for_run *r)
{
    struct tfd_status st = TFD_STATUS_INIT;

    while (r->st.code == TFD_OK && has_next(r)) {
        if (give_arguments(r, &r->st) != TFD_OK)
            break;
        r->call.in = r->arguments;
        r->call.out = r->values;
        r->call.done = body_is_done;
        r->turn = FOR_CALLING;
        tfd_function_run(&r->call);
        if (!is_second(r))
            return;
        r->at += r->delta;
    }
    tfd_status_copy(&st, &r->st);
    end_for(r, &st);
}

/* ---- Starting ------------------------------------------------------------ */

static enum tfd_code read_range(const struct tfd_kctx *k, struct for_run *r,
                                struct tfd_status *st)
{
    static const char *const names[] = {"start", "limit", "delta"};
    int64_t value[RANGE_INPUTS];
    char text[TFD_SHAPE_TEXT_MAX];

    for (int i = 0; i < RANGE_INPUTS; i++) {
        if (k->in[i].shape.rank != 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s must be a scalar, but %s", names[i],
                            tfd_shape_text(&k->in[i].shape, text));
        value[i] = tfd_check_int_at(&k->in[i], 0);
    }
    r->at = value[0];
    r->limit = value[1];
    r->delta = value[2];
    if ((r->delta > 0 && r->at <= r->limit) ||
        (r->delta < 0 && r->at >= r->limit) ||
        (r->delta == 0 && r->at == r->limit))
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Invalid start/limit/delta: %lld %lld %lld",
                    (long long)r->at, (long long)r->limit, (long long)r->delta);
}

static struct for_run *new_for(struct tfd_kctx *k, struct tfd_status *st)
{
    const int32_t count = k->in_count - RANGE_INPUTS;
    struct for_run *r = calloc(1, sizeof(*r) + (2 * (size_t)count + 1) *
                                                   sizeof(struct tfd_tensor));

    if (!r) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a loop");
        return NULL;
    }
    r->k = r->call.k = k;
    r->count = count;
    r->call.function = ((const struct for_body *)k->state)->function;
    r->arguments = (struct tfd_tensor *)(r + 1);
    r->values = r->arguments + count + 1;
    for (int32_t i = 0; i < count; i++)
        r->values[i] = tfd_tensor_ref(&k->in[RANGE_INPUTS + i]);
    return r;
}

static void for_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct for_run *r = new_for(k, &st);

    if (!r)
        tfd_kctx_finish(k, &st);
    else if (read_range(k, r, &st) != TFD_OK)
        end_for(r, &st);
    else
        go_round(r);
}

static const struct tfd_opdef ops[] = {
    {
        .name = "For",
        .inputs = "start: int32, limit: int32, delta: int32, input: T",
        .outputs = "output: T",
        .attrs = "T: list(type) >= 0; body: func",
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("For", NULL, .start = for_start, .prepare = for_prepare,
                   .state_size = sizeof(struct for_body),
                   .flags = TFD_KERNEL_BY_TYPE | TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_for_loop = {
    .name = "for_loop",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
