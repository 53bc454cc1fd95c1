/*
 * graph_text.c - the messages of graphs as tables for text_format.c.
 */
#include "common/proto/graph_text.h"

#include "common/base/tensor.h"
#include "common/proto/graph.pb.h"
#include "common/proto/meta_graph.pb.h"
#include "common/proto/text_format.h"

#include <string.h>

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

/* ---- Types --------------------------------------------------------------- */

bool tfd_graph_text_type(const char *name, int *number)
{
    static const char *const others[] = {
        "DT_FLOAT8_E5M2",     "DT_FLOAT8_E4M3FN",
        "DT_FLOAT8_E4M3FNUZ", "DT_FLOAT8_E4M3B11FNUZ",
        "DT_FLOAT8_E5M2FNUZ", "DT_INT4",
        "DT_UINT4",           "DT_INT2",
        "DT_UINT2",           "DT_FLOAT4_E2M1FN",
    };
    size_t size = strlen(name);
    bool is_ref = size > 4 && !strcmp(name + size - 4, "_REF");

    if (is_ref)
        size -= 4;
    for (*number = 0; *number < TFD_DTYPE_END + COUNT(others); ++*number) {
        const char *known = *number < TFD_DTYPE_END
                                ? tfd_dtype_enum_name(*number)
                                : others[*number - TFD_DTYPE_END];

        if (strlen(known) == size && !memcmp(known, name, size)) {
            *number += is_ref ? TFD_REF : 0;
            return true;
        }
    }
    return false;
}

/* ---- Tables -------------------------------------------------------------- */

#define ROW(message, name_, kind_)            \
    .name = #name_, .kind = TFD_TEXT_##kind_, \
    .tag = tensorflow_##message##_##name_##_tag
#define FIELD(message, name_, kind_) \
    {                                \
        ROW(message, name_, kind_)   \
    }
#define TYPE(message, name_)                                     \
    {                                                            \
        ROW(message, name_, ENUM), .number = tfd_graph_text_type \
    }
#define SUB(message, name_, of_)                   \
    {                                              \
        ROW(message, name_, MESSAGE), .of = &(of_) \
    }
#define IGNORED(name_)                           \
    {                                            \
        .name = #name_, .kind = TFD_TEXT_IGNORED \
    }
