/*
 * reduce_run.c - how tensors are folded; see reduce.h.
 *
 * The plan is two lists of dimensions, kept and reduced, each with its stride,
 * and the innermost part that one call of run() or columns() covers.  A unit of
 * work is one output (innermost part reduced) or one tile of outputs in a row
 * (innermost part kept); units are shared among threads.
 *
 * One output, or few columns, of very many elements would leave the threads
 * idle.  Then the folded dimension is cut into pieces with an accumulator each,
 * merged in order at the end.
 */
#include "kernels/reduce/reduce.h"

#include "kernels/core/check.h"

#include <assert.h>
#include <string.h>

#define ELEMENT_PS 500 /* of reducers that do not say */
#define TILE 512       /* columns folded at once; accumulators on the stack */
#define PIECES_MAX 64  /* of a split reduction */
#define PIECE_MIN 8192 /* elements in a piece, so that it is worth a thread */
#define SPLIT_COLUMNS_MAX 64 /* columns up to which pieces are cut */
#define NARROW 64 /* fewer columns are folded as GROUP times as many */
#define GROUP 16
/* Where memory is far, rows that fill a strip of the columns' loops come one
 * after the other, as processors foresee; those of GROUP rows are too far
 * apart. */
#define FAR_GROUP 4
#define FAR_BYTES (8 << 20)
#define FAR_ROW_MIN 24 /* bytes */
#define FAR_ROW_MAX 64

/* ---- Axes ---------------------------------------------------------------- */

enum tfd_code tfd_reduce_prepare(const struct tfd_prepare *p, void *state,
                                 struct tfd_status *st)
{
    struct tfd_reduce_state *s = state;

    return tfd_node_bool(p->node, "keep_dims", &s->keep_dims, st);
}

static enum tfd_code add_axis(int64_t axis, int rank, bool *reduced,
                              struct tfd_status *st)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at < 0 || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid reduction dimension (%lld for input with %d "
                        "dimension(s)",
                        (long long)axis, rank);
    if (reduced[at])
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid reduction arguments: Axes contains duplicate "
                        "dimension: %lld",
                        (long long)at);
    reduced[at] = true;
    return TFD_OK;
}

static enum tfd_code read_axes(const struct tfd_tensor *axes, int rank,
                               bool *reduced, struct tfd_status *st)
{
    int64_t n = tfd_tensor_elements(axes);

    memset(reduced, 0, sizeof(*reduced) * TFD_RANK_MAX);
    for (int64_t i = 0; i < n; i++)
        TFD_TRY(add_axis(tfd_check_int_at(axes, i), rank, reduced, st));
    return TFD_OK;
}

static void output_shape(const struct tfd_shape *in, const bool *reduced,
                         bool keep_dims, struct tfd_shape *out)
{
    out->rank = 0;
    for (int i = 0; i < in->rank; i++) {
        if (!reduced[i])
            out->dim[out->rank++] = in->dim[i];
        else if (keep_dims)
            out->dim[out->rank++] = 1;
    }
}

/* ---- Plan ---------------------------------------------------------------- */

struct group {
    int64_t size, stride;
};

struct plan {
    const struct tfd_reducer *r;
    const char *x;
    char *y;
    size_t item; /* bytes of an element */
    struct group kept[TFD_RANK_MAX], reduced[TFD_RANK_MAX]; /* outer ones */
    int kept_count, reduced_count;
    bool columns;    /* the innermost part is kept */
    int64_t run;     /* elements of a run; rows under columns */
    int64_t width;   /* columns; 1 without */
    int64_t folded;  /* elements in each output */
    int64_t outer;   /* product of kept[] */
    int64_t repeats; /* product of reduced[] */
    int64_t tiles;   /* per row of columns */
    int64_t piece;   /* of run, where it is split */
    char *partial;   /* accumulators of the pieces */
};

