/*
 * device_proto.h - what tasks say of their devices: DeviceAttributes.
 *
 * Threads: any.
 */
#ifndef TFD_DAEMON_DEVICE_PROTO_H
#define TFD_DAEMON_DEVICE_PROTO_H

#include "common/base/pbio.h"
#include "common/proto/device.pb.h"
#include "daemon/worker_api.h"

/* Appends field `tag` with the DeviceAttributes of d.  Master, worker and eager
 * service write it, and none of them may need an object of the others. */
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

#endif
