/* large_text.c - see large_text.h. */
#include "common/memory/large_text.h"

#include "common/memory/watched.h"
#include "common/thread/lock.h"

#include <stdbool.h>
#include <stdlib.h>

static struct tfd_lock lock = TFD_LOCK_INIT(TFD_LOCK_TEXT);
static char *kept;
static size_t kept_size;

static bool is_kept(size_t size)
{
    return !TFD_IS_WATCHED && size >= TFD_LARGE_TEXT_MIN &&
           size <= TFD_LARGE_TEXT_MAX;
}

char *tfd_large_text_take(size_t *size, size_t most)
{
    char *taken = NULL;

    if (!is_kept(*size))
        return NULL;
    tfd_lock(&lock);
    if (kept && kept_size >= *size && kept_size <= most) {
        taken = kept;
        *size = kept_size;
        kept = NULL;
    }
    tfd_unlock(&lock);
    return taken;
}

void tfd_large_text_give(char *data, size_t size)
{
    char *old = data;

    if (data && is_kept(size)) {
        tfd_lock(&lock);
        old = kept;
        kept = data;
        kept_size = size;
        tfd_unlock(&lock);
    }
    free(old);
}