/* Neighbouring dimensions of one kind become one; dimensions of 1 vanish.
 * Groups are written innermost first. */
static int merge_dims(const struct tfd_shape *s, const bool *reduced,
                      struct group *groups, bool *kinds)
{
    int64_t stride = 1;
    int count = 0;

    for (int i = s->rank - 1; i >= 0; i--) {
        int64_t size = s->dim[i];

        if (size == 1)
            continue;
        if (count && kinds[count - 1] == reduced[i]) {
            groups[count - 1].size *= size;
        } else {
            groups[count] = (struct group){size, stride};
            kinds[count++] = reduced[i];
        }
        stride *= size;
    }
    return count;
}

static void take_groups(struct plan *p, const struct group *groups,
                        const bool *kinds, int first, int count)
{
    p->outer = p->repeats = 1;
    for (int i = count - 1; i >= first; i--) {
        if (kinds[i]) {
            p->reduced[p->reduced_count++] = groups[i];
            p->repeats *= groups[i].size;
        } else {
            p->kept[p->kept_count++] = groups[i];
            p->outer *= groups[i].size;
        }
    }
}

/* False when there is nothing to fold: the output is the input. */
static bool plan_reduction(struct plan *p, const struct tfd_shape *s,
                           const bool *reduced)
{
    struct group groups[TFD_RANK_MAX];
    bool kinds[TFD_RANK_MAX];
    int count = merge_dims(s, reduced, groups, kinds);
    int first;

    if (count == 0 || (count == 1 && !kinds[0]))
        return false;
    p->columns = !kinds[0];
    p->width = p->columns ? groups[0].size : 1;
    p->run = groups[p->columns ? 1 : 0].size;
    first = p->columns ? 2 : 1;
    take_groups(p, groups, kinds, first, count);
    p->folded = p->run * p->repeats;
    p->tiles = (p->width + TILE - 1) / TILE;
    return true;
}

/* Offset of the index-th combination of groups; the last runs fastest. */
static int64_t offset_of(const struct group *groups, int count, int64_t index)
{
    int64_t offset = 0;

    for (int i = count - 1; i > 0; i--) {
        offset += index % groups[i].size * groups[i].stride;
        index /= groups[i].size;
    }
    return count ? offset + index * groups[0].stride : 0;
}

/* ---- Folding ------------------------------------------------------------- */

static void clear_accumulator(const struct tfd_reducer *r, char *acc, int64_t n)
{
    size_t size = r->acc_size;

    for (int64_t i = 0; i < n; i++)
        if (size == sizeof(uint64_t))
            memcpy(acc + 8 * i, r->identity, 8);
        else
            memcpy(acc + (size_t)i * size, r->identity, size);
}

/* The same of every piece. */
static int64_t group_of(const struct plan *p)
{
    const int64_t row = p->width * (int64_t)p->item;

    return row >= FAR_ROW_MIN && row <= FAR_ROW_MAX && p->run > FAR_BYTES / row
               ? FAR_GROUP
               : GROUP;
}

/* Rows of few columns, which leave vectors empty, as longer rows of `group`
 * rows each; what those fold to is merged. */
static void fold_narrow(const struct plan *p, const char *x, int64_t rows,
                        char *acc)
{
    _Alignas(16) char wide[GROUP * NARROW * TFD_REDUCE_ACC_MAX];
    const int64_t n = p->width, group = group_of(p), groups = rows / group;
    struct tfd_fold f = {x, wide, groups, group * n};

    clear_accumulator(p->r, wide, group * n);
    p->r->columns(&f, 0, group * n);
    for (int64_t i = 0; i < group; i++)
        p->r->merge(acc, wide + (size_t)(i * n) * p->r->acc_size, n);
    f = (struct tfd_fold){x + (size_t)(groups * group * n) * p->item, acc,
                          rows % group, n};
    if (f.rows)
        p->r->columns(&f, 0, n);
}

