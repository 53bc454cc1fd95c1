/*
 * view.c - see view.h.
 */
#include "daemon/status/view.h"

#include "rpc/conn/conn.h"

int tfd_view_connections(const struct tfd_view *v)
{
    return v->listener ? tfd_listener_connections(v->listener) : 0;
}

uint64_t tfd_view_refused(const struct tfd_view *v)
{
    return v->listener ? tfd_listener_refused(v->listener) : 0;
}
