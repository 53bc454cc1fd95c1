/*
 * flags_rig.h - parses a command line as the program does, and keeps what it
 * prints.
 */
#ifndef TFD_TESTS_UNIT_FLAGS_RIG_H
#define TFD_TESTS_UNIT_FLAGS_RIG_H

#include "config/flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX 8

struct result {
    int code;
    struct tfd_config config;
    char out[16384];
    char err[8192];
};

static inline void read_back(FILE *f, char *text, size_t size)
{
    size_t n;

    rewind(f);
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}

static inline void run(struct result *r, const char *const args[ARGS_MAX],
                       const char *tf_config)
{
    char *argv[ARGS_MAX + 1] = {(char *)(uintptr_t) "tfd"};
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    int argc = 1;

    assert_non_null(out);
    assert_non_null(err);
    for (size_t i = 0; i < ARGS_MAX && args[i]; i++)
        argv[argc++] = (char *)(uintptr_t)args[i];
    r->code = tfd_flags_parse(&r->config, argc, argv, tf_config, out, err);
    read_back(out, r->out, sizeof(r->out));
    read_back(err, r->err, sizeof(r->err));
}

static inline size_t lines_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#define CLUSTER "--ps_hosts=a:1,b:2", "--worker_hosts=c:3"
#define TF_PS                                   \
    "{\"cluster\":{\"ps\":[\"a:1\",\"b:2\"],"   \
    "\"worker\":[\"c:3\"]},\"task\":{\"type\":" \
    "\"ps\",\"index\":1}}"

#endif
