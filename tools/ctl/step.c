/*
 * step.c - see step.h.
 */
#include "tools/ctl/step.h"

#include "tools/ctl/feed.h"
#include "tools/npy/npy.h"

#include <string.h>

#define NAMES_SIZE_MAX ((size_t)TFD_CTL_LIST_MAX * 2 * (TFD_NAME_SIZE_MAX + 4))

/* ---- Names --------------------------------------------------------------- */

/* "x:0" of "x", "x:0", and of "x=file", whose file is *file. */
static int take_name(struct tfd_ctl_step *s, const char *option,
                     const char *text, struct tfd_str *name, const char **file)
{
    size_t size = strcspn(text, "="), at = s->names.size;

    *file = text[size] == '=' ? text + size + 1 : NULL;
    if (size == 0 || size > TFD_NAME_SIZE_MAX || (*file && !**file))
        return tfd_ctl_fail(s->server.ctl, TFD_CTL_USAGE,
                            "--%s = %.200s: not a name%s", option, text,
                            *file ? " and a file" : "");
    tfd_bytes_printf(&s->names, "%.*s%s", (int)size, text,
                     memchr(text, ':', size) ? "" : ":0");
    *name = (struct tfd_str){s->names.data + at, s->names.size - at};
    return TFD_CTL_DONE;
}

/* A tensor of the graph whose value is asked for, each once. */
static int add_fetch(struct tfd_ctl_step *s, const char *text)
{
    struct tfd_ctl *c = s->server.ctl;
    struct tfd_str *name = &s->fetch_names[s->fetch_count];
    int code =
        take_name(s, "fetch", text, name, &s->fetch_files[s->fetch_count]);

    if (code != TFD_CTL_DONE)
        return code;
    if (!tfd_ctl_feed_known(s->file.graphs[0], *name))
        return tfd_ctl_fail(c, TFD_CTL_NO,
                            "--fetch = %s: the graph has no such operation",
                            text);
    for (int i = 0; i < s->fetch_count; i++)
        if (tfd_str_eq(s->fetch_names[i], *name))
            return tfd_ctl_fail(c, TFD_CTL_USAGE,
                                "--fetch = %s: is there twice; give it once",
                                text);
    s->fetches[s->fetch_count++] = (struct tfd_tensor)TFD_TENSOR_INIT;
    return TFD_CTL_DONE;
}

static int add_feed(struct tfd_ctl_step *s, const char *text)
{
    struct tfd_ctl *c = s->server.ctl;
    struct tfd_str *name = &s->feed_names[s->feed_count];
    struct tfd_tensor *t = &s->feeds[s->feed_count];
    struct tfd_status st = TFD_STATUS_INIT;
    const char *file;
    int code = take_name(s, "feed", text, name, &file);

    if (code != TFD_CTL_DONE)
        return code;
    if (!file)
        return tfd_ctl_fail(c, TFD_CTL_USAGE,
                            "--feed = %s: no file; write NAME=FILE.npy", text);
    for (int i = 0; i < s->feed_count; i++)
        if (tfd_str_eq(s->feed_names[i], *name))
            return tfd_ctl_fail(c, TFD_CTL_USAGE,
                                "--feed = %s: is there twice; give it once",
                                text);
    if (tfd_ctl_npy_read(file, t, &st) != TFD_OK)
        return tfd_ctl_fail(c, TFD_CTL_UNREADABLE, "--feed = %s: %s", text,
                            st.text);
    s->feed_count++;
    if (tfd_ctl_feed_check(s->file.graphs[0], *name, t, &st) != TFD_OK)
        return tfd_ctl_fail(c, TFD_CTL_NO, "--feed = %s: %s", text, st.text);
    return TFD_CTL_DONE;
}

static int add_op(struct tfd_ctl_step *s, const char *text)
{
    struct tfd_str name = tfd_str_of(text);

    if (!tfd_ctl_feed_known(s->file.graphs[0], name))
        return tfd_ctl_fail(s->server.ctl, TFD_CTL_NO,
                            "--op = %s: the graph has no such operation", text);
    s->op_names[s->op_count++] = name;
    return TFD_CTL_DONE;
}

