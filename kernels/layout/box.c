/* box.c - see box.h. */
#include "kernels/layout/box.h"

#include "common/base/min.h"
#include "common/thread/halt.h"
#include "kernels/layout/box_plan.h"
#include "kernels/layout/lines.h"
#include "kernels/core/runtime.h"

#include <assert.h>
#include <string.h>

/* In bytes that could be moved meanwhile. */
#define RUN_COST 64
#define ITEM_COST 16

/* ---- Boxes --------------------------------------------------------------- */

void tfd_box_init(struct tfd_box *b, size_t size)
{
    b->rank = 0;
    b->size = (int64_t)size;
}

void tfd_box_add(struct tfd_box *b, int64_t dim, int64_t to, int64_t from)
{
    int last = b->rank - 1;

    if (dim == 1)
        return;
    if (last >= 0 && b->to[last] == to * dim && b->from[last] == from * dim) {
        b->dim[last] *= dim;
        b->to[last] = to;
        b->from[last] = from;
        return;
    }
    assert(b->rank < TFD_BOX_RANK_MAX);
    b->dim[b->rank] = dim;
    b->to[b->rank] = to;
    b->from[b->rank++] = from;
}

/* ---- Running them -------------------------------------------------------- */

struct place {
    int64_t at[TFD_BOX_RANK_MAX + 2];
    int64_t to, from;
};

static void seek(const struct tfd_box_plan *p, int64_t unit,
                 struct place *place)
{
    place->to = place->from = 0;
    for (int i = p->counters - 1; i >= 0; i--) {
        const struct tfd_box_counter *c = &p->counter[i];

        place->at[i] = unit % c->end;
        unit /= c->end;
        place->to += place->at[i] * c->to;
        place->from += place->at[i] * c->from;
    }
}

/* So many nests further, of which no counter but the last has counted. */
static void step(const struct tfd_box_plan *p, struct place *place,
                 int64_t nests)
{
    for (int i = p->counters - 1; i >= 0; i--, nests = 1) {
        const struct tfd_box_counter *c = &p->counter[i];

        place->to += nests * c->to;
        place->from += nests * c->from;
        place->at[i] += nests;
        if (place->at[i] < c->end)
            return;
        place->to -= c->end * c->to;
        place->from -= c->end * c->from;
        place->at[i] = 0;
    }
}

#define NESTS_MAX 64 /* between two looks at halt.h */

/* How many nests from this one on are alike and counted by the last counter. */
static int64_t nests_alike(const struct tfd_box_plan *p,
                           const struct place *place, int64_t most,
                           const struct tfd_box_counter **last)
{
    static const struct tfd_box_counter none;
    int64_t left;

    *last = p->counters ? &p->counter[p->counters - 1] : &none;
    if (!p->counters || (*last)->cut)
        return 1;
    left = (*last)->end - place->at[p->counters - 1];
    most = most < NESTS_MAX ? most : NESTS_MAX;
    return left < most ? left : most;
}

/* What n has of the rows and columns of which pieces are counted.  Nothing is
 * written where it stays: whoever reads a nest at once by longer loads than it
 * was written by waits for all that the nest before it has stored. */
static void cut_nest(const struct tfd_box_plan *p, const struct place *place,
                     struct tfd_box_nest *n)
{
    int64_t rows = n->rows, count = n->count;
    bool before = n->before, after = n->after;

    for (int i = 0; i < p->counters; i++) {
        const struct tfd_box_counter *c = &p->counter[i];
        const int64_t left = c->whole - place->at[i] * c->piece;

        if (c->cut == &p->nest.rows)
            rows = left < c->piece ? left : c->piece;
        if (c->cut != &p->nest.count)
            continue;
        count = left < c->piece ? left : c->piece;
        before = place->at[i] > 0;
        after = left > c->piece;
    }
    if (rows != n->rows || count != n->count || before != n->before ||
        after != n->after) {
        n->rows = rows;
        n->count = count;
        n->before = before;
        n->after = after;
    }
}

/* How far the nest behind this one is. */
static void find_next(const struct tfd_box_plan *p, const struct place *place,
                      struct tfd_box_nest *n)
{
    int64_t to = 0, from = 0;

