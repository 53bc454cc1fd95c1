/*
 * environment.c - see environment.h.
 */
#include "config/environment.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

static const struct {
    const char *name, *meaning;
} rows[] = {
#define ROW(name, meaning) {#name, meaning},
    TFD_ENVIRONMENT(ROW)
#undef ROW
};

enum { COUNT = sizeof(rows) / sizeof(rows[0]) };

const char *tfd_environment_get(enum tfd_environment variable)
{
    assert((int)variable < COUNT);
    return getenv(rows[variable].name);
}

bool tfd_environment_is_on(enum tfd_environment variable)
{
    const char *value = tfd_environment_get(variable);

    return value &&
           (strcasecmp(value, "1") == 0 || strcasecmp(value, "true") == 0);
}

void tfd_environment_print(FILE *to)
{
    for (int i = 0; i < COUNT; i++) {
        const char *value = getenv(rows[i].name);

        if (!value)
            continue;
        fprintf(to, "environment.%s%s%s (%s)\n", rows[i].name,
                i == TFD_ENVIRONMENT_TF_CONFIG ? "" : " = ",
                i == TFD_ENVIRONMENT_TF_CONFIG ? "" : value, rows[i].meaning);
    }
}
