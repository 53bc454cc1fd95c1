/*
 * reader_make.c - the operations that make readers: TextLineReader,
 * TFRecordReader, FixedLengthRecordReader, WholeFileReader, IdentityReader and
 * their V2 forms, LMDBReader.
 *
 * A reader of a shared name may be there already, of whatever kind; then it is
 * that one, as in TensorFlow.
 */
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/owner.h"
#include "kernels/readers/reader.h"

struct maker {
    struct tfd_owner owner;
    struct tfd_reader_options options;
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code read_count(const struct tfd_node *n, const char *name,
                                int64_t *out, struct tfd_status *st)
{
    TFD_TRY(tfd_node_int(n, name, out, st));
    if (*out < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s must be >= 0 not %lld",
                        name, (long long)*out);
    return TFD_OK;
}

static enum tfd_code read_bytes_of(const struct tfd_node *n, const char *name,
                                   int64_t *out, struct tfd_status *st)
{
    TFD_TRY(read_count(n, name, out, st));
    if ((uint64_t)*out <= TFD_DATA_RECORD_SIZE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "%s is %lld; at most %zu are possible", name,
                    (long long)*out, TFD_DATA_RECORD_SIZE_MAX);
}

/* What TensorFlow does not know it takes for a file that is not packed. */
static enum tfd_code read_compression(const struct tfd_node *n,
                                      const char *name,
                                      struct tfd_reader_options *o,
                                      struct tfd_status *st)
{
    bool is_records = o->kind == &tfd_reader_records;
    struct tfd_str type;

    TFD_TRY(tfd_node_str(n, name, &type, st));
    if (tfd_str_is(type, "ZLIB"))
        o->compression = TFD_DATA_ZLIB;
    else if (tfd_str_is(type, "GZIP"))
        o->compression = TFD_DATA_GZIP;
    else if (is_records && tfd_str_is(type, "SNAPPY"))
        o->compression = TFD_DATA_SNAPPY;
    return TFD_OK;
}

static enum tfd_code read_fixed(const struct tfd_node *n,
                                struct tfd_reader_options *o,
                                struct tfd_status *st)
{
    TFD_TRY(read_count(n, "header_bytes", &o->header, st));
    TFD_TRY(read_bytes_of(n, "record_bytes", &o->record, st));
    TFD_TRY(read_bytes_of(n, "footer_bytes", &o->footer, st));
    TFD_TRY(read_count(n, "hop_bytes", &o->hop, st));
    if (tfd_str_is(n->op->name, "FixedLengthRecordReader"))
        return TFD_OK;
    return read_compression(n, "encoding", o, st);
}

static enum tfd_code read_options(const struct tfd_node *n,
                                  struct tfd_reader_options *o,
                                  struct tfd_status *st)
{
    if (o->kind == &tfd_reader_lines)
        return read_count(n, "skip_header_lines", &o->skip_lines, st);
    if (o->kind == &tfd_reader_records)
        return read_compression(n, "compression_type", o, st);
    return o->kind == &tfd_reader_fixed ? read_fixed(n, o, st) : TFD_OK;
}

static enum tfd_code prepare_reader(const struct tfd_prepare *p, void *state,
                                    const struct tfd_reader_kind *kind,
                                    struct tfd_status *st)
{
    struct maker *m = state;

    TFD_TRY(tfd_owner_prepare(&m->owner, p, &tfd_reader_type, st));
    m->options.kind = kind;
    return read_options(p->node, &m->options, st);
}

#define PREPARE(id)                                                       \
    static enum tfd_code id##_prepare(const struct tfd_prepare *p,        \
                                      void *state, struct tfd_status *st) \
    {                                                                     \
        return prepare_reader(p, state, &tfd_reader_##id, st);            \
    }

PREPARE(lines)
PREPARE(records)
PREPARE(fixed)
PREPARE(whole)
PREPARE(identity)
PREPARE(lmdb)

static void maker_release(void *state)
{
    tfd_owner_release(&((struct maker *)state)->owner);
}

static enum tfd_code make_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct maker *m = k->state;
    struct tfd_reader_order order = {.options = &m->options,
                                     .node = k->node->name};

    return tfd_owner_output(k, &m->owner, tfd_reader_make, NULL, &order, st);
}

/* ---- Tables -------------------------------------------------------------- */

#define SHARED "container: string = ''; shared_name: string = ''"
#define SIZES                                    \
    "header_bytes: int = 0; record_bytes: int; " \
    "footer_bytes: int = 0; hop_bytes: int = 0; " SHARED

#define FIRST(name_, attrs_)                                                  \
    {                                                                         \
        .name = name_, .inputs = "", .outputs = "reader_handle: Ref(string)", \
        .attrs = attrs_, .shape = tfd_owner_shape,                            \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,                        \
    }
#define SECOND(name_, attrs_)                                  \
    {                                                          \
        .name = name_ "V2", .inputs = "",                      \
        .outputs = "reader_handle: resource", .attrs = attrs_, \
        .shape = tfd_shape_scalar,                             \
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,         \
    }
#define BOTH_OPS(name_, attrs_) FIRST(name_, attrs_), SECOND(name_, attrs_)

static const struct tfd_opdef ops[] = {
    BOTH_OPS("TextLineReader", "skip_header_lines: int = 0; " SHARED),
    BOTH_OPS("TFRecordReader", SHARED "; compression_type: string = ''"),
    FIRST("FixedLengthRecordReader", SIZES),
    SECOND("FixedLengthRecordReader", SIZES "; encoding: string = ''"),
    BOTH_OPS("WholeFileReader", SHARED),
    BOTH_OPS("IdentityReader", SHARED),
    FIRST("LMDBReader", SHARED),
};

#define KERNEL(name_, id)                                        \
    TFD_KERNEL_ANY(name_, make_compute, .prepare = id##_prepare, \
                   .release = maker_release,                     \
                   .state_size = sizeof(struct maker),           \
                   .flags = TFD_KERNEL_SHARED)
#define BOTH(name_, id) KERNEL(name_, id), KERNEL(name_ "V2", id)

static const struct tfd_kernel kernels[] = {
    BOTH("TextLineReader", lines),          BOTH("TFRecordReader", records),
    BOTH("FixedLengthRecordReader", fixed), BOTH("WholeFileReader", whole),
    BOTH("IdentityReader", identity),       KERNEL("LMDBReader", lmdb),
};

const struct tfd_family tfd_family_reader_make = {
    .name = "reader_make",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
