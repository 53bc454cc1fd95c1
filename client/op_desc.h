/*
 * op_desc.h - a TF_OperationDescription: what a new operation shall be, as it
 * is collected call by call.  The first mistake is kept for finish().
 *
 * Threads: one at a time; the graph's lock is not held.
 */
#ifndef TFD_CLIENT_OP_DESC_H
#define TFD_CLIENT_OP_DESC_H

#include "client/capi.h"

struct TF_OperationDescription {
    TF_Graph *graph;
    struct tfd_arena arena; /* strings and values of attributes */
    struct tfd_str name, op, device;
    /* Arrays; tfd_bytes_view().size counts bytes. */
    struct tfd_bytes edges;      /* struct tfd_edge */
    struct tfd_bytes args;       /* struct tfd_desc_arg */
    struct tfd_bytes controls;   /* int32_t */
    struct tfd_bytes attrs;      /* struct tfd_attr */
    struct tfd_bytes colocation; /* struct tfd_str: "loc:@name" */
    struct tfd_status st;
};

/* One call of TF_AddInput() or TF_AddInputList(): one argument. */
struct tfd_desc_arg {
    int32_t first, count;
    bool list;
};

/* NULL without memory. */
TF_OperationDescription *tfd_op_desc_new(TF_Graph *g, struct tfd_str op,
                                         struct tfd_str name);
void tfd_op_desc_free(TF_OperationDescription *desc);
/* value is an AttrValue message and is copied. */
void tfd_op_desc_attr(TF_OperationDescription *desc, struct tfd_str name,
                      struct tfd_str value);
/* An empty builder for such a value. */
void tfd_op_desc_value_init(struct tfd_bytes *b);
/* Sets the attribute to what is in b, and frees b. */
void tfd_op_desc_take(TF_OperationDescription *desc, const char *name,
                      struct tfd_bytes *take_value);
/* Adds the node; frees nothing.  The graph's lock is held. */
enum tfd_code tfd_op_desc_finish(TF_OperationDescription *desc,
                                 TF_Operation **out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
