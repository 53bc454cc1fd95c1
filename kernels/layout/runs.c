/* runs.c - see runs.h. */
#include "kernels/layout/runs.h"

#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "kernels/layout/box.h"
#include "kernels/layout/box_runs.h"
#include "kernels/layout/columns.h"
#include "kernels/layout/lines.h"
#include "kernels/core/element.h"

#include <limits.h>
#include <string.h>

void tfd_runs_around(const struct tfd_shape *s, int axis, int64_t *outer,
                     int64_t *inner)
{
    *outer = *inner = 1;
    for (int d = 0; d < axis; d++)
        *outer *= s->dim[d];
    for (int d = axis + 1; d < s->rank; d++)
        *inner *= s->dim[d];
}

/* ---- Strings, handles, variants ------------------------------------------ */

#define COUNTED_NS 10 /* an element */

struct counted {
    enum tfd_dtype dtype;
    void *to;
    int64_t to_row;
    const void *from;
    int64_t from_row, run;
};

/* Of all elements, one run after another. */
static enum tfd_code copy_range(void *arg, int64_t begin, int64_t end,
                                struct tfd_status *st)
{
    const struct counted *c = arg;

    while (begin < end && !tfd_halted()) {
        int64_t row = begin / c->run, at = begin % c->run;
        int64_t n = c->run - at < end - begin ? c->run - at : end - begin;

        TFD_TRY(tfd_elements_copy(
            c->dtype, tfd_element_at(c->to, c->dtype, row * c->to_row + at),
            tfd_element_of(c->from, c->dtype, row * c->from_row + at), n, st));
        begin += n;
    }
    return TFD_OK;
}

static enum tfd_code copy_counted(struct tfd_kctx *k, struct counted *c,
                                  int64_t count, struct tfd_status *st)
{
    return tfd_kctx_try(k, c->run > 0 ? c->run * count : 0, COUNTED_NS,
                        copy_range, c, st);
}

/* ---- One part ------------------------------------------------------------ */

enum tfd_code tfd_runs_copy(struct tfd_kctx *k, int out, int64_t dst_row,
                            int64_t dst_at, const struct tfd_tensor *src,
                            int64_t src_row, int64_t src_at, int64_t run,
                            int64_t count, struct tfd_status *st)
{
    struct tfd_memory *memory = tfd_kctx_memory(k, out);
    enum tfd_dtype dtype = src->dtype;
    const void *from = tfd_tensor_data(src);
    void *to = tfd_tensor_data(&k->out[out]);

    if (memory && run > 0 && count > 0) {
        size_t size = tfd_dtype_size(dtype);

        return memory->copy_runs(
            memory, k->stream, tfd_element_at(to, dtype, dst_at),
            (size_t)dst_row * size, tfd_element_of(from, dtype, src_at),
            (size_t)src_row * size, (size_t)run * size, (size_t)count, st);
    }
    if (tfd_dtype_is_pod(dtype)) {
        const int64_t size = (int64_t)tfd_dtype_size(dtype);
        struct tfd_box box;

        tfd_box_init(&box, (size_t)size);
        tfd_box_add(&box, count, dst_row * size, src_row * size);
        tfd_box_add(&box, run, size, size);
        tfd_box_copy(k, &box, tfd_element_at(to, dtype, dst_at),
                     tfd_element_of(from, dtype, src_at));
        return TFD_OK;
    }
    return copy_counted(
        k,
        &(struct counted){dtype, tfd_element_at(to, dtype, dst_at), dst_row,
                          tfd_element_of(from, dtype, src_at), src_row, run},
        count, st);
}

/* ---- Several parts ------------------------------------------------------- */

/* Of rows that all parts are copied to or from, while they are in a cache. */
#define BLOCK_SIZE (1 << 17)
#define ROWS_MIN 16   /* below, each part is shared among threads by itself */
#define RUN_SIZE 64   /* what beginning a run costs, in bytes */
#define LONG_RUN 1024 /* bytes, of which few are in lines not whole */

struct parts {
    const struct tfd_tensor *part;
    int count;
    int64_t outer, row; /* rows, and bytes of one of the whole */
    char *whole;
    bool join, columns; /* each is one narrow element of a row */
    bool past;          /* the caches (lines.h), by blocks of rows */
    bool runs_past;     /* so, too, run by run */
};

static int64_t bytes_of(const struct tfd_tensor *t)
{
    return tfd_tensor_elements(t) * (int64_t)tfd_dtype_size(t->dtype);
}

#define WIDE_SIZE 16 /* up to here a run may be one element */

