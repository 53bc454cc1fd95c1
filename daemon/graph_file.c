/*
 * graph_file.c - see graph_file.h.
 *
 * The messages share tags, so what tells them apart is what is in the fields: a
 * NodeDef has an op, a FunctionDef never had a field of that number.
 *
 *     tag        1                2                    3          4
 *     GraphDef   NodeDef ...      FunctionDefLibrary   a number   VersionDef
 *     MetaGraph  MetaInfoDef      GraphDef             SaverDef   a map
 *     SavedModel a number         MetaGraphDef ...
 */
#define _GNU_SOURCE 1 /* O_CLOEXEC */

#include "daemon/graph_file.h"

#include "common/base/pbio.h"
#include "common/graph/graph.h"
#include "common/proto/graph.pb.h"
#include "common/proto/graph_text.h"
#include "common/proto/meta_graph.pb.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAG(name) tensorflow_##name##_tag

static const char *const forms[] = {"a GraphDef", "a MetaGraphDef",
                                    "a SavedModel"};
static const char *const text_forms[] = {"the text of a GraphDef",
                                         "the text of a MetaGraphDef",
                                         "the text of a SavedModel"};

/* ---- Which message it is ------------------------------------------------- */

typedef bool field_fn(const struct tfd_pb_field *f);

/* Whole, and each field is one that it may have. */
static bool is_message(struct tfd_str message, field_fn *may_have)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (!may_have(&f))
            return false;
    return tfd_pb_end(&r, "", NULL) == TFD_OK;
}

static bool has_bytes(const struct tfd_pb_field *f, uint32_t last_tag)
{
    return f->wire == TFD_PB_BYTES && f->tag <= last_tag;
}

static bool is_node_field(const struct tfd_pb_field *f)
{
    return has_bytes(f, TAG(NodeDef_experimental_type));
}

static bool is_node(struct tfd_str message)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_str op = TFD_STR_EMPTY;
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == TAG(NodeDef_op))
            op = tfd_pb_str(&r, &f);
    return tfd_graph_name_ok(op) && is_message(message, is_node_field);
}

static bool is_function_field(const struct tfd_pb_field *f)
{
    return has_bytes(f, TAG(FunctionDef_resource_arg_unique_id)) && f->tag != 2;
}

static bool is_library_field(const struct tfd_pb_field *f)
{
    return f->tag == TAG(FunctionDefLibrary_function)
               ? f->wire == TFD_PB_BYTES &&
                     is_message(f->bytes, is_function_field)
               : has_bytes(f, TAG(FunctionDefLibrary_registered_gradients));
}

static bool is_graph_field(const struct tfd_pb_field *f)
{
    switch (f->tag) {
    case TAG(GraphDef_node):
        return f->wire == TFD_PB_BYTES && is_node(f->bytes);
    case TAG(GraphDef_library):
        return f->wire == TFD_PB_BYTES &&
               is_message(f->bytes, is_library_field);
    case TAG(GraphDef_version):
        return f->wire == TFD_PB_VARINT;
    default:
        return has_bytes(f, TAG(GraphDef_debug_info));
    }
}

static bool is_meta_field(const struct tfd_pb_field *f)
{
    return has_bytes(f, TAG(MetaGraphDef_object_graph_def)) &&
           (f->tag != TAG(MetaGraphDef_graph_def) ||
            is_message(f->bytes, is_graph_field));
}

static bool is_saved_field(const struct tfd_pb_field *f)
{
    if (f->tag == TAG(SavedModel_saved_model_schema_version))
        return f->wire == TFD_PB_VARINT;
    return has_bytes(f, TAG(SavedModel_meta_graphs)) &&
           is_message(f->bytes, is_meta_field);
}

/* Else a GraphDef with a damaged name would be one that has nothing in it. */
static bool is_meta_of_graph(struct tfd_str message)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    bool found = false;

    while (tfd_pb_next(&r, &f))
        found = found || f.tag == TAG(MetaGraphDef_graph_def);
    return found;
}

/* One that has no field is none. */
static bool find_form(struct tfd_str message, enum tfd_graph_form *form)
{
    static field_fn *const fields[] = {is_graph_field, is_meta_field,
                                       is_saved_field};

    for (int i = 0; i < 3 && message.size > 0; i++)
        if (is_message(message, fields[i]) &&
            (fields[i] != is_meta_field || is_meta_of_graph(message))) {
            *form = (enum tfd_graph_form)i;
            return true;
        }
    return false;
}

/* ---- Its graphs ---------------------------------------------------------- */

static enum tfd_code add_meta_graph(struct tfd_graph_file *f,
                                    struct tfd_str meta, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(meta);
    struct tfd_pb_field field;

    if (f->count == TFD_META_GRAPHS_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "a SavedModel of more than %d graphs",
                        TFD_META_GRAPHS_MAX);
    f->graphs[f->count] = TFD_STR_EMPTY;
    while (tfd_pb_next(&r, &field))
        if (field.tag == TAG(MetaGraphDef_graph_def))
            f->graphs[f->count] = tfd_pb_str(&r, &field);
    f->count++;
    return tfd_pb_end(&r, "MetaGraphDef", st);
}

