/*
 * server_open.c - makes the directories that graphs may read and write
 * (--file_root, and the training's own), and logs a warning where others than
 * the own user and root can connect.
 */
#include "daemon/server_state.h"

#include "common/base/log.h"
#include "kernels/io/file_waits.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* With its parents; what is there already is fine, and whether it is a
 * directory is found out when it is opened. */
static enum tfd_code make_dirs(const char *dir, struct tfd_status *st)
{
    char path[PATH_MAX];
    size_t size = strlen(dir);

    if (size >= sizeof(path))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "--checkpoint_dir of %zu bytes, at most %zu", size,
                        sizeof(path) - 1);
    memcpy(path, dir, size + 1);
    for (size_t i = 1; i <= size; i++) {
        char c = path[i];

        if (c != '/' && c != '\0')
            continue;
        path[i] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST && c == '\0')
            return tfd_fail(st, TFD_FAILED_PRECONDITION,
                            "--checkpoint_dir %s: %s", dir, strerror(errno));
        path[i] = c;
    }
    return TFD_OK;
}

/* The chief's graph saves below its checkpoint_dir, whatever else it may. */
static const char *training_root(const struct tfd_config *c)
{
    bool saves = c->train && tfd_cluster_role(&c->cluster) != TFD_ROLE_WORKER;

    return saves ? c->checkpoint_dir : NULL;
}

enum tfd_code tfd_server_open_roots(struct tfd_server *s, const char *fallback,
                                    struct tfd_status *st)
{
    const struct tfd_config *c = s->o.config;
    const char *roots[TFD_FILE_ROOTS_MAX + 1];
    const char *training = training_root(c);
    int count = 0;

    for (size_t i = 0; i < c->file_root_count; i++)
        roots[count++] = c->file_roots[i];
    if (count == 0 && fallback) {
        roots[count++] = fallback;
    } else if (training) {
        TFD_TRY(make_dirs(training, st));
        roots[count++] = training;
    }
    TFD_TRY(tfd_file_roots_init(&s->roots, roots, count, st));
    s->roots.access = tfd_file_waits_access;
    s->has_roots = true;
    return TFD_OK;
}

void tfd_server_tell_open(const struct tfd_server *s,
                          const struct tfd_bind *bind)
{
    char roots[1024] = "";
    size_t used = 0;

    if (bind->loopback && !tfd_allow_opened(&s->o.config->allow))
        return;
    for (int i = 0; i < s->roots.count && used < sizeof(roots); i++)
        used += (size_t)snprintf(roots + used, sizeof(roots) - used, "%s%s",
                                 i ? "," : "", s->roots.root[i].given);
    tfd_log(TFD_LOG_WARN, "open_to_others",
            "address=%s port=%d hosts=\"%s\" users=\"%s\" authentication=none "
            "file_roots=\"%s\" hint=\"whoever can connect can run graphs\"",
            bind->host, tfd_listener_port(s->listener),
            bind->loopback ? "this one" : "all that can reach the address",
            s->o.config->allow.any                  ? "any of this host"
            : tfd_allow_opened(&s->o.config->allow) ? "own, root, --allow_uid"
                                                    : "own, root of this host",
            s->roots.count ? roots : "none");
}
