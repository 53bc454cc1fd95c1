/*
 * ctl.h - tfdctl, the tool of who runs a cluster: its options, its verbs, and
 * how a verb says what it found.
 *
 *     main.c       command line -> verb -> exit code
 *     verbs.c      the table of verbs
 *     options.c    the table of options, read by config/flags_tool.h
 *     NAME.c       the function of a verb
 *     server.c     calls to a server         http.c   its pages
 *     report.c     texts, numbers and errors        table.c  columns
 *
 * A verb makes a JSON value.  --json prints it; else a table of columns shows
 * what a person wants of it.  So both say the same.
 *
 * What comes from a server or a file is never printed as it came: control
 * characters and bytes that are no UTF-8 are replaced (report.h).
 *
 * Threads: one.
 */
#ifndef TFD_TOOLS_CTL_CTL_H
#define TFD_TOOLS_CTL_CTL_H

#include "config/flags_tool.h"

#include <jansson.h>

/* The manual page lists them. */
enum tfd_ctl_exit {
    TFD_CTL_DONE = 0,
    TFD_CTL_NO = 1,         /* the answer is no: damaged, different, lacking */
    TFD_CTL_UNREADABLE = 2, /* a file cannot be read or written */
    TFD_CTL_USAGE = 64,     /* a command line that cannot be read */
    TFD_CTL_UNREACHABLE = 69, /* no server answers there */
    TFD_CTL_REFUSED = 70,     /* the server says no, or what is no answer */
    TFD_CTL_OS = 71,          /* no memory */
    TFD_CTL_CONFIG = 78,      /* a value that is wrong or missing */
};

#define TFD_CTL_LIST_MAX TFD_FILE_ROOTS_MAX
#define TFD_CTL_WORDS_MAX 16

/* The values of an option that may be given several times; owned. */
struct tfd_ctl_list {
    char *texts[TFD_CTL_LIST_MAX];
    size_t count;
};

struct tfd_ctl {
    struct tfd_config config; /* first: help, version and config of it */
    char *target;             /* "host:port"; NULL: not said */
    bool json;
    int64_t timeout_ms; /* of one call; 0: none */
    int64_t wait_ms;
    struct tfd_ctl_list feeds, fetches, ops;
    char *missing, *out, *session;
    int64_t steps;
    bool once, cluster;

    const char *words[TFD_CTL_WORDS_MAX]; /* without the verb */
    size_t word_count;
    const char *verb;
    FILE *to, *err;
};

extern const struct tfd_option_table tfd_ctl_options;
void tfd_ctl_options_deinit(struct tfd_ctl *c);

/* ---- Verbs --------------------------------------------------------------- */

/* Returns an exit code; its mistakes are in c->err. */
typedef int tfd_ctl_fn(struct tfd_ctl *c);

struct tfd_ctl_verb {
    const char *name;
    const char *words;   /* of the usage line; "" */
    const char *options; /* names of those it takes, divided by blanks */
    const char *help;
    int words_min, words_max;
    tfd_ctl_fn *run;
    const char *const *first; /* what the first word may be; NULL: anything */
};

extern const struct tfd_ctl_verb tfd_ctl_verbs[];
extern const size_t tfd_ctl_verb_count;

const struct tfd_ctl_verb *tfd_ctl_verb_find(const char *name);
/* Whether the verb takes the option. */
bool tfd_ctl_verb_takes(const struct tfd_ctl_verb *v, const char *option);

/* Everything, or one verb. */
void tfd_ctl_help(FILE *to);
void tfd_ctl_help_verb(const struct tfd_ctl_verb *v, FILE *to);

tfd_ctl_fn tfd_ctl_health, tfd_ctl_checkpoint, tfd_ctl_ops, tfd_ctl_run,
    tfd_ctl_devices, tfd_ctl_reset, tfd_ctl_bench, tfd_ctl_log_level,
    tfd_ctl_shutdown, tfd_ctl_status, tfd_ctl_sessions, tfd_ctl_variables,
    tfd_ctl_steps, tfd_ctl_top, tfd_ctl_trace;

/* The whole of main(), for tests too. */
int tfd_ctl_main(int argc, char *const argv[], FILE *to, FILE *err);

#endif
