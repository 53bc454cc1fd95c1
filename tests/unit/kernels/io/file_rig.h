/*
 * file_rig.h - a directory of its own for each test of files:
 *
 *     outside/secret
 *     root/plain  root/sub/inner  root/...   what the test adds
 */
#ifndef TFD_TESTS_UNIT_FILE_RIG_H
#define TFD_TESTS_UNIT_FILE_RIG_H

#include "kernels/io/file_draft.h"
#include "kernels/io/file_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct place {
    char top[64];
    char path[512]; /* result of at() */
    struct tfd_file_roots roots;
    struct tfd_status st;
};

static const char *at(struct place *p, const char *below)
{
    snprintf(p->path, sizeof(p->path), "%s/%s", p->top, below);
    return p->path;
}

static inline void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static inline void open_roots(struct place *p, const char *dir)
{
    assert_int_equal(tfd_file_roots_init(&p->roots, &dir, dir ? 1 : 0, &p->st),
                     TFD_OK);
}

static inline int set_up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    snprintf(p->top, sizeof(p->top), "/tmp/tfd_test_file_XXXXXX");
    assert_non_null(mkdtemp(p->top));
    assert_int_equal(mkdir(at(p, "outside"), 0755), 0);
    assert_int_equal(mkdir(at(p, "root"), 0755), 0);
    assert_int_equal(mkdir(at(p, "root/sub"), 0755), 0);
    put(at(p, "outside/secret"), "secret");
    put(at(p, "root/plain"), "plain");
    put(at(p, "root/sub/inner"), "inner");
    open_roots(p, at(p, "root"));
    *state = p;
    return 0;
}

static inline int tear_down(void **state)
{
    struct place *p = *state;
    char command[128];

    tfd_file_roots_deinit(&p->roots);
    snprintf(command, sizeof(command), "rm -rf '%s'", p->top);
    assert_int_equal(system(command), 0);
    free(p);
    return 0;
}

/* The code of reading `name`; on success its contents must be `text`. */
static inline enum tfd_code try_read(struct place *p, const char *name,
                                     const char *text)
{
    struct tfd_bytes out;
    enum tfd_code rc;

    tfd_bytes_init(&out, 64);
    tfd_status_clear(&p->st);
    rc = tfd_file_read_all(&p->roots.access, tfd_str_of(name), &out, &p->st);
    if (rc == TFD_OK)
        assert_true(tfd_str_is(tfd_bytes_view(&out), text));
    else
        assert_string_not_equal(p->st.text, "");
    tfd_bytes_deinit(&out);
    return rc;
}

#endif
