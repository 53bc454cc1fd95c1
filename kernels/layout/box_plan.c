/* box_plan.c - see box_plan.h. */
#include "kernels/layout/box_plan.h"

#include "kernels/layout/box_runs.h"
#include "kernels/layout/lines.h"

#define PIECE_SIZE (1 << 16) /* bytes of a piece of a row */
#define LINE_SIZE 64
#define FAR_SIZE (4 << 20)     /* bytes of a box that no near cache holds */
#define MEMORY_SIZE (12 << 20) /* of one that comes from memory, mostly */

/* ---- Boxes --------------------------------------------------------------- */

int64_t tfd_box_bytes(const struct tfd_box *b)
{
    int64_t bytes = b->size;

    for (int d = 0; d < b->rank; d++)
        bytes *= b->dim[d];
    return bytes;
}

/* A short run as one element, where there are such. */
static void widen(struct tfd_box *b)
{
    int last = b->rank - 1;

    if (last < 1 || b->to[last] != b->size || b->from[last] != b->size)
        return;
    for (int64_t size = 2; size <= 16; size *= 2)
        if (b->dim[last] * b->size == size) {
            b->size = size;
            b->rank--;
            return;
        }
}

static void swap(struct tfd_box *b, int i, int j)
{
    const int64_t dim = b->dim[i], to = b->to[i], from = b->from[i];

    b->dim[i] = b->dim[j];
    b->to[i] = b->to[j];
    b->from[i] = b->from[j];
    b->dim[j] = dim;
    b->to[j] = to;
    b->from[j] = from;
}

/* What is written one after the other comes last. */
static void order(struct tfd_box *b)
{
    int last = b->rank - 1;

    for (int d = 0; d < last && b->to[last] != b->size; d++)
        if (b->to[d] == b->size)
            swap(b, d, last);
}

/* ---- Plans --------------------------------------------------------------- */

/* Whether it is worth turning squares of this dimension and the last.  Of two
 * elements of 8 bytes a vector is soon made, so where few of them are in a row
 * that is the loop's own, elements go one by one; but not what comes from
 * afar, as blocks are asked for ahead. */
static bool makes_squares(const struct tfd_box *b, int d)
{
    const int last = b->rank - 1;
    int64_t least = tfd_box_turn_least(b->size);

    if (b->size == 8 && d == last - 1 && tfd_box_bytes(b) < FAR_SIZE)
        least = 8;
    return b->dim[d] >= least && b->dim[last] >= least;
}

/* Three of 8 bytes, columns of which lie one behind the other. */
static bool are_thirds(const struct tfd_box *b, int d)
{
    return b->size == 8 && b->dim[d] == 3 && b->from[b->rank - 1] == 3 * 8 &&
           b->dim[b->rank - 1] >= 8 && tfd_box_few_of(8);
}

/* The dimension along which elements to be read lie one after the other, if
 * it is not the last, and both make squares. */
static int turned_with(const struct tfd_box *b)
{
    const int last = b->rank - 1;

    if (b->to[last] != b->size || b->from[last] == b->size ||
        b->from[last] == 0)
        return -1;
    for (int d = 0; d < last; d++)
        if (b->from[d] == b->size && makes_squares(b, d))
            return are_thirds(b, d) ? -1 : d;
    return -1;
}

/* Too few along one of this dimension and the last, but not two, which a
 * vector holds several times. */
static bool are_few(const struct tfd_box *b, int d)
{
    const int64_t least = tfd_box_turn_least(b->size), rows = b->dim[d],
                  columns = b->dim[b->rank - 1];

    if (b->size == 8)
        return are_thirds(b, d);
    return rows > 2 &&
           (rows < least ? columns >= least : b->to[d] == columns * b->size);
}

/* The same as turned_with() where there are too few. */
static int few_turned_with(const struct tfd_box *b)
{
    const int last = b->rank - 1;

    if (!tfd_box_few_of(b->size) || b->to[last] != b->size ||
        b->from[last] <= b->size || b->dim[last] < 3)
        return -1;
    for (int d = 0; d < last; d++)
        if (b->from[d] == b->size && are_few(b, d))
            return d;
    return -1;
}

