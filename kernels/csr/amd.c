/*
 * amd.c - see amd.h.
 *
 * The quotient graph: an eliminated node is an element, which stands for the
 * clique that its elimination makes.  A live node i has the list
 *
 *     list[at[i]]:  elements (element_count[i])  nodes   (length[i] in all)
 *
 * and an element has the list of its nodes.  What is dead has flip(parent) in
 * `at`, -1 at a root; those links are the assembly tree whose postorder is the
 * answer.  Node n is an artificial root that dense nodes hang from.
 *
 * Each round takes a node of least approximate degree as pivot, makes its
 * element out of its lists, and works on the nodes of that element, which have
 * a negative size meanwhile.
 */
#include "kernels/csr/amd.h"

#include "common/thread/halt.h"

#include <assert.h>
#include <math.h>

/* Arrays of n + 1 numbers besides the lists. */
#define ARRAYS 8
#define NONE (-1)
/* In `element_count`, of nodes that are no longer nodes. */
#define IS_ELEMENT (-2)
#define IS_DEAD (-1)

struct graph {
    int32_t n;
    int32_t *list, *at;
    int64_t used, room; /* of list */
    int32_t *length, *size, *next, *last, *head, *element_count, *degree;
    int32_t *bucket; /* by hash: nodes that may be the same */
    int32_t *stamp;  /* 0: a dead element; below `mark`: not seen yet */
    int32_t mark;
    int32_t element_max; /* the longest element so far */
    int32_t least;       /* no degree list before this has a node */
    int32_t done;        /* nodes that have their place */
    /* The pivot's element is list[first .. end). */
    int32_t pivot, pivot_size, pivot_elements, pivot_degree;
    int64_t first, end;
};

/* Whether element i of a long loop is one to look at the step at, and it has
 * ended: then all that follows is left out, and nothing in the lists holds. */
