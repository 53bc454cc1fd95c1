/*
 * trace_out.c - the file of a trace.
 */
#define _POSIX_C_SOURCE 200809L /* O_CLOEXEC */

#include "tools/ctl/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_out(const struct tfd_ctl *c)
{
    return tfd_ctl_fail(c, TFD_CTL_UNREADABLE, "--out = %s: %s", c->out,
                        strerror(errno));
}

/* Who reads a pipe would take a trial for the end. */
static bool may_be_tried(const char *path)
{
    struct stat found;

    return stat(path, &found) != 0 || S_ISREG(found.st_mode) ||
           S_ISDIR(found.st_mode);
}

int tfd_ctl_trace_check(const struct tfd_ctl *c)
{
    bool is_new;
    int fd;

    if (!c->out)
        return tfd_ctl_fail(c, TFD_CTL_USAGE, "no file; give --out=FILE");
    if (!may_be_tried(c->out))
        return TFD_CTL_DONE;
    fd = open(c->out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    is_new = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open(c->out, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_out(c);
    (void)close(fd);
    if (is_new)
        (void)unlink(c->out);
    return TFD_CTL_DONE;
}

int tfd_ctl_trace_write(const struct tfd_ctl *c, struct tfd_ctl_timeline *t)
{
    json_t *json = tfd_ctl_timeline_json(t);
    FILE *f = json ? fopen(c->out, "we") : NULL;
    bool bad = !f;

    if (!json)
        return tfd_ctl_fail(c, TFD_CTL_OS, "out of memory");
    if (f && json_dumpf(json, f, JSON_COMPACT | JSON_ENSURE_ASCII) != 0)
        bad = true;
    if (f && fclose(f) != 0)
        bad = true;
    json_decref(json);
    return bad ? fail_out(c) : TFD_CTL_DONE;
}

int tfd_ctl_trace_tell(const struct tfd_ctl *c,
                       const struct tfd_ctl_timeline *t, json_t *take_more,
                       int code)
{
    size_t devices = t->device_count - (t->span_count > 0);
    size_t nodes = t->count - t->span_count;
    json_t *said;

    if (nodes == 0)
        tfd_ctl_note(c, "the server traced nothing");
    if (c->json) {
        said = json_pack("{s:o, s:I, s:I, s:I}", "file",
                         tfd_ctl_text(tfd_str_of(c->out)), "steps",
                         (json_int_t)t->steps, "devices", (json_int_t)devices,
                         "nodes", (json_int_t)nodes);
        if (said && take_more)
            (void)json_object_update(said, take_more);
        json_decref(take_more);
        return tfd_ctl_put_json(c, said, code);
    }
    json_decref(take_more);
    tfd_ctl_put_clean(c->to, c->out);
    fprintf(c->to, ": %lld steps, %zu devices, %zu nodes\n",
            (long long)t->steps, devices, nodes);
    return code;
}