/* The last but one, or, where that is short, one around it of which some fit
 * a nest with all that is inside; but not around the same run again and again
 * where caches do not hold what is written, one behind the other. */
static int choose_rows(const struct tfd_box *b)
{
    int row = b->rank - 2;
    int64_t inside = b->size;

    for (int d = row < 0 ? 0 : row; d < b->rank; d++)
        inside *= b->dim[d];
    if (row > 0 && b->from[row] == 0 && b->from[row + 1] == b->size &&
        tfd_box_bytes(b) >= FAR_SIZE)
        return row;
    for (int d = row - 1; d >= 0 && b->dim[row] < 16; d--) {
        if (inside > TFD_BOX_NEST_SIZE / 16)
            break;
        if (b->dim[d] > b->dim[row])
            row = d;
        inside *= b->dim[d];
    }
    return row;
}

static void count_elements(struct tfd_box_plan *p, struct tfd_box_counter c)
{
    p->counter[p->counters++] = c;
    p->units *= c.end;
}

/* Counts pieces of the nest's *cut, which is `whole`. */
static void count_pieces(struct tfd_box_plan *p, int64_t *cut, int64_t piece,
                         int64_t to, int64_t from)
{
    const int64_t whole = *cut;

    if (whole <= piece)
        return;
    count_elements(p,
                   (struct tfd_box_counter){(whole - 1) / piece + 1, to * piece,
                                            from * piece, cut, whole, piece});
}

/* Elements of which a few rows are read by turns, as the channels of images
 * are: all of the rows are in a nest, and the columns are cut. */
static bool few_rows(const struct tfd_box_plan *p)
{
    const struct tfd_box *b = &p->box;

    if (p->splits)
        return true;
    return !p->turns && p->row == b->rank - 2 && p->row >= 0 &&
           b->dim[p->row] <= 16 && b->from[p->row + 1] != b->size;
}

static void count_rows(struct tfd_box_plan *p)
{
    const struct tfd_box *b = &p->box;
    int64_t inside = b->size, piece;

    if (p->row < 0 || few_rows(p))
        return;
    for (int d = p->row + 1; d < b->rank; d++)
        inside *= b->dim[d] < TFD_BOX_NEST_SIZE ? b->dim[d] : TFD_BOX_NEST_SIZE;
    piece = inside < TFD_BOX_NEST_SIZE ? TFD_BOX_NEST_SIZE / inside : 1;
    if (p->turns)
        piece = tfd_box_turn_edge(b->size);
    count_pieces(p, &p->nest.rows, piece, b->to[p->row], b->from[p->row]);
}

/* Of a block.  What is written afar should be long where rows are few, as each
 * of them is on another page. */
static int64_t turned_columns(const struct tfd_box_plan *p)
{
    const int64_t edge = tfd_box_turn_edge(p->box.size);
    const bool wide = p->box.dim[p->row] <= edge / TFD_BOX_TURN_WIDE &&
                      tfd_box_bytes(&p->box) >= FAR_SIZE;

    return wide ? edge * TFD_BOX_TURN_WIDE : edge;
}

static void count_columns(struct tfd_box_plan *p)
{
    const int last = p->box.rank - 1;
    int64_t piece = PIECE_SIZE / p->box.size;

    if (p->turns)
        piece = turned_columns(p);
    else if (few_rows(p))
        piece = TFD_BOX_NEST_SIZE / p->box.size / p->nest.rows;
    count_pieces(p, &p->nest.count, piece, p->box.to[last], p->box.from[last]);
}

/* Counters from the outermost.  A turned block whose columns are shorter than
 * a line of the cache is followed by the one that has the line's rest. */
static void make_counters(struct tfd_box_plan *p)
{
    const struct tfd_box *b = &p->box;
    const bool narrow = p->turns && b->dim[p->row] * b->size < LINE_SIZE;

    p->counters = 0;
    p->units = 1;
    if (narrow)
        count_columns(p);
    for (int d = 0; d < b->rank - 1; d++) {
        if (d != p->row)
            count_elements(p, (struct tfd_box_counter){b->dim[d], b->to[d],
                                                       b->from[d], NULL, 0, 0});
        else if (!p->turns)
            count_rows(p);
    }
    if (!narrow)
        count_columns(p);
    if (p->turns)
        count_rows(p);
}