#define MESSAGE(id, name_)                      \
    static const struct tfd_text_message id = { \
        .name = name_, .fields = id##_fields, .count = COUNT(id##_fields)}
#define KEY                                              \
    {                                                    \
        .name = "key", .tag = 1, .kind = TFD_TEXT_STRING \
    }

static const struct tfd_text_message attr_value, tensor_proto;

/* ---- Shapes and tensors -------------------------------------------------- */

static const struct tfd_text_field dim_fields[] = {
    FIELD(TensorShapeProto_Dim, size, INT64),
    FIELD(TensorShapeProto_Dim, name, STRING),
};
MESSAGE(dim, "TensorShapeProto.Dim");

static const struct tfd_text_field shape_fields[] = {
    SUB(TensorShapeProto, dim, dim),
    FIELD(TensorShapeProto, unknown_rank, BOOL),
};
MESSAGE(shape, "TensorShapeProto");

static const struct tfd_text_field handle_part_fields[] = {
    TYPE(ResourceHandleProto_DtypeAndShape, dtype),
    SUB(ResourceHandleProto_DtypeAndShape, shape, shape),
};
MESSAGE(handle_part, "ResourceHandleProto.DtypeAndShape");

static const struct tfd_text_field handle_fields[] = {
    FIELD(ResourceHandleProto, device, STRING),
    FIELD(ResourceHandleProto, container, STRING),
    FIELD(ResourceHandleProto, name, STRING),
    FIELD(ResourceHandleProto, hash_code, UINT64),
    FIELD(ResourceHandleProto, maybe_type_name, STRING),
    SUB(ResourceHandleProto, dtypes_and_shapes, handle_part),
};
MESSAGE(handle, "ResourceHandleProto");

static const struct tfd_text_field variant_fields[] = {
    FIELD(VariantTensorDataProto, type_name, STRING),
    FIELD(VariantTensorDataProto, metadata, STRING),
    SUB(VariantTensorDataProto, tensors, tensor_proto),
};
MESSAGE(variant, "VariantTensorDataProto");

static const struct tfd_text_field tensor_proto_fields[] = {
    TYPE(TensorProto, dtype),
    SUB(TensorProto, tensor_shape, shape),
    FIELD(TensorProto, version_number, INT32),
    FIELD(TensorProto, tensor_content, STRING),
    FIELD(TensorProto, float_val, FLOAT),
    FIELD(TensorProto, double_val, DOUBLE),
    FIELD(TensorProto, int_val, INT32),
    FIELD(TensorProto, string_val, STRING),
    FIELD(TensorProto, scomplex_val, FLOAT),
    FIELD(TensorProto, int64_val, INT64),
    FIELD(TensorProto, bool_val, BOOL),
    FIELD(TensorProto, dcomplex_val, DOUBLE),
    FIELD(TensorProto, half_val, INT32),
    SUB(TensorProto, resource_handle_val, handle),
    SUB(TensorProto, variant_val, variant),
    FIELD(TensorProto, uint32_val, UINT32),
    FIELD(TensorProto, uint64_val, UINT64),
    FIELD(TensorProto, float8_val, STRING),
};
MESSAGE(tensor_proto, "TensorProto");

/* ---- Attributes ---------------------------------------------------------- */

static const struct tfd_text_field attr_entry_fields[] = {
    KEY,
    {.name = "value", .tag = 2, .kind = TFD_TEXT_MESSAGE, .of = &attr_value},
};
MESSAGE(attr_entry, "an entry of attr");

static const struct tfd_text_field name_attr_list_fields[] = {
    FIELD(NameAttrList, name, STRING),
    SUB(NameAttrList, attr, attr_entry),
};
MESSAGE(name_attr_list, "NameAttrList");

static const struct tfd_text_field list_value_fields[] = {
    FIELD(AttrValue_ListValue, s, STRING),
    FIELD(AttrValue_ListValue, i, INT64),
    FIELD(AttrValue_ListValue, f, FLOAT),
    FIELD(AttrValue_ListValue, b, BOOL),
    TYPE(AttrValue_ListValue, type),
    SUB(AttrValue_ListValue, shape, shape),
    SUB(AttrValue_ListValue, tensor, tensor_proto),
    SUB(AttrValue_ListValue, func, name_attr_list),
};
MESSAGE(list_value, "AttrValue.ListValue");

static const struct tfd_text_field attr_value_fields[] = {
    SUB(AttrValue, list, list_value),
    FIELD(AttrValue, s, STRING),
    FIELD(AttrValue, i, INT64),
    FIELD(AttrValue, f, FLOAT),
    FIELD(AttrValue, b, BOOL),
    TYPE(AttrValue, type),
    SUB(AttrValue, shape, shape),
    SUB(AttrValue, tensor, tensor_proto),
    FIELD(AttrValue, placeholder, STRING),
    SUB(AttrValue, func, name_attr_list),
};
MESSAGE(attr_value, "AttrValue");

/* ---- Functions ----------------------------------------------------------- */

static const struct tfd_text_field arg_def_fields[] = {
    FIELD(OpDef_ArgDef, name, STRING),
    FIELD(OpDef_ArgDef, description, STRING),
    TYPE(OpDef_ArgDef, type),
    FIELD(OpDef_ArgDef, type_attr, STRING),
    FIELD(OpDef_ArgDef, number_attr, STRING),
    FIELD(OpDef_ArgDef, type_list_attr, STRING),
    SUB(OpDef_ArgDef, handle_data, handle_part),
    FIELD(OpDef_ArgDef, is_ref, BOOL),
    IGNORED(experimental_full_type),
};
MESSAGE(arg_def, "OpDef.ArgDef");

static const struct tfd_text_field attr_def_fields[] = {
    FIELD(OpDef_AttrDef, name, STRING),
    FIELD(OpDef_AttrDef, type, STRING),
    SUB(OpDef_AttrDef, default_value, attr_value),
    FIELD(OpDef_AttrDef, description, STRING),
    FIELD(OpDef_AttrDef, has_minimum, BOOL),
    FIELD(OpDef_AttrDef, minimum, INT64),
    SUB(OpDef_AttrDef, allowed_values, attr_value),
};
MESSAGE(attr_def, "OpDef.AttrDef");

static const struct tfd_text_field op_def_fields[] = {
    FIELD(OpDef, name, STRING),
    SUB(OpDef, input_arg, arg_def),
    SUB(OpDef, output_arg, arg_def),
    SUB(OpDef, attr, attr_def),
    FIELD(OpDef, summary, STRING),
    FIELD(OpDef, description, STRING),
    IGNORED(deprecation),
    FIELD(OpDef, is_aggregate, BOOL),
    FIELD(OpDef, is_stateful, BOOL),
    FIELD(OpDef, is_commutative, BOOL),
    FIELD(OpDef, allows_uninitialized_input, BOOL),
    FIELD(OpDef, control_output, STRING),
    FIELD(OpDef, is_distributed_communication, BOOL),
};
MESSAGE(op_def, "OpDef");

static const struct tfd_text_field node_def_fields[] = {
    FIELD(NodeDef, name, STRING),   FIELD(NodeDef, op, STRING),
    FIELD(NodeDef, input, STRING),  FIELD(NodeDef, device, STRING),
    SUB(NodeDef, attr, attr_entry), IGNORED(experimental_debug_info),
    IGNORED(experimental_type),
};
MESSAGE(node_def, "NodeDef");

static const struct tfd_text_field name_entry_fields[] = {
    KEY,
    {.name = "value", .tag = 2, .kind = TFD_TEXT_STRING},
};
MESSAGE(name_entry, "an entry of ret");

static const struct tfd_text_field function_fields[] = {
    SUB(FunctionDef, signature, op_def),
    SUB(FunctionDef, node_def, node_def),
    SUB(FunctionDef, ret, name_entry),
    SUB(FunctionDef, attr, attr_entry),
    SUB(FunctionDef, control_ret, name_entry),
    IGNORED(arg_attr),
    IGNORED(resource_arg_unique_id),
};
MESSAGE(function, "FunctionDef");

static const struct tfd_text_field gradient_fields[] = {
    FIELD(GradientDef, function_name, STRING),
    FIELD(GradientDef, gradient_func, STRING),
};
MESSAGE(gradient, "GradientDef");

static const struct tfd_text_field library_fields[] = {
    SUB(FunctionDefLibrary, function, function),
    SUB(FunctionDefLibrary, gradient, gradient),
    IGNORED(registered_gradients),
};
MESSAGE(library, "FunctionDefLibrary");

/* ---- Graphs -------------------------------------------------------------- */

static const struct tfd_text_field versions_fields[] = {
    FIELD(VersionDef, producer, INT32),
    FIELD(VersionDef, min_consumer, INT32),
    FIELD(VersionDef, bad_consumers, INT32),
};
MESSAGE(versions, "VersionDef");

static const struct tfd_text_field graph_fields[] = {
    SUB(GraphDef, node, node_def),
    SUB(GraphDef, library, library),
    FIELD(GraphDef, version, INT32),
    SUB(GraphDef, versions, versions),
    IGNORED(debug_info),
};
MESSAGE(graph, "GraphDef");

static const struct tfd_text_field meta_graph_fields[] = {
    IGNORED(meta_info_def),    SUB(MetaGraphDef, graph_def, graph),
    IGNORED(saver_def),        IGNORED(collection_def),
    IGNORED(signature_def),    IGNORED(asset_file_def),
    IGNORED(object_graph_def),
};
MESSAGE(meta_graph, "MetaGraphDef");

static const struct tfd_text_field saved_model_fields[] = {
    FIELD(SavedModel, saved_model_schema_version, INT64),
    SUB(SavedModel, meta_graphs, meta_graph),
};
MESSAGE(saved_model, "SavedModel");

/* In the order of enum tfd_graph_form. */
static const struct tfd_text_message *const roots[] = {&graph, &meta_graph,
                                                       &saved_model};

enum tfd_code tfd_graph_text_read(struct tfd_str text,
                                  enum tfd_graph_form *form,
                                  struct tfd_bytes *out, struct tfd_status *st)
{
    int root = 0;

    TFD_TRY(tfd_text_format_read(text, roots, COUNT(roots), &root, out, st));
    *form = (enum tfd_graph_form)root;
    return TFD_OK;
}
