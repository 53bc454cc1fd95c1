/*
 * place_rig.h - graphs and the devices that their nodes are given, for tests of
 * daemon/rewrite/place.c, with four tasks of two CPUs each: the master
 * is /job:worker/task:1.
 */
#ifndef TFD_TESTS_SUPPORT_PLACE_RIG_H
#define TFD_TESTS_SUPPORT_PLACE_RIG_H

#include "daemon/rewrite/place.h"

#include "tests/support/planning.h"

/* ps1:0 is /job:ps/task:1/device:CPU:0.  '!' begins a text of a failure, in
 * which '@' is the list of all devices; longer texts may follow it. */
struct placement {
    const char *name;
    bool soft;
    const char *nodes;
    const char *more; /* added by an extension of the session, or NULL */
    const char *want;
};

static inline void make_devices(struct tfd_device_set *set, const char *type)
{
    static const struct {
        const char *job;
        int task;
    } tasks[] = {{"worker", 1}, {"ps", 0}, {"ps", 1}, {"worker", 0}};

    tfd_device_set_init(set);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            add_device(set, tasks[i].job, tasks[i].task, "CPU", k, i);
    if (type)
        add_device(set, "ps", 0, type, 0, 1);
    assert_int_equal(tfd_device_set_finish(set, NULL), TFD_OK);
}

/* As a session does: state stays where it is when the graph grows. */
static inline enum tfd_code place(struct tfd_graph *g,
                                  struct tfd_device_set *set, bool soft,
                                  const char *more, int32_t *device_of,
                                  struct tfd_status *st)
{
    struct tfd_place_request r = {
        .graph = g, .registry = &registry, .devices = set, .soft = soft};
    int32_t pinned[100];

    TFD_TRY(tfd_place(&r, device_of, st));
    if (!more)
        return TFD_OK;
    for (int32_t i = 0; i < g->count; i++)
        pinned[i] =
            g->nodes[i]->op->flags & TFD_OP_STATEFUL ? device_of[i] : -1;
    r.pinned = pinned;
    r.pinned_count = g->count;
    nodes_import(g, more);
    return tfd_place(&r, device_of, st);
}

static inline void placed_text(const struct tfd_graph *g,
                               const struct tfd_device_set *set,
                               const int32_t *device_of, char *text,
                               size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_device *d = &set->devices[device_of[i]];

        at +=
            (size_t)snprintf(text + at, size - at, "%s=%s%d%s:%d ",
                             g->nodes[i]->name.data, d->name.job, d->name.task,
                             d->kind == TFD_GPU ? "GPU" : "", d->name.id);
    }
}

/* Each "a=ps0:0" of want is there; nodes may come in another order. */
static inline void check_placed(const struct placement *c, const char *text)
{
    char want[512], *at = want, *word;

    snprintf(want, sizeof(want), "%s", c->want);
    while ((word = nodes_word(&at, " ")) != NULL)
        if (!strstr(text, word))
            fail_msg("%s: want %s, got %s", c->name, c->want, text);
}

static inline void check_text(const struct placement *c,
                              const struct tfd_device_set *set,
                              const char *text)
{
    struct tfd_bytes all;
    const char *want = c->want + 1;

    tfd_bytes_init(&all, 1 << 20);
    tfd_device_set_text(set, &all);
    for (; *want && *text; want++, text++) {
        size_t size = all.size - 4; /* without "[ " and " ]" */

        if (*want == '@' && memcmp(text, all.data + 2, size) == 0)
            text += size - 1;
        else if (*want != *text)
            break;
    }
    if (*want)
        fail_msg("%s: want %s\ngot %s", c->name, want, text);
    tfd_bytes_deinit(&all);
}

static inline void check(const struct placement *c, const char *type)
{
    struct tfd_graph *g = new_graph(c->nodes);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_device_set set;
    int32_t device_of[100];
    char text[1024];

    make_devices(&set, type);
    if (place(g, &set, c->soft, c->more, device_of, &st) == TFD_OK) {
        placed_text(g, &set, device_of, text, sizeof(text));
        if (c->want[0] == '!')
            fail_msg("%s: want %s\ngot %s", c->name, c->want, text);
        check_placed(c, text);
    } else {
        if (c->want[0] != '!')
            fail_msg("%s: want %s\ngot %s", c->name, c->want, st.text);
        assert_int_equal(st.code, TFD_INVALID_ARGUMENT);
        check_text(c, &set, st.text);
    }
    tfd_device_set_deinit(&set);
    tfd_graph_unref(g);
}

#endif
