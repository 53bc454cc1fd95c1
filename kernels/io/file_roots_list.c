/*
 * file_roots_list.c - looking at names below a root without reading them,
 * opening a file there that may exist already, and the order in which changes
 * of a directory reach the disk.
 */
#define _GNU_SOURCE /* O_PATH, sync_file_range */
#include "kernels/io/file_roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static enum tfd_code fail_list(struct tfd_str name, struct tfd_status *st)
{
    return tfd_fail(st, TFD_UNKNOWN, TFD_STR_FMT "; %s", TFD_STR_ARG(name),
                    strerror(errno));
}

enum tfd_code tfd_file_roots_look(struct tfd_file_access *a,
                                  struct tfd_str name, bool *is_dir,
                                  struct tfd_status *st)
{
    struct stat s;
    int fd, rc;

    TFD_TRY(tfd_file_roots_open(a, name, O_PATH, &fd, st));
    rc = fstat(fd, &s);
    close(fd);
    if (rc != 0)
        return fail_list(name, st);
    *is_dir = S_ISDIR(s.st_mode);
    return TFD_OK;
}

enum tfd_code tfd_file_roots_list(struct tfd_file_access *a,
                                  struct tfd_str name, struct tfd_bytes *out,
                                  struct tfd_status *st)
{
    const struct dirent *e;
    DIR *dir;
    int fd;

    TFD_TRY(tfd_file_roots_open(a, name, O_RDONLY | O_DIRECTORY, &fd, st));
    dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return fail_list(name, st);
    }
    while ((e = readdir(dir)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            tfd_bytes_add(out, e->d_name, strlen(e->d_name) + 1);
    closedir(dir);
    return tfd_bytes_ok(out, "names of a directory", st);
}

static enum tfd_code check_plain(int fd, struct tfd_str name,
                                 struct tfd_status *st)
{
    struct tfd_str scheme;
    struct stat s;

    if (fstat(fd, &s) != 0)
        return fail_list(name, st);
    if (S_ISREG(s.st_mode))
        return TFD_OK;
    name = tfd_file_path(name, &scheme);
    return tfd_fail(
        st, TFD_FAILED_PRECONDITION, TFD_STR_FMT "; %s", TFD_STR_ARG(name),
        S_ISDIR(s.st_mode) ? "Is a directory" : "Not a regular file");
}

/* Opening a device may already do something, so what it is is looked at first,
 * and once more after. */
enum tfd_code tfd_file_roots_append(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_file *out,
                                    struct tfd_status *st)
{
    static const int ways[] = {O_PATH,
                               O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY};
    struct tfd_status cause = TFD_STATUS_INIT;
    int fd = -1, tries = 0;

    for (int i = 0; i < 2; i++) {
        enum tfd_code rc;

        if (fd >= 0)
            close(fd);
        rc = tfd_file_roots_open(a, name, ways[i], &fd, &cause);
        if (rc == TFD_NOT_FOUND && i == 0) {
            tfd_status_clear(&cause);
            rc = tfd_file_roots_access.open_new(a, name, out, &cause);
            if (rc != TFD_ALREADY_EXISTS || tries++ > 0)
                return rc == TFD_OK ? TFD_OK : tfd_status_copy(st, &cause);
            tfd_status_clear(&cause); /* somebody else has just made it */
            i = -1;
            continue;
        }
        TFD_TRY(tfd_status_copy(st, &cause));
        rc = check_plain(fd, name, st);
        if (rc != TFD_OK) {
            close(fd);
            return rc;
        }
    }
    *out = (struct tfd_file){fd, 0};
    return TFD_OK;
}

/* ---- Order on disk ------------------------------------------------------- */

/* Where the filesystem cannot, sync() has all of it to do. */
void tfd_file_roots_begin_sync(struct tfd_file_access *a, struct tfd_file *f)
{
    (void)a;
    (void)!sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Where it cannot be asked, sync() waits. */
enum tfd_code tfd_file_roots_await_sync(struct tfd_file_access *a,
                                        struct tfd_file *f,
                                        struct tfd_status *st)
{
    (void)a;
    if (sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE) == 0 ||
        errno == EINVAL || errno == ESPIPE || errno == ENOSYS)
        return TFD_OK;
    return tfd_file_roots_fail(st, errno);
}

#define SPARE_PART 2 /* of the descriptors may be taken when one is held */
#define ROOM_PART 8  /* of what is free a file that is held may take */

/* Whoever holds must not be why another open fails. */
static bool has_descriptors(int fd)
{
    struct rlimit most;

    return getrlimit(RLIMIT_NOFILE, &most) == 0 &&
           (rlim_t)fd < most.rlim_cur / SPARE_PART;
}

/* A disk that is nearly full needs the room of what goes at once.  A client of
 * NFS keeps what is removed while it is open under another name, which others
 * would see. */
static bool may_be_held(int fd)
{
    struct statfs s;
    struct stat f;

    return has_descriptors(fd) && fstatfs(fd, &s) == 0 &&
           s.f_type != NFS_SUPER_MAGIC && fstat(fd, &f) == 0 &&
           (uint64_t)f.st_blocks * 512 <=
               (uint64_t)s.f_bavail / ROOM_PART * (uint64_t)s.f_bsize;
}

void tfd_file_roots_hold(struct tfd_file_access *a, struct tfd_str name,
                         struct tfd_file *out)
{
    *out = (struct tfd_file)TFD_FILE_INIT;
    if (tfd_file_roots_open(a, name, O_PATH | O_NOFOLLOW, &out->fd, NULL) !=
        TFD_OK)
        out->fd = -1;
    if (out->fd >= 0 && !may_be_held(out->fd)) {
        close(out->fd);
        out->fd = -1;
    }
}

/* A filesystem without a journal writes the blocks of a directory in any order,
 * but one block with all that happened to it so far.  So changes need a sync
 * between them only where the directory has more than one; and on FAT, whose
 * blocks are written by their sectors. */
enum tfd_code tfd_file_roots_order_dir(struct tfd_file_access *a,
                                       struct tfd_str name,
                                       struct tfd_status *st)
{
    struct tfd_str dir = tfd_file_dirname(name);
    struct statfs fs;
    bool one_block;
    struct stat s;
    int fd;

    TFD_TRY(tfd_file_roots_open(a, dir.size > 0 ? dir : TFD_STR("."),
                                O_PATH | O_DIRECTORY, &fd, st));
    one_block = fstatfs(fd, &fs) == 0 && fs.f_type != MSDOS_SUPER_MAGIC &&
                fstat(fd, &s) == 0 && s.st_size <= s.st_blksize;
    close(fd);
    return one_block ? TFD_OK : tfd_file_roots_access.sync_dir(a, name, st);
}
