/*
 * verbs.c - the table of verbs, of which help, the manual page and the
 * completions are made.
 */
#include "tools/ctl/ctl.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ASKS "target timeout "

static const char *const checkpoint_words[] = {"ls", "show", "verify", "diff",
                                               NULL};

static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

/* clang-format off */
const struct tfd_ctl_verb tfd_ctl_verbs[] = {
    {"health", "", ASKS "wait",
     "whether a server answers and takes work: 0 it does, 1 it takes none, "
     "69 nobody answers", 0, 0, tfd_ctl_health, NULL},
    {"devices", "", ASKS,
     "the devices of all tasks that the server knows, with their memory",
     0, 0, tfd_ctl_devices, NULL},
    {"run", "GRAPH", ASKS "feed fetch op",
     "runs one step of the graph of a file (GraphDef, MetaGraphDef or "
     "SavedModel; binary or text) in a session of its own", 1, 1,
     tfd_ctl_run, NULL},
    {"bench", "", ASKS "steps",
     "how long small steps take: median and 99th percentile", 0, 0,
     tfd_ctl_bench, NULL},
    {"reset", "[CONTAINER ...]", ASKS,
     "closes the sessions of the server and forgets the variables of these "
     "containers, or of all", 0, TFD_CTL_WORDS_MAX, tfd_ctl_reset, NULL},
    {"status", "", ASKS,
     "what the server does: its build, its cluster, and how much of "
     "everything it has", 0, 0, tfd_ctl_status, NULL},
    {"sessions", "", ASKS,
     "the sessions and eager contexts of the server, by client", 0, 0,
     tfd_ctl_sessions, NULL},
    {"variables", "", ASKS,
     "the variables, tables and queues of the server, by size", 0, 0,
     tfd_ctl_variables, NULL},
    {"steps", "", ASKS "steps",
     "the running steps and what each waits for, and the last ones with "
     "their times", 0, 0, tfd_ctl_steps, NULL},
    {"top", "", ASKS "once",
     "tasks, steps and plans, again each second", 0, 0, tfd_ctl_top, NULL},
    {"trace", "[GRAPH]", ASKS "feed fetch op steps session wait out",
     "writes what each device of every task did when, for Chrome and Perfetto: "
     "in the next steps that clients of the server run, or in steps of the "
     "graph of a file; 1: there were fewer steps", 0, 1,
     tfd_ctl_trace, NULL},
    {"log-level", "[LEVEL]", ASKS,
     "shows the level of the server's log, or sets it: error, warn, info, "
     "debug", 0, 1, tfd_ctl_log_level, levels},
    {"shutdown", "", ASKS "cluster",
     "ends the server as SIGTERM does: running steps may end", 0, 0,
     tfd_ctl_shutdown, NULL},
    {"checkpoint", "ls DIR | show PREFIX | verify PREFIX | diff PREFIX PREFIX",
     "",
     "ls: the checkpoints of a folder; show: the tensors of one; verify: "
     "reads each and compares its checksum, 1: damaged; diff: what is not "
     "the same, 1: something", 2, 3, tfd_ctl_checkpoint, checkpoint_words},
    {"ops", "", "missing",
     "the operations that this build has; --missing: those that a graph wants "
     "and it lacks, 1: some, 2: the file cannot be read", 0, 0, tfd_ctl_ops,
     NULL},
};
/* clang-format on */

const size_t tfd_ctl_verb_count = COUNT(tfd_ctl_verbs);

const struct tfd_ctl_verb *tfd_ctl_verb_find(const char *name)
{
    for (size_t i = 0; i < tfd_ctl_verb_count; i++)
        if (strcmp(tfd_ctl_verbs[i].name, name) == 0)
            return &tfd_ctl_verbs[i];
    return NULL;
}

bool tfd_ctl_verb_takes(const struct tfd_ctl_verb *v, const char *option)
{
    static const char *const always[] = {"json", "config", "help", "version"};
    const char *at = v->options;
    size_t size = strlen(option);

    for (size_t i = 0; i < COUNT(always); i++)
        if (strcmp(always[i], option) == 0)
            return true;
    while ((at = strstr(at, option))) {
        if ((at == v->options || at[-1] == ' ') &&
            (at[size] == ' ' || at[size] == '\0'))
            return true;
        at += size;
    }
    return false;
}
