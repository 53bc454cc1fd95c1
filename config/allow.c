/* allow.c - see allow.h. */
#define _GNU_SOURCE 1 /* getpwnam_r() */

#include "config/allow.h"

#include "common/base/str.h"
#include "config/value.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE_MAX 64
#define ENTRY_SIZE_MAX (64 << 10) /* a line of passwd */

static enum tfd_code find_name(const char *name, uint32_t *uid,
                               struct tfd_status *st)
{
    /* Not _Thread_local: a program could not load libtfd.so any more. */
    char *entry = malloc(ENTRY_SIZE_MAX);
    struct passwd user, *found = NULL;
    int error =
        entry ? getpwnam_r(name, &user, entry, ENTRY_SIZE_MAX, &found) : ENOMEM;

    free(entry); /* the number lies in user */
    if (!found)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "%s is no user of this host%s%s; give numbers or "
                        "names of users, or \"any\"",
                        name, error ? ": " : "", error ? strerror(error) : "");
    *uid = user.pw_uid;
    return TFD_OK;
}

static enum tfd_code find_uid(const char *text, uint32_t *uid,
                              struct tfd_status *st)
{
    int64_t number;

    if (text[strspn(text, "0123456789")] != '\0')
        return find_name(text, uid, st);
    TFD_TRY(tfd_value_number(text, 0, TFD_UID_UNKNOWN - 1, &number, st));
    *uid = (uint32_t)number;
    return TFD_OK;
}

static enum tfd_code add_item(struct tfd_allow *a, struct tfd_str item,
                              struct tfd_status *st)
{
    char text[NAME_SIZE_MAX];
    uint32_t uid = TFD_UID_UNKNOWN;

    if (item.size == 0 || item.size >= sizeof(text))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a name of %zu bytes; give numbers or names of users, "
                        "or \"any\"",
                        item.size);
    memcpy(text, item.data, item.size);
    text[item.size] = '\0';
    if (strcmp(text, "any") == 0) {
        a->any = true;
        return TFD_OK;
    }
    TFD_TRY(find_uid(text, &uid, st));
    if (a->count == TFD_ALLOW_UIDS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "more than %d users; give \"any\"", TFD_ALLOW_UIDS_MAX);
    a->uids[a->count++] = uid;
    return TFD_OK;
}

enum tfd_code tfd_allow_parse(const char *text, struct tfd_allow *out,
                              struct tfd_status *st)
{
    struct tfd_allow a = {0};

    for (;;) {
        size_t size = strcspn(text, ",");

        TFD_TRY(add_item(&a, (struct tfd_str){text, size}, st));
        if (text[size] == '\0')
            break;
        text += size + 1;
    }
    *out = a;
    return TFD_OK;
}

bool tfd_allow_has(const struct tfd_allow *a, uint32_t uid)
{
    if (a->any)
        return true;
    if (uid == TFD_UID_UNKNOWN)
        return false;
    if (uid == 0 || uid == geteuid())
        return true;
    for (size_t i = 0; i < a->count; i++)
        if (a->uids[i] == uid)
            return true;
    return false;
}

/* A list that names the two who may anyway opens nothing. */
bool tfd_allow_opened(const struct tfd_allow *a)
{
    bool opened = a->any;

    for (size_t i = 0; i < a->count; i++)
        opened = opened || (a->uids[i] != 0 && a->uids[i] != geteuid());
    return opened;
}
