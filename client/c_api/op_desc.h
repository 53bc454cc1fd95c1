/*
 * op_desc.h - a TF_OperationDescription: collects, call by call, what a new
 * operation shall be, until TF_FinishOperation() adds it to the graph.
 *
 * Mistakes are collected too and reported by tfd_op_desc_finish() alone.  They
 * have kinds, and only those of the first kind in this list that occurred are
 * reported, as TensorFlow does:
 *
 *     st         no memory, or an input of another graph; the first one
 *     name       the name is taken
 *     misuse     inputs that name outputs which do not exist; a line each
 *     errors     what does not fit the op's definition; a line each
 *     the node   what adding it to the graph finds: attributes, shapes
 *
 * Threads: one at a time.  The graph's lock is held in finish() only.
 */
#ifndef TFD_CLIENT_OP_DESC_H
#define TFD_CLIENT_OP_DESC_H

#include "client/c_api/capi.h"

struct TF_OperationDescription {
    TF_Graph *graph;
    struct tfd_arena arena; /* strings and values of attributes */
    struct tfd_str name, op, device;
    const struct tfd_op *def; /* NULL: there is no such op */
    int32_t arg_count;        /* arguments of it that have their inputs */
    /* Arrays; tfd_bytes_view().size counts bytes. */
    struct tfd_bytes edges;      /* struct tfd_edge */
    struct tfd_bytes controls;   /* int32_t */
    struct tfd_bytes attrs;      /* struct tfd_attr */
    struct tfd_bytes colocation; /* struct tfd_str: "loc:@name" */
    struct tfd_bytes misuse, errors;
    int error_count;
    struct tfd_status st;
};

/* NULL without memory. */
TF_OperationDescription *tfd_op_desc_new(TF_Graph *g, struct tfd_str op,
                                         struct tfd_str name);
void tfd_op_desc_free(TF_OperationDescription *desc);

/* The inputs of the next argument: a single one, or a list of them. */
void tfd_op_desc_input(TF_OperationDescription *desc, TF_Output input);
void tfd_op_desc_inputs(TF_OperationDescription *desc, const TF_Output *inputs,
                        int count);
/* All inputs one after another: what the definition's single arguments leave
 * is divided among its lists. */
void tfd_op_desc_flat(TF_OperationDescription *desc, const TF_Output *inputs,
                      int count);

/* value is an AttrValue message and is copied.  Another value than the one
 * that the attribute has is a mistake: an input's type may have set it. */
void tfd_op_desc_attr(TF_OperationDescription *desc, struct tfd_str name,
                      struct tfd_str value);
/* An empty builder for such a value. */
void tfd_op_desc_value_init(struct tfd_bytes *b);
/* Sets the attribute to what is in b, and frees b. */
void tfd_op_desc_take(TF_OperationDescription *desc, const char *name,
                      struct tfd_bytes *take_value);
/* The value of "_class": what the node is colocated with from now on. */
void tfd_op_desc_classes(TF_OperationDescription *desc, struct tfd_str value);
/* A mistake of the kind `errors`. */
void tfd_op_desc_error(TF_OperationDescription *desc, const char *fmt, ...)
    TFD_PRINTF(2, 3);
/* Adds the node; frees nothing.  The graph's lock is held. */
enum tfd_code tfd_op_desc_finish(TF_OperationDescription *desc,
                                 TF_Operation **out,
                                 struct tfd_status *st) TFD_MUST_USE;

#endif
