/*
 * file_glob.c - level by level: the directories that are found so far, and what
 * of their entries matches the next component.
 */
#include "kernels/io/file_glob.h"

#include "config/limits.h"

#include <string.h>

/* ---- One component ------------------------------------------------------- */

/* The set behind '[' at p; its end in *end.  False: it has none, and '[' is a
 * character. */
static bool in_set(const char *p, const char *last, char c, bool *yes,
                   const char **end)
{
    bool negated = p < last && (*p == '!' || *p == '^');
    const char *begin = p += negated;

    *yes = false;
    for (; p < last && (*p != ']' || p == begin); p++) {
        unsigned char low, high;

        if (*p == '\\' && p + 1 < last)
            p++;
        low = high = (unsigned char)*p;
        if (p + 2 < last && p[1] == '-' && p[2] != ']') {
            high = (unsigned char)p[2];
            p += 2;
        }
        *yes = *yes || ((unsigned char)c >= low && (unsigned char)c <= high);
    }
    *yes = *yes != negated;
    *end = p + 1;
    return p < last;
}

/* Whether the pattern's next item, which is no star, takes c. */
static bool takes(const char **p, const char *last, char c)
{
    const char *end;
    bool yes;

    if (**p == '?') {
        (*p)++;
        return true;
    }
    if (**p == '[' && in_set(*p + 1, last, c, &yes, &end)) {
        *p = end;
        return yes;
    }
    if (**p == '\\' && *p + 1 < last)
        (*p)++;
    return *(*p)++ == c;
}

/* A star is first taken for nothing; where that fails, the last one takes one
 * character more. */
bool tfd_file_glob_matches(struct tfd_str pattern, struct tfd_str name)
{
    const char *p = pattern.data, *last = p + pattern.size;
    const char *s = name.data, *end = s + name.size;
    const char *star = NULL, *from = NULL;

    while (s < end || p < last) {
        if (p < last && *p == '*') {
            star = ++p;
            from = s;
            continue;
        }
        if (p < last && s < end && takes(&p, last, *s)) {
            s++;
            continue;
        }
        if (!star || from == end)
            return false;
        p = star;
        s = ++from;
    }
    return true;
}

/* ---- Levels -------------------------------------------------------------- */

static bool is_pattern(struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++)
        if (strchr("*?[\\", s.data[i]))
            return true;
    return false;
}

bool tfd_file_glob_next(struct tfd_str *names, struct tfd_str *name)
{
    const char *end =
        names->size ? memchr(names->data, '\0', names->size) : NULL;

    if (!end)
        return false;
    *name = (struct tfd_str){names->data, (size_t)(end - names->data)};
    names->data += name->size + 1;
    names->size -= name->size + 1;
    return true;
}

static void add_name(struct tfd_bytes *out, struct tfd_str dir,
                     struct tfd_str entry)
{
    tfd_bytes_add_str(out, dir);
    if (dir.size == 0 || dir.data[dir.size - 1] != '/')
        tfd_bytes_add(out, "/", 1);
    tfd_bytes_add_str(out, entry);
    tfd_bytes_add(out, "", 1);
}

static bool is_refused(enum tfd_code rc)
{
    return rc == TFD_PERMISSION_DENIED || rc == TFD_UNIMPLEMENTED ||
           rc == TFD_RESOURCE_EXHAUSTED;
}

/* The entries of dir that match. */
static enum tfd_code match_in(struct tfd_file_access *a, struct tfd_str dir,
                              struct tfd_str component, struct tfd_bytes *list,
                              struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    struct tfd_str names, name;

    tfd_bytes_clear(list);
    if (a->list_dir(a, dir, list, &own) != TFD_OK)
        return is_refused(own.code) ? tfd_status_copy(st, &own) : TFD_OK;
    names = tfd_bytes_view(list);
    while (tfd_file_glob_next(&names, &name))
        if (tfd_file_glob_matches(component, name))
            add_name(out, dir, name);
    return tfd_bytes_ok(out, "names of files", st);
}