static bool amd_stops(int64_t i)
{
    return (i & 0xffff) == 0xffff && tfd_halted();
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* A number below NONE that flip() turns back; NONE stays itself. */
static int32_t flip(int32_t i)
{
    return -i - 2;
}

int64_t tfd_amd_room(int64_t n, int64_t count)
{
    return count + count / 5 + 2 * n + ARRAYS * (n + 1);
}

/* ---- Degree lists -------------------------------------------------------- */

static void insert_node(struct graph *g, int32_t i, int32_t degree)
{
    int32_t head = g->head[degree];

    if (head != NONE)
        g->last[head] = i;
    g->next[i] = head;
    g->head[degree] = i;
}

static void remove_node(struct graph *g, int32_t i)
{
    int32_t next = g->next[i], last = g->last[i];

    if (next != NONE)
        g->last[next] = last;
    if (last != NONE)
        g->next[last] = next;
    else
        g->head[g->degree[i]] = next;
}

static int32_t *next_array(int32_t **work, int32_t n)
{
    int32_t *array = *work;

    *work += n + 1;
    return array;
}

static void name_arrays(struct graph *g, int32_t *work, int32_t *order)
{
    g->length = next_array(&work, g->n);
    g->size = next_array(&work, g->n);
    g->next = next_array(&work, g->n);
    g->head = next_array(&work, g->n);
    g->element_count = next_array(&work, g->n);
    g->degree = next_array(&work, g->n);
    g->stamp = next_array(&work, g->n);
    g->bucket = next_array(&work, g->n);
    g->last = order;
}

static void clear_arrays(struct graph *g)
{
    for (int32_t i = 0; i <= g->n && !amd_stops(i); i++) {
        g->length[i] = i < g->n ? g->at[i + 1] - g->at[i] : 0;
        g->degree[i] = g->length[i];
        g->head[i] = g->last[i] = g->next[i] = g->bucket[i] = NONE;
        g->size[i] = 1;
        g->stamp[i] = 1;
        g->element_count[i] = 0;
    }
    g->mark = 2;
}

static bool has_diagonal(const struct graph *g, int32_t i)
{
    for (int32_t p = 0; p < g->length[i]; p++)
        if (g->list[g->at[i] + p] == i)
            return true;
    return false;
}

/* A node that nothing else touches is done; so is one that touches nearly
 * all, behind all others. */
static void sort_node(struct graph *g, int32_t i, int32_t dense)
{
    bool whole = has_diagonal(g, i);

    if (whole && g->degree[i] == 1) {
        g->element_count[i] = IS_ELEMENT;
        g->at[i] = NONE;
        g->stamp[i] = 0;
        g->done++;
    } else if (!whole || g->degree[i] > dense) {
        g->size[i] = 0;
        g->element_count[i] = IS_DEAD;
        g->at[i] = flip(g->n);
        g->size[g->n]++;
        g->done++;
    } else {
        insert_node(g, i, g->degree[i]);
    }
}

static void sort_nodes(struct graph *g)
{
    double root = 10 * sqrt((double)g->n);
    int32_t dense = root < 16 ? 16 : (int32_t)root;

    dense = smaller(g->n - 2, dense);
    for (int32_t i = 0; i < g->n && !tfd_halted(); i++)
        sort_node(g, i, dense);
    g->element_count[g->n] = IS_ELEMENT;
    g->at[g->n] = NONE;
    g->stamp[g->n] = 0;
}

/* ---- The pivot's element ------------------------------------------------- */

static void take_pivot(struct graph *g)
{
    int32_t k;

    while ((k = g->head[g->least]) == NONE) {
        g->least++;
        assert(g->least < g->n);
    }
    g->head[g->least] = g->next[k];
    if (g->next[k] != NONE)
        g->last[g->next[k]] = NONE;
    g->pivot = k;
    g->pivot_size = g->size[k];
    g->pivot_elements = g->element_count[k];
    g->done += g->pivot_size;
}

/* Moves the lists that live together.  An owner's first number changes places
 * with where its list begins, so that lists are found by walking. */
static void collect_garbage(struct graph *g)
{
    int32_t *list = g->list;
    int64_t to = 0, from = 0;

    for (int32_t j = 0; j < g->n && !amd_stops(j); j++) {
        int32_t p = g->at[j];

        if (p < 0)
            continue;
        g->at[j] = list[p];
        list[p] = flip(j);
    }
    while (from < g->used && !tfd_halted()) {
        int32_t j = flip(list[from++]), rest;

        if (j < 0)
            continue;
        list[to] = g->at[j];
        g->at[j] = (int32_t)to++;
        rest = g->length[j] - 1;
        for (int32_t i = 0; i < rest; i++)
            list[to++] = list[from++];
    }
    g->used = to;
}

/* Nodes of a list that are not in the element yet. */
static void take_nodes(struct graph *g, int64_t from, int32_t count)
{
    for (int64_t p = from; p < from + count && !amd_stops(p); p++) {
        int32_t i = g->list[p], size = g->size[i];

        if (size <= 0)
            continue;
        g->pivot_degree += size;
        g->size[i] = -size;
        g->list[g->end++] = i;
        remove_node(g, i);
    }
}

/* The pivot's neighbours and those of its elements; in place where it has no
 * elements, behind everything else otherwise. */
static void make_element(struct graph *g)
{
    int32_t k = g->pivot, p = g->at[k];

    g->pivot_degree = 0;
    g->size[k] = -g->pivot_size;
    g->first = g->end = g->pivot_elements == 0 ? p : g->used;
    for (int32_t i = 0; i < g->pivot_elements; i++) {
        int32_t e = g->list[p++];

        take_nodes(g, g->at[e], g->length[e]);
        g->at[e] = flip(k);
        g->stamp[e] = 0;
    }
    take_nodes(g, p, g->length[k] - g->pivot_elements);
    if (g->pivot_elements != 0)
        g->used = g->end;
    g->degree[k] = g->pivot_degree;
    g->at[k] = (int32_t)g->first;
    g->length[k] = (int32_t)(g->end - g->first);
    g->element_count[k] = IS_ELEMENT;
}

/* ---- Degrees ------------------------------------------------------------- */

/* The mark goes on by `step`; near the end of the numbers all begin anew. */
static void move_mark(struct graph *g, int32_t step)
{
    if (g->mark <= INT32_MAX - step - g->element_max - 1) {
        g->mark += step;
        return;
    }
    for (int32_t i = 0; i < g->n; i++)
        if (g->stamp[i] != 0)
            g->stamp[i] = 1;
    g->mark = 2;
}

/* stamp[e] - mark becomes how much of element e is outside the pivot's. */
static void subtract_element(struct graph *g)
{
    for (int64_t p = g->first; p < g->end && !tfd_halted(); p++) {
        int32_t i = g->list[p], size = -g->size[i];
        const int32_t *element = g->list + g->at[i];

        for (int32_t j = 0; j < g->element_count[i]; j++) {
            int32_t *stamp = &g->stamp[element[j]];

            if (*stamp >= g->mark)
                *stamp -= size;
            else if (*stamp != 0)
                *stamp = g->degree[element[j]] + g->mark - size;
        }
    }
}

/* What is left of a node's list, while it is gone over. */
struct pruned {
    int64_t to;
    uint64_t hash;
    int64_t degree;
};

static void keep_number(struct graph *g, struct pruned *x, int32_t number,
                        int32_t degree)
{
    x->degree += degree;
    x->hash += (uint64_t)number;
    g->list[x->to++] = number;
}

/* An element that lies in the pivot's is absorbed by it. */
static void prune_elements(struct graph *g, int32_t i, struct pruned *x)
{
    int64_t begin = g->at[i], end = begin + g->element_count[i];

    for (int64_t p = begin; p < end && !amd_stops(p); p++) {
        int32_t e = g->list[p], outside = g->stamp[e] - g->mark;

        if (g->stamp[e] == 0)
            continue;
        if (outside > 0) {
            keep_number(g, x, e, outside);
        } else {
            g->at[e] = flip(g->pivot);
            g->stamp[e] = 0;
        }
    }
}

static void prune_nodes(struct graph *g, int64_t from, int64_t end,
                        struct pruned *x)
{
    for (int64_t p = from; p < end && !amd_stops(p); p++) {
        int32_t j = g->list[p];

        if (g->size[j] > 0)
            keep_number(g, x, j, g->size[j]);
    }
}

/* A node that has no neighbours outside the element goes with the pivot. */
static void eliminate_node(struct graph *g, int32_t i)
{
    int32_t size = -g->size[i];

    g->at[i] = flip(g->pivot);
    g->pivot_degree -= size;
    g->pivot_size += size;
    g->done += size;
    g->size[i] = 0;
    g->element_count[i] = IS_DEAD;
}

static void update_degree(struct graph *g, int32_t i)
{
    int32_t begin = g->at[i], h;
    struct pruned x = {.to = begin};
    int64_t nodes_at = begin + g->element_count[i], kept_nodes;
    int64_t end = begin + (int64_t)g->length[i];

    prune_elements(g, i, &x);
    kept_nodes = x.to;
    g->element_count[i] = (int32_t)(x.to - begin) + 1;
    prune_nodes(g, nodes_at, end, &x);
    if (x.degree == 0) {
        eliminate_node(g, i);
        return;
    }
    if (x.degree < g->degree[i])
        g->degree[i] = (int32_t)x.degree;
    /* The pivot comes first in the list: one of each kind makes way. */
    g->list[x.to] = g->list[kept_nodes];
    g->list[kept_nodes] = g->list[begin];
    g->list[begin] = g->pivot;
    g->length[i] = (int32_t)(x.to - begin) + 1;
    h = (int32_t)(x.hash % (uint64_t)g->n);
    g->next[i] = g->bucket[h];
    g->bucket[h] = i;
    g->last[i] = h;
}

static void update_degrees(struct graph *g)
{
    for (int64_t p = g->first; p < g->end && !tfd_halted(); p++)
        update_degree(g, g->list[p]);
    g->degree[g->pivot] = g->pivot_degree;
    if (g->element_max < g->pivot_degree)
        g->element_max = g->pivot_degree;
    move_mark(g, g->element_max);
}

/* ---- Nodes that are the same --------------------------------------------- */

/* Those of node i are marked. */
static bool has_same_list(const struct graph *g, int32_t i, int32_t j)
{
    const int32_t *list = g->list + g->at[j];

    if (g->length[i] != g->length[j] ||
        g->element_count[i] != g->element_count[j])
        return false;
    for (int32_t p = 1; p < g->length[j]; p++)
        if (g->stamp[list[p]] != g->mark)
            return false;
    return true;
}

/* Node i stands for those behind it in its bucket that are the same. */
static void join_nodes(struct graph *g, int32_t i)
{
    const int32_t *list = g->list + g->at[i];
    int32_t before = i, j = g->next[i];

    for (int32_t p = 1; p < g->length[i]; p++)
        g->stamp[list[p]] = g->mark;
    while (j != NONE && !tfd_halted()) {
        if (has_same_list(g, i, j)) {
            g->at[j] = flip(i);
            g->size[i] += g->size[j];
            g->size[j] = 0;
            g->element_count[j] = IS_DEAD;
            j = g->next[j];
            g->next[before] = j;
        } else {
            before = j;
            j = g->next[j];
        }
    }
}

static void join_same_nodes(struct graph *g)
{
    for (int64_t p = g->first; p < g->end && !tfd_halted(); p++) {
        int32_t i = g->list[p], h;

        if (g->size[i] >= 0)
            continue;
        h = g->last[i];
        i = g->bucket[h];
        g->bucket[h] = NONE;
        while (i != NONE && g->next[i] != NONE && !tfd_halted()) {
            join_nodes(g, i);
            i = g->next[i];
            move_mark(g, 1);
        }
    }
}

/* ---- Rounds -------------------------------------------------------------- */

static void settle_node(struct graph *g, int32_t i)
{
    int32_t size = -g->size[i];
    int32_t degree = g->degree[i] + g->pivot_degree - size;

    g->size[i] = size;
    degree = smaller(degree, g->n - g->done - size);
    insert_node(g, i, degree);
    g->last[i] = NONE;
    g->least = smaller(g->least, degree);
    g->degree[i] = degree;
}

/* Only nodes that live stay in the element. */
static void settle_element(struct graph *g)
{
    int32_t k = g->pivot;
    int64_t to = g->first;

    for (int64_t p = g->first; p < g->end; p++) {
        int32_t i = g->list[p];

        if (g->size[i] >= 0)
            continue;
        settle_node(g, i);
        g->list[to++] = i;
    }
    g->size[k] = g->pivot_size;
    g->length[k] = (int32_t)(to - g->first);
    if (g->length[k] == 0) {
        g->at[k] = NONE;
        g->stamp[k] = 0;
    }
    if (g->pivot_elements != 0)
        g->used = to;
}

static void eliminate_pivot(struct graph *g)
{
    take_pivot(g);
    if (g->pivot_elements > 0 && g->used + g->least >= g->room)
        collect_garbage(g);
    if (tfd_halted())
        return;
    make_element(g);
    move_mark(g, 0);
    subtract_element(g);
    update_degrees(g);
    join_same_nodes(g);
    if (!tfd_halted())
        settle_element(g);
}

/* ---- Postorder ----------------------------------------------------------- */

/* Parents get lists of their children: elements first, each kind by number. */
static void list_children(struct graph *g)
{
    for (int32_t i = 0; i <= g->n; i++) {
        g->at[i] = flip(g->at[i]);
        g->head[i] = NONE;
    }
    for (int kind = 0; kind < 2; kind++)
        for (int32_t j = g->n; j >= 0; j--) {
            if ((g->size[j] > 0) != kind || g->at[j] == NONE)
                continue;
            g->next[j] = g->head[g->at[j]];
            g->head[g->at[j]] = j;
        }
}

/* The tree below `root`, without recursion; stamps are the stack. */
static int32_t *put_tree(struct graph *g, int32_t root, int32_t *order)
{
    int32_t *stack = g->stamp, depth = 0;

    stack[0] = root;
    while (depth >= 0) {
        int32_t parent = stack[depth], child = g->head[parent];

        if (child == NONE) {
            *order++ = parent;
            depth--;
        } else {
            g->head[parent] = g->next[child];
            stack[++depth] = child;
        }
    }
    return order;
}

enum tfd_code tfd_amd_order(int32_t n, int32_t *at, int32_t *work,
                            int32_t *order, struct tfd_status *st)
{
    int64_t count = at[n];
    struct graph g = {.n = n, .list = work, .at = at, .used = count};

    g.room = count + count / 5 + 2 * (int64_t)n;
    name_arrays(&g, work + g.room, order);
    clear_arrays(&g);
    sort_nodes(&g);
    while (g.done < n && !tfd_halted())
        eliminate_pivot(&g);
    if (tfd_halted())
        return tfd_halt_fail(st);
    list_children(&g);
    for (int32_t i = 0; i <= n; i++)
        if (g.at[i] == NONE)
            order = put_tree(&g, i, order);
    return TFD_OK;
}
