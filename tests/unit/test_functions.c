/*
 * test_functions.c - libraries of functions (common/function*.c) and what the
 * master makes of calls (daemon/master/functions.c and what it uses).
 *
 * A function is a line "F x y -> z: a Add x y; ^end a; z a:z:0": arguments and
 * results are floats, "name Op input..." are its nodes, "^end node" says what
 * must have run, and the last part what is returned.  A node of a graph is
 * "name Op input...".  Attributes follow from the op.
 */
#include "daemon/master/functions.h"

#include "common/function_body.h"
#include "common/graphdef.h"
#include "common/pbio.h"
#include "common/proto/graph.pb.h"
#include "config/limits.h"
#include "kernels/registry.h"

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

static int split(char *text, const char *separators, char **words)
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

static void put_text(uint32_t tag, const char *text)
{
    tfd_pb_put_str_always(&out, tag, tfd_str_of(text));
}

/* kind: F float, B bool; 1, 2: so many floats; !: true; @name: a function;
 * $name: a placeholder; else text. */
static void put_value(const char *kind)
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

static void put_attr(uint32_t tag, const char *name, const char *kind)
{
    size_t entry = tfd_pb_begin(&out, tag), value;

    put_text(1, name);
    value = tfd_pb_begin(&out, 2);
    put_value(kind);
    tfd_pb_finish(&out, value);
    tfd_pb_finish(&out, entry);
}

/* "If:F:G" is an If of these branches, with one input and one output. */
static void put_attrs(char *op)
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
    } else if (strcmp(parts[0], "PartitionedCall") == 0) {
        put_attr(NODE(attr), "f", parts[1]);
        put_attr(NODE(attr), "Tin", "1");
        put_attr(NODE(attr), "Tout", "1");
    } else {
        put_attr(NODE(attr), "T", count > 1 ? parts[1] : "F");
    }
}

static void put_node(uint32_t tag, const char *text)
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

static void put_entry(uint32_t tag, const char *key, const char *value)
{
    size_t mark = tfd_pb_begin(&out, tag);

    put_text(1, key);
    put_text(2, value);
    tfd_pb_finish(&out, mark);
}

/* "name x y -> z"; a name that ends in '!' is not to be inlined, one that ends
 * in '*' has an attribute T for its types. */
static bool put_signature(char *head, bool *keep)
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

static void put_function(char *line)
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
static struct tfd_str library_of(const char *text)
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
static enum tfd_code import(const char *functions, const char *nodes)
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

static int setup(void **state)
{
    (void)state;
    tfd_bytes_init(&out, 1 << 22);
    return tfd_registry_init(&registry, tfd_families, tfd_family_count, NULL);
}

static int teardown(void **state)
{
    (void)state;
    tfd_graph_unref(g);
    tfd_bytes_deinit(&out);
    tfd_registry_deinit(&registry);
    return 0;
}

/* ---- Asking -------------------------------------------------------------- */

static int count_op(const char *op)
{
    int count = 0;

    for (int32_t i = 0; i < g->count; i++)
        count += tfd_str_is(g->nodes[i]->op->name, op);
    return count;
}

static const struct tfd_node *node(const char *name)
{
    const struct tfd_node *n = tfd_graph_find(g, tfd_str_of(name));

    if (!n)
        fail_msg("there is no node %s", name);
    return n;
}

/* The op that produces input i, looking through Identity. */
static const struct tfd_node *producer(const struct tfd_node *n, int32_t i)
{
    do {
        n = g->nodes[n->in[i].node];
        i = 0;
    } while (tfd_str_is(n->op->name, "Identity"));
    return n;
}

static bool waits_for(const struct tfd_node *n, const struct tfd_node *other)
{
    for (int32_t i = 0; i < n->control_count; i++)
        if (n->control[i] == other->id)
            return true;
    return false;
}

#define DOUBLE "D x -> z: a Add x x; z = a:z:0\n"
#define SQUARE "S x -> z: a Mul x x; z = a:z:0\n"
#define LESS "L x -> b: c Less x x; b = c:z:0\n"

