/*
 * halt.c - see halt.h.
 */
#include "common/halt.h"

__thread const int *tfd_halt_flag = NULL;

enum tfd_code tfd_halt_fail(struct tfd_status *st)
{
    return tfd_fail(st, TFD_CANCELLED, "the step has ended");
}
