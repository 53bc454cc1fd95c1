/*
 * file_roots.c - over openat2(2), which resolves a name and bounds where it
 * may lead in one step, so that nobody can swap a link in between.
 *
 * A name is first taken as it is written: when its beginning is that of a root,
 * the rest is opened beneath the root.  The kernel answers EXDEV or ELOOP when
 * a link is absolute or leads out.  Such a link may still end below a root, and
 * so may a name that does not begin like one, so both are tried again with the
 * name realpath(3) makes of it.  realpath() only proposes: the opening is again
 * bounded by the kernel.
 */
#define _GNU_SOURCE /* O_PATH */
#include "kernels/io/file_roots.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Errors ---------------------------------------------------------------
 */

/* TensorFlow's translation of errno, as far as files go; the rest is UNKNOWN.
 */
static const struct {
    int number;
    enum tfd_code code;
} errno_codes[] = {
    {ENOENT, TFD_NOT_FOUND},           {ENXIO, TFD_NOT_FOUND},
    {ENODEV, TFD_NOT_FOUND},           {EEXIST, TFD_ALREADY_EXISTS},
    {EPERM, TFD_PERMISSION_DENIED},    {EACCES, TFD_PERMISSION_DENIED},
    {EROFS, TFD_PERMISSION_DENIED},    {ENOTDIR, TFD_FAILED_PRECONDITION},
    {EISDIR, TFD_FAILED_PRECONDITION}, {ENOTEMPTY, TFD_FAILED_PRECONDITION},
    {EBUSY, TFD_FAILED_PRECONDITION},  {ETXTBSY, TFD_FAILED_PRECONDITION},
    {EINVAL, TFD_INVALID_ARGUMENT},    {ENAMETOOLONG, TFD_INVALID_ARGUMENT},
    {ENOSPC, TFD_RESOURCE_EXHAUSTED},  {EDQUOT, TFD_RESOURCE_EXHAUSTED},
    {EMFILE, TFD_RESOURCE_EXHAUSTED},  {ENFILE, TFD_RESOURCE_EXHAUSTED},
    {ENOMEM, TFD_RESOURCE_EXHAUSTED},  {EMLINK, TFD_RESOURCE_EXHAUSTED},
    {EFBIG, TFD_OUT_OF_RANGE},         {EOVERFLOW, TFD_OUT_OF_RANGE},
    {EXDEV, TFD_UNIMPLEMENTED},        {ENOSYS, TFD_UNIMPLEMENTED},
    {ENOTSUP, TFD_UNIMPLEMENTED},      {EAGAIN, TFD_UNAVAILABLE},
    {EINTR, TFD_UNAVAILABLE},          {ESTALE, TFD_ABORTED},
};

static enum tfd_code code_of(int number)
{
    for (size_t i = 0; i < sizeof(errno_codes) / sizeof(errno_codes[0]); i++)
        if (errno_codes[i].number == number)
            return errno_codes[i].code;
    return TFD_UNKNOWN;
}

static enum tfd_code fail_errno(struct tfd_status *st, int number,
                                struct tfd_str name)
{
    return tfd_fail(st, code_of(number), TFD_STR_FMT "; %s", TFD_STR_ARG(name),
                    strerror(number));
}

/* Of an open file. */
enum tfd_code tfd_file_roots_fail(struct tfd_status *st, int number)
{
    return tfd_fail(st, code_of(number), "%s", strerror(number));
}

static enum tfd_code fail_denied(struct tfd_status *st,
                                 const struct tfd_file_roots *r,
                                 struct tfd_str name)
{
    return tfd_fail(
        st, TFD_PERMISSION_DENIED, TFD_STR_FMT "; %s", TFD_STR_ARG(name),
        r->count > 0 ? "Not below any --file_root of this server"
                     : "This server was started without --file_root, so "
                       "operations may not use files");
}

/* ---- Names ----------------------------------------------------------------
 */

/* The path of the name, terminated, with the working directory in front when
 * relative. */
static enum tfd_code make_absolute(struct tfd_str name,
                                   char out[TFD_FILE_NAME_MAX],
                                   struct tfd_status *st)
{
    struct tfd_str scheme, given = name;
    size_t used = 0;

