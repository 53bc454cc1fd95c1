/*
 * server_config.c - messages become the flags that say the same; see
 * server_config.h.
 */
#define _GNU_SOURCE 1 /* open_memstream() */

#include "client/session/server_config.h"

#include "common/base/log.h"
#include "common/base/pbio.h"
#include "common/proto/config.pb.h"
#include "config/session_config.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MAX 16

struct flags {
    char *argv[FLAGS_MAX]; /* owned, but for the first */
    int argc;
    char devices[64];         /* of --device_count */
    char virtual_limits[256]; /* of --gpu_virtual */
    bool failed;
};

static void add_flag(struct flags *f, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 4;
    char *text = f->argc < FLAGS_MAX ? malloc(size) : NULL;

    if (!text) {
        f->failed = true;
        return;
    }
    snprintf(text, size, "--%s=%s", name, value);
    f->argv[f->argc++] = text;
}

static void add_number(struct flags *f, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    add_flag(f, name, text);
}

/* What the reader of flags says is one line per mistake. */
static enum tfd_code parse(struct flags *f, struct tfd_config *out,
                           struct tfd_status *st)
{
    char *text = NULL;
    size_t size = 0;
    FILE *errors = f->failed ? NULL : open_memstream(&text, &size);
    int code;

    if (!errors) {
        memset(out, 0, sizeof(*out));
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a configuration");
    }
    code = tfd_flags_parse(out, f->argc, f->argv, NULL, errors, errors);
    fclose(errors);
    if (code != TFD_FLAGS_RUN)
        tfd_fail(st, TFD_INVALID_ARGUMENT, "%s", text);
    free(text);
    return code == TFD_FLAGS_RUN ? TFD_OK : TFD_INVALID_ARGUMENT;
}

static void free_flags(struct flags *f)
{
    while (f->argc > 1)
        free(f->argv[--f->argc]);
}

/* ---- ConfigProto --------------------------------------------------------- */

static enum tfd_code read_device_count(struct flags *f, struct tfd_str entry,
                                       struct tfd_status *st)
{
    size_t used = strlen(f->devices);
    struct tfd_pb_entry e;

    if (!tfd_pb_map_entry(entry, &e))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unable to parse ConfigProto.device_count");
    if (!(tfd_str_is(e.key, "CPU") && e.number != 0) &&
        !tfd_str_is(e.key, "GPU"))
        return TFD_OK;
    snprintf(f->devices + used, sizeof(f->devices) - used,
             "%s" TFD_STR_FMT ":%lld", used ? "," : "", TFD_STR_ARG(e.key),
             (long long)e.number);
    return TFD_OK;
}

static void add_str(struct flags *f, const char *name, struct tfd_str value)
{
    char text[256];

    if (value.size == 0)
        return;
    snprintf(text, sizeof(text), TFD_STR_FMT, TFD_STR_ARG(value));
    add_flag(f, name, text);
}

#define GPU(field) tensorflow_GPUOptions_##field##_tag
#define VIRTUAL(field) \
    tensorflow_GPUOptions_Experimental_VirtualDevices_##field##_tag

static void name_option(const char *name)
{
    tfd_log(TFD_LOG_INFO, "option_not_honoured", "field=\"gpu_options.%s\"",
            name);
}

/* Whole MiB, as TensorFlow takes them; what is none stays a bad text. */
static void add_limit(struct flags *f, float mib, const char *separator)
{
    size_t used = strlen(f->virtual_limits);
    int size =
        snprintf(f->virtual_limits + used, sizeof(f->virtual_limits) - used,
                 "%s%.0f", separator, truncf(mib));

    f->failed |= size < 0 || (size_t)size >= sizeof(f->virtual_limits) - used;
}

/* The limits of one GPU's devices: packed, or one by one. */
static enum tfd_code read_virtual(struct flags *f, struct tfd_str proto,
                                  struct tfd_status *st)
{
    const char *separator = f->virtual_limits[0] ? ";" : "";
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field field;
    float mib;

    while (tfd_pb_next(&r, &field)) {
        bool packed = field.wire == TFD_PB_BYTES;

        if (field.tag != VIRTUAL(memory_limit_mb)) {
            name_option("experimental.virtual_devices.priority and others");
            continue;
        }
        if (!packed) {
            add_limit(f, tfd_pb_float(&r, &field), separator);
            separator = ",";
        }
        for (size_t i = 0; packed && i + sizeof(mib) <= field.bytes.size;
             i += sizeof(mib)) {
            memcpy(&mib, field.bytes.data + i, sizeof(mib));
            add_limit(f, mib, separator);
            separator = ",";
        }
    }
    TFD_TRY(tfd_pb_end(&r, "VirtualDevices", st));
    if (*separator != ',')
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "gpu_options.experimental.virtual_devices: one without "
                        "memory_limit_mb; give each GPU's");
    return TFD_OK;
}

