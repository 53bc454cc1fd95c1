/*
 * checkpoints.c - see checkpoints.h.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "client/train/checkpoints.h"

#include "client/train/checkpoint_check.h"
#include "client/train/checkpoint_find.h"
#include "client/train/checkpoint_text.h"
#include "common/base/clock.h"
#include "config/limits.h"
#include "kernels/io/file_draft.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_SIZE_MAX ((size_t)8 << 20)

/* ---- Names --------------------------------------------------------------- */

static char *join_path(const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%s/%s", dir, name);
    return path;
}

static char *absolute(const char *path)
{
    char here[TFD_FILE_NAME_MAX];

    if (path[0] == '/')
        return strdup(path);
    return getcwd(here, sizeof(here)) ? join_path(here, path) : NULL;
}

/* The part of the path behind the directory, or all of it. */
static const char *relative(const struct tfd_checkpoints *c, const char *path)
{
    size_t size = strlen(c->dir);

    if (strncmp(path, c->dir, size) == 0 && path[size] == '/')
        return path + size + 1;
    return path;
}

static enum tfd_code fail_memory(struct tfd_status *st)
{
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "no memory for the list of checkpoints");
}

/* ---- The list ------------------------------------------------------------ */

static enum tfd_code append_checkpoint(struct tfd_checkpoints *c,
                                       char *take_path, double time,
                                       struct tfd_status *st)
{
    if (take_path && c->count == c->capacity) {
        int capacity = c->capacity ? c->capacity * 2 : 8;
        struct tfd_checkpoint *list =
            realloc(c->list, (size_t)capacity * sizeof(*list));

        if (list) {
            c->list = list;
            c->capacity = capacity;
        }
    }
    if (!take_path || c->count == c->capacity) {
        free(take_path);
        return fail_memory(st);
    }
    c->list[c->count++] = (struct tfd_checkpoint){take_path, time};
    return TFD_OK;
}

static void remove_at(struct tfd_checkpoints *c, int i)
{
    free(c->list[i].path);
    memmove(&c->list[i], &c->list[i + 1],
            (size_t)(c->count - i - 1) * sizeof(*c->list));
    c->count--;
}

static int find_checkpoint(const struct tfd_checkpoints *c, const char *path)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->list[i].path, path) == 0)
            return i;
    return -1;
}

/* ---- Reading the file ---------------------------------------------------- */

/* A path from the file, absolute; made the last one, if it is the latest. */
static enum tfd_code add_read(struct tfd_checkpoints *c, struct tfd_str name,
                              bool latest, struct tfd_status *st)
{
    char *text = strndup(name.data, name.size);
    char *path = text && text[0] != '/' ? join_path(c->dir, text) : text;
    enum tfd_code rc = TFD_OK;
    int at;

    if (path != text)
        free(text);
    if (!path)
        return fail_memory(st);
    at = find_checkpoint(c, path);
    if (latest && at >= 0 && at != c->count - 1) {
        remove_at(c, at);
        at = -1;
    }
    if (at >= 0)
        free(path);
    else if (c->count >= TFD_CHECKPOINTS_MAX) {
        free(path);
        rc = tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "more than %d checkpoints",
                      TFD_CHECKPOINTS_MAX);
    } else
        rc = append_checkpoint(c, path, 0, st);
    return rc;
}

static enum tfd_code read_state(struct tfd_checkpoints *c, struct tfd_str text,
                                struct tfd_status *st)
{
    struct tfd_checkpoint_text t;
    struct tfd_bytes latest;
    enum tfd_code rc = TFD_OK;
    int times = 0;

