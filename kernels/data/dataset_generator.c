/*
 * dataset_generator.c - a dataset whose elements three functions make.
 *
 *     init()             -> state, with the first element
 *     next(state)        -> an element; OUT_OF_RANGE is the end
 *     finalize(state)    after the end, or when the iterator goes before it
 *
 * Nobody waits for finalize(): the one who drops an iterator must not.
 */
#include "kernels/data/data_table.h"

#include "common/base/atomic.h"

#include "common/base/container.h"
#include "config/limits.h"

#include <stdlib.h>

enum { INIT, NEXT, FINALIZE, FUNCTIONS };

struct generator_maker {
    struct tfd_dataset_maker maker;
    struct tfd_rt_function *functions[FUNCTIONS];
};

struct generator {
    struct tfd_dataset dataset;
    struct tfd_captured f[FUNCTIONS];
};

struct generator_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_tensor *state; /* NULL: not begun */
    bool is_over;             /* and finalized */
};

static void generator_release(struct tfd_dataset *d)
{
    struct generator *g = (struct generator *)d;

    for (int i = 0; i < FUNCTIONS; i++)
        tfd_captured_deinit(&g->f[i]);
}

/* ---- The end ------------------------------------------------------------- */

struct finalizing {
    struct tfd_function_call call;
    struct tfd_dataset *dataset; /* keeps the function */
};

static void finalized(struct tfd_function_call *c, const struct tfd_status *st)
{
    struct finalizing *x = TFD_CONTAINER_OF(c, struct finalizing, call);

    (void)st;
    tfd_data_element_drop(c->out, tfd_rt_function_out_count(c->function));
    free(c->in);
    free(c->out);
    tfd_dataset_unref(x->dataset);
    free(x);
}

/* Without memory for it nothing is finalized. */
static void finalize(struct generator_iterator *i)
{
    struct generator *g = (struct generator *)i->iterator.dataset;
    const struct tfd_captured *f = &g->f[FINALIZE];
    struct finalizing *x = calloc(1, sizeof(*x));
    struct tfd_tensor *in = tfd_captured_args(f, i->state, NULL);
    struct tfd_tensor *out = tfd_data_element_new(f->out_count, NULL);

    if (!x || !in || !out) {
        tfd_data_element_drop(in, f->in_count + f->passed);
        free(in);
        free(out);
        free(x);
        return;
    }
    x->call = (struct tfd_function_call){
        .function = f->function, .in = in, .out = out, .done = finalized};
    x->dataset = tfd_dataset_ref(&g->dataset);
    tfd_function_run(&x->call);
}

static void generator_end(struct tfd_data_iterator *it)
{
    struct generator_iterator *i = (struct generator_iterator *)it;
    const struct generator *g = (const struct generator *)it->dataset;

    if (i->state && !i->is_over)
        finalize(i);
    (void)TFD_COUNTER_SUB(&it->scope->unsaved, 1);
    tfd_data_element_drop(i->state, g->f[INIT].out_count);
    free(i->state);
}

static enum tfd_code generator_begin(struct tfd_data_iterator *it,
                                     struct tfd_status *st)
{
    (void)st;
    TFD_COUNTER_ADD(&it->scope->unsaved, 1);
    return TFD_OK;
}

/* ---- Elements ------------------------------------------------------------ */

static enum tfd_code begin_state(struct generator_iterator *i,
                                 struct tfd_status *st)
{
    const struct generator *g = (const struct generator *)i->iterator.dataset;
    struct tfd_tensor none = TFD_TENSOR_INIT;
    struct tfd_tensor *state = tfd_data_element_new(g->f[INIT].out_count, st);

    if (!state)
        return TFD_RESOURCE_EXHAUSTED;
    if (tfd_captured_call(&g->f[INIT], i->iterator.scope, &none, state, st) !=
        TFD_OK) {
        free(state);
        return st ? st->code : TFD_INTERNAL;
    }
    i->state = state;
    return TFD_OK;
}

static enum tfd_code call_next(struct generator_iterator *i,
                               struct tfd_tensor *out, struct tfd_status *st)
{
    const struct generator *g = (const struct generator *)i->iterator.dataset;
    int32_t count = g->f[INIT].out_count;
    struct tfd_tensor *state = tfd_data_element_new(count, st);
    enum tfd_code rc;

    if (!state)
        return TFD_RESOURCE_EXHAUSTED;
    for (int32_t n = 0; n < count; n++)
        state[n] = tfd_tensor_ref(&i->state[n]);
    rc = tfd_captured_call(&g->f[NEXT], i->iterator.scope, state, out, st);
    free(state);
    return rc;
}

static enum tfd_code generator_next(struct tfd_data_iterator *it,
                                    struct tfd_tensor *out, bool *end,
                                    struct tfd_status *st)
{
    struct generator_iterator *i = (struct generator_iterator *)it;
    struct tfd_status own = TFD_STATUS_INIT;

    *end = i->is_over;
    if (*end)
        return TFD_OK;
    if (!i->state)
        TFD_TRY(begin_state(i, st));
    if (call_next(i, out, &own) == TFD_OK)
        return TFD_OK;
    if (own.code != TFD_OUT_OF_RANGE) {
        tfd_status_copy(st, &own);
        return own.code;
    }
    *end = i->is_over = true;
    finalize(i);
    return TFD_OK;
}

static const struct tfd_dataset_kind generator_kind = {
    .name = "Generator",
    .iterator_size = sizeof(struct generator_iterator),
    .begin = generator_begin,
    .next = generator_next,
    .end = generator_end,
    .release = generator_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code generator_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    static const char *const names[] = {"init_func", "next_func",
                                        "finalize_func"};
    struct generator_maker *m = state;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, NULL, st));
    for (int i = 0; i < FUNCTIONS; i++)
        TFD_TRY(tfd_dataset_function(p, names[i], &m->functions[i], st));
    return TFD_OK;
}

static enum tfd_code capture(struct tfd_kctx *k, struct generator *g,
                             struct tfd_status *st)
{
    const struct generator_maker *m = k->state;

    for (int i = 0; i < FUNCTIONS; i++) {
        int32_t first, count;

        tfd_node_arg(k->node, i, &first, &count);
        TFD_TRY(tfd_captured_init(&g->f[i], k, m->functions[i], first, count,
                                  i == INIT ? 0 : g->f[INIT].out_count,
                                  &g->dataset, st));
    }
    return tfd_captured_returns(&g->f[NEXT], m->maker.count, st);
}

static enum tfd_code generator_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(tfd_dataset_make(k, &generator_kind, sizeof(struct generator), 0,
                             &d, st));
    rc = capture(k, (struct generator *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    TFD_DATA_OP("GeneratorDataset",
                "init_func_other_args: Tinit_func_args, "
                "next_func_other_args: Tnext_func_args, "
                "finalize_func_other_args: Tfinalize_func_args",
                "init_func: func; next_func: func; finalize_func: func; "
                "Tinit_func_args: list(type) >= 0; "
                "Tnext_func_args: list(type) >= 0; "
                "Tfinalize_func_args: list(type) >= 0; ",
                TFD_DATA_METADATA, TFD_OP_STATEFUL),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("GeneratorDataset", generator_compute,
                   .prepare = generator_prepare,
                   .release = tfd_dataset_maker_release,
                   .state_size = sizeof(struct generator_maker)),
};

TFD_DATA_FAMILY(dataset_generator);
