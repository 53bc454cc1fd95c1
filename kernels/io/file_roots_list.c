/*
 * file_roots_list.c - looking at names below a root without reading them.
 */
#define _GNU_SOURCE /* O_PATH */
#include "kernels/io/file_roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
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
