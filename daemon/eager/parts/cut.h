/*
 * cut.h - a function whose values lie on several tasks -> a part for each of
 * them: arguments stay where they lie, calls and control flow are expanded,
 * what uses a variable goes to it and everything else to the function's device,
 * edges between tasks become _Send and _Recv.  It is what a master does with a
 * session's graph, by the same means (daemon/rewrite).
 *
 * A result lies where the node that makes it was asked to run, a handle where
 * its resource is, and all else on the function's device.  An op is cut alike:
 * its results lie on its device.
 *
 * Threads: any, one at a time.
 */
#ifndef TFD_DAEMON_EAGER_PARTS_CUT_H
#define TFD_DAEMON_EAGER_PARTS_CUT_H

#include "daemon/eager/parts/part_def.h"
#include "daemon/rewrite/devices.h"
#include "kernels/core/registry.h"

struct tfd_eager_cut {
    const struct tfd_registry *registry;
    const struct tfd_device_set *devices;
    int worker_count;
    bool *native;             /* by worker: values are pushed to and from it */
    int on;                   /* the function's device */
    struct tfd_str name;      /* of the function, or op */
    struct tfd_bytes library; /* it, and what it calls */
    struct tfd_bytes op;      /* of an op: a GraphDef with its ends */
    /* By value; those of one argument are neighbours, and only a packed handle
     * has several. */
    int *arg_device, *arg_of;
    int value_count, arg_count;
    char packed_on[TFD_DEVICE_NAME_MAX]; /* the device that it names */
    struct tfd_str part_name; /* components: with a number behind it */
    const bool *stop;         /* atomic; NULL: never */
    /* -- what comes of it */
    struct tfd_eager_part_def *parts; /* by worker; without def: none */
    int *result_device;
    int result_count; /* of an op: given */
};

/* NOT_FOUND for an unknown op, INVALID_ARGUMENT for a wrong body or number of
 * arguments or for nodes that no device suits. */
enum tfd_code tfd_eager_cut_make(struct tfd_eager_cut *c,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Frees what it has, library, op, native, arg_device and arg_of too. */
void tfd_eager_cut_deinit(struct tfd_eager_cut *c);
/* "NAME_2", to be freed with free(). */
char *tfd_eager_cut_name(const struct tfd_eager_cut *c, int worker);

#endif
