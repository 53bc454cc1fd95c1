/*
 * chain.c - see chain.h.
 */
#include "kernels/core/chain.h"

#include "kernels/core/elementwise.h"

#include <string.h>

/* Elements that all nodes compute before the next: of the widest type, as many
 * blocks as a chain has fit a cache of 64 KiB; usually there are two of four
 * bytes each. */
#define BLOCK 1024
#define BLOCK_SIZE (BLOCK * sizeof(double))
/* A row that is shorter costs more in calls than in elements. */
#define ROW_MIN 32

/* ---- Making -------------------------------------------------------------- */

static bool is_narrow(int dtype)
{
    return dtype > 0 && dtype < TFD_DTYPE_END &&
           tfd_dtype_is_pod((enum tfd_dtype)dtype) &&
           tfd_dtype_size((enum tfd_dtype)dtype) <= sizeof(double);
}

bool tfd_chain_takes(const struct tfd_kernel *kernel,
                     const struct tfd_node *node)
{
    if (!kernel || !(kernel->flags & TFD_KERNEL_ROW) || !kernel->compute ||
        !kernel->range || kernel->prepare || kernel->state_size)
        return false;
    if (node->in_count < 1 || node->in_count > 2 || node->out_count != 1 ||
        !is_narrow(node->out_types[0]))
        return false;
    for (int i = 0; i < node->in_count; i++)
        if (!is_narrow(node->in_types[i]))
            return false;
    return true;
}

static void mark_last(struct tfd_chain *c)
{
    bool seen_in[TFD_CHAIN_INPUTS_MAX] = {false};
    bool seen_node[TFD_CHAIN_NODES_MAX] = {false};

    for (int i = c->count - 1; i >= 0; i--)
        for (int j = c->node[i].in_count - 1; j >= 0; j--) {
            int in = c->node[i].in[j];
            bool *seen = in < 0 ? &seen_node[~in] : &seen_in[in];

            c->node[i].last[j] = !*seen;
            *seen = true;
        }
}

bool tfd_chain_finish(struct tfd_chain *c)
{
    bool taken[TFD_CHAIN_BLOCKS_MAX] = {false};

    mark_last(c);
    for (int i = 0; i < c->count; i++) {
        struct tfd_chain_node *n = &c->node[i];
        int block = 0;

        /* Loops may write over what they read. */
        for (int j = 0; j < n->in_count; j++)
            if (n->in[j] < 0 && n->last[j])
                taken[c->node[~n->in[j]].block] = false;
        while (block < TFD_CHAIN_BLOCKS_MAX && taken[block])
            block++;
        if (block == TFD_CHAIN_BLOCKS_MAX)
            return false;
        taken[block] = true;
        n->block = block;
    }
    return true;
}

/* ---- Shapes -------------------------------------------------------------- */

/* How a value lies in the result, seen as a matrix: as a set of the sides
 * along which it changes. */
enum form { ELEMENT = 0, ROW = 1, COLUMN = 2, FULL = ROW | COLUMN };

struct value {
    enum form form;
    const char *data;
    size_t size; /* of an element */
};

struct job {
    const struct tfd_chain *chain;
    struct tfd_shape shape;
    int64_t rows, columns; /* 0: not known, as nothing is repeated */
    struct value in[TFD_CHAIN_INPUTS_MAX];
    struct value made[TFD_CHAIN_NODES_MAX];
    char *out;
    size_t out_size;
};

static bool set_sides(struct job *j, int64_t rows, int64_t columns)
{
    if (j->columns == 0) {
        j->rows = rows;
        j->columns = columns;
    }
    return j->rows == rows && j->columns == columns;
}

static bool are_ones(const struct tfd_shape *s, int from, int to)
{
    while (from < to && s->dim[from] == 1)
        from++;
    return from == to;
}

/* One of the shapes that chain.h shows, with n elements of the result's
 * `all`; its rank is not above that of the result. */
static bool find_form(struct job *j, const struct tfd_shape *s, int64_t n,
                      int64_t all, enum form *form)
{
    const struct tfd_shape *full = &j->shape;
    int behind = 0, front = 0;

    if (n == 1) {
        *form = ELEMENT;
        return true;
    }
    while (behind < s->rank &&
           s->dim[s->rank - 1 - behind] == full->dim[full->rank - 1 - behind])
        behind++;
    *form = ROW;
    if (are_ones(s, 0, s->rank - behind))
        return set_sides(j, all / n, n);
    while (front < s->rank && s->dim[front] == full->dim[front])
        front++;
    *form = COLUMN;
    return s->rank == full->rank && are_ones(s, front, s->rank) &&
           set_sides(j, n, all / n);
}

