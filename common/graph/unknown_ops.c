/*
 * unknown_ops.c - see unknown_ops.h.
 */
#define _GNU_SOURCE 1 /* gethostname() */

#include "common/graph/unknown_ops.h"

#include "common/graph/graph_internal.h"
#include "common/base/pbio.h"

#include <stdio.h>
#include <unistd.h>

/* Leaves room in a status for TensorFlow's text and a function's name. */
#define NAMES_SIZE_MAX 900

static bool is_first_time(struct tfd_unknown_ops *u, struct tfd_str type)
{
    uintptr_t unused;

    /* Without memory the list is shorter; the error is still right. */
    return !tfd_map_get(&u->seen, type, &unused) &&
           tfd_map_put(&u->seen, type, 1);
}

void tfd_unknown_ops_begin(struct tfd_unknown_ops *u, const struct tfd_graph *g,
                           struct tfd_str first)
{
    *u = (struct tfd_unknown_ops){.g = g, .first = first, .count = 1};
    tfd_map_init(&u->seen);
    tfd_bytes_init(&u->names, 2 * NAMES_SIZE_MAX);
    (void)is_first_time(u, first);
}

void tfd_unknown_ops_see(struct tfd_unknown_ops *u, struct tfd_str type)
{
    char text[TFD_PRINTABLE_MAX];

    if (tfd_function_op(u->g, type) || !is_first_time(u, type))
        return;
    u->count++;
    if (u->names.size >= NAMES_SIZE_MAX)
        return;
    tfd_bytes_printf(&u->names, ", %s", tfd_graph_printable(type, text));
    u->listed++;
}

static void see_functions(struct tfd_unknown_ops *u)
{
    for (const struct tfd_graph *g = u->g; g; g = g->library_of)
        for (const struct tfd_function *f = g->functions; f; f = f->next)
            for (int32_t i = 0; i < f->node_count; i++)
                tfd_unknown_ops_see(u, f->nodes[i].op);
}

/* All of them, where there are several; terminated. */
static void put_list(struct tfd_unknown_ops *u, struct tfd_bytes *out)
{
    char text[TFD_PRINTABLE_MAX];
    int32_t rest = u->count - 1 - u->listed;

    if (u->count == 1)
        return;
    tfd_bytes_printf(out, " Not registered are %d ops of this graph: %s",
                     u->count, tfd_graph_printable(u->first, text));
    tfd_bytes_add_str(out, tfd_bytes_view(&u->names));
    if (rest > 0)
        tfd_bytes_printf(out, " and %d more", rest);
    tfd_bytes_printf(out, ".");
}

enum tfd_code tfd_unknown_ops_fail(struct tfd_unknown_ops *u,
                                   struct tfd_str function,
                                   struct tfd_status *st)
{
    char host[256] = "this host", first[TFD_PRINTABLE_MAX];
    char name[TFD_PRINTABLE_MAX];
    struct tfd_bytes list;
    enum tfd_code rc;

    see_functions(u);
    tfd_bytes_init(&list, 4 * NAMES_SIZE_MAX);
    put_list(u, &list);
    if (gethostname(host, sizeof(host) - 1))
        snprintf(host, sizeof(host), "this host");
    rc = tfd_fail(st, TFD_NOT_FOUND,
                  "Op type not registered '%s' in binary running on %s. Make "
                  "sure the Op and Kernel are registered in the binary running "
                  "in this process. Note that if you are loading a saved "
                  "graph which used ops from tf.contrib (e.g. "
                  "`tf.contrib.resampler`), accessing should be done before "
                  "importing the graph, as contrib ops are lazily registered "
                  "when the module is first accessed.%s%s%s",
                  tfd_graph_printable(u->first, first), host,
                  list.size ? list.data : "",
                  function.size ? "\n\t while building function " : "",
                  function.size ? tfd_graph_printable(function, name) : "");
    tfd_bytes_deinit(&list);
    tfd_bytes_deinit(&u->names);
    tfd_map_deinit(&u->seen);
    return rc;
}
