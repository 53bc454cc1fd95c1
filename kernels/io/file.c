/*
 * file.c - what all kinds of file access share (file.h): parts of names and
 * URIs, and reading a whole file.
 */
#include "kernels/io/file.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Where the path begins: behind a scheme - a letter, then letters, digits and
 * dots - and a host; 0 when there is no scheme, whose size is in *scheme. */
static size_t path_start(struct tfd_str name, size_t *scheme)
{
    size_t n = 0;

    *scheme = 0;
    while (n < name.size &&
           (is_letter(name.data[n]) ||
            (n > 0 && ((name.data[n] >= '0' && name.data[n] <= '9') ||
                       name.data[n] == '.'))))
        n++;
    if (n == 0 || name.size - n < 3 || memcmp(name.data + n, "://", 3) != 0)
        return 0;
    *scheme = n;
    n += 3;
    while (n < name.size && name.data[n] != '/')
        n++;
    return n;
}

struct tfd_str tfd_file_path(struct tfd_str name, struct tfd_str *scheme)
{
    size_t size, start = path_start(name, &size);

    *scheme = (struct tfd_str){name.data, size};
    if (size > 0 && start == name.size)
        return TFD_STR("/");
    return (struct tfd_str){name.data + start, name.size - start};
}

struct tfd_str tfd_file_dirname(struct tfd_str name)
{
    size_t scheme, start = path_start(name, &scheme), n = name.size;

    while (n > start && name.data[n - 1] != '/')
        n--;
    while (n > start + 1 && name.data[n - 1] == '/')
        n--;
    return (struct tfd_str){name.data, n};
}

bool tfd_file_is_missing(struct tfd_file_access *a, struct tfd_str name,
                         enum tfd_code rc)
{
    struct tfd_file f = TFD_FILE_INIT;
    struct tfd_str dir;

    if (rc != TFD_FAILED_PRECONDITION)
        return rc == TFD_NOT_FOUND;
    for (; (dir = tfd_file_dirname(name)).size < name.size; name = dir)
        if (dir.size > 0 && a->open_read(a, dir, &f, NULL) == TFD_OK) {
            a->close(a, &f);
            return true;
        }
    return false;
}

enum tfd_code tfd_file_read_all(struct tfd_file_access *a, struct tfd_str name,
                                struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_status cause = TFD_STATUS_INIT;
    struct tfd_file f = TFD_FILE_INIT;
    char *to = NULL;
    enum tfd_code rc;

    TFD_TRY(a->open_read(a, name, &f, st));
    if (f.size > out->max - out->size)
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                      TFD_STR_FMT "; %llu bytes, at most %zu can be read",
                      TFD_STR_ARG(name), (unsigned long long)f.size,
                      out->max - out->size);
    else {
        to = tfd_bytes_extend(out, (size_t)f.size);
        rc = tfd_bytes_ok(out, "file contents", st);
    }
    if (rc == TFD_OK && f.size > 0) {
        rc = a->read_at(a, &f, 0, to, (size_t)f.size, &cause);
        if (rc != TFD_OK)
            tfd_fail(st, rc, TFD_STR_FMT "; %s", TFD_STR_ARG(name), cause.text);
    }
    a->close(a, &f);
    return rc;
}

static bool made(enum tfd_code rc)
{
    return rc == TFD_OK || rc == TFD_ALREADY_EXISTS;
}

/* Upwards until one is there, and down again. */
enum tfd_code tfd_file_make_dirs(struct tfd_file_access *a, struct tfd_str dir,
                                 struct tfd_status *st)
{
    struct tfd_str there = dir;
    enum tfd_code rc;

    while (!made(rc = a->make_dir(a, there, NULL))) {
        struct tfd_str parent = tfd_file_dirname(there);

        if (rc != TFD_NOT_FOUND || parent.size == 0 ||
            parent.size >= there.size)
            return a->make_dir(a, there, st);
        there = parent;
    }
    for (size_t n = there.size + 1; n <= dir.size; n++) {
        if (n < dir.size && dir.data[n] != '/')
            continue;
        rc = a->make_dir(a, (struct tfd_str){dir.data, n}, NULL);
        if (!made(rc))
            return a->make_dir(a, (struct tfd_str){dir.data, n}, st);
    }
    return TFD_OK;
}