/* ---- Libraries ----------------------------------------------------------- */

static void bad_libraries_are_refused(void **state)
{
    static const struct {
        const char *functions, *text;
    } cases[] = {
        {"F x -> z: a Add x x", "return z missing"},
        {"F x -> z: a/_/ Add x x; a! Add x x; z = a:z:0", "invalid characters"},
        {"Add x -> z: a Mul x x; z = a:z:0", "same name already exists"},
        {"F x -> z: a Add x x; z = a:z:0\nF x -> z: a Mul x x; z = a:z:0",
         "a different function with the same name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(import(cases[i].functions, "p Placeholder"),
                         TFD_INVALID_ARGUMENT);
        if (!strstr(st.text, cases[i].text))
            fail_msg("%s: %s", cases[i].text, st.text);
        assert_null(g->functions);
        assert_int_equal(g->count, 0);
    }
}

static void bad_bodies_are_refused_when_they_are_called(void **state)
{
    static const struct {
        const char *functions, *text;
    } cases[] = {
        {"F x -> z: a Add x y; z = a:z:0", "input y is not found"},
        {"F x -> z: a Add x x:1; z = a:z:0", "input x:1 is not found"},
        {"F x -> z: a Add x x; z = a", "input a is not found"},
        {"F x -> z: a Add x x; z = a:y:0", "input a:y:0 is not found"},
        {"F x -> z: a Add x x; z = a:z:1", "input a:z:1 is not found"},
        {"F x -> z: a Add x x ^b; z = a:z:0", "input b is not found"},
        {"F x -> z: a Add ^x x x; z = a:z:0", "to be a control input"},
        {"F x -> z: a Add x b:z:0; b Add a:z:0 x; z = a:z:0", "cycle"},
        {"F x -> z: a Add x x; a Mul x x; z = a:z:0", "Duplicated name 'a'"},
        {"F x -> z: x Add x x; z = x", "Duplicated name 'x'"},
        {"F x -> z: a Nope x x; z = a:z:0", "Op type not registered 'Nope'"},
        {"F x -> z: a Add:$U x x; z = a:z:0", "without the attr 'U'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_not_equal(import(cases[i].functions, "p Placeholder; c F p"),
                             TFD_OK);
        if (!strstr(st.text, cases[i].text))
            fail_msg("%s: %s", cases[i].text, st.text);
        assert_int_equal(g->count, 0);
        assert_int_equal(import(cases[i].functions, "p Placeholder"), TFD_OK);
    }
}

