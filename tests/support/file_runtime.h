/*
 * file_runtime.h - the runtime as kernels that read and write files see it,
 * over files in memory.
 *
 * Included once by a test program: it stands in for kernels/core/runtime.h.
 */
#ifndef TFD_TESTS_SUPPORT_FILE_RUNTIME_H
#define TFD_TESTS_SUPPORT_FILE_RUNTIME_H

#include "kernels/core/runtime.h"
#include "tests/support/memory_files.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct tfd_rt {
    struct tfd_file_access *files;
};

struct tfd_file_access *tfd_rt_files(struct tfd_rt *rt)
{
    return rt->files;
}

struct tfd_pool *tfd_rt_pool(struct tfd_rt *rt)
{
    (void)rt;
    return NULL;
}

struct tfd_crew *tfd_rt_crew(struct tfd_rt *rt)
{
    (void)rt;
    return NULL;
}

static struct memory_files files;
static struct tfd_rt rt;

static inline int setup(void **state)
{
    (void)state;
    memory_files_init(&files);
    rt.files = &files.access;
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    assert_int_equal(files.open, 0);
    memory_files_deinit(&files);
    return 0;
}

#endif
