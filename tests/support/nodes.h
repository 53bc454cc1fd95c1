/*
 * nodes.h - GraphDefs written in a line per node, for tests of daemon/master.
 *
 *     nodes_put(&bytes, "c Const - /job:ps; i Identity c,^d - group,other");
 *
 * name, operation, inputs, device, groups of its `_class`; "-" for none.  The
 * rows below give an operation its attributes, so that one may have several
 * names ("ConstI" is a Const of int32).
 */
#ifndef TFD_TESTS_SUPPORT_NODES_H
#define TFD_TESTS_SUPPORT_NODES_H

#include "common/proto/graphdef.h"
#include "common/base/pbio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES_LIST_MAX 80
#define NODES_ATTRS_MAX 8

/* Cuts the next piece off; NULL at the end. */
char *nodes_word(char **at, const char *separators);

struct nodes_attrs {
    struct tfd_attr list[NODES_ATTRS_MAX];
    struct tfd_bytes values[NODES_ATTRS_MAX];
    char names[NODES_ATTRS_MAX][32];
    int count;
};

/* "a,b" -> list of views; "-" none. */
int nodes_split(char *text, struct tfd_str *out, char sep);

/* A node per line or between semicolons; out is initialised. */
void nodes_put(struct tfd_bytes *out, const char *text);

/* The same as bytes of their own. */
struct tfd_bytes nodes_bytes(const char *text);

/* Adds them to a graph as a session does. */
void nodes_import(struct tfd_graph *g, const char *text);

#endif
