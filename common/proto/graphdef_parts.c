/*
 * graphdef_parts.c - see graphdef_parts.h.
 *
 * A client sends its whole library again whenever its graph grows, and protobuf
 * may write the entries of maps in another order each time.  So functions are
 * taken as the same when one is the other with its bytes in another order; what
 * they do is not looked at here.
 */
#include "common/proto/graphdef_parts.h"

#include "common/graph/deprecated.h"
#include "common/graph/graph_internal.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"

#include <string.h>

/* ---- Versions ------------------------------------------------------------ */

static enum tfd_code check_bad(uint64_t version, struct tfd_status *st)
{
    if ((int32_t)(uint32_t)version != TFD_GRAPH_DEF_VERSION)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "GraphDef disallows consumer version %d.  Please upgrade "
                    "TensorFlow: this version is likely buggy.",
                    TFD_GRAPH_DEF_VERSION);
}

static enum tfd_code read_versions(struct tfd_str def, struct tfd_versions *out,
                                   struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        uint64_t bad;

        if (f.tag == tensorflow_VersionDef_producer_tag)
            out->producer = tfd_pb_int32(&r, &f);
        else if (f.tag == tensorflow_VersionDef_min_consumer_tag)
            out->min_consumer = tfd_pb_int32(&r, &f);
        else if (f.tag == tensorflow_VersionDef_bad_consumers_tag) {
            if (f.wire != TFD_PB_BYTES)
                TFD_TRY(check_bad(f.number, st));
            while (tfd_pb_packed_varint(&f.bytes, &bad))
                TFD_TRY(check_bad(bad, st));
        }
    }
    return tfd_pb_end(&r, "VersionDef", st);
}

enum tfd_code tfd_graphdef_versions(struct tfd_str graph_def,
                                    struct tfd_versions *out,
                                    struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph_def);
    struct tfd_pb_field f;

    *out = (struct tfd_versions){0, 0};
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_GraphDef_versions_tag)
            TFD_TRY(read_versions(tfd_pb_str(&r, &f), out, st));
    TFD_TRY(tfd_pb_end(&r, "GraphDef", st));

    if (out->min_consumer > TFD_GRAPH_DEF_VERSION)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "GraphDef min consumer version %d above current "
                        "version %d for TensorFlow 2.21.0.  Please upgrade "
                        "TensorFlow.",
                        out->min_consumer, TFD_GRAPH_DEF_VERSION);
    if (out->producer < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "GraphDef producer version %d below min producer 0 "
                        "supported by TensorFlow 2.21.0.  Please regenerate "
                        "your graph.",
                        out->producer);
    return TFD_OK;
}

enum tfd_code tfd_graphdef_check_ops(const struct tfd_graph *g,
                                     int32_t producer, struct tfd_status *st)
{
    for (int32_t i = 0; i < g->count && producer != g->versions.producer; i++)
        TFD_TRY(tfd_deprecated_check(g->nodes[i]->op->name, producer, st));
    return TFD_OK;
}

void tfd_graphdef_set_versions(struct tfd_graph *g,
                               const struct tfd_versions *new, bool extends)
{
    if (extends || new->producer < g->versions.producer)
        g->versions.producer = new->producer;
    if (extends || new->min_consumer > g->versions.min_consumer)
        g->versions.min_consumer = new->min_consumer;
}

/* ---- Functions ----------------------------------------------------------- */

/* Parts of libraries by name; gradients and the like by all their bytes. */
struct library {
    struct tfd_map seen;    /* -> index into parts */
    struct tfd_str *parts;  /* in the arena of the caller */
    struct tfd_arena arena; /* temporary */
    uintptr_t count, max;
    struct tfd_bytes out;
    struct tfd_status *st;
};

static enum tfd_code function_name(struct tfd_str def, struct tfd_str *name,
                                   struct tfd_status *st)
{
    struct tfd_str signature = TFD_STR_EMPTY;
    struct tfd_pb_reader r = tfd_pb_reader_of(def);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_FunctionDef_signature_tag)
            signature = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "FunctionDef", st));
    *name = TFD_STR_EMPTY;
    r = tfd_pb_reader_of(signature);
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_OpDef_name_tag)
            *name = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "OpDef", st));
    if (name->size && name->size <= TFD_NAME_SIZE_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "A function has a name of %zu bytes; from 1 to %d are "
                    "possible",
                    name->size, TFD_NAME_SIZE_MAX);
}

