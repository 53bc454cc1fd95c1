/*
 * functions_rig.h - functions and graphs that call them, written in a line
 * each, and what the master makes of the calls.
 *
 * A function is a line "F x y -> z: a Add x y; ^end a; z a:z:0": arguments and
 * results are floats, "name Op input..." are its nodes, "^end node" says what
 * must have run, and the last part what is returned.  A node of a graph is
 * "name Op input...".  Attributes follow from the op.
 */
#ifndef TFD_TESTS_SUPPORT_FUNCTIONS_RIG_H
#define TFD_TESTS_SUPPORT_FUNCTIONS_RIG_H

#include "daemon/rewrite/functions.h"

#include "common/proto/graphdef.h"
#include "common/base/pbio.h"
#include "common/proto/graph.pb.h"
#include "kernels/core/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FUNCTION(name) tensorflow_FunctionDef_##name##_tag
#define NODE(name) tensorflow_NodeDef_##name##_tag
#define WORDS_MAX 16

static struct tfd_registry registry;
static struct tfd_graph *g;
static struct tfd_bytes out;
static struct tfd_status st;
static struct tfd_expand how;

/* ---- Writing ------------------------------------------------------------- */

static inline int split(char *text, const char *separators, char **words)
{
    int count = 0;

    for (char *at = text; count < WORDS_MAX;) {
        at += strspn(at, separators);
        if (!*at)
            break;
        words[count++] = at;
        at += strcspn(at, separators);
        if (*at)
            *at++ = '\0';
    }
    return count;
}

static inline void put_text(uint32_t tag, const char *text)
{
    tfd_pb_put_str_always(&out, tag, tfd_str_of(text));
}

/* kind: F float, B bool; 1, 2: so many floats; !: true; @name: a function;
 * $name: a placeholder; else text. */
static inline void put_value(const char *kind)
{
    const int floats[] = {TFD_FLOAT, TFD_FLOAT, TFD_FLOAT, TFD_FLOAT};
    size_t mark;

    if (strcmp(kind, "F") == 0 || strcmp(kind, "B") == 0) {
        tfd_attr_put_type(&out, *kind == 'F' ? TFD_FLOAT : TFD_BOOL);
    } else if (kind[0] >= '0' && kind[0] <= '4') {
        tfd_attr_put_types(&out, floats, kind[0] - '0');
    } else if (kind[0] == '!') {
        tfd_attr_put_bool(&out, true);
    } else if (kind[0] == '@') {
        mark = tfd_pb_begin(&out, tensorflow_AttrValue_func_tag);
        put_text(tensorflow_NameAttrList_name_tag, kind + 1);
        tfd_pb_finish(&out, mark);
    } else if (kind[0] == '$') {
        put_text(tensorflow_AttrValue_placeholder_tag, kind + 1);
    } else {
        tfd_attr_put_str(&out, tfd_str_of(kind));
    }
}

static inline void put_attr(uint32_t tag, const char *name, const char *kind)
{
    size_t entry = tfd_pb_begin(&out, tag), value;

    put_text(1, name);
    value = tfd_pb_begin(&out, 2);
    put_value(kind);
    tfd_pb_finish(&out, value);
    tfd_pb_finish(&out, entry);
}

/* "If:F:G" is an If of these branches, with one input and one output. */
static inline void put_attrs(char *op)
{
    char *parts[WORDS_MAX];
    int count = split(op, ":", parts);

    put_text(NODE(op), parts[0]);
    if (strcmp(parts[0], "NoOp") == 0)
        return;
    if (strcmp(parts[0], "Placeholder") == 0) {
        put_attr(NODE(attr), "dtype", count > 1 ? parts[1] : "F");
    } else if (strcmp(parts[0], "If") == 0 || strcmp(parts[0], "While") == 0) {
        bool branches = parts[0][0] == 'I';

        put_attr(NODE(attr), branches ? "then_branch" : "cond", parts[1]);
        put_attr(NODE(attr), branches ? "else_branch" : "body", parts[2]);
        put_attr(NODE(attr), branches ? "Tcond" : "T", branches ? "B" : "1");
        if (branches) {
            put_attr(NODE(attr), "Tin", "1");
            put_attr(NODE(attr), "Tout", "1");
        }
        if (count < 4)
            put_attr(NODE(attr), "_lower_using_switch_merge", "!");
    } else if (strstr(parts[0], "PartitionedCall")) {
        put_attr(NODE(attr), "f", parts[1]);
        put_attr(NODE(attr), "Tin", "1");
        put_attr(NODE(attr), "Tout", "1");
    } else {
        put_attr(NODE(attr), "T", count > 1 ? parts[1] : "F");
    }
}

static inline void put_node(uint32_t tag, const char *text)
{
    char copy[256], *words[WORDS_MAX];
    size_t mark = tfd_pb_begin(&out, tag);
    int count;

    snprintf(copy, sizeof(copy), "%s", text);
    count = split(copy, " ", words);
    assert_true(count >= 2);
    put_text(NODE(name), words[0]);
    for (int i = 2; i < count; i++)
        put_text(NODE(input), words[i]);
    put_attrs(words[1]);
    tfd_pb_finish(&out, mark);
}

static inline void put_entry(uint32_t tag, const char *key, const char *value)
{
    size_t mark = tfd_pb_begin(&out, tag);

    put_text(1, key);
    put_text(2, value);
    tfd_pb_finish(&out, mark);
}

/* "name x y -> z"; a name that ends in '!' is not to be inlined, one that ends
 * in '*' has an attribute T for its types. */