static void move_part(const struct parts *p, const struct tfd_tensor *part,
                      char *whole, int64_t first, int64_t rows)
{
    const int64_t run = bytes_of(part) / p->outer;
    char *own = (char *)tfd_tensor_data(part) + first * run;
    const struct tfd_box_nest n = {.rows = rows,
                                   .row_to = p->join ? p->row : run,
                                   .row_from = p->join ? run : p->row,
                                   .count = run};
    char *to = p->join ? whole : own;
    const char *from = p->join ? own : whole;
    struct tfd_box box;

    if (run > WIDE_SIZE) {
        tfd_box_run_of(run)(&n, to, from);
        return;
    }
    tfd_box_init(&box, 1);
    tfd_box_add(&box, rows, n.row_to, n.row_from);
    tfd_box_add(&box, run, 1, 1);
    tfd_box_copy(NULL, &box, to, from);
}

static bool are_columns(const struct parts *p)
{
    const int64_t size = p->row / p->count;

    if (!tfd_columns_have(p->count, size))
        return false;
    for (int i = 0; i < p->count; i++)
        if (bytes_of(&p->part[i]) != size * p->outer)
            return false;
    return true;
}

static void move_columns(const struct parts *p, int64_t first, int64_t rows)
{
    struct tfd_columns c = {.count = p->count,
                            .size = p->row / p->count,
                            .rows = rows,
                            .whole = p->whole + first * p->row};

    for (int i = 0; i < p->count; i++)
        c.part[i] = (char *)tfd_tensor_data(&p->part[i]) + first * c.size;
    if (p->join)
        tfd_columns_join(&c);
    else
        tfd_columns_part(&c);
}

/* whole: the first of the rows, or where it is made. */
static void move_parts(const struct parts *p, char *whole, int64_t first,
                       int64_t rows)
{
    for (int i = 0; i < p->count; i++) {
        if (tfd_tensor_elements(&p->part[i]) == 0)
            continue;
        move_part(p, &p->part[i], whole, first, rows);
        whole += bytes_of(&p->part[i]) / p->outer;
    }
}

/* Some rows of the whole, which go past the caches. */
static void join_past(const struct parts *p, int64_t first, int64_t rows)
{
    _Alignas(64) char place[TFD_LINES_PLACE];
    char *to = p->whole + first * p->row;
    char *block = tfd_lines_block(place, to);

    move_parts(p, block, first, rows);
    tfd_lines_put(to, block, rows * p->row);
}

/* The same of rows that are longer than a block, joined or cut: no run is made
 * elsewhere. */
static void move_runs_past(const struct parts *p, int64_t first, int64_t rows)
{
    char *whole = p->whole + first * p->row;

    for (int64_t i = first; i < first + rows; i++)
        for (int j = 0; j < p->count; j++) {
            const int64_t run = bytes_of(&p->part[j]) / p->outer;
            char *own = tfd_tensor_data(&p->part[j]);
            const char *from;

            if (run == 0)
                continue;
            own += i * run;
            from = p->join ? own : whole;
            tfd_lines_fetch(from + (p->join ? run : p->row), run);
            tfd_lines_put(p->join ? whole : own, from, run);
            whole += run;
        }
}

static void move_rows(void *arg, int64_t begin, int64_t end)
{
    const struct parts *p = arg;
    const int64_t block = p->past ? TFD_LINES_SIZE : BLOCK_SIZE;
    const int64_t most = p->row < block ? block / p->row : 1;

    for (int64_t i = begin; i < end && !tfd_halted(); i += most) {
        const int64_t rows = end - i < most ? end - i : most;

        if (p->columns)
            move_columns(p, i, rows);
        else if (p->past)
            join_past(p, i, rows);
        else if (p->runs_past)
            move_runs_past(p, i, rows);
        else
            move_parts(p, p->whole + i * p->row, i, rows);
    }
    if (p->past || p->runs_past)
        tfd_lines_end();
}

static bool by_rows(const struct tfd_kctx *k, int out, enum tfd_dtype dtype,
                    int64_t outer)
{
    return outer >= ROWS_MIN && tfd_dtype_is_pod(dtype) &&
           !tfd_kctx_memory(k, out);
}

static void move_all(struct tfd_kctx *k, const struct tfd_tensor *whole,
                     struct parts *p)
{
    const int64_t size = bytes_of(whole);
    int64_t cost;
    bool past;

    if (size == 0)
        return;
    p->whole = tfd_tensor_data(whole);
    p->row = size / p->outer;
    p->columns = are_columns(p);
    past = !p->columns && tfd_lines_worth(size, size);
    p->past = past && p->join && p->row <= TFD_LINES_SIZE;
    p->runs_past = past && !p->past && p->row / p->count >= LONG_RUN;
    cost = 2 * p->row + (p->columns ? 0 : (int64_t)p->count * RUN_SIZE);
    tfd_kctx_parallel_bytes(k, p->outer, cost < INT_MAX ? (int)cost : INT_MAX,
                            move_rows, p);
}

