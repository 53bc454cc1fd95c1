/*
 * call_line.c - see call_line.h.
 */
#include "kernels/data_calls/call_line.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/thread/pool.h"

#include <stdlib.h>

/* Calls at once where the program leaves it to us, for each thread. */
#define CALLS_AUTO 2
#define CALLS_MAX 1024

struct line_call {
    struct tfd_function_call call; /* in, out: arrays of its own */
    struct tfd_call_line *line;    /* NULL: none is under way */
    struct tfd_tensor *kept;       /* the element; NULL */
    struct tfd_status st;
    bool over; /* the scope's lock's */
    bool told; /* that it is cancelled */
};

struct tfd_call_line {
    int refs; /* atomic: the iterator's, and each call's under way */
    struct tfd_data_scope *scope;
    struct tfd_dataset *dataset;     /* which has the function */
    struct tfd_data_iterator *input; /* borrowed from the iterator */
    const struct tfd_captured *f;
    bool keeps;
    bool input_over;
    struct tfd_status *input_st; /* the input's failure, behind the calls */
    struct tfd_tensor *element;  /* of the input, on its way */
    int64_t size, first, used;
    struct line_call calls[];
};

/* ---- Memory -------------------------------------------------------------- */

static void drop_call(struct line_call *c)
{
    const struct tfd_call_line *l = c->line;

    tfd_data_element_drop(c->call.out, l->f->out_count);
    tfd_data_element_drop(c->kept, l->f->in_count);
    free(c->kept);
    free(c->call.in);
    free(c->call.out);
    *c = (struct line_call){.line = NULL};
}

static void unref_line(struct tfd_call_line *l)
{
    if (!tfd_refs_drop(&l->refs))
        return;
    for (int64_t i = 0; i < l->size; i++)
        if (l->calls[i].line)
            drop_call(&l->calls[i]);
    free(l->input_st);
    free(l->element);
    tfd_dataset_unref(l->dataset);
    tfd_data_scope_unref(l->scope);
    free(l);
}

static int64_t calls_at_once(const struct tfd_data_iterator *it, int64_t calls)
{
    if (calls < 0)
        calls =
            CALLS_AUTO * ((int64_t)tfd_pool_threads(it->scope->task.pool) + 1);
    return calls < CALLS_MAX ? calls : CALLS_MAX;
}

enum tfd_code tfd_call_line_new(struct tfd_data_iterator *it,
                                const struct tfd_captured *f, int64_t calls,
                                bool keeps, struct tfd_call_line **out,
                                struct tfd_status *st)
{
    int64_t size = calls_at_once(it, calls);
    struct tfd_call_line *l =
        calloc(1, sizeof(*l) + (size_t)size * sizeof(struct line_call));

    if (!l)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for calls");
    l->refs = 1;
    l->scope = tfd_data_scope_ref(it->scope);
    l->dataset = tfd_dataset_ref(it->dataset);
    l->input = it->input;
    l->f = f;
    l->keeps = keeps;
    l->size = size;
    l->element = tfd_data_element_new(f->in_count, st);
    *out = l;
    return l->element ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

void tfd_call_line_close(struct tfd_call_line *l)
{
    if (!l)
        return;
    tfd_lock(&l->scope->lock);
    for (int64_t n = 0; n < l->used; n++) {
        struct line_call *c = &l->calls[(l->first + n) % l->size];

        if (!c->over)
            tfd_function_cancel(&c->call);
    }
    tfd_unlock(&l->scope->lock);
    unref_line(l);
}

/* ---- Calls --------------------------------------------------------------- */

static void line_call_done(struct tfd_function_call *call,
                           const struct tfd_status *st)
{
    struct line_call *c = TFD_CONTAINER_OF(call, struct line_call, call);
    struct tfd_call_line *l = c->line;

    tfd_lock(&l->scope->lock);
    tfd_status_copy(&c->st, st);
    c->over = true;
    tfd_cond_broadcast(&l->scope->changed);
    tfd_unlock(&l->scope->lock);
    unref_line(l);
}

/* The element stays with the call, too. */
static enum tfd_code keep_element(struct tfd_call_line *l, struct line_call *c,
                                  struct tfd_status *st)
{
    if (!l->keeps)
        return TFD_OK;
    c->kept = tfd_data_element_new(l->f->in_count, st);
    for (int32_t i = 0; c->kept && i < l->f->in_count; i++)
        c->kept[i] = tfd_tensor_ref(&l->element[i]);
    return c->kept ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
}

/* The element is taken. */
static enum tfd_code start_call(struct tfd_call_line *l, struct tfd_status *st)
{
    struct line_call *c = &l->calls[(l->first + l->used) % l->size];
    enum tfd_code rc = TFD_OK;

