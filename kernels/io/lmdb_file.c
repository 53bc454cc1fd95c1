/*
 * lmdb_file.c - see lmdb_file.h.
 *
 * No page of a tree is met twice.  A damaged file may have circles and pages
 * with two parents, so pages are counted: there are no more than the file has.
 */
#include "kernels/io/lmdb_file.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0xBEEFC0DEu
#define VERSION 1u
#define NO_PAGE UINT64_MAX

enum page_flag {
    BRANCH_PAGE = 1,
    LEAF_PAGE = 2,
    LARGE_PAGE = 4,
    META_PAGE = 8,
    FIXED_PAGE = 0x20, /* a leaf of keys that all have one size */
};

enum entry_flag {
    LARGE_VALUE = 1, /* the value is the page it is on */
    TREE_VALUE = 2,  /* it is the record of a tree */
    DUPS_VALUE = 4,  /* it is a page with values, or, too, a tree of them */
};

/* Offsets in a page, and of the meta page's contents. */
enum {
    PAD_AT = 8,
    FLAGS_AT = 10,
    LOWER_AT = 12,
    PAGE_HEAD = 16,
    META_MAGIC_AT = PAGE_HEAD,
    META_VERSION_AT = PAGE_HEAD + 4,
    META_FREE_AT = PAGE_HEAD + 24, /* record of the tree of free pages */
    META_KEYS_AT = META_FREE_AT + 48,
    META_TRANSACTION_AT = META_KEYS_AT + 48 + 8,
    META_SIZE = META_TRANSACTION_AT + 8,
    ENTRY_HEAD = 8,
};

/* A tree's record. */
enum { TREE_PAD_AT = 0, TREE_ROOT_AT = 40, TREE_SIZE = 48 };

#define PAGE_SIZE_MIN 256u
#define PAGE_SIZE_MAX 65536u

struct entry {
    uint32_t size; /* of the value */
    uint64_t page; /* of a branch */
    unsigned flags;
    struct tfd_str key, value;
};

/* ---- Numbers ------------------------------------------------------------- */

static uint64_t little_at(const char *p, size_t at, int size)
{
    uint64_t v = 0;

    for (int i = size - 1; i >= 0; i--)
        v = v << 8 | (unsigned char)p[at + (size_t)i];
    return v;
}

static unsigned short_at(const char *p, size_t at)
{
    return (unsigned)little_at(p, at, 2);
}

/* ---- Errors -------------------------------------------------------------- */

static enum tfd_code no_database(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "MDB_INVALID: File is not an LMDB file");
}

static enum tfd_code wrong_page(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "MDB_CORRUPTED: Located page was wrong type");
}

static enum tfd_code count_step(struct tfd_lmdb_file *l, struct tfd_status *st)
{
    if (++l->steps <= TFD_LMDB_STEPS_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "no pair within %d pages of an LMDB file",
                    TFD_LMDB_STEPS_MAX);
}

static enum tfd_code no_page(struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "MDB_PAGE_NOTFOUND: Requested page not found");
}

/* ---- Pages --------------------------------------------------------------- */

static enum tfd_code read_bytes(struct tfd_lmdb_file *l, uint64_t offset,
                                void *data, size_t size, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    enum tfd_code rc =
        l->access->read_at(l->access, &l->file, offset, data, size, &why);

    if (rc == TFD_OUT_OF_RANGE) /* that is an iterator's end */
        return no_page(st);
    return rc == TFD_OK ? rc : tfd_status_copy(st, &why);
}

/* Looks at a page, which may be a piece of another one. */
static enum tfd_code check_page(const struct tfd_lmdb_tree *t,
                                struct tfd_lmdb_level *v, struct tfd_status *st)
{
    const unsigned flags = short_at(v->page, FLAGS_AT);
    const unsigned lower = short_at(v->page, LOWER_AT);

