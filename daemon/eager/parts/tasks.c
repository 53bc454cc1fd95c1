/*
 * tasks.c - see tasks.h.
 */
#include "daemon/eager/parts/tasks.h"

#include "config/cluster_proto.h"
#include "config/limits.h"
#include "daemon/device_proto.h"
#include "daemon/eager/parts/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tfd_eager_tasks *tfd_eager_tasks_ref(struct tfd_eager_tasks *c)
{
    c->refs++;
    return c;
}

void tfd_eager_tasks_unref(struct tfd_eager_tasks *c)
{
    if (!c || --c->refs > 0)
        return;
    for (int i = 1; c->workers && i < c->worker_count; i++)
        tfd_eager_peer_free(c->workers[i]);
    free(c->workers);
    tfd_device_set_deinit(&c->devices);
    tfd_peers_drop_cluster(c->eager->options.peers, c->peers);
    free(c);
}

/* ---- Addresses ----------------------------------------------------------- */

static enum tfd_code join(struct tfd_eager_tasks *c,
                          const struct tfd_eager_tasks_request *q,
                          struct tfd_status *st)
{
    struct tfd_device_name self;
    struct tfd_cluster tasks;
    enum tfd_code rc;

    TFD_TRY(tfd_device_name_parse(tfd_str_of(q->task), &self, st));
    tfd_cluster_init(&tasks);
    rc = tfd_cluster_proto_read(q->cluster_def, &tasks, st);
    if (rc == TFD_OK) {
        snprintf(tasks.job_name, sizeof(tasks.job_name), "%s", self.job);
        tasks.task_index = self.task;
        rc = tfd_peers_add_cluster(c->eager->options.peers, &tasks, &c->peers,
                                   st);
    }
    tfd_cluster_deinit(&tasks);
    if (rc == TFD_OK && tfd_peers_find_in(c->eager->options.peers, c->peers,
                                          tfd_str_of(q->task)) < 0)
        rc = tfd_fail(st, TFD_INTERNAL,
                      "Could not parse port for local server from \"\".");
    return rc;
}

/* ---- Devices ------------------------------------------------------------- */

/* The number of its task; that of one that is new. */
static int worker_of(const struct tfd_eager_tasks *c,
                     const struct tfd_device_attributes *a)
{
    struct tfd_device_name name;

    if (tfd_device_name_parse(tfd_str_of(a->name), &name, NULL) == TFD_OK)
        for (int i = 0; i < c->devices.count; i++)
            if (tfd_device_name_same_task(&c->devices.devices[i].name, &name))
                return c->devices.devices[i].worker;
    return c->worker_count;
}

/* Functions run on the CPUs of tasks: nobody has tried others. */
static enum tfd_code add_device(struct tfd_eager_tasks *c,
                                const struct tfd_device_attributes *a,
                                struct tfd_status *st)
{
    int worker = worker_of(c, a);
    bool added;

    if (strcmp(a->type, "CPU") != 0)
        return TFD_OK;
    TFD_TRY(tfd_device_set_add(&c->devices, a, worker, &added, st));
    if (worker == c->worker_count)
        c->worker_count++;
    return TFD_OK;
}

static enum tfd_code add_others(struct tfd_eager_tasks *c,
                                const struct tfd_eager_tasks_request *q,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(q->message);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_device_attributes a = {.incarnation = 0};

        if (f.tag != q->tag)
            continue;
        TFD_TRY(tfd_device_proto_get(tfd_pb_str(&r, &f), &a, st));
        if (worker_of(c, &a) > 0)
            TFD_TRY(add_device(c, &a, st));
    }
    return tfd_pb_end(&r, "the devices of a cluster", st);
}

static enum tfd_code add_devices(struct tfd_eager_tasks *c,
                                 const struct tfd_eager_tasks_request *q,
                                 struct tfd_status *st)
{
    for (int i = 0; i < q->own_count; i++)
        TFD_TRY(add_device(c, &q->own[i], st));
    TFD_TRY(add_others(c, q, st));
    TFD_TRY(tfd_device_set_finish(&c->devices, st));
    c->workers = calloc((size_t)c->worker_count + 1, sizeof(*c->workers));
    if (!c->workers)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a cluster");
    c->workers[0] = c->eager->options.worker;
    return TFD_OK;
}

enum tfd_code tfd_eager_tasks_new(struct tfd_eager *e,
                                  const struct tfd_eager_tasks_request *q,
                                  struct tfd_eager_tasks **out,
                                  struct tfd_status *st)
{
    struct tfd_eager_tasks *c = calloc(1, sizeof(*c));
    enum tfd_code rc;

    if (!c)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a cluster");
    c->refs = 1;
    c->eager = e;
    c->context = q->context;
    tfd_device_set_init(&c->devices);
    rc = join(c, q, st);
    if (rc == TFD_OK)
        rc = add_devices(c, q, st);
    if (rc == TFD_OK)
        *out = c;
    else
        tfd_eager_tasks_unref(c);
    return rc;
}

/* ---- Finding ------------------------------------------------------------- */

int tfd_eager_tasks_find(const struct tfd_eager_tasks *c, struct tfd_str device)
{
    struct tfd_device_name wanted;

    if (tfd_device_name_parse(device, &wanted, NULL) == TFD_OK)
        for (int i = 0; i < c->devices.count; i++)
            if (tfd_device_name_covers(&wanted, &c->devices.devices[i].name))
                return i;
    return -1;
}

static const struct tfd_device *device_of(const struct tfd_eager_tasks *c,
                                          int worker)
{
    int i = 0;

    while (c->devices.devices[i].worker != worker)
        i++;
    return &c->devices.devices[i];
}

enum tfd_code tfd_eager_tasks_worker(struct tfd_eager_tasks *c, int worker,
                                     struct tfd_worker **out,
                                     struct tfd_status *st)
{
    struct tfd_peers *peers = c->eager->options.peers;
    const char *device = device_of(c, worker)->attributes.name;
    struct tfd_channel *channel = NULL;

    if (!c->workers[worker]) {
        int peer = tfd_peers_find_in(peers, c->peers, tfd_str_of(device));

        if (peer >= 0)
            channel = tfd_peers_channel(peers, peer);
        if (!channel)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "%s has no address in this cluster", device);
        c->workers[worker] = tfd_eager_peer_new(c, channel, device);
    }
    *out = c->workers[worker];
    return *out ? TFD_OK
                : tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a task");
}
