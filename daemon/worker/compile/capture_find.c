/*
 * capture_find.c - finds the nodes of static parts: see captures.h.
 *
 *     order      nodes after all that they wait for
 *     waiter     a node whose output may wait for other tasks, steps or clients
 *     teller     one that they may wait for
 *     member     a node that is in a part
 *
 * Levels are longest paths, counted where they leave members of one device.
 * Members that break a rule are dropped, which moves levels, so that is done
 * again until nothing is dropped.
 */
#include "daemon/worker/compile/capture_find.h"

#include <string.h>

#define ROUNDS_MAX 16
/* Waiters times nodes. */
#define BITS_MAX ((size_t)1 << 28)

/* ---- Nodes --------------------------------------------------------------- */

static bool is_transfer(const struct tfd_exec_node *x)
{
    return x->kernel && (x->kernel->flags & TFD_KERNEL_DEAD);
}

/* Copies and kernels of a device end whatever others do. */
static bool may_wait(const struct tfd_exec_node *x)
{
    return x->kind == TFD_EXEC_ASYNC && !(x->flags & TFD_EXEC_STREAM) &&
           x->kernel != &tfd_cross_copy_kernel;
}

static bool is_early(const struct tfd_node *n)
{
    struct tfd_str present;
    bool early = false;

    return tfd_node_attr(n, "_tfd_early", &present) &&
           tfd_node_bool(n, "_tfd_early", &early, NULL) == TFD_OK && early;
}

static bool is_waiter(const struct tfd_exec_node *x)
{
    if (is_transfer(x))
        return x->out_count > 0 && !is_early(x->node);
    return may_wait(x);
}

static bool is_teller(const struct tfd_exec_node *x)
{
    return is_transfer(x) ? x->out_count == 0 : may_wait(x);
}

static bool is_plain_type(int type)
{
    return !tfd_dtype_is_ref(type) && type != TFD_RESOURCE &&
           type != TFD_VARIANT && type != TFD_STRING;
}

static bool has_plain_types(const struct tfd_node *n)
{
    bool plain = true;

    for (int32_t i = 0; i < n->in_count; i++)
        plain &= is_plain_type(n->in_types[i]);
    for (int32_t i = 0; i < n->out_count; i++)
        plain &= is_plain_type(n->out_types[i]);
    return plain;
}

static bool may_be_member(const struct tfd_exec_node *x)
{
    const uint32_t never =
        TFD_KERNEL_SHARED | TFD_KERNEL_BLOCKS | TFD_KERNEL_DEAD;

    if (!x->rt->row->captures || (x->flags & TFD_EXEC_REF_IN) ||
        (x->node->op->flags & TFD_OP_STATEFUL) || !has_plain_types(x->node))
        return false;
    if (x->kind == TFD_EXEC_CONST || x->kind == TFD_EXEC_PASS)
        return true;
    return x->kind == TFD_EXEC_KERNEL && !(x->kernel->flags & never);
}

/* ---- What comes after what ----------------------------------------------- */

static void find_order(struct tfd_finder *f)
{
    int32_t *left = f->level; /* not used yet */
    int32_t count = 0;

    for (int32_t i = 0; i < f->count; i++)
        for (int32_t j = 0; j < f->e->nodes[i].edge_count; j++)
            left[f->e->nodes[i].edges[j].local]++;
    for (int32_t i = 0; i < f->count; i++)
        if (left[i] == 0)
            f->order[count++] = i;
    for (int32_t i = 0; i < count; i++) {
        const struct tfd_exec_node *x = &f->e->nodes[f->order[i]];

        for (int32_t j = 0; j < x->edge_count; j++)
            if (--left[x->edges[j].local] == 0)
                f->order[count++] = x->edges[j].local;
    }
}

static void spread_bits(struct tfd_finder *f, int32_t from, int32_t to)
{
    for (size_t i = 0; i < f->words; i++)
        f->after[(size_t)to * f->words + i] |=
            f->after[(size_t)from * f->words + i];
}

/* A waiter comes after itself. */
static void find_after(struct tfd_finder *f)
{
    size_t waiters = 0;

    for (int32_t k = 0; k < f->count; k++) {
        int32_t i = f->order[k];
        const struct tfd_exec_node *x = &f->e->nodes[i];

        if (is_waiter(x)) {
            f->after[(size_t)i * f->words + waiters / 64] |= UINT64_C(1)
                                                             << waiters % 64;
            waiters++;
        }
        if (x->kind == TFD_EXEC_SWITCH || (is_transfer(x) && x->out_count))
            f->may_be_dead[i] = true;
        for (int32_t j = 0; j < x->edge_count; j++) {
            int32_t to = x->edges[j].local;

            spread_bits(f, i, to);
            f->may_be_dead[to] |= f->may_be_dead[i];
        }
    }
}

static void find_tellers(struct tfd_finder *f)
{
    for (int32_t k = f->count - 1; k >= 0; k--) {
        int32_t i = f->order[k];
        const struct tfd_exec_node *x = &f->e->nodes[i];

        f->tells[i] = is_teller(x);
        for (int32_t j = 0; j < x->edge_count; j++)
            f->tells[i] |= f->tells[x->edges[j].local];
    }
}

/* ---- Groups -------------------------------------------------------------- */

static bool are_together(const struct tfd_finder *f, int32_t a, int32_t b)
{
    return f->group[a] >= 0 && f->group[b] >= 0 &&
           f->e->nodes[a].rt->row == f->e->nodes[b].rt->row;
}