    v->is_leaf = flags & LEAF_PAGE;
    v->is_fixed = flags & FIXED_PAGE;
    if (v->is_leaf == !!(flags & BRANCH_PAGE) ||
        flags & (LARGE_PAGE | META_PAGE) || (v->is_fixed && !v->is_leaf) ||
        lower < PAGE_HEAD || lower > v->size)
        return wrong_page(st);
    v->next = 0;
    v->count = (lower - PAGE_HEAD) / 2;
    if (v->is_fixed && t->fixed_size * v->count > v->size - PAGE_HEAD)
        return wrong_page(st);
    return TFD_OK;
}

/* One level further down. */
static enum tfd_code push_page(struct tfd_lmdb_file *l, struct tfd_lmdb_tree *t,
                               uint64_t number, struct tfd_status *st)
{
    struct tfd_lmdb_level *v;

    if (number >= l->page_count)
        return no_page(st);
    if (t->depth == TFD_LMDB_DEPTH_MAX || ++l->visited > l->page_count)
        return wrong_page(st);
    TFD_TRY(count_step(l, st));
    v = &t->level[t->depth];
    if (!v->page)
        v->page = malloc(l->page_size);
    if (!v->page)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a page");
    v->size = l->page_size;
    TFD_TRY(read_bytes(l, number * l->page_size, v->page, v->size, st));
    TFD_TRY(check_page(t, v, st));
    t->depth++;
    return TFD_OK;
}

/* The same for a page that is a value of a leaf. */
static enum tfd_code push_part(struct tfd_lmdb_file *l, struct tfd_lmdb_tree *t,
                               struct tfd_str part, struct tfd_status *st)
{
    struct tfd_lmdb_level *v = &t->level[0];

    if (part.size < PAGE_HEAD || part.size > l->page_size)
        return wrong_page(st);
    TFD_TRY(count_step(l, st));
    if (!v->page)
        v->page = malloc(l->page_size);
    if (!v->page)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a page");
    memcpy(v->page, part.data, part.size);
    v->size = part.size;
    t->fixed_size = short_at(v->page, PAD_AT);
    TFD_TRY(check_page(t, v, st));
    if (!v->is_leaf)
        return wrong_page(st);
    t->depth = 1;
    return TFD_OK;
}

static enum tfd_code begin_tree(struct tfd_lmdb_file *l,
                                struct tfd_lmdb_tree *t, const char *record,
                                struct tfd_status *st)
{
    const uint64_t root = little_at(record, TREE_ROOT_AT, 8);

    t->depth = 0;
    t->fixed_size = (size_t)little_at(record, TREE_PAD_AT, 4);
    if (t->fixed_size > l->page_size)
        return wrong_page(st);
    return root == NO_PAGE ? TFD_OK : push_page(l, t, root, st);
}

/* ---- Entries ------------------------------------------------------------- */

/* A value that is on pages of its own has none here yet. */
static enum tfd_code read_entry(const struct tfd_lmdb_level *v, uint32_t index,
                                struct entry *out, struct tfd_status *st)
{
    const size_t at = short_at(v->page, PAGE_HEAD + 2 * (size_t)index);
    const char *p = v->page + at;
    size_t key, here;

    if (at < PAGE_HEAD || at > v->size || v->size - at < ENTRY_HEAD)
        return wrong_page(st);
    out->size = (uint32_t)little_at(p, 0, 4);
    out->flags = short_at(p, 4);
    out->page = (uint64_t)out->flags << 32 | out->size;
    key = short_at(p, 6);
    here = v->size - at - ENTRY_HEAD;
    if (key > here)
        return wrong_page(st);
    out->key = (struct tfd_str){p + ENTRY_HEAD, key};
    out->value = (struct tfd_str){p + ENTRY_HEAD + key,
                                  out->flags & LARGE_VALUE ? 8 : out->size};
    if (v->is_leaf && out->value.size > here - key)
        return wrong_page(st);
    return TFD_OK;
}

