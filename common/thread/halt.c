/*
 * halt.c - see halt.h.
 */
#include "common/thread/halt.h"

#include <string.h>

__thread const int *tfd_halt_flag = NULL;

void tfd_halt_clear(void *to, size_t size)
{
    while (size > 0 && !tfd_halted()) {
        size_t block = size < TFD_HALT_BLOCK_SIZE ? size : TFD_HALT_BLOCK_SIZE;

        memset(to, 0, block);
        to = (char *)to + block;
        size -= block;
    }
}

enum tfd_code tfd_halt_fail(struct tfd_status *st)
{
    return tfd_fail(st, TFD_CANCELLED, "the step has ended");
}
