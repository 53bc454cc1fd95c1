/*
 * map_defun.c - MapDefun: a function for each row of its arguments; the results
 * become the rows of its outputs.
 *
 *     lanes      [row 0] [row 1] [row 2] [row 3]      calls that run at once
 *     a lane     takes the next row, calls, stores, takes the next ...
 *
 * A call may be over before it is known to run, on this thread: a lane goes on
 * by itself then, in a loop, so that no row is within another on the stack.
 */
#include "kernels/core/check.h"
#include "kernels/core/element.h"
#include "kernels/core/families.h"
#include "kernels/core/function_call.h"
#include "kernels/core/runtime.h"

#include "common/base/atomic.h"
#include "common/base/container.h"
#include "common/thread/lock.h"
#include "common/thread/pool.h"
#include "config/limits.h"

#include <stdlib.h>
#include <string.h>

#define LANES_MAX 64

struct map_state {
    struct tfd_rt_function *function;
    struct tfd_shape *shapes; /* of a row's results; may be partial */
    int arg_count;            /* of inputs; the others are captured */
};

/* A call that runs, and how its lane knows who goes on. */
enum lane_turn { CALLING, CALL_IS_OVER, CALLER_IS_GONE };

struct mapping_call;

struct lane {
    struct tfd_function_call call;
    struct mapping_call *m;
    struct tfd_tensor *in, *out;
    int64_t row;
    int turn; /* the lock's */
};

struct mapping_call {
    struct tfd_kctx *k;
    struct tfd_lock lock; /* guards what follows */
    int64_t next, rows;
    int lanes; /* that run */
    int64_t failed_row;
    struct tfd_status st;
    struct lane lane[];
};

/* ---- Preparing ----------------------------------------------------------- */

static void map_release(void *state)
{
    free(((struct map_state *)state)->shapes);
}

static enum tfd_code read_function(const struct tfd_prepare *p,
                                   struct map_state *m, struct tfd_status *st)
{
    struct tfd_arena arena;
    struct tfd_func f;
    enum tfd_code rc;

    tfd_arena_init(&arena, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = tfd_node_func(p->node, "f", &arena, &f, st);
    if (rc == TFD_OK)
        rc = tfd_rt_function(p, &f, &m->function, st);
    tfd_arena_deinit(&arena);
    return rc;
}

static enum tfd_code check_function(const struct tfd_prepare *p,
                                    const struct map_state *m,
                                    struct tfd_status *st)
{
    int32_t in = tfd_rt_function_in_count(m->function);
    int32_t out = tfd_rt_function_out_count(m->function);

    if (in == p->node->in_count && out == p->node->out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "{{node " TFD_STR_FMT "}} calls a function of %d arguments "
                    "and %d results with %d and %d",
                    TFD_STR_ARG(p->node->name), in, out, p->node->in_count,
                    p->node->out_count);
}

static enum tfd_code map_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct map_state *m = state;
    int32_t first, args;
    int count;

    TFD_TRY(read_function(p, m, st));
    TFD_TRY(check_function(p, m, st));
    tfd_node_arg(p->node, 0, &first, &args);
    m->arg_count = args;
    m->shapes = calloc((size_t)p->node->out_count + 1, sizeof(*m->shapes));
    if (!m->shapes)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for shapes");
    TFD_TRY(tfd_node_shapes(p->node, "output_shapes", m->shapes,
                            p->node->out_count, &count, st));
    if (count == p->node->out_count)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Length of output_shapes and output_types must match.");
}

/* ---- Rows of results ----------------------------------------------------- */

static enum tfd_code make_rows(struct mapping_call *m, int out,
                               const struct tfd_shape *row,
                               struct tfd_status *st)
{
    int64_t dim[TFD_RANK_MAX + 1] = {m->rows};
    struct tfd_kctx *k = m->k;
    struct tfd_shape shape;

