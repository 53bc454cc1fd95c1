/*
 * print.c - what a program tells whoever runs the server: Print, PrintV2; and
 * StringFormat, which makes such texts, and Timestamp.
 *
 * Clients are not trusted, so a text for stderr, for stdout or for TensorFlow's
 * log is written as lines of the server's own log, of the event "print", which
 * escapes what would forge a line or steer a terminal.  A file is another
 * matter: it gets the bytes as they are, within --file_root.
 */
#include "common/base/atomic.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"
#include "kernels/core/summarize.h"
#include "kernels/text/utf8.h"

#include <string.h>

static const struct tfd_shape scalar_shape = {0, {0}};

/* ---- Lines of the log ---------------------------------------------------- */

/* A piece of a line, whose characters the log may write with four each. */
#define PIECE_SIZE_MAX 900

/* How much of the text goes into one line of the log. */
static size_t piece_size(struct tfd_str text)
{
    size_t size = text.size < PIECE_SIZE_MAX ? text.size : PIECE_SIZE_MAX;
    const char *end = size ? memchr(text.data, '\n', size) : NULL;

    if (end)
        return (size_t)(end - text.data);
    if (size == text.size)
        return size;
    while (size > 1 && tfd_utf8_continues(text.data[size]))
        size--;
    return size;
}

static void tell(enum tfd_log_level level, const struct tfd_node *node,
                 struct tfd_str text)
{
    int lines = 0;

    do {
        size_t size = piece_size(text);
        bool ends = size < text.size && text.data[size] == '\n';

        if (lines++ == TFD_PRINTED_LINES_MAX) {
            tfd_log(level, "print",
                    "node=" TFD_STR_FMT " text=\"...\" left_out=%zu",
                    TFD_STR_ARG(node->name), text.size);
            return;
        }
        tfd_log(level, "print", "node=" TFD_STR_FMT " text=\"%.*s\"",
                TFD_STR_ARG(node->name), (int)size, text.data);
        text.data += size + ends;
        text.size -= size + ends;
    } while (text.size > 0);
}

/* ---- Print --------------------------------------------------------------- */

struct print {
    struct tfd_str message;
    int64_t first, summarize; /* first negative: always */
    int told;                 /* by all threads */
};

static enum tfd_code print_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct print *print = state;

    TFD_TRY(tfd_node_str(p->node, "message", &print->message, st));
    TFD_TRY(tfd_node_int(p->node, "first_n", &print->first, st));
    return tfd_node_int(p->node, "summarize", &print->summarize, st);
}

static bool may_print(struct print *print)
{
    if (print->first < 0)
        return true;
    if (TFD_LOAD_RELAXED(&print->told) >= print->first)
        return false;
    return TFD_COUNTER_ADD(&print->told, 1) <= print->first;
}

static enum tfd_code print_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct print *print = k->state;
    struct tfd_bytes text;
    enum tfd_code rc;

    tfd_kctx_output_alias(k, 0, 0, &k->in[0].shape);
    if (!may_print(print))
        return TFD_OK;
    tfd_bytes_init(&text, TFD_PRINTED_SIZE_MAX);
    tfd_bytes_add_str(&text, print->message);
    for (int i = 1; i < k->in_count; i++) {
        tfd_bytes_add(&text, "[", 1);
        tfd_summarize(&text, &k->in[i], print->summarize);
        tfd_bytes_add(&text, "]", 1);
    }
    rc = tfd_bytes_ok(&text, "printed text", st);
    if (rc == TFD_OK)
        tell(TFD_LOG_INFO, k->node, tfd_bytes_view(&text));
    tfd_bytes_deinit(&text);
    return rc;
}

static enum tfd_code print_gradient(struct tfd_grad *g, struct tfd_status *st)
{
    (void)st;
    g->dx[0] = g->dy[0];
    return TFD_OK;
}

/* ---- PrintV2 ------------------------------------------------------------- */

#define FILE_PREFIX "file://"

struct print_v2 {
    struct tfd_str end;
    struct tfd_str file; /* empty: the log */
    enum tfd_log_level level;
};

static enum tfd_code find_stream(struct print_v2 *p, struct tfd_str stream,
                                 struct tfd_status *st)
{
    static const struct {
        const char *name;
        enum tfd_log_level level;
    } streams[] = {
        {"stdout", TFD_LOG_INFO},      {"stderr", TFD_LOG_INFO},
        {"log(info)", TFD_LOG_INFO},   {"log(warning)", TFD_LOG_WARN},
        {"log(error)", TFD_LOG_ERROR},
    };

    for (int i = 0; i < TFD_COUNT(streams); i++)
        if (tfd_str_is(stream, streams[i].name)) {
            p->level = streams[i].level;
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unknown output stream: " TFD_STR_FMT
                    ", Valid streams are: stdout stderr log(info) "
                    "log(warning) log(error)",
                    TFD_STR_ARG(stream));
}

static enum tfd_code print_v2_prepare(const struct tfd_prepare *p, void *state,
                                      struct tfd_status *st)
{
    const size_t skipped = sizeof(FILE_PREFIX) - 1;
    struct print_v2 *print = state;
    struct tfd_str stream;

    TFD_TRY(tfd_node_str(p->node, "end", &print->end, st));
    TFD_TRY(tfd_node_str(p->node, "output_stream", &stream, st));
    if (!tfd_str_starts(stream, FILE_PREFIX))
        return find_stream(print, stream, st);
    print->file =
        (struct tfd_str){stream.data + skipped, stream.size - skipped};
    return print->file.size ? TFD_OK : find_stream(print, print->file, st);
}

