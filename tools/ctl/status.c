/*
 * status.c - see status.h.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "tools/ctl/status.h"

#include "tools/ctl/http.h"
#include "tools/ctl/server.h"

#include "config/environment.h"

#include <string.h>

#define PAGE_MAX ((size_t)64 << 20)
#define ADDRESSES_MAX 100000

/* ---- The document -------------------------------------------------------- */

static int fail_page(struct tfd_ctl *c, const char *address, const char *page,
                     const struct tfd_status *st)
{
    if (st->code != TFD_NOT_FOUND && st->code != TFD_UNIMPLEMENTED)
        return tfd_ctl_fail_call(c, address, st);
    return tfd_ctl_fail(c, TFD_CTL_REFUSED,
                        "%s has no %s (%s): no tfd, or an older one; "
                        "what TensorFlow's servers do they do not tell",
                        address, page, st->text);
}

static int parse_page(struct tfd_ctl *c, const char *address, const char *page,
                      const struct tfd_bytes *body, json_t **doc)
{
    json_error_t error;

    *doc = json_loadb(body->data ? body->data : "", body->size,
                      JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (*doc && json_is_object(*doc))
        return TFD_CTL_DONE;
    tfd_ctl_fail(c, TFD_CTL_REFUSED, "%s%s: %s%.100s", address, page,
                 *doc ? "not an object" : "no JSON: ", *doc ? "" : error.text);
    json_decref(*doc);
    *doc = NULL;
    return TFD_CTL_REFUSED;
}

int tfd_ctl_status_get(struct tfd_ctl *c, const char *page, json_t **doc)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char address[TFD_ADDRESS_SIZE_MAX];
    struct tfd_bytes body;
    int code = tfd_ctl_server_find(c, address);

    *doc = NULL;
    if (code != TFD_CTL_DONE)
        return code;
    if (tfd_ctl_http_get(address, page, c->timeout_ms, PAGE_MAX, &body, &st) !=
        TFD_OK)
        code = fail_page(c, address, page, &st);
    else
        code = parse_page(c, address, page, &body, doc);
    tfd_bytes_deinit(&body);
    return code;
}

json_t *tfd_ctl_status_part(const json_t *doc, const char *key)
{
    json_t *at = (json_t *)doc;

    while (at && *key) {
        size_t size = strcspn(key, ".");

        at = json_object_getn(at, key, size);
        key += size + (key[size] == '.');
    }
    return at;
}

/* ---- Addresses ----------------------------------------------------------- */

static int config_addresses(struct tfd_ctl *c, const char *tf_config,
                            json_t *list)
{
    struct tfd_cluster cluster;
    struct tfd_report errors;

    tfd_report_init(&errors);
    tfd_cluster_init(&cluster);
    if (!tfd_flags_tool_cluster(tf_config, &cluster, &errors)) {
        tfd_report_print(&errors, c->err, "tfdctl: ");
        return TFD_CTL_CONFIG;
    }
    for (size_t i = 0; i < cluster.job_count; i++)
        for (size_t k = 0; k < cluster.jobs[i].task_count; k++)
            if (*cluster.jobs[i].tasks[k].address)
                json_array_append_new(
                    list, json_string(cluster.jobs[i].tasks[k].address));
    tfd_cluster_deinit(&cluster);
    return TFD_CTL_DONE;
}

/* Of the tasks that the server lists; itself by the address it was asked at,
 * where it says no other. */
static int server_addresses(struct tfd_ctl *c, json_t *list)
{
    char asked[TFD_ADDRESS_SIZE_MAX];
    json_t *doc, *task;
    int code = tfd_ctl_status_get(c, TFD_CTL_STATUS_PAGE, &doc);
    size_t i;

    if (code == TFD_CTL_DONE)
        code = tfd_ctl_server_find(c, asked);
    if (code != TFD_CTL_DONE)
        return json_decref(doc), code;
    json_array_foreach(tfd_ctl_status_part(doc, "cluster.tasks"), i, task)
    {
        json_t *address = json_object_get(task, "address");

        if (i == ADDRESSES_MAX)
            break;
        if (json_is_true(json_object_get(task, "self")))
            json_array_append_new(list, json_string(asked));
        else if (json_is_string(address) && *json_string_value(address))
            json_array_append(list, address);
    }
    json_decref(doc);
    if (json_array_size(list) == 0)
        return tfd_ctl_fail(c, TFD_CTL_REFUSED,
                            "the server lists no tasks; give TF_CONFIG");
    return TFD_CTL_DONE;
}

int tfd_ctl_status_addresses(struct tfd_ctl *c, json_t **addresses)
{
    const char *tf_config = tfd_environment_get(TFD_ENVIRONMENT_TF_CONFIG);
    int code = TFD_CTL_DONE;

    *addresses = json_array();
    if (tf_config && !c->target)
        code = config_addresses(c, tf_config, *addresses);
    if (code == TFD_CTL_DONE && json_array_size(*addresses) == 0)
        code = server_addresses(c, *addresses);
    return code;
}
