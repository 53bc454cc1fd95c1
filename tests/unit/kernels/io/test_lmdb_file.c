/*
 * test_lmdb_file.c - kernels/io/lmdb_file.c: a database of small pages with all
 * kinds of entries, and what is left of it when bytes of it are others.
 *
 * That files of liblmdb are read is shown in tests/conformance.
 */
#include "tests/support/memory_files.h"

#include "kernels/io/lmdb_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PAGE 256u
#define PAGES 8u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- A database ---------------------------------------------------------- */

struct database {
    unsigned char byte[PAGES * PAGE];
};

static void put(unsigned char *to, uint64_t value, int size)
{
    for (int i = 0; i < size; i++, value >>= 8)
        to[i] = (unsigned char)value;
}

static unsigned get_short(const unsigned char *from)
{
    return (unsigned)from[0] | (unsigned)from[1] << 8;
}

/* An empty page, or one that lies in another. */
static void begin_page(unsigned char *page, unsigned number, unsigned flags,
                       size_t size)
{
    put(page, number, 8);
    put(page + 10, flags, 2);
    put(page + 12, 16, 2);
    put(page + 14, size, 2);
}

/* low: the size of the value, or a branch's page. */
static void add_entry(unsigned char *page, unsigned flags, const char *key,
                      const void *value, size_t size, uint32_t low)
{
    const unsigned lower = get_short(page + 12);
    const size_t at =
        get_short(page + 14) - ((8 + strlen(key) + size + 1) & ~1u);

    put(page + lower, at, 2);
    put(page + 12, lower + 2, 2);
    put(page + 14, at, 2);
    put(page + at, low, 4);
    put(page + at + 4, flags, 2);
    put(page + at + 6, strlen(key), 2);
    memcpy(page + at + 8, key, strlen(key));
    memcpy(page + at + 8 + strlen(key), value, size);
}

static void add_text(unsigned char *page, const char *key, const char *value)
{
    add_entry(page, 0, key, value, strlen(value), (uint32_t)strlen(value));
}

static void put_meta(struct database *d, unsigned number, uint64_t transaction,
                     uint64_t root)
{
    unsigned char *page = d->byte + number * PAGE;

    begin_page(page, number, 8, PAGE);
    put(page + 16, 0xBEEFC0DE, 4);
    put(page + 20, 1, 4);
    put(page + 40, PAGE, 4);
    put(page + 88 + 40, root, 8);
    put(page + 144, transaction, 8);
}

/* Two leaves below a branch; a value on page 5, values of one key in a page
 * within a leaf, and in the tree of page 7. */
static void make(struct database *d)
{
    unsigned char part[64] = {0}, tree[48] = {0}, page[8] = {0};
    unsigned char *at = d->byte;

    memset(d, 0, sizeof(*d));
    put_meta(d, 0, 1, UINT64_MAX);
    put_meta(d, 1, 2, 2);
    begin_page(at + 2 * PAGE, 2, 1, PAGE);
    add_entry(at + 2 * PAGE, 0, "", "", 0, 3);
    add_entry(at + 2 * PAGE, 0, "d", "", 0, 4);
    begin_page(at + 3 * PAGE, 3, 2, PAGE);
    add_text(at + 3 * PAGE, "a", "one");
    begin_page(part, 0, 0x42, sizeof(part));
    add_text(part, "x", "");
    add_text(part, "yy", "");
    add_entry(at + 3 * PAGE, 4, "b", part, sizeof(part), sizeof(part));
    add_text(at + 3 * PAGE, "c", "");
    begin_page(at + 4 * PAGE, 4, 2, PAGE);
    put(page, 5, 8);
    add_entry(at + 4 * PAGE, 1, "d", page, 8, 400);
    put(tree, 2, 4);
    put(tree + 40, 7, 8);
    add_entry(at + 4 * PAGE, 6, "e", tree, sizeof(tree), sizeof(tree));
    begin_page(at + 5 * PAGE, 5, 4, PAGE);
    memset(at + 5 * PAGE + 16, 'L', 400);
    begin_page(at + 7 * PAGE, 7, 0x22, PAGE);
    put(at + 7 * PAGE + 12, 16 + 2 * 3, 2);
    memcpy(at + 7 * PAGE + 16, "112233", 6);
}

/* ---- Reading ------------------------------------------------------------- */

