/*
 * checkpoint_find.c - see checkpoint_find.h.  The names are sorted by number,
 * then tried from the last one on.
 */
#define _GNU_SOURCE 1 /* scandir() */
#include "client/train/checkpoint_find.h"

#include "client/train/checkpoint_check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = ".index";

/* The number in "model.ckpt-12.index"; -1 for another name. */
static long long step_in_name(const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end = NULL;
    long long number;

    if (!dash || dash[1] < '0' || dash[1] > '9')
        return -1;
    number = strtoll(dash + 1, &end, 10);
    return strcmp(end, ending) == 0 ? number : -1;
}

static int is_index(const struct dirent *e)
{
    return step_in_name(e->d_name) >= 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
    long long x = step_in_name((*a)->d_name), y = step_in_name((*b)->d_name);

    return x != y ? (x > y) - (x < y) : strcmp((*a)->d_name, (*b)->d_name);
}

static char *prefix_of(const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);

    if (!path)
        return NULL;
    snprintf(path, size, "%s/%s", dir, name);
    path[strlen(path) - strlen(ending)] = '\0';
    return path;
}

char *tfd_checkpoint_find(struct tfd_file_access *access, const char *dir,
                          const char *except, bool *any)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, is_index, by_number);
    char *found = NULL;

    *any = count > 0;
    for (int i = count - 1; i >= 0; i--) {
        char *prefix = found ? NULL : prefix_of(dir, names[i]->d_name);

        if (prefix && !(except && strcmp(prefix, except) == 0) &&
            tfd_checkpoint_check(access, prefix, NULL) == TFD_OK)
            found = prefix;
        else
            free(prefix);
        free(names[i]);
    }
    free(names);
    return found;
}
