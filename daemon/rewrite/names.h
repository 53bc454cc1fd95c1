/*
 * names.h - a growing list of names that are views of a request.
 *
 * All zero is an empty one; free its list.  Threads: values.
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
