/*
 * missing_lines.h - what missing_ops.c finds, as lines: each once, with how
 * many nodes have to do with it and the first of them.
 *
 *     op Foo: 3 nodes (first: a/b)
 *
 * Threads: one at a time.
 */
#ifndef TFD_DAEMON_MISSING_LINES_H
#define TFD_DAEMON_MISSING_LINES_H

#include "common/base/arena.h"
#include "common/base/map.h"

#include <stdio.h>

struct tfd_missing_line;

struct tfd_missing_lines {
    struct tfd_arena arena;
    struct tfd_map by_text; /* -> struct tfd_missing_line * */
    struct tfd_map seen;    /* texts with nodes */
};

/* Where a node is. */
struct tfd_missing_place {
    int graph;               /* its number in the file */
    struct tfd_str function; /* whose body has it; or empty */
    struct tfd_str node;
};

void tfd_missing_lines_init(struct tfd_missing_lines *l);
void tfd_missing_lines_deinit(struct tfd_missing_lines *l);
/* A node that comes again with the same text counts once. */
enum tfd_code tfd_missing_lines_add(struct tfd_missing_lines *l,
                                    const struct tfd_missing_place *place,
                                    struct tfd_str text,
                                    struct tfd_status *st) TFD_MUST_USE;
/* Sorted, without anything that is no printable ASCII. */
enum tfd_code tfd_missing_lines_print(const struct tfd_missing_lines *l,
                                      FILE *to,
                                      struct tfd_status *st) TFD_MUST_USE;

#endif
