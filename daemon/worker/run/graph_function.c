/*
 * graph_function.c - a GraphDef that arrives as a value, as a lasting function
 * (kernels/core/function_call.h).
 *
 * It has a world of its own, with its own library.  Its nodes are written anew:
 * each on the device that runs it, as a worker's graphs want it.
 */
#include "daemon/worker/run/lasting.h"

#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

/* A home is the table of the graph that has the kernel. */
enum tfd_code tfd_rt_home(const struct tfd_prepare *p, struct tfd_rt_home **out,
                          struct tfd_status *st)
{
    struct tfd_function_table *t = tfd_compile_functions(p);

    *out = (struct tfd_rt_home *)t;
    if (t && t->host)
        return TFD_OK;
    return tfd_fail(st, TFD_UNIMPLEMENTED,
                    "{{node " TFD_STR_FMT "}} runs graphs, which is not "
                    "possible here",
                    TFD_STR_ARG(p->node->name));
}

static void put_node(struct tfd_bytes *out, struct tfd_str node,
                     struct tfd_rt *rt)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(node);
    size_t mark = tfd_pb_begin(out, tensorflow_GraphDef_node_tag);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.wire == TFD_PB_BYTES && f.tag != tensorflow_NodeDef_device_tag)
            tfd_pb_put_str_always(out, f.tag, f.bytes);
    tfd_pb_put_str(out, tensorflow_NodeDef_device_tag,
                   tfd_str_of(tfd_rt_device(rt)));
    tfd_pb_finish(out, mark);
}

/* All but the library, which is returned. */
static enum tfd_code write_graph(struct tfd_str graph_def, struct tfd_rt *rt,
                                 struct tfd_bytes *out, struct tfd_str *library,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph_def);
    struct tfd_pb_field f;

    *library = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &f)) {
        if (f.wire != TFD_PB_BYTES)
            continue;
        if (f.tag == tensorflow_GraphDef_node_tag)
            put_node(out, f.bytes, rt);
        else if (f.tag == tensorflow_GraphDef_library_tag)
            *library = f.bytes;
        else
            tfd_pb_put_str_always(out, f.tag, f.bytes);
    }
    TFD_TRY(tfd_pb_end(&r, "GraphDef", st));
    return tfd_bytes_ok(out, "a graph", st);
}

static struct tfd_lasting_world *make_world(const struct tfd_function_table *of,
                                            struct tfd_str library,
                                            struct tfd_status *st)
{
    struct tfd_graph *g = tfd_graph_new(of->graph->ops, st);
    struct tfd_lasting_world *w = NULL;

    if (g && tfd_functions_add(g, library, st) == TFD_OK) {
        g->versions = of->graph->versions;
        w = tfd_lasting_world_new(of, g, st);
    }
    tfd_graph_unref(g);
    return w;
}

static enum tfd_code make_function(struct tfd_function_table *t,
                                   struct tfd_rt *rt, struct tfd_str graph_def,
                                   int32_t arg_count,
                                   struct tfd_rt_function **out,
                                   struct tfd_status *st)
{
    struct tfd_rt_function *f = tfd_arena_alloc(&t->arena, sizeof(*f));

    TFD_TRY(tfd_arena_check(f, "a graph", st));
    f->table = t;
    f->rt = rt;
    f->kind = TFD_FUNCTION_GRAPH;
    f->key = f->func.name = TFD_STR("graph");
    f->in_count = arg_count;
    f->out_count = 1;
    f->graph_def = tfd_arena_str(&t->arena, graph_def);
    TFD_TRY(tfd_arena_check(f->graph_def.data, "a graph", st));
    if (!tfd_map_put(&t->by_key, f->key, (uintptr_t)f))
        return tfd_arena_check(NULL, "a graph", st);
    *out = f;
    return TFD_OK;
}

enum tfd_code tfd_rt_graph_function(struct tfd_rt_home *home, struct tfd_rt *rt,
                                    struct tfd_str graph_def, int32_t arg_count,
                                    struct tfd_rt_function **out,
                                    struct tfd_status *st)
{
    const struct tfd_function_table *of =
        (const struct tfd_function_table *)home;
    struct tfd_lasting_world *w;
    struct tfd_bytes written;
    struct tfd_str library;
    enum tfd_code rc;

    tfd_bytes_init(&written, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = write_graph(graph_def, rt, &written, &library, st);
    w = rc == TFD_OK ? make_world(of, library, st) : NULL;
    if (rc == TFD_OK && !w)
        rc = st && st->code != TFD_OK ? st->code : TFD_RESOURCE_EXHAUSTED;
    if (w)
        rc = make_function(w->table, rt, tfd_bytes_view(&written), arg_count,
                           out, st);
    if (w && rc != TFD_OK)
        tfd_lasting_world_let_go(w);
    tfd_bytes_deinit(&written);
    return rc;
}
