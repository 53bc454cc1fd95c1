/*
 * dataset_parallel_map.c - a function for several elements at once.
 *
 *     line of calls, oldest first:  [done] [runs] [done] [runs] ...
 *                                     ^ next()             ^ input
 *
 * Whoever asks for an element fills the line up, so that `calls` are under way,
 * and waits for the first of it; results come in the order of the input.  Calls
 * that run when the iterator goes end by themselves: each holds the line.
 */
#include "kernels/data/data_table.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "config/limits.h"

#include <stdlib.h>

/* Calls at once where the program leaves it to us, for each thread. */
#define CALLS_AUTO 2
#define CALLS_MAX 1024

struct parallel {
    struct tfd_dataset dataset;
    struct tfd_captured f;
    int64_t calls;
    bool preserve_cardinality;
};

struct line;

struct call {
    struct tfd_function_call call; /* in, out: arrays of its own */
    struct line *line;
    struct tfd_status st;
    bool over; /* the scope's lock's */
    bool told; /* that it is cancelled */
};

struct line {
    int refs; /* atomic: the iterator's, and each call's under way */
    struct tfd_data_scope *scope;
    struct tfd_dataset *dataset;
    int64_t size, first, used;
    struct call calls[];
};

struct parallel_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *element; /* of the input */
    struct line *line;
    struct tfd_status *input_st; /* the input's failure, behind the line */
    bool input_over, is_over;
};

static void parallel_release(struct tfd_dataset *d)
{
    tfd_captured_deinit(&((struct parallel *)d)->f);
}

static int64_t parallel_cardinality(const struct tfd_dataset *d)
{
    return ((const struct parallel *)d)->preserve_cardinality
               ? tfd_dataset_cardinality(d->inputs[0])
               : TFD_CARDINALITY_UNKNOWN;
}

/* ---- The line ------------------------------------------------------------ */

static void drop_call(struct call *c)
{
    const struct parallel *d = (const struct parallel *)c->line->dataset;

    tfd_data_element_drop(c->call.out, d->f.out_count);
    free(c->call.in);
    free(c->call.out);
    c->call.in = c->call.out = NULL;
}

static void unref_line(struct line *l)
{
    if (!tfd_refs_drop(&l->refs))
        return;
    for (int64_t i = 0; i < l->size; i++)
        if (l->calls[i].line)
            drop_call(&l->calls[i]);
    tfd_dataset_unref(l->dataset);
    tfd_data_scope_unref(l->scope);
    free(l);
}

static enum tfd_code new_line(struct tfd_data_iterator *it, struct line **out,
                              struct tfd_status *st)
{
    int64_t size = ((const struct parallel *)it->dataset)->calls;
    struct line *l = calloc(1, sizeof(*l) + (size_t)size * sizeof(struct call));

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for calls");
    l->refs = 1;
    l->scope = tfd_data_scope_ref(it->scope);
    l->dataset = tfd_dataset_ref(it->dataset);
    l->size = size;
    *out = l;
    return TFD_OK;
}

static void call_done(struct tfd_function_call *call,
                      const struct tfd_status *st)
{
    struct call *c = TFD_CONTAINER_OF(call, struct call, call);
    struct line *l = c->line;

    tfd_lock(&l->scope->lock);
    tfd_status_copy(&c->st, st);
    c->over = true;
    tfd_cond_broadcast(&l->scope->changed);
    tfd_unlock(&l->scope->lock);
    unref_line(l);
}

/* The element is taken. */
static enum tfd_code start_call(struct parallel_iterator *i,
                                struct tfd_status *st)
{
    const struct parallel *d = (const struct parallel *)i->iterator.dataset;
    struct line *l = i->line;
    struct call *c = &l->calls[(l->first + l->used) % l->size];
    struct tfd_tensor *in = tfd_captured_args(&d->f, i->element, st);
    struct tfd_tensor *out =
        in ? tfd_data_element_new(d->f.out_count, st) : NULL;

