/*
 * attr.h - AttrValue messages, read in place and checked against what an op
 * says about an attribute.  Kernels use the typed access of graph.h instead.
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_COMMON_ATTR_H
#define TFD_COMMON_ATTR_H

#include "common/graph/opdef.h"
#include "common/base/pbio.h"

/* "int", "type": TensorFlow's word in definitions. */
const char *tfd_attr_kind_name(enum tfd_attr_kind kind);

/* The member of AttrValue that is set (the last, if there are several) with its
 * tag; tag 0 when none is.  A field of a wrong wire type is damage. */
enum tfd_code tfd_attr_read(struct tfd_str message, struct tfd_pb_field *out,
                            struct tfd_status *st) TFD_MUST_USE;

/* The member that holds values of this kind, and the one of ListValue. */
uint32_t tfd_attr_tag(enum tfd_attr_kind kind);
uint32_t tfd_attr_list_tag(enum tfd_attr_kind kind);

/* Steps over the elements of a ListValue message, packed or not. */
struct tfd_attr_list {
    struct tfd_pb_reader reader;
    struct tfd_pb_field field; /* whose packed bytes are being read */
};

struct tfd_attr_list tfd_attr_list_of(struct tfd_str list_value);
/* False at the end and at damage, which tfd_pb_end(&l->reader) tells. */
bool tfd_attr_list_next(struct tfd_attr_list *l, struct tfd_pb_field *f);

/* The ListValue of an attribute that is a list of this kind; how many elements
 * it has.  INVALID_ARGUMENT for another kind, also of a single element. */
enum tfd_code tfd_attr_list(struct tfd_str message, enum tfd_attr_kind kind,
                            struct tfd_str *list_value, int64_t *count,
                            struct tfd_status *st) TFD_MUST_USE;

/* A value as messages show it: "SAME" in quotes, DT_FLOAT, [2,?], [1, 2]. */
void tfd_attr_text(struct tfd_str message, struct tfd_bytes *out);

/* A single value of this kind; TensorFlow's text otherwise. */
enum tfd_code tfd_attr_check_kind(struct tfd_str message,
                                  enum tfd_attr_kind kind,
                                  struct tfd_status *st) TFD_MUST_USE;

/* Kind, types, shapes, allowed values, minimum.  Texts are those of
 * TensorFlow's node validation, without the node. */
enum tfd_code tfd_attr_check(const struct tfd_op_attr *a,
                             struct tfd_str message,
                             struct tfd_status *st) TFD_MUST_USE;

#endif
