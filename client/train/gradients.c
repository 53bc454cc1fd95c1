/*
 * gradients.c - a program's graph as the place where gradients go: see
 * gradients.h.
 */
#include "client/train/gradients.h"

static enum tfd_code add_gradient_node(void *arg,
                                       const struct tfd_node_spec *spec,
                                       struct tfd_node **out,
                                       struct tfd_status *st)
{
    TF_Operation *added;

    TFD_TRY(tfd_capi_add(arg, spec, &added, st));
    *out = added->node;
    return TFD_OK;
}

static const struct tfd_shape *shape_of(void *arg, struct tfd_edge e)
{
    const TF_Graph *g = arg;

    return &g->operations[e.node]->shapes[e.output];
}

enum tfd_code tfd_gradients_add(TF_Graph *g, struct tfd_gradients *r,
                                struct tfd_status *st)
{
    const struct tfd_gradient_host host = {g->graph, add_gradient_node,
                                           shape_of, g};
    int32_t first = g->graph->count;
    enum tfd_code rc;

    r->host = &host;
    rc = tfd_gradient_walk(r, st);
    if (rc != TFD_OK)
        tfd_capi_truncate(g, first);
    r->host = NULL;
    return rc;
}

const struct tfd_node *tfd_gradients_prefix_user(const TF_Graph *g,
                                                 struct tfd_str prefix)
{
    for (int32_t i = 0; i < g->operation_count; i++) {
        struct tfd_str name = g->operations[i]->node->name;

        if (name.size >= prefix.size &&
            tfd_str_eq((struct tfd_str){name.data, prefix.size}, prefix) &&
            (name.size == prefix.size || name.data[prefix.size] == '/'))
            return g->operations[i]->node;
    }
    return NULL;
}

enum tfd_code tfd_gradients_prefix(const TF_Graph *g, struct tfd_bytes *out,
                                   struct tfd_status *st)
{
    tfd_bytes_clear(out);
    tfd_bytes_printf(out, "gradients");
    for (int i = 1; tfd_gradients_prefix_user(g, tfd_bytes_view(out)); i++) {
        tfd_bytes_clear(out);
        tfd_bytes_printf(out, "gradients_%d", i);
    }
    return tfd_bytes_ok(out, "a prefix of names", st);
}
