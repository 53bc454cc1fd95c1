/*
 * metagraph.c - see metagraph.h.
 *
 * Whole messages are scanned once when they are read, so that damage is found
 * there; later walks over collections cannot meet any but inside VariableDefs.
 */
#include "client/train/metagraph.h"

#include "common/proto/meta_graph.pb.h"

static enum tfd_code read_saver(struct tfd_str bytes, struct tfd_saver_def *out,
                                struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case tensorflow_SaverDef_filename_tensor_name_tag:
            out->filename_tensor = tfd_pb_str(&r, &f);
            break;
        case tensorflow_SaverDef_save_tensor_name_tag:
            out->save_tensor = tfd_pb_str(&r, &f);
            break;
        case tensorflow_SaverDef_restore_op_name_tag:
            out->restore_op = tfd_pb_str(&r, &f);
            break;
        case tensorflow_SaverDef_max_to_keep_tag:
            out->max_to_keep = tfd_pb_int32(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_pb_end(&r, "SaverDef", st);
}

static enum tfd_code check_collection(struct tfd_str entry,
                                      struct tfd_status *st)
{
    struct tfd_pb_reader r, list;
    struct tfd_pb_field f, item;
    struct tfd_pb_entry e;

    if (!tfd_pb_map_entry(entry, &e))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Unable to parse CollectionDef");
    r = tfd_pb_reader_of(e.value);
    while (tfd_pb_next(&r, &f)) {
        if (f.tag != tensorflow_CollectionDef_node_list_tag &&
            f.tag != tensorflow_CollectionDef_bytes_list_tag)
            continue;
        list = tfd_pb_reader_of(tfd_pb_str(&r, &f));
        while (tfd_pb_next(&list, &item))
            (void)tfd_pb_str(&list, &item);
        TFD_TRY(tfd_pb_end(&list, "CollectionDef", st));
    }
    return tfd_pb_end(&r, "CollectionDef", st);
}

enum tfd_code tfd_meta_graph_read(struct tfd_str bytes,
                                  struct tfd_meta_graph *out,
                                  struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field f;

    *out = (struct tfd_meta_graph){
        .bytes = bytes,
        .saver = {TFD_STR_EMPTY, TFD_STR_EMPTY, TFD_STR_EMPTY, 0},
    };
    while (tfd_pb_next(&r, &f)) {
        if (f.tag == tensorflow_MetaGraphDef_graph_def_tag)
            out->graph_def = tfd_pb_str(&r, &f);
        else if (f.tag == tensorflow_MetaGraphDef_saver_def_tag)
            TFD_TRY(read_saver(tfd_pb_str(&r, &f), &out->saver, st));
        else if (f.tag == tensorflow_MetaGraphDef_collection_def_tag)
            TFD_TRY(check_collection(tfd_pb_str(&r, &f), st));
    }
    TFD_TRY(tfd_pb_end(&r, "MetaGraphDef", st));
    if (!out->graph_def.data)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "the MetaGraphDef holds no graph");
    return TFD_OK;
}

/* ---- Collections --------------------------------------------------------- */

/* The list inside a CollectionDef. */
static struct tfd_str list_of(struct tfd_str collection_def)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(collection_def);
    struct tfd_str list = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_CollectionDef_node_list_tag ||
            f.tag == tensorflow_CollectionDef_bytes_list_tag)
            list = tfd_pb_str(&r, &f);
    return list;
}

struct tfd_meta_list tfd_meta_graph_list(const struct tfd_meta_graph *m,
                                         const char *collection)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(m->bytes);
    struct tfd_str list = TFD_STR_EMPTY;
    struct tfd_pb_field f;
    struct tfd_pb_entry e;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_MetaGraphDef_collection_def_tag &&
            tfd_pb_map_entry(f.bytes, &e) && tfd_str_is(e.key, collection))
            list = list_of(e.value);
    return (struct tfd_meta_list){tfd_pb_reader_of(list)};
}

bool tfd_meta_list_next(struct tfd_meta_list *l, struct tfd_str *value)
{
    struct tfd_pb_field f;

    while (tfd_pb_next(&l->reader, &f)) {
        if (f.tag != tensorflow_CollectionDef_NodeList_value_tag)
            continue;
        *value = f.bytes;
        return true;
    }
    return false;
}

enum tfd_code tfd_variable_names_read(struct tfd_str variable_def,
                                      struct tfd_variable_names *out,
                                      struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(variable_def);
    struct tfd_pb_field f;

    *out = (struct tfd_variable_names){TFD_STR_EMPTY, TFD_STR_EMPTY,
                                       TFD_STR_EMPTY, false};
    while (tfd_pb_next(&r, &f)) {
        switch (f.tag) {
        case tensorflow_VariableDef_variable_name_tag:
            out->variable = tfd_pb_str(&r, &f);
            break;
        case tensorflow_VariableDef_initializer_name_tag:
            out->initializer = tfd_pb_str(&r, &f);
            break;
        case tensorflow_VariableDef_snapshot_name_tag:
            out->snapshot = tfd_pb_str(&r, &f);
            break;
        case tensorflow_VariableDef_is_resource_tag:
            out->is_resource = tfd_pb_bool(&r, &f);
            break;
        default:
            break;
        }
    }
    return tfd_pb_end(&r, "VariableDef", st);
}