    if (row->rank >= TFD_RANK_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a result has %d dimensions; at most %d are possible",
                        row->rank, TFD_RANK_MAX - 1);
    for (int i = 0; i < row->rank; i++)
        dim[i + 1] = row->dim[i];
    TFD_TRY(tfd_shape_make(&shape, dim, row->rank + 1, st));
    return tfd_kctx_output(k, out, tfd_dtype_base(k->node->out_types[out]),
                           &shape, st);
}

static bool has_output(const struct mapping_call *m, int i)
{
    return m->k->out[i].dtype != TFD_DTYPE_INVALID;
}

/* Outputs whose shape the node says are there before any call. */
static enum tfd_code make_known_outputs(struct mapping_call *m,
                                        struct tfd_status *st)
{
    const struct map_state *s = m->k->state;

    for (int i = 0; i < m->k->out_count; i++)
        if (tfd_shape_elements(&s->shapes[i]) >= 0)
            TFD_TRY(make_rows(m, i, &s->shapes[i], st));
    return TFD_OK;
}

static bool shapes_agree(const struct tfd_shape *partial,
                         const struct tfd_shape *s)
{
    if (partial->rank == TFD_RANK_UNKNOWN)
        return true;
    if (partial->rank != s->rank || s->rank > TFD_RANK_MAX)
        return false;
    for (int i = 0; i < s->rank; i++)
        if (partial->dim[i] >= 0 && partial->dim[i] != s->dim[i])
            return false;
    return true;
}

/* The shape of a row of an output that is there. */
static struct tfd_shape row_of(const struct tfd_tensor *out)
{
    struct tfd_shape s = out->shape;

    s.rank--;
    memmove(s.dim, s.dim + 1, sizeof(s.dim[0]) * (size_t)s.rank);
    return s;
}

/* Room for results of this shape; under the lock. */
static enum tfd_code find_room(struct mapping_call *m, int i,
                               const struct tfd_tensor *result,
                               struct tfd_status *st)
{
    const struct map_state *s = m->k->state;
    struct tfd_tensor *out = &m->k->out[i];
    char have[TFD_SHAPE_TEXT_MAX], wanted[TFD_SHAPE_TEXT_MAX];
    struct tfd_shape row = has_output(m, i) ? row_of(out) : s->shapes[i];

    if (result->dtype != tfd_dtype_base(m->k->node->out_types[i]))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Mismatch in function return type and expected output "
                        "type for output: %d",
                        i);
    if (!shapes_agree(&row, &result->shape))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Mismatch in function retval shape, %s, and expected "
                        "output shape, %s.",
                        tfd_shape_text(&result->shape, have),
                        tfd_shape_text(&row, wanted));
    return has_output(m, i) ? TFD_OK : make_rows(m, i, &result->shape, st);
}

static enum tfd_code store_results(struct lane *l, struct tfd_status *st)
{
    struct mapping_call *m = l->m;

    for (int i = 0; i < m->k->out_count; i++) {
        const struct tfd_tensor *from = &l->out[i];
        int64_t n = tfd_tensor_elements(from);
        enum tfd_code rc;

        tfd_lock(&m->lock);
        rc = find_room(m, i, from, st);
        tfd_unlock(&m->lock);
        if (rc != TFD_OK)
            return rc;
        if (n > 0)
            TFD_TRY(
                tfd_elements_copy(from->dtype,
                                  tfd_element_at(tfd_tensor_data(&m->k->out[i]),
                                                 from->dtype, l->row * n),
                                  tfd_tensor_data(from), n, st));
    }
    return TFD_OK;
}

/* ---- Rows of arguments --------------------------------------------------- */

static enum tfd_code take_row(const struct tfd_tensor *t, int64_t row,
                              struct tfd_tensor *out, struct tfd_status *st)
{
    struct tfd_shape shape = row_of(t);
    int64_t n = tfd_shape_elements(&shape);

    TFD_TRY(tfd_tensor_new(out, t->dtype, &shape, st));
    if (n == 0)
        return TFD_OK;
    return tfd_elements_copy(
        t->dtype, tfd_tensor_data(out),
        tfd_element_of(tfd_tensor_data(t), t->dtype, row * n), n, st);
}