/* *loop is NULL where nothing is turned. */
static void choose_turns(struct tfd_box_plan *p, tfd_box_loop **loop)
{
    const struct tfd_box *b = &p->box;

    *loop = NULL;
    p->splits = false;
    p->row = turned_with(b);
    p->turns = p->row >= 0;
    if (p->turns) {
        *loop = tfd_box_turn_of(b->size);
        return;
    }
    p->row = few_turned_with(b);
    if (p->row >= 0) {
        *loop = tfd_box_few_of(b->size);
        p->splits =
            b->size == 8 || b->dim[p->row] < tfd_box_turn_least(b->size);
    } else {
        p->row = choose_rows(b);
    }
}

/* Where the rows lie around runs that are written one behind the other, a nest
 * has these too, so that all is written in order. */
static void join_runs(struct tfd_box_plan *p)
{
    const struct tfd_box *b = &p->box;
    const int inner = b->rank - 2;
    struct tfd_box_nest *n = &p->nest;
    tfd_box_loop *loop = tfd_box_runs_of(n->count);

    if (!loop || p->row < 0 || p->row != inner - 1 || b->to[inner] != n->count)
        return;
    n->runs = b->dim[inner];
    n->run_to = b->to[inner];
    n->run_from = b->from[inner];
    p->loop = loop;
    p->units /= p->counter[--p->counters].end;
}

/* Bytes; longer runs are read ahead by the processor.  Of shorter ones the gain
 * is less than what it costs whoever reads the result next. */
#define PAST_RUN_MIN 512
#define PAST_RUN_MAX 4096
/* Of those from the last to the first, which gain more (int32: 690 us become
 * 420), and of those that are written one behind the other, but read from so
 * many of their lengths apart that no processor foresees it. */
#define PAST_ORDER_MIN 256
#define PAST_APART 4
#define PAST_JOINED_MIN 128 /* where a nest has several of a row */

static bool is_dense(const struct tfd_box *b)
{
    int64_t size = b->size;

    for (int d = b->rank - 1; d >= 0; size *= b->dim[d--])
        if (b->to[d] != size)
            return false;
    return true;
}

/* From so many bytes on runs may go past the caches. */
static int64_t past_least(const struct tfd_box_plan *p)
{
    const struct tfd_box_nest *n = &p->nest;

    if (n->runs > 0)
        return PAST_JOINED_MIN;
    return n->row_from < 0 ||
                   (n->row_from >= PAST_APART * n->count && is_dense(&p->box))
               ? PAST_ORDER_MIN
               : PAST_RUN_MIN;
}

/* Where all runs begin, in lines; 0: each with one. */
static int64_t off_lines(const struct tfd_box_plan *p)
{
    int64_t at = (int64_t)(uintptr_t)p->to;

    for (int d = 0; d < p->box.rank - 1; d++)
        at |= p->box.to[d];
    return at % LINE_SIZE;
}

/* Whether runs are whole lines where they are written, and so many that they go
 * past the caches.  Those without gaps are long copies, which do so themselves.
 */
static bool go_past(const struct tfd_box_plan *p, int threads)
{
    const struct tfd_box *b = &p->box;
    const int64_t bytes = tfd_box_bytes(b), run = p->nest.count;
    const bool apart =
        p->nest.row_from > run || p->nest.row_from < 0 || p->nest.runs > 0;

    if (p->row < 0 || !apart || run < past_least(p) || run > PAST_RUN_MAX ||
        !tfd_lines_worth_shared(threads, bytes, bytes))
        return false;
    return run % LINE_SIZE == 0 && off_lines(p) == 0;
}

/* Whole runs, all of one length, are found their loop once. */
static void take_run(struct tfd_box_plan *p, int threads)
{
    struct tfd_box_nest *n = &p->nest;
    const int64_t size = p->box.size;

    if (p->turns || p->splits || n->to != size || n->from != size)
        return;
    for (int i = 0; i < p->counters; i++)
        if (p->counter[i].cut == &n->count)
            return;
    n->count *= size;
    p->loop = tfd_box_run_of(n->count);
    join_runs(p);
    n->far = go_past(p, threads);
    if (n->far)
        p->loop = tfd_box_run_past();
}