static enum tfd_code read_experimental(struct flags *f, struct tfd_str proto,
                                       struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field field;
    bool others = false;

    while (tfd_pb_next(&r, &field))
        if (field.tag == tensorflow_GPUOptions_Experimental_virtual_devices_tag)
            TFD_TRY(read_virtual(f, tfd_pb_str(&r, &field), st));
        else
            others = true;
    if (others)
        name_option("experimental");
    if (f->virtual_limits[0])
        add_flag(f, "gpu_virtual", f->virtual_limits);
    return tfd_pb_end(&r, "GPUOptions.Experimental", st);
}

/* Names of what means nothing here, by field number. */
static const char *const unhonoured[] = {
    [GPU(allocator_type)] = "allocator_type",
    [GPU(deferred_deletion_bytes)] = "deferred_deletion_bytes",
    [GPU(polling_active_delay_usecs)] = "polling_active_delay_usecs",
    [GPU(polling_inactive_delay_msecs)] = "polling_inactive_delay_msecs",
    [GPU(force_gpu_compatible)] = "force_gpu_compatible",
};

static enum tfd_code read_gpu_options(struct flags *f, struct tfd_str proto,
                                      struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field field;
    char text[32];

    while (tfd_pb_next(&r, &field)) {
        if (field.tag == GPU(per_process_gpu_memory_fraction)) {
            snprintf(text, sizeof(text), "%.17g", tfd_pb_double(&r, &field));
            add_flag(f, "gpu_memory_fraction", text);
        } else if (field.tag == GPU(allow_growth)) {
            add_flag(f, "gpu_allow_growth",
                     tfd_pb_bool(&r, &field) ? "true" : "false");
        } else if (field.tag == GPU(visible_device_list)) {
            add_str(f, "gpu_visible", tfd_pb_str(&r, &field));
        } else if (field.tag == GPU(experimental)) {
            TFD_TRY(read_experimental(f, tfd_pb_str(&r, &field), st));
        } else if (field.tag < sizeof(unhonoured) / sizeof(unhonoured[0]) &&
                   unhonoured[field.tag]) {
            name_option(unhonoured[field.tag]);
        }
    }
    return tfd_pb_end(&r, "GPUOptions", st);
}

/* What of it is the server's, and not a session's. */
static enum tfd_code add_config(struct flags *f, struct tfd_str config_proto,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(config_proto);
    struct tfd_pb_field field;

    while (tfd_pb_next(&r, &field)) {
        if (field.tag == tensorflow_ConfigProto_device_count_tag)
            TFD_TRY(read_device_count(f, tfd_pb_str(&r, &field), st));
        else if (field.tag == tensorflow_ConfigProto_gpu_options_tag)
            TFD_TRY(read_gpu_options(f, tfd_pb_str(&r, &field), st));
        else if (field.tag ==
                     tensorflow_ConfigProto_intra_op_parallelism_threads_tag &&
                 tfd_pb_int32(&r, &field) > 0)
            add_number(f, "threads", tfd_pb_int32(&r, &field));
    }
    if (f->devices[0])
        add_flag(f, "device_count", f->devices);
    return tfd_pb_end(&r, "ConfigProto", st);
}

enum tfd_code tfd_server_config_local(struct tfd_str config_proto,
                                      struct tfd_config *out,
                                      struct tfd_status *st)
{
    struct flags f = {.argv = {"libtfd"}, .argc = 1};
    enum tfd_code rc;

    add_flag(&f, "job_name", "localhost");
    memset(out, 0, sizeof(*out));
    rc = add_config(&f, config_proto, st);
    if (rc == TFD_OK)
        rc = parse(&f, out, st);
    free_flags(&f);
    return rc;
}

/* ---- ServerDef ----------------------------------------------------------- */

struct server_def {
    json_t *jobs; /* {"ps": {"0": "host:port"}} */
    struct tfd_str job_name, protocol;
    struct tfd_str session_config; /* ConfigProto */
    int32_t task_index, port;
};

static bool set_text(json_t *object, struct tfd_str key, json_t *take_value)
{
    return json_object_setn_new(object, key.data, key.size, take_value) == 0;
}

static bool add_task(json_t *tasks, struct tfd_str entry)
{
    struct tfd_pb_entry e;
    char index[24];

    if (!tfd_pb_map_entry(entry, &e))
        return false;
    snprintf(index, sizeof(index), "%d", (int)e.key_number);
    return set_text(tasks, tfd_str_of(index),
                    json_stringn(e.value.data, e.value.size));
}

