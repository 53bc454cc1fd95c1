/*
 * dataset_lmdb.c - the keys and values of LMDB databases, one after the other.
 *
 * TensorFlow 2.21 has the op and no LMDB any more, and says so.  Here it is
 * what it was, for programs that were written for it.
 */
#include "kernels/data/data_table.h"
#include "kernels/io/lmdb_file.h"

struct lmdb {
    struct tfd_dataset dataset;
    struct tfd_tensor names;
};

struct lmdb_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_lmdb_file file;
    int64_t next; /* name */
};

static void lmdb_release(struct tfd_dataset *d)
{
    tfd_tensor_unref(&((struct lmdb *)d)->names);
}

static void lmdb_end(struct tfd_data_iterator *it)
{
    tfd_lmdb_close(&((struct lmdb_iterator *)it)->file);
}

/* ---- Elements ------------------------------------------------------------ */

static struct tfd_str name_at(const struct lmdb_iterator *i, int64_t number)
{
    const struct lmdb *d = (const struct lmdb *)i->iterator.dataset;
    const struct tfd_tstring *names = tfd_tensor_data(&d->names);

    return tfd_tstring_view(&names[number]);
}

static enum tfd_code next_pair(struct lmdb_iterator *i, struct tfd_str *key,
                               struct tfd_str *value, bool *end,
                               struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;

    if (tfd_lmdb_next(&i->file, key, value, end, &why) == TFD_OK)
        return TFD_OK;
    lmdb_end(&i->iterator);
    return tfd_fail(st, why.code, "%s: " TFD_STR_FMT, why.text,
                    TFD_STR_ARG(name_at(i, i->next - 1)));
}

static enum tfd_code put_pair(struct tfd_tensor *out, struct tfd_str key,
                              struct tfd_str value, struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct tfd_str text[] = {key, value};
    enum tfd_code rc = TFD_OK;

    for (int i = 0; rc == TFD_OK && i < 2; i++) {
        rc = tfd_tensor_new(&out[i], TFD_STRING, &scalar, st);
        if (rc == TFD_OK)
            rc = tfd_tstring_set(tfd_tensor_data(&out[i]), text[i], st);
    }
    if (rc != TFD_OK)
        tfd_data_element_drop(out, 2);
    return rc;
}

static enum tfd_code open_next(struct lmdb_iterator *i, struct tfd_status *st)
{
    i->next++;
    return tfd_lmdb_open(&i->file, i->iterator.dataset->task.files,
                         name_at(i, i->next - 1), st);
}

/* A file that cannot be read is left. */
static enum tfd_code lmdb_next(struct tfd_data_iterator *it,
                               struct tfd_tensor *out, bool *end,
                               struct tfd_status *st)
{
    struct lmdb_iterator *i = (struct lmdb_iterator *)it;
    const struct lmdb *d = (const struct lmdb *)it->dataset;
    struct tfd_str key, value;
    bool is_over = false;

    for (;; lmdb_end(it)) {
        *end = !i->file.is_open && i->next >= tfd_tensor_elements(&d->names);
        if (*end)
            return TFD_OK;
        if (!i->file.is_open)
            TFD_TRY(open_next(i, st));
        TFD_TRY(next_pair(i, &key, &value, &is_over, st));
        if (!is_over)
            return put_pair(out, key, value, st);
    }
}

static const struct tfd_dataset_kind lmdb_kind = {
    .name = "LMDB",
    .iterator_size = sizeof(struct lmdb_iterator),
    .next = lmdb_next,
    .end = lmdb_end,
    .release = lmdb_release,
};

/* ---- Making -------------------------------------------------------------- */

static enum tfd_code lmdb_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    const struct tfd_dataset_maker *m = state;

    TFD_TRY(tfd_dataset_prepare_plain(p, state, st));
    if (m->count == 2 && m->types[0] == TFD_STRING && m->types[1] == TFD_STRING)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "elements of an LMDB database are two strings, not what "
                    "output_types says");
}

static enum tfd_code lmdb_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;

    if (k->in[0].shape.rank > 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "`filenames` must be a scalar or a vector.");
    TFD_TRY(tfd_dataset_make(k, &lmdb_kind, sizeof(struct lmdb), 0, &d, st));
    ((struct lmdb *)d)->names = tfd_tensor_ref(&k->in[0]);
    return tfd_dataset_output(k, d, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define LMDB(name_) \
    TFD_DATA_OP(name_, "filenames: string", "", "", TFD_OP_STATEFUL)
#define LMDB_KERNEL(name_)                                       \
    TFD_KERNEL_ANY(name_, lmdb_compute, .prepare = lmdb_prepare, \
                   .release = tfd_dataset_maker_release,         \
                   .state_size = sizeof(struct tfd_dataset_maker))

static const struct tfd_opdef ops[] = {
    LMDB("LMDBDataset"),
    LMDB("ExperimentalLMDBDataset"),
};

static const struct tfd_kernel kernels[] = {
    LMDB_KERNEL("LMDBDataset"),
    LMDB_KERNEL("ExperimentalLMDBDataset"),
};

TFD_DATA_FAMILY(dataset_lmdb);