    tfd_bytes_init(&latest, TFD_FILE_NAME_SIZE_MAX);
    tfd_checkpoint_text_init(&t, text);
    while (rc == TFD_OK && tfd_checkpoint_text_next(&t)) {
        if (tfd_str_is(t.key, "model_checkpoint_path")) {
            tfd_bytes_clear(&latest);
            tfd_bytes_add_str(&latest, tfd_bytes_view(&t.value));
        } else if (tfd_str_is(t.key, "all_model_checkpoint_paths")) {
            rc = add_read(c, tfd_bytes_view(&t.value), false, st);
        } else if (tfd_str_is(t.key, "all_model_checkpoint_timestamps") &&
                   times < c->count) {
            c->list[times++].time = t.number;
        }
    }
    if (rc == TFD_OK && t.failed)
        rc = tfd_fail(st, TFD_DATA_LOSS,
                      "%s/checkpoint: line %d cannot be read; remove the file "
                      "to start anew, or take --restore=last-good",
                      c->dir, t.line);
    if (rc == TFD_OK && latest.size)
        rc = add_read(c, tfd_bytes_view(&latest), true, st);
    tfd_checkpoint_text_deinit(&t);
    tfd_bytes_deinit(&latest);
    return rc;
}

static enum tfd_code read_file(struct tfd_checkpoints *c, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    char *name = join_path(c->dir, "checkpoint");
    struct tfd_bytes text;
    enum tfd_code rc;

    if (!name)
        return fail_memory(st);
    tfd_bytes_init(&text, STATE_SIZE_MAX);
    rc = tfd_file_read_all(&c->files.access, tfd_str_of(name), &text, &why);
    if (rc == TFD_OK) {
        rc = read_state(c, tfd_bytes_view(&text), st);
        if (c->count == 0)
            (void)tfd_fail(&c->damage, TFD_NOT_FOUND, "%s names no checkpoint",
                           name);
    } else if (rc == TFD_NOT_FOUND) {
        rc = TFD_OK;
    } else {
        rc = tfd_status_copy(st, &why);
    }
    tfd_bytes_deinit(&text);
    free(name);
    return rc;
}

/* ---- Life ---------------------------------------------------------------- */

/* With its parents. */
static enum tfd_code make_dirs(struct tfd_checkpoints *c, struct tfd_status *st)
{
    struct tfd_file_access *a = &c->files.access;
    struct tfd_status why = TFD_STATUS_INIT;
    size_t size = strlen(c->dir);

    for (size_t i = 1; i <= size; i++) {
        if (i < size && c->dir[i] != '/')
            continue;
        tfd_status_clear(&why);
        (void)!a->make_dir(a, (struct tfd_str){c->dir, i}, &why);
    }
    if (why.code != TFD_OK && why.code != TFD_ALREADY_EXISTS)
        return tfd_status_copy(st, &why);
    return TFD_OK;
}

/* The files of the directory count then, not what was read before the mistake.
 */
static enum tfd_code note_damage(struct tfd_checkpoints *c, enum tfd_code rc,
                                 struct tfd_status *st)
{
    if (rc != TFD_DATA_LOSS)
        return rc;
    while (c->count > 0)
        remove_at(c, c->count - 1);
    tfd_status_clear(&c->damage);
    (void)tfd_status_copy(&c->damage, st);
    tfd_status_clear(st);
    return TFD_OK;
}

static enum tfd_code open_dir(struct tfd_checkpoints *c, const char *dir,
                              int max_to_keep, bool damaged,
                              struct tfd_status *st)
{
    static const char *const everywhere[] = {"/"};
    enum tfd_code rc;
    size_t size;

    struct tfd_str scheme, path = tfd_file_path(tfd_str_of(dir), &scheme);

    *c = (struct tfd_checkpoints){.max_to_keep = max_to_keep};
    /* What lists and removes checkpoints knows paths alone. */
    c->dir = absolute(tfd_str_is(scheme, "file") ? path.data : dir);
    if (!c->dir)
        return fail_memory(st);
    size = strlen(c->dir);
    while (size > 1 && c->dir[size - 1] == '/')
        c->dir[--size] = '\0';
    rc = tfd_file_roots_init(&c->files, everywhere, 1, st);
    c->has_files = rc == TFD_OK;
    if (rc == TFD_OK)
        rc = make_dirs(c, st);
    if (rc == TFD_OK)
        rc = read_file(c, st);
    if (damaged && c->has_files)
        rc = note_damage(c, rc, st);
    if (rc != TFD_OK)
        tfd_checkpoints_close(c);
    return rc;
}