/* "a=one b=x ..."; what fails is its code in brackets. */
static size_t read_all(struct memory_files *m, struct tfd_bytes *out)
{
    struct tfd_lmdb_file l;
    struct tfd_str key, value;
    enum tfd_code rc = tfd_lmdb_open(&l, &m->access, TFD_STR("d"), NULL);
    bool end = false;
    size_t count = 0;

    while (rc == TFD_OK && !end) {
        rc = tfd_lmdb_next(&l, &key, &value, &end, NULL);
        if (rc == TFD_OK && !end)
            tfd_bytes_printf(out, TFD_STR_FMT "=" TFD_STR_FMT " ",
                             TFD_STR_ARG(key), TFD_STR_ARG(value));
        count += !end;
    }
    if (rc != TFD_OK)
        tfd_bytes_printf(out, "[%d]", (int)rc);
    tfd_lmdb_close(&l);
    assert_int_equal(m->open, 0);
    return count;
}

static void test_all_kinds_of_entries_are_read(void **state)
{
    struct memory_files m;
    struct database d;
    struct tfd_bytes out;
    char large[401] = {0}, want[512];

    (void)state;
    memset(large, 'L', 400);
    snprintf(want, sizeof(want), "a=one b=x b=yy c= d=%s e=11 e=22 e=33 ",
             large);
    make(&d);
    memory_files_init(&m);
    memory_put(&m, "d", d.byte, sizeof(d.byte));
    tfd_bytes_init(&out, 4096);
    read_all(&m, &out);
    assert_true(tfd_str_is(tfd_bytes_view(&out), want));
    tfd_bytes_deinit(&out);
    memory_files_deinit(&m);
}

static void test_the_later_transaction_counts(void **state)
{
    struct memory_files m;
    struct database d;
    struct tfd_bytes out;

    (void)state;
    make(&d);
    put_meta(&d, 0, 3, 3);
    memory_files_init(&m);
    memory_put(&m, "d", d.byte, sizeof(d.byte));
    tfd_bytes_init(&out, 4096);
    read_all(&m, &out);
    assert_true(tfd_str_is(tfd_bytes_view(&out), "a=one b=x b=yy c= "));
    tfd_bytes_deinit(&out);
    memory_files_deinit(&m);
}

/* Each byte in turn, each with several values: no crash, and an end. */
static void test_no_byte_is_believed(void **state)
{
    static const unsigned char values[] = {0, 1, 2, 3, 7, 16, 0x7f, 0x80, 0xff};
    struct memory_files m;
    struct database d;
    struct memory_file *f;
    struct tfd_bytes out;

    (void)state;
    make(&d);
    memory_files_init(&m);
    f = memory_put(&m, "d", d.byte, sizeof(d.byte));
    tfd_bytes_init(&out, 1 << 20);
    for (size_t at = 0; at < sizeof(d.byte); at++) {
        const char good = f->data.data[at];

        for (size_t v = 0; v < COUNT(values); v++) {
            f->data.data[at] = (char)values[v];
            tfd_bytes_clear(&out);
            assert_true(read_all(&m, &out) < 2000);
        }
        f->data.data[at] = good;
    }
    tfd_bytes_deinit(&out);
    memory_files_deinit(&m);
}

/* A file that is cut anywhere fails, unless nothing is missing. */
static void test_what_is_cut_is_missed(void **state)
{
    struct memory_files m;
    struct database d;
    struct tfd_bytes out;

    (void)state;
    make(&d);
    memory_files_init(&m);
    tfd_bytes_init(&out, 4096);
    for (size_t size = 0; size < sizeof(d.byte) - PAGE; size += 16) {
        memory_put(&m, "d", d.byte, size);
        tfd_bytes_clear(&out);
        read_all(&m, &out);
        assert_non_null(memchr(out.data, '[', out.size));
    }
    tfd_bytes_deinit(&out);
    memory_files_deinit(&m);
}

static void test_files_that_fail_are_closed(void **state)
{
    struct memory_files m;
    struct database d;
    struct tfd_bytes out;
    int calls;

    (void)state;
    make(&d);
    memory_files_init(&m);
    memory_put(&m, "d", d.byte, sizeof(d.byte));
    tfd_bytes_init(&out, 4096);
    read_all(&m, &out);
    calls = m.calls;
    for (int i = 1; i <= calls; i++) {
        m.calls = 0;
        m.fail_at = i;
        tfd_bytes_clear(&out);
        read_all(&m, &out);
        assert_non_null(memchr(out.data, '[', out.size));
    }
    tfd_bytes_deinit(&out);
    memory_files_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds_of_entries_are_read),
        cmocka_unit_test(test_the_later_transaction_counts),
        cmocka_unit_test(test_no_byte_is_believed),
        cmocka_unit_test(test_what_is_cut_is_missed),
        cmocka_unit_test(test_files_that_fail_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
