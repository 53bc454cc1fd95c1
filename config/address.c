/*
 * address.c - see address.h.
 *
 * The checks come in the order in which people make the mistakes, so that the
 * text names the likely one.
 */
#include "config/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static enum tfd_code fail_no_port(const char *text, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "an address without a port; write \"%.100s:%d\"", text,
                    TFD_PORT_DEFAULT);
}

/* The part after the last colon. */
static enum tfd_code parse_port(const char *text, int32_t *port,
                                struct tfd_status *st)
{
    int32_t value = 0;
    size_t size = strlen(text);

    if (size < 1 || size > 5 || strspn(text, "0123456789") != size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "the port \"%.20s\" is no number from 1 to 65535; "
                        "write host:%d",
                        text, TFD_PORT_DEFAULT);
    for (; *text; text++)
        value = value * 10 + (*text - '0');
    if (value > 65535)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "the port %d is above 65535; write host:%d", value,
                        TFD_PORT_DEFAULT);
    *port = value;
    return TFD_OK;
}

static enum tfd_code copy_host(struct tfd_address *out, const char *host,
                               size_t size, const char *letters,
                               struct tfd_status *st)
{
    if (size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "no host before the port; write host:port");
    if (size > TFD_HOST_SIZE_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a host name of %zu characters, the limit is %d; "
                        "give a shorter one",
                        size, TFD_HOST_SIZE_MAX);
    memcpy(out->host, host, size);
    out->host[size] = '\0';
    if (strspn(out->host, letters) != size)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'%c' does not belong in a host name; write host:port",
                        out->host[strspn(out->host, letters)]);
    return TFD_OK;
}

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
/* "_" is no DNS letter, but Compose and Docker networks use it. */
#define NAME_LETTERS DIGITS LOWER UPPER ".-_"
#define V6_LETTERS DIGITS LOWER UPPER ".:%-_"

static enum tfd_code parse_bracketed(const char *text, struct tfd_address *out,
                                     struct tfd_status *st)
{
    const char *close = strchr(text, ']');

    if (!close)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "'[' without ']'; write [IPv6]:port");
    if (close[1] == '\0')
        return fail_no_port(text, st);
    if (close[1] != ':')
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "no ':' after ']'; write [IPv6]:port");
    TFD_TRY(
        copy_host(out, text + 1, (size_t)(close - text - 1), V6_LETTERS, st));
    return parse_port(close + 2, &out->port, st);
}

/* "fe80::1:2222" may lack its brackets or its port: advice is for what the part
 * before the last colon can be. */
static enum tfd_code fail_colons(const char *text, const char *last,
                                 struct tfd_status *st)
{
    char before[INET6_ADDRSTRLEN] = "";
    struct in6_addr address;

    if (last - text < (ptrdiff_t)sizeof(before))
        memcpy(before, text, (size_t)(last - text));
    if (inet_pton(AF_INET6, text, &address) == 1 &&
        inet_pton(AF_INET6, before, &address) != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an IPv6 address without a port; write \"[%s]:%d\"",
                        text, TFD_PORT_DEFAULT);
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "more than one ':'; write an IPv6 address as "
                    "\"[%.*s]:%.20s\"",
                    (int)(last - text > 100 ? 100 : last - text), text,
                    last + 1);
}

enum tfd_code tfd_address_parse(const char *text, struct tfd_address *out,
                                struct tfd_status *st)
{
    const char *colon = strrchr(text, ':');
    const char *scheme = strstr(text, "://");

    memset(out, 0, sizeof(*out));
    if (text[0] == '\0')
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "an empty address; write host:port or drop it");
    if (scheme)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a URL, not an address; write \"%.100s\"", scheme + 3);
    if (text[0] == '[')
        return parse_bracketed(text, out, st);
    if (!colon)
        return fail_no_port(text, st);
    if (strchr(text, ':') != colon)
        return fail_colons(text, colon, st);
    TFD_TRY(copy_host(out, text, (size_t)(colon - text), NAME_LETTERS, st));
    return parse_port(colon + 1, &out->port, st);
}

void tfd_address_format(const struct tfd_address *a,
                        char text[TFD_ADDRESS_SIZE_MAX])
{
    const char *fmt = strchr(a->host, ':') ? "[%s]:%d" : "%s:%d";
    int n = snprintf(text, TFD_ADDRESS_SIZE_MAX, fmt, a->host, a->port);

    assert(n > 0 && n < TFD_ADDRESS_SIZE_MAX);
}
