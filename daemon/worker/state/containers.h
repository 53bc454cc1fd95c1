/*
 * containers.h - containers of named resources, and struct tfd_rt: a device as
 * the kernels of one session see it (kernels/core/runtime.h).
 *
 * A device has one set of containers, which outlives sessions: that is how
 * workers share variables.  A session that isolates its state has its own.
 * Within a container a name stands for one resource of each type, as in
 * TensorFlow.
 *
 * Ownership: a container holds one reference of each resource.
 * Threads: any.
 */
#ifndef TFD_DAEMON_WORKER_CONTAINERS_H
#define TFD_DAEMON_WORKER_CONTAINERS_H

#include "kernels/core/runtime.h"

struct tfd_collectives;
struct tfd_containers;
struct tfd_device;
struct tfd_loop;

#define TFD_CONTAINERS_TEXT_SIZE 260

struct tfd_containers *tfd_containers_new(struct tfd_status *st);
void tfd_containers_free(struct tfd_containers *c);
/* Lets go of everything in the container; unknown ones are ignored. */
void tfd_containers_clear(struct tfd_containers *c, struct tfd_str name);
/* The same of every container. */
void tfd_containers_clear_all(struct tfd_containers *c);
/* Resources in all containers. */
int tfd_containers_count(struct tfd_containers *c);

/* One of them, with copies of its names, cut where they are longer. */
struct tfd_containers_item {
    struct tfd_resource *resource; /* counted: the caller's to let go of */
    char container[TFD_CONTAINERS_TEXT_SIZE];
    char name[TFD_CONTAINERS_TEXT_SIZE];
};
/* Up to `max` of them, in no order; returns how many.  The lock is held while
 * names are copied, some 100 ns for each. */
int tfd_containers_list(struct tfd_containers *c, int max,
                        struct tfd_containers_item *out);

struct tfd_rt {
    const char *device;    /* full name */
    const char *container; /* the default's name: the job's */
    struct tfd_containers *containers;
    struct tfd_file_access *files;
    struct tfd_pool *pool;
    struct tfd_crew *crew;
    struct tfd_loop *loop;  /* of alarms */
    struct tfd_device *row; /* of the table of devices */
    struct tfd_collectives *collectives;
};

#endif
