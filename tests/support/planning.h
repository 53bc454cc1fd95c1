/*
 * planning.h - what tests of the master's planning (placement, pruning,
 * partition) begin with: every op there is, the devices of tasks, and a
 * signature as text.
 */
#ifndef TFD_TESTS_SUPPORT_PLANNING_H
#define TFD_TESTS_SUPPORT_PLANNING_H

#include "daemon/rewrite/partition.h"
#include "kernels/core/registry.h"
#include "tests/support/nodes.h"

static struct tfd_registry registry;

static inline int setup_registry(void **state)
{
    (void)state;
    return tfd_registry_init(&registry, tfd_families, tfd_family_count, NULL) !=
           TFD_OK;
}

static inline int teardown_registry(void **state)
{
    (void)state;
    tfd_registry_deinit(&registry);
    return 0;
}

static inline struct tfd_graph *new_graph(const char *nodes)
{
    struct tfd_graph *g = tfd_graph_new(&registry.ops, NULL);

    assert_non_null(g);
    nodes_import(g, nodes);
    return g;
}

/* ---- Pruned graphs as text --------------------------------------------- */

static inline const char *part_name(const struct tfd_graph *g,
                                    const struct tfd_pruned *p, int32_t i)
{
    static char text[4][64];
    static int turn;
    const struct tfd_part_node *n = &p->nodes[i];
    char *out = text[turn++ % 4];

    snprintf(out, sizeof(text[0]), "%s%s%s%.0d",
             n->kind == TFD_PART_FEED    ? "feed."
             : n->kind == TFD_PART_FETCH ? "fetch."
                                         : "",
             g->nodes[n->node]->name.data,
             n->kind != TFD_PART_NODE && n->output > 0 ? ":" : "",
             n->kind != TFD_PART_NODE ? n->output : 0);
    return out;
}

/* "a b(a,feed.c:1,^d) ~e(^d) fetch.b(b)" in the order of the list; ~: a node
 * that runs as a NoOp. */
static inline void put_pruned(const struct tfd_graph *g,
                              const struct tfd_pruned *p, struct tfd_bytes *out)
{
    for (int32_t i = 0; i < p->count; i++) {
        const struct tfd_part_node *n = &p->nodes[i];
        int inputs = 0;

        tfd_bytes_printf(out, "%s%s%s", i ? " " : "", n->no_op ? "~" : "",
                         part_name(g, p, i));
        for (int32_t k = 0; k < n->in_count; k++) {
            tfd_bytes_printf(out, "%s%s", inputs++ ? "," : "(",
                             part_name(g, p, n->in[k].node));
            if (n->in[k].output > 0)
                tfd_bytes_printf(out, ":%d", n->in[k].output);
        }
        for (int32_t k = 0; k < n->control_count; k++)
            tfd_bytes_printf(out, "%s^%s", inputs++ ? "," : "(",
                             part_name(g, p, n->control[k]));
        if (inputs)
            tfd_bytes_printf(out, ")");
    }
}

/* ---- Devices ------------------------------------------------------------- */

/* Its incarnation is 100 for the first of a set, then 101, ... */
static inline void add_device(struct tfd_device_set *set, const char *job,
                              int task, const char *type, int number,
                              int worker)
{
    struct tfd_device_attributes a = {.incarnation = 100};

    a.incarnation += (uint64_t)set->count;
    snprintf(a.name, sizeof(a.name), "/job:%s/replica:0/task:%d/device:%s:%d",
             job, task, type, number);
    snprintf(a.type, sizeof(a.type), "%s", type);
    assert_int_equal(tfd_device_set_add(set, &a, worker, NULL, NULL), TFD_OK);
}

/* The device of a node is written as its number in the set, 0 for none. */
static inline void note_devices(const struct tfd_graph *g, int32_t first,
                                int32_t *device_of)
{
    for (int32_t i = first; i < g->count; i++) {
        struct tfd_str device = g->nodes[i]->device;

        device_of[i] = device.size ? device.data[0] - '0' : 0;
    }
}

/* ---- Signatures ---------------------------------------------------------- */

struct signature {
    struct tfd_signature sig;
    struct tfd_str names[4][NODES_LIST_MAX];
    char text[1024];
};

/* "feeds|fetches|targets|from,to,from,to", each separated by commas. */
static inline void parse(struct signature *s, const char *text)
{
    char *at = s->text, *end;
    int count[4] = {0, 0, 0, 0};

    memset(s, 0, sizeof(*s));
    snprintf(s->text, sizeof(s->text), "%s", text);
    for (int i = 0; i < 4 && at; i++) {
        end = strchr(at, '|');
        if (end)
            *end++ = '\0';
        count[i] = nodes_split(at, s->names[i], ',');
        at = end;
    }
    s->sig.feeds = s->names[0];
    s->sig.feed_count = count[0];
    s->sig.fetches = s->names[1];
    s->sig.fetch_count = count[1];
    s->sig.fetch_labels = s->names[1];
    s->sig.targets = s->names[2];
    s->sig.target_count = count[2];
    s->sig.connections = s->names[3];
    s->sig.connection_count = count[3] / 2;
}

/* ---- Rewriting ----------------------------------------------------------- */

/* A graph, what is asked of it, and what is left (put_pruned()). */
struct rewriting {
    const char *nodes;
    const char *signature;
    const char *want;
};

/* What is tested: a pass over what was pruned. */
typedef enum tfd_code rewrite_fn(struct tfd_graph *g, struct tfd_pruned *p,
                                 struct tfd_arena *arena);

static inline void check_rewriting(const struct rewriting *c,
                                   rewrite_fn *rewrite)
{
    struct tfd_graph *g = new_graph(c->nodes);
    struct tfd_arena arena;
    struct tfd_pruned pruned;
    struct signature s;
    struct tfd_bytes text;

    parse(&s, c->signature);
    tfd_arena_init(&arena, 1 << 20);
    tfd_bytes_init(&text, 1 << 20);
    assert_int_equal(tfd_prune(g, &s.sig, &arena, &pruned, NULL), TFD_OK);
    assert_int_equal(rewrite(g, &pruned, &arena), TFD_OK);
    put_pruned(g, &pruned, &text);
    if (strcmp(text.data, c->want) != 0)
        fail_msg("%s of %s:\nwant %s\ngot  %s", c->signature, c->nodes, c->want,
                 text.data);
    tfd_bytes_deinit(&text);
    tfd_arena_deinit(&arena);
    tfd_graph_unref(g);
}

#endif