/* Goes on to a leaf that has an entry; *end: there is none. */
static enum tfd_code settle(struct tfd_lmdb_file *l, struct tfd_lmdb_tree *t,
                            bool *end, struct tfd_status *st)
{
    while (t->depth > 0) {
        struct tfd_lmdb_level *v = &t->level[t->depth - 1];
        struct entry e;

        if (v->next == v->count) {
            t->depth--;
            continue;
        }
        *end = false;
        if (v->is_leaf)
            return TFD_OK;
        TFD_TRY(read_entry(v, v->next++, &e, st));
        TFD_TRY(push_page(l, t, e.page, st));
    }
    *end = true;
    return TFD_OK;
}

/* The value's pages lie one behind the other; only the first has a head. */
static enum tfd_code read_large(struct tfd_lmdb_file *l, struct entry *e,
                                struct tfd_status *st)
{
    const uint64_t page = little_at(e->value.data, 0, 8);
    char head[PAGE_HEAD], *to;
    uint64_t offset;

    if (page >= l->page_count)
        return no_page(st);
    offset = page * l->page_size;
    if (l->file.size - offset < PAGE_HEAD ||
        l->file.size - offset - PAGE_HEAD < e->size)
        return no_page(st);
    TFD_TRY(read_bytes(l, offset, head, sizeof(head), st));
    if (!(short_at(head, FLAGS_AT) & LARGE_PAGE))
        return wrong_page(st);
    tfd_bytes_clear(&l->value);
    to = tfd_bytes_extend(&l->value, e->size);
    TFD_TRY(tfd_bytes_ok(&l->value, "a value", st));
    TFD_TRY(read_bytes(l, offset + PAGE_HEAD, to, e->size, st));
    e->value = tfd_bytes_view(&l->value);
    return TFD_OK;
}

/* ---- Several values of one key ------------------------------------------- */

static enum tfd_code begin_dups(struct tfd_lmdb_file *l, const struct entry *e,
                                struct tfd_status *st)
{
    l->key = e->key;
    if (!(e->flags & TREE_VALUE))
        return push_part(l, &l->dups, e->value, st);
    if (e->value.size != TREE_SIZE)
        return wrong_page(st);
    return begin_tree(l, &l->dups, e->value.data, st);
}

/* Values are the keys of their tree. */
static enum tfd_code next_dup(struct tfd_lmdb_file *l, struct tfd_str *value,
                              bool *end, struct tfd_status *st)
{
    struct tfd_lmdb_tree *t = &l->dups;
    struct tfd_lmdb_level *v;
    struct entry e;

    TFD_TRY(settle(l, t, end, st));
    if (*end)
        return TFD_OK;
    v = &t->level[t->depth - 1];
    if (v->is_fixed) {
        *value = (struct tfd_str){
            v->page + PAGE_HEAD + t->fixed_size * v->next++, t->fixed_size};
        return TFD_OK;
    }
    TFD_TRY(read_entry(v, v->next++, &e, st));
    *value = e.key;
    return TFD_OK;
}

enum tfd_code tfd_lmdb_next(struct tfd_lmdb_file *l, struct tfd_str *key,
                            struct tfd_str *value, bool *end,
                            struct tfd_status *st)
{
    struct tfd_lmdb_level *v;
    struct entry e;

    l->steps = 0;
    for (;;) {
        TFD_TRY(next_dup(l, value, end, st));
        *key = l->key;
        if (!*end)
            return TFD_OK;
        TFD_TRY(settle(l, &l->keys, end, st));
        if (*end)
            return TFD_OK;
        v = &l->keys.level[l->keys.depth - 1];
        if (v->is_fixed)
            return wrong_page(st);
        TFD_TRY(read_entry(v, v->next++, &e, st));
        if (!(e.flags & DUPS_VALUE))
            break;
        TFD_TRY(begin_dups(l, &e, st));
    }
    if (e.flags & LARGE_VALUE)
        TFD_TRY(read_large(l, &e, st));
    *key = e.key;
    *value = e.value;
    return TFD_OK;
}

/* ---- Opening ------------------------------------------------------------- */

