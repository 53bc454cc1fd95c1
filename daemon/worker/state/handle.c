/*
 * handle.c - elements of RESOURCE tensors (kernels/core/runtime.h).
 *
 * A handle names a resource.  The first kernel that looks it up leaves the
 * pointer in it, counted, and the pointer stays as long as the handle does;
 * when the resource was removed from its container meanwhile, it is looked up
 * by name again each time.
 */
#include "kernels/core/runtime.h"

#include "common/base/pbio.h"
#include "common/proto/tensor.pb.h"
#include "common/proto/tensor_proto.h"
#include "config/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define F(field) tensorflow_ResourceHandleProto_##field##_tag
#define DS(field) tensorflow_ResourceHandleProto_DtypeAndShape_##field##_tag

/* Copies s to *at, which moves behind its terminator. */
static struct tfd_str copy_part(char **at, struct tfd_str s)
{
    struct tfd_str copied = {*at, s.size};

    if (s.size)
        memcpy(*at, s.data, s.size);
    (*at)[s.size] = '\0';
    *at += s.size + 1;
    return copied;
}

/* The strings follow the handle in one block. */
struct tfd_handle *tfd_handle_new(struct tfd_str device,
                                  struct tfd_str container, struct tfd_str name,
                                  struct tfd_str type_name, uint64_t hash_code,
                                  struct tfd_status *st)
{
    size_t size = device.size + container.size + name.size + type_name.size + 4;
    struct tfd_handle *h = calloc(1, sizeof(*h) + size);
    char *at = (char *)(h + 1);

    if (!h) {
        tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                 "no memory for the handle of " TFD_STR_FMT, TFD_STR_ARG(name));
        return NULL;
    }
    h->refs = 1;
    h->device = copy_part(&at, device);
    h->container = copy_part(&at, container);
    h->name = copy_part(&at, name);
    h->type_name = copy_part(&at, type_name);
    h->hash_code = hash_code;
    h->shape.rank = TFD_RANK_UNKNOWN;
    return h;
}

struct tfd_handle *tfd_handle_ref(struct tfd_handle *h)
{
    int before = __atomic_fetch_add(&h->refs, 1, __ATOMIC_RELAXED);

    assert(before > 0);
    (void)before;
    return h;
}

void tfd_handle_unref(struct tfd_handle *h)
{
    if (!h || __atomic_sub_fetch(&h->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    tfd_resource_unref(h->cached);
    free(h);
}

/* ---- ResourceHandleProto ------------------------------------------------- */

void tfd_handle_encode(struct tfd_bytes *b, void *handle)
{
    const struct tfd_handle *h = handle;
    size_t mark;

    if (!h)
        return;
    tfd_pb_put_str(b, F(device), h->device);
    tfd_pb_put_str(b, F(container), h->container);
    tfd_pb_put_str(b, F(name), h->name);
    tfd_pb_put_int(b, F(hash_code), (int64_t)h->hash_code);
    tfd_pb_put_str(b, F(maybe_type_name), h->type_name);
    if (h->dtype == TFD_DTYPE_INVALID)
        return;
    mark = tfd_pb_begin(b, F(dtypes_and_shapes));
    tfd_pb_put_int(b, DS(dtype), (int64_t)h->dtype);
    {
        size_t shape = tfd_pb_begin(b, DS(shape));

        tfd_shape_proto_encode(b, &h->shape);
        tfd_pb_finish(b, shape);
    }
    tfd_pb_finish(b, mark);
}

struct fields {
    struct tfd_str device, container, name, type_name;
    uint64_t hash_code;
    enum tfd_dtype dtype;
    struct tfd_shape shape;
};

static enum tfd_code decode_type(struct tfd_str proto, struct fields *out,
                                 struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == DS(dtype) && f.number < TFD_DTYPE_END)
            out->dtype = (enum tfd_dtype)f.number;
        else if (f.tag == DS(shape))
            TFD_TRY(tfd_shape_proto_decode_any(tfd_pb_str(&r, &f), &out->shape,
                                               st));
    }
    return tfd_pb_end(&r, "ResourceHandleProto", st);
}