static void a_call_is_checked_against_the_signature(void **state)
{
    (void)state;
    assert_int_equal(import(DOUBLE, "p Placeholder; c D p p"),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(import(DOUBLE, "p Placeholder:B; c D p"),
                     TFD_INVALID_ARGUMENT);
    assert_int_equal(import(DOUBLE, "p Placeholder; c E p"), TFD_NOT_FOUND);
}

static void the_same_function_may_come_again(void **state)
{
    (void)state;
    assert_int_equal(import(DOUBLE DOUBLE, "p Placeholder; c D p"), TFD_OK);
    assert_null(g->functions->next);
}

static void a_functions_types_may_be_the_calls(void **state)
{
    (void)state;
    assert_int_equal(import("P* x -> z: a Identity:$T x; z = a:output:0",
                            "p Placeholder:B; c P:B p"),
                     TFD_OK);
    assert_int_equal(node("c/a")->out_types[0], TFD_BOOL);
}

/* ---- Calls --------------------------------------------------------------- */

static void a_call_becomes_its_body(void **state)
{
    (void)state;
    assert_int_equal(
        import(DOUBLE, "p Placeholder; c D p; e Mul c c; n NoOp ^c"), TFD_OK);
    assert_true(tfd_str_is(node("c/a")->op->name, "Add"));
    assert_ptr_equal(producer(node("c/a"), 0), node("p"));
    assert_ptr_equal(producer(node("e"), 1), node("c/a"));
    assert_true(tfd_str_is(node("c")->op->name, "IdentityN"));
    assert_ptr_equal(producer(node("c"), 0), node("c/a"));
    assert_true(waits_for(node("n"), node("c/output_control_node")));
}

static void a_body_waits_for_what_its_call_waits_for(void **state)
{
    (void)state;
    assert_int_equal(import("F x -> z: k Placeholder; a Add x k:output:0; "
                            "z = a:z:0",
                            "p Placeholder; w NoOp; c F p ^w"),
                     TFD_OK);
    assert_true(waits_for(node("c/input_control_node"), node("w")));
    assert_true(waits_for(node("c/k"), node("c/input_control_node")));
    assert_true(waits_for(node("c/x"), node("c/input_control_node")));
    assert_int_equal(node("c/a")->control_count, 0);
}

static void control_results_are_the_end(void **state)
{
    (void)state;
    assert_int_equal(import("F x -> z: e NoOp; a Add x x; ^e e; z = a:z:0",
                            "p Placeholder; c PartitionedCall:@F p; n NoOp ^c"),
                     TFD_OK);
    assert_true(waits_for(node("c/output_control_node"), node("c/e")));
    assert_true(waits_for(node("n"), node("c/output_control_node")));
    assert_int_equal(count_op("PartitionedCall"), 0);
}

static void calls_within_bodies_are_expanded(void **state)
{
    (void)state;
    assert_int_equal(import(DOUBLE "F x -> z: a D x; b D a:z:0; z = b:z:0",
                            "p Placeholder; c F p"),
                     TFD_OK);
    assert_true(tfd_str_is(node("c/b/a")->op->name, "Add"));
    assert_ptr_equal(producer(node("c/b/a"), 1), node("c/a/a"));
}

static void some_calls_stay(void **state)
{
    static const char *const functions[] = {
        "F! x -> z: a Add x x; z = a:z:0",
        "F x -> z: a F x; z = a:z:0",
        "F x -> z: a G x; z = a:z:0\nG x -> z: a F x; z = a:z:0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        assert_int_equal(import(functions[i], "p Placeholder; c F p"), TFD_OK);
        assert_int_equal(count_op("F"), 1);
    }
}

static void what_grows_without_end_is_refused(void **state)
{
    struct tfd_bytes text;

    (void)state;
    tfd_bytes_init(&text, 1 << 16);
    for (int i = 0; i < 14; i++) /* 4^14 nodes */
        tfd_bytes_printf(&text,
                         "F%d x -> z: a F%d x; b F%d x; c F%d x; d F%d x; "
                         "z = d:z:0\n",
                         i, i + 1, i + 1, i + 1, i + 1);
    tfd_bytes_printf(&text, "F14 x -> z: a Add x x; z = a:z:0\n%c", 0);
    assert_int_equal(import(text.data, "p Placeholder; c F0 p"),
                     TFD_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st.text, "functions are expanded"));
    assert_int_equal(g->count, 0);
    tfd_bytes_deinit(&text);
}

/* ---- Branches and loops -------------------------------------------------- */

static void an_if_becomes_switch_and_merge(void **state)
{
    const struct tfd_node *merge, *side;

    (void)state;
    assert_int_equal(import(DOUBLE SQUARE,
                            "b Placeholder:B; p Placeholder; w NoOp; "
                            "i If:@D:@S b p ^w; e Mul i i; n NoOp ^i"),
                     TFD_OK);
    assert_int_equal(count_op("If"), 0);
    assert_int_equal(count_op("Switch"), 2);
    merge = producer(node("e"), 0);
    assert_true(tfd_str_is(merge->op->name, "Merge"));
    assert_true(tfd_str_is(producer(merge, 0)->op->name, "Add"));
    assert_true(tfd_str_is(producer(merge, 1)->op->name, "Mul"));
    side = producer(producer(merge, 0), 0);
    assert_true(tfd_str_is(side->op->name, "Switch"));
    assert_ptr_equal(producer(side, 0), node("p"));
    assert_ptr_equal(producer(side, 1), node("b"));
    assert_true(tfd_str_is(node("i")->op->name, "IdentityN"));
    assert_true(tfd_str_is(g->nodes[node("n")->control[0]]->op->name, "Merge"));
}

