/*
 * nodes.c - see nodes.h.
 */
#include "tests/support/nodes.h"

/* attrs: "name=kind": F float, I int32, R resource, B bool types; scalar and
 * vector: shapes; one: a float scalar; ones: an int32 vector of one; a digit:
 * an int; else text. */
static const struct nodes_row {
    const char *key, *op, *attrs;
} nodes_rows[] = {
    {"Const", "Const", "dtype=F value=one"},
    {"ConstI", "Const", "dtype=I value=ones"},
    {"Placeholder", "Placeholder", "dtype=F"},
    {"PlaceholderB", "Placeholder", "dtype=B"},
    {"PlaceholderWithDefault", "PlaceholderWithDefault",
     "dtype=F shape=scalar"},
    {"VariableV2", "VariableV2", "dtype=F shape=scalar"},
    {"VarHandleOp", "VarHandleOp", "dtype=F shape=scalar"},
    {"ReadVariableOp", "ReadVariableOp", "dtype=F"},
    {"AssignVariableOp", "AssignVariableOp", "dtype=F"},
    {"IdentityR", "Identity", "T=R"},
    {"IdentityB", "Identity", "T=B"},
    {"ShapeI", "Shape", "T=I"},
    {"ShapeN", "ShapeN", "T=F N=2"},
    {"Merge", "Merge", "T=F N=2"},
    {"Pack", "Pack", "T=F N=2"},
    {"Pack1", "Pack", "T=F N=2 axis=1"},
    {"Unpack1", "Unpack", "T=F num=2 axis=1"},
    {"ConcatV2", "ConcatV2", "T=F N=2"},
    {"Enter", "Enter", "T=F frame_name=f"},
    {"RandomUniform", "RandomUniform", "dtype=F T=I"},
    {"TensorArrayV3", "TensorArrayV3", "dtype=F"},
    {"Split", "Split", "T=F num_split=2"},
    {"CheckNumerics", "CheckNumerics", "T=F message=bad"},
    {"NoOp", "NoOp", ""},
    {"LoopCond", "LoopCond", ""},
};

char *nodes_word(char **at, const char *separators)
{
    char *word = *at + strspn(*at, separators);

    if (!*word)
        return NULL;
    *at = word + strcspn(word, separators);
    if (**at)
        *(*at)++ = '\0';
    return word;
}

static void nodes_value(struct tfd_bytes *out, const char *kind)
{
    const struct tfd_shape scalar = {0, {0}}, vector = {1, {1}};
    struct tfd_tensor t;

    if (strcmp(kind, "scalar") == 0) {
        tfd_attr_put_shape(out, &scalar);
    } else if (strcmp(kind, "one") == 0 || strcmp(kind, "ones") == 0) {
        bool whole = kind[3] == 's';

        assert_int_equal(tfd_tensor_new(&t, whole ? TFD_INT32 : TFD_FLOAT,
                                        whole ? &vector : &scalar, NULL),
                         TFD_OK);
        if (whole)
            *(int32_t *)tfd_tensor_data(&t) = 1;
        else
            *(float *)tfd_tensor_data(&t) = 1;
        tfd_attr_put_tensor(out, &t);
        tfd_tensor_unref(&t);
    } else if (kind[0] >= '0' && kind[0] <= '9' && !kind[1]) {
        tfd_attr_put_int(out, kind[0] - '0');
    } else if (strlen(kind) == 1 && strchr("FIRB", kind[0])) {
        tfd_attr_put_type(out, kind[0] == 'F'   ? TFD_FLOAT
                               : kind[0] == 'I' ? TFD_INT32
                               : kind[0] == 'B' ? TFD_BOOL
                                                : TFD_RESOURCE);
    } else {
        tfd_attr_put_str(out, tfd_str_of(kind));
    }
}

static struct tfd_bytes *nodes_attr(struct nodes_attrs *a, const char *name)
{
    int i = a->count++;

