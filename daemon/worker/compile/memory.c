/*
 * memory.c - in which memory each input and output of a graph is: see
 * compiler.h.
 *
 * A node on a device with memory of its own has its arguments there, but for
 * those that its kernel's row names.  Nodes that the executor runs itself have
 * rows as well, which say the same of them; feeds and fetches are the host's,
 * but for those of functions.
 */
#include "daemon/worker/compile/compiler.h"

/* A constant in another memory. */
struct tfd_placed {
    struct tfd_placed *next;
    const struct tfd_device *to;
    int32_t constant, number;
};

struct tfd_device *tfd_compile_in_memory(const struct tfd_compiler *c,
                                         int32_t node, int32_t input)
{
    const struct tfd_plan_node *p = &c->nodes[node];

    if (!p->ports || tfd_kernel_host_in(p->ports, c->g->nodes[node], input))
        return NULL;
    return p->device;
}

struct tfd_device *tfd_compile_out_memory(const struct tfd_compiler *c,
                                          int32_t node, int32_t output)
{
    const struct tfd_plan_node *p = &c->nodes[node];

    if (!p->ports || tfd_kernel_host_out(p->ports, c->g->nodes[node], output))
        return NULL;
    return p->device;
}

bool tfd_compile_same_memory(const struct tfd_device *a,
                             const struct tfd_device *b)
{
    return (a ? a->memory : TFD_MEMORY_HOST) ==
           (b ? b->memory : TFD_MEMORY_HOST);
}

enum tfd_code tfd_compile_place(struct tfd_compiler *c, int32_t constant,
                                struct tfd_device *to, int32_t *out,
                                struct tfd_status *st)
{
    struct tfd_placed *p = c->placed;
    struct tfd_exec *e = c->e;

    while (p && !(p->constant == constant && p->to == to))
        p = p->next;
    if (!p) {
        struct tfd_tensor *value = &e->constants[e->constant_count];

        p = tfd_arena_alloc(&c->scratch, sizeof(*p));
        TFD_TRY(tfd_arena_check(p, "constants of a device", st));
        TFD_TRY(to->place(to, &e->constants[constant], value, st));
        *p = (struct tfd_placed){c->placed, to, constant, e->constant_count++};
        c->placed = p;
        /* Captured kernels read it where it lies, and await only inputs. */
        TFD_TRY(to->await(to, value, 1, st));
    }
    *out = p->number;
    return TFD_OK;
}

/* What is between an Enter or a NextIteration and its Merge must know of dead
 * loops, which a copy does not: both have the memory of the Merge, and the copy
 * comes before them. */
static void join_merge(struct tfd_compiler *c, const struct tfd_node *n)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        uint32_t flags = c->g->nodes[n->in[i].node]->op->flags;

        if (flags & (TFD_OP_ENTER | TFD_OP_NEXT_ITERATION))
            c->nodes[n->in[i].node].device = c->nodes[n->id].device;
    }
}

/* What a function is given and gives is where its caller has it. */
static const struct tfd_kernel function_end = {
    .op = "_Arg",
    .flags = TFD_KERNEL_BY_TYPE,
};

static const struct tfd_kernel *ports_of(const struct tfd_compiler *c,
                                         const struct tfd_node *n)
{
    const struct tfd_plan_node *p = &c->nodes[n->id];

    if (p->device->memory == TFD_MEMORY_HOST)
        return NULL;
    if (p->kind == TFD_EXEC_FEED || p->kind == TFD_EXEC_FETCH)
        return c->env->is_function ? &function_end : NULL;
    return p->kernel
               ? p->kernel
               : tfd_registry_kernel(c->env->registry, n, p->device->kind);
}

enum tfd_code tfd_compile_memory(struct tfd_compiler *c, struct tfd_status *st)
{
    for (int32_t i = 0; i < c->g->count; i++)
        if (c->g->nodes[i]->op->flags & TFD_OP_MERGE)
            join_merge(c, c->g->nodes[i]);
    for (int32_t i = 0; i < c->g->count; i++) {
        struct tfd_plan_node *p = &c->nodes[i];
        struct tfd_device *to;

        p->ports = ports_of(c, c->g->nodes[i]);
        if (p->kind != TFD_EXEC_CONST || p->bound)
            continue;
        to = tfd_compile_out_memory(c, i, 0);
        if (to)
            TFD_TRY(tfd_compile_place(c, p->constant, to, &p->constant, st));
    }
    return TFD_OK;
}
