/*
 * elementwise.c - see elementwise.h.
 *
 * The order of tests is the order of how often they hold in a training step:
 * equal shapes, then a scalar on one side (one row), then real broadcasting.
 */
#include "kernels/core/elementwise.h"

#include "kernels/core/broadcast.h"
#include "kernels/core/outputs.h"
#include "kernels/core/runtime.h"
#include "kernels/layout/box_runs.h"
#include "kernels/layout/lines.h"
#include "kernels/vector/simd.h"

#include <assert.h>
#include <string.h>

/* Of an element that no loop takes in vectors. */
#define SLOW_NS 2
/* What is larger lies in a third cache, or in none. */
#define SECOND_CACHE_SIZE ((int64_t)1 << 20)
/* Halves in vectors take as long as so many times their bytes. */
#define NARROW_BYTES 2

static tfd_range_fn *loop_of(const struct tfd_kctx *k,
                             const struct tfd_elementwise *e)
{
    return e->loop ? e->loop : k->kernel->range;
}

/* How much longer than its bytes take an element takes that is unpacked before
 * and packed after what is computed; 0: it is no matter of bytes, as strings
 * are looked at elsewhere and halves, without instructions, unpacked singly. */
static size_t bytes_of_type(enum tfd_dtype dtype)
{
    if (dtype == TFD_STRING)
        return 0;
    if (dtype != TFD_HALF && dtype != TFD_BFLOAT16)
        return 1;
    return tfd_simd_has_f16c() ? NARROW_BYTES : 0;
}

/* Halves do not turn: much is computed of few bytes. */
static void run_bytes(struct tfd_kctx *k, enum tfd_dtype dtype, size_t moved,
                      size_t held, int64_t n, tfd_range_fn *loop, void *row)
{
    const struct tfd_stream s = {0, (int)moved, (int)held};
    const size_t times = bytes_of_type(dtype);

    if (n <= TFD_ELEMENTWISE_FEW)
        loop(row, 0, n);
    else if (times == 1)
        tfd_kctx_parallel_turns(k, n, &s, loop, row);
    else if (times)
        tfd_kctx_parallel_bytes(k, n, (int)(moved * times), loop, row);
    else
        tfd_kctx_parallel(k, n, SLOW_NS, loop, row);
}

/* Whether the result lies where one of the first two inputs does. */
static bool is_in_place(const struct tfd_kctx *k)
{
    const void *y = k->out_count > 0 ? k->out[0].buffer : NULL;

    if (!y)
        return false;
    return (k->in_count > 0 && k->in[0].buffer == y) ||
           (k->in_count > 1 && k->in[1].buffer == y);
}

void tfd_elementwise_streams(struct tfd_kctx *k, enum tfd_dtype dtype,
                             int streams, int64_t n, tfd_range_fn *loop,
                             void *row)
{
    const size_t size = tfd_dtype_size(dtype);
    const int held = streams - is_in_place(k);

    run_bytes(k, dtype, size * (size_t)streams, size * (size_t)held, n, loop,
              row);
}

void tfd_elementwise_updates(struct tfd_kctx *k, enum tfd_dtype dtype,
                             int variables, int64_t n, tfd_range_fn *loop,
                             void *row)
{
    const size_t size = tfd_dtype_size(dtype), count = (size_t)variables;

    run_bytes(k, dtype, size * (2 * count + 1), size * (count + 1), n, loop,
              row);
}

/* ---- Past the caches ------------------------------------------------------
 *
 * Where no cache holds operands and result, the result is made in a place of
 * its own, some lines at a time, and goes to memory without being read before
 * (lines.h).  What is read is asked for far ahead, as no processor sees that
 * far between such stores.  Zen 5: the larger of 4,000,000 floats each 475 us
 * in place of 1,020, of doubles 1,230 in place of 1,900.  A next operation
 * that reads the result gains, too: with a difference after it, 2,600,000
 * floats take 680 us in place of 960, 2,200,000 and less as long as before.
 */
#define FAR_SIZE ((int64_t)28 << 20)
#define FAR_BLOCK 1024 /* bytes of the result */
#define FAR_AHEAD 8192 /* bytes of an operand */

struct far_row {
    tfd_range_fn *loop;
    const struct tfd_row *row;
    size_t a_size, b_size, y_size; /* of an element; 0: there is but one */
};

