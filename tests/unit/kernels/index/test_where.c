/*
 * test_where.c - where.c against a plain loop: lengths around words and chunks
 * of bits, every type, rows long and short, dense and nearly empty.
 */
#include "tests/support/kernel_rig.h"

#define TEXT_SIZE (1 << 20)

static char input[TEXT_SIZE], output[TEXT_SIZE];

struct plain {
    int rows, columns; /* rows 0: a vector */
    int every;         /* element i is not zero where i % every is `rest` */
    int rest;
};

static int count_of(const struct plain *p)
{
    int n = (p->rows ? p->rows : 1) * p->columns, found = 0;

    for (int i = 0; i < n; i++)
        found += i % p->every == p->rest;
    return found;
}

static void write_texts(const char *type, const struct plain *p)
{
    int n = (p->rows ? p->rows : 1) * p->columns;
    size_t in = 0, out = 0;

    if (p->rows)
        in += (size_t)sprintf(input, "%s[%d,%d]", type, p->rows, p->columns);
    else
        in += (size_t)sprintf(input, "%s[%d]", type, p->columns);
    out +=
        (size_t)sprintf(output, "int64[%d,%d]", count_of(p), p->rows ? 2 : 1);
    for (int i = 0; i < n; i++) {
        bool set = i % p->every == p->rest;

        in += (size_t)sprintf(input + in, set ? " 1" : " 0");
        if (set && p->rows)
            out += (size_t)sprintf(output + out, " %d", i / p->columns);
        if (set)
            out += (size_t)sprintf(output + out, " %d", i % p->columns);
    }
}

static void check(const char *type, struct plain p)
{
    const struct krig_case cases[] = {{"Where", "", {input}, {output}}};

    write_texts(type, &p);
    KRIG_CHECK(cases);
}

static void test_lengths(void **state)
{
    static const int lengths[] = {0,    1,    2,    7,    8,    9,    63,
                                  64,   65,   127,  128,  129,  4095, 4096,
                                  4097, 4160, 8191, 8192, 8193, 12289};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        check("bool", (struct plain){0, lengths[i], 1, 0});
        check("bool", (struct plain){0, lengths[i], 1, 1}); /* none */
        check("bool", (struct plain){0, lengths[i], 3, 2});
        check("float", (struct plain){0, lengths[i], 3, 0});
        check("bool", (struct plain){0, lengths[i], 4096, 4095});
    }
}

static void test_types(void **state)
{
    static const char *const types[] = {
        "float", "double", "int32",  "uint8",  "int16",     "int8",
        "int64", "qint8",  "quint8", "qint32", "bfloat16",  "uint16",
        "half",  "uint32", "uint64", "bool",   "complex64", "complex128"};

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        check(types[i], (struct plain){0, 133, 2, 1});
        check(types[i], (struct plain){19, 7, 5, 1});
    }
}

static void test_rows(void **state)
{
    (void)state;
    check("bool", (struct plain){1, 5000, 3, 1});
    check("bool", (struct plain){5000, 1, 3, 1});
    check("bool", (struct plain){5000, 1, 1, 0});
    check("bool", (struct plain){2500, 3, 1999, 1998}); /* rows are skipped */
    check("bool", (struct plain){70, 64, 1, 0});
    check("bool", (struct plain){70, 65, 2, 1});
    check("bool", (struct plain){0, 5000, 5000, 4999});
}

static void test_signs_and_parts(void **state)
{
    static const struct krig_case cases[] = {
        {"Where", "", {"float[4] -0 nan 0 -inf"}, {"int64[2,1] 1 3"}},
        {"Where", "", {"double[3] -0 nan 1e-310"}, {"int64[2,1] 1 2"}},
        {"Where", "", {"half[3] -0 -1 0"}, {"int64[1,1] 1"}},
        {"Where", "", {"bfloat16[3] -0 nan 0"}, {"int64[1,1] 1"}},
        {"Where", "", {"complex64[3] -0,-0 0,1 -1,0"}, {"int64[2,1] 1 2"}},
        {"Where", "", {"complex128[3] -0,-0 0,1 -1,0"}, {"int64[2,1] 1 2"}},
        {"Where", "", {"bool[2,0,3]"}, {"int64[0,3]"}},
        {"Where", "", {"bool[0]"}, {"int64[0,1]"}},
        {"Where",
         "",
         {"int8[2,2,2] 0 -128 0 1"},
         {"int64[4,3] 0 0 1 0 1 1 1 0 1 1 1 1"}},
        {"Where",
         "",
         {"bool[] 1"},
         {"!INVALID_ARGUMENT WhereOp : Unhandled input dimensions: 0"}},
        {"Where",
         "",
         {"float[] 0"},
         {"!INVALID_ARGUMENT WhereOp : Unhandled input dimensions: 0"}},
        {"Where", "", {"string[2] a b"}, {"!INVALID_ARGUMENT T"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_signs_and_parts),
    };

    return cmocka_run_group_tests(tests, krig_setup, krig_teardown);
}
