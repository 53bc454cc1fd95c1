/*
 * reset.c - tfdctl reset: MasterService's Reset.
 */
#include "tools/ctl/server.h"

#include "common/proto/master.pb.h"

static enum tfd_code ask(struct tfd_ctl_server *s, struct tfd_status *st)
{
    struct tfd_bytes request;
    enum tfd_code rc;

    tfd_bytes_init(&request, SIZE_MAX);
    for (size_t i = 0; i < s->ctl->word_count; i++)
        tfd_pb_put_str_always(&request, tensorflow_ResetRequest_container_tag,
                              tfd_str_of(s->ctl->words[i]));
    rc = tfd_bytes_ok(&request, "the request", st);
    if (rc == TFD_OK)
        rc = tfd_ctl_server_call(s, TFD_METHOD_Reset, tfd_bytes_view(&request),
                                 0, NULL, st);
    tfd_bytes_deinit(&request);
    return rc;
}

int tfd_ctl_reset(struct tfd_ctl *c)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_ctl_server s;
    int code = tfd_ctl_server_open(c, &s);

    if (code != TFD_CTL_DONE)
        return code;
    if (ask(&s, &st) != TFD_OK)
        code = tfd_ctl_fail_call(c, s.address, &st);
    else if (c->json)
        code = tfd_ctl_put_json(
            c, json_pack("{s:s, s:b}", "target", s.address, "reset", 1), code);
    else
        fprintf(c->to, "%s reset\n", s.address);
    tfd_ctl_server_close(&s);
    return code;
}
