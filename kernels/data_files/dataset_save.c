/*
 * dataset_save.c - SaveDataset, which goes through a dataset and saves it
 * (snapshot_files.h), and SaveDatasetV2, a dataset that saves its input's
 * elements as it passes them on.
 */
#include "kernels/data/data_table.h"
#include "kernels/data/whole.h"
#include "kernels/data_files/snapshot_writer.h"

#include <stdlib.h>
#include <string.h>

/* The kernels' state. */
struct maker {
    struct tfd_dataset_maker maker; /* its function is shard_func */
    enum tfd_data_compression compression;
    bool has_shards; /* else all is one, and the function is not called */
};

static enum tfd_code save_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    struct maker *m = state;
    struct tfd_str text;

    TFD_TRY(tfd_dataset_prepare(p, &m->maker, "shard_func", st));
    TFD_TRY(tfd_node_str(p->node, "compression", &text, st));
    m->compression = tfd_snapshot_compression(text);
    return tfd_node_bool(p->node, "use_shard_func", &m->has_shards, st);
}

static enum tfd_code read_path(const struct tfd_kctx *k, struct tfd_str *out,
                               struct tfd_status *st)
{
    if (k->in[1].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "path must be a scalar");
    return tfd_check_str(k, 1, out, st);
}

/* ---- SaveDataset --------------------------------------------------------- */

static enum tfd_code save_elements(struct tfd_whole *w,
                                   struct tfd_snapshot_writer *to,
                                   struct tfd_status *st)
{
    const int32_t width = w->it->dataset->count;
    struct tfd_tensor *e = tfd_data_element_new(width, st);
    enum tfd_code rc = e ? TFD_OK : TFD_RESOURCE_EXHAUSTED;
    int64_t count = 0;
    bool end = false;

    while (rc == TFD_OK && !end) {
        rc = tfd_data_next(w->it, e, &end, st);
        if (rc != TFD_OK || end)
            break;
        count++;
        rc = tfd_snapshot_writer_put(to, e, st);
        tfd_data_element_drop(e, width);
    }
    free(e);
    return rc == TFD_OK ? tfd_snapshot_writer_finish(to, count, st) : rc;
}

/* The function with what it has captured, for as long as the step lasts. */
static enum tfd_code borrow_function(const struct tfd_whole *w,
                                     struct tfd_captured *f,
                                     struct tfd_status *st)
{
    const struct maker *m = w->k->state;
    struct tfd_rt_function *called = m->maker.function;
    const int32_t width = w->it->dataset->count;
    const int32_t given = w->k->in_count - 2;

    *f = (struct tfd_captured){
        .function = called,
        .values = w->k->in + 2,
        .count = given,
        .passed = tfd_rt_function_in_count(called) - width,
        .in_count = width,
        .out_count = tfd_rt_function_out_count(called),
    };
    if (f->passed >= 0 && f->passed <= given)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "shard_func has %d arguments, with %d of an element and "
                    "%d captured ones",
                    tfd_rt_function_in_count(called), width, given);
}

static enum tfd_code save_run(struct tfd_whole *w, struct tfd_status *st)
{
    const struct maker *m = w->k->state;
    struct tfd_snapshot_target to = {.compression = m->compression};
    struct tfd_snapshot_writer writer = {.shard_count = 0};
    struct tfd_captured shard;
    enum tfd_code rc;

    TFD_TRY(read_path(w->k, &to.dir, st));
    TFD_TRY(borrow_function(w, &shard, st));
    to.shard = m->has_shards ? &shard : NULL;
    rc = tfd_snapshot_writer_begin(&writer, &to, w->scope, w->it->dataset, st);
    if (rc == TFD_OK)
        rc = save_elements(w, &writer, st);
    tfd_snapshot_writer_deinit(&writer);
    return rc;
}

static void save_start(struct tfd_kctx *k)
{
    tfd_whole_start(k, "Save", save_run);
}

/* ---- SaveDatasetV2 ------------------------------------------------------- */

#define SHARD_OF_ALL 1 /* in TensorFlow, on more than one processor */

struct saving {
    struct tfd_dataset dataset;
    struct tfd_captured shard;
    char *path;
    enum tfd_data_compression compression;
    bool has_shards;
};