static enum tfd_code add_graphs(struct tfd_graph_file *f,
                                enum tfd_graph_form form, struct tfd_status *st)
{
    struct tfd_str message = tfd_bytes_view(&f->bytes);
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field field;

    if (form == TFD_GRAPH_FORM_META)
        return add_meta_graph(f, message, st);
    if (form == TFD_GRAPH_FORM_GRAPH) {
        f->graphs[f->count++] = message;
        return TFD_OK;
    }
    while (tfd_pb_next(&r, &field))
        if (field.tag == TAG(SavedModel_meta_graphs))
            TFD_TRY(add_meta_graph(f, tfd_pb_str(&r, &field), st));
    return tfd_pb_end(&r, "SavedModel", st);
}

/* ---- Text ---------------------------------------------------------------- */

static bool is_text(struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++)
        if ((unsigned char)s.data[i] < ' ' && !strchr("\t\n\v\f\r", s.data[i]))
            return false;
    return !memchr(s.data, 0, s.size);
}

static enum tfd_code read_text_form(struct tfd_graph_file *f,
                                    enum tfd_graph_form *form,
                                    struct tfd_status *st)
{
    struct tfd_bytes message;
    enum tfd_code rc;

    tfd_bytes_init(&message, (size_t)TFD_GRAPH_FILE_SIZE_MAX);
    rc = tfd_graph_text_read(tfd_bytes_view(&f->bytes), form, &message, st);
    if (rc != TFD_OK) {
        tfd_bytes_deinit(&message);
        tfd_status_context(st, "no binary graph, and as text");
        return rc;
    }
    tfd_bytes_deinit(&f->bytes);
    f->bytes = message;
    return TFD_OK;
}

static enum tfd_code parse(struct tfd_graph_file *f, struct tfd_status *st)
{
    enum tfd_graph_form form = TFD_GRAPH_FORM_GRAPH;

    if (f->bytes.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "it is empty");
    if (find_form(tfd_bytes_view(&f->bytes), &form)) {
        f->form = forms[form];
        return add_graphs(f, form, st);
    }
    if (!is_text(tfd_bytes_view(&f->bytes)))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "not a whole GraphDef, MetaGraphDef or SavedModel, "
                        "and no text of one");
    TFD_TRY(read_text_form(f, &form, st));
    f->form = text_forms[form];
    return add_graphs(f, form, st);
}

static void init_graph_file(struct tfd_graph_file *f)
{
    *f = (struct tfd_graph_file){.form = ""};
    tfd_bytes_init(&f->bytes, (size_t)TFD_GRAPH_FILE_SIZE_MAX);
}

enum tfd_code tfd_graph_file_parse(struct tfd_graph_file *f,
                                   struct tfd_str bytes, struct tfd_status *st)
{
    init_graph_file(f);
    tfd_bytes_add_str(&f->bytes, bytes);
    TFD_TRY(tfd_bytes_ok(&f->bytes, "a graph", st));
    return parse(f, st);
}

/* ---- The file ------------------------------------------------------------ */

static enum tfd_code fail_file(struct tfd_status *st, int number)
{
    return tfd_fail(st,
                    number == ENOENT   ? TFD_NOT_FOUND
                    : number == EACCES ? TFD_PERMISSION_DENIED
                                       : TFD_UNKNOWN,
                    "%s", strerror(number));
}

static enum tfd_code check_kind(int fd, struct tfd_status *st)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return fail_file(st, errno);
    if (S_ISDIR(s.st_mode))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "a directory; of a SavedModel give saved_model.pb");
    if (!S_ISREG(s.st_mode))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "no regular file");
    if (s.st_size > TFD_GRAPH_FILE_SIZE_MAX)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "%lld bytes; the limit is %lld", (long long)s.st_size,
                        (long long)TFD_GRAPH_FILE_SIZE_MAX);
    return TFD_OK;
}

/* It may grow or shrink meanwhile. */
static enum tfd_code read_contents(int fd, struct tfd_bytes *out,
                                   struct tfd_status *st)
{
    char part[64 * 1024];
    ssize_t n;

    TFD_TRY(check_kind(fd, st));
    while ((n = read(fd, part, sizeof(part))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_file(st, errno);
        tfd_bytes_add(out, part, (size_t)n);
        TFD_TRY(tfd_bytes_ok(out, "the file", st));
    }
    return TFD_OK;
}

enum tfd_code tfd_graph_file_read(struct tfd_graph_file *f, const char *path,
                                  struct tfd_status *st)
{
    /* A pipe that nobody writes does not hold us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum tfd_code rc;

    init_graph_file(f);
    rc = fd < 0 ? fail_file(st, errno) : read_contents(fd, &f->bytes, st);
    if (fd >= 0)
        close(fd);
    if (rc == TFD_OK)
        rc = parse(f, st);
    if (rc != TFD_OK)
        tfd_status_context(st, "%s", path);
    return rc;
}

void tfd_graph_file_deinit(struct tfd_graph_file *f)
{
    tfd_bytes_deinit(&f->bytes);
}