static const void *far_operand(const void *x, size_t size, int64_t at,
                               int64_t n)
{
    const char *from = x;

    if (size == 0)
        return x;
    from += (size_t)at * size;
    tfd_lines_fetch(from + FAR_AHEAD, n * (int64_t)size);
    return from;
}

static void run_far(void *arg, int64_t begin, int64_t end)
{
    _Alignas(64) char place[FAR_BLOCK + 64];
    const struct far_row *f = arg;
    const int64_t most = FAR_BLOCK / (int64_t)f->y_size;
    struct tfd_row row = *f->row;

    for (int64_t i = begin, n; i < end; i += n) {
        char *y = (char *)f->row->y + (size_t)i * f->y_size;

        n = end - i < most ? end - i : most;
        row.a = far_operand(f->row->a, f->a_size, i, n);
        row.b = far_operand(f->row->b, f->b_size, i, n);
        row.y = tfd_lines_block(place, y);
        f->loop(&row, 0, n);
        tfd_lines_put(y, row.y, n * (int64_t)f->y_size);
    }
    tfd_lines_end();
}

/* Whether n elements, of which each moves so many bytes, are computed so.  What
 * takes longer than its bytes gains nothing, and loses by short blocks
 * (FloorDiv of int64 takes twice as long, Exp of doubles 1.15 times), and so do
 * halves, which are widened in larger ones.  One thread alone is not as quick
 * as memory; several gain where the last cache holds no operands either (two:
 * Abs of 4,000,000 floats would take 400 us in place of 260, of doubles it
 * takes 840 in place of 940).  So does x + x, that comes from memory once (ten
 * such in a loop would take 5.6 ms in place of 4.6). */
static bool goes_far(const struct tfd_kctx *k, const struct tfd_elementwise *e,
                     const struct far_row *f, int64_t n)
{
    const bool twice = f->b_size > 0 && f->row->a == f->row->b;
    const int64_t operands = n * (int64_t)(f->a_size + (twice ? 0 : f->b_size));
    const int64_t result = n * (int64_t)f->y_size;

    if (operands + result < FAR_SIZE || e->cost != TFD_COST_MEMORY ||
        is_in_place(k))
        return false;
    if ((twice || tfd_kctx_threads(k) > 1) && operands < FAR_SIZE)
        return false;
    return tfd_lines_worth(result, operands) &&
           bytes_of_type(k->in[0].dtype) == 1 && tfd_dtype_is_pod(e->dtype);
}

void tfd_elementwise_row(struct tfd_kctx *k, const struct tfd_elementwise *e,
                         int64_t n, struct tfd_row *row)
{
    struct far_row f = {
        .loop = loop_of(k, e), .row = row, .y_size = tfd_dtype_size(e->dtype)};
    struct tfd_stream s = {.cost = e->cost};
    size_t moved = f.y_size, held;

    if (row->a_step)
        f.a_size = tfd_dtype_size(k->in[0].dtype);
    if (row->b_step)
        f.b_size = tfd_dtype_size(k->in[1].dtype);
    moved += f.a_size + f.b_size;
    held = moved - (is_in_place(k) ? f.y_size : 0);
    row->far = n * (int64_t)held > SECOND_CACHE_SIZE;
    if (goes_far(k, e, &f, n)) {
        run_bytes(k, k->in[0].dtype, moved, held, n, run_far, &f);
        return;
    }
    if (e->cost == TFD_COST_MEMORY || n <= TFD_ELEMENTWISE_FEW) {
        run_bytes(k, k->in[0].dtype, moved, held, n, f.loop, row);
        return;
    }
    s.moved = (int)moved;
    s.held = (int)held;
    tfd_kctx_parallel_turns(k, n, &s, f.loop, row);
}

enum tfd_code tfd_elementwise_shape(const struct tfd_kctx *k,
                                    struct tfd_shape *out,
                                    struct tfd_status *st)
{
    const struct tfd_shape *a = &k->in[0].shape, *b = &k->in[1].shape;
    char left[TFD_SHAPE_TEXT_MAX], right[TFD_SHAPE_TEXT_MAX];

    if (!tfd_broadcast_fits(a, b))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Incompatible shapes: %s vs. %s",
                        tfd_shape_text(a, left), tfd_shape_text(b, right));
    return tfd_broadcast_shape(a, b, out, st);
}

