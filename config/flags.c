/*
 * flags.c - the sources of configuration, in the order of their rank; see
 * flags.h.
 *
 *     tfd_flags_scan            argv -> settings       mistakes: exit 64
 *     tfd_flags_read_file       --config -> settings
 *     tfd_tf_config_parse       TF_CONFIG -> cluster, task, protocol
 *     tfd_flags_choose_cluster  the source of the cluster, and this task
 *     tfd_settings_apply        settings -> fields of struct tfd_config
 *     choose_port, check_training    rules between fields    exit 78
 *     tfd_check_host            this host, with --check_config
 *
 * Values stay text until the last step, so every source is checked by the same
 * readers and --print_config shows what was written.
 */
#include "config/flags.h"

#include "common/thread/cost.h"
#include "config/address.h"
#include "config/check_host.h"
#include "config/environment.h"
#include "config/flags_parse.h"
#include "config/value.h"

#include <stdlib.h>
#include <string.h>

static void fail_status(struct tfd_flags_parse *p, int option, const char *text,
                        const struct tfd_status *st)
{
    char path[TFD_FLAGS_PATH_SIZE];

    tfd_settings_path(&p->settings, option, path, sizeof(path));
    tfd_report_add(&p->errors, path, text, "%s", st->text);
}

void tfd_flags_put(struct tfd_flags_parse *p, int option,
                   enum tfd_option_origin origin, const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (tfd_settings_put(&p->settings, option, origin, text, &st) != TFD_OK)
        fail_status(p, option, text, &st);
}

const char *tfd_flags_said(const struct tfd_flags_parse *p, const char *name,
                           enum tfd_option_origin origin)
{
    return tfd_settings_origin(&p->settings, name) == origin
               ? tfd_settings_text(&p->settings, name)
               : NULL;
}

/* ---- Command line -------------------------------------------------------- */

static void fail_unknown_flag(struct tfd_flags_parse *p, const char *argument)
{
    const struct tfd_option_table *t = p->settings.table;
    char name[80];
    int nearest;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
    if (name[0] != '-') {
        tfd_report_add(&p->errors, name, NULL,
                       "not an option; options look like --port=2222");
        return;
    }
    nearest = tfd_option_nearest(t, name + strspn(name, "-"));
    if (nearest < 0)
        tfd_report_add(&p->errors, name, NULL,
                       "no such option; --help lists them");
    else
        tfd_report_add(&p->errors, name, NULL,
                       "no such option; did you mean --%s?",
                       t->rows[nearest].name);
}

/* A switch: --x, --x=true, --nox. */
static bool scan_switch(struct tfd_flags_parse *p, const char *name,
                        size_t size)
{
    bool negated = size > 2 && strncmp(name, "no", 2) == 0;
    const struct tfd_option_table *t = p->settings.table;
    int option = tfd_option_find(t, name, size);
    const char *text = name[size] == '=' ? name + size + 1 : "true";

    if (option < 0 && negated && name[size] == '\0') {
        option = tfd_option_find(t, name + 2, size - 2);
        text = "false";
    }
    if (option < 0 || t->rows[option].value)
        return false;
    tfd_flags_put(p, option, TFD_ORIGIN_FLAG, text);
    return true;
}

/* Reads argv[at] and returns how many arguments it took. */
static int scan_one(struct tfd_flags_parse *p, int argc, char *const argv[],
                    int at)
{
    const struct tfd_option_table *t = p->settings.table;
    const char *argument = argv[at];
    const char *name = argument + 2;
    size_t size;
    int option;

    if (strcmp(argument, "-h") == 0)
        name = "help";
    else if (argument[0] != '-' && p->word_count < p->words_max)
        return p->words[p->word_count++] = argument, 1;
    else if (strncmp(argument, "--", 2) != 0)
        return fail_unknown_flag(p, argument), 1;
    size = strcspn(name, "=");
    if (scan_switch(p, name, size))
        return 1;
    option = tfd_option_find(t, name, size);
    if (option < 0)
        return fail_unknown_flag(p, argument), 1;
    if (name[size] == '=')
        return tfd_flags_put(p, option, TFD_ORIGIN_FLAG, name + size + 1), 1;
    if (at + 1 < argc && strncmp(argv[at + 1], "--", 2) != 0)
        return tfd_flags_put(p, option, TFD_ORIGIN_FLAG, argv[at + 1]), 2;
    tfd_report_add(&p->errors, argument, NULL, "no value; write %s=%s",
                   argument, t->rows[option].value);
    return 1;
}

void tfd_flags_scan(struct tfd_flags_parse *p, int argc, char *const argv[])
{
    for (int at = 1; at < argc;)
        at += scan_one(p, argc, argv, at);
}

bool tfd_flags_on(const struct tfd_flags_parse *p, const char *name)
{
    bool on = false;

    return tfd_value_bool(tfd_settings_text(&p->settings, name), &on, NULL) ==
               TFD_OK &&
           on;
}

/* ---- Rules between values ------------------------------------------------ */

/* The port of the cluster is the default; another one needs --bind, which says
 * that the way from the peers to here is not a direct one. */