static void a_while_becomes_a_loop(void **state)
{
    const struct tfd_node *exit, *merge, *back;

    (void)state;
    assert_int_equal(
        import(LESS DOUBLE, "p Placeholder; l While:@L:@D p; e Mul l l"),
        TFD_OK);
    exit = producer(node("e"), 0);
    assert_true(tfd_str_is(exit->op->name, "Exit"));
    merge = producer(producer(exit, 0), 0);
    assert_true(tfd_str_is(merge->op->name, "Merge"));
    assert_true(tfd_str_is(producer(merge, 0)->op->name, "Enter"));
    back = producer(merge, 1);
    assert_true(tfd_str_is(back->op->name, "NextIteration"));
    assert_true(tfd_str_is(producer(back, 0)->op->name, "Add"));
    assert_int_equal(count_op("LoopCond"), 1);
}

static void control_flow_without_the_attribute_stays(void **state)
{
    (void)state;
    assert_int_equal(import(LESS DOUBLE SQUARE,
                            "b Placeholder:B; p Placeholder; "
                            "i If:@D:@S:no b p; l While:@L:@D:no p"),
                     TFD_OK);
    assert_int_equal(count_op("If"), 1);
    assert_int_equal(count_op("While"), 1);
}

/* share_cluster_devices_in_session */
static void all_that_can_be_is_expanded_across_tasks(void **state)
{
    (void)state;
    how.across_tasks = true;
    assert_int_equal(import(LESS DOUBLE SQUARE "N! x -> z: a D x; z = a:z:0\n"
                                               "R x -> z: a R x; z = a:z:0\n",
                            "b Placeholder:B; p Placeholder; c N p; r R p; "
                            "i If:@D:@S:no b p; l While:@L:@D:no p"),
                     TFD_OK);
    assert_int_equal(count_op("If") + count_op("While"), 0);
    assert_int_equal(count_op("N"), 0);
    assert_int_equal(count_op("R"), 1); /* it calls itself */
    how.across_tasks = false;
}

static void an_expansion_that_nobody_wants_ends(void **state)
{
    static const bool stop = true;

    (void)state;
    how.stop = &stop;
    assert_int_equal(import(DOUBLE, "p Placeholder; c D p"), TFD_CANCELLED);
    assert_int_equal(g->count, 0);
    assert_int_equal(import("", "p Placeholder; c Mul p p"), TFD_OK);
    how.stop = NULL;
}

static void branches_of_branches_are_expanded(void **state)
{
    (void)state;
    assert_int_equal(import(LESS DOUBLE SQUARE
                            "F x -> z: c Less x x; i If:@D:@S c:z:0 x; "
                            "z = i:output:0",
                            "b Placeholder:B; p Placeholder; i If:@F:@D b p"),
                     TFD_OK);
    assert_int_equal(count_op("If"), 0);
    assert_int_equal(count_op("Merge"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_libraries_are_refused),
        cmocka_unit_test(bad_bodies_are_refused_when_they_are_called),
        cmocka_unit_test(a_call_is_checked_against_the_signature),
        cmocka_unit_test(the_same_function_may_come_again),
        cmocka_unit_test(a_functions_types_may_be_the_calls),
        cmocka_unit_test(a_call_becomes_its_body),
        cmocka_unit_test(a_body_waits_for_what_its_call_waits_for),
        cmocka_unit_test(control_results_are_the_end),
        cmocka_unit_test(calls_within_bodies_are_expanded),
        cmocka_unit_test(some_calls_stay),
        cmocka_unit_test(what_grows_without_end_is_refused),
        cmocka_unit_test(an_if_becomes_switch_and_merge),
        cmocka_unit_test(a_while_becomes_a_loop),
        cmocka_unit_test(control_flow_without_the_attribute_stays),
        cmocka_unit_test(all_that_can_be_is_expanded_across_tasks),
        cmocka_unit_test(an_expansion_that_nobody_wants_ends),
        cmocka_unit_test(branches_of_branches_are_expanded),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