static void find_levels(struct tfd_finder *f)
{
    memset(f->level, 0, (size_t)f->count * sizeof(*f->level));
    for (int32_t k = 0; k < f->count; k++) {
        int32_t i = f->order[k];
        const struct tfd_exec_node *x = &f->e->nodes[i];

        for (int32_t j = 0; j < x->edge_count; j++) {
            int32_t to = x->edges[j].local;
            int32_t level = f->level[i];

            level += f->group[i] >= 0 && !are_together(f, i, to);
            if (level > f->level[to])
                f->level[to] = level;
        }
    }
}

/* -1: there are too many. */
static int32_t group_of(struct tfd_finder *f, int32_t node)
{
    struct tfd_device *device = f->e->nodes[node].rt->row;
    struct tfd_group *g = f->groups;

    for (; g < f->groups + f->group_count; g++)
        if (g->device == device && g->level == f->level[node])
            return (int32_t)(g - f->groups);
    if (f->group_count == TFD_GROUPS_MAX)
        return -1;
    *g = (struct tfd_group){
        .device = device, .level = f->level[node], .part = -1};
    return f->group_count++;
}

static const uint64_t *after(const struct tfd_finder *f, int32_t node)
{
    return &f->after[(size_t)node * f->words];
}

static int count_bits(const struct tfd_finder *f, const uint64_t *bits)
{
    int count = 0;

    for (size_t i = 0; i < f->words; i++)
        count += __builtin_popcountll(bits[i]);
    return count;
}

static bool is_within(const struct tfd_finder *f, const uint64_t *a,
                      const uint64_t *b)
{
    for (size_t i = 0; i < f->words; i++)
        if (a[i] & ~b[i])
            return false;
    return true;
}

/* The members of each; of its tellers the one that waits for most says what
 * the group waits for. */
static void make_groups(struct tfd_finder *f)
{
    f->group_count = 0;
    for (int32_t k = 0; k < f->count; k++) {
        int32_t i = f->order[k];
        struct tfd_group *g;

        if (f->group[i] < 0)
            continue;
        f->group[i] = group_of(f, i);
        if (f->group[i] < 0)
            continue;
        g = &f->groups[f->group[i]];
        g->members++;
        g->kernels += f->e->nodes[i].kind == TFD_EXEC_KERNEL &&
                      (f->e->nodes[i].flags & TFD_EXEC_STREAM);
        if (f->tells[i] && (!g->reference || count_bits(f, after(f, i)) >
                                                 count_bits(f, g->reference)))
            g->reference = after(f, i);
    }
}

static void drop_candidate(struct tfd_finder *f, int32_t node)
{
    f->group[node] = -1;
    f->dropped = true;
}

/* What is waited for must wait for all that its group does. */
static void drop_hasty(struct tfd_finder *f)
{
    for (int32_t i = 0; i < f->count; i++) {
        const uint64_t *reference;

        if (f->group[i] < 0)
            continue;
        reference = f->groups[f->group[i]].reference;
        if (reference &&
            (!is_within(f, after(f, i), reference) ||
             (f->tells[i] && !is_within(f, reference, after(f, i)))))
            drop_candidate(f, i);
    }
}

/* A gate does not know which of its members a dead control edge kills. */
static void drop_mortal(struct tfd_finder *f)
{
    for (int32_t i = 0; i < f->count; i++) {
        const struct tfd_exec_node *x = &f->e->nodes[i];

        for (int32_t j = 0; f->may_be_dead[i] && j < x->edge_count; j++) {
            int32_t to = x->edges[j].local;

            if (x->edges[j].output == TFD_CONTROL && f->group[to] >= 0 &&
                f->group[to] != f->group[i])
                drop_candidate(f, to);
        }
    }
}

static void settle_groups(struct tfd_finder *f)
{
    int rounds = 0;

    for (int32_t i = 0; i < f->count; i++)
        f->group[i] = may_be_member(&f->e->nodes[i]) ? 0 : -1;
    do {
        f->dropped = false;
        find_levels(f);
        make_groups(f);
        drop_hasty(f);
        drop_mortal(f);
    } while (f->dropped && ++rounds < ROUNDS_MAX);
    if (f->dropped)
        f->group_count = 0;
}

/* ---- All together -------------------------------------------------------- */

static size_t count_waiters(const struct tfd_exec *e)
{
    size_t count = 0;

    for (int32_t i = 0; i < e->node_count; i++)
        count += is_waiter(&e->nodes[i]);
    return count;
}

static enum tfd_code make_finder_arrays(struct tfd_finder *f,
                                        struct tfd_status *st)
{
    struct tfd_arena *a = &f->c->scratch;
    size_t n = (size_t)f->count + 1;

    f->order = tfd_arena_array(a, n, sizeof(*f->order));
    f->level = tfd_arena_array(a, n, sizeof(*f->level));
    f->group = tfd_arena_array(a, n, sizeof(*f->group));
    f->may_be_dead = tfd_arena_array(a, n, sizeof(*f->may_be_dead));
    f->tells = tfd_arena_array(a, n, sizeof(*f->tells));
    f->after = tfd_arena_array(a, n * f->words + 1, sizeof(*f->after));
    if (!f->order || !f->level || !f->group || !f->may_be_dead || !f->tells ||
        !f->after)
        return tfd_arena_check(NULL, "parts of a graph", st);
    return TFD_OK;
}

enum tfd_code tfd_capture_find(struct tfd_finder *f, struct tfd_status *st)
{
    f->e = f->c->e;
    f->count = f->e->node_count;
    f->words = (count_waiters(f->e) + 63) / 64;
    if (f->words * 64 * (size_t)f->count > BITS_MAX)
        return TFD_OK;
    TFD_TRY(make_finder_arrays(f, st));
    find_order(f);
    find_after(f);
    find_tellers(f);
    settle_groups(f);
    return TFD_OK;
}
