/*
 * batch_function.c - see batch_function.h.
 *
 *     process: join inputs -> call of the last step's function -> called: cut
 *              its results among the parts -> the batch's end
 *
 * The call is a step by itself, so that it goes on when one of the steps whose
 * rows it has is cancelled; when all are, it is cancelled, too.
 */
#include "kernels/control/batch_function.h"

#include "kernels/control/batcher.h"

#include "common/base/arena.h"
#include "common/base/container.h"
#include "config/limits.h"

#include <inttypes.h>
#include <stdlib.h>

/* One call; who starts it and who ends it each hold it. */
struct batch_call {
    struct tfd_function_call call;
    struct tfd_batcher *batcher; /* counted; its lock guards the next three */
    struct tfd_batch *x;         /* NULL: over */
    bool may_cancel;             /* tfd_function_run() has returned */
    int refs;
    int32_t out_count;
    struct tfd_tensor tensors[]; /* arguments, and results behind them */
};

/* ---- Calls --------------------------------------------------------------- */

static struct batch_call *new_call(struct tfd_batch *x)
{
    struct tfd_rt_function *f = x->last->task->function;
    int32_t in = tfd_rt_function_in_count(f);
    int32_t out = tfd_rt_function_out_count(f);
    struct batch_call *c = calloc(
        1, sizeof(*c) + ((size_t)in + (size_t)out) * sizeof(struct tfd_tensor));

    if (!c)
        return NULL;
    c->batcher = tfd_batcher_ref(x->batcher);
    c->x = x;
    c->refs = 2;
    c->out_count = out;
    c->call.function = f;
    c->call.in = c->tensors;
    c->call.out = c->tensors + in;
    return c;
}

static void unref_call(struct batch_call *c)
{
    struct tfd_batcher *b = c->batcher;
    bool is_last;

    tfd_batcher_lock(b);
    is_last = --c->refs == 0;
    tfd_batcher_unlock(b);
    if (!is_last)
        return;
    free(c);
    tfd_batcher_unref(b);
}

/* Before the call is known to run its starter looks whether it is wanted. */
static void abandon_call(struct tfd_batch *x)
{
    struct batch_call *c = x->work;

    if (c && c->may_cancel)
        tfd_function_cancel(&c->call);
}

/* ---- Results ------------------------------------------------------------- */

static enum tfd_code check_result(const struct tfd_batch *x,
                                  const struct tfd_tensor *t,
                                  struct tfd_status *st)
{
    int64_t filled = tfd_batch_filled_rows(x);

    if (t->shape.rank == 0)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Batched output tensor has 0 dimensions");
    if (t->shape.rank > TFD_RANK_MAX) /* its dimensions are packed */
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "Batched output tensor has %d dimensions; at most %d "
                        "are possible",
                        t->shape.rank, TFD_RANK_MAX);
    if (t->shape.dim[0] == filled)
        return TFD_OK;
    return tfd_fail(
        st, TFD_FAILED_PRECONDITION,
        "Batched output tensor's 0th dimension does not equal the sum of the "
        "0th dimension sizes of the input tensors. 0th dimension size: %" PRId64
        "; batch size: %" PRId64
        "; unbatched tasks size: 0; padding size: %" PRId64,
        t->shape.dim[0], x->rows, filled - x->rows);
}

static enum tfd_code cut_result(const struct tfd_batch *x, int32_t i,
                                const struct tfd_tensor *t,
                                struct tfd_status *st)
{
    struct tfd_batch_rows rows = {t, 0, 0};

    TFD_TRY(check_result(x, t, st));
    for (struct tfd_batch_part *p = x->first; p; p = p->next) {
        rows.count = p->rows;
        TFD_TRY(tfd_batch_cut(&p->out[i], &rows, st));
        rows.first += p->rows;
    }
    return TFD_OK;
}

static enum tfd_code give_results(const struct batch_call *c,
                                  const struct tfd_batch *x,
                                  struct tfd_status *st)
{
    for (const struct tfd_batch_part *p = x->first; p; p = p->next)
        if (p->task->out_count != c->out_count)
            return tfd_fail(st, TFD_INTERNAL,
                            "Wrong number of batched output tensors");
    for (int32_t i = 0; i < c->out_count; i++)
        TFD_TRY(cut_result(x, i, &c->call.out[i], st));
    return TFD_OK;
}

