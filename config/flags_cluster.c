/*
 * flags_cluster.c - which source names the cluster and this task; see flags.h.
 *
 * The cluster comes whole from the highest source that has one.  Where flags
 * and TF_CONFIG both say something about cluster, task or protocol, they must
 * say the same.  A Slurm step's comes beside none of these (--cluster_from).
 */
#include "config/flags_parse.h"

#include "config/cluster_json.h"
#include "config/json.h"
#include "config/launcher/slurm.h"
#include "config/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const host_options[] = {"ps_hosts", "worker_hosts",
                                           "chief_hosts", "evaluator_hosts"};

#define HOST_OPTIONS (sizeof(host_options) / sizeof(host_options[0]))

static void read_spec(struct tfd_flags_parse *p, struct tfd_cluster *c,
                      const char *text, enum tfd_option_origin origin)
{
    char path[TFD_FLAGS_PATH_SIZE];
    json_t *jobs;

    if (origin == TFD_ORIGIN_FILE)
        snprintf(path, sizeof(path), "%.60s: cluster_spec", p->settings.file);
    else
        snprintf(path, sizeof(path), "--cluster_spec");
    jobs = tfd_json_load(text, strlen(text), path, &p->errors);
    if (!jobs)
        return;
    tfd_cluster_json_read(c, jobs, path, &p->errors);
    json_decref(jobs);
}

/* The cluster that flags, or the file, spell out. */
static void read_cluster(struct tfd_flags_parse *p, struct tfd_cluster *c,
                         enum tfd_option_origin origin)
{
    const char *spec = tfd_flags_said(p, "cluster_spec", origin);
    char head[80] = "--";

    if (origin == TFD_ORIGIN_FILE && p->settings.file)
        snprintf(head, sizeof(head), "%.60s: ", p->settings.file);
    for (size_t i = 0; i < HOST_OPTIONS; i++) {
        const char *hosts = tfd_flags_said(p, host_options[i], origin);
        int size = (int)strcspn(host_options[i], "_");
        char text[TFD_FLAGS_PATH_SIZE];

        if (!hosts)
            continue;
        if (spec) {
            snprintf(text, sizeof(text), "%s%s", head, host_options[i]);
            tfd_report_add(&p->errors, text, hosts,
                           "given beside cluster_spec; keep one of them");
            return;
        }
        snprintf(text, sizeof(text), "%.*s", size, host_options[i]);
        tfd_cluster_json_hosts(c, text, hosts, head, &p->errors);
    }
    if (spec)
        read_spec(p, c, spec, origin);
}

/* Flags and TF_CONFIG both name a cluster: they must agree. */
static void compare_clusters(struct tfd_flags_parse *p,
                             const struct tfd_cluster *flags)
{
    char path[TFD_FLAGS_PATH_SIZE], other[TFD_FLAGS_PATH_SIZE];
    const char *job, *a, *b;
    int32_t index;

    if (!tfd_cluster_difference(flags, &p->tf.cluster, &job, &index))
        return;
    tfd_cluster_path(flags, job, index, path, sizeof(path));
    tfd_cluster_path(&p->tf.cluster, job, index, other, sizeof(other));
    a = tfd_cluster_address(flags, job, index);
    b = tfd_cluster_address(&p->tf.cluster, job, index);
    tfd_report_add(&p->errors, path, a ? a : "(not set)",
                   "%s is %.200s; keep one of the two", other,
                   b ? b : "not set");
}

/* Takes the cluster of the highest source that has one. */
static void choose_source(struct tfd_flags_parse *p)
{
    struct tfd_cluster flags;

    tfd_cluster_init(&flags);
    read_cluster(p, &flags, TFD_ORIGIN_FLAG);
    if (p->tf.cluster.job_count > 0) {
        p->cluster_origin = TFD_ORIGIN_TF_CONFIG;
        if (flags.job_count > 0)
            compare_clusters(p, &flags);
        tfd_cluster_deinit(&flags);
        p->out->cluster = p->tf.cluster;
        tfd_cluster_init(&p->tf.cluster);
    } else if (flags.job_count > 0) {
        p->cluster_origin = TFD_ORIGIN_FLAG;
        p->out->cluster = flags;
    } else {
        read_cluster(p, &p->out->cluster, TFD_ORIGIN_FILE);
        p->cluster_origin = p->out->cluster.job_count > 0 ? TFD_ORIGIN_FILE
                                                          : TFD_ORIGIN_DEFAULT;
    }
}

