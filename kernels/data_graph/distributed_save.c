/*
 * distributed_save.c - DistributedSave, which asks the dispatcher of a tf.data
 * service to save a dataset: its workers compute it from the graph.
 *
 *     request   tensorflow.data.SnapshotRequest of TensorFlow's
 *               data/service/dispatcher.proto:
 *               dataset = 1 (DatasetDef: graph = 1), path = 2,
 *               metadata = 3 (DistributedSnapshotMetadata of its
 *               protobuf/snapshot.proto: element_spec = 1, compression = 2)
 *     answer    empty, as soon as the dispatcher has written the plan down;
 *               the elements come later
 *
 * The kernel waits without a thread.  TensorFlow's blocks one, and cannot be
 * cancelled.
 */
#include "common/base/container.h"
#include "common/base/pbio.h"
#include "common/base/unicode.h"
#include "common/graph/attr.h"
#include "common/graph/graph_internal.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "kernels/data_graph/data_writing.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_US (INT64_C(3600) * 1000 * 1000) /* TensorFlow's */

/* Fields of the three messages. */
enum {
    REQUEST_DATASET = 1,
    REQUEST_PATH = 2,
    REQUEST_METADATA = 3,
    DATASET_GRAPH = 1,
    METADATA_SPEC = 1,
    METADATA_COMPRESSION = 2,
};

/* The kernel's state. */
struct saver {
    struct tfd_str metadata; /* the attribute's, in the graph */
};

/* One call. */
struct saving {
    struct tfd_ask ask;
    struct tfd_kctx *k;
    struct tfd_bytes request;
    char address[TFD_ADDRESS_SIZE_MAX];
};

static enum tfd_code save_prepare(const struct tfd_prepare *p, void *state,
                                  struct tfd_status *st)
{
    return tfd_node_str(p->node, "metadata", &((struct saver *)state)->metadata,
                        st);
}

/* ---- The request --------------------------------------------------------- */

static enum tfd_code write_nodes(void *arg, const struct tfd_data_nodes *g,
                                 const struct tfd_data_library *l,
                                 struct tfd_status *st)
{
    return tfd_data_write(g, l, arg, st);
}

static enum tfd_code put_dataset(const struct tfd_tensor *dataset,
                                 struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_status why = TFD_STATUS_INIT;
    size_t def = tfd_pb_begin(out, REQUEST_DATASET);
    size_t graph = tfd_pb_begin(out, DATASET_GRAPH);

    if (tfd_data_library_use(dataset, write_nodes, out, &why) != TFD_OK)
        return tfd_fail(st, TFD_FAILED_PRECONDITION,
                        "Serialization error while trying to save dataset with "
                        "tf.data service. The dataset may depend on a resource "
                        "located on a different device. To address this, call "
                        "`distributed_save` from the device with the resource. "
                        "Original error: %s: %s",
                        tfd_code_name(why.code), why.text);
    tfd_pb_finish(out, graph);
    tfd_pb_finish(out, def);
    return TFD_OK;
}

static enum tfd_code put_metadata(struct tfd_str metadata,
                                  struct tfd_bytes *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(metadata);
    struct tfd_str spec = TFD_STR_EMPTY, compression = TFD_STR_EMPTY;
    char text[TFD_PRINTABLE_MAX];
    struct tfd_pb_field f;
    size_t mark;

    while (tfd_pb_next(&r, &f))
        if (f.tag == METADATA_SPEC && f.wire == TFD_PB_BYTES)
            spec = tfd_pb_str(&r, &f);
        else if (f.tag == METADATA_COMPRESSION && f.wire == TFD_PB_BYTES)
            compression = tfd_pb_str(&r, &f);
    /* A field of type string is damaged where it is no UTF-8. */
    if (tfd_pb_end(&r, "DistributedSnapshotMetadata", NULL) != TFD_OK ||
        !tfd_unicode_is_utf8(compression))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Failed to parse DistributedSnapshotMetadata from "
                        "string: %s",
                        tfd_graph_printable(metadata, text));
    if (tfd_str_is(compression, "AUTO"))
        compression = TFD_STR("SNAPPY");
    mark = tfd_pb_begin(out, REQUEST_METADATA);
    tfd_pb_put_str(out, METADATA_SPEC, spec);
    tfd_pb_put_str(out, METADATA_COMPRESSION, compression);
    tfd_pb_finish(out, mark);
    return TFD_OK;
}

