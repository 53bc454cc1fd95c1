/*
 * options.c - the options of tfdctl, by the table of config/options.h.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "tools/ctl/ctl.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Appends a text to a list. */
static enum tfd_code read_list(const struct tfd_option *o, const char *text,
                               struct tfd_config *c, struct tfd_status *st)
{
    struct tfd_ctl_list *list =
        (struct tfd_ctl_list *)(void *)((char *)c + o->offset);

    if (list->count == TFD_CTL_LIST_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "given more than %d times; give fewer",
                        TFD_CTL_LIST_MAX);
    list->texts[list->count] = strdup(text);
    if (!list->texts[list->count])
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    list->count++;
    return TFD_OK;
}

#define AT(member) .offset = offsetof(struct tfd_ctl, member)
#define TEXT tfd_option_read_text
#define SWITCH tfd_option_read_bool
#define DURATION tfd_option_read_duration
#define NUMBER tfd_option_read_int64

#define ALL "Of all verbs"
#define SERVER "Of verbs that ask a server"
#define SOME "Of some verbs"

/* clang-format off */
static const struct tfd_option options[] = {
    {SERVER, "target", "HOST:PORT", NULL,
     "the server to ask; default: the task that TF_CONFIG names, else "
     "localhost:2222", TEXT, AT(target)},
    {SERVER, "timeout", "DURATION", "30s",
     "how long one call may take, and one step; 0: for ever",
     DURATION, AT(timeout_ms)},
    {ALL, "json", NULL, "false",
     "print JSON, of which nothing is left out or cut", SWITCH, AT(json)},
    {ALL, "config", "FILE", NULL,
     "a JSON object with the names of these options as keys",
     TEXT, AT(config.config)},
    {SOME, "wait", "DURATION", "0s",
     "health: how long to wait for a server that is not ready yet; trace: for "
     "steps of clients; 0: not at all, 60s of trace",
     DURATION, AT(wait_ms)},
    {SOME, "feed", "NAME=FILE.npy", NULL,
     "run, trace: a value for a tensor of the graph; may be given several "
     "times", read_list, AT(feeds), .repeated = true},
    {SOME, "fetch", "NAME[=FILE.npy]", NULL,
     "run, trace: a tensor to print, or to write; may be given several times",
     read_list, AT(fetches), .repeated = true},
    {SOME, "op", "NAME", NULL,
     "run, trace: an operation to run, of which nothing is fetched; may be "
     "given several times", read_list, AT(ops), .repeated = true},
    {SOME, "missing", "GRAPH", NULL,
     "ops: what a GraphDef, MetaGraphDef or SavedModel wants and tfd lacks",
     TEXT, AT(missing)},
    {SOME, "steps", "N", "0",
     "bench: steps of each case; trace: steps to trace, of clients at most "
     "1000; steps: how many of "
     "the last ones; 0: 1000 of bench, 1 of trace, all",
     NUMBER, AT(steps), .min = 0, .max = 1000000},
    {SOME, "session", "HANDLE", NULL,
     "trace: steps of this session alone, as `tfdctl sessions` shows it",
     TEXT, AT(session)},
    {SOME, "out", "FILE", NULL,
     "trace: the file for Chrome and Perfetto", TEXT, AT(out)},
    {SOME, "once", NULL, "false",
     "top: show it once and end", SWITCH, AT(once)},
    {SOME, "cluster", NULL, "false",
     "shutdown: every task of the cluster", SWITCH, AT(cluster)},
    {ALL, "help", NULL, "false", "this text, or that of a verb",
     SWITCH, AT(config.help)},
    {ALL, "version", NULL, "false", "version and build",
     SWITCH, AT(config.version)},
};
/* clang-format on */

const struct tfd_option_table tfd_ctl_options = {"tfdctl", options,
                                                 COUNT(options)};

_Static_assert(COUNT(options) <= TFD_OPTIONS_MAX, "raise TFD_OPTIONS_MAX");

static void free_list(struct tfd_ctl_list *list)
{
    while (list->count > 0)
        free(list->texts[--list->count]);
}

void tfd_ctl_options_deinit(struct tfd_ctl *c)
{
    free(c->target);
    free(c->missing);
    free(c->out);
    free(c->session);
    free_list(&c->feeds);
    free_list(&c->fetches);
    free_list(&c->ops);
    tfd_config_deinit(&c->config);
}
