/*
 * entropy.c - getrandom(2), which for so few bytes is never cut short once the
 * system has started.
 */
#include "common/base/entropy.h"

#include "common/base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum tfd_code tfd_entropy_u64(uint64_t *out, struct tfd_status *st)
{
    ssize_t n;

    do
        n = getrandom(out, sizeof(*out), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(*out))
        return tfd_fail(st, TFD_UNAVAILABLE, "getrandom: %s",
                        n < 0 ? strerror(errno) : "too few bytes");
    return TFD_OK;
}

uint64_t tfd_entropy_id(void)
{
    uint64_t id = 0;

    if (tfd_entropy_u64(&id, NULL) != TFD_OK)
        id = tfd_clock_wall_ns() ^ (uint64_t)getpid() << 40;
    return id ? id : 1;
}
