/*
 * flags_tool.c - see flags_tool.h.
 */
#include "config/flags_tool.h"

#include "config/flags_parse.h"
#include "config/tf_config.h"

#include <stdlib.h>
#include <string.h>

static int report_mistakes(const struct tfd_flags_parse *p, int code, FILE *err)
{
    char prefix[40];

    snprintf(prefix, sizeof(prefix), "%s: ", p->settings.table->program);
    tfd_report_print(&p->errors, err, prefix);
    return code;
}

static int read_sources(struct tfd_flags_parse *p, FILE *err)
{
    if (p->errors.count > 0)
        return report_mistakes(p, TFD_EXIT_USAGE, err);
    p->out->help = tfd_flags_on(p, "help");
    p->out->version = tfd_flags_on(p, "version");
    if (p->out->help || p->out->version)
        return TFD_FLAGS_RUN;
    tfd_flags_read_file(p);
    tfd_settings_apply(&p->settings, p->out, &p->errors);
    if (p->errors.count > 0)
        return report_mistakes(p, TFD_EXIT_CONFIG, err);
    return TFD_FLAGS_RUN;
}

int tfd_flags_tool_parse(struct tfd_flags_tool *t, struct tfd_config *out,
                         int argc, char *const argv[], FILE *err)
{
    struct tfd_flags_parse *p = calloc(1, sizeof(*p));
    int code;

    if (!p) {
        fprintf(err, "%s: out of memory\n", t->table->program);
        return TFD_EXIT_OS;
    }
    p->out = out;
    p->settings.table = t->table;
    p->words = t->words;
    p->words_max = t->words_max;
    tfd_flags_scan(p, argc, argv);
    t->word_count = p->word_count;
    code = read_sources(p, err);
    tfd_settings_deinit(&p->settings);
    free(p);
    return code;
}

bool tfd_flags_tool_cluster(const char *tf_config, struct tfd_cluster *out,
                            struct tfd_report *errors)
{
    struct tfd_report notes;
    struct tfd_tf_config tf;

    tfd_report_init(&notes);
    tfd_tf_config_init(&tf);
    if (!tfd_tf_config_parse(tf_config, strlen(tf_config), &tf, errors,
                             &notes)) {
        tfd_tf_config_deinit(&tf);
        return false;
    }
    *out = tf.cluster;
    memset(&tf.cluster, 0, sizeof(tf.cluster));
    tfd_cluster_init(&tf.cluster);
    memcpy(out->job_name, tf.has_job ? tf.job_name : "",
           tf.has_job ? strlen(tf.job_name) + 1 : 1);
    out->task_index = tf.task_index < 0 ? 0 : (int32_t)tf.task_index;
    tfd_tf_config_deinit(&tf);
    return true;
}
