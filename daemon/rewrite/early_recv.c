/*
 * early_recv.c - see early_recv.h.
 *
 * Bits travel along edges until nothing changes any more: as often as edges
 * lead back in the list, so there is a limit.
 */
#include "daemon/rewrite/early_recv.h"

#include <string.h>

#define WAITS (UINT64_C(1) << 63)
#define WORKERS_MAX 63
#define PASSES_MAX 100

/* Ops with a state that none of them waits for. */
static const char *const prompt[] = {
    "Variable",
    "VarHandleOp",
    "VarIsInitializedOp",
    "ReadVariableOp",
    "Resource",
    "Assign",
    "Scatter",
    "Random",
    "Multinomial",
    "TruncatedNormal",
    "ParameterizedTruncatedNormal",
    "Apply",
    "SparseApply",
};

static bool begins(struct tfd_str s, const char *with)
{
    size_t size = strlen(with);

    return s.size >= size && memcmp(s.data, with, size) == 0;
}

static bool may_wait(const struct tfd_op *op)
{
    if (!(op->flags & TFD_OP_STATEFUL) && !(op->flags & TFD_OP_FUNCTION))
        return false;
    for (size_t i = 0; i < sizeof(prompt) / sizeof(prompt[0]); i++)
        if (begins(op->name, prompt[i]))
            return false;
    return true;
}

static uint64_t own_bits(const struct tfd_partition_request *r,
                         const int32_t *device_of,
                         const struct tfd_early_recv *e,
                         const struct tfd_part_node *n)
{
    const struct tfd_device *d;

    if (n->kind != TFD_PART_NODE)
        return n->kind == TFD_PART_FEED && r->partial ? WAITS : 0;
    d = &r->devices->devices[device_of[n->node]];
    return (d->kind == TFD_GPU ? e->bit[d->worker] : 0) |
           (may_wait(r->graph->nodes[n->node]->op) ? WAITS : 0);
}

static bool add_inputs(struct tfd_early_recv *e, const struct tfd_part_node *n,
                       int32_t i)
{
    uint64_t bits = e->behind[i], before = bits;

    for (int32_t k = 0; k < n->in_count; k++)
        bits |= e->behind[n->in[k].node];
    for (int32_t k = 0; k < n->control_count; k++)
        bits |= e->behind[n->control[k]];
    e->behind[i] = bits;
    return bits != before;
}

static void spread_early(struct tfd_early_recv *e, const struct tfd_pruned *p)
{
    bool changed = true;

    for (int pass = 0; changed && pass < PASSES_MAX; pass++) {
        changed = false;
        for (int32_t i = 0; i < p->count; i++)
            changed |= add_inputs(e, &p->nodes[i], i);
    }
    if (changed)
        e->behind = NULL;
}

/* One for each worker with GPUs; how many. */
static int give_bits(const struct tfd_device_set *s, struct tfd_early_recv *e)
{
    int count = 0;

    for (int i = 0; i < s->count && count < WORKERS_MAX; i++)
        if (s->devices[i].kind == TFD_GPU && !e->bit[s->devices[i].worker])
            e->bit[s->devices[i].worker] = UINT64_C(1) << count++;
    return count;
}

enum tfd_code tfd_early_recv_find(const struct tfd_partition_request *r,
                                  const int32_t *device_of,
                                  struct tfd_early_recv *out,
                                  struct tfd_status *st)
{
    size_t nodes = (size_t)r->pruned->count + 1;

    out->behind = NULL;
    out->bit = tfd_arena_array(r->arena, (size_t)r->worker_count + 1,
                               sizeof(*out->bit));
    TFD_TRY(tfd_arena_check(out->bit, "tasks with GPUs", st));
    if (give_bits(r->devices, out) == 0)
        return TFD_OK;
    out->behind = tfd_arena_array(r->arena, nodes, sizeof(*out->behind));
    TFD_TRY(tfd_arena_check(out->behind, "tasks with GPUs", st));
    for (int32_t i = 0; i < r->pruned->count; i++)
        out->behind[i] = own_bits(r, device_of, out, &r->pruned->nodes[i]);
    spread_early(out, r->pruned);
    return TFD_OK;
}

bool tfd_early_recv_is(const struct tfd_early_recv *e, int32_t from, int worker)
{
    return e->behind && e->bit[worker] &&
           !(e->behind[from] & (e->bit[worker] | WAITS));
}