/* ---- Equal shapes -------------------------------------------------------- */

static enum tfd_code run_pair(struct tfd_kctx *k,
                              const struct tfd_elementwise *e,
                              struct tfd_status *st)
{
    struct tfd_row row = {.a_step = 1, .b_step = 1, .failed = e->failed};
    const struct tfd_shape shape = k->in[0].shape;

    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, e->dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    row.a = k->in[0].buffer->data;
    row.b = k->in[1].buffer->data;
    row.y = k->out[0].buffer->data;
    tfd_elementwise_row(k, e, tfd_shape_elements(&shape), &row);
    return TFD_OK;
}

/* ---- Broadcasting -------------------------------------------------------- */

struct rows {
    const struct tfd_broadcast *plan;
    struct tfd_row row; /* of element 0 */
    tfd_range_fn *loop;
    size_t a_size, b_size, y_size; /* bytes of an element */
};

static void run_elementwise_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows *rows = arg;
    const struct tfd_broadcast *p = rows->plan;
    struct tfd_broadcast_at at;

    tfd_broadcast_seek(p, begin, &at);
    for (int64_t i = begin; i < end; i++, tfd_broadcast_next(p, &at)) {
        struct tfd_row row = rows->row;

        row.a = (const char *)row.a + (size_t)at.offset[0] * rows->a_size;
        row.b = (const char *)row.b + (size_t)at.offset[1] * rows->b_size;
        row.y = (char *)row.y + (size_t)(i * p->row_size) * rows->y_size;
        rows->loop(&row, 0, p->row_size);
    }
}

/*
 * A short row that meets every row of the other operand, as a bias does: as
 * many of it as fit a place in the first cache, so that the loop runs over all
 * of those at once.
 */
#define PATTERN_SIZE 4096
#define PATTERN_ROWS 4 /* fewer are not worth it */

static size_t pattern_row(const struct rows *r, int side)
{
    return (size_t)r->plan->row_size * (side ? r->b_size : r->a_size);
}

/* Which operand it is; -1: neither is short enough, or repeated like that. */
static int pattern_side(const struct rows *r, enum tfd_dtype dtype)
{
    const struct tfd_broadcast *p = r->plan;

    if (p->rank != 1 || !tfd_dtype_is_pod(dtype) || !p->row_step[0] ||
        !p->row_step[1] || p->row_size > PATTERN_SIZE / PATTERN_ROWS)
        return -1;
    for (int side = 0; side < 2; side++)
        if (p->step[side][0] == 0 && p->step[1 - side][0] != 0 &&
            pattern_row(r, side) <= PATTERN_SIZE / PATTERN_ROWS)
            return side;
    return -1;
}

static void repeat(char *to, const void *row, size_t size, size_t whole)
{
    size_t done = size;

    memcpy(to, row, size);
    for (size_t n; done < whole; done += n) {
        n = whole - done < done ? whole - done : done;
        memcpy(to + done, to, n);
    }
}

/* n rows from row i on, which meet as many in `block`. */
static void run_block(const struct rows *r, int side, int64_t i, int64_t n,
                      const char *block)
{
    const int64_t size = r->plan->row_size;
    const size_t at = (size_t)(i * size);
    struct tfd_row row = r->row;

    row.a = side ? (const char *)row.a + at * r->a_size : block;
    row.b = side ? block : (const char *)row.b + at * r->b_size;
    row.y = (char *)row.y + at * r->y_size;
    row.a_step = row.b_step = 1;
    r->loop(&row, 0, n * size);
}

static void run_pattern(const struct rows *r, int side, int64_t begin,
                        int64_t end)
{
    _Alignas(64) char pattern[PATTERN_SIZE];
    const size_t row_size = pattern_row(r, side);
    int64_t most = (int64_t)(PATTERN_SIZE / row_size);

    most = end - begin < most ? end - begin : most;
    repeat(pattern, side ? r->row.b : r->row.a, row_size,
           (size_t)most * row_size);
    for (int64_t i = begin; i < end; i += most)
        run_block(r, side, i, end - i < most ? end - i : most, pattern);
}

static void run_pattern_a(void *arg, int64_t begin, int64_t end)
{
    run_pattern(arg, 0, begin, end);
}