    assert_true(i < NODES_ATTRS_MAX);
    snprintf(a->names[i], sizeof(a->names[i]), "%s", name);
    tfd_bytes_init(&a->values[i], 1 << 20);
    return &a->values[i];
}

/* Those of the row; ops without one are of floats. */
static const char *nodes_attrs_of(struct nodes_attrs *a, const char *key)
{
    const char *op = key;
    char attrs[128] = "T=F", *at = attrs, *word;

    for (size_t i = 0; i < sizeof(nodes_rows) / sizeof(nodes_rows[0]); i++) {
        if (strcmp(nodes_rows[i].key, key) != 0)
            continue;
        op = nodes_rows[i].op;
        snprintf(attrs, sizeof(attrs), "%s", nodes_rows[i].attrs);
    }
    while ((word = nodes_word(&at, " ")) != NULL) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        nodes_value(nodes_attr(a, word), value);
    }
    return op;
}

int nodes_split(char *text, struct tfd_str *out, char sep)
{
    int count = 0;

    while (text && *text && strcmp(text, "-") != 0) {
        size_t size = strcspn(text, (char[]){sep, '\0'});

        assert_true(count < NODES_LIST_MAX);
        out[count++] = (struct tfd_str){text, size};
        text += size + (text[size] == sep);
    }
    return count;
}

static void nodes_class(struct nodes_attrs *a, char *groups)
{
    static char text[NODES_LIST_MAX][64];
    struct tfd_str list[NODES_LIST_MAX];
    int count = nodes_split(groups, list, ',');

    for (int i = 0; i < count; i++) {
        snprintf(text[i], sizeof(text[i]), "loc:@%.*s", (int)list[i].size,
                 list[i].data);
        list[i] = tfd_str_of(text[i]);
    }
    tfd_attr_put_strs(nodes_attr(a, "_class"), list, count);
}

/* Writes one node; line is cut into pieces. */
static void nodes_put_line(struct tfd_bytes *out, char *line)
{
    struct nodes_attrs attrs = {.count = 0};
    struct tfd_str in[NODES_LIST_MAX];
    char *words[5] = {NULL}, *at = line;
    struct tfd_nodedef def = {.in = in, .attrs = attrs.list};

    for (int i = 0; i < 5; i++)
        words[i] = nodes_word(&at, " ");
    assert_non_null(words[1]);
    def.name = tfd_str_of(words[0]);
    def.op = tfd_str_of(nodes_attrs_of(&attrs, words[1]));
    def.in_count = nodes_split(words[2], in, ',');
    if (words[3] && strcmp(words[3], "-") != 0)
        def.device = tfd_str_of(words[3]);
    if (words[4])
        nodes_class(&attrs, words[4]);
    for (int i = 0; i < attrs.count; i++)
        attrs.list[i] = (struct tfd_attr){tfd_str_of(attrs.names[i]),
                                          tfd_bytes_view(&attrs.values[i])};
    def.attr_count = attrs.count;
    tfd_graphdef_put(out, &def);
    for (int i = 0; i < attrs.count; i++)
        tfd_bytes_deinit(&attrs.values[i]);
}

void nodes_put(struct tfd_bytes *out, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size), *at = copy, *line;

    assert_non_null(copy);
    memcpy(copy, text, size);
    while ((line = nodes_word(&at, ";\n")) != NULL)
        if (line[strspn(line, " ")])
            nodes_put_line(out, line);
    free(copy);
}

struct tfd_bytes nodes_bytes(const char *text)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 64 << 20);
    nodes_put(&b, text);
    return b;
}

void nodes_import(struct tfd_graph *g, const char *text)
{
    struct tfd_bytes b = nodes_bytes(text);
    struct tfd_status st = TFD_STATUS_INIT;
    int32_t first;

    if (tfd_graphdef_import(g, tfd_bytes_view(&b), NULL, &first, &st) != TFD_OK)
        fail_msg("%s: %s", text, st.text);
    tfd_bytes_deinit(&b);
}