static int add_all(struct tfd_ctl_step *s, const struct tfd_ctl_list *list,
                   int (*add)(struct tfd_ctl_step *s, const char *text))
{
    int code = TFD_CTL_DONE;

    for (size_t i = 0; i < list->count && code == TFD_CTL_DONE; i++)
        code = add(s, list->texts[i]);
    return code;
}

/* ---- Life ---------------------------------------------------------------- */

static int open_session(struct tfd_ctl_step *s)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_backend *b;
    int code = tfd_ctl_server_open(s->server.ctl, &s->server);

    if (code == TFD_CTL_DONE)
        code = tfd_ctl_server_greet(&s->server);
    if (code != TFD_CTL_DONE)
        return code;
    b = s->server.backend;
    if (b->ops->open(b, s->file.graphs[0], &st) != TFD_OK)
        return tfd_ctl_fail_call(s->server.ctl, s->server.address, &st);
    return TFD_CTL_DONE;
}

int tfd_ctl_step_open(struct tfd_ctl *c, const char *graph,
                      struct tfd_ctl_step *s)
{
    struct tfd_status st = TFD_STATUS_INIT;
    int code;

    memset(s, 0, sizeof(*s));
    s->server.ctl = c;
    tfd_bytes_init(&s->names, NAMES_SIZE_MAX);
    /* Names are views of it: it must not move. */
    if (!tfd_bytes_extend(&s->names, NAMES_SIZE_MAX))
        return tfd_ctl_fail(c, TFD_CTL_OS, "out of memory");
    tfd_bytes_clear(&s->names);
    if (tfd_graph_file_read(&s->file, graph, &st) != TFD_OK)
        return tfd_ctl_fail(c, TFD_CTL_UNREADABLE, "%s", st.text);
    if (s->file.count == 0)
        return tfd_ctl_fail(c, TFD_CTL_UNREADABLE, "%s: no graph in it", graph);
    if (c->fetches.count + c->ops.count == 0)
        return tfd_ctl_fail(c, TFD_CTL_USAGE,
                            "nothing to run; give --fetch=NAME or --op=NAME");
    code = add_all(s, &c->feeds, add_feed);
    if (code == TFD_CTL_DONE)
        code = add_all(s, &c->fetches, add_fetch);
    if (code == TFD_CTL_DONE)
        code = add_all(s, &c->ops, add_op);
    return code == TFD_CTL_DONE ? open_session(s) : code;
}

static void drop_fetches(struct tfd_ctl_step *s)
{
    for (int i = 0; i < s->fetch_count; i++)
        tfd_tensor_unref(&s->fetches[i]);
}

int tfd_ctl_step_run(struct tfd_ctl_step *s, struct tfd_str options,
                     struct tfd_bytes *metadata)
{
    struct tfd_tensor feeds[TFD_CTL_LIST_MAX];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_backend *b = s->server.backend;
    struct tfd_local_run run = {
        .feed_names = s->feed_names,
        .feeds = feeds,
        .feed_count = s->feed_count,
        .fetch_names = s->fetch_names,
        .fetches = s->fetches,
        .fetch_count = s->fetch_count,
        .target_names = s->op_names,
        .target_count = s->op_count,
        .timeout_us = (uint64_t)s->server.ctl->timeout_ms * 1000,
        .options = options,
        .metadata = metadata,
    };

    drop_fetches(s);
    for (int i = 0; i < s->feed_count; i++)
        feeds[i] = tfd_tensor_ref(&s->feeds[i]);
    if (b->ops->run(b, &run, &st) != TFD_OK)
        return tfd_ctl_fail_call(s->server.ctl, s->server.address, &st);
    return TFD_CTL_DONE;
}

void tfd_ctl_step_close(struct tfd_ctl_step *s)
{
    tfd_ctl_server_close(&s->server);
    drop_fetches(s);
    for (int i = 0; i < s->feed_count; i++)
        tfd_tensor_unref(&s->feeds[i]);
    tfd_graph_file_deinit(&s->file);
    tfd_bytes_deinit(&s->names);
}
