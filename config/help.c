/*
 * help.c - --help, --version, --print_config: the table as text.
 */
#include "config/options.h"

#include "config/version.h"

#include <inttypes.h>
#include <string.h>

#define WIDTH 80
#define COLUMN 29 /* where explanations start */

/* Prints words from column `COLUMN` on and never beyond WIDTH. */
static void print_wrapped(FILE *to, const char *text)
{
    size_t column = COLUMN;

    while (*text) {
        size_t size = strcspn(text, " ");

        if (column > COLUMN && column + 1 + size > WIDTH) {
            fprintf(to, "\n%*s", COLUMN, "");
            column = COLUMN;
        }
        column += (size_t)fprintf(to, "%s%.*s", column > COLUMN ? " " : "",
                                  (int)size, text);
        text += size + (text[size] == ' ');
    }
    fputc('\n', to);
}

void tfd_help_option(FILE *to, const struct tfd_option *o)
{
    char head[80];
    char text[400];

    if (o->value)
        snprintf(head, sizeof(head), "  --%s=%s", o->name, o->value);
    else
        snprintf(head, sizeof(head), "  --%s", o->name);
    snprintf(text, sizeof(text), "%s%s%s%s", o->help,
             o->fallback && o->value ? " [" : "",
             o->fallback && o->value ? o->fallback : "",
             o->fallback && o->value ? "]" : "");
    if (strlen(head) + 2 > COLUMN)
        fprintf(to, "%s\n%*s", head, COLUMN, "");
    else
        fprintf(to, "%-*s", COLUMN, head);
    print_wrapped(to, text);
}

void tfd_help_print(FILE *to)
{
    const char *group = "";

    fprintf(to, "usage: tfd [--name=value ...]\n"
                "\n"
                "Runs one task of a TensorFlow cluster: parameter server, "
                "worker or chief.\n"
                "Values come from flags, else TF_CONFIG, else --config, else "
                "[the default].\n");
    for (size_t i = 0; i < tfd_option_count; i++) {
        if (strcmp(group, tfd_options[i].group) != 0)
            fprintf(to, "\n%s:\n", tfd_options[i].group);
        group = tfd_options[i].group;
        tfd_help_option(to, &tfd_options[i]);
    }
    fprintf(
        to,
        "\nDurations: 250ms, 60s, 5m, 2h; a plain number is seconds."
        "\nExit: 0 done, 1 and 2 --missing_ops, 64 usage, 70 training failed, "
        "71 system,\n      78 configuration, 138 a task or the own name stayed "
        "away "
        "or a GPU was\n      lost: another start may do.\n");
}

void tfd_help_version(FILE *to)
{
    fprintf(to,
            "tfd %s\n"
            "compiler: %s\n"
            "protocol: TensorFlow 2.21 master and worker service (gRPC), "
            "tfd frames 1\n",
            TFD_VERSION, __VERSION__);
}

static const char *origin_name(enum tfd_option_origin origin, const char *file)
{
    switch (origin) {
    case TFD_ORIGIN_FILE:
        return file;
    case TFD_ORIGIN_SLURM:
        return "Slurm";
    case TFD_ORIGIN_TF_CONFIG:
        return "TF_CONFIG";
    case TFD_ORIGIN_FLAG:
        return "flag";
    case TFD_ORIGIN_DEFAULT:
        break;
    }
    return "default";
}

static void print_cluster(const struct tfd_cluster *c, const char *origin,
                          FILE *to)
{
    for (size_t i = 0; i < c->job_count; i++) {
        const struct tfd_cluster_job *job = &c->jobs[i];

        for (size_t k = 0; k < job->task_count; k++) {
            const char *address = job->tasks[k].address;
            bool self = strcmp(job->name, c->job_name) == 0 &&
                        job->tasks[k].index == c->task_index;

            fprintf(to, "cluster.%s[%d] = %s (%s)%s\n", job->name,
                    job->tasks[k].index, *address ? address : "no address",
                    origin, self ? " this task" : "");
        }
    }
}

/* What became of a value that was left to the program. */
static void print_resolved(const struct tfd_config *c, const char *name,
                           FILE *to)
{
    if (strcmp(name, "threads") == 0)
        fprintf(to, ": %d", c->threads);
    else if (strcmp(name, "memory_limit") == 0)
        fprintf(to, ": %" PRId64 " bytes", c->memory_limit);
    else if (strcmp(name, "port") == 0)
        fprintf(to, ": %d", c->port);
}

void tfd_help_config(const struct tfd_settings *s, const struct tfd_config *c,
                     enum tfd_option_origin cluster_origin, FILE *to)
{
    for (size_t i = 0; i < tfd_option_count; i++) {
        const struct tfd_setting *setting = &s->of[i];
        const char *name = tfd_options[i].name;
        const char *fallback = tfd_options[i].fallback;
        const char *origin = origin_name(setting->origin, s->file);

        for (size_t k = 0; k < setting->count; k++) {
            fprintf(to, "%s = %s (%s)", name, setting->texts[k], origin);
            print_resolved(c, name, to);
            fputc('\n', to);
        }
        if (setting->count > 0)
            continue;
        fprintf(to, "%s = %s (default)", name, fallback ? fallback : "not set");
        print_resolved(c, name, to);
        fputc('\n', to);
    }
    print_cluster(&c->cluster, origin_name(cluster_origin, s->file), to);
    tfd_report_print(&c->notes, to, "note: ");
}