static enum tfd_code read_job(struct tfd_str bytes, json_t *jobs,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    json_t *tasks = json_object();
    struct tfd_str name = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    bool good = tasks != NULL;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_JobDef_name_tag)
            name = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_JobDef_tasks_tag)
            good = good && add_task(tasks, tfd_pb_str(&r, &f));
    }
    good = good && set_text(jobs, name, json_incref(tasks));
    json_decref(tasks);
    TFD_TRY(tfd_pb_end(&r, "JobDef", st));
    if (!good)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unable to parse the tasks of job '" TFD_STR_FMT "'",
                        TFD_STR_ARG(name));
    return TFD_OK;
}

static enum tfd_code read_cluster(struct tfd_str bytes, json_t *jobs,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_ClusterDef_job_tag)
            TFD_TRY(read_job(tfd_pb_str(&r, &f), jobs, st));
    return tfd_pb_end(&r, "ClusterDef", st);
}

static enum tfd_code read_def(struct tfd_str bytes, struct server_def *d,
                              struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case tensorflow_ServerDef_cluster_tag:
            TFD_TRY(read_cluster(tfd_pb_str(&r, &f), d->jobs, st));
            break;
        case tensorflow_ServerDef_job_name_tag:
            d->job_name = tfd_pb_str(&r, &f);
            break;
        case tensorflow_ServerDef_task_index_tag:
            d->task_index = tfd_pb_int32(&r, &f);
            break;
        case tensorflow_ServerDef_default_session_config_tag:
            d->session_config = tfd_pb_str(&r, &f);
            break;
        case tensorflow_ServerDef_protocol_tag:
            d->protocol = tfd_pb_str(&r, &f);
            break;
        case tensorflow_ServerDef_port_tag:
            d->port = tfd_pb_int32(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_pb_end(&r, "ServerDef", st);
}

static void add_text(struct flags *f, const char *name, struct tfd_str value)
{
    char text[TFD_JOB_NAME_SIZE_MAX + 2];

    if (!value.size)
        return;
    /* One that is too long is cut to one that is still too long. */
    snprintf(text, sizeof(text), TFD_STR_FMT, TFD_STR_ARG(value));
    add_flag(f, name, text);
}

static void add_cluster(struct flags *f, const struct server_def *d)
{
    char *text;

    if (json_object_size(d->jobs) == 0)
        return;
    text = json_dumps(d->jobs, JSON_COMPACT);
    if (text)
        add_flag(f, "cluster_spec", text);
    else
        f->failed = true;
    free(text);
}

static enum tfd_code parse_def(const struct server_def *d,
                               struct tfd_config *out, struct tfd_status *st)
{
    struct flags f = {.argv = {"libtfd"}, .argc = 1};
    enum tfd_code rc;

    add_cluster(&f, d);
    add_text(&f, "job_name", d->job_name);
    add_number(&f, "task_index", d->task_index);
    add_text(&f, "protocol", d->protocol);
    if (d->port)
        add_number(&f, "port", d->port);
    rc = add_config(&f, d->session_config, st);
    if (rc == TFD_OK)
        rc = parse(&f, out, st);
    free_flags(&f);
    return rc;
}

/* What sessions would stumble over is said now. */
static enum tfd_code check_session_config(struct tfd_str bytes,
                                          struct tfd_status *st)
{
    struct tfd_session_config c;

    if (bytes.size > (size_t)TFD_SESSION_CONFIG_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "default_session_config has %zu bytes; at most %lld",
                        bytes.size, (long long)TFD_SESSION_CONFIG_SIZE_MAX);
    TFD_TRY(tfd_session_config_read(bytes, &c, st));
    tfd_session_config_deinit(&c);
    return TFD_OK;
}

enum tfd_code tfd_server_config_of_def(struct tfd_str server_def,
                                       struct tfd_config *out,
                                       struct tfd_str *session_config,
                                       struct tfd_status *st)
{
    struct server_def d = {.jobs = json_object()};
    enum tfd_code rc;

    memset(out, 0, sizeof(*out));
    *session_config = TFD_STR_EMPTY;
    if (!d.jobs)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a configuration");
    rc = read_def(server_def, &d, st);
    if (rc == TFD_OK)
        rc = check_session_config(d.session_config, st);
    if (rc == TFD_OK)
        rc = parse_def(&d, out, st);
    if (rc == TFD_OK)
        *session_config = d.session_config;
    json_decref(d.jobs);
    return rc;
}