/* The input of most elements has the result's shape. */
static bool find_shape(struct job *j, const struct tfd_kctx *k, int64_t *all)
{
    *all = 0;
    for (int i = 0; i < k->in_count; i++) {
        int64_t n;

        if (k->in[i].shape.rank > TFD_RANK_MAX || !k->in[i].buffer)
            return false;
        n = tfd_tensor_elements(&k->in[i]);
        if (n > *all) {
            *all = n;
            j->shape = k->in[i].shape;
        }
    }
    return *all > 0;
}

static bool find_forms(struct job *j, const struct tfd_kctx *k, int64_t all)
{
    for (int i = 0; i < k->in_count; i++) {
        const struct tfd_tensor *t = &k->in[i];
        struct value *v = &j->in[i];

        v->data = t->buffer->data;
        v->size = tfd_dtype_size(t->dtype);
        v->form = FULL;
        if (!tfd_shape_equal(&t->shape, &j->shape) &&
            (all == 1 || t->shape.rank > j->shape.rank ||
             !find_form(j, &t->shape, tfd_tensor_elements(t), all, &v->form)))
            return false;
    }
    return true;
}

static struct value *input_of(struct job *j, const struct tfd_chain_node *n,
                              int i)
{
    return n->in[i] < 0 ? &j->made[~n->in[i]] : &j->in[n->in[i]];
}

/* Of the nodes' results; *rows: some operand is not just full or an element. */
static bool find_results(struct job *j, bool *rows)
{
    *rows = false;
    for (int i = 0; i < j->chain->count; i++) {
        const struct tfd_chain_node *n = &j->chain->node[i];
        struct value *v = &j->made[i], *a = input_of(j, n, 0);
        struct value *b = input_of(j, n, n->in_count - 1);

        v->form = a->form | b->form;
        v->size = tfd_dtype_size((enum tfd_dtype)n->node->out_types[0]);
        if ((n->kernel->flags & TFD_KERNEL_PAIR) &&
            (a->form != FULL || b->form != FULL))
            return false;
        if (v->form == FULL)
            *rows |= (a->form != FULL && a->form != ELEMENT) ||
                     (b->form != FULL && b->form != ELEMENT);
    }
    return !*rows || j->columns >= ROW_MIN;
}

/* ---- Small results ------------------------------------------------------- */

static int64_t small_count(const struct job *j, enum form form)
{
    return form == ROW ? j->columns : form == COLUMN ? j->rows : 1;
}

/* Those that are no block of the result are computed first, once. */
static size_t small_size(const struct job *j)
{
    size_t size = 0;

    for (int i = 0; i < j->chain->count; i++)
        if (j->made[i].form != FULL)
            size += (size_t)small_count(j, j->made[i].form) * sizeof(double);
    return size;
}

static void run_small(struct job *j, char *memory)
{
    for (int i = 0; i < j->chain->count; i++) {
        const struct tfd_chain_node *n = &j->chain->node[i];
        struct value *v = &j->made[i], *a = input_of(j, n, 0);
        struct value *b = input_of(j, n, n->in_count - 1);
        struct tfd_row row = {
            .a = a->data,
            .b = n->in_count > 1 ? b->data : NULL,
            .y = memory,
            .a_step = a->form != ELEMENT || v->form == ELEMENT,
            .b_step = b->form != ELEMENT || v->form == ELEMENT,
        };

        if (v->form == FULL)
            continue;
        v->data = memory;
        n->kernel->range(&row, 0, small_count(j, v->form));
        memory += (size_t)small_count(j, v->form) * sizeof(double);
    }
}

/* ---- Blocks -------------------------------------------------------------- */

/* A block: elements of one row of the result, or of all where `row` is 0 and
 * nothing is repeated. */
struct place {
    int64_t row, column, first; /* first: of the block, in the result */
    char (*block)[BLOCK_SIZE];
};

static const void *operand(const struct job *j, int in, const struct place *p)
{
    const struct value *v = in < 0 ? &j->made[~in] : &j->in[in];
    int64_t at = v->form == FULL     ? p->first
                 : v->form == ROW    ? p->column
                 : v->form == COLUMN ? p->row
                                     : 0;

    if (in < 0 && v->form == FULL)
        return p->block[j->chain->node[~in].block];
    return v->data + (size_t)at * v->size;
}

