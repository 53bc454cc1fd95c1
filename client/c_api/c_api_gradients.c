/*
 * c_api_gradients.c - TF_AddGradients(), on client/train/gradients.h.
 */
#include "client/train/gradients.h"

#include "config/limits.h"

#include <stdlib.h>

/* The arguments as edges; one array holds those of y, dy, x and the results. */
struct arguments {
    TF_Graph *g;
    const TF_Output *y, *x, *dx; /* named as in the API: dx arrives at y */
    int ny, nx;
    struct tfd_edge *edges;
};

static enum tfd_code resolve_outputs(const TF_Graph *g,
                                     const TF_Output *outputs, int count,
                                     struct tfd_edge *edges,
                                     struct tfd_status *st)
{
    for (int i = 0; i < count; i++)
        TFD_TRY(tfd_capi_edge(g, outputs[i], &edges[i], st));
    return TFD_OK;
}

static enum tfd_code choose_prefix(const TF_Graph *g, const char *asked,
                                   struct tfd_bytes *out, struct tfd_status *st)
{
    const struct tfd_node *taken;

    if (!asked)
        return tfd_gradients_prefix(g, out, st);
    tfd_bytes_add_str(out, tfd_str_of(asked));
    taken = tfd_gradients_prefix_user(g, tfd_bytes_view(out));
    if (taken)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "prefix [%.200s] conflicts with existing node in the "
                        "graph named [" TFD_STR_FMT "]",
                        asked, TFD_STR_ARG(taken->name));
    return tfd_bytes_ok(out, "a prefix of names", st);
}

/* ---- What y is reached from ---------------------------------------------- */

static void mark(uint8_t *reached, const struct tfd_node *n, bool *changed)
{
    for (int32_t i = 0; i < n->in_count; i++) {
        if (n->in[i].node < 0 || reached[n->in[i].node])
            continue;
        reached[n->in[i].node] = 1;
        *changed = true;
    }
}

/* Downwards until nothing changes, for the sake of loops' back edges. */
static void mark_all(const struct arguments *a, uint8_t *reached)
{
    const struct tfd_graph *g = a->g->graph;
    bool changed = true;

    for (int i = 0; i < a->ny; i++)
        reached[a->edges[i].node] = true;
    while (changed) {
        changed = false;
        for (int32_t i = g->count - 1; i >= 0; i--)
            if (reached[i])
                mark(reached, g->nodes[i], &changed);
    }
}

static enum tfd_code check_reached(const struct arguments *a,
                                   const struct tfd_edge *x,
                                   struct tfd_status *st)
{
    uint8_t *reached = calloc((size_t)a->g->graph->count + 1, 1);
    enum tfd_code rc = TFD_OK;

    if (!reached)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a walk");
    mark_all(a, reached);
    for (int i = 0; rc == TFD_OK && i < a->nx; i++)
        if (!reached[x[i].node])
            rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                          "Cannot compute the partial derivative for node "
                          "'" TFD_STR_FMT "' as it's unreachable from the "
                          "output node(s).",
                          TFD_STR_ARG(a->g->graph->nodes[x[i].node]->name));
    free(reached);
    return rc;
}

/* ---- The call ------------------------------------------------------------ */

static enum tfd_code add_gradients(const struct arguments *a, const char *asked,
                                   struct tfd_status *st)
{
    struct tfd_edge *y = a->edges, *dy = y + a->ny, *x = dy + a->ny;
    struct tfd_gradients r = {
        .device = TFD_STR_EMPTY,
        .y = y,
        .y_count = a->ny,
        .dy = a->dx ? dy : NULL,
        .x = x,
        .x_count = a->nx,
        .dx = x + a->nx,
    };
    struct tfd_bytes prefix;
    enum tfd_code rc;

    TFD_TRY(resolve_outputs(a->g, a->y, a->ny, y, st));
    TFD_TRY(resolve_outputs(a->g, a->x, a->nx, x, st));
    if (a->dx)
        TFD_TRY(resolve_outputs(a->g, a->dx, a->ny, dy, st));
    TFD_TRY(check_reached(a, x, st));
    tfd_bytes_init(&prefix, TFD_NAME_SIZE_MAX);
    rc = choose_prefix(a->g, asked, &prefix, st);
    r.prefix = tfd_bytes_view(&prefix);
    if (rc == TFD_OK)
        rc = tfd_gradients_add(a->g, &r, st);
    tfd_bytes_deinit(&prefix);
    return rc;
}

void TF_AddGradientsWithPrefix(TF_Graph *g, const char *prefix, TF_Output *y,
                               int ny, TF_Output *x, int nx, TF_Output *dx,
                               TF_Status *status, TF_Output *dy)
{
    struct tfd_status *st = tfd_capi_status(status);
    struct arguments a = {g, y, x, dx, ny, nx, NULL};

    if (ny >= 0 && nx >= 0)
        a.edges = calloc((size_t)ny * 2 + (size_t)nx * 2 + 1, sizeof(*a.edges));
    if (!a.edges) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %d outputs", nx);
        return;
    }
    tfd_lock(&g->lock);
    if (add_gradients(&a, prefix, st) == TFD_OK)
        for (int i = 0; i < nx; i++)
            dy[i] = tfd_capi_output(g, a.edges[2 * ny + nx + i]);
    tfd_unlock(&g->lock);
    free(a.edges);
}

void TF_AddGradients(TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx,
                     TF_Output *dx, TF_Status *status, TF_Output *dy)
{
    TF_AddGradientsWithPrefix(g, NULL, y, ny, x, nx, dx, status, dy);
}