static enum tfd_code take_arguments(struct lane *l, struct tfd_status *st)
{
    const struct tfd_kctx *k = l->m->k;
    int args = ((const struct map_state *)k->state)->arg_count;

    for (int i = 0; i < args; i++)
        TFD_TRY(take_row(&k->in[i], l->row, &l->in[i], st));
    for (int i = args; i < k->in_count; i++)
        l->in[i] = tfd_tensor_ref(&k->in[i]);
    return TFD_OK;
}

/* ---- Lanes --------------------------------------------------------------- */

static void drop_tensors(struct tfd_tensor *t, int count)
{
    for (int i = 0; i < count; i++)
        tfd_tensor_unref(&t[i]);
}

static void finish_mapping(struct mapping_call *m)
{
    struct tfd_kctx *k = m->k;
    struct tfd_status st = m->st;

    for (int i = 0; i < k->out_count && st.code == TFD_OK; i++)
        if (!has_output(m, i))
            tfd_fail(&st, TFD_INTERNAL,
                     "Missing %d-th output from {{node " TFD_STR_FMT "}}", i,
                     TFD_STR_ARG(k->node->name));
    if (st.code != TFD_OK)
        drop_tensors(k->out, k->out_count);
    tfd_lock_deinit(&m->lock);
    free(m->lane[0].in);
    free(m);
    tfd_kctx_finish(k, &st);
}

/* Of failures that of the first row counts; the other rows are called in any
 * case. */
static void note_failure(struct lane *l, const struct tfd_status *st)
{
    struct mapping_call *m = l->m;

    tfd_lock(&m->lock);
    if (m->failed_row < 0 || l->row < m->failed_row) {
        m->failed_row = l->row;
        m->st = *st;
    }
    tfd_unlock(&m->lock);
}

/* The lane's next row; false: there is none, and the lane is over. */
static bool next_row(struct lane *l)
{
    struct mapping_call *m = l->m;
    bool got, last;

    tfd_lock(&m->lock);
    got = m->next < m->rows;
    if (got)
        l->row = m->next++;
    last = !got && --m->lanes == 0;
    l->turn = CALLING;
    tfd_unlock(&m->lock);
    if (last)
        finish_mapping(m);
    return got;
}

/* Who is the second to come goes on: the call's end, or its caller. */
static bool is_second(struct lane *l, enum lane_turn turn)
{
    bool second;

    tfd_lock(&l->m->lock);
    second = l->turn != CALLING;
    l->turn = (int)turn;
    tfd_unlock(&l->m->lock);
    return second;
}

static void row_done(struct tfd_function_call *c, const struct tfd_status *st);

static void run_lane(struct lane *l)
{
    const struct map_state *s = l->m->k->state;

    while (next_row(l)) {
        struct tfd_status st = TFD_STATUS_INIT;

        if (take_arguments(l, &st) != TFD_OK) {
            drop_tensors(l->in, l->m->k->in_count);
            note_failure(l, &st);
            continue;
        }
        l->call = (struct tfd_function_call){.function = s->function,
                                             .k = l->m->k,
                                             .in = l->in,
                                             .out = l->out,
                                             .done = row_done};
        tfd_function_run(&l->call);
        if (!is_second(l, CALLER_IS_GONE))
            return;
    }
}

static void row_done(struct tfd_function_call *c, const struct tfd_status *st)
{
    struct lane *l = TFD_CONTAINER_OF(c, struct lane, call);
    struct tfd_status own = *st;

    if (own.code == TFD_OK)
        (void)store_results(l, &own);
    drop_tensors(l->out, l->m->k->out_count);
    if (own.code != TFD_OK)
        note_failure(l, &own);
    if (is_second(l, CALL_IS_OVER))
        run_lane(l);
}

/* ---- The op -------------------------------------------------------------- */

static enum tfd_code check_arguments(const struct tfd_kctx *k, int64_t *rows,
                                     struct tfd_status *st)
{
    int args = ((const struct map_state *)k->state)->arg_count;

