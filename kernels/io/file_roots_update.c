/*
 * file_roots_update.c - files that are read and written at any place, as
 * databases are.
 */
#define _GNU_SOURCE /* O_PATH */
#include "kernels/io/file_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum tfd_code fail_update(struct tfd_status *st)
{
    return tfd_fail(st,
                    errno == ENOSPC || errno == EDQUOT ? TFD_RESOURCE_EXHAUSTED
                    : errno == EFBIG                   ? TFD_OUT_OF_RANGE
                                                       : TFD_UNKNOWN,
                    "%s", strerror(errno));
}

static enum tfd_code check_updatable(int fd, struct tfd_str name,
                                     uint64_t *size, struct tfd_status *st)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return fail_update(st);
    *size = (uint64_t)s.st_size;
    if (S_ISREG(s.st_mode))
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    TFD_STR_FMT "; Not a regular file", TFD_STR_ARG(name));
}

/* Opening a device may already do something, so what it is is looked at first,
 * and once more after. */
static enum tfd_code open_there(struct tfd_file_access *a, struct tfd_str name,
                                struct tfd_file *out, struct tfd_status *st)
{
    static const int ways[] = {O_PATH, O_RDWR | O_NONBLOCK | O_NOCTTY};
    int fd = -1;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        enum tfd_code rc;

        if (fd >= 0)
            close(fd);
        TFD_TRY(tfd_file_roots_open(a, name, ways[i], &fd, st));
        rc = check_updatable(fd, name, &out->size, st);
        if (rc != TFD_OK) {
            close(fd);
            return rc;
        }
    }
    out->fd = fd;
    return TFD_OK;
}

enum tfd_code tfd_file_roots_update(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_file *out,
                                    struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc = open_there(a, name, out, &why);

    if (rc != TFD_NOT_FOUND)
        return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &why);
    tfd_status_clear(&why);
    rc = tfd_file_roots_access.open_new(a, name, out, &why);
    if (rc == TFD_OK)
        tfd_file_roots_access.close(a, out);
    else if (rc != TFD_ALREADY_EXISTS) /* else somebody has just made it */
        return tfd_status_copy(st, &why);
    return open_there(a, name, out, st);
}

enum tfd_code tfd_file_roots_write_at(struct tfd_file_access *a,
                                      struct tfd_file *f, uint64_t offset,
                                      const void *data, size_t size,
                                      struct tfd_status *st)
{
    const char *p = data;

    (void)a;
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "a place beyond any file");
    while (size > 0) {
        ssize_t n = pwrite(f->fd, p, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_update(st);
        p += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return TFD_OK;
}

enum tfd_code tfd_file_roots_resize(struct tfd_file_access *a,
                                    struct tfd_file *f, uint64_t size,
                                    struct tfd_status *st)
{
    (void)a;
    if (size > INT64_MAX)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "a size beyond any file");
    return ftruncate(f->fd, (off_t)size) == 0 ? TFD_OK : fail_update(st);
}
