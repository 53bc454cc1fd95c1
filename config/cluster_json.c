/*
 * cluster_json.c - see cluster_json.h.
 */
#include "config/cluster_json.h"

#include "config/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 300

static void add_task(struct tfd_cluster *c, const char *job, int64_t index,
                     const json_t *address, const char *path,
                     struct tfd_report *errors)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (!json_is_string(address) || json_string_length(address) == 0) {
        tfd_json_fail(errors, path, address,
                      "not an address; write \"host:port\" or drop it");
        return;
    }
    if (tfd_cluster_add(c, job, index, json_string_value(address), &st) !=
        TFD_OK)
        tfd_json_fail(errors, path, address, "%s", st.text);
}

static void add_list(struct tfd_cluster *c, const char *job, const json_t *list,
                     const char *path, struct tfd_report *errors)
{
    size_t index;
    json_t *address;

    json_array_foreach(list, index, address)
    {
        char at[PATH_SIZE + 32];

        snprintf(at, sizeof(at), "%s[%zu]", path, index);
        add_task(c, job, (int64_t)index, address, at, errors);
    }
}

static void add_map(struct tfd_cluster *c, const char *job, json_t *map,
                    const char *path, struct tfd_report *errors)
{
    const char *key;
    json_t *address;

    json_object_foreach(map, key, address)
    {
        char at[PATH_SIZE + 64];
        int64_t index;

        snprintf(at, sizeof(at), "%s[%.40s]", path, key);
        if (tfd_value_number(key, 0, TFD_TASK_INDEX_MAX, &index, NULL) !=
            TFD_OK)
            tfd_json_fail(errors, at, address,
                          "the key is no task index; write \"0\", \"1\", ...");
        else
            add_task(c, job, index, address, at, errors);
    }
}

void tfd_cluster_json_read(struct tfd_cluster *c, const json_t *jobs,
                           const char *path, struct tfd_report *errors)
{
    const char *job;
    json_t *tasks;

    snprintf(c->source_head, sizeof(c->source_head), "%.90s.", path);
    json_object_foreach((json_t *)jobs, job, tasks)
    {
        char at[PATH_SIZE];

        snprintf(at, sizeof(at), "%.90s.%.100s", path, job);
        if (json_is_array(tasks))
            add_list(c, job, tasks, at, errors);
        else if (json_is_object(tasks))
            add_map(c, job, tasks, at, errors);
        else if (json_is_string(tasks))
            tfd_json_fail(errors, at, tasks,
                          "not a list; write [\"host:port\"]");
        else if (!json_is_null(tasks)) /* Go's empty list */
            tfd_json_fail(errors, at, tasks,
                          "neither a list of addresses nor a map from index "
                          "to address; write [\"host:port\"]");
    }
}

void tfd_cluster_json_hosts(struct tfd_cluster *c, const char *job,
                            const char *hosts, const char *head,
                            struct tfd_report *errors)
{
    char host[TFD_ADDRESS_SIZE_MAX];
    char path[PATH_SIZE];
    int64_t index = 0;

    snprintf(c->source_head, sizeof(c->source_head), "%.90s", head);
    snprintf(c->source_tail, sizeof(c->source_tail), "_hosts");
    while (*hosts) {
        size_t size = strcspn(hosts, ",");
        struct tfd_status st = TFD_STATUS_INIT;
        bool last = hosts[size] == '\0';

        snprintf(host, sizeof(host), "%.*s", size > 300 ? 300 : (int)size,
                 hosts);
        snprintf(path, sizeof(path), "%.90s%s_hosts[%d]", head, job,
                 (int)index);
        if (size == 0 || (!last && hosts[size + 1] == '\0'))
            tfd_report_add(errors, path, hosts,
                           "an empty address; drop the comma");
        else if (tfd_cluster_add(c, job, index, host, &st) != TFD_OK)
            tfd_report_add(errors, path, host, "%s", st.text);
        index++;
        hosts += last ? size : size + 1;
    }
}
