/*
 * server.c - see server.h.
 */
#include "tools/ctl/server.h"

#include "common/proto/config.pb.h"
#include "config/address.h"
#include "config/environment.h"

#include <string.h>

#define ANSWER_SIZE_MAX ((size_t)64 << 20)

/* ---- Which --------------------------------------------------------------- */

static const char scheme[] = "grpc://";

/* Of the task that this environment is for. */
static bool find_task(struct tfd_ctl *c, const char *tf_config, char *address)
{
    struct tfd_report errors;
    struct tfd_cluster cluster;
    const char *found = NULL;

    tfd_report_init(&errors);
    tfd_cluster_init(&cluster);
    if (!tfd_flags_tool_cluster(tf_config, &cluster, &errors)) {
        tfd_report_print(&errors, c->err, "tfdctl: ");
        return false;
    }
    if (cluster.job_name[0])
        found =
            tfd_cluster_address(&cluster, cluster.job_name, cluster.task_index);
    snprintf(address, TFD_ADDRESS_SIZE_MAX, "%s",
             found && *found ? found : "localhost");
    tfd_cluster_deinit(&cluster);
    return true;
}

int tfd_ctl_server_find(struct tfd_ctl *c, char address[TFD_ADDRESS_SIZE_MAX])
{
    const char *tf_config = tfd_environment_get(TFD_ENVIRONMENT_TF_CONFIG);
    const char *target = c->target ? c->target : "";
    char with_port[TFD_ADDRESS_SIZE_MAX];
    struct tfd_address parsed;
    struct tfd_status st = TFD_STATUS_INIT;
    char found[TFD_ADDRESS_SIZE_MAX] = "localhost";

    if (strncmp(target, scheme, strlen(scheme)) == 0)
        target += strlen(scheme);
    if (!c->target && tf_config && !find_task(c, tf_config, found))
        return TFD_CTL_CONFIG;
    if (!c->target)
        target = found;
    if (!strchr(target, ':') && *target && strlen(target) < TFD_HOST_SIZE_MAX) {
        snprintf(with_port, sizeof(with_port), "%s:%d", target,
                 TFD_PORT_DEFAULT);
        target = with_port;
    }
    if (tfd_address_parse(target, &parsed, &st) == TFD_OK && parsed.port == 0)
        (void)tfd_fail(&st, TFD_INVALID_ARGUMENT,
                       "nobody listens on port 0; write host:%d",
                       TFD_PORT_DEFAULT);
    if (st.code != TFD_OK)
        return tfd_ctl_fail(c, TFD_CTL_CONFIG, "--target = %.200s: %s", target,
                            st.text);
    tfd_address_format(&parsed, address);
    return TFD_CTL_DONE;
}

/* ---- Calls --------------------------------------------------------------- */

int tfd_ctl_server_open(struct tfd_ctl *c, struct tfd_ctl_server *s)
{
    char target[TFD_ADDRESS_SIZE_MAX + sizeof(scheme)];
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes config;
    int code;

    *s = (struct tfd_ctl_server){.ctl = c};
    code = tfd_ctl_server_find(c, s->address);
    if (code != TFD_CTL_DONE)
        return code;
    snprintf(target, sizeof(target), "%s%s", scheme, s->address);
    tfd_bytes_init(&config, 64);
    tfd_pb_put_int(&config, tensorflow_ConfigProto_operation_timeout_in_ms_tag,
                   c->timeout_ms);
    s->backend = tfd_remote_backend(target, tfd_bytes_view(&config), &st);
    tfd_bytes_deinit(&config);
    if (!s->backend)
        return tfd_ctl_fail(c, TFD_CTL_CONFIG, "%s: %s", s->address, st.text);
    return TFD_CTL_DONE;
}

void tfd_ctl_server_close(struct tfd_ctl_server *s)
{
    if (!s->backend)
        return;
    s->backend->ops->cancel(s->backend);
    s->backend->ops->free(s->backend);
    s->backend = NULL;
}

enum tfd_code tfd_ctl_server_call(struct tfd_ctl_server *s,
                                  enum tfd_method_number method,
                                  struct tfd_str request, int64_t wait_ms,
                                  struct tfd_bytes *out, struct tfd_status *st)
{
    int64_t timeout_ms = s->ctl->timeout_ms;
    struct tfd_remote_call call;
    enum tfd_code rc;

    tfd_remote_call_init(&call, (struct tfd_remote *)s->backend, method);
    call.options.wait_ready = wait_ms > 0;
    if (wait_ms > 0)
        timeout_ms = wait_ms;
    call.options.timeout_us = (uint64_t)timeout_ms * 1000;
    tfd_bytes_add_str(&call.request.proto, request);
    rc = tfd_remote_call_run(&call, st);
    if (rc == TFD_OK && out) {
        tfd_bytes_init(out, ANSWER_SIZE_MAX);
        tfd_bytes_add_str(out, call.response.proto);
        rc = tfd_bytes_ok(out, "the answer", st);
        if (rc != TFD_OK)
            tfd_bytes_deinit(out);
    }
    tfd_remote_call_deinit(&call);
    return rc;
}

int tfd_ctl_server_greet(struct tfd_ctl_server *s)
{
    struct tfd_status st = TFD_STATUS_INIT;

    /* What it answers does not matter. */
    if (tfd_ctl_server_call(s, TFD_METHOD_GetStatus, TFD_STR_EMPTY, 0, NULL,
                            &st) == TFD_OK ||
        (st.code != TFD_UNAVAILABLE && st.code != TFD_DEADLINE_EXCEEDED))
        return TFD_CTL_DONE;
    return tfd_ctl_fail_call(s->ctl, s->address, &st);
}