    for (int i = p->counters - 1; i >= 0; i--) {
        const struct tfd_box_counter *c = &p->counter[i];

        if (place->at[i] + 1 < c->end) {
            to += c->to;
            from += c->from;
            break;
        }
        to -= place->at[i] * c->to;
        from -= place->at[i] * c->from;
    }
    if (to != n->next_to || from != n->next_from) {
        n->next_to = to;
        n->next_from = from;
    }
}

static void repeat_units(const struct tfd_box_plan *p, int64_t begin,
                         int64_t end)
{
    const struct tfd_box_counter *c = p->counter;
    const int64_t block = c->piece * p->nest.count;
    const int64_t all = tfd_min(end * c->piece, c->whole) * p->nest.count;
    char *first = p->to + begin * block;
    struct tfd_box_nest n = p->nest;

    n.rows = tfd_min(c->piece, c->whole - begin * c->piece);
    p->loop(&n, first, p->from);
    for (int64_t at = (begin + 1) * block; at < all && !tfd_halted();
         at += block)
        memcpy(p->to + at, first, (size_t)tfd_min(block, all - at));
}

__attribute__((noinline)) static void gather_units(const struct tfd_box_plan *p,
                                                   int64_t begin, int64_t end)
{
    const struct tfd_box_counter *c = p->counter;
    const int64_t row = p->nest.row_to;
    _Alignas(64) char place[TFD_BOX_NEST_SIZE + 64];
    char *block = place + (uintptr_t)p->to % 64;
    struct tfd_box_nest n = p->nest;

    for (int64_t i = begin; i < end && !tfd_halted(); i++) {
        n.rows = tfd_min(c->piece, c->whole - i * c->piece);
        p->loop(&n, block, p->from + i * c->from);
        memcpy(p->to + i * c->to, block, (size_t)(n.rows * row));
    }
}

static void copy_units(void *arg, int64_t begin, int64_t end)
{
    const struct tfd_box_plan *p = arg;
    struct tfd_box_nest n = p->nest;
    const struct tfd_box_counter *last;
    struct place place;

    if (p->repeats) {
        repeat_units(p, begin, end);
        return;
    }
    if (p->gathers) {
        gather_units(p, begin, end);
        return;
    }
    seek(p, begin, &place);
    for (int64_t i = begin, nests; i < end && !tfd_halted(); i += nests) {
        cut_nest(p, &place, &n);
        if (p->turns && n.far)
            find_next(p, &place, &n);
        nests = nests_alike(p, &place, end - i, &last);
        for (int64_t j = 0; j < nests; j++) {
            const char *from = p->from + place.from + j * last->from;

            if (p->asked)
                tfd_lines_fetch(from + last->from + p->asked_at, p->asked);
            p->loop(&n, p->to + place.to + j * last->to, from);
        }
        step(p, &place, nests);
    }
    if (p->nest.far)
        tfd_box_turn_end();
}

/* In bytes: what is moved, and what beginning a run costs, or an element. */
static int64_t cost_of_bytes(const struct tfd_box_plan *p, int64_t bytes)
{
    const struct tfd_box *b = &p->box;
    const int last = b->rank - 1;
    const int64_t run = b->dim[last] * b->size;
    const bool runs = b->to[last] == b->size &&
                      (b->from[last] == b->size || b->from[last] == 0);

    if (runs)
        return 2 * bytes + bytes / run * RUN_COST;
    return 2 * bytes + bytes / b->size * ITEM_COST;
}

void tfd_box_copy(struct tfd_kctx *k, const struct tfd_box *b, void *to,
                  const void *from)
{
    const int64_t bytes = tfd_box_bytes(b);
    struct tfd_box_plan p;

    if (bytes == 0)
        return;
    tfd_box_plan_make(&p, b, to, from, k ? tfd_kctx_threads(k) : 1);
    if (k)
        tfd_kctx_parallel_bytes(k, p.units,
                                (int)(cost_of_bytes(&p, bytes) / p.units),
                                copy_units, &p);
    else
        copy_units(&p, 0, p.units);
}
