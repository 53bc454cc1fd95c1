/*
 * devices.c - tfdctl devices: ListDevices of the master, which asks every task;
 * where one of them is away, GetStatus, which knows the server's own.
 */
#include "tools/ctl/server.h"
#include "tools/ctl/table.h"

#include "common/proto/device.pb.h"
#include "common/proto/master.pb.h"
#include "common/proto/worker.pb.h"

#define DEVICES_MAX 100000

/* A memory_limit and an incarnation are 64 bits, as JSON's integers are not:
 * the latter is a text. */
static enum tfd_code add_device(json_t *list, struct tfd_str proto,
                                struct tfd_status *st)
{
    struct tfd_str name = TFD_STR_EMPTY, type = TFD_STR_EMPTY;
    struct tfd_str description = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;
    int64_t memory = 0;
    char incarnation[24] = "";

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_DeviceAttributes_name_tag)
            name = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_DeviceAttributes_device_type_tag)
            type = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_DeviceAttributes_physical_device_desc_tag)
            description = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_DeviceAttributes_memory_limit_tag)
            memory = tfd_pb_int64(&r, &f);
        else if (f.tag == tensorflow_DeviceAttributes_incarnation_tag)
            snprintf(incarnation, sizeof(incarnation), "%016llx",
                     (unsigned long long)f.number);
    }
    TFD_TRY(tfd_pb_end(&r, "DeviceAttributes", st));
    if (json_array_size(list) == DEVICES_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "the server names more than %d devices", DEVICES_MAX);
    if (json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:I, s:s, s:o}", "name", tfd_ctl_text(name),
                      "type", tfd_ctl_text(type), "memory_bytes",
                      (json_int_t)memory, "incarnation", incarnation,
                      "description", tfd_ctl_text(description))) != 0)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    return TFD_OK;
}

/* Fields 1 and, of the master's answer, 2 are devices. */
static enum tfd_code add_devices(json_t *list, struct tfd_str answer,
                                 uint32_t last_tag, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(answer);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag >= 1 && f.tag <= last_tag)
            TFD_TRY(add_device(list, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "the list of devices", st);
}

static enum tfd_code ask(struct tfd_ctl_server *s,
                         enum tfd_method_number method, uint32_t last_tag,
                         json_t *list, struct tfd_status *st)
{
    struct tfd_bytes answer;
    enum tfd_code rc;

    TFD_TRY(tfd_ctl_server_call(s, method, TFD_STR_EMPTY, 0, &answer, st));
    rc = add_devices(list, tfd_bytes_view(&answer), last_tag, st);
    tfd_bytes_deinit(&answer);
    return rc;
}

static enum tfd_code ask_all(struct tfd_ctl_server *s, json_t *list,
                             struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (ask(s, TFD_METHOD_ListDevices,
            tensorflow_ListDevicesResponse_remote_device_tag, list,
            &why) == TFD_OK)
        return TFD_OK;
    json_array_clear(list);
    TFD_TRY(ask(s, TFD_METHOD_GetStatus,
                tensorflow_GetStatusResponse_device_attributes_tag, list, st));
    tfd_ctl_note(s->ctl, "the devices of other tasks are not known: %s",
                 why.text);
    return TFD_OK;
}

int tfd_ctl_devices(struct tfd_ctl *c)
{
    static const struct tfd_ctl_column columns[] = {
        {"NAME", "name", TFD_CTL_PLAIN},
        {"TYPE", "type", TFD_CTL_PLAIN},
        {"MEMORY", "memory_bytes", TFD_CTL_BYTES},
        {"INCARNATION", "incarnation", TFD_CTL_PLAIN},
        {"DESCRIPTION", "description", TFD_CTL_PLAIN},
    };
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_ctl_server s;
    json_t *list;
    int code = tfd_ctl_server_open(c, &s);

    if (code != TFD_CTL_DONE)
        return code;
    list = json_array();
    if (ask_all(&s, list, &st) != TFD_OK) {
        code = tfd_ctl_fail_call(c, s.address, &st);
    } else if (c->json) {
        code = tfd_ctl_put_json(c, json_pack("{s:O}", "devices", list), code);
    } else {
        tfd_ctl_table(c, list, columns, sizeof(columns) / sizeof(columns[0]));
    }
    json_decref(list);
    tfd_ctl_server_close(&s);
    return code;
}