static enum tfd_code append(struct tfd_kctx *k, struct tfd_str name,
                            struct tfd_str text, struct tfd_status *st)
{
    struct tfd_file_access *files;
    struct tfd_file f = TFD_FILE_INIT;
    enum tfd_code rc;

    TFD_TRY(tfd_file_check(k, &files, st));
    TFD_TRY(files->open_append(files, name, &f, st));
    rc = files->write(files, &f, text.data, text.size, st);
    files->close(files, &f);
    return rc;
}

static enum tfd_code print_v2_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct print_v2 *print = k->state;
    struct tfd_bytes text;
    struct tfd_str input;
    enum tfd_code rc;

    TFD_TRY(tfd_check_str(k, 0, &input, st));
    tfd_bytes_init(&text, TFD_PRINTED_SIZE_MAX);
    tfd_bytes_add_str(&text, input);
    tfd_bytes_add_str(&text, print->end);
    rc = tfd_bytes_ok(&text, "printed text", st);
    if (rc == TFD_OK && print->file.size)
        rc = append(k, print->file, tfd_bytes_view(&text), st);
    else if (rc == TFD_OK)
        tell(print->level, k->node, tfd_bytes_view(&text));
    tfd_bytes_deinit(&text);
    return rc;
}

/* ---- StringFormat -------------------------------------------------------- */

struct format {
    struct tfd_str template, placeholder;
    int64_t summarize;
};

/* Cuts the text before the next placeholder off *rest; false: there is none,
 * and all of it was cut.  An empty one stands between all characters. */
static bool cut_text(struct tfd_str placeholder, struct tfd_str *rest,
                     struct tfd_str *text)
{
    size_t at = placeholder.size ? 0 : 1;

    while (at + placeholder.size <= rest->size &&
           (placeholder.size
                ? memcmp(rest->data + at, placeholder.data, placeholder.size)
                : at == rest->size))
        at++;
    if (rest->size == 0 || at + placeholder.size > rest->size) {
        *text = *rest;
        return false;
    }
    *text = (struct tfd_str){rest->data, at};
    rest->data += at + placeholder.size;
    rest->size -= at + placeholder.size;
    return true;
}

static enum tfd_code format_prepare(const struct tfd_prepare *p, void *state,
                                    struct tfd_status *st)
{
    struct format *f = state;
    struct tfd_str rest, text;
    int count = 0;

    TFD_TRY(tfd_node_str(p->node, "template", &f->template, st));
    TFD_TRY(tfd_node_str(p->node, "placeholder", &f->placeholder, st));
    rest = f->template;
    while (cut_text(f->placeholder, &rest, &text))
        count++;
    if (count != p->node->in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "num placeholders in template and num inputs must "
                        "match: %d vs. %d",
                        count, p->node->in_count);
    return tfd_node_int(p->node, "summarize", &f->summarize, st);
}

static enum tfd_code format_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    const struct format *f = k->state;
    struct tfd_str rest = f->template, text;
    struct tfd_bytes out;
    enum tfd_code rc;
    int i = 0;

    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &scalar_shape, st));
    tfd_bytes_init(&out, TFD_PRINTED_SIZE_MAX);
    for (; cut_text(f->placeholder, &rest, &text); i++) {
        tfd_bytes_add_str(&out, text);
        tfd_summarize_v2(&out, &k->in[i], f->summarize);
    }
    tfd_bytes_add_str(&out, text);
    rc = tfd_bytes_ok(&out, "formatted text", st);
    if (rc == TFD_OK)
        rc = tfd_tstring_set(tfd_tensor_data(&k->out[0]), tfd_bytes_view(&out),
                             st);
    tfd_bytes_deinit(&out);
    return rc;
}

/* ---- Timestamp ----------------------------------------------------------- */

static enum tfd_code timestamp_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    TFD_TRY(tfd_kctx_output(k, 0, TFD_DOUBLE, &scalar_shape, st));
    *(double *)tfd_tensor_data(&k->out[0]) = (double)tfd_clock_wall_us() / 1e6;
    return TFD_OK;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "Print",
        .inputs = "input: T, data: U",
        .outputs = "output: T",
        .attrs = "T: type; U: list(type) >= 0; message: string = ''; "
                 "first_n: int = -1; summarize: int = 3",
        .shape = tfd_shape_like_first,
        .grad = print_gradient,
        .flags = TFD_OP_STATEFUL,
    },
    {
        .name = "PrintV2",
        .inputs = "input: string",
        .attrs = "output_stream: string = 'stderr'; end: string = '\n'",
        .checks = "input: scalar 'Input is expected to be scalar, but got %s'",
        .shape = tfd_shape_none,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
    {
        .name = "StringFormat",
        .inputs = "inputs: T",
        .outputs = "output: string",
        .attrs = "T: list(type) >= 0; template: string = '%s'; "
                 "placeholder: string = '%s'; summarize: int = 3",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_NO_GRADIENT,
    },
    {
        .name = "Timestamp",
        .outputs = "ts: double",
        .attrs = "",
        .shape = tfd_shape_scalar,
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("Print", print_compute, .prepare = print_prepare,
                   .state_size = sizeof(struct print),
                   .flags = TFD_KERNEL_SHARED | TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("PrintV2", print_v2_compute, .prepare = print_v2_prepare,
                   .state_size = sizeof(struct print_v2),
                   .flags = TFD_KERNEL_BLOCKS),
    TFD_KERNEL_ANY("StringFormat", format_compute, .prepare = format_prepare,
                   .state_size = sizeof(struct format),
                   .flags = TFD_KERNEL_HEAVY),
    TFD_KERNEL_ANY("Timestamp", timestamp_compute),
};

const struct tfd_family tfd_family_print = {
    .name = "print",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