/* Rows (or elements) [begin, end) of the run at x into acc, for columns
 * [left, left + n). */
static void fold(const struct plan *p, const char *x, int64_t begin,
                 int64_t end, int64_t left, int64_t n, char *acc)
{
    int64_t at = p->columns ? begin * p->width + left : begin;
    struct tfd_fold f = {x + (size_t)at * p->item, acc, end - begin, p->width};

    if (p->columns && n == p->width && n < NARROW && f.rows >= GROUP * GROUP)
        fold_narrow(p, f.x, f.rows, acc);
    else if (p->columns)
        p->r->columns(&f, 0, n);
    else
        p->r->run(&f, 0, end - begin);
}

/* One tile of a row of outputs. */
static void fold_columns(const struct plan *p, int64_t unit)
{
    _Alignas(16) char acc[TILE * TFD_REDUCE_ACC_MAX];
    int64_t outer = unit / p->tiles, left = unit % p->tiles * TILE;
    int64_t n = p->width - left < TILE ? p->width - left : TILE;
    int64_t base = offset_of(p->kept, p->kept_count, outer);

    clear_accumulator(p->r, acc, n);
    for (int64_t i = 0; i < p->repeats; i++) {
        int64_t at = base + offset_of(p->reduced, p->reduced_count, i);

        fold(p, p->x + (size_t)at * p->item, 0, p->run, left, n, acc);
    }
    p->r->finish(p->y + (size_t)(outer * p->width + left) * p->item, acc, n,
                 p->folded);
}

static void fold_column_units(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        fold_columns(arg, i);
}

/* Up to TILE outputs from begin, each the fold of runs. */
static void fold_runs(const struct plan *p, int64_t begin, int64_t n)
{
    _Alignas(16) char acc[TILE * TFD_REDUCE_ACC_MAX];

    clear_accumulator(p->r, acc, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t base = offset_of(p->kept, p->kept_count, begin + i);

        for (int64_t r = 0; r < p->repeats; r++) {
            int64_t at = base + offset_of(p->reduced, p->reduced_count, r);

            fold(p, p->x + (size_t)at * p->item, 0, p->run, 0, 1,
                 acc + (size_t)i * p->r->acc_size);
        }
    }
    p->r->finish(p->y + (size_t)begin * p->item, acc, n, p->folded);
}

static void fold_run_units(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i += TILE)
        fold_runs(arg, i, end - i < TILE ? end - i : TILE);
}

/* ---- Split reductions ---------------------------------------------------- */

static void fold_pieces(void *arg, int64_t begin, int64_t end)
{
    const struct plan *p = arg;
    size_t size = (size_t)p->width * p->r->acc_size;

    for (int64_t i = begin; i < end; i++) {
        char *acc = p->partial + (size_t)i * size;
        int64_t from = i * p->piece, to = from + p->piece;

        clear_accumulator(p->r, acc, p->width);
        fold(p, p->x, from, to < p->run ? to : p->run, 0, p->width, acc);
    }
}

/* Nanoseconds, within int. */
static int cost_of_fold(const struct plan *p, int64_t elements)
{
    int64_t some = elements < 1000000000 ? elements : 1000000000;
    int64_t ps = p->r->element_ps ? p->r->element_ps : ELEMENT_PS;

    return (int)(some * ps / 1000) + 5;
}

/* Worth it for one output, or one row of few, of many elements. */
static bool splits(const struct plan *p)
{
    return p->outer == 1 && p->repeats == 1 && p->width <= SPLIT_COLUMNS_MAX &&
           p->run / 2 >= PIECE_MIN / p->width;
}

