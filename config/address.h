/*
 * address.h - "host:port" as a cluster names a task.
 *
 *     ps0:2222   10.0.0.1:2222   [2001:db8::1]:2222   [fe80::1%eth0]:2222
 *
 * Syntax only; nothing is resolved here (a name may be known to the network
 * only later, see config/bind.h and rpc/core/channel.h).
 *
 * Threads: any; nothing is shared.
 */
#ifndef TFD_CONFIG_ADDRESS_H
#define TFD_CONFIG_ADDRESS_H

#include "common/base/status.h"
#include "config/limits.h"

#include <stdint.h>

#define TFD_PORT_DEFAULT 2222

struct tfd_address {
    char host[TFD_HOST_SIZE_MAX + 1]; /* without brackets */
    int32_t port;                     /* 0: any that is free */
};

/* On failure (INVALID_ARGUMENT) the text says what is wrong and what to write,
 * for report.h. */
enum tfd_code tfd_address_parse(const char *text, struct tfd_address *out,
                                struct tfd_status *st) TFD_MUST_USE;

/* "host:port", with brackets where the host has colons. */
void tfd_address_format(const struct tfd_address *a,
                        char text[TFD_ADDRESS_SIZE_MAX]);

#endif
