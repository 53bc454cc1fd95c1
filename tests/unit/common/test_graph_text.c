/*
 * test_graph_text.c - common/proto/text_*.c, graph_text.c: texts of graphs, and
 * the bytes that TensorFlow makes of them, apart from lists, which it packs.
 */
#include "common/proto/graph_text.h"
#include "config/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OUT_MAX ((size_t)1 << 20)
#define BYTES(text) TFD_STR_INIT(text)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static enum tfd_code read_text(struct tfd_str text, enum tfd_graph_form *form,
                               struct tfd_bytes *out, struct tfd_status *st)
{
    *st = (struct tfd_status)TFD_STATUS_INIT;
    tfd_bytes_init(out, OUT_MAX);
    return tfd_graph_text_read(text, form, out, st);
}

static const struct {
    const char *text;
    struct tfd_str bytes;
} good[] = {
    {"node { name: \"a\" op: \"Const\" }",
     BYTES("\012\012\012\001a\022\005Const")},
    {"# comment\nnode < name: 'a' op: 'No' \"Op\"; input: [\"b\", '^c'],"
     " device: '' >",
     BYTES("\012\022\012\001a\022\004NoOp\032\001b\032\002^c\042\000")},
    {"node { attr { key: \"T\" value { type: DT_FLOAT } } }",
     BYTES("\012\011*\007\012\001T\022\0020\001")},
    {"node: [{ attr: { key: \"T\", value: { list { type: [DT_INT32, DT_INT4, "
     "101] } } } }, {}]",
     BYTES("\012\017*\015\012\001T\022\010\012\0060\0030\0350e\012\000")},
    {"node { name: \"\\n\\t\\\"\\'\\\\\\101\\x42\\x4a1\\u00e9\\U0001F600\\0\" "
     "}",
     BYTES("\012\022\012\020\012\011\042'\134ABJ1\303\251\360\237\230\200"
           "\000")},
    {"versions{producer:0x1F min_consumer:017 bad_consumers:[] "
     "bad_consumers:- 1}",
     BYTES("\042\017\010\037\020\017\030\377\377\377\377\377\377\377\377\377"
           "\001")},
    {"node { attr { key: 'f' value { f: -1.5e+3f } } "
     "attr { key: 'g' value { f: -inf } } attr { key: 'b' value { b: t } } }",
     BYTES("\012!*\012\012\001f\022\005%\000\200\273\304*\012\012\001g\022\005%"
           "\000\000\200\377*\007\012\001b\022\002(\001")},
    {"library { gradient { function_name: 'F' gradient_func: 'G' } }",
     BYTES("\022\010\022\006\012\001F\022\001G")},
    {"node { experimental_debug_info { a: [1, 'x' 'y', {}] b < [t.v/x] {} > "
     "} } debug_info { }",
     BYTES("\012\000")},
    {"node { attr { value { tensor { dtype: DT_DOUBLE_REF double_val: .5 "
     "uint64_val: 18446744073709551615 } } } }",
     BYTES("\012\035*\033\022\031B\027\010f1\000\000\000\000\000\000\340\077"
           "\210\001\377\377\377\377\377\377\377\377\377\001")},
};

static void texts_become_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        enum tfd_graph_form form = TFD_GRAPH_FORM_META;
        struct tfd_status st;
        struct tfd_bytes out;

        if (read_text(tfd_str_of(good[i].text), &form, &out, &st))
            fail_msg("%s: %s", good[i].text, st.text);
        assert_int_equal(form, TFD_GRAPH_FORM_GRAPH);
        if (!tfd_str_eq(tfd_bytes_view(&out), good[i].bytes)) {
            print_message("%s\n", good[i].text);
            assert_int_equal(out.size, good[i].bytes.size);
            assert_memory_equal(out.data, good[i].bytes.data, out.size);
        }
        tfd_bytes_deinit(&out);
    }
}

