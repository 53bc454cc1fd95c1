/*
 * file_check.c - a task without files refuses in the words of one whose roots
 * are none (kernels/io/file_roots.c).
 */
#include "kernels/io/file_check.h"
#include "kernels/core/runtime.h"

enum tfd_code tfd_file_check(const struct tfd_kctx *k,
                             struct tfd_file_access **out,
                             struct tfd_status *st)
{
    *out = k->rt ? tfd_rt_files(k->rt) : NULL;
    if (*out)
        return TFD_OK;
    return tfd_fail(st, TFD_PERMISSION_DENIED,
                    "This server was started without --file_root, so "
                    "operations may not use files");
}