enum tfd_code tfd_checkpoints_open(struct tfd_checkpoints *c, const char *dir,
                                   int max_to_keep, struct tfd_status *st)
{
    return open_dir(c, dir, max_to_keep, false, st);
}

enum tfd_code tfd_checkpoints_open_damaged(struct tfd_checkpoints *c,
                                           const char *dir, int max_to_keep,
                                           struct tfd_status *st)
{
    return open_dir(c, dir, max_to_keep, true, st);
}

void tfd_checkpoints_close(struct tfd_checkpoints *c)
{
    while (c->count > 0)
        remove_at(c, c->count - 1);
    free(c->list);
    free(c->dir);
    free(c->found);
    if (c->has_files)
        tfd_file_roots_deinit(&c->files);
    *c = (struct tfd_checkpoints){.dir = NULL};
}

/* ---- What is there ------------------------------------------------------- */

static bool exists(struct tfd_checkpoints *c, const char *prefix)
{
    struct tfd_file_access *a = &c->files.access;
    struct tfd_file f = TFD_FILE_INIT;
    size_t size = strlen(prefix) + sizeof(".index");
    char *name = malloc(size);
    bool there;

    if (!name)
        return false;
    snprintf(name, size, "%s.index", prefix);
    there = a->open_read(a, tfd_str_of(name), &f, NULL) == TFD_OK;
    if (there)
        a->close(a, &f);
    free(name);
    return there;
}

enum tfd_code tfd_checkpoints_latest(struct tfd_checkpoints *c,
                                     const char **path, struct tfd_status *st)
{
    *path = c->count ? c->list[c->count - 1].path : NULL;
    if (!*path || exists(c, *path))
        return TFD_OK;
    return tfd_fail(st, TFD_DATA_LOSS,
                    "%s/checkpoint names %s, but there is no %s.index; remove "
                    "the file to start anew",
                    c->dir, *path, *path);
}

const char *tfd_checkpoints_good(struct tfd_checkpoints *c)
{
    const char *latest = c->count ? c->list[c->count - 1].path : NULL;

    for (int i = c->count - 2; i >= 0; i--)
        if (tfd_checkpoint_check(&c->files.access, c->list[i].path, NULL) ==
            TFD_OK)
            return c->list[i].path;
    free(c->found);
    c->found =
        tfd_checkpoint_find(&c->files.access, c->dir, latest, &c->found_any);
    return c->found;
}

char *tfd_checkpoints_path(const struct tfd_checkpoints *c, int64_t step)
{
    char name[48];

    snprintf(name, sizeof(name), "model.ckpt-%lld", (long long)step);
    return join_path(c->dir, name);
}

/* ---- Writing the file ---------------------------------------------------- */

static void put_path(struct tfd_bytes *b, const char *key, const char *path)
{
    tfd_bytes_printf(b, "%s: ", key);
    tfd_checkpoint_text_quote(b, tfd_str_of(path));
    tfd_bytes_add(b, "\n", 1);
}

static void put_state(const struct tfd_checkpoints *c, int first,
                      struct tfd_bytes *b)
{
    put_path(b, "model_checkpoint_path",
             relative(c, c->list[c->count - 1].path));
    for (int i = first; i < c->count; i++)
        put_path(b, "all_model_checkpoint_paths", relative(c, c->list[i].path));
    for (int i = first; i < c->count; i++)
        tfd_bytes_printf(b, "all_model_checkpoint_timestamps: %.6f\n",
                         c->list[i].time);
}

static enum tfd_code write_draft(struct tfd_checkpoints *c, const char *name,
                                 const struct tfd_bytes *text,
                                 struct tfd_status *st)
{
    struct tfd_file_draft d;
    enum tfd_code rc;

    TFD_TRY(tfd_bytes_ok(text, "the file checkpoint", st));
    TFD_TRY(tfd_file_draft_open(&d, &c->files.access, tfd_str_of(name), st));
    rc = tfd_file_draft_write(&d, text->data, text->size, st);
    if (rc == TFD_OK)
        rc = tfd_file_draft_seal(&d, st);
    if (rc == TFD_OK)
        rc = tfd_file_draft_publish(&d, st);
    tfd_file_draft_deinit(&d);
    return rc;
}