static void run_pattern_b(void *arg, int64_t begin, int64_t end)
{
    run_pattern(arg, 1, begin, end);
}

/*
 * A column, each element of which meets a short row of the other operand: some
 * elements of it, each repeated as often as it is met, so that the loop runs
 * over several rows at once.  Longer rows gain nothing.
 */
#define COLUMN_SIZE 8192
#define COLUMN_ROWS 8

static int column_side(const struct rows *r, enum tfd_dtype dtype)
{
    const struct tfd_broadcast *p = r->plan;

    if (p->rank != 1 || !tfd_dtype_is_pod(dtype))
        return -1;
    for (int side = 0; side < 2; side++)
        if (!p->row_step[side] && p->row_step[1 - side] &&
            p->step[side][0] != 0 && p->step[1 - side][0] != 0 &&
            p->row_size <= COLUMN_SIZE / COLUMN_ROWS &&
            pattern_row(r, side) <= COLUMN_SIZE / COLUMN_ROWS)
            return side;
    return -1;
}

static void run_column(const struct rows *r, int side, int64_t begin,
                       int64_t end)
{
    _Alignas(64) char block[COLUMN_SIZE];
    const size_t size = side ? r->b_size : r->a_size;
    const size_t row_size = pattern_row(r, side);
    const int64_t most = (int64_t)(COLUMN_SIZE / row_size);
    const char *column = side ? r->row.b : r->row.a;
    tfd_box_loop *fill = tfd_box_same_of((int64_t)size);
    struct tfd_box_nest n = {.row_to = (int64_t)row_size,
                             .row_from = (int64_t)size,
                             .count = r->plan->row_size};

    for (int64_t i = begin; i < end; i += n.rows) {
        n.rows = end - i < most ? end - i : most;
        fill(&n, block, column + (size_t)i * size);
        run_block(r, side, i, n.rows, block);
    }
}

static void run_column_a(void *arg, int64_t begin, int64_t end)
{
    run_column(arg, 0, begin, end);
}

static void run_column_b(void *arg, int64_t begin, int64_t end)
{
    run_column(arg, 1, begin, end);
}

/* Cost of one row, within int. */
static int row_cost(const struct tfd_broadcast *p, int cost)
{
    int64_t size = p->row_size < 1000000 ? p->row_size : 1000000;

    return (int)size * (cost > 0 ? cost : 1) + 10;
}

/* Whether it was run as a loop over repeated elements. */
static bool run_patterns(struct tfd_kctx *k, struct rows *rows, int side,
                         tfd_range_fn *loop)
{
    const size_t times = bytes_of_type(k->in[0].dtype);
    const size_t size = (size_t)rows->plan->row_size; /* short, see above */
    const size_t other = side ? rows->a_size : rows->b_size;
    struct tfd_stream s = {.moved = (int)(size * (rows->y_size + other))};

    s.held = s.moved - (is_in_place(k) ? (int)(size * rows->y_size) : 0);
    if (times == 1)
        tfd_kctx_parallel_turns(k, rows->plan->rows, &s, loop, rows);
    else if (times)
        tfd_kctx_parallel_bytes(k, rows->plan->rows, s.moved * (int)times, loop,
                                (void *)rows);
    return times > 0;
}

static void run_plan(struct tfd_kctx *k, const struct tfd_elementwise *e,
                     struct rows *rows)
{
    static tfd_range_fn *const loops[][3] = {
        {run_elementwise_rows, run_pattern_a, run_pattern_b},
        {run_elementwise_rows, run_column_a, run_column_b},
    };
    const enum tfd_dtype dtype = k->in[0].dtype;
    const int pattern = pattern_side(rows, dtype);
    const int side = pattern < 0 ? column_side(rows, dtype) : pattern;
    const struct tfd_broadcast *p = rows->plan;
    tfd_range_fn *loop = loops[pattern < 0][side + 1];
    const size_t size =
        rows->y_size + (side == 0 ? rows->b_size : rows->a_size);

    rows->row.far = p->rows * p->row_size * (int64_t)size > SECOND_CACHE_SIZE;
    if (side < 0 || e->cost != TFD_COST_MEMORY ||
        !run_patterns(k, rows, side, loop))
        tfd_kctx_parallel(k, p->rows, row_cost(p, e->cost), loop, rows);
}