    if (!out) {
        tfd_data_element_drop(in, d->f.in_count + d->f.passed);
        free(in);
        return TFD_RESOURCE_EXHAUSTED;
    }
    *c = (struct call){
        .call = {.function = d->f.function,
                 .in = in,
                 .out = out,
                 .done = call_done},
        .line = l,
    };
    l->used++;
    tfd_refs_add(&l->refs, 1);
    tfd_function_run(&c->call);
    return TFD_OK;
}

/* ---- The iterator -------------------------------------------------------- */

static enum tfd_code parallel_begin(struct tfd_data_iterator *it,
                                    struct tfd_status *st)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;

    i->element = tfd_data_element_new(it->dataset->inputs[0]->count, st);
    return i->element ? new_line(it, &i->line, st) : TFD_RESOURCE_EXHAUSTED;
}

static void parallel_end(struct tfd_data_iterator *it)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;
    struct line *l = i->line;

    free(i->element);
    free(i->input_st);
    if (!l)
        return;
    tfd_lock(&l->scope->lock);
    for (int64_t n = 0; n < l->used; n++) {
        struct call *c = &l->calls[(l->first + n) % l->size];

        if (!c->over)
            tfd_function_cancel(&c->call);
    }
    tfd_unlock(&l->scope->lock);
    unref_line(l);
}

static void keep_failure(struct parallel_iterator *i,
                         const struct tfd_status *st)
{
    i->input_st = malloc(sizeof(*st));
    if (i->input_st)
        *i->input_st = *st;
    else
        i->input_over = true;
}

/* A failure of the input has its place behind the calls before it. */
static enum tfd_code fill_line(struct parallel_iterator *i,
                               struct tfd_status *st)
{
    while (!i->input_over && !i->input_st && i->line->used < i->line->size) {
        struct tfd_status own = TFD_STATUS_INIT;

        if (tfd_data_next(i->iterator.input, i->element, &i->input_over,
                          &own) != TFD_OK) {
            if (own.code == TFD_CANCELLED) {
                tfd_status_copy(st, &own);
                return TFD_CANCELLED;
            }
            keep_failure(i, &own);
        } else if (!i->input_over) {
            TFD_TRY(start_call(i, st));
        }
    }
    return TFD_OK;
}

/* Of an iterator that is cancelled its calls are cancelled. */
static void wait_call(struct line *l, struct call *c)
{
    tfd_lock(&l->scope->lock);
    while (!c->over) {
        if (l->scope->cancelled && !c->told) {
            c->told = true;
            tfd_function_cancel(&c->call);
        }
        tfd_cond_wait(&l->scope->changed, &l->scope->lock);
    }
    tfd_unlock(&l->scope->lock);
}

static enum tfd_code call_failed(const struct parallel_iterator *i,
                                 struct tfd_status *own, bool *end,
                                 struct tfd_status *st)
{
    const struct parallel *d = (const struct parallel *)i->iterator.dataset;

    *end = own->code == TFD_OUT_OF_RANGE && !d->preserve_cardinality;
    if (*end)
        return TFD_OK;
    tfd_data_failed(&i->iterator, own);
    if (own->code != TFD_OUT_OF_RANGE) {
        tfd_status_copy(st, own);
        return own->code;
    }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Function invocation produced OutOfRangeError: %s",
                    own->text);
}

static enum tfd_code take_first(struct parallel_iterator *i,
                                struct tfd_tensor *out, bool *end,
                                struct tfd_status *st)
{
    struct line *l = i->line;
    struct call *c = &l->calls[l->first];
    struct tfd_status own;

    wait_call(l, c);
    own = c->st;
    if (own.code == TFD_OK)
        tfd_data_element_move(out, c->call.out, i->iterator.dataset->count);
    drop_call(c);
    c->line = NULL;
    l->first = (l->first + 1) % l->size;
    l->used--;
    return own.code == TFD_OK ? TFD_OK : call_failed(i, &own, end, st);
}

static enum tfd_code parallel_next(struct tfd_data_iterator *it,
                                   struct tfd_tensor *out, bool *end,
                                   struct tfd_status *st)
{
    struct parallel_iterator *i = (struct parallel_iterator *)it;
    enum tfd_code rc;