static void run_split(struct tfd_kctx *k, struct plan *p)
{
    _Alignas(16) char acc[PIECES_MAX * SPLIT_COLUMNS_MAX * TFD_REDUCE_ACC_MAX];
    size_t size = (size_t)p->width * p->r->acc_size;
    int64_t piece = PIECE_MIN / p->width, pieces;

    if (piece < (p->run + PIECES_MAX - 1) / PIECES_MAX)
        piece = (p->run + PIECES_MAX - 1) / PIECES_MAX;
    pieces = (p->run + piece - 1) / piece;
    assert(pieces <= PIECES_MAX);
    p->piece = piece;
    p->partial = acc;
    tfd_kctx_parallel(k, pieces, cost_of_fold(p, piece * p->width), fold_pieces,
                      p);
    for (int64_t i = 1; i < pieces; i++)
        p->r->merge(acc, acc + (size_t)i * size, p->width);
    p->r->finish(p->y, acc, p->width, p->folded);
}

/* ---- Whole rows and slabs -------------------------------------------------
 */

/* The loop that makes outputs at once, if there is one for this plan: what is
 * folded lies together, so nothing is left but rows or slabs one behind the
 * other.  One slab alone is better shared by columns. */
static tfd_range_fn *whole_loop(const struct plan *p)
{
    if (p->reduced_count > 0 || p->kept_count > 1)
        return NULL;
    if (!p->columns)
        return p->r->rows;
    return p->outer > 1 && p->run <= p->r->slab_rows ? p->r->slabs : NULL;
}

static void run_whole(struct tfd_kctx *k, const struct plan *p,
                      tfd_range_fn *loop)
{
    struct tfd_fold_whole f = {p->x, p->y, p->run, p->width};
    int64_t most = INT64_MAX / p->run;

    tfd_kctx_parallel(
        k, p->outer,
        cost_of_fold(p, p->run * (p->width < most ? p->width : most)), loop,
        &f);
}

static void run_plan(struct tfd_kctx *k, struct plan *p)
{
    int64_t units = p->outer * p->tiles;
    int64_t width = p->width < TILE ? p->width : TILE;
    tfd_range_fn *whole = whole_loop(p);

    if (splits(p)) {
        run_split(k, p);
        return;
    }
    if (whole) {
        run_whole(k, p, whole);
        return;
    }
    if (p->folded > INT64_MAX / width)
        width = 1;
    tfd_kctx_parallel(k, units, cost_of_fold(p, p->folded * width),
                      p->columns ? fold_column_units : fold_run_units, p);
}

/* Every output is what nothing folds to. */
static void fill_identity(const struct tfd_reducer *r, struct tfd_tensor *out)
{
    size_t item = tfd_dtype_size(out->dtype);
    int64_t n = tfd_tensor_elements(out);
    char *y = tfd_tensor_data(out);

    for (int64_t i = 0; i < n; i++)
        r->finish(y + (size_t)i * item, r->identity, 1, 0);
}

/* ---- Public -------------------------------------------------------------- */

enum tfd_code tfd_reduce_axes(const struct tfd_kctx *k, bool *reduced,
                              struct tfd_shape *out, struct tfd_status *st)
{
    const struct tfd_reduce_state *s = k->state;
    const struct tfd_shape *in = &k->in[0].shape;

    TFD_TRY(read_axes(&k->in[1], in->rank, reduced, st));
    output_shape(in, reduced, s->keep_dims, out);
    /* Through the constructor: an empty input may have kept dimensions whose
     * product is any size. */
    return tfd_shape_make(out, out->dim, out->rank, st);
}

/* Of a function that changes an element which is folded alone. */
struct each {
    const struct tfd_reducer *r;
    const void *x;
    char *y;
    size_t item;
};

#define EACH_NS 10

static void fold_each(void *arg, int64_t begin, int64_t end)
{
    const struct each *e = arg;
    _Alignas(16) char acc[TFD_REDUCE_ACC_MAX];
    const struct tfd_fold f = {.x = e->x, .acc = acc};

    for (int64_t i = begin; i < end; i++) {
        memcpy(acc, e->r->identity, e->r->acc_size);
        e->r->run((void *)(uintptr_t)&f, i, i + 1);
        e->r->finish(e->y + (size_t)i * e->item, acc, 1, 1);
    }
}