    if (name.size == 0)
        return fail_errno(st, ENOENT, name);
    name = tfd_file_path(name, &scheme);
    if (scheme.size > 0 && !tfd_str_is(scheme, "file"))
        return tfd_fail(st, TFD_UNIMPLEMENTED,
                        "File system scheme '" TFD_STR_FMT
                        "' not implemented (file: '" TFD_STR_FMT "')",
                        TFD_STR_ARG(scheme), TFD_STR_ARG(given));
    if (memchr(name.data, '\0', name.size))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "file name of %zu bytes contains a NUL", name.size);
    if (name.data[0] != '/') {
        if (!getcwd(out, TFD_FILE_NAME_MAX))
            return fail_errno(st, errno, given);
        used = strlen(out);
        if (used < TFD_FILE_NAME_MAX - 1)
            out[used++] = '/';
    }
    if (name.size >= TFD_FILE_NAME_MAX - used)
        return fail_errno(st, ENAMETOOLONG, given);
    memcpy(out + used, name.data, name.size);
    out[used + name.size] = '\0';
    return TFD_OK;
}

/* Past slashes and "." components. */
static const char *skip_nothing(const char *p)
{
    for (;;) {
        if (p[0] == '/')
            p++;
        else if (p[0] == '.' && (p[1] == '/' || p[1] == '\0'))
            p++;
        else
            return p;
    }
}

/* What of path is left below dir ("." when nothing), component by component;
 * NULL when path does not begin with dir.  Both are absolute. */
static const char *rest_below(const char *dir, const char *path)
{
    for (;;) {
        size_t n;

        dir = skip_nothing(dir);
        path = skip_nothing(path);
        if (*dir == '\0')
            return *path == '\0' ? "." : path;
        n = strcspn(dir, "/");
        if (strncmp(dir, path, n) != 0 || (path[n] != '/' && path[n] != '\0'))
            return NULL;
        dir += n;
        path += n;
    }
}

/* ---- Opening below a root -------------------------------------------------
 */

static int openat2_call(int dir, const char *name, int flags, mode_t mode,
                        uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .mode = mode,
        .resolve = resolve,
    };

    return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* In the root "/" a link cannot lead out, and absolute ones are common. */
static int open_beneath(const struct tfd_file_roots *r,
                        const struct tfd_file_root *root, const char *rest,
                        int flags)
{
    uint64_t bound =
        strcmp(root->real, "/") == 0 ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;

    if (r->by_comparison) {
        errno = EXDEV;
        return -1;
    }
    /* EAGAIN: a rename went on meanwhile and the kernel is not sure. */
    for (int i = 0; i < 8; i++) {
        int fd = openat2_call(root->fd, rest, flags, 0,
                              bound | RESOLVE_NO_MAGICLINKS);

        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            return fd;
    }
    return -1;
}

/* Without openat2, after the comparison: no link may be the last component. */
static int open_compared(const struct tfd_file_roots *r,
                         const struct tfd_file_root *root, const char *rest,
                         int flags)
{
    if (!r->by_comparison)
        return open_beneath(r, root, rest, flags);
    return openat(root->fd, rest, flags | O_CLOEXEC | O_NOFOLLOW);
}

/* Whether a file is there is told only about names below a root. */
static enum tfd_code fail_unresolved(struct tfd_status *st,
                                     const struct tfd_file_roots *r,
                                     struct tfd_str name, const char *path,
                                     int number)
{
    for (int i = 0; r->by_comparison && i < r->count; i++)
        if (rest_below(r->root[i].given, path))
            return fail_errno(st, number, name);
    return fail_denied(st, r, name);
}

/* Opens something that exists. */
static enum tfd_code open_existing(const struct tfd_file_roots *r,
                                   struct tfd_str name, int flags, int *fd,
                                   struct tfd_status *st)
{
    char path[TFD_FILE_NAME_MAX], real[PATH_MAX];
    bool loops = false;
    const char *rest;

