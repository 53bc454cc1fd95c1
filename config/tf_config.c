/*
 * tf_config.c - see tf_config.h.
 *
 * Two tables hold the keys of the whole and of "task"; a key that is in neither
 * is a note, unless it is one letter away from a known one.
 */
#include "config/tf_config.h"

#include "config/cluster_json.h"
#include "config/json.h"
#include "config/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct parse {
    struct tfd_tf_config *out;
    struct tfd_report *errors;
    struct tfd_report *notes;
};

typedef void take_fn(struct parse *p, const char *path, const json_t *value);

struct key {
    const char *name;
    take_fn *take; /* NULL: noted with `why` */
    const char *why;
};

static void note(struct parse *p, const char *path, const char *why)
{
    if (p->notes)
        tfd_report_add(p->notes, path, NULL, "%s", why);
}

/* ---- cluster ------------------------------------------------------------- */

static void take_cluster(struct parse *p, const char *path, const json_t *value)
{
    if (json_is_null(value)) { /* Go's empty map */
        p->out->alone = true;
        return;
    }
    if (!json_is_object(value)) {
        tfd_json_fail(p->errors, path, value,
                      "not a map from job to addresses; write "
                      "{\"ps\": [\"host:port\"], ...}");
        return;
    }
    tfd_cluster_json_read(&p->out->cluster, value, path, p->errors);
    p->out->alone = p->out->cluster.job_count == 0;
}

/* Flags written as keys; the fix is the same list under the job's name. */
static void take_hosts(struct parse *p, const char *path, const json_t *value)
{
    const char *name = strrchr(path, '.') + 1;
    int size = (int)strcspn(name, "_");

    tfd_json_fail(p->errors, path, value,
                  "not a key of TF_CONFIG; write \"cluster\": "
                  "{\"%.*s\": [\"host:port\"]}",
                  size, name);
}

/* ---- task ---------------------------------------------------------------- */

static void take_type(struct parse *p, const char *path, const json_t *value)
{
    size_t size = json_string_length(value);

    if (!json_is_string(value) || size == 0 || size > TFD_JOB_NAME_SIZE_MAX) {
        tfd_json_fail(p->errors, path, value,
                      "not a job name; write \"ps\", \"worker\", \"chief\" or "
                      "\"evaluator\"");
        return;
    }
    memcpy(p->out->job_name, json_string_value(value), size + 1);
    p->out->has_job = true;
}

static void take_index(struct parse *p, const char *path, const json_t *value)
{
    int64_t index;

    if (!tfd_json_int(value, &index))
        tfd_json_fail(p->errors, path, value,
                      "not a task index; write a number from 0");
    else if (index < 0)
        tfd_json_fail(p->errors, path, value,
                      "task index must be non-negative number; count from 0");
    else
        p->out->task_index = index;
}

/* ---- the rest ------------------------------------------------------------ */

static void take_rpc_layer(struct parse *p, const char *path,
                           const json_t *value)
{
    const char *text = json_string_value(value);

    if (!text || (strcmp(text, "") != 0 && strcmp(text, "grpc") != 0))
        tfd_json_fail(p->errors, path, value,
                      "not a protocol of tfd; write \"grpc\" or drop it");
    else
        snprintf(p->out->protocol, sizeof(p->out->protocol), "%s", text);
}

static void take_service(struct parse *p, const char *path, const json_t *value)
{
    if (!json_is_object(value))
        tfd_json_fail(p->errors, path, value,
                      "\"service\" must be a dict; write {...} or drop it");
    else
        note(p, path, "ignored: Estimator's");
}

static take_fn take_task;

static const struct key root_keys[] = {
    {"cluster", take_cluster, NULL},
    {"sparseCluster", take_cluster, NULL},
    {"task", take_task, NULL},
    {"rpc_layer", take_rpc_layer, NULL},
    {"service", take_service, NULL},
    {"ps_hosts", take_hosts, NULL},
    {"worker_hosts", take_hosts, NULL},
    {"chief_hosts", take_hosts, NULL},
    {"master_hosts", take_hosts, NULL},
    {"evaluator_hosts", take_hosts, NULL},
    {"ps", take_hosts, NULL},
    {"worker", take_hosts, NULL},
    {"chief", take_hosts, NULL},
    {"environment", NULL, "ignored: only TensorFlow before 1.4 read it"},
    {"job", NULL, "ignored: the launcher's own record"},
    {"model_dir", NULL, "ignored: Estimator's; give --checkpoint_dir"},
    {"session_master", NULL, "ignored: a client's target, not a server's"},
    {"eval_session_master", NULL, "ignored: a client's target"},
    {NULL, NULL, NULL},
};