static enum tfd_code decode_fields(struct tfd_str proto, struct fields *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == F(device))
            out->device = tfd_pb_str(&r, &f);
        else if (f.tag == F(container))
            out->container = tfd_pb_str(&r, &f);
        else if (f.tag == F(name))
            out->name = tfd_pb_str(&r, &f);
        else if (f.tag == F(hash_code))
            out->hash_code = (uint64_t)tfd_pb_int64(&r, &f);
        else if (f.tag == F(maybe_type_name))
            out->type_name = tfd_pb_str(&r, &f);
        else if (f.tag == F(dtypes_and_shapes))
            TFD_TRY(decode_type(tfd_pb_str(&r, &f), out, st));
    }
    return tfd_pb_end(&r, "ResourceHandleProto", st);
}

enum tfd_code tfd_handle_decode(struct tfd_str proto, void **handle,
                                struct tfd_status *st)
{
    struct fields x = {.shape = {.rank = TFD_RANK_UNKNOWN}};
    struct tfd_handle *h;

    if (proto.size > 4 * TFD_NAME_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a resource handle of %zu bytes; %d are possible",
                        proto.size, 4 * TFD_NAME_SIZE_MAX);
    TFD_TRY(decode_fields(proto, &x, st));
    h = tfd_handle_new(x.device, x.container, x.name, x.type_name, x.hash_code,
                       st);
    if (!h)
        return TFD_RESOURCE_EXHAUSTED;
    h->dtype = x.dtype;
    h->shape = x.shape;
    *handle = h;
    return TFD_OK;
}

/* ---- The resource behind one --------------------------------------------- */

static enum tfd_code check_handle(const struct tfd_handle *h,
                                  const struct tfd_rt *rt,
                                  const struct tfd_resource_type *type,
                                  struct tfd_status *st)
{
    if (!tfd_str_is(h->device, tfd_rt_device(rt)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Trying to access resource " TFD_STR_FMT
                        " located in device " TFD_STR_FMT " from device %s",
                        TFD_STR_ARG(h->name), TFD_STR_ARG(h->device),
                        tfd_rt_device(rt));
    if (h->type_name.size && !tfd_str_is(h->type_name, type->name))
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Trying to access a handle's resource using the wrong "
            "type. The handle points to a resource (name '" TFD_STR_FMT
            "') of type '" TFD_STR_FMT "' (hash code %" PRIu64
            ") but you are trying to access the resource as type "
            "'%s'",
            TFD_STR_ARG(h->name), TFD_STR_ARG(h->type_name), h->hash_code,
            type->name);
    return TFD_OK;
}

/* The first one stays: others may be reading it. */
static void cache(struct tfd_handle *h, struct tfd_resource *r)
{
    struct tfd_resource *none = NULL;

    tfd_resource_ref(r);
    if (!__atomic_compare_exchange_n(&h->cached, &none, r, false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        tfd_resource_unref(r);
}

static struct tfd_handle *handle_at(const struct tfd_tensor *t)
{
    struct tfd_handle *const *h = tfd_tensor_data(t);

    return t->dtype == TFD_RESOURCE && tfd_tensor_elements(t) == 1 ? *h : NULL;
}

enum tfd_code tfd_kctx_resource(struct tfd_kctx *k, int in,
                                const struct tfd_resource_type *type,
                                struct tfd_resource **out,
                                struct tfd_status *st)
{
    struct tfd_handle *h = handle_at(&k->in[in]);
    struct tfd_resource *r;

    if (!h)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "input %d of " TFD_STR_FMT
                        " must be one resource handle",
                        in, TFD_STR_ARG(k->node->name));
    TFD_TRY(check_handle(h, k->rt, type, st));
    r = __atomic_load_n(&h->cached, __ATOMIC_ACQUIRE);
    if (r && r->type == type &&
        !__atomic_load_n(&r->removed, __ATOMIC_ACQUIRE)) {
        *out = tfd_resource_ref(r);
        return TFD_OK;
    }
    TFD_TRY(tfd_rt_find(k->rt, h->container, h->name, type, out, st));
    cache(h, *out);
    return TFD_OK;
}
