/*
 * check_host.c - see check_host.h.
 */
#define _GNU_SOURCE 1 /* R_OK */
#include "config/check_host.h"

#include "config/bind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files --------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return false;
    if (!S_ISDIR(s.st_mode))
        errno = ENOTDIR;
    return S_ISDIR(s.st_mode);
}

static void check_model(const struct tfd_config *c, struct tfd_report *errors)
{
    struct stat s;

    if (!c->train)
        return;
    if (stat(c->train, &s) != 0 || access(c->train, R_OK) != 0)
        tfd_report_add(errors, "--train", c->train,
                       "%s; give a MetaGraphDef that can be read",
                       strerror(errno));
    else if (!S_ISREG(s.st_mode) || s.st_size == 0)
        tfd_report_add(errors, "--train", c->train,
                       "%s; give a MetaGraphDef, as "
                       "tf.train.export_meta_graph() writes it",
                       S_ISREG(s.st_mode) ? "an empty file"
                                          : "not a regular file");
}

static void check_roots(const struct tfd_config *c, struct tfd_report *errors)
{
    for (size_t i = 0; i < c->file_root_count; i++)
        if (!is_folder(c->file_roots[i]))
            tfd_report_add(errors, "--file_root", c->file_roots[i],
                           "%s; make the directory or drop the option",
                           strerror(errno));
}

/* The longest part of the path that is there; it is made from there on. */
static void existing_part(const char *path, char *part, size_t size)
{
    char *slash;

    snprintf(part, size, "%s", path);
    while (access(part, F_OK) != 0) {
        slash = strrchr(part, '/');
        if (!slash) {
            snprintf(part, size, ".");
            return;
        }
        slash[slash == part] = '\0'; /* the first one is the root */
    }
}

static void check_checkpoints(const struct tfd_config *c,
                              struct tfd_report *errors)
{
    char part[PATH_MAX];

    /* Only the chief writes. */
    if (!c->checkpoint_dir || tfd_cluster_role(&c->cluster) != TFD_ROLE_CHIEF)
        return;
    existing_part(c->checkpoint_dir, part, sizeof(part));
    if (!is_folder(part) || access(part, W_OK | X_OK) != 0)
        tfd_report_add(errors, "--checkpoint_dir", c->checkpoint_dir,
                       "%.200s: %s; give a directory that can be written", part,
                       strerror(errno));
}

/* A file that the server is to write. */
static void check_written(const char *option, const char *path,
                          struct tfd_report *errors)
{
    char folder[PATH_MAX];
    struct stat s;
    char *slash;

    if (!path)
        return;
    if (stat(path, &s) == 0) {
        if (S_ISDIR(s.st_mode))
            errno = EISDIR;
        if (S_ISDIR(s.st_mode) || access(path, W_OK) != 0)
            tfd_report_add(errors, option, path,
                           "%s; give a file that can be written",
                           strerror(errno));
        return;
    }
    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    if (!is_folder(slash ? folder : ".") ||
        access(slash ? folder : ".", W_OK | X_OK) != 0)
        tfd_report_add(errors, option, path,
                       "%s; give a file in a directory that can be written",
                       strerror(errno));
}

/* ---- The address --------------------------------------------------------- */

/* The start waits for a name of the cluster; one that the flag gives is more
 * likely an interface's than a host's that is still to come. */
static void check_address(const struct tfd_config *c, struct tfd_report *errors,
                          struct tfd_report *notes)
{
    const char *own = tfd_cluster_own_address(&c->cluster);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bind found;
    char path[TFD_REPORT_LINE_SIZE_MAX];

    if (tfd_bind_resolve(c->bind, own, c->port, &found, &st) == TFD_OK)
        return;
    if (c->bind)
        snprintf(path, sizeof(path), "--bind");
    else
        tfd_cluster_path(&c->cluster, c->cluster.job_name,
                         c->cluster.task_index, path, sizeof(path));
    tfd_report_add(!c->bind && st.code == TFD_UNAVAILABLE ? notes : errors,
                   path, c->bind ? c->bind : own, "%s", st.text);
}

void tfd_check_host(const struct tfd_config *c, struct tfd_report *errors,
                    struct tfd_report *notes)
{
    check_model(c, errors);
    check_checkpoints(c, errors);
    check_roots(c, errors);
    check_written("--port_file", c->port_file, errors);
    check_written("--flight_recorder", c->flight_recorder, errors);
    check_address(c, errors, notes);
}