    *end = i->is_over;
    if (i->is_over)
        return TFD_OK;
    TFD_TRY(fill_line(i, st));
    if (i->line->used > 0) {
        rc = take_first(i, out, end, st);
    } else if (i->input_st) {
        rc = i->input_st->code;
        tfd_status_copy(st, i->input_st);
        free(i->input_st);
        i->input_st = NULL;
    } else {
        rc = TFD_OK;
        *end = true;
    }
    i->is_over = *end;
    return rc;
}

#define PARALLEL_KIND(id, name_)                           \
    static const struct tfd_dataset_kind id##_kind = {     \
        .name = name_,                                     \
        .iterator_size = sizeof(struct parallel_iterator), \
        .opens_input = true,                               \
        .begin = parallel_begin,                           \
        .next = parallel_next,                             \
        .end = parallel_end,                               \
        .cardinality = parallel_cardinality,               \
        .release = parallel_release,                       \
    }

PARALLEL_KIND(first, "ParallelMapV1");
PARALLEL_KIND(second, "ParallelMapV2");

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code make_parallel(struct tfd_kctx *k,
                                   const struct tfd_dataset_kind *kind,
                                   int64_t calls, struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = k->state;
    struct tfd_dataset *d;
    struct parallel *x;
    enum tfd_code rc;

    if (calls < 1 && calls != -1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num_parallel_calls must be greater than zero.");
    TFD_TRY(tfd_dataset_make(k, kind, sizeof(*x), 1, &d, st));
    x = (struct parallel *)d;
    if (calls == -1)
        calls = CALLS_AUTO * (tfd_pool_threads(d->task.pool) + 1);
    x->calls = calls < CALLS_MAX ? calls : CALLS_MAX;
    x->preserve_cardinality = m->flag;
    rc = tfd_captured_init(&x->f, k, m->function, 1, k->in_count - 2,
                           d->inputs[0]->count, d, st);
    if (rc == TFD_OK && x->f.out_count != m->count)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      TFD_STR_FMT " returns %d tensors, and not %d",
                      TFD_STR_ARG(tfd_rt_function_name(m->function)),
                      x->f.out_count, m->count);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

static enum tfd_code first_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t calls;

    TFD_TRY(tfd_check_int(k, k->in_count - 1, &calls, st));
    return make_parallel(k, &first_kind, calls, st);
}

static enum tfd_code second_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    int64_t calls;

    TFD_TRY(
        tfd_dataset_int(k, k->in_count - 1, "num_parallel_calls", &calls, st));
    return make_parallel(k, &second_kind, calls, st);
}

static enum tfd_code parallel_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_node_bool(p->node, "preserve_cardinality", &m->flag, st));
    return tfd_dataset_prepare(p, m, "f", st);
}

/* ---- Tables -------------------------------------------------------------- */

#define INPUTS "input_dataset: variant, other_arguments: Targuments, "
#define FUNCTION "f: func; Targuments: list(type) >= 0; "

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("ParallelMapDataset", INPUTS "num_parallel_calls: int32",
                FUNCTION,
                "; use_inter_op_parallelism: bool = true; "
                "sloppy: bool = false; "
                "preserve_cardinality: bool = false" TFD_DATA_METADATA,
                0),
    TFD_DATA_OP("ParallelMapDatasetV2", INPUTS "num_parallel_calls: int64",
                FUNCTION,
                "; use_inter_op_parallelism: bool = true; "
                "deterministic: string = 'default'; "
                "preserve_cardinality: bool = false; "
                "use_unbounded_threadpool: bool = false" TFD_DATA_METADATA,
                0),
};

static const struct tfd_kernel kernels[] = {
    TFD_DATA_KERNEL_F("ParallelMapDataset", first_compute, parallel_prepare),
    TFD_DATA_KERNEL_F("ParallelMapDatasetV2", second_compute, parallel_prepare),
};

TFD_DATA_FAMILY(dataset_parallel_map);
