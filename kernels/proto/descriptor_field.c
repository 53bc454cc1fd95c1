/*
 * descriptor_field.c - one field as its description says, before its type is
 * looked up (descriptor.h).
 */
#include "kernels/proto/descriptor.h"

#include "common/base/pbio.h"

enum {
    FIELD_NAME = 1,
    FIELD_EXTENDEE = 2,
    FIELD_NUMBER = 3,
    FIELD_LABEL = 4,
    FIELD_TYPE = 5,
    FIELD_TYPE_NAME = 6,
    FIELD_DEFAULT = 7,
    FIELD_OPTIONS = 8,
    FIELD_ONEOF = 9,
    FIELD_PROTO3_OPTIONAL = 17,
    OPTIONS_PACKED = 2,
    OPTIONS_FEATURES = 21,
    LABEL_REQUIRED = 2,
    LABEL_REPEATED = 3,
    PRESENCE_REQUIRED = 3,
};

#define NUMBER_MAX ((1 << 29) - 1)

/* What decides how the field is written, as it comes. */
struct field_reader {
    struct tfd_proto_file *file;
    struct tfd_proto_field *out;
    struct tfd_proto_features features;
    struct tfd_str options, *of_name;
    int64_t label, type, packed; /* packed: -1, it is not said */
    bool has_extendee;
};

static void read_field_numbers(struct field_reader *x, struct tfd_pb_reader *r,
                               const struct tfd_pb_field *f)
{
    switch (f->tag) {
    case FIELD_NUMBER:
        x->out->number = tfd_pb_int32(r, f);
        break;
    case FIELD_LABEL:
        x->label = tfd_pb_int64(r, f);
        break;
    case FIELD_TYPE:
        x->type = tfd_pb_int64(r, f);
        break;
    case FIELD_ONEOF:
        x->out->oneof = tfd_pb_int32(r, f);
        if (x->out->oneof < 0)
            x->out->oneof = INT32_MAX; /* none that there is */
        break;
    case FIELD_PROTO3_OPTIONAL:
        x->out->is_alone = tfd_pb_bool(r, f);
        break;
    default:
        break;
    }
}

static void read_texts(struct field_reader *x, struct tfd_pb_reader *r,
                       const struct tfd_pb_field *f)
{
    switch (f->tag) {
    case FIELD_NAME:
        x->out->name = tfd_pb_str(r, f);
        break;
    case FIELD_EXTENDEE:
        x->has_extendee = true;
        if (x->of_name)
            *x->of_name = tfd_pb_str(r, f);
        break;
    case FIELD_TYPE_NAME:
        x->out->type_name = tfd_pb_str(r, f);
        break;
    case FIELD_DEFAULT:
        x->out->default_text = tfd_pb_str(r, f);
        x->out->has_default = true;
        break;
    case FIELD_OPTIONS:
        x->options = tfd_pb_str(r, f);
        break;
    default:
        read_field_numbers(x, r, f);
    }
}

/* A choice of LEGACY_REQUIRED, which features have no other place for. */
static bool is_required_choice(struct tfd_str options)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(options), set;
    struct tfd_pb_field f, choice;
    bool is = false;

    while (tfd_pb_next(&r, &f)) {
        if (f.tag != OPTIONS_FEATURES || f.wire != TFD_PB_BYTES)
            continue;
        set = tfd_pb_reader_of(f.bytes);
        while (tfd_pb_next(&set, &choice))
            if (choice.tag == 1)
                is = choice.number == PRESENCE_REQUIRED;
    }
    return is;
}

static bool read_field_options(struct field_reader *x)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(x->options);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == OPTIONS_PACKED)
            x->packed = tfd_pb_bool(&r, &f);
    if (is_required_choice(x->options))
        x->label = LABEL_REQUIRED;
    return !r.failed &&
           tfd_proto_read_features(x->options, OPTIONS_FEATURES, &x->features);
}

static const char *what_is_wrong(const struct field_reader *x)
{
    const struct tfd_proto_field *f = x->out;

    if (f->number < 1 || f->number > NUMBER_MAX)
        return "a field has no number from 1 to 536870911";
    if (x->type < 0 || x->type >= TFD_PROTO_TYPE_END || x->label < 0 ||
        x->label > LABEL_REPEATED)
        return "a field has no such type or label";
    if (x->has_extendee != (x->of_name != NULL))
        return "a field is no extension, or an extension is a field";
    if (x->file->is_proto3 && f->has_default)
        return "proto3 has no defaults";
    if (x->file->is_proto3 && x->label == LABEL_REQUIRED)
        return "proto3 has no required fields";
    if (x->file->is_proto3 && x->type == TFD_PROTO_GROUP)
        return "proto3 has no groups";
    if (f->has_default && x->label == LABEL_REPEATED)
        return "a repeated field has no default";
    return NULL;
}

static enum tfd_code choose_form(struct field_reader *x)
{
    struct tfd_proto_field *f = x->out;
    bool is_number;

    f->type = (enum tfd_proto_type)x->type;
    f->is_repeated = x->label == LABEL_REPEATED;
    f->is_required = x->label == LABEL_REQUIRED;
    if (f->type == TFD_PROTO_MESSAGE && x->features.is_delimited)
        f->type = TFD_PROTO_GROUP;
    is_number = tfd_proto_type_wire(f->type) != TFD_PB_BYTES &&
                f->type != TFD_PROTO_GROUP;
    if (x->packed == 1 && (!is_number || !f->is_repeated))
        return tfd_proto_file_fail(x->file, f->name,
                                   "only lists of numbers can be packed");
    f->is_packed = f->is_repeated && is_number &&
                   (x->packed >= 0 ? x->packed == 1 : x->features.is_packed);
    f->is_implicit = x->features.is_implicit && !f->is_repeated &&
                     !f->is_required && f->oneof < 0;
    f->is_utf8 = f->type == TFD_PROTO_STRING && x->features.is_utf8;
    if (f->is_alone)
        f->oneof = -1;
    return TFD_OK;
}

enum tfd_code tfd_proto_read_field(struct tfd_proto_file *f,
                                   const struct tfd_proto_features *features,
                                   struct tfd_str bytes,
                                   struct tfd_proto_field *out,
                                   struct tfd_str *of_name)
{
    struct field_reader x = {.file = f,
                             .out = out,
                             .features = *features,
                             .options = TFD_STR_EMPTY,
                             .of_name = of_name,
                             .packed = -1};
    struct tfd_pb_reader r = tfd_pb_reader_of(bytes);
    struct tfd_pb_field field;
    const char *wrong;

    out->name = out->type_name = out->absent_text = TFD_STR_EMPTY;
    out->oneof = -1;
    while (tfd_pb_next(&r, &field))
        read_texts(&x, &r, &field);
    if (r.failed || !read_field_options(&x))
        return tfd_proto_file_damaged(f);
    wrong = what_is_wrong(&x);
    if (wrong)
        return tfd_proto_file_fail(f, out->name, wrong);
    return choose_form(&x);
}