struct saving_iterator {
    struct tfd_data_iterator iterator;
    struct tfd_snapshot_writer writer;
    bool is_over;
};

static void saving_release(struct tfd_dataset *d)
{
    struct saving *s = (struct saving *)d;

    tfd_captured_deinit(&s->shard);
    free(s->path);
}

static int64_t saving_cardinality(const struct tfd_dataset *d)
{
    return tfd_dataset_cardinality(d->inputs[0]);
}

static enum tfd_code saving_begin(struct tfd_data_iterator *it,
                                  struct tfd_status *st)
{
    const struct saving *s = (const struct saving *)it->dataset;
    const struct tfd_snapshot_target to = {
        .dir = tfd_str_of(s->path),
        .compression = s->compression,
        .shard = s->has_shards ? &s->shard : NULL,
        .only = SHARD_OF_ALL,
    };

    return tfd_snapshot_writer_begin(&((struct saving_iterator *)it)->writer,
                                     &to, it->scope, it->dataset, st);
}

static enum tfd_code saving_next(struct tfd_data_iterator *it,
                                 struct tfd_tensor *out, bool *end,
                                 struct tfd_status *st)
{
    struct saving_iterator *i = (struct saving_iterator *)it;

    *end = i->is_over;
    if (*end)
        return TFD_OK;
    TFD_TRY(tfd_data_next(it->input, out, end, st));
    if (!*end)
        return tfd_snapshot_writer_put(&i->writer, out, st);
    i->is_over = true;
    return tfd_snapshot_writer_finish(&i->writer,
                                      tfd_dataset_cardinality(it->dataset), st);
}

static void saving_end(struct tfd_data_iterator *it)
{
    tfd_snapshot_writer_deinit(&((struct saving_iterator *)it)->writer);
}

static const struct tfd_dataset_kind saving_kind = {
    .name = "SaveV2",
    .iterator_size = sizeof(struct saving_iterator),
    .opens_input = true,
    .same_elements = true,
    .begin = saving_begin,
    .next = saving_next,
    .end = saving_end,
    .cardinality = saving_cardinality,
    .release = saving_release,
};

static enum tfd_code saving_fill(struct tfd_kctx *k, struct saving *s,
                                 struct tfd_status *st)
{
    const struct maker *m = k->state;
    struct tfd_str path;

    TFD_TRY(read_path(k, &path, st));
    s->compression = m->compression;
    s->has_shards = m->has_shards;
    s->path = calloc(1, path.size + 1);
    if (!s->path)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "no memory for a dataset");
    memcpy(s->path, path.data, path.size);
    return tfd_captured_init(&s->shard, k, m->maker.function, 2,
                             k->in_count - 2, s->dataset.count, &s->dataset,
                             st);
}

static enum tfd_code saving_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct tfd_dataset *d;
    enum tfd_code rc;

    TFD_TRY(
        tfd_dataset_make(k, &saving_kind, sizeof(struct saving), 1, &d, st));
    rc = saving_fill(k, (struct saving *)d, st);
    if (rc == TFD_OK)
        return tfd_dataset_output(k, d, st);
    tfd_dataset_unref(d);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

#define SAVE_INPUTS                          \
    "input_dataset: variant, path: string, " \
    "shard_func_other_args: Tshard_func_args"
#define SAVE_ATTRS                                 \
    "compression: string = ''; shard_func: func; " \
    "use_shard_func: bool = true; Tshard_func_args: list(type) >= 0"

static const struct tfd_opdef ops[] = {
    {
        .name = "SaveDataset",
        .inputs = SAVE_INPUTS,
        .attrs = SAVE_ATTRS,
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    TFD_DATA_OP("SaveDatasetV2", SAVE_INPUTS, SAVE_ATTRS "; ", "",
                TFD_OP_STATEFUL),
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY(
        "SaveDataset", NULL, .start = save_start, .prepare = save_prepare,
        .release = tfd_dataset_maker_release,
        .state_size = sizeof(struct maker), .flags = TFD_KERNEL_WAITS),
    TFD_KERNEL_ANY("SaveDatasetV2", saving_compute, .prepare = save_prepare,
                   .release = tfd_dataset_maker_release,
                   .state_size = sizeof(struct maker)),
};

TFD_DATA_FAMILY(dataset_save);
