/*
 * text_lines.c - see text_lines.h.
 */
#include "kernels/tables/text_lines.h"

#include "config/limits.h"

#include <string.h>

enum tfd_code tfd_text_lines_open(struct tfd_text_lines *l,
                                  struct tfd_file_access *access,
                                  struct tfd_str name, int64_t max,
                                  struct tfd_status *st)
{
    *l = (struct tfd_text_lines){.name = name, .max = max};
    tfd_bytes_init(&l->contents, (size_t)TFD_FILE_READ_SIZE_MAX);
    return tfd_file_read_all(access, name, &l->contents, st);
}

void tfd_text_lines_close(struct tfd_text_lines *l)
{
    tfd_bytes_deinit(&l->contents);
}

void tfd_text_lines_rewind(struct tfd_text_lines *l)
{
    l->at = 0;
    l->count = 0;
}

/* A carriage return at its end is no part of a line. */
static size_t without_return(const char *line, size_t n)
{
    return n && line[n - 1] == '\r' ? n - 1 : n;
}

static enum tfd_code at_end(const struct tfd_text_lines *l,
                            struct tfd_status *st)
{
    if (l->max > l->count)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Invalid vocab_size in " TFD_STR_FMT ": expected %lld but got %lld",
            TFD_STR_ARG(l->name), (long long)l->max, (long long)l->count);
    if (l->count == 0)
        return tfd_fail(st, TFD_OUT_OF_RANGE, "Read less bytes than requested");
    return TFD_OK;
}

enum tfd_code tfd_text_lines_next(struct tfd_text_lines *l, bool *more,
                                  struct tfd_status *st)
{
    const char *line, *end;
    size_t n = l->contents.size - l->at;

    *more = false;
    if (l->max == 0)
        return tfd_fail(st, TFD_OUT_OF_RANGE,
                        "Finished reading 0 of lines from " TFD_STR_FMT,
                        TFD_STR_ARG(l->name));
    if (l->count == l->max)
        return TFD_OK;
    if (n == 0)
        return at_end(l, st);
    line = l->contents.data + l->at;
    end = memchr(line, '\n', n);
    if (end)
        n = (size_t)(end - line);
    l->at += n + (end ? 1 : 0);
    l->line = (struct tfd_str){line, without_return(line, n)};
    if (l->line.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Invalid content in " TFD_STR_FMT
                        ": empty line found at position %zu.",
                        TFD_STR_ARG(l->name), l->at);
    *more = true;
    return TFD_OK;
}