/* One value that a flag and TF_CONFIG both give. */
static void compare_texts(struct tfd_flags_parse *p, const char *name,
                          const char *text, const char *tf_path, bool equal)
{
    const char *flag = tfd_flags_said(p, name, TFD_ORIGIN_FLAG);
    char path[TFD_FLAGS_PATH_SIZE];

    if (!flag) {
        tfd_flags_put(p, tfd_option_find(p->settings.table, name, strlen(name)),
                      TFD_ORIGIN_TF_CONFIG, text);
        return;
    }
    if (equal)
        return;
    snprintf(path, sizeof(path), "--%s", name);
    tfd_report_add(&p->errors, path, flag, "%s is %s; keep one of the two",
                   tf_path, text);
}

static void merge_tf_config(struct tfd_flags_parse *p)
{
    const char *job = tfd_flags_said(p, "job_name", TFD_ORIGIN_FLAG);
    const char *index = tfd_flags_said(p, "task_index", TFD_ORIGIN_FLAG);
    const char *protocol = tfd_flags_said(p, "protocol", TFD_ORIGIN_FLAG);
    const char *tf_job = p->tf.has_job ? p->tf.job_name : "";
    char number[32];
    int64_t value = -1;

    if (*tf_job)
        compare_texts(p, "job_name", tf_job, "TF_CONFIG.task.type",
                      job && tfd_cluster_same_job(job, tf_job));
    if (p->tf.task_index >= 0) {
        snprintf(number, sizeof(number), "%" PRId64, p->tf.task_index);
        compare_texts(p, "task_index", number, "TF_CONFIG.task.index",
                      index &&
                          tfd_value_number(index, 0, INT64_MAX, &value, NULL) ==
                              TFD_OK &&
                          value == p->tf.task_index);
    }
    if (*p->tf.protocol)
        compare_texts(p, "protocol", p->tf.protocol, "TF_CONFIG.rpc_layer",
                      protocol && strcmp(protocol, p->tf.protocol) == 0);
}

/* ---- Slurm --------------------------------------------------------------- */

/* What the step says of this task, where nobody else says another thing. */
static void put_slurm(struct tfd_flags_parse *p, const char *name,
                      const char *text, bool equal)
{
    int option = tfd_option_find(p->settings.table, name, strlen(name));
    const char *said = tfd_settings_text(&p->settings, name);
    char path[TFD_FLAGS_PATH_SIZE];

    if (said && !equal) {
        tfd_settings_path(&p->settings, option, path, sizeof(path));
        tfd_report_add(&p->errors, path, said,
                       "by SLURM_PROCID and --jobs this is %s; keep one of "
                       "the two",
                       text);
        return;
    }
    tfd_flags_put(p, option, TFD_ORIGIN_SLURM, text);
}

static void read_slurm(struct tfd_flags_parse *p)
{
    const char *job = tfd_settings_text(&p->settings, "job_name");
    const char *index = tfd_settings_text(&p->settings, "task_index");
    const char *base = tfd_settings_text(&p->settings, "port_base");
    char path[TFD_FLAGS_PATH_SIZE], number[32];
    struct tfd_slurm_self self;
    int64_t port, said = -1;

    tfd_settings_path(&p->settings,
                      tfd_option_find(p->settings.table, "jobs", 4), path,
                      sizeof(path));
    /* Of a bad port its own reader tells. */
    if (tfd_value_number(base, 1, 65535, &port, NULL) != TFD_OK)
        port = 1;
    p->cluster_origin = TFD_ORIGIN_SLURM;
    if (!tfd_slurm_read(tfd_settings_text(&p->settings, "jobs"), path,
                        (int32_t)port, &p->out->cluster, &self, &p->errors))
        return;
    snprintf(number, sizeof(number), "%d", self.task_index);
    put_slurm(p, "job_name", self.job_name,
              job && tfd_cluster_same_job(job, self.job_name));
    put_slurm(p, "task_index", number,
              index &&
                  tfd_value_number(index, 0, TFD_TASK_INDEX_MAX, &said, NULL) ==
                      TFD_OK &&
                  said == self.task_index);
}

