/*
 * checkpoint_ls.c - tfdctl checkpoint ls: the checkpoints that lie in a folder,
 * and those that its file `checkpoint` names and that do not.
 */
#define _GNU_SOURCE 1 /* strdup() */

#include "tools/ctl/checkpoint.h"

#include "tools/ctl/report.h"
#include "tools/ctl/table.h"

#include "client/train/checkpoint_text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define STATE_SIZE_MAX ((size_t)16 << 20)
#define LISTED_MAX 100000

struct listing {
    struct tfd_ctl *ctl;
    const char *dir;
    json_t *list;  /* of checkpoints, by name */
    char *latest;  /* its name, without folders; NULL: not said */
    bool no_state; /* there is no file `checkpoint` */
};

static bool path_of(const struct listing *l, const char *name,
                    char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", l->dir, name) < PATH_MAX;
}

/* The number behind the last '-', which is the step; -1: none. */
static int64_t step_of(const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end;
    long long step;

    if (!dash || dash[1] < '0' || dash[1] > '9')
        return -1;
    errno = 0;
    step = strtoll(dash + 1, &end, 10);
    return errno == 0 && *end == '\0' ? step : -1;
}

static const json_t *find(const struct listing *l, const char *name)
{
    const json_t *row;
    size_t i;

    json_array_foreach(l->list, i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0)
            return row;
    }
    return NULL;
}

static void add(struct listing *l, const char *name, bool here, time_t written)
{
    char when[32] = "";
    struct tm tm;
    json_t *row =
        json_pack("{s:o, s:s, s:I}", "name", tfd_ctl_text(tfd_str_of(name)),
                  "state", here ? "ok" : "lost", "bytes", (json_int_t)0);

    if (here && gmtime_r(&written, &tm) &&
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm))
        json_object_set_new(row, "written", json_string(when));
    if (step_of(name) >= 0)
        json_object_set_new(row, "step", json_integer(step_of(name)));
    json_array_append_new(l->list, row);
}

/* ---- The folder ---------------------------------------------------------- */

static void add_index(struct listing *l, const char *file, size_t name_size)
{
    char path[PATH_MAX], *name;
    struct stat s;

    if (!path_of(l, file, path) || stat(path, &s) != 0 ||
        json_array_size(l->list) == LISTED_MAX)
        return;
    name = strndup(file, name_size);
    if (name)
        add(l, name, true, s.st_mtime);
    free(name);
}

/* The bytes of a file count for the checkpoint whose name it begins with. */
static void add_bytes(struct listing *l, const char *file)
{
    const char *tail = strstr(file, ".data-");
    char path[PATH_MAX];
    json_t *row;
    struct stat s;
    size_t i;

    tail = tail ? tail : strstr(file, ".index");
    if (!tail || !path_of(l, file, path) || stat(path, &s) != 0)
        return;
    json_array_foreach(l->list, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        json_t *bytes = json_object_get(row, "bytes");

        if (strlen(name) == (size_t)(tail - file) &&
            strncmp(name, file, (size_t)(tail - file)) == 0)
            json_integer_set(bytes, json_integer_value(bytes) + s.st_size);
    }
}

static int read_folder(struct listing *l)
{
    DIR *dir = opendir(l->dir);
    const struct dirent *e;

    if (!dir)
        return tfd_ctl_fail(l->ctl, TFD_CTL_UNREADABLE, "%s: %s", l->dir,
                            strerror(errno));
    while ((e = readdir(dir))) {
        size_t size = strlen(e->d_name);

        if (size > 6 && strcmp(e->d_name + size - 6, ".index") == 0)
            add_index(l, e->d_name, size - 6);
    }
    rewinddir(dir);
    while ((e = readdir(dir)))
        add_bytes(l, e->d_name);
    closedir(dir);
    return TFD_CTL_DONE;
}

/* ---- The file `checkpoint` ----------------------------------------------- */