    TFD_TRY(make_absolute(name, path, st));
    for (int i = 0; i < r->count; i++) {
        rest = rest_below(r->root[i].given, path);
        *fd = rest ? open_beneath(r, &r->root[i], rest, flags) : -1;
        if (*fd >= 0)
            return TFD_OK;
        if (rest && errno != EXDEV && errno != ELOOP)
            return fail_errno(st, errno, name);
        loops = loops || (rest && errno == ELOOP);
    }
    /* The kernel went round below the root, or it had said EXDEV. */
    if (!realpath(path, real))
        return errno == ELOOP && loops
                   ? fail_errno(st, ELOOP, name)
                   : fail_unresolved(st, r, name, path, errno);
    for (int i = 0; i < r->count; i++) {
        rest = rest_below(r->root[i].real, real);
        *fd = rest ? open_compared(r, &r->root[i], rest, flags) : -1;
        if (*fd >= 0)
            return TFD_OK;
        if (rest && errno != EXDEV && errno != ELOOP)
            return fail_errno(st, errno, name);
    }
    return fail_denied(st, r, name);
}

/* Opens the directory that has, or will have, the entry `name`, and copies the
 * entry's own name out.  flags: O_PATH, or O_RDONLY to sync it. */
static enum tfd_code open_parent(const struct tfd_file_roots *r,
                                 struct tfd_str name, int flags, int *fd,
                                 char entry[NAME_MAX + 1],
                                 struct tfd_status *st)
{
    char path[TFD_FILE_NAME_MAX];
    struct tfd_status cause = TFD_STATUS_INIT;
    struct tfd_str whole, dir;
    const char *base;

    *fd = -1;
    TFD_TRY(make_absolute(name, path, st));
    whole = tfd_str_of(path);
    while (whole.size > 1 && path[whole.size - 1] == '/')
        path[--whole.size] = '\0';
    base = strrchr(path, '/') + 1;
    if (*base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return fail_errno(st, EISDIR, name);
    if (strlen(base) > NAME_MAX)
        return fail_errno(st, ENAMETOOLONG, name);
    memcpy(entry, base, strlen(base) + 1);

    dir = tfd_file_dirname(whole);
    if (open_existing(r, dir, flags | O_DIRECTORY, fd, &cause) == TFD_OK)
        return TFD_OK;
    /* The directory's error, with the name the graph used. */
    return tfd_fail(st, cause.code, TFD_STR_FMT ";%s", TFD_STR_ARG(name),
                    strchr(cause.text, ';') ? strrchr(cause.text, ';') + 1
                                            : cause.text);
}

/* ---- The table ------------------------------------------------------------
 */

static const struct tfd_file_roots *roots_of(struct tfd_file_access *a)
{
    return (const struct tfd_file_roots *)(const void *)a;
}

static enum tfd_code check_regular(int fd, struct tfd_str name, uint64_t *size,
                                   struct tfd_status *st)
{
    struct tfd_str scheme;
    struct stat s;

    if (fstat(fd, &s) != 0)
        return fail_errno(st, errno, name);
    if (S_ISDIR(s.st_mode)) /* TensorFlow names the path alone here */
        return fail_errno(st, EISDIR, tfd_file_path(name, &scheme));
    if (!S_ISREG(s.st_mode))
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        TFD_STR_FMT "; Not a regular file", TFD_STR_ARG(name));
    *size = (uint64_t)s.st_size;
    return TFD_OK;
}

/* Opening a device may already do something, so what it is is looked at first,
 * and once more after. */
static enum tfd_code roots_open_read(struct tfd_file_access *a,
                                     struct tfd_str name, struct tfd_file *out,
                                     struct tfd_status *st)
{
    enum tfd_code rc;
    uint64_t size = 0;
    int fd;

    TFD_TRY(open_existing(roots_of(a), name, O_PATH, &fd, st));
    rc = check_regular(fd, name, &size, st);
    close(fd);
    TFD_TRY(rc);
    TFD_TRY(open_existing(roots_of(a), name, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                          &fd, st));
    rc = check_regular(fd, name, &size, st);
    if (rc != TFD_OK) {
        close(fd);
        return rc;
    }
    out->fd = fd;
    out->size = size;
    return TFD_OK;
}

static enum tfd_code roots_open_new(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_file *out,
                                    struct tfd_status *st)
{
    char entry[NAME_MAX + 1];
    int dir, number;

