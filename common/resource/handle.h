/*
 * handle.h - a handle is one element of a RESOURCE tensor.  It names a resource
 * (a variable, a queue, a table) by device, container, name and type, and is
 * reference counted.
 *
 * The first kernel that looks the resource up leaves the pointer in the handle,
 * where it stays as long as the handle does, so that later look-ups cost a load
 * (daemon/worker/state/kctx_resource.c).
 *
 * Threads: any.
 */
#ifndef TFD_COMMON_HANDLE_H
#define TFD_COMMON_HANDLE_H

#include "common/base/str.h"
#include "common/base/tensor.h"

struct tfd_resource;

struct tfd_handle {
    int refs;                                          /* atomic */
    struct tfd_str device, container, name, type_name; /* owned */
    uint64_t hash_code;
    enum tfd_dtype dtype; /* of a variable; INVALID when not known */
    struct tfd_shape shape;
    struct tfd_resource *cached; /* atomic; counted; may be NULL */
    bool owns; /* the resource has no container and ends with its handles */
};

struct tfd_handle *tfd_handle_new(struct tfd_str device,
                                  struct tfd_str container, struct tfd_str name,
                                  struct tfd_str type_name, uint64_t hash_code,
                                  struct tfd_status *st);
struct tfd_handle *tfd_handle_ref(struct tfd_handle *h);
void tfd_handle_unref(struct tfd_handle *h);

/* ---- common/resource/handle_proto.c: ResourceHandleProto --------------------
 */

void tfd_handle_encode(struct tfd_bytes *b, void *handle);
enum tfd_code tfd_handle_decode(struct tfd_str proto, void **handle,
                                struct tfd_status *st) TFD_MUST_USE;

#endif
