/*
 * flags_file.c - the file that --config names: a JSON object whose keys are the
 * names of the options; see flags.h.
 *
 *     {"job_name": "ps", "ps_hosts": ["a:2222", "b:2222"], "port": 2222,
 *      "cluster_spec": {"ps": ["a:2222"]}, "file_root": ["/data"]}
 *
 * Values become the texts that a flag would have, so they are read by the same
 * readers and fail with the same words.
 */
#include "config/flags_parse.h"

#include "config/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The whole file, to be freed; NULL with a line in errors. */
static char *load_file(struct tfd_flags_parse *p, const char *name,
                       size_t *size)
{
    FILE *f = fopen(name, "re");
    char *text = malloc(TFD_CONFIG_TEXT_SIZE_MAX + 1);
    int error = f ? 0 : errno;

    if (f && text) {
        *size = fread(text, 1, TFD_CONFIG_TEXT_SIZE_MAX + 1, f);
        if (ferror(f))
            error = errno ? errno : EIO;
    }
    if (f)
        fclose(f);
    if (text && !error)
        return text;
    free(text);
    tfd_report_add(&p->errors, "--config", name, "%s; name a file to read",
                   error ? strerror(error) : "out of memory");
    return NULL;
}

/* Host lists may be written as JSON lists too. */
static void put_list(struct tfd_flags_parse *p, int option, const char *path,
                     const json_t *list)
{
    char *joined;
    size_t size = 1, used = 0, i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        size += json_string_length(item) + 1;
        if (!json_is_string(item)) {
            tfd_json_fail(&p->errors, path, list,
                          "not a list of texts; write [\"...\"]");
            return;
        }
        if (p->settings.table->rows[option].repeated)
            tfd_flags_put(p, option, TFD_ORIGIN_FILE, json_string_value(item));
    }
    joined = p->settings.table->rows[option].repeated ? NULL : malloc(size);
    if (!joined)
        return;
    joined[0] = '\0';
    json_array_foreach(list, i, item) used +=
        (size_t)snprintf(joined + used, size - used, "%s%s", i ? "," : "",
                         json_string_value(item));
    tfd_flags_put(p, option, TFD_ORIGIN_FILE, joined);
    free(joined);
}

static void put_json(struct tfd_flags_parse *p, int option, const char *path,
                     const json_t *value)
{
    bool is_hosts =
        strstr(p->settings.table->rows[option].name, "_hosts") != NULL;
    char *text = NULL;

    if (json_is_string(value)) {
        tfd_flags_put(p, option, TFD_ORIGIN_FILE, json_string_value(value));
    } else if (json_is_array(value) &&
               (is_hosts || p->settings.table->rows[option].repeated)) {
        put_list(p, option, path, value);
    } else if (json_is_integer(value) || json_is_boolean(value) ||
               (json_is_object(value) &&
                strcmp(p->settings.table->rows[option].name, "cluster_spec") ==
                    0)) {
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        tfd_flags_put(p, option, TFD_ORIGIN_FILE, text ? text : "");
    } else {
        tfd_json_fail(&p->errors, path, value,
                      "not a value for this option; write it as for --%s=%s",
                      p->settings.table->rows[option].name,
                      p->settings.table->rows[option].value
                          ? p->settings.table->rows[option].value
                          : "true");
    }
    free(text);
}

static void put_keys(struct tfd_flags_parse *p, const char *file,
                     const json_t *root)
{
    const struct tfd_option_table *t = p->settings.table;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)root, key, value)
    {
        int option = tfd_option_find(t, key, strlen(key));
        int nearest = tfd_option_nearest(t, key);
        char path[TFD_FLAGS_PATH_SIZE];

        snprintf(path, sizeof(path), "%.200s: %.80s", file, key);
        if (option >= 0 && strcmp(key, "config") != 0)
            put_json(p, option, path, value);
        else if (option >= 0)
            tfd_json_fail(&p->errors, path, value,
                          "a file cannot name another; give --config once");
        else if (nearest >= 0)
            tfd_json_fail(&p->errors, path, value,
                          "no such option; did you mean \"%s\"?",
                          t->rows[nearest].name);
        else
            tfd_json_fail(&p->errors, path, value,
                          "no such option; --help lists them");
    }
}

void tfd_flags_read_file(struct tfd_flags_parse *p)
{
    const char *file = tfd_settings_text(&p->settings, "config");
    size_t size = 0;
    char *text;
    json_t *root;

    if (!file)
        return;
    p->settings.file = file;
    text = load_file(p, file, &size);
    if (!text)
        return;
    root = tfd_json_load(text, size, file, &p->errors);
    free(text);
    if (!root)
        return;
    put_keys(p, file, root);
    json_decref(root);
}
