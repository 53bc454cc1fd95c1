/*
 * npy.c - see npy.h.
 *
 * The elements of a file are read as they are, then put where they belong: at
 * once where both orders are ours, else one by one.
 */
#define _GNU_SOURCE 1 /* O_CLOEXEC */

#include "tools/npy/npy.h"

#include "tools/npy/npy_head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct npy {
    int fd;
    int64_t left; /* bytes behind what was read */
    struct tfd_ctl_npy_head head;
    struct tfd_shape shape;
    unsigned char *elements;
};

static enum tfd_code fail_errno(struct tfd_status *st)
{
    return tfd_fail(st, errno == ENOENT ? TFD_NOT_FOUND : TFD_UNKNOWN, "%s",
                    strerror(errno));
}

/* ---- Bytes --------------------------------------------------------------- */

static enum tfd_code read_bytes(struct npy *n, void *to, int64_t size,
                                struct tfd_status *st)
{
    char *at = to;

    if (size > n->left)
        return tfd_fail(st, TFD_DATA_LOSS, "the file ends %lld bytes too soon",
                        (long long)(size - n->left));
    n->left -= size;
    while (size > 0) {
        ssize_t got = read(n->fd, at, (size_t)size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(st);
        if (got == 0)
            return tfd_fail(st, TFD_DATA_LOSS, "the file has become shorter");
        at += got;
        size -= got;
    }
    return TFD_OK;
}

static enum tfd_code open_npy(struct npy *n, const char *path,
                              struct tfd_status *st)
{
    struct stat s;

    /* A pipe that nobody writes does not hold us. */
    n->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (n->fd < 0 || fstat(n->fd, &s) != 0)
        return fail_errno(st);
    if (!S_ISREG(s.st_mode))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "no regular file");
    n->left = s.st_size;
    return TFD_OK;
}

static enum tfd_code read_head(struct npy *n, struct tfd_status *st)
{
    unsigned char first[12] = {0};
    uint32_t size = 0;
    char *text;
    enum tfd_code rc;

    if (n->left < 10)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "no .npy: too short");
    TFD_TRY(read_bytes(n, first, 8, st));
    if (memcmp(first, "\x93NUMPY", 6) != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "no .npy, which begins with \\x93NUMPY");
    if (first[6] < 1 || first[6] > 3)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "version %d of .npy; 1 to 3 are known", first[6]);
    TFD_TRY(read_bytes(n, first + 8, first[6] == 1 ? 2 : 4, st));
    for (int i = first[6] == 1 ? 1 : 3; i >= 0; i--)
        size = size << 8 | first[8 + i];
    if (size > TFD_CTL_NPY_HEAD_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a head of %u bytes; the limit is %zu", size,
                        TFD_CTL_NPY_HEAD_MAX);
    text = malloc((size_t)size + 1);
    if (!text)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "out of memory");
    rc = read_bytes(n, text, size, st);
    if (rc == TFD_OK)
        rc = tfd_ctl_npy_head_read((struct tfd_str){text, size}, &n->head, st);
    free(text);
    return rc;
}

/* All of them, after their size was compared with the file's. */
static enum tfd_code read_elements(struct npy *n, struct tfd_status *st)
{
    int64_t count, size;

    TFD_TRY(tfd_shape_make(&n->shape, n->head.dim, n->head.rank, st));
    count = tfd_shape_elements(&n->shape);
    if (__builtin_mul_overflow(count, n->head.item_size, &size) ||
        size > TFD_CTL_NPY_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld elements of %lld bytes; the limit is %lld bytes",
                        (long long)count, (long long)n->head.item_size,
                        (long long)TFD_CTL_NPY_SIZE_MAX);
    if (size > n->left)
        return read_bytes(n, NULL, size, st);
    /* Elements of no bytes are counted by nothing in the file. */
    if (n->head.item_size == 0 && count > n->left + (1 << 20))
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld empty elements; the limit is 1048576",
                        (long long)count);
    n->elements = malloc((size_t)size + 1);
    if (!n->elements)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for %lld bytes",
                        (long long)size);
    return read_bytes(n, n->elements, size, st);
}

/* ---- Elements ------------------------------------------------------------ */

/* UTF-32 to UTF-8; what is no character is the one that stands for it. */
static void add_character(struct tfd_bytes *b, uint32_t c)
{
    unsigned char out[4];
    int size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        c = 0xfffd;
        size = 3;
    }
    for (int i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)(size == 1 ? c : c | (0xf0u << (4 - size) & 0xff));
    tfd_bytes_add(b, out, (size_t)size);
}

static enum tfd_code put_unicode(const struct npy *n, const unsigned char *from,
                                 struct tfd_tstring *to, struct tfd_status *st)
{
    struct tfd_bytes text;
    int64_t count = n->head.item_size / 4;
    enum tfd_code rc;
    uint32_t c = 0;