/* After the other sources: a cluster that one of them names is no gap. */
static void choose_slurm(struct tfd_flags_parse *p)
{
    const char *from = tfd_settings_text(&p->settings, "cluster_from");
    const char *jobs = tfd_flags_said(p, "jobs", TFD_ORIGIN_FLAG);
    bool named = p->out->cluster.job_count > 0;
    bool only = strcmp(from, "slurm") == 0;
    char path[TFD_FLAGS_PATH_SIZE];

    if (only && named) {
        tfd_settings_path(
            &p->settings,
            tfd_option_find(p->settings.table, "cluster_from", 12), path,
            sizeof(path));
        tfd_report_add(&p->errors, path, from,
                       "%s names a cluster too; keep one of the two",
                       p->cluster_origin == TFD_ORIGIN_TF_CONFIG ? "TF_CONFIG"
                       : p->cluster_origin == TFD_ORIGIN_FLAG
                           ? "another flag"
                           : p->settings.file);
    } else if (only ||
               (!named && strcmp(from, "auto") == 0 && tfd_slurm_here())) {
        read_slurm(p);
    } else if (jobs && strcmp(from, "config") == 0) {
        tfd_report_add(&p->errors, "--jobs", jobs,
                       "says nothing without --cluster_from=slurm; give that "
                       "or drop --jobs");
    }
}

/* ---- This task ----------------------------------------------------------- */

/* Where a value of the task was said, or where to say it. */
static void self_path(const struct tfd_flags_parse *p, const char *name,
                      const char *tf_path, char *path)
{
    int option = tfd_option_find(p->settings.table, name, strlen(name));

    if (tfd_settings_origin(&p->settings, name) == TFD_ORIGIN_TF_CONFIG ||
        (tfd_settings_origin(&p->settings, name) == TFD_ORIGIN_DEFAULT &&
         p->cluster_origin == TFD_ORIGIN_TF_CONFIG))
        snprintf(path, TFD_FLAGS_PATH_SIZE, "%s", tf_path);
    else
        tfd_settings_path(&p->settings, option, path, TFD_FLAGS_PATH_SIZE);
}

static void choose_task(struct tfd_flags_parse *p)
{
    char job_path[TFD_FLAGS_PATH_SIZE], index_path[TFD_FLAGS_PATH_SIZE];
    const char *job = tfd_settings_text(&p->settings, "job_name");
    const char *index = tfd_settings_text(&p->settings, "task_index");
    struct tfd_cluster_self self = {job, job_path, -1, index_path, false};
    struct tfd_status st = TFD_STATUS_INIT;

    self.alone = p->tf.alone;
    self_path(p, "job_name", "TF_CONFIG.task.type", job_path);
    self_path(p, "task_index", "TF_CONFIG.task.index", index_path);
    if (index && tfd_value_number(index, 0, TFD_TASK_INDEX_MAX, &self.index,
                                  &st) != TFD_OK) {
        tfd_report_add(&p->errors, index_path, index, "%s", st.text);
        return;
    }
    if (p->errors.count == 0)
        tfd_cluster_choose(&p->out->cluster, &self, &p->errors);
}

void tfd_flags_choose_cluster(struct tfd_flags_parse *p)
{
    merge_tf_config(p);
    choose_source(p);
    choose_slurm(p);
    choose_task(p);
}
