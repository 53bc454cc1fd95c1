/*
 * shared_states.c - see shared_states.h.
 *
 * A state is made outside of the lock, as prepare() may take long or take locks
 * of its own; of two that are made at once the first stays.
 */
#include "daemon/worker/compile/shared_states.h"

#include <stdlib.h>
#include <string.h>

struct shared_state {
    struct shared_state *next; /* of another node with this name */
    const struct tfd_kernel *kernel;
    const struct tfd_node *node;
    void *state;
    struct tfd_graph *graph; /* the node's; the state may point into it */
    char name[];
};

/* ---- States -------------------------------------------------------------- */

static bool same_attrs(const struct tfd_node *a, const struct tfd_node *b)
{
    struct tfd_str x, y;

    for (int32_t i = 0; i < a->op->attr_count; i++) {
        const char *name = a->op->attrs[i].name.data;
        bool has = tfd_node_attr(a, name, &x);

        if (has != tfd_node_attr(b, name, &y) || (has && !tfd_str_eq(x, y)))
            return false;
    }
    return true;
}

static struct shared_state *find_state(struct tfd_shared_states *s,
                                       const struct tfd_node *node,
                                       const struct tfd_kernel *kernel)
{
    struct shared_state *x;
    uintptr_t value;

    if (!tfd_map_get(&s->by_name, node->name, &value))
        return NULL;
    x = (struct shared_state *)value;
    while (x && (x->kernel != kernel || x->node->op != node->op ||
                 !same_attrs(x->node, node)))
        x = x->next;
    return x;
}

/* Takes over x, unless there is one by now; NULL without memory. */
static struct shared_state *insert_state(struct tfd_shared_states *s,
                                         struct shared_state *x)
{
    struct shared_state *first = find_state(s, x->node, x->kernel);
    struct tfd_str name = x->node->name;
    uintptr_t value;

    if (first)
        return first;
    if (tfd_map_get(&s->by_name, name, &value)) {
        first = (struct shared_state *)value; /* the map's key is its name */
        x->next = first->next;
        first->next = x;
        return x;
    }
    return tfd_map_put(&s->by_name, (struct tfd_str){x->name, name.size},
                       (uintptr_t)x)
               ? x
               : NULL;
}

static enum tfd_code make_state(struct tfd_shared_states *s,
                                const struct tfd_kernel *kernel,
                                const struct tfd_prepare *p,
                                struct tfd_graph *graph, void **state,
                                struct tfd_status *st)
{
    struct tfd_str name = p->node->name;
    struct shared_state *x = calloc(1, sizeof(*x) + name.size + 1), *kept;
    enum tfd_code rc;

    if (!x)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for the kernel of " TFD_STR_FMT,
                        TFD_STR_ARG(name));
    memcpy(x->name, name.data, name.size);
    x->kernel = kernel;
    x->node = p->node;
    rc = tfd_exec_prepare(kernel, p, &x->state, st);
    if (rc != TFD_OK) {
        free(x);
        return rc;
    }
    tfd_lock(&s->lock);
    kept = insert_state(s, x);
    if (kept)
        *state = kept->state;
    if (kept == x)
        x->graph = tfd_graph_ref(graph);
    tfd_unlock(&s->lock);
    if (kept != x) {
        tfd_exec_release(kernel, x->state);
        free(x);
    }
    return kept ? TFD_OK
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                           "no memory for the kernel of " TFD_STR_FMT,
                           TFD_STR_ARG(name));
}

enum tfd_code tfd_shared_states_get(struct tfd_shared_states *s,
                                    const struct tfd_kernel *kernel,
                                    const struct tfd_prepare *p,
                                    struct tfd_graph *graph, void **state,
                                    struct tfd_status *st)
{
    struct shared_state *x;

    tfd_lock(&s->lock);
    x = find_state(s, p->node, kernel);
    if (x)
        *state = x->state;
    tfd_unlock(&s->lock);
    return x ? TFD_OK : make_state(s, kernel, p, graph, state, st);
}

/* ---- All of them --------------------------------------------------------- */

void tfd_shared_states_init(struct tfd_shared_states *s)
{
    tfd_lock_init(&s->lock, TFD_LOCK_SESSION);
    tfd_map_init(&s->by_name);
}

void tfd_shared_states_clear(struct tfd_shared_states *s)
{
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&s->by_name, &at, &e)) {
        struct shared_state *x = (struct shared_state *)e->value;

        while (x) {
            struct shared_state *next = x->next;

            tfd_exec_release(x->kernel, x->state);
            tfd_graph_unref(x->graph);
            free(x);
            x = next;
        }
    }
    tfd_map_deinit(&s->by_name);
    tfd_map_init(&s->by_name);
}

void tfd_shared_states_deinit(struct tfd_shared_states *s)
{
    tfd_shared_states_clear(s);
    tfd_map_deinit(&s->by_name);
    tfd_lock_deinit(&s->lock);
}