static void the_first_field_tells_the_message(void **state)
{
    static const struct {
        const char *text;
        enum tfd_graph_form form;
    } forms[] = {
        {"library {}", TFD_GRAPH_FORM_GRAPH},
        {"meta_info_def { tags: 'x' } graph_def {}", TFD_GRAPH_FORM_META},
        {"saved_model_schema_version: 1 meta_graphs {}",
         TFD_GRAPH_FORM_SAVED_MODEL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++) {
        enum tfd_graph_form form = TFD_GRAPH_FORM_GRAPH;
        struct tfd_status st;
        struct tfd_bytes out;

        assert_int_equal(read_text(tfd_str_of(forms[i].text), &form, &out, &st),
                         TFD_OK);
        assert_int_equal(form, forms[i].form);
        tfd_bytes_deinit(&out);
    }
}

static const struct {
    const char *text, *place, *word;
} bad[] = {
    {"", "line 1, column 1:", "name of a field"},
    {"# nothing", "line 1, column 10:", "name of a field"},
    {"nod { }", "line 1,", "no message has a field nod"},
    {"node { }\n nod { }", "line 2, column 5:", "GraphDef has no field nod"},
    {"node { name: 1 }", "column 14:", "string in quotes"},
    {"node { name \"a\" }", "column 13:", "':'"},
    {"node { name: \"a", "column 16:", "does not end"},
    {"node { name: \"a\nb\" }", "line 1, column 16:", "does not end"},
    {"node {", "column 7:", "'}' is missing"},
    {"node { name: \"a\" >", "column 18:", "name of a field"},
    {"node < }", "column 8:", "name of a field"},
    {"node { } }", "column 10:", "name of a field"},
    {"node { op: \"\\8\" }", "column 14:", "digits"},
    {"node { op: \"\\x\" }", "column 15:", "digits"},
    {"node { op: \"\\777\" }", "column 17:", "one byte"},
    {"node { op: \"\\uD\" }", "column 16:", "4 digits"},
    {"node { op: \"\\UFFFFFFFF\" }", "column 23:", "U+FFFFFFFF"},
    {"versions { producer: 99999999999 }", "column 33:", "32 bits"},
    {"versions { producer: -2147483649 }", "column 33:", "32 bits"},
    {"versions { producer: 1.5 }", "column 25:", "integer"},
    {"versions { producer: 08 }", "column 24:", "integer"},
    {"versions { producer: -'1' }", "column 23:", "value"},
    {"versions { producer: }", "column 22:", "value"},
    {"node { attr { value { type: DT_FLAOT } } }", "column 37:", "DT_FLAOT"},
    {"node { attr { value { type: _REF } } }", "column 33:", "_REF"},
    {"node { attr { value { b: 2 } } }", "column 27:", "true or false"},
    {"node { attr { value { f: 0x1 } } }", "column 29:", "a number"},
    {"node { attr { value { f: 1.2.3 } } }", "column 31:", "a number"},
    {"node: 'a'", "column 7:", "is a message"},
    {"node { name { } }", "column 13:", "no message"},
    {"node [ { } { } ]", "column 12:", "',' or ']'"},
    {"node { input: ['a',] }", "column 20:", "string"},
    {"node { input: [['a']] }", "column 16:", "string"},
    {"node { [a b] {} }", "column 10:", "']'"},
    {": 1", "column 1:", "name of a field"},
};

static void bad_texts_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        enum tfd_graph_form form;
        struct tfd_status st;
        struct tfd_bytes out;

        if (read_text(tfd_str_of(bad[i].text), &form, &out, &st) !=
                TFD_INVALID_ARGUMENT ||
            !strstr(st.text, bad[i].place) || !strstr(st.text, bad[i].word))
            fail_msg("%s: %s", bad[i].text, st.text);
        tfd_bytes_deinit(&out);
    }
}

/* `depth` messages within each other; ignored ones where it says so. */
static enum tfd_code read_nested(int depth, const char *root,
                                 struct tfd_status *st)
{
    enum tfd_graph_form form;
    struct tfd_bytes text, out;
    enum tfd_code rc;

    tfd_bytes_init(&text, OUT_MAX);
    tfd_bytes_printf(&text, "%s", root);
    for (int i = 0; i < depth; i++)
        tfd_bytes_printf(&text, "{ list: [");
    rc = read_text(tfd_bytes_view(&text), &form, &out, st);
    tfd_bytes_deinit(&out);
    tfd_bytes_deinit(&text);
    return rc;
}

static void depth_has_a_maximum(void **state)
{
    struct tfd_status st;

    (void)state;
    assert_int_equal(read_nested(TFD_PROTO_DEPTH_MAX - 1, "debug_info", &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "']' is missing"));
    assert_int_equal(read_nested(TFD_PROTO_DEPTH_MAX, "debug_info", &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "deeper than 100"));
    assert_int_equal(read_nested(50000, "debug_info", &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "deeper than 100"));
}

static void long_tokens_are_refused(void **state)
{
    enum tfd_graph_form form;
    struct tfd_bytes text, out;
    struct tfd_status st;

    (void)state;
    tfd_bytes_init(&text, OUT_MAX);
    tfd_bytes_printf(&text, "version: %0*d", TFD_TEXT_TOKEN_SIZE_MAX, 0);
    assert_int_equal(read_text(tfd_bytes_view(&text), &form, &out, &st),
                     TFD_OK);
    tfd_bytes_deinit(&out);
    tfd_bytes_printf(&text, "0");
    assert_int_equal(read_text(tfd_bytes_view(&text), &form, &out, &st),
                     TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "256 characters"));
    tfd_bytes_deinit(&out);
    tfd_bytes_deinit(&text);
}

/* Every beginning of a text is a text or is refused. */
static void cut_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        for (size_t n = 0; n < strlen(good[i].text); n++) {
            enum tfd_graph_form form;
            struct tfd_status st;
            struct tfd_bytes out;
            enum tfd_code rc =
                read_text((struct tfd_str){good[i].text, n}, &form, &out, &st);

            assert_true(rc == TFD_OK || rc == TFD_INVALID_ARGUMENT);
            tfd_bytes_deinit(&out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_messages),
        cmocka_unit_test(the_first_field_tells_the_message),
        cmocka_unit_test(bad_texts_are_refused_where_they_are_wrong),
        cmocka_unit_test(depth_has_a_maximum),
        cmocka_unit_test(long_tokens_are_refused),
        cmocka_unit_test(cut_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
