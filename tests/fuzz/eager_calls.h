/*
 * eager_calls.h - calls.h for requests of EagerService: a context whose cluster
 * has a ps that nobody listens for.
 */
#ifndef TFD_TESTS_FUZZ_EAGER_CALLS_H
#define TFD_TESTS_FUZZ_EAGER_CALLS_H

#include "tests/fuzz/calls.h"

#include "common/proto/device.pb.h"
#include "common/proto/eager.pb.h"

#define EAGER_CONTEXT 7u
#define EAGER_HERE "/job:worker/replica:0/task:0/device:CPU:0"
#define EAGER_PS "/job:ps/replica:0/task:0/device:CPU:0"
#define CREATE(field) tensorflow_eager_CreateContextRequest_##field##_tag

static inline void eager_put_device(struct tfd_bytes *b, const char *name)
{
    size_t mark = tfd_pb_begin(b, CREATE(cluster_device_attributes));

    tfd_pb_put_str(b, tensorflow_DeviceAttributes_name_tag, tfd_str_of(name));
    tfd_pb_put_str(b, tensorflow_DeviceAttributes_device_type_tag,
                   TFD_STR("CPU"));
    tfd_pb_put_fixed64(b, tensorflow_DeviceAttributes_incarnation_tag, 5);
    tfd_pb_finish(b, mark);
}

/* ClusterDef: jobs of one task each; port 1 refuses. */
static inline void eager_put_cluster(struct tfd_bytes *b)
{
    static const struct {
        const char *job, *address;
    } tasks[] = {{"worker", "127.0.0.1:2"}, {"ps", "127.0.0.1:1"}};
    size_t cluster = tfd_pb_begin(b, 1);

    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        size_t job = tfd_pb_begin(b, 1), entry;

        tfd_pb_put_str(b, 1, tfd_str_of(tasks[i].job));
        entry = tfd_pb_begin(b, 2);
        tfd_pb_put_str(b, 2, tfd_str_of(tasks[i].address));
        tfd_pb_finish(b, entry);
        tfd_pb_finish(b, job);
    }
    tfd_pb_finish(b, cluster);
}

static inline void eager_create_context(void)
{
    struct tfd_bytes b;
    size_t mark;

    tfd_bytes_init(&b, 10000);
    mark = tfd_pb_begin(&b, CREATE(server_def));
    eager_put_cluster(&b);
    tfd_pb_put_str(&b, 2, TFD_STR("worker"));
    tfd_pb_finish(&b, mark);
    eager_put_device(&b, EAGER_HERE);
    eager_put_device(&b, EAGER_PS);
    tfd_pb_put_fixed64(&b, CREATE(context_id), EAGER_CONTEXT);
    calls_must(TFD_METHOD_CreateContext, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

#undef CREATE
#endif