/* From any thread; x->work goes first, so that nobody cancels what is over. */
static void called(struct tfd_function_call *call, const struct tfd_status *st)
{
    struct batch_call *c = TFD_CONTAINER_OF(call, struct batch_call, call);
    struct tfd_batch *x = c->x;
    struct tfd_status own = *st;

    tfd_batcher_lock(c->batcher);
    x->work = NULL;
    c->x = NULL;
    tfd_batcher_unlock(c->batcher);
    if (own.code == TFD_OK)
        (void)!give_results(c, x, &own);
    for (int32_t i = 0; i < c->out_count; i++)
        tfd_tensor_unref(&c->call.out[i]);
    tfd_batch_end(x, &own);
    unref_call(c);
}

/* ---- A batch ------------------------------------------------------------- */

static enum tfd_code fill_call(struct batch_call *c, struct tfd_status *st)
{
    const struct tfd_batch_task *t = c->x->last->task;

    TFD_TRY(tfd_batch_inputs(c->x, c->call.in, st));
    for (int32_t i = 0; i < t->captured_count; i++)
        c->call.in[t->in_count + i] = tfd_tensor_ref(&t->in[t->in_count + i]);
    return TFD_OK;
}

/* Steps that left before the call could be cancelled are counted here. */
static void run_call(struct batch_call *c)
{
    tfd_batcher_lock(c->batcher);
    c->x->work = c;
    tfd_batcher_unlock(c->batcher);
    c->call.done = called;
    tfd_function_run(&c->call);
    tfd_batcher_lock(c->batcher);
    c->may_cancel = true;
    if (c->x && c->x->live == 0)
        tfd_function_cancel(&c->call);
    tfd_batcher_unlock(c->batcher);
    unref_call(c);
}

static void process_function(struct tfd_batch *x)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct batch_call *c = new_call(x);

    if (!c)
        tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
    else if (fill_call(c, &st) == TFD_OK) {
        run_call(c);
        return;
    }
    tfd_batch_end(x, &st);
    if (c) {
        c->refs--;
        unref_call(c);
    }
}

/* ---- The node ------------------------------------------------------------ */

static const struct tfd_batch_kind function_kind = {
    .type =
        {
            .name = "N10tensorflow12_GLOBAL__N_113BatchResourceE",
            .what = "batcher of a function",
            .free = tfd_batcher_free,
        },
    .process = process_function,
    .abandon = abandon_call,
};

static enum tfd_code read_function(const struct tfd_prepare *p,
                                   struct tfd_rt_function **out,
                                   struct tfd_status *st)
{
    struct tfd_arena arena;
    struct tfd_func f;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_func(p->node, "f", &arena, &f, st);
    if (rc == TFD_OK)
        rc = tfd_rt_lasting_function(p, &f, out, st);
    tfd_arena_deinit(&arena);
    return rc;
}

enum tfd_code tfd_batch_function_prepare(const struct tfd_prepare *p,
                                         void *state, struct tfd_status *st)
{
    struct tfd_batch_function *f = state;
    int32_t first, want;

    TFD_TRY(tfd_batch_function_choices(p, &f->choices, st));
    TFD_TRY(read_function(p, &f->function, st));
    tfd_node_arg(p->node, 0, &first, &f->in_count);
    want = tfd_rt_function_in_count(f->function);
    if (want == p->node->in_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Function takes %d argument(s) but %d argument(s) were "
                    "passed",
                    want, p->node->in_count);
}

void tfd_batch_function_start(struct tfd_kctx *k)
{
    const struct tfd_batch_function *f = k->state;
    struct tfd_status st = TFD_STATUS_INIT;

    for (int32_t i = 0; i < f->in_count; i++)
        if (k->in[i].dtype == TFD_RESOURCE && st.code == TFD_OK)
            tfd_fail(&st, TFD_INVALID_ARGUMENT,
                     "BatchFunction cannot take resource inputs but input %d "
                     "is a resource.",
                     i);
    if (st.code != TFD_OK)
        tfd_kctx_finish(k, &st);
    else
        tfd_batcher_start(k, &f->choices, &function_kind, f->function,
                          f->in_count);
}