/* Without those before number `first`. */
static enum tfd_code write_file(struct tfd_checkpoints *c, int first,
                                struct tfd_status *st)
{
    char *name = join_path(c->dir, "checkpoint");
    struct tfd_bytes text;
    enum tfd_code rc;

    if (!name)
        return fail_memory(st);
    tfd_bytes_init(&text, STATE_SIZE_MAX);
    put_state(c, first, &text);
    rc = write_draft(c, name, &text, st);
    tfd_bytes_deinit(&text);
    free(name);
    return rc;
}

/* ---- Removing old ones --------------------------------------------------- */

/* "model.ckpt-7.index", ".meta", ".data-00000-of-00002" of prefix
 * model.ckpt-7. */
static bool belongs(const char *name, const char *prefix)
{
    size_t size = strlen(prefix);

    return strncmp(name, prefix, size) == 0 &&
           (strcmp(name + size, ".index") == 0 ||
            strcmp(name + size, ".meta") == 0 ||
            strncmp(name + size, ".data-", 6) == 0);
}

/* What a saver in shards writes first: model.ckpt-7_temp or
 * model.ckpt-7_temp_NUMBER, a folder. */
static bool is_temporary(const char *name, const char *prefix)
{
    size_t size = strlen(prefix);

    return strncmp(name, prefix, size) == 0 &&
           strncmp(name + size, "_temp", 5) == 0 &&
           (name[size + 5] == '\0' || name[size + 5] == '_');
}

/* With the files in it. */
static void remove_folder(struct tfd_checkpoints *c, const char *path)
{
    struct tfd_file_access *a = &c->files.access;
    DIR *d = opendir(path);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        char *name = e->d_name[0] != '.' ? join_path(path, e->d_name) : NULL;

        if (name)
            (void)!a->remove(a, tfd_str_of(name), NULL);
        free(name);
    }
    if (d)
        closedir(d);
    (void)!a->remove_dir(a, tfd_str_of(path), NULL);
}

static void remove_entry(struct tfd_checkpoints *c, const char *dir,
                         const char *name, const char *prefix)
{
    struct tfd_file_access *a = &c->files.access;
    bool file = belongs(name, prefix);
    char *path;

    if (!file && !is_temporary(name, prefix))
        return;
    path = join_path(dir, name);
    if (path && file)
        (void)!a->remove(a, tfd_str_of(path), NULL);
    else if (path)
        remove_folder(c, path);
    free(path);
}

/* What cannot be removed stays: it is only space. */
static void remove_files(struct tfd_checkpoints *c, const char *path)
{
    struct tfd_str dir = tfd_file_dirname(tfd_str_of(path));
    const char *prefix = path + dir.size + (dir.size > 1);
    char *text = strndup(dir.data, dir.size);
    DIR *d = text ? opendir(text) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        remove_entry(c, text, e->d_name, prefix);
    if (d)
        closedir(d);
    free(text);
}

void tfd_checkpoints_discard(struct tfd_checkpoints *c, const char *path)
{
    if (find_checkpoint(c, path) < 0)
        remove_files(c, path);
}

enum tfd_code tfd_checkpoints_add(struct tfd_checkpoints *c, const char *path,
                                  struct tfd_status *st)
{
    int at = find_checkpoint(c, path), surplus;

    if (at >= 0) /* the same step again, after a recovery */
        remove_at(c, at);
    TFD_TRY(append_checkpoint(c, strdup(path),
                              (double)tfd_clock_wall_us() / 1e6, st));
    surplus = c->max_to_keep > 0 ? c->count - c->max_to_keep : 0;
    if (surplus < 0)
        surplus = 0;
    TFD_TRY(write_file(c, surplus, st));
    for (int i = 0; i < surplus; i++) {
        remove_files(c, c->list[0].path);
        remove_at(c, 0);
    }
    return TFD_OK;
}