static inline bool put_signature(char *head, bool *keep)
{
    size_t mark = tfd_pb_begin(&out, FUNCTION(signature)), arg;
    char *words[WORDS_MAX];
    int count = split(head, " ", words);
    uint32_t tag = tensorflow_OpDef_input_arg_tag;
    char *last = words[0] + strlen(words[0]) - 1;
    bool poly = *last == '*';

    *keep = *last == '!';
    if (*keep || poly)
        *last = '\0';
    put_text(tensorflow_OpDef_name_tag, words[0]);
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "->") == 0) {
            tag = tensorflow_OpDef_output_arg_tag;
            continue;
        }
        arg = tfd_pb_begin(&out, tag);
        put_text(tensorflow_OpDef_ArgDef_name_tag, words[i]);
        if (poly)
            put_text(tensorflow_OpDef_ArgDef_type_attr_tag, "T");
        else
            tfd_pb_put_int(&out, tensorflow_OpDef_ArgDef_type_tag,
                           words[i][0] == 'b' ? TFD_BOOL : TFD_FLOAT);
        tfd_pb_finish(&out, arg);
    }
    if (poly) {
        arg = tfd_pb_begin(&out, tensorflow_OpDef_attr_tag);
        put_text(tensorflow_OpDef_AttrDef_name_tag, "T");
        put_text(tensorflow_OpDef_AttrDef_type_tag, "type");
        tfd_pb_finish(&out, arg);
    }
    tfd_pb_finish(&out, mark);
    return poly;
}

static inline void put_function(char *line)
{
    size_t mark =
        tfd_pb_begin(&out, tensorflow_FunctionDefLibrary_function_tag);
    char *body = strchr(line, ':'), *parts[WORDS_MAX], *words[WORDS_MAX];
    bool keep;
    int count;

    *body++ = '\0';
    put_signature(line, &keep);
    count = split(body, ";", parts);
    for (int i = 0; i < count; i++) {
        char copy[256];

        snprintf(copy, sizeof(copy), "%s", parts[i]);
        if (split(copy, " ", words) == 2 && words[0][0] == '^')
            put_entry(FUNCTION(control_ret), words[0] + 1, words[1]);
        else if (strchr(parts[i], '='))
            put_entry(FUNCTION(ret), words[0], words[2]);
        else
            put_node(FUNCTION(node_def), parts[i]);
    }
    if (keep)
        put_attr(FUNCTION(attr), "_noinline", "!");
    tfd_pb_finish(&out, mark);
}

/* Lines of functions; their FunctionDefLibrary is the result. */
static inline struct tfd_str library_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1), *lines[WORDS_MAX];
    int count;

    assert_non_null(copy);
    strcpy(copy, text);
    tfd_bytes_clear(&out);
    count = split(copy, "\n", lines);
    for (int i = 0; i < count; i++)
        put_function(lines[i]);
    free(copy);
    return tfd_bytes_view(&out);
}

/* Functions and nodes into a new graph. */
static inline enum tfd_code import(const char *functions, const char *nodes)
{
    struct tfd_str library = library_of(functions), def;
    char copy[1024], *lines[WORDS_MAX];
    struct tfd_bytes kept;
    enum tfd_code rc;
    int32_t first;
    int count;

    tfd_bytes_init(&kept, 1 << 20);
    tfd_bytes_add_str(&kept, library);
    tfd_bytes_clear(&out);
    tfd_pb_put_str(&out, tensorflow_GraphDef_library_tag,
                   tfd_bytes_view(&kept));
    tfd_bytes_deinit(&kept);
    snprintf(copy, sizeof(copy), "%s", nodes);
    count = split(copy, ";", lines);
    for (int i = 0; i < count; i++)
        put_node(tensorflow_GraphDef_node_tag, lines[i]);
    def = tfd_bytes_view(&out);
    tfd_graph_unref(g);
    g = tfd_graph_new(&registry.ops, NULL);
    tfd_status_clear(&st);
    rc = tfd_graphdef_import(g, def, NULL, &first, &st);
    return rc == TFD_OK ? tfd_functions_expand(g, first, &how, &st) : rc;
}

static inline int setup(void **state)
{
    (void)state;
    tfd_bytes_init(&out, 1 << 22);
    return tfd_registry_init(&registry, tfd_families, tfd_family_count, NULL);
}

static inline int teardown(void **state)
{
    (void)state;
    tfd_graph_unref(g);
    tfd_bytes_deinit(&out);
    tfd_registry_deinit(&registry);
    return 0;
}

/* ---- Asking -------------------------------------------------------------- */

static inline int count_op(const char *op)
{
    int count = 0;

    for (int32_t i = 0; i < g->count; i++)
        count += tfd_str_is(g->nodes[i]->op->name, op);
    return count;
}

static inline const struct tfd_node *node(const char *name)
{
    const struct tfd_node *n = tfd_graph_find(g, tfd_str_of(name));

    if (!n)
        fail_msg("there is no node %s", name);
    return n;
}

/* The op that produces input i, looking through Identity. */
static inline const struct tfd_node *producer(const struct tfd_node *n,
                                              int32_t i)
{
    do {
        n = g->nodes[n->in[i].node];
        i = 0;
    } while (tfd_str_is(n->op->name, "Identity"));
    return n;
}

static inline bool waits_for(const struct tfd_node *n,
                             const struct tfd_node *other)
{
    for (int32_t i = 0; i < n->control_count; i++)
        if (n->control[i] == other->id)
            return true;
    return false;
}

#endif
