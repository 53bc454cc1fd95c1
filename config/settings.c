/*
 * settings.c - the text that was given for each option, and by which source;
 * applies them to struct tfd_config: see options.h.
 */
#include "config/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void clear_setting(struct tfd_setting *s)
{
    while (s->count > 0)
        free(s->texts[--s->count]);
}

void tfd_settings_deinit(struct tfd_settings *s)
{
    for (size_t i = 0; i < s->table->count; i++)
        clear_setting(&s->of[i]);
}

enum tfd_code tfd_settings_put(struct tfd_settings *s, int option,
                               enum tfd_option_origin origin, const char *text,
                               struct tfd_status *st)
{
    struct tfd_setting *setting = &s->of[option];
    size_t size = strlen(text) + 1;
    char *copy;

    if (origin < setting->origin)
        return TFD_OK;
    if (origin > setting->origin || !s->table->rows[option].repeated)
        clear_setting(setting);
    if (setting->count == TFD_FILE_ROOTS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "given more than %d times; give fewer",
                        TFD_FILE_ROOTS_MAX);
    copy = malloc(size);
    if (!copy)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    memcpy(copy, text, size);
    setting->texts[setting->count++] = copy;
    setting->origin = origin;
    return TFD_OK;
}

static int must_find(const struct tfd_settings *s, const char *name)
{
    int option = tfd_option_find(s->table, name, strlen(name));

    assert(option >= 0);
    return option;
}

const char *tfd_settings_text(const struct tfd_settings *s, const char *name)
{
    int option = must_find(s, name);

    return s->of[option].count > 0 ? s->of[option].texts[0]
                                   : s->table->rows[option].fallback;
}

enum tfd_option_origin tfd_settings_origin(const struct tfd_settings *s,
                                           const char *name)
{
    return s->of[must_find(s, name)].origin;
}

void tfd_settings_path(const struct tfd_settings *s, int option, char *path,
                       size_t size)
{
    const char *name = s->table->rows[option].name;

    path[0] = '\0';
    if (s->of[option].origin == TFD_ORIGIN_FILE)
        tfd_report_path(path, size, "%.200s: %s", s->file, name);
    else if (s->of[option].origin == TFD_ORIGIN_SLURM)
        tfd_report_path(path, size, "SLURM_PROCID (%s)", name);
    else if (s->of[option].origin == TFD_ORIGIN_TF_CONFIG)
        tfd_report_path(path, size, "TF_CONFIG (%s)", name);
    else
        tfd_report_path(path, size, "--%s", name);
}

static void apply_one(const struct tfd_settings *s, int option,
                      const char *text, struct tfd_config *c,
                      struct tfd_report *errors)
{
    struct tfd_status st = TFD_STATUS_INIT;
    char path[300];

    if (s->table->rows[option].read(&s->table->rows[option], text, c, &st) ==
        TFD_OK)
        return;
    tfd_settings_path(s, option, path, sizeof(path));
    tfd_report_add(errors, path, text, "%s", st.text);
}

void tfd_settings_apply(const struct tfd_settings *s, struct tfd_config *c,
                        struct tfd_report *errors)
{
    for (size_t i = 0; i < s->table->count; i++) {
        const struct tfd_setting *setting = &s->of[i];
        const struct tfd_option *o = &s->table->rows[i];

        if (!o->read)
            continue;
        for (size_t k = 0; k < setting->count; k++)
            apply_one(s, (int)i, setting->texts[k], c, errors);
        if (setting->count == 0 && o->fallback)
            apply_one(s, (int)i, o->fallback, c, errors);
    }
}