static void choose_port(struct tfd_flags_parse *p)
{
    const char *own = tfd_cluster_own_address(&p->out->cluster);
    const char *flag = tfd_flags_said(p, "port", TFD_ORIGIN_FLAG);
    struct tfd_address address = {"", TFD_PORT_DEFAULT};

    if (*own && tfd_address_parse(own, &address, NULL) != TFD_OK)
        return;
    if (flag && *own && p->out->port != address.port && !p->out->bind)
        tfd_report_add(&p->errors, "--port", flag,
                       "the cluster names this task %s; drop --port, or give "
                       "--bind too",
                       own);
    if (!flag && (*own || !tfd_settings_text(&p->settings, "port")))
        p->out->port = address.port;
}

static void check_training(struct tfd_flags_parse *p)
{
    enum tfd_role role = tfd_cluster_role(&p->out->cluster);

    /* A Slurm step has one command line for all of its tasks. */
    if (p->out->train && (role == TFD_ROLE_PS || role == TFD_ROLE_EVALUATOR) &&
        p->cluster_origin != TFD_ORIGIN_SLURM &&
        tfd_flags_said(p, "train", TFD_ORIGIN_FLAG))
        tfd_report_add(&p->errors, "--train", p->out->train,
                       "job %s does not train; give it to chief and workers",
                       p->out->cluster.job_name);
    for (size_t i = 0; i < tfd_option_count; i++) {
        const char *name = tfd_options[i].name;
        char path[TFD_FLAGS_PATH_SIZE];

        if (p->out->train || !tfd_options[i].of_training ||
            !tfd_flags_said(p, name, TFD_ORIGIN_FLAG))
            continue;
        tfd_settings_path(&p->settings, (int)i, path, sizeof(path));
        tfd_report_add(&p->errors, path,
                       tfd_flags_said(p, name, TFD_ORIGIN_FLAG),
                       "says nothing without --train; give --train=MODEL.meta "
                       "or drop --%s",
                       name);
    }
}

/* ---- All of it ----------------------------------------------------------- */

static void read_all(struct tfd_flags_parse *p, const char *tf_config)
{
    struct tfd_config *c = p->out;

    tfd_flags_read_file(p);
    if (tf_config)
        (void)tfd_tf_config_parse(tf_config, strlen(tf_config), &p->tf,
                                  &p->errors, &c->notes);
    tfd_flags_choose_cluster(p);
    tfd_settings_apply(&p->settings, c, &p->errors);
    if (p->errors.count > 0)
        return;
    choose_port(p);
    check_training(p);
}

static void print_good(const struct tfd_config *c, FILE *to)
{
    tfd_report_print(&c->notes, to, "note: ");
    fprintf(to, "good: task %d of job %s\n", c->cluster.task_index,
            c->cluster.job_name);
}

static void print_cost(FILE *to)
{
    struct tfd_cost cost;

    tfd_cost_probe(&cost);
    tfd_cost_print(&cost, to);
}

static int answer_flags(struct tfd_flags_parse *p, const char *tf_config,
                        FILE *to, FILE *err)
{
    if (p->errors.count > 0) {
        tfd_report_print(&p->errors, err, "tfd: ");
        return TFD_EXIT_USAGE;
    }
    if (tfd_flags_on(p, "help"))
        return tfd_help_print(to), TFD_EXIT_OK;
    if (tfd_flags_on(p, "version"))
        return tfd_help_version(to), TFD_EXIT_OK;
    read_all(p, tf_config);
    if (p->errors.count == 0 && p->out->check_config)
        tfd_check_host(p->out, &p->errors, &p->out->notes);
    if (p->errors.count > 0) {
        tfd_report_print(&p->errors, err, "tfd: ");
        return TFD_EXIT_CONFIG;
    }
    if (p->out->print_config) {
        tfd_help_config(&p->settings, p->out, p->cluster_origin, to);
        tfd_environment_print(to);
        print_cost(to);
    } else if (p->out->check_config)
        print_good(p->out, to);
    return p->out->print_config || p->out->check_config ? TFD_EXIT_OK
                                                        : TFD_FLAGS_RUN;
}

int tfd_flags_parse(struct tfd_config *out, int argc, char *const argv[],
                    const char *tf_config, FILE *to, FILE *err)
{
    struct tfd_flags_parse *p = calloc(1, sizeof(*p));
    int code;

    memset(out, 0, sizeof(*out));
    if (!p) {
        fprintf(err, "tfd: out of memory\n");
        return TFD_EXIT_OS;
    }
    p->out = out;
    p->settings.table = &tfd_option_daemon;
    tfd_tf_config_init(&p->tf);
    tfd_flags_scan(p, argc, argv);
    code = answer_flags(p, tf_config, to, err);
    tfd_tf_config_deinit(&p->tf);
    tfd_settings_deinit(&p->settings);
    free(p);
    return code;
}

void tfd_config_deinit(struct tfd_config *c)
{
    tfd_cluster_deinit(&c->cluster);
    free(c->cluster_from);
    free(c->bind);
    free(c->protocol);
    free(c->gpu_graphs);
    free(c->port_file);
    free(c->flight_recorder);
    free(c->log_level);
    free(c->log_format);
    free(c->gpu_visible);
    free(c->gpu_virtual);
    free(c->train);
    free(c->checkpoint_dir);
    free(c->restore);
    free(c->config);
    free(c->missing_ops);
    for (size_t i = 0; i < c->file_root_count; i++)
        free(c->file_roots[i]);
    memset(c, 0, sizeof(*c));
}