static bool same_up_to_order(struct tfd_str a, struct tfd_str b)
{
    size_t balance[256] = {0};

    if (a.size != b.size)
        return false;
    if (!memcmp(a.data, b.data, a.size))
        return true;
    for (size_t i = 0; i < a.size; i++) {
        balance[(uint8_t)a.data[i]]++;
        balance[(uint8_t)b.data[i]]--;
    }
    for (int i = 0; i < 256; i++)
        if (balance[i])
            return false;
    return true;
}

static enum tfd_code add_part(struct library *l, uint32_t tag,
                              struct tfd_str part)
{
    bool function = tag == tensorflow_FunctionDefLibrary_function_tag;
    struct tfd_str key = part;
    char text[TFD_PRINTABLE_MAX];
    uintptr_t at;

    if (function)
        TFD_TRY(function_name(part, &key, l->st));
    if (tfd_map_get(&l->seen, key, &at)) {
        if (!function || same_up_to_order(l->parts[at], part))
            return TFD_OK;
        return tfd_fail(l->st, TFD_INVALID_ARGUMENT,
                        "Cannot add function '%s' because a different function "
                        "with the same name already exists.",
                        tfd_graph_printable(key, text));
    }
    if (l->count >= TFD_FUNCTIONS_MAX)
        return tfd_fail(l->st, TFD_RESOURCE_EXHAUSTED,
                        "A library has at most %d functions",
                        TFD_FUNCTIONS_MAX);
    l->parts[l->count] = part;
    if (!tfd_map_put(&l->seen, key, l->count++))
        return tfd_fail(l->st, TFD_RESOURCE_EXHAUSTED,
                        "no memory for a library");
    tfd_pb_put_str_always(&l->out, tag, part);
    return TFD_OK;
}

static enum tfd_code add_library(struct library *l, struct tfd_str library)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(library);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f))
        TFD_TRY(add_part(l, f.tag, tfd_pb_str(&r, &f)));
    return tfd_pb_end(&r, "FunctionDefLibrary", l->st);
}

static enum tfd_code join_libraries(struct library *l, struct tfd_graph *g,
                                    struct tfd_str added, struct tfd_str *out)
{
    l->parts = tfd_arena_array(&l->arena, TFD_FUNCTIONS_MAX, sizeof(*l->parts));
    TFD_TRY(tfd_arena_check(l->parts, "a library", l->st));
    TFD_TRY(add_library(l, g->library));
    TFD_TRY(add_library(l, added));
    TFD_TRY(tfd_bytes_ok(&l->out, "a library", l->st));
    *out = g->library;
    if (l->out.size == g->library.size)
        return TFD_OK;
    *out = tfd_arena_str(&g->arena, tfd_bytes_view(&l->out));
    return tfd_arena_check(out->data, "a library", l->st);
}

enum tfd_code tfd_graphdef_library(struct tfd_graph *g,
                                   struct tfd_str graph_def,
                                   struct tfd_str *out, struct tfd_status *st)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(graph_def);
    struct tfd_str added = TFD_STR_EMPTY;
    struct library l = {.st = st};
    struct tfd_pb_field f;
    enum tfd_code rc;

    *out = g->library;
    while (tfd_pb_next(&r, &f))
        if (f.tag == tensorflow_GraphDef_library_tag)
            added = tfd_pb_str(&r, &f);
    TFD_TRY(tfd_pb_end(&r, "GraphDef", st));
    if (!added.size)
        return TFD_OK;
    tfd_map_init(&l.seen);
    tfd_arena_init(&l.arena, TFD_FUNCTIONS_MAX * sizeof(*l.parts) + 4096);
    tfd_bytes_init(&l.out, (size_t)TFD_GRAPH_SIZE_MAX);
    rc = join_libraries(&l, g, added, out);
    tfd_bytes_deinit(&l.out);
    tfd_arena_deinit(&l.arena);
    tfd_map_deinit(&l.seen);
    return rc;
}