    TFD_TRY(open_parent(roots_of(a), name, O_PATH, &dir, entry, st));
    out->fd = openat(
        dir, entry, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    out->size = 0;
    number = errno;
    close(dir);
    return out->fd >= 0 ? TFD_OK : fail_errno(st, number, name);
}

static enum tfd_code roots_read_at(struct tfd_file_access *a,
                                   struct tfd_file *f, uint64_t offset,
                                   void *data, size_t size,
                                   struct tfd_status *st)
{
    char *p = data;

    (void)a;
    if (offset > INT64_MAX || size > INT64_MAX - offset)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "Read less bytes than requested");
    while (size > 0) {
        ssize_t n = pread(f->fd, p, size, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tfd_file_roots_fail(st, errno);
        if (n == 0)
            return tfd_fail(st, TFD_OUT_OF_RANGE,
                            "Read less bytes than requested");
        p += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return TFD_OK;
}

static enum tfd_code roots_write(struct tfd_file_access *a, struct tfd_file *f,
                                 const void *data, size_t size,
                                 struct tfd_status *st)
{
    const char *p = data;

    (void)a;
    while (size > 0) {
        ssize_t n = write(f->fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tfd_file_roots_fail(st, errno);
        p += n;
        size -= (size_t)n;
    }
    return TFD_OK;
}

static enum tfd_code roots_sync(struct tfd_file_access *a, struct tfd_file *f,
                                struct tfd_status *st)
{
    (void)a;
    return fsync(f->fd) == 0 ? TFD_OK : tfd_file_roots_fail(st, errno);
}

static void roots_close(struct tfd_file_access *a, struct tfd_file *f)
{
    (void)a;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* A device, a FIFO or a socket is nothing that a file may replace: whoever
 * writes to /dev/null does not mean to end it for everybody. */
static enum tfd_code check_replaceable(int dir, const char *entry,
                                       struct tfd_str name,
                                       struct tfd_status *st)
{
    struct stat s;

    if (fstatat(dir, entry, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISREG(s.st_mode) || S_ISLNK(s.st_mode) || S_ISDIR(s.st_mode))
        return TFD_OK;
    return tfd_fail(st, TFD_FAILED_PRECONDITION,
                    TFD_STR_FMT "; Not a regular file", TFD_STR_ARG(name));
}

static enum tfd_code roots_rename(struct tfd_file_access *a,
                                  struct tfd_str from, struct tfd_str to,
                                  struct tfd_status *st)
{
    char from_entry[NAME_MAX + 1], to_entry[NAME_MAX + 1];
    int from_dir = -1, to_dir = -1;
    enum tfd_code rc;

    rc = open_parent(roots_of(a), from, O_PATH, &from_dir, from_entry, st);
    if (rc == TFD_OK)
        rc = open_parent(roots_of(a), to, O_PATH, &to_dir, to_entry, st);
    if (rc == TFD_OK)
        rc = check_replaceable(to_dir, to_entry, to, st);
    if (rc == TFD_OK && renameat(from_dir, from_entry, to_dir, to_entry) != 0)
        rc = fail_errno(st, errno, from);
    if (from_dir >= 0)
        close(from_dir);
    if (to_dir >= 0)
        close(to_dir);
    return rc;
}

/* unlinkat() with its flags. */
static enum tfd_code remove_entry(struct tfd_file_access *a,
                                  struct tfd_str name, int flags,
                                  struct tfd_status *st)
{
    char entry[NAME_MAX + 1];
    int dir, number;

    TFD_TRY(open_parent(roots_of(a), name, O_PATH, &dir, entry, st));
    number = unlinkat(dir, entry, flags) == 0 ? 0 : errno;
    close(dir);
    return number == 0 ? TFD_OK : fail_errno(st, number, name);
}

static enum tfd_code roots_remove(struct tfd_file_access *a,
                                  struct tfd_str name, struct tfd_status *st)
{
    return remove_entry(a, name, 0, st);
}

static enum tfd_code roots_remove_dir(struct tfd_file_access *a,
                                      struct tfd_str name,
                                      struct tfd_status *st)
{
    return remove_entry(a, name, AT_REMOVEDIR, st);
}

static enum tfd_code roots_make_dir(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_status *st)
{
    char entry[NAME_MAX + 1];
    int dir, number;

    TFD_TRY(open_parent(roots_of(a), name, O_PATH, &dir, entry, st));
    number = mkdirat(dir, entry, 0755) == 0 ? 0 : errno;
    close(dir);
    return number == 0 ? TFD_OK : fail_errno(st, number, name);
}

/* Some filesystems cannot sync a directory and say EINVAL; they need not. */
static enum tfd_code roots_sync_dir(struct tfd_file_access *a,
                                    struct tfd_str name, struct tfd_status *st)
{
    char entry[NAME_MAX + 1];
    int dir, number;

    TFD_TRY(open_parent(roots_of(a), name, O_RDONLY, &dir, entry, st));
    number = fsync(dir) == 0 ? 0 : errno;
    close(dir);
    return number == 0 || number == EINVAL ? TFD_OK
                                           : fail_errno(st, number, name);
}

enum tfd_code tfd_file_roots_open(struct tfd_file_access *a,
                                  struct tfd_str name, int flags, int *fd,
                                  struct tfd_status *st)
{
    return open_existing(roots_of(a), name, flags, fd, st);
}

const struct tfd_file_access tfd_file_roots_access = {
    .open_read = roots_open_read,
    .open_new = roots_open_new,
    .open_append = tfd_file_roots_append,
    .open_update = tfd_file_roots_update,
    .read_at = roots_read_at,
    .write = roots_write,
    .write_at = tfd_file_roots_write_at,
    .resize = tfd_file_roots_resize,
    .sync = roots_sync,
    .begin_sync = tfd_file_roots_begin_sync,
    .await_sync = tfd_file_roots_await_sync,
    .hold = tfd_file_roots_hold,
    .close = roots_close,
    .lock = tfd_file_roots_lock,
    .rename = roots_rename,
    .remove = roots_remove,
    .make_dir = roots_make_dir,
    .remove_dir = roots_remove_dir,
    .look = tfd_file_roots_look,
    .list_dir = tfd_file_roots_list,
    .sync_dir = roots_sync_dir,
    .order_dir = tfd_file_roots_order_dir,
};

/* ---- Setting up the roots -------------------------------------------------
 */

static enum tfd_code root_init(struct tfd_file_root *root, const char *dir,
                               struct tfd_status *st)
{
    char path[TFD_FILE_NAME_MAX], real[PATH_MAX];

    root->fd = -1;
    root->given = root->real = NULL;
    TFD_TRY(make_absolute(tfd_str_of(dir), path, st));
    root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->fd < 0 || !realpath(path, real))
        return fail_errno(st, errno, tfd_str_of(dir));
    root->given = strdup(path);
    root->real = strdup(real);
    if (!root->given || !root->real)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    return TFD_OK;
}

/* A sandbox that forbids the call gives EPERM. */
static bool have_openat2(int dir)
{
    int fd = openat2_call(dir, ".", O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH);

    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno != ENOSYS && errno != EPERM);
}

enum tfd_code tfd_file_roots_init(struct tfd_file_roots *r,
                                  const char *const *dirs, int count,
                                  struct tfd_status *st)
{
    assert(count >= 0);
    memset(r, 0, sizeof(*r));
    r->access = tfd_file_roots_access;
    if (count > TFD_FILE_ROOT_DIRS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "--file_root given %d times, at most %d are possible",
                        count, TFD_FILE_ROOT_DIRS_MAX);
    for (int i = 0; i < count; i++) {
        enum tfd_code rc = root_init(&r->root[r->count++], dirs[i], st);

        if (rc != TFD_OK) {
            tfd_status_context(st, "--file_root");
            tfd_file_roots_deinit(r);
            return rc;
        }
    }
    r->by_comparison = r->count > 0 && !have_openat2(r->root[0].fd);
    return TFD_OK;
}

void tfd_file_roots_deinit(struct tfd_file_roots *r)
{
    for (int i = 0; i < r->count; i++) {
        if (r->root[i].fd >= 0)
            close(r->root[i].fd);
        free(r->root[i].given);
        free(r->root[i].real);
    }
    r->count = 0;
}