    tfd_bytes_init(&text, SIZE_MAX);
    for (; count > 0; count--) { /* without the zeros at its end */
        memcpy(&c, from + 4 * (count - 1), 4);
        if (c != 0)
            break;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(&c, from + 4 * i, 4);
        add_character(&text, n->head.swapped ? __builtin_bswap32(c) : c);
    }
    rc = tfd_bytes_ok(&text, "a string", st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(to, tfd_bytes_view(&text), st);
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code put_string(const struct npy *n, const unsigned char *from,
                                struct tfd_tstring *to, struct tfd_status *st)
{
    size_t size = (size_t)n->head.item_size;

    if (n->head.kind == 'U')
        return put_unicode(n, from, to, st);
    while (size > 0 && from[size - 1] == 0)
        size--;
    return tfd_tstring_set(to, (struct tfd_str){(const char *)from, size}, st);
}

/* The parts of a complex number are turned each by itself. */
static void put_number(const struct npy *n, const unsigned char *from,
                       unsigned char *to)
{
    size_t size = (size_t)n->head.item_size;
    size_t part = n->head.kind == 'c' ? size / 2 : size;

    for (size_t i = 0; i < size; i++)
        to[i] = n->head.swapped ? from[i / part * part + part - 1 - i % part]
                                : from[i];
}

/* Where in the file the element is that comes next in our order. */
static int64_t next_place(const struct npy *n, int64_t *index)
{
    int64_t at = 0, stride = 1;

    for (int d = 0; d < n->head.rank; d++) {
        at += index[d] * stride;
        stride *= n->head.dim[d];
    }
    for (int d = n->head.rank - 1; d >= 0; d--) {
        if (++index[d] < n->head.dim[d])
            break;
        index[d] = 0;
    }
    return at;
}

static enum tfd_code put_elements(const struct npy *n, struct tfd_tensor *t,
                                  struct tfd_status *st)
{
    int64_t count = tfd_tensor_elements(t), size = n->head.item_size;
    int64_t index[TFD_RANK_MAX] = {0};
    unsigned char *to = tfd_tensor_data(t);

    if (t->dtype != TFD_STRING && !n->head.swapped && !n->head.fortran) {
        if (count > 0)
            memcpy(to, n->elements, (size_t)(count * size));
        return TFD_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t place = n->head.fortran ? next_place(n, index) : i;
        const unsigned char *from = n->elements + place * size;

        if (t->dtype == TFD_STRING)
            TFD_TRY(
                put_string(n, from, (struct tfd_tstring *)(void *)to + i, st));
        else
            put_number(n, from, to + i * size);
    }
    return TFD_OK;
}

enum tfd_code tfd_ctl_npy_read(const char *path, struct tfd_tensor *out,
                               struct tfd_status *st)
{
    struct npy n = {.fd = -1};
    enum tfd_code rc = open_npy(&n, path, st);

    *out = (struct tfd_tensor)TFD_TENSOR_INIT;
    if (rc == TFD_OK)
        rc = read_head(&n, st);
    if (rc == TFD_OK)
        rc = read_elements(&n, st);
    if (rc == TFD_OK)
        rc = tfd_tensor_new(out, n.head.dtype, &n.shape, st);
    if (rc == TFD_OK)
        rc = put_elements(&n, out, st);
    if (rc == TFD_OK && out->dtype == TFD_BOOL)
        tfd_tensor_normalize_bools(out);
    if (rc != TFD_OK) {
        tfd_tensor_unref(out);
        tfd_status_context(st, "%s", path);
    }
    free(n.elements);
    if (n.fd >= 0)
        close(n.fd);
    return rc;
}

/* ---- Writing ------------------------------------------------------------- */

/* The size of the longest string, at least 1.  NumPy drops zero bytes at the
 * end of one, so a string that ends with some would come back as another. */
static enum tfd_code measure_strings(const struct tfd_tensor *t, int64_t *size,
                                     struct tfd_status *st)
{
    const struct tfd_tstring *strings = tfd_tensor_data(t);

    *size = 1;
    for (int64_t i = 0; i < tfd_tensor_elements(t); i++) {
        struct tfd_str s = tfd_tstring_view(&strings[i]);

        if (s.size > 0 && s.data[s.size - 1] == '\0')
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "string %lld ends with a zero byte, which .npy "
                            "does not keep",
                            (long long)i);
        if ((int64_t)s.size > *size)
            *size = (int64_t)s.size;
    }
    if (*size > TFD_CTL_NPY_ITEM_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a string of %lld bytes; the limit is %lld",
                        (long long)*size, (long long)TFD_CTL_NPY_ITEM_MAX);
    return TFD_OK;
}

static void write_strings(const struct tfd_tensor *t, int64_t size, FILE *f)
{
    const struct tfd_tstring *strings = tfd_tensor_data(t);

    for (int64_t i = 0; i < tfd_tensor_elements(t); i++) {
        struct tfd_str s = tfd_tstring_view(&strings[i]);

        fwrite(s.data, 1, s.size, f);
        for (int64_t k = (int64_t)s.size; k < size; k++)
            fputc(0, f);
    }
}

static enum tfd_code write_file(const char *path, const struct tfd_tensor *t,
                                struct tfd_str head, int64_t string_size,
                                struct tfd_status *st)
{
    FILE *f = fopen(path, "we");
    bool bad;

    if (!f)
        return fail_errno(st);
    fwrite(head.data, 1, head.size, f);
    if (t->dtype == TFD_STRING)
        write_strings(t, string_size, f);
    else if (tfd_tensor_size(t) > 0)
        fwrite(tfd_tensor_data(t), 1, tfd_tensor_size(t), f);
    bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad)
        return fail_errno(st);
    return TFD_OK;
}

enum tfd_code tfd_ctl_npy_write(const char *path, const struct tfd_tensor *t,
                                struct tfd_status *st)
{
    int64_t string_size = 0;
    struct tfd_bytes head;
    enum tfd_code rc = TFD_OK;

    tfd_bytes_init(&head, TFD_CTL_NPY_HEAD_MAX);
    if (t->dtype == TFD_STRING)
        rc = measure_strings(t, &string_size, st);
    if (rc == TFD_OK)
        rc = tfd_ctl_npy_head_write(t, string_size, &head, st);
    if (rc == TFD_OK)
        rc = write_file(path, t, tfd_bytes_view(&head), string_size, st);
    tfd_bytes_deinit(&head);
    if (rc != TFD_OK)
        tfd_status_context(st, "%s", path);
    return rc;
}
