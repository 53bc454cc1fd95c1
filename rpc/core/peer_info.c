/*
 * peer_info.c - see peer_info.h.
 */
#include "rpc/core/peer_info.h"

#include "common/proto/peer.pb.h"

#include <string.h>

#define PEER_VERSION 1

void tfd_peer_info_encode(struct tfd_bytes *b, const struct tfd_peer_info *p)
{
    tfd_pb_put_str(b, tfd_Hello_task_tag, tfd_str_of(p->task));
    tfd_pb_put_fixed64(b, tfd_Hello_incarnation_tag, p->incarnation);
    tfd_pb_put_int(b, tfd_Hello_version_tag, PEER_VERSION);
}

static enum tfd_code take_task(struct tfd_str task, struct tfd_peer_info *out,
                               struct tfd_status *st)
{
    if (task.size >= sizeof(out->task) || memchr(task.data, '\0', task.size))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Hello: task name of %zu bytes, at most %zu", task.size,
                        sizeof(out->task) - 1);
    memcpy(out->task, task.data, task.size);
    out->task[task.size] = '\0';
    return TFD_OK;
}

enum tfd_code tfd_peer_info_decode(struct tfd_str proto,
                                   struct tfd_peer_info *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(proto);
    struct tfd_pb_field f;

    *out = (struct tfd_peer_info){"", 0};
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tfd_Hello_task_tag)
            TFD_TRY(take_task(tfd_pb_str(&r, &f), out, st));
        else if (f.tag == tfd_Hello_incarnation_tag)
            out->incarnation = f.number;
    }
    return tfd_pb_end(&r, "Hello", st);
}