static int step_of(const struct job *j, int in)
{
    return ((in < 0 ? j->made[~in].form : j->in[in].form) & ROW) != 0;
}

static void run_block(const struct job *j, const struct place *p, int64_t n)
{
    const struct tfd_chain *c = j->chain;

    for (int i = 0; i < c->count; i++) {
        const struct tfd_chain_node *x = &c->node[i];
        struct tfd_row row = {.a = operand(j, x->in[0], p),
                              .a_step = step_of(j, x->in[0])};

        if (j->made[i].form != FULL)
            continue;
        if (x->in_count > 1) {
            row.b = operand(j, x->in[1], p);
            row.b_step = step_of(j, x->in[1]);
        }
        row.y = i == c->count - 1 ? j->out + (size_t)p->first * j->out_size
                                  : p->block[x->block];
        x->kernel->range(&row, 0, n);
    }
}

static void run_elements(void *arg, int64_t begin, int64_t end)
{
    _Alignas(64) char block[TFD_CHAIN_BLOCKS_MAX][BLOCK_SIZE];

    for (int64_t i = begin; i < end; i += BLOCK)
        run_block(arg, &(struct place){0, i, i, block},
                  end - i < BLOCK ? end - i : BLOCK);
}

static void run_chain_rows(void *arg, int64_t begin, int64_t end)
{
    _Alignas(64) char block[TFD_CHAIN_BLOCKS_MAX][BLOCK_SIZE];
    const struct job *j = arg;

    for (int64_t r = begin; r < end; r++)
        for (int64_t i = 0; i < j->columns; i += BLOCK)
            run_block(j, &(struct place){r, i, r * j->columns + i, block},
                      j->columns - i < BLOCK ? j->columns - i : BLOCK);
}

/* ---- All ----------------------------------------------------------------- */

/* Inputs whose memory the result may take. */
static uint32_t full_inputs(const struct job *j)
{
    uint32_t set = 0;

    for (int i = 0; i < j->chain->in_count; i++)
        if (j->in[i].form == FULL)
            set |= UINT32_C(1) << i;
    return set;
}

_Static_assert(TFD_CHAIN_INPUTS_MAX <= 32, "a set of inputs is 32 bits");

static void run_all(struct job *j, struct tfd_kctx *k, int64_t all, bool rows)
{
    int64_t cost = j->chain->count; /* a nanosecond each */

    if (!rows && all <= BLOCK)
        run_elements(j, 0, all);
    else if (!rows)
        tfd_kctx_parallel(k, all, (int)cost, run_elements, j);
    else
        tfd_kctx_parallel(
            k, j->rows,
            (int)((j->columns < 1000000 ? j->columns : 1000000) * cost),
            run_chain_rows, j);
}

static enum tfd_code compute_chain(struct job *j, struct tfd_kctx *k,
                                   int64_t all, bool rows,
                                   struct tfd_status *st)
{
    const struct tfd_chain *c = j->chain;
    enum tfd_dtype dtype =
        (enum tfd_dtype)c->node[c->count - 1].node->out_types[0];
    _Alignas(double) char few[TFD_CHAIN_NODES_MAX * sizeof(double)];
    const struct tfd_shape bytes = {1, {(int64_t)small_size(j)}};
    struct tfd_tensor small = TFD_TENSOR_INIT;

    TFD_TRY(tfd_kctx_output_reuse(k, full_inputs(j), 0, dtype, &j->shape, st));
    if ((size_t)bytes.dim[0] > sizeof(few))
        TFD_TRY(tfd_tensor_new(&small, TFD_UINT8, &bytes, st));
    j->out = k->out[0].buffer->data;
    j->out_size = tfd_dtype_size(dtype);
    run_small(j, small.buffer ? small.buffer->data : few);
    run_all(j, k, all, rows);
    tfd_tensor_unref(&small);
    return TFD_OK;
}

bool tfd_chain_run(struct tfd_kctx *k, const struct tfd_chain *c,
                   enum tfd_code *rc, struct tfd_status *st)
{
    struct job j;
    int64_t all;
    bool rows;

    j.chain = c;
    j.rows = j.columns = 0;
    if (!find_shape(&j, k, &all) || !find_forms(&j, k, all) ||
        !find_results(&j, &rows))
        return false;
    *rc = compute_chain(&j, k, all, rows, st);
    return true;
}
