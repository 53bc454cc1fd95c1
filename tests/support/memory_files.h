/*
 * memory_files.h - a struct tfd_file_access over files in memory, whose n-th
 * fallible call can be made to fail.
 *
 * Directories exist, except missing_dir until it is made.
 */
#ifndef TFD_TESTS_SUPPORT_MEMORY_FILES_H
#define TFD_TESTS_SUPPORT_MEMORY_FILES_H

#include "kernels/io/file.h"

#include <stdio.h>
#include <string.h>

#define MEMORY_FILES_MAX 16
#define MEMORY_NAME_MAX 128

struct memory_file {
    bool used;
    char name[MEMORY_NAME_MAX];
    struct tfd_bytes data;
};

struct memory_files {
    struct tfd_file_access access; /* first: one is the other */
    struct memory_file file[MEMORY_FILES_MAX];
    const char *missing_dir; /* NULL: none */
    int calls;               /* fallible ones so far */
    int fail_at;             /* the call that fails; 0: none */
    bool fail_from;          /* and all after it */
    int open;                /* files open now */
};

bool memory_fails(struct memory_files *m);

#define MEMORY_TRY(m, st)                                                \
    do {                                                                 \
        if (memory_fails(m))                                             \
            return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "made to fail"); \
    } while (0)

struct memory_file *memory_find(struct memory_files *m, struct tfd_str name);

void memory_files_init(struct memory_files *m);

void memory_files_deinit(struct memory_files *m);

/* A file with these bytes, replacing what there was. */
struct memory_file *memory_put(struct memory_files *m, const char *name,
                               const void *data, size_t size);

int memory_count(const struct memory_files *m);

#endif
