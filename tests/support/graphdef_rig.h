/*
 * graphdef_rig.h - GraphDefs for tests of common/proto/graphdef*.c, good and
 * bad.
 *
 * Graphs are written as lines "name = Op(input, input) attribute...", where an
 * attribute is T=1 (type), N:2 (int) or w:word (bytes of an AttrValue that are
 * listed below).  Who includes it first defines _GNU_SOURCE, for strsep().
 */
#ifndef TFD_TESTS_SUPPORT_GRAPHDEF_RIG_H
#define TFD_TESTS_SUPPORT_GRAPHDEF_RIG_H

#include "common/proto/graphdef.h"

#include "common/base/pbio.h"
#include "tests/support/graph_rig.h"

static const struct tfd_opdef defs[] = {
    {.name = "NoOp"},
    {.name = "Source", .outputs = "o: T", .attrs = "T: type"},
    {.name = "Placeholder",
     .outputs = "o: T",
     .attrs = "T: type; shape: shape = { unknown_rank: true }"},
    {.name = "Const", .outputs = "o: T", .attrs = "T: type; value: tensor"},
    {.name = "Identity",
     .inputs = "i: T",
     .outputs = "o: T",
     .attrs = "T: type"},
    {.name = "AddN",
     .inputs = "i: N * T",
     .outputs = "o: T",
     .attrs = "N: int >= 1; T: type"},
    {.name = "Split",
     .inputs = "i: T",
     .outputs = "o: N * T",
     .attrs = "N: int; T: type"},
    {.name = "Merge",
     .inputs = "i: N * T",
     .outputs = "o: T, index: int32",
     .attrs = "N: int >= 1; T: type",
     .flags = TFD_OP_MERGE},
    {.name = "NextIteration",
     .inputs = "i: T",
     .outputs = "o: T",
     .attrs = "T: type",
     .flags = TFD_OP_NEXT_ITERATION},
    {.name = "Exit",
     .inputs = "i: T",
     .outputs = "o: T",
     .attrs = "T: type",
     .flags = TFD_OP_EXIT},
    {.name = "BatchFFT"}, /* deprecated from version 15 on */
};

static struct tfd_bytes b;

static inline int setup(void **state)
{
    (void)state;
    open_graph(defs, sizeof(defs) / sizeof(defs[0]));
    tfd_bytes_init(&b, (size_t)1 << 30);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    tfd_bytes_deinit(&b);
    close_graph();
    return 0;
}

/* AttrValue messages by name. */
static const struct {
    const char *word, *value;
    size_t size;
} words[] = {
    {"unset", "", 0},
    {"9999", "\x30\x8f\x4e", 3},
    {"dims300", NULL, 0}, /* made below */
    {"overflow",
     "\x3a\x12\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x12\x04\x08\x80"
     "\x80\x04",
     20},
    {"negative", "\x3a\x0d\x12\x0b\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
     15},
    {"float1", "\x42\x0a\x08\x01\x12\x00\x2a\x04\x00\x00\x80\x3f", 12},
    {"dtype9999", "\x42\x05\x08\x8f\x4e\x12\x00", 7},
    {"class_a", "\x0a\x09\x12\x07loc:@a2", 11},
};

static inline void put_word(struct tfd_bytes *out, const char *word)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(words[i].word, word) && words[i].value) {
            tfd_bytes_add(out, words[i].value, words[i].size);
            return;
        }
    if (strcmp(word, "dims300"))
        fail_msg("no word %s", word);
    tfd_bytes_add(out, "\x3a\xb0\x09", 3); /* 300 times 4 bytes */
    for (int i = 0; i < 300; i++)
        tfd_bytes_add(out, "\x12\x02\x08\x01", 4);
}

/* One line as above, cut into words in place. */
static inline void put_line(char *line)
{
    struct tfd_str in[16];
    struct tfd_attr attrs[8];
    struct tfd_bytes values[8];
    struct tfd_nodedef n = {.device = TFD_STR_EMPTY, .in = in, .attrs = attrs};
    char *rest = NULL, *at, *word;

    n.name = tfd_str_of(strtok_r(line, " ", &rest));
    if (!strcmp(n.name.data, "EMPTY"))
        n.name = TFD_STR_EMPTY;
    strtok_r(NULL, " ", &rest); /* = */
    n.op = tfd_str_of(strtok_r(NULL, "(", &rest));
    if (tfd_str_is(n.op, "EMPTY"))
        n.op = TFD_STR_EMPTY;
    if (*rest == ')')
        rest++;
    else
        for (word = strtok_r(NULL, ")", &rest); (at = strsep(&word, ","));)
            in[n.in_count++] = tfd_str_of(at + (*at == ' '));
    while ((word = strtok_r(NULL, " ", &rest))) {
        struct tfd_bytes *v = &values[n.attr_count];

        at = strpbrk(word, "=:@");
        tfd_bytes_init(v, 4096);
        if (*at == '=')
            tfd_attr_put_type(v, (int)strtol(at + 1, NULL, 10));
        else if (*at == ':')
            tfd_attr_put_int(v, strtoll(at + 1, NULL, 10));
        else
            put_word(v, at + 1);
        if (!strncmp(word, "device", 6)) {
            n.device = TFD_STR("/job:ps/replica:0/task:0/device:CPU:0");
            tfd_bytes_deinit(v);
            continue;
        }
        attrs[n.attr_count++] =
            (struct tfd_attr){{word, (size_t)(at - word)}, tfd_bytes_view(v)};
    }
    tfd_graphdef_put(&b, &n);
    for (int i = 0; i < n.attr_count; i++)
        tfd_bytes_deinit(&values[i]);
}

static inline struct tfd_str graph_of(const char *text)
{
    char *copy = strdup(text), *rest = copy, *line;

    tfd_bytes_clear(&b);
    while ((line = strsep(&rest, "\n")))
        if (*line)
            put_line(line);
    free(copy);
    assert_false(b.failed);
    return tfd_bytes_view(&b);
}

static inline enum tfd_code import(const char *text, struct tfd_status *st)
{
    return tfd_graphdef_import(g, graph_of(text), NULL, NULL, st);
}

static inline void expect_ok(const char *text)
{
    struct tfd_status st = TFD_STATUS_INIT;

    if (import(text, &st))
        fail_msg("%s", st.text);
}

static inline const struct tfd_node *node(const char *name)
{
    const struct tfd_node *n = tfd_graph_find(g, tfd_str_of(name));

    if (!n)
        fail_msg("no node %s", name);
    return n;
}

#endif
