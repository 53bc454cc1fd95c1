/*
 * operate.c - tfdctl log-level and shutdown, by tfd.Peer/Operate.
 */
#include "tools/ctl/server.h"
#include "tools/ctl/status.h"
#include "tools/ctl/table.h"

#include "common/proto/peer.pb.h"

#include <string.h>

#define TASKS_MAX 100000

/* What a task said. */
static enum tfd_code read_operated(struct tfd_str answer, json_t *row,
                                   struct tfd_status *st)
{
    static const struct {
        uint32_t tag;
        const char *key;
    } texts[] = {{tfd_Operated_task_tag, "task"},
                 {tfd_Operated_version_tag, "version"},
                 {tfd_Operated_log_level_tag, "log_level"}};
    struct tfd_pb_reader r = tfd_pb_reader_of(answer);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            if (f.tag == texts[i].tag)
                json_object_set_new(row, texts[i].key,
                                    tfd_ctl_text(tfd_pb_str(&r, &f)));
        if (f.tag == tfd_Operated_stopping_tag)
            json_object_set_new(row, "stopping",
                                json_boolean(tfd_pb_bool(&r, &f)));
    }
    return tfd_pb_end(&r, "Operated", st);
}

/* Row of what it said; NULL after a line that says why not. */
static json_t *operate(struct tfd_ctl *c, struct tfd_str request, int *code)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_ctl_server s;
    struct tfd_bytes answer;
    json_t *row = NULL;
    enum tfd_code rc = TFD_UNKNOWN;

    *code = tfd_ctl_server_open(c, &s);
    if (*code == TFD_CTL_DONE) {
        rc = tfd_ctl_server_call(&s, TFD_METHOD_Operate, request, 0, &answer,
                                 &st);
        row = json_pack("{s:s, s:b}", "target", s.address, "stopping", 0);
    }
    if (rc == TFD_OK) {
        rc = read_operated(tfd_bytes_view(&answer), row, &st);
        tfd_bytes_deinit(&answer);
    }
    if (*code == TFD_CTL_DONE && rc == TFD_UNIMPLEMENTED)
        *code = tfd_ctl_fail(c, TFD_CTL_REFUSED,
                             "%s: no tfd, or an older one: TensorFlow's "
                             "servers have nothing that does this",
                             s.address);
    else if (*code == TFD_CTL_DONE && rc != TFD_OK)
        *code = tfd_ctl_fail_call(c, s.address, &st);
    tfd_ctl_server_close(&s);
    if (*code == TFD_CTL_DONE)
        return row;
    json_decref(row);
    return NULL;
}

int tfd_ctl_log_level(struct tfd_ctl *c)
{
    const char *level = c->word_count > 0 ? c->words[0] : "";
    struct tfd_bytes request;
    json_t *row;
    int code;

    tfd_bytes_init(&request, 4096);
    tfd_pb_put_str(&request, tfd_Operate_log_level_tag, tfd_str_of(level));
    if (request.failed)
        code = tfd_ctl_fail(c, TFD_CTL_USAGE, "%.40s...: no level", level);
    else if ((row = operate(c, tfd_bytes_view(&request), &code))) {
        const json_t *now = json_object_get(row, "log_level");

        if (c->json)
            code = tfd_ctl_put_json(c, json_incref(row), code);
        else {
            tfd_ctl_put_clean(c->to, now ? json_string_value(now) : "-");
            fputc('\n', c->to);
        }
        json_decref(row);
    }
    tfd_bytes_deinit(&request);
    return code;
}

/* ---- Shutdown ------------------------------------------------------------ */

static int tell_stopped(struct tfd_ctl *c, json_t *list, int code)
{
    static const struct tfd_ctl_column columns[] = {
        {"TARGET", "target", TFD_CTL_PLAIN},
        {"TASK", "task", TFD_CTL_PLAIN},
        {"STOPPING", "stopping", TFD_CTL_PLAIN},
    };

    if (c->json)
        return tfd_ctl_put_json(c, json_pack("{s:O}", "tasks", list), code);
    if (json_array_size(list) > 0)
        tfd_ctl_table(c, list, columns, sizeof(columns) / sizeof(columns[0]));
    return code;
}

/* Every one is asked, also when an earlier one does not answer. */
static int stop_one(struct tfd_ctl *c, const char *address, json_t *list)
{
    struct tfd_bytes request;
    char *own = c->target;
    json_t *row;
    int code;

    c->target = (char *)address;
    tfd_bytes_init(&request, 16);
    tfd_pb_put_bool(&request, tfd_Operate_stop_tag, true);
    row = operate(c, tfd_bytes_view(&request), &code);
    c->target = own;
    if (row)
        json_array_append_new(list, row);
    tfd_bytes_deinit(&request);
    return code;
}

static int stop_cluster(struct tfd_ctl *c, json_t *list)
{
    json_t *addresses = NULL, *address;
    int code = tfd_ctl_status_addresses(c, &addresses), one;
    size_t i;

    json_array_foreach(addresses, i, address)
    {
        one = stop_one(c, json_string_value(address), list);
        code = code == TFD_CTL_DONE ? one : code;
    }
    json_decref(addresses);
    return code;
}

int tfd_ctl_shutdown(struct tfd_ctl *c)
{
    json_t *list = json_array();
    int code =
        c->cluster ? stop_cluster(c, list) : stop_one(c, c->target, list);

    if (json_array_size(list) > 0)
        code = tell_stopped(c, list, code);
    json_decref(list);
    return code;
}