static const struct key task_keys[] = {
    {"type", take_type, NULL},
    {"index", take_index, NULL},
    {"trial", NULL, "ignored: the launcher's own record"},
    {"cloud", NULL, "ignored: the launcher's own record"},
    {NULL, NULL, NULL},
};

static const struct key *find_key(const struct key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (strcmp(keys->name, name) == 0)
            return keys;
    return NULL;
}

/* A key that nobody knows: a slip of the pen, or another launcher's. */
static void take_unknown(struct parse *p, const struct key *keys,
                         const char *path, const char *name,
                         const json_t *value)
{
    for (; keys->name; keys++) {
        if (tfd_value_near(name, keys->name)) {
            tfd_json_fail(p->errors, path, value,
                          "not a key of TF_CONFIG; did you mean \"%s\"?",
                          keys->name);
            return;
        }
    }
    note(p, path, "ignored: not a key of TF_CONFIG");
}

static void take_keys(struct parse *p, const struct key *keys,
                      const char *prefix, const json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)object, name, value)
    {
        const struct key *key = find_key(keys, name);
        char path[200];

        snprintf(path, sizeof(path), "%s.%.100s", prefix, name);
        if (!key)
            take_unknown(p, keys, path, name, value);
        else if (key->take)
            key->take(p, path, value);
        else
            note(p, path, key->why);
    }
}

static void take_task(struct parse *p, const char *path, const json_t *value)
{
    if (!json_is_object(value))
        tfd_json_fail(p->errors, path, value,
                      "not an object; write {\"type\": \"worker\", "
                      "\"index\": 0}");
    else
        take_keys(p, task_keys, path, value);
}

/*
 * Kubeflow's sparse form: a worker sees every ps and itself; a ps sees itself
 * alone, in a list of one, whatever its index.  Known by its key, or by the
 * empty map of workers that goes with it.
 */
static void renumber_sparse_ps(struct parse *p, const json_t *root)
{
    const json_t *sparse = json_object_get(root, "sparseCluster");
    const json_t *jobs = sparse ? sparse : json_object_get(root, "cluster");
    const json_t *workers = json_object_get(jobs, "worker");
    const char *address = tfd_cluster_address(&p->out->cluster, "ps", 0);
    bool no_workers = json_is_null(workers) || (json_is_object(workers) &&
                                                json_object_size(workers) == 0);
    bool is_sparse = sparse || no_workers;
    struct tfd_cluster own;
    struct tfd_status st = TFD_STATUS_INIT;

    if (!is_sparse || strcmp(p->out->job_name, "ps") != 0 ||
        p->out->task_index <= 0 || p->out->cluster.task_count != 1 || !address)
        return;
    own = p->out->cluster;
    tfd_cluster_init(&p->out->cluster);
    memcpy(p->out->cluster.source_head, own.source_head,
           sizeof(own.source_head));
    if (tfd_cluster_add(&p->out->cluster, "ps", p->out->task_index, address,
                        &st) != TFD_OK)
        tfd_report_add(p->errors, "TF_CONFIG.task.index", NULL, "%s", st.text);
    tfd_cluster_deinit(&own);
}

void tfd_tf_config_init(struct tfd_tf_config *t)
{
    memset(t, 0, sizeof(*t));
    tfd_cluster_init(&t->cluster);
    t->task_index = -1;
}

void tfd_tf_config_deinit(struct tfd_tf_config *t)
{
    tfd_cluster_deinit(&t->cluster);
}

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r\n", text[i]) || text[i] == '\0')
            return false;
    return true;
}

bool tfd_tf_config_parse(const char *text, size_t size,
                         struct tfd_tf_config *out, struct tfd_report *errors,
                         struct tfd_report *notes)
{
    struct parse p = {out, errors, notes};
    size_t before = errors->count;
    json_t *root;

    if (is_blank(text, size))
        return true;
    root = tfd_json_load(text, size, "TF_CONFIG", errors);
    if (!root)
        return false;
    if (json_object_get(root, "cluster") &&
        json_object_get(root, "sparseCluster"))
        tfd_report_add(errors, "TF_CONFIG.sparseCluster", NULL,
                       "given beside \"cluster\"; keep one of them");
    else
        take_keys(&p, root_keys, "TF_CONFIG", root);
    renumber_sparse_ps(&p, root);
    json_decref(root);
    return errors->count == before;
}
