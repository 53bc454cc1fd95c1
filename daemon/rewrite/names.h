/*
 * names.h - a growing list of names, which are views of a request's bytes.  All
 * zero is an empty list; its owner frees it.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_DAEMON_REWRITE_NAMES_H
#define TFD_DAEMON_REWRITE_NAMES_H

#include "common/base/str.h"

struct tfd_names {
    struct tfd_str *list;
    int count, room;
};

/* RESOURCE_EXHAUSTED naming `what` past max. */
enum tfd_code tfd_names_add(struct tfd_names *n, struct tfd_str name, int max,
                            const char *what,
                            struct tfd_status *st) TFD_MUST_USE;

#endif
