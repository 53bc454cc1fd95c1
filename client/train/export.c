/*
 * export.c - TFD_ExportMetaGraph().
 */
#include "client/train/model.h"

#include "common/proto/graphdef.h"
#include "common/base/pbio.h"
#include "common/proto/meta_graph.pb.h"

/* What Python's Saver writes: keep five, none for longer, format V2. */
#define MAX_TO_KEEP 5
#define KEEP_EVERY_N_HOURS 10000.0f
#define SAVER_V2 2

static void put_info(struct tfd_bytes *b)
{
    size_t mark = tfd_pb_begin(b, tensorflow_MetaGraphDef_meta_info_def_tag);

    tfd_pb_put_str(b,
                   tensorflow_MetaGraphDef_MetaInfoDef_tensorflow_version_tag,
                   tfd_str_of(TF_Version()));
    tfd_pb_finish(b, mark);
}

static void put_graph(struct tfd_bytes *b, TF_Graph *g)
{
    size_t mark = tfd_pb_begin(b, tensorflow_MetaGraphDef_graph_def_tag);

    tfd_lock(&g->lock);
    tfd_graphdef_export(b, g->graph);
    tfd_unlock(&g->lock);
    tfd_pb_finish(b, mark);
}

static void put_saver(struct tfd_bytes *b, const struct tfd_saver *s)
{
    size_t mark = tfd_pb_begin(b, tensorflow_MetaGraphDef_saver_def_tag);

    tfd_pb_put_str(b, tensorflow_SaverDef_filename_tensor_name_tag,
                   s->filename_tensor);
    tfd_pb_put_str(b, tensorflow_SaverDef_save_tensor_name_tag, s->save_tensor);
    tfd_pb_put_str(b, tensorflow_SaverDef_restore_op_name_tag, s->restore_op);
    tfd_pb_put_int(b, tensorflow_SaverDef_max_to_keep_tag, MAX_TO_KEEP);
    tfd_pb_put_float(b, tensorflow_SaverDef_keep_checkpoint_every_n_hours_tag,
                     KEEP_EVERY_N_HOURS);
    tfd_pb_put_int(b, tensorflow_SaverDef_version_tag, SAVER_V2);
    tfd_pb_finish(b, mark);
}

static void put_collection(struct tfd_bytes *b, const struct tfd_collection *c)
{
    size_t entry = tfd_pb_begin(b, tensorflow_MetaGraphDef_collection_def_tag);
    size_t def, list;

    tfd_pb_put_str(b, tensorflow_MetaGraphDef_CollectionDefEntry_key_tag,
                   c->name);
    def = tfd_pb_begin(b, tensorflow_MetaGraphDef_CollectionDefEntry_value_tag);
    list = tfd_pb_begin(b, c->bytes ? tensorflow_CollectionDef_bytes_list_tag
                                    : tensorflow_CollectionDef_node_list_tag);
    for (const struct tfd_item *i = c->first; i; i = i->next)
        tfd_pb_put_str_always(b, tensorflow_CollectionDef_NodeList_value_tag,
                              i->value);
    tfd_pb_finish(b, list);
    tfd_pb_finish(b, def);
    tfd_pb_finish(b, entry);
}

_Static_assert((int)tensorflow_CollectionDef_NodeList_value_tag ==
                   (int)tensorflow_CollectionDef_BytesList_value_tag,
               "both lists have their values in the same field");

void TFD_ExportMetaGraph(TFD_Scope *scope, TF_Buffer *output, TF_Status *status)
{
    const struct tfd_model *m = scope->model;
    struct tfd_bytes b;

    if (!tfd_model_ok(status))
        return;
    tfd_bytes_init(&b, TFD_CAPI_MESSAGE_MAX);
    put_info(&b);
    put_graph(&b, m->graph);
    if (m->saver.exists)
        put_saver(&b, &m->saver);
    for (const struct tfd_collection *c = m->collections; c; c = c->next)
        put_collection(&b, c);
    (void)!tfd_capi_give(output, &b, &status->st);
}