static enum tfd_code run_broadcast(struct tfd_kctx *k,
                                   const struct tfd_elementwise *e,
                                   struct tfd_status *st)
{
    const struct tfd_shape a = k->in[0].shape, b = k->in[1].shape;
    const struct tfd_shape *const in[] = {&a, &b};
    struct tfd_broadcast plan;
    struct rows rows = {.plan = &plan, .loop = loop_of(k, e)};
    struct tfd_shape shape;

    TFD_TRY(tfd_elementwise_shape(k, &shape, st));
    TFD_TRY(tfd_kctx_output_reuse(k, 3, 0, e->dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;

    tfd_broadcast_plan(&plan, &shape, in, 2);
    rows.row.a = k->in[0].buffer->data;
    rows.row.b = k->in[1].buffer->data;
    rows.row.y = k->out[0].buffer->data;
    rows.row.a_step = plan.row_step[0];
    rows.row.b_step = plan.row_step[1];
    rows.row.failed = e->failed;
    rows.a_size = tfd_dtype_size(k->in[0].dtype);
    rows.b_size = tfd_dtype_size(k->in[1].dtype);
    rows.y_size = tfd_dtype_size(e->dtype);
    if (plan.rows == 1)
        tfd_elementwise_row(k, e, plan.row_size, &rows.row);
    else
        run_plan(k, e, &rows);
    return TFD_OK;
}

/* ---- Public -------------------------------------------------------------- */

enum tfd_code tfd_elementwise_binary(struct tfd_kctx *k,
                                     const struct tfd_elementwise *e,
                                     struct tfd_status *st)
{
    if (tfd_shape_equal(&k->in[0].shape, &k->in[1].shape))
        return run_pair(k, e, st);
    return run_broadcast(k, e, st);
}

enum tfd_code tfd_elementwise_pair(struct tfd_kctx *k,
                                   const struct tfd_elementwise *e,
                                   struct tfd_status *st)
{
    int64_t a = tfd_shape_elements(&k->in[0].shape);
    int64_t b = tfd_shape_elements(&k->in[1].shape);

    if (a != b)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "The two arguments to a cwise op must have same "
                        "number of elements, got %lld and %lld",
                        (long long)a, (long long)b);
    return run_pair(k, e, st);
}

enum tfd_code tfd_elementwise_unary(struct tfd_kctx *k,
                                    const struct tfd_elementwise *e,
                                    struct tfd_status *st)
{
    struct tfd_row row = {.a_step = 1, .failed = e->failed};
    const struct tfd_shape shape = k->in[0].shape;

    TFD_TRY(tfd_kctx_output_reuse(k, 1, 0, e->dtype, &shape, st));
    if (!k->out[0].buffer)
        return TFD_OK;
    row.a = k->in[0].buffer->data;
    row.y = k->out[0].buffer->data;
    tfd_elementwise_row(k, e, tfd_shape_elements(&shape), &row);
    return TFD_OK;
}

/* ---- Compute functions --------------------------------------------------- */

#define COST_DEAR 5 /* a call of the mathematical library, per element */
#define COST_VECTOR 1

enum tfd_code tfd_elementwise_compute2(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_elementwise e = {k->in[0].dtype, TFD_COST_MEMORY, NULL, NULL};

    return tfd_elementwise_binary(k, &e, st);
}

enum tfd_code tfd_elementwise_compare(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_elementwise e = {TFD_BOOL, TFD_COST_MEMORY, NULL, NULL};

    return tfd_elementwise_binary(k, &e, st);
}

enum tfd_code tfd_elementwise_compute1(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_elementwise e = {k->in[0].dtype, COST_DEAR, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

enum tfd_code tfd_elementwise_vector1(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_elementwise e = {k->in[0].dtype, COST_VECTOR, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}

enum tfd_code tfd_elementwise_vector2(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_elementwise e = {k->in[0].dtype, COST_VECTOR, NULL, NULL};

    return tfd_elementwise_binary(k, &e, st);
}

enum tfd_code tfd_elementwise_test(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_elementwise e = {TFD_BOOL, TFD_COST_MEMORY, NULL, NULL};

    return tfd_elementwise_unary(k, &e, st);
}