/* A scalar that is not empty. */
static enum tfd_code read_word(const struct tfd_kctx *k, int in,
                               const char *name, struct tfd_str *out,
                               struct tfd_status *st)
{
    if (k->in[in].shape.rank != 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be a scalar", name);
    TFD_TRY(tfd_check_str(k, in, out, st));
    if (out->size)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be nonempty", name);
}

static enum tfd_code check_finite(const struct tfd_dataset *d,
                                  struct tfd_status *st)
{
    if (tfd_dataset_cardinality(d) != TFD_CARDINALITY_INFINITE)
        return TFD_OK;
    return tfd_fail(
        st, TFD_INVALID_ARGUMENT,
        "Saving an infinite dataset is not allowed: " TFD_STR_FMT "Op::Dataset",
        TFD_STR_ARG(d->recipe ? d->recipe->op : tfd_str_of(d->kind->name)));
}

static enum tfd_code keep_address(struct saving *s, struct tfd_str address,
                                  struct tfd_status *st)
{
    if (address.size >= sizeof(s->address) ||
        memchr(address.data, '\0', address.size))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "address of %zu bytes, at most %zu and none of them 0",
                        address.size, sizeof(s->address) - 1);
    memcpy(s->address, address.data, address.size);
    s->address[address.size] = '\0';
    return TFD_OK;
}

static enum tfd_code fill_request(struct saving *s, struct tfd_status *st)
{
    const struct tfd_kctx *k = s->k;
    struct tfd_str directory, address;
    struct tfd_dataset *d;

    TFD_TRY(tfd_dataset_of(&k->in[0], &d, st));
    TFD_TRY(check_finite(d, st));
    TFD_TRY(read_word(k, 1, "directory", &directory, st));
    TFD_TRY(read_word(k, 2, "address", &address, st));
    TFD_TRY(keep_address(s, address, st));
    TFD_TRY(put_dataset(&k->in[0], &s->request, st));
    tfd_pb_put_str(&s->request, REQUEST_PATH, directory);
    TFD_TRY(put_metadata(((const struct saver *)k->state)->metadata,
                         &s->request, st));
    return tfd_bytes_ok(&s->request, "a request of DistributedSave", st);
}

/* ---- The call ------------------------------------------------------------ */

static void finish(struct saving *s, const struct tfd_status *st)
{
    struct tfd_kctx *k = s->k;

    tfd_bytes_deinit(&s->request);
    free(s);
    tfd_kctx_finish(k, st);
}

static void saved(struct tfd_ask *a, const struct tfd_status *st)
{
    struct saving *s = TFD_CONTAINER_OF(a, struct saving, ask);
    struct tfd_status why = TFD_STATUS_INIT;

    if (st->code != TFD_OK)
        (void)tfd_fail(&why, st->code, "Failed to snapshot: %s", st->text);
    finish(s, &why);
}

static enum tfd_code ask_dispatcher(struct saving *s, struct tfd_status *st)
{
    TFD_TRY(fill_request(s, st));
    s->ask = (struct tfd_ask){
        .done = saved,
        .method = TFD_ASK_SNAPSHOT,
        .address = s->address,
        .request = tfd_bytes_view(&s->request),
        .timeout_us = TIMEOUT_US,
    };
    return tfd_kctx_ask(s->k, &s->ask, st);
}

static void save_start(struct tfd_kctx *k)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct saving *s = calloc(1, sizeof(*s));

    if (!s) {
        (void)tfd_fail(&st, TFD_RESOURCE_EXHAUSTED, "no memory for a call");
        tfd_kctx_finish(k, &st);
        return;
    }
    s->k = k;
    tfd_bytes_init(&s->request, (size_t)TFD_GRAPH_SIZE_MAX);
    if (ask_dispatcher(s, &st) != TFD_OK)
        finish(s, &st);
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "DistributedSave",
        .inputs = "dataset: variant, directory: string, address: string",
        .attrs = "metadata: string = ''",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("DistributedSave", NULL, .start = save_start,
                   .prepare = save_prepare, .state_size = sizeof(struct saver),
                   .flags = TFD_KERNEL_WAITS),
};

const struct tfd_family tfd_family_distributed_save = {
    .name = "distributed_save",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