static void read_fields(struct listing *l, struct tfd_str text)
{
    struct tfd_checkpoint_text t;

    tfd_checkpoint_text_init(&t, text);
    while (tfd_checkpoint_text_next(&t)) {
        bool latest = tfd_str_is(t.key, "model_checkpoint_path");
        char *path, *name;

        if (!latest && !tfd_str_is(t.key, "all_model_checkpoint_paths"))
            continue;
        path = strndup(t.value.data ? t.value.data : "", t.value.size);
        if (!path)
            break;
        name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        if (!find(l, name) && json_array_size(l->list) < LISTED_MAX)
            add(l, name, false, 0);
        if (latest) {
            free(l->latest);
            l->latest = strdup(name);
        }
        free(path);
    }
    if (t.failed)
        tfd_ctl_note(l->ctl, "%s/checkpoint: line %d cannot be read", l->dir,
                     t.line);
    tfd_checkpoint_text_deinit(&t);
}

static void read_state(struct listing *l)
{
    char path[PATH_MAX];
    struct tfd_bytes text;
    char part[4096];
    size_t got;
    FILE *f = path_of(l, "checkpoint", path) ? fopen(path, "re") : NULL;

    l->no_state = f == NULL;
    if (!f)
        return;
    tfd_bytes_init(&text, STATE_SIZE_MAX);
    while ((got = fread(part, 1, sizeof(part), f)) > 0)
        tfd_bytes_add(&text, part, got);
    fclose(f);
    if (text.failed)
        tfd_ctl_note(l->ctl, "%s: more than %zu bytes", path, STATE_SIZE_MAX);
    else
        read_fields(l, tfd_bytes_view(&text));
    tfd_bytes_deinit(&text);
}

/* ---- The list ------------------------------------------------------------ */

static int by_step(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    json_int_t i = json_integer_value(json_object_get(x, "step"));
    json_int_t k = json_integer_value(json_object_get(y, "step"));

    if (i != k)
        return i < k ? -1 : 1;
    return strcmp(json_string_value(json_object_get(x, "name")),
                  json_string_value(json_object_get(y, "name")));
}

static json_t *sort(struct listing *l)
{
    size_t count = json_array_size(l->list);
    json_t **rows = calloc(count + 1, sizeof(json_t *));
    json_t *sorted = json_array();

    for (size_t i = 0; rows && i < count; i++) {
        const char *name;

        rows[i] = json_array_get(l->list, i);
        name = json_string_value(json_object_get(rows[i], "name"));
        json_object_set_new(
            rows[i], "latest",
            json_boolean(l->latest && strcmp(l->latest, name) == 0));
    }
    if (rows)
        qsort(rows, count, sizeof(json_t *), by_step);
    for (size_t i = 0; rows && i < count; i++)
        json_array_append(sorted, rows[i]);
    free(rows);
    return sorted;
}

int tfd_ctl_checkpoint_ls(struct tfd_ctl *c)
{
    static const struct tfd_ctl_column columns[] = {
        {"NAME", "name", TFD_CTL_PLAIN},
        {"STEP", "step", TFD_CTL_PLAIN},
        {"SIZE", "bytes", TFD_CTL_BYTES},
        {"WRITTEN", "written", TFD_CTL_PLAIN},
        {"LATEST", "latest", TFD_CTL_PLAIN},
        {"STATE", "state", TFD_CTL_STATE},
    };
    struct listing l = {.ctl = c, .dir = c->words[1], .list = json_array()};
    int code = read_folder(&l);
    json_t *sorted;

    if (code == TFD_CTL_DONE) {
        read_state(&l);
        sorted = sort(&l);
        if (c->json)
            code = tfd_ctl_put_json(c,
                                    json_pack("{s:o, s:O}", "folder",
                                              tfd_ctl_text(tfd_str_of(l.dir)),
                                              "checkpoints", sorted),
                                    code);
        else
            tfd_ctl_table(c, sorted, columns,
                          sizeof(columns) / sizeof(columns[0]));
        if (l.no_state)
            tfd_ctl_note(c,
                         "%s has no file `checkpoint`: the latest is not "
                         "known",
                         l.dir);
        json_decref(sorted);
    }
    json_decref(l.list);
    free(l.latest);
    return code;
}