static enum tfd_code check_meta(const char *meta, struct tfd_status *st)
{
    if (!(short_at(meta, FLAGS_AT) & META_PAGE) ||
        little_at(meta, META_MAGIC_AT, 4) != MAGIC)
        return no_database(st);
    if (little_at(meta, META_VERSION_AT, 4) != VERSION)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "MDB_VERSION_MISMATCH: Database environment version "
                        "mismatch");
    return TFD_OK;
}

static enum tfd_code read_meta(struct tfd_lmdb_file *l, uint64_t offset,
                               char meta[META_SIZE], struct tfd_status *st)
{
    if (l->file.size < META_SIZE || l->file.size - META_SIZE < offset)
        return no_database(st);
    TFD_TRY(read_bytes(l, offset, meta, META_SIZE, st));
    return check_meta(meta, st);
}

/* The size of pages is where the tree of free pages needs nothing. */
static enum tfd_code read_metas(struct tfd_lmdb_file *l, struct tfd_status *st)
{
    char meta[2][META_SIZE];
    bool later;

    TFD_TRY(read_meta(l, 0, meta[0], st));
    l->page_size = (size_t)little_at(meta[0], META_FREE_AT, 4);
    if (l->page_size < PAGE_SIZE_MIN || l->page_size > PAGE_SIZE_MAX ||
        (l->page_size & (l->page_size - 1)) != 0)
        return no_database(st);
    TFD_TRY(read_meta(l, l->page_size, meta[1], st));
    l->page_count = l->file.size / l->page_size;
    later = little_at(meta[1], META_TRANSACTION_AT, 8) >
            little_at(meta[0], META_TRANSACTION_AT, 8);
    TFD_TRY(begin_tree(l, &l->keys, meta[later] + META_KEYS_AT, st));
    return TFD_OK;
}

static enum tfd_code open_within(struct tfd_lmdb_file *l, struct tfd_str dir,
                                 struct tfd_status *st)
{
    struct tfd_bytes name;
    enum tfd_code rc;

    tfd_bytes_init(&name, TFD_FILE_NAME_SIZE_MAX);
    tfd_bytes_add_str(&name, dir);
    tfd_bytes_add_str(&name, TFD_STR("/data.mdb"));
    rc = tfd_bytes_ok(&name, "a file's name", st);
    if (rc == TFD_OK)
        rc = l->access->open_read(l->access, tfd_bytes_view(&name), &l->file,
                                  st);
    tfd_bytes_deinit(&name);
    return rc;
}

static enum tfd_code open_file(struct tfd_lmdb_file *l, struct tfd_str name,
                               struct tfd_status *st)
{
    struct tfd_file_access *a = l->access;
    bool is_dir = false;

    if (a->look && a->look(a, name, &is_dir, NULL) == TFD_OK && is_dir)
        return open_within(l, name, st);
    return a->open_read(a, name, &l->file, st);
}

enum tfd_code tfd_lmdb_open(struct tfd_lmdb_file *l, struct tfd_file_access *a,
                            struct tfd_str name, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    *l = (struct tfd_lmdb_file){.access = a, .file = TFD_FILE_INIT};
    TFD_TRY(open_file(l, name, st));
    tfd_bytes_init(&l->value, TFD_DATA_RECORD_SIZE_MAX);
    l->is_open = true;
    if (read_metas(l, &why) == TFD_OK)
        return TFD_OK;
    tfd_lmdb_close(l);
    return tfd_fail(st, why.code, "%s: " TFD_STR_FMT, why.text,
                    TFD_STR_ARG(name));
}

static void free_tree(struct tfd_lmdb_tree *t)
{
    for (int i = 0; i < TFD_LMDB_DEPTH_MAX; i++)
        free(t->level[i].page);
}

void tfd_lmdb_close(struct tfd_lmdb_file *l)
{
    if (!l->is_open)
        return;
    l->access->close(l->access, &l->file);
    free_tree(&l->keys);
    free_tree(&l->dups);
    tfd_bytes_deinit(&l->value);
    *l = (struct tfd_lmdb_file){.file = TFD_FILE_INIT};
}