/* Below, it takes longer to look how a run is copied than to copy it. */
#define SHORT_SIZE (1 << 15)

/* Of a whole that is one row, and short: each part is a run.  False: it is
 * none such. */
static bool move_short(struct tfd_kctx *k, const struct tfd_tensor *whole,
                       const struct parts *p)
{
    char *at = tfd_tensor_data(whole);

    if (p->outer != 1 || bytes_of(whole) > SHORT_SIZE ||
        !tfd_dtype_is_pod(whole->dtype) || tfd_kctx_memory(k, 0))
        return false;
    for (int i = 0; i < p->count; i++) {
        char *own = tfd_tensor_data(&p->part[i]);
        const size_t run = (size_t)bytes_of(&p->part[i]);

        if (run == 0)
            continue;
        memcpy(p->join ? at : own, p->join ? own : at, run);
        at += run;
    }
    return true;
}

enum tfd_code tfd_runs_join(struct tfd_kctx *k, int count, int64_t outer,
                            struct tfd_status *st)
{
    const struct tfd_tensor *y = &k->out[0];
    struct parts p = {
        .part = k->in, .count = count, .outer = outer, .join = true};
    int64_t row, at = 0;

    if (outer == 0 || move_short(k, y, &p))
        return TFD_OK;
    if (by_rows(k, 0, y->dtype, outer)) {
        move_all(k, y, &p);
        return TFD_OK;
    }
    row = tfd_tensor_elements(y) / outer;
    for (int i = 0; i < count; i++) {
        const int64_t run = tfd_tensor_elements(&k->in[i]) / outer;

        TFD_TRY(
            tfd_runs_copy(k, 0, row, at, &k->in[i], run, 0, run, outer, st));
        at += run;
    }
    return TFD_OK;
}

enum tfd_code tfd_runs_cut(struct tfd_kctx *k, const struct tfd_tensor *x,
                           int64_t outer, struct tfd_status *st)
{
    struct parts p = {.part = k->out, .count = k->out_count, .outer = outer};
    int64_t row, at = 0;

    if (outer == 0 || move_short(k, x, &p))
        return TFD_OK;
    if (by_rows(k, 0, x->dtype, outer)) {
        move_all(k, x, &p);
        return TFD_OK;
    }
    row = tfd_tensor_elements(x) / outer;
    for (int i = 0; i < k->out_count; i++) {
        const int64_t run = tfd_tensor_elements(&k->out[i]) / outer;

        TFD_TRY(tfd_runs_copy(k, i, run, 0, x, row, at, run, outer, st));
        at += run;
    }
    return TFD_OK;
}

/* ---- Gradients ----------------------------------------------------------- */

static bool share_part(struct tfd_kctx *k, int in, int out,
                       const struct tfd_shape *shape, int64_t first)
{
    if (tfd_shape_elements(shape) > 0)
        return tfd_kctx_output_part(k, in, out, shape, first);
    tfd_kctx_output_alias(k, in, out, shape);
    return true;
}

bool tfd_runs_share(struct tfd_kctx *k, int in, struct tfd_shape out,
                    const int64_t *sizes)
{
    const struct tfd_shape *x = &k->in[in].shape;
    int64_t first = 0;

    if (!tfd_rows_aligned(&k->in[in]))
        return false;
    for (int i = 0; i < k->out_count; i++) {
        if (out.rank == x->rank)
            out.dim[0] = sizes ? sizes[i] : x->dim[0] / k->out_count;
        if (!share_part(k, in, i, &out, first)) {
            while (i > 0)
                tfd_tensor_unref(&k->out[--i]);
            return false;
        }
        first += tfd_shape_elements(&out);
    }
    return true;
}

enum tfd_code tfd_runs_gradients(struct tfd_grad *g, struct tfd_edge *parts,
                                 struct tfd_status *st)
{
    int count = g->node->out_count;

    if (count > TFD_GRAD_LIST_MAX)
        return tfd_fail(
            st, TFD_UNIMPLEMENTED,
            "gradient of " TFD_STR_FMT " with %d outputs; at most %d",
            TFD_STR_ARG(g->node->op->name), count, TFD_GRAD_LIST_MAX);
    for (int i = 0; i < count; i++) {
        parts[i] = g->dy[i];
        if (parts[i].node < 0)
            TFD_TRY(tfd_grad_emit(g, "ZerosLike", &g->y[i], 1, &parts[i], st));
    }
    return TFD_OK;
}