/* dirs: of the level; list: for entries; both are used up. */
static enum tfd_code match_level(struct tfd_file_access *a,
                                 struct tfd_str component,
                                 const struct tfd_bytes *dirs,
                                 struct tfd_bytes *list, struct tfd_bytes *out,
                                 struct tfd_status *st)
{
    struct tfd_str rest = tfd_bytes_view(dirs), dir;

    tfd_bytes_clear(out);
    while (tfd_file_glob_next(&rest, &dir))
        TFD_TRY(match_in(a, dir, component, list, out, st));
    return TFD_OK;
}

/* The component at the head of *rest, which loses it. */
static struct tfd_str take_component(struct tfd_str *rest)
{
    const char *slash = rest->size ? memchr(rest->data, '/', rest->size) : NULL;
    struct tfd_str c = {rest->data,
                        slash ? (size_t)(slash - rest->data) : rest->size};
    size_t used = c.size + (slash != NULL);

    rest->data += used;
    rest->size -= used;
    return c;
}

/* The directory before the first component with a pattern; *rest: from there
 * on, without slashes at its end. */
static struct tfd_str fixed_part(struct tfd_str pattern, struct tfd_str *rest)
{
    struct tfd_str scheme, path = tfd_file_path(pattern, &scheme);
    size_t head = pattern.size - path.size, at = head;

    while (pattern.size > head + 1 && pattern.data[pattern.size - 1] == '/')
        pattern.size--;
    for (size_t i = head; i < pattern.size && !strchr("*?[\\", pattern.data[i]);
         i++)
        if (pattern.data[i] == '/')
            at = i + 1;
    *rest = (struct tfd_str){pattern.data + at, pattern.size - at};
    if (at == head)
        return TFD_STR(".");
    while (at > head + 1 && pattern.data[at - 1] == '/')
        at--;
    return (struct tfd_str){pattern.data, at};
}

static enum tfd_code glob_levels(struct tfd_file_access *a,
                                 struct tfd_str pattern,
                                 struct tfd_bytes levels[3],
                                 struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_bytes *dirs = &levels[0], *found = &levels[1], *other;
    struct tfd_str rest, dir = fixed_part(pattern, &rest);

    tfd_bytes_add_str(dirs, dir);
    tfd_bytes_add(dirs, "", 1);
    while (rest.size > 0) {
        struct tfd_str component = take_component(&rest);

        TFD_TRY(match_level(a, component, dirs, &levels[2], found, st));
        other = dirs;
        dirs = found;
        found = other;
    }
    tfd_bytes_add_str(out, tfd_bytes_view(dirs));
    return tfd_bytes_ok(out, "names of files", st);
}

static enum tfd_code look_itself(struct tfd_file_access *a, struct tfd_str name,
                                 struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_status own = TFD_STATUS_INIT;
    bool is_dir;

    if (a->look(a, name, &is_dir, &own) != TFD_OK)
        return is_refused(own.code) ? tfd_status_copy(st, &own) : TFD_OK;
    tfd_bytes_add_str(out, name);
    tfd_bytes_add(out, "", 1);
    return tfd_bytes_ok(out, "names of files", st);
}

enum tfd_code tfd_file_glob(struct tfd_file_access *a, struct tfd_str pattern,
                            struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_bytes levels[3];
    struct tfd_str scheme;
    enum tfd_code rc;

    if (pattern.size > TFD_FILE_NAME_SIZE_MAX ||
        (pattern.size && memchr(pattern.data, '\0', pattern.size)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a pattern of %zu bytes; names of files have at most "
                        "%d, and none is NUL",
                        pattern.size, TFD_FILE_NAME_SIZE_MAX);
    (void)tfd_file_path(pattern, &scheme);
    if (!is_pattern(pattern) ||
        (scheme.size > 0 && !tfd_str_is(scheme, "file")))
        return look_itself(a, pattern, out, st);
    for (int i = 0; i < 3; i++)
        tfd_bytes_init(&levels[i], TFD_FILE_NAMES_SIZE_MAX);
    rc = glob_levels(a, pattern, levels, out, st);
    for (int i = 0; i < 3; i++)
        tfd_bytes_deinit(&levels[i]);
    return rc;
}
