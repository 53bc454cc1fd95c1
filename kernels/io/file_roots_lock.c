/*
 * file_roots_lock.c - locks of ranges of an open file.
 *
 * They are those of fcntl(2), which databases use, but belong to the open file
 * and not to the process: two iterators of one file do not lose each other's.
 */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "kernels/io/file_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static enum tfd_code is_locked(struct tfd_status *st)
{
    return tfd_fail(st, TFD_UNAVAILABLE, "somebody else has locked the file");
}

enum tfd_code tfd_file_roots_lock(struct tfd_file_access *a, struct tfd_file *f,
                                  enum tfd_file_lock how, uint64_t offset,
                                  uint64_t size, struct tfd_status *st)
{
    static const short types[] = {
        [TFD_FILE_SHARE] = F_RDLCK,
        [TFD_FILE_TAKE] = F_WRLCK,
        [TFD_FILE_RELEASE] = F_UNLCK,
        [TFD_FILE_ASK] = F_WRLCK,
    };
    struct flock lock = {
        .l_type = types[how],
        .l_whence = SEEK_SET,
        .l_start = (off_t)offset,
        .l_len = (off_t)size,
    };

    (void)a;
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "a lock beyond any file");
    if (fcntl(f->fd, how == TFD_FILE_ASK ? F_OFD_GETLK : F_OFD_SETLK, &lock) !=
        0) {
        if (errno == EAGAIN || errno == EACCES)
            return is_locked(st);
        return tfd_fail(st, TFD_UNKNOWN, "%s", strerror(errno));
    }
    return how == TFD_FILE_ASK && lock.l_type != F_UNLCK ? is_locked(st)
                                                         : TFD_OK;
}