    *rows = k->in[0].shape.rank > 0 ? k->in[0].shape.dim[0] : -1;
    for (int i = 0; i < args; i++) {
        const struct tfd_shape *s = &k->in[i].shape;

        if (s->rank == 0)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All inputs must have rank at least 1. Input %d "
                            "has a rank of 0.",
                            i);
        if (s->dim[0] != *rows)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "All inputs must have the same dimension 0. Input "
                            "%d has leading dimension %lld, while all previous "
                            "inputs have leading dimension %lld",
                            i, (long long)s->dim[0], (long long)*rows);
    }
    return TFD_OK;
}

static int lanes_for(const struct tfd_kctx *k, int64_t rows)
{
    int64_t lanes = 2 * ((int64_t)tfd_pool_threads(tfd_rt_pool(k->rt)) + 1);

    if (lanes > LANES_MAX)
        lanes = LANES_MAX;
    if (lanes > rows)
        lanes = rows;
    return lanes < 1 ? 1 : (int)lanes;
}

static struct mapping_call *new_mapping(struct tfd_kctx *k, int64_t rows,
                                        struct tfd_status *st)
{
    int lanes = lanes_for(k, rows);
    size_t width = (size_t)(k->in_count + k->out_count);
    struct mapping_call *m =
        calloc(1, sizeof(*m) + (size_t)lanes * sizeof(struct lane));
    struct tfd_tensor *values =
        m ? calloc((size_t)lanes * width, sizeof(*values)) : NULL;

    if (!values) {
        free(m);
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d calls", lanes);
        return NULL;
    }
    m->k = k;
    m->rows = rows;
    m->lanes = lanes;
    m->failed_row = -1;
    tfd_lock_init(&m->lock, TFD_LOCK_RESOURCE);
    for (int i = 0; i < lanes; i++) {
        m->lane[i].m = m;
        m->lane[i].in = values + (size_t)i * width;
        m->lane[i].out = m->lane[i].in + k->in_count;
    }
    return m;
}

static void map_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct mapping_call *m = NULL;
    int64_t rows;
    int lanes;

    if (check_arguments(k, &rows, &st) == TFD_OK)
        m = new_mapping(k, rows, &st);
    if (m && make_known_outputs(m, &st) != TFD_OK) {
        m->st = st;
        m->next = m->rows;
    }
    if (!m) {
        tfd_kctx_finish(k, &st);
        return;
    }
    lanes = m->lanes;
    for (int i = 0; i < lanes; i++)
        run_lane(&m->lane[i]); /* the last of them frees m */
}

static enum tfd_code map_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    int64_t rows = s->in_count > 0 && s->in[0].rank > 0 ? s->in[0].dim[0]
                                                        : TFD_DIM_UNKNOWN;
    struct tfd_shape *rest;
    enum tfd_code rc;
    int count = 0;

    if (!s->node)
        return TFD_OK;
    rest = calloc((size_t)s->out_count + 1, sizeof(*rest));
    if (!rest)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for shapes");
    rc = tfd_node_shapes(s->node, "output_shapes", rest, s->out_count, &count,
                         st);
    for (int i = 0; rc == TFD_OK && i < count; i++) {
        if (rest[i].rank < 0 || rest[i].rank >= TFD_RANK_MAX)
            continue;
        s->out[i].rank = rest[i].rank + 1;
        s->out[i].dim[0] = rows;
        for (int d = 0; d < rest[i].rank; d++)
            s->out[i].dim[d + 1] = rest[i].dim[d];
    }
    free(rest);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "MapDefun",
        .inputs = "arguments: Targuments, captured_inputs: Tcaptured",
        .outputs = "output: output_types",
        .attrs = "Targuments: list(type) >= 1; "
                 "Tcaptured: list(type) >= 0 = []; "
                 "output_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1; f: func; "
                 "max_intra_op_parallelism: int = 1",
        .shape = map_shape,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("MapDefun", NULL, .start = map_start, .prepare = map_prepare,
                   .release = map_release,
                   .state_size = sizeof(struct map_state)),
};

const struct tfd_family tfd_family_map_defun = {
    .name = "map_defun",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