static void fold_all(struct tfd_kctx *k, const struct tfd_reducer *r)
{
    struct each e = {.r = r,
                     .x = tfd_tensor_data(&k->in[0]),
                     .y = tfd_tensor_data(&k->out[0]),
                     .item = tfd_dtype_size(k->in[0].dtype)};

    tfd_kctx_parallel(k, tfd_tensor_elements(&k->in[0]), EACH_NS, fold_each,
                      &e);
}

enum tfd_code tfd_reduce(struct tfd_kctx *k, const struct tfd_reducer *r,
                         struct tfd_status *st)
{
    const struct tfd_tensor *in = &k->in[0];
    bool reduced[TFD_RANK_MAX];
    struct tfd_shape shape;
    struct plan p = {.r = r};
    bool folds;

    TFD_TRY(tfd_reduce_axes(k, reduced, &shape, st));
    folds = !in->buffer || plan_reduction(&p, &in->shape, reduced);
    if (!folds && !r->changes_one) {
        tfd_kctx_output_alias(k, 0, 0, &shape);
        return TFD_OK;
    }
    TFD_TRY(tfd_kctx_output(k, 0, in->dtype, &shape, st));
    if (!folds) {
        fold_all(k, r);
        return TFD_OK;
    }
    if (!in->buffer) {
        fill_identity(r, &k->out[0]);
        return TFD_OK;
    }
    p.item = tfd_dtype_size(in->dtype);
    p.x = in->buffer->data;
    p.y = k->out[0].buffer->data;
    run_plan(k, &p);
    return TFD_OK;
}

void tfd_reduce_view(struct tfd_kctx *k, const struct tfd_reducer *r,
                     const struct tfd_shape *shape, const bool *reduced,
                     size_t item, const void *x, void *y)
{
    struct plan p = {.r = r, .x = x, .y = y, .item = item};

    if (plan_reduction(&p, shape, reduced)) {
        run_plan(k, &p);
        return;
    }
    /* Nothing is folded: each element is an output of its own. */
    p.columns = true;
    p.width = tfd_shape_elements(shape);
    p.run = p.repeats = p.outer = p.folded = 1;
    p.tiles = (p.width + TILE - 1) / TILE;
    run_plan(k, &p);
}

/* ---- Shapes -------------------------------------------------------------- */

static enum tfd_code add_axis_shape(int64_t axis, int rank, bool *reduced,
                                    struct tfd_status *st)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at < 0 || at >= rank)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid reduction dimension %lld for input with %d "
                        "dimensions.",
                        (long long)axis, rank);
    reduced[at] = true;
    return TFD_OK;
}

enum tfd_code tfd_reduce_shape(struct tfd_shape_ctx *s, struct tfd_status *st)
{
    const struct tfd_tensor *axes = s->value ? s->value[1] : NULL;
    bool reduced[TFD_RANK_MAX] = {false};
    int rank = s->in[0].rank;
    bool keep_dims = false;

    if (s->in[1].rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Shape must be at most rank 1 but is rank %d",
                        s->in[1].rank);
    if (s->node)
        TFD_TRY(tfd_node_bool(s->node, "keep_dims", &keep_dims, st));
    if (rank == TFD_RANK_UNKNOWN || (!axes && !keep_dims))
        return TFD_OK;
    if (!axes) {
        s->out[0].rank = rank;
        for (int i = 0; i < rank; i++)
            s->out[0].dim[i] = TFD_DIM_UNKNOWN;
        return TFD_OK;
    }
    for (int64_t i = 0; i < tfd_tensor_elements(axes); i++)
        TFD_TRY(add_axis_shape(tfd_check_int_at(axes, i), rank, reduced, st));
    output_shape(&s->in[0], reduced, keep_dims, &s->out[0]);
    return TFD_OK;
}
