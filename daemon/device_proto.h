/*
 * device_proto.h - writes and reads DeviceAttributes, the messages in which
 * tasks tell each other which devices they have.
 *
 * Threads: any.
 */
#ifndef TFD_DAEMON_DEVICE_PROTO_H
#define TFD_DAEMON_DEVICE_PROTO_H

#include "common/base/pbio.h"
#include "common/proto/device.pb.h"
#include "daemon/worker_api.h"

#include <stdio.h>

/* Appends field `tag` with the DeviceAttributes of d.  Master, worker and eager
 * service write and read it, and none of them may need an object of the
 * others. */
static inline void tfd_device_proto_put(struct tfd_bytes *b, uint32_t tag,
                                        const struct tfd_device_attributes *d)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_str(b, tensorflow_DeviceAttributes_name_tag,
                   tfd_str_of(d->name));
    tfd_pb_put_str(b, tensorflow_DeviceAttributes_device_type_tag,
                   tfd_str_of(d->type));
    tfd_pb_put_int(b, tensorflow_DeviceAttributes_memory_limit_tag,
                   d->memory_limit);
    tfd_pb_put_str_always(b, tensorflow_DeviceAttributes_locality_tag,
                          TFD_STR_EMPTY);
    tfd_pb_put_fixed64(b, tensorflow_DeviceAttributes_incarnation_tag,
                       d->incarnation);
    tfd_pb_put_str(b, tensorflow_DeviceAttributes_physical_device_desc_tag,
                   tfd_str_of(d->physical));
    tfd_pb_put_int(b, tensorflow_DeviceAttributes_xla_global_id_tag, -1);
    tfd_pb_finish(b, mark);
}

static inline void tfd_device_proto_copy(char *out, size_t size,
                                         struct tfd_str s)
{
    snprintf(out, size, "%.*s", (int)(s.size < size ? s.size : size - 1),
             s.data);
}

/* What is too long for its place is cut.  *out was zeroed. */
static inline enum tfd_code
tfd_device_proto_get(struct tfd_str proto, struct tfd_device_attributes *out,
                     struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_DeviceAttributes_name_tag)
            tfd_device_proto_copy(out->name, sizeof(out->name),
                                  tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_DeviceAttributes_device_type_tag)
            tfd_device_proto_copy(out->type, sizeof(out->type),
                                  tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_DeviceAttributes_physical_device_desc_tag)
            tfd_device_proto_copy(out->physical, sizeof(out->physical),
                                  tfd_pb_str(&r, &f));
        else if (f.tag == tensorflow_DeviceAttributes_memory_limit_tag)
            out->memory_limit = tfd_pb_int64(&r, &f);
        else if (f.tag == tensorflow_DeviceAttributes_incarnation_tag)
            out->incarnation = f.number;
    }
    return tfd_pb_end(&r, "DeviceAttributes", st);
}

#endif