#define ASKED_ROW_MIN 320 /* bytes; of shorter rows it costs more */

/* Rows that are read from the last to the first, or each from its end, and in
 * between the other way, are not what a processor looks ahead for.  Of rows
 * that are cut it is more than a nest's. */
static void ask_ahead(struct tfd_box_plan *p)
{
    const struct tfd_box *b = &p->box;
    const int last = b->rank - 1;
    const int64_t row = b->dim[last] * b->size;
    const struct tfd_box_counter *c;
    int64_t rows;

    p->asked = 0;
    if (tfd_box_bytes(b) < MEMORY_SIZE || row < ASKED_ROW_MIN || p->turns ||
        p->nest.far || p->counters == 0 || p->row != last - 1 || p->row < 0 ||
        (b->from[p->row] != -row && b->from[last] != -b->size))
        return;
    c = &p->counter[p->counters - 1];
    if (c->cut == &p->nest.count)
        return;
    rows = c->cut == &p->nest.rows ? c->piece : p->nest.rows;
    p->asked = rows * row;
    p->asked_at = b->from[p->row] < 0 ? (rows - 1) * b->from[p->row] : 0;
    p->asked_at -= b->from[last] < 0 ? row - b->size : 0;
}

/* Such a box is copied from its first nest once it is more than a near cache
 * holds: long copies need not read what they write over. */
static bool repeats(const struct tfd_box_plan *p)
{
    const struct tfd_box_nest *n = &p->nest;
    const struct tfd_box_counter *c = p->counter;

    return p->counters == 1 && n->row_from == 0 && n->row_to == n->count &&
           c->cut == &p->nest.rows && c->whole * n->count >= FAR_SIZE &&
           p->loop == tfd_box_run_of(n->count);
}

/* What a last cache soon has no room for: below, making rows in a place of
 * their own costs more than it saves. */
#define GATHER_SIZE (24 << 20)

/* So are rows of copies of one element, each of another. */
static bool gathers(const struct tfd_box_plan *p)
{
    const struct tfd_box_nest *n = &p->nest;
    const struct tfd_box_counter *c = p->counter;
    const int64_t row = n->count * p->box.size;

    return p->counters == 1 && n->row_to == row && c->cut == &p->nest.rows &&
           c->piece * row <= TFD_BOX_NEST_SIZE &&
           c->whole * row >= GATHER_SIZE &&
           p->loop == tfd_box_same_of(p->box.size);
}

void tfd_box_plan_make(struct tfd_box_plan *p, const struct tfd_box *box,
                       void *to, const void *from, int threads)
{
    struct tfd_box *b = &p->box;
    tfd_box_loop *loop;
    int last;

    *b = *box;
    p->to = to;
    p->from = from;
    widen(b);
    if (b->rank == 0)
        *b = (struct tfd_box){1, b->size, {1}, {b->size}, {b->size}};
    order(b);
    last = b->rank - 1;
    choose_turns(p, &loop);
    p->nest = (struct tfd_box_nest){.rows = 1,
                                    .count = b->dim[last],
                                    .to = b->to[last],
                                    .from = b->from[last]};
    if (p->row >= 0) {
        p->nest.rows = b->dim[p->row];
        p->nest.row_to = b->to[p->row];
        p->nest.row_from = b->from[p->row];
    }
    p->loop = loop ? loop : tfd_box_loop_of(&p->nest, b->size);
    make_counters(p);
    take_run(p, threads);
    ask_ahead(p);
    p->repeats = repeats(p);
    p->gathers = gathers(p);
    if (p->turns && p->counters > 0) {
        const int64_t bytes = tfd_box_bytes(b);

        p->nest.far = bytes >= FAR_SIZE;
        if (off_lines(p) != 0 && tfd_lines_worth(bytes, bytes))
            p->loop = tfd_box_parts_of(b->size);
    }
}
