/*
 * cluster_proto.c - see cluster_proto.h.
 */
#include "config/cluster_proto.h"

#include "common/base/pbio.h"

#include <stdio.h>
#include <string.h>

/* ClusterDef.job; JobDef.name, .tasks */
#define CLUSTER_JOB 1
#define JOB_NAME 1
#define JOB_TASKS 2

#define ADDRESS_ROOM 512

static enum tfd_code copy_string(struct tfd_str from, char *to, size_t room,
                                 const char *what, struct tfd_status *st)
{
    if (from.size >= room || memchr(from.data, '\0', from.size))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "cluster_def: %s of %zu bytes, or with a 0 in it", what,
                        from.size);
    snprintf(to, room, TFD_STR_FMT, TFD_STR_ARG(from));
    return TFD_OK;
}

static enum tfd_code add_task(struct tfd_cluster *c, const char *job,
                              const struct tfd_pb_entry *e,
                              struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    char address[ADDRESS_ROOM];

    TFD_TRY(copy_string(e->value, address, sizeof(address), "an address", st));
    if (tfd_cluster_add(c, job, (int64_t)(int32_t)e->key_number, address,
                        &own) == TFD_OK)
        return TFD_OK;
    return tfd_fail(st, own.code,
                    "Could not interpret \"%s\" as a host-port pair, or job "
                    "\"%s\", task %d: %s",
                    address, job, (int32_t)e->key_number, own.text);
}

static enum tfd_code add_job(struct tfd_cluster *c, struct tfd_str def,
                             struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    char name[TFD_JOB_NAME_SIZE_MAX + 1] = "";
    struct tfd_pb_field f;
    struct tfd_pb_entry e;

    while (tfd_pb_next(&r, &f))
        if (f.tag == JOB_NAME)
            TFD_TRY(copy_string(tfd_pb_str(&r, &f), name, sizeof(name),
                                "a job's name", st));
    TFD_TRY(tfd_pb_end(&r, "JobDef", st));
    if (tfd_cluster_job(c, name))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Duplicate job ID in cluster specification: %s", name);
    r = tfd_pb_reader_of(def);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag != JOB_TASKS)
            continue;
        if (f.wire != TFD_PB_BYTES || !tfd_pb_map_entry(f.bytes, &e))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Unable to parse JobDef.tasks");
        TFD_TRY(add_task(c, name, &e, st));
    }
    return TFD_OK;
}

enum tfd_code tfd_cluster_proto_read(struct tfd_str cluster_def,
                                     struct tfd_cluster *c,
                                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(cluster_def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == CLUSTER_JOB)
            TFD_TRY(add_job(c, tfd_pb_str(&r, &f), st));
    return tfd_pb_end(&r, "ClusterDef", st);
}