    *c = (struct line_call){.line = l};
    rc = keep_element(l, c, st);
    c->call = (struct tfd_function_call){.function = l->f->function,
                                         .done = line_call_done};
    c->call.in = tfd_captured_args(l->f, l->element, st);
    c->call.out = tfd_data_element_new(l->f->out_count, st);
    if (rc != TFD_OK || !c->call.in || !c->call.out) {
        tfd_data_element_drop(c->call.in, l->f->in_count + l->f->passed);
        drop_call(c);
        return TFD_RESOURCE_EXHAUSTED;
    }
    l->used++;
    tfd_refs_add(&l->refs, 1);
    tfd_function_run(&c->call);
    return TFD_OK;
}

/* A failure of the input has its place behind the calls before it. */
static enum tfd_code fill_line(struct tfd_call_line *l, struct tfd_status *st)
{
    while (!l->input_over && !l->input_st && l->used < l->size) {
        struct tfd_status own = TFD_STATUS_INIT;

        if (tfd_data_next(l->input, l->element, &l->input_over, &own) ==
            TFD_OK) {
            if (!l->input_over)
                TFD_TRY(start_call(l, st));
            continue;
        }
        if (own.code != TFD_CANCELLED)
            l->input_st = malloc(sizeof(own));
        if (!l->input_st) {
            tfd_status_copy(st, &own);
            return own.code;
        }
        *l->input_st = own;
    }
    return TFD_OK;
}

/* Of an iterator that is cancelled its calls are cancelled. */
static void wait_call(struct tfd_call_line *l, struct line_call *c)
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

static enum tfd_code take_first(struct tfd_call_line *l, struct tfd_tensor *out,
                                struct tfd_tensor *element,
                                struct tfd_status *st)
{
    struct line_call *c = &l->calls[l->first];
    enum tfd_code rc;

    wait_call(l, c);
    rc = c->st.code;
    if (rc == TFD_OK)
        tfd_data_element_move(out, c->call.out, l->f->out_count);
    else
        tfd_status_copy(st, &c->st);
    if (rc == TFD_OK && element && c->kept)
        tfd_data_element_move(element, c->kept, l->f->in_count);
    drop_call(c);
    l->first = (l->first + 1) % l->size;
    l->used--;
    return rc;
}

enum tfd_code tfd_call_line_next(struct tfd_call_line *l,
                                 struct tfd_tensor *out,
                                 struct tfd_tensor *element,
                                 enum tfd_call_outcome *outcome,
                                 struct tfd_status *st)
{
    enum tfd_code rc;

    *outcome = TFD_CALL_INPUT_FAILED;
    TFD_TRY(fill_line(l, st));
    *outcome = TFD_CALL_RESULT;
    if (l->used > 0)
        return take_first(l, out, element, st);
    *outcome = l->input_st ? TFD_CALL_INPUT_FAILED : TFD_CALL_END;
    if (!l->input_st)
        return TFD_OK;
    rc = l->input_st->code;
    tfd_status_copy(st, l->input_st);
    free(l->input_st);
    l->input_st = NULL;
    return rc;
}
