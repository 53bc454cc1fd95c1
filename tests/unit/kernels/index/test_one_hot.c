/*
 * test_one_hot.c - OneHot against a plain loop: columns around a block's, every
 * width of elements and type of classes, classes that are none.
 */
#include "tests/support/kernel_rig.h"

#define TEXT_SIZE (1 << 18)

static char classes[TEXT_SIZE], output[TEXT_SIZE];

struct plain {
    const char *type, *class_type;
    int outer, depth, inner;
};

/* Two of depth + 2 are outside. */
static int class_of(const struct plain *p, int column)
{
    return column * 7 % (p->depth + 2) - 1;
}

static void check(const struct plain *p)
{
    char depth[32], on[32], off[32];
    const struct krig_case cases[] = {
        {"OneHot", "axis=1", {classes, depth, on, off}, {output}}};
    size_t in = (size_t)sprintf(classes, "%s[%d,%d]", p->class_type, p->outer,
                                p->inner);
    size_t out = (size_t)sprintf(output, "%s[%d,%d,%d]", p->type, p->outer,
                                 p->depth, p->inner);

    sprintf(depth, "int32[] %d", p->depth);
    sprintf(on, "%s[] 1", p->type);
    sprintf(off, "%s[] 0", p->type);
    for (int i = 0; i < p->outer * p->inner; i++)
        in += (size_t)sprintf(classes + in, " %d", class_of(p, i));
    for (int o = 0; o < p->outer; o++)
        for (int d = 0; d < p->depth; d++)
            for (int c = 0; c < p->inner; c++)
                out += (size_t)sprintf(output + out, " %d",
                                       class_of(p, o * p->inner + c) == d);
    KRIG_CHECK(cases);
}

static void test_shapes(void **state)
{
    static const int outers[] = {0, 1, 3, 255, 256, 257};
    static const int inners[] = {1, 2, 5};
    static const int depths[] = {1, 3, 10};

    (void)state;
    for (size_t o = 0; o < sizeof(outers) / sizeof(outers[0]); o++)
        for (size_t i = 0; i < sizeof(inners) / sizeof(inners[0]); i++)
            for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
                check(&(struct plain){"float", "int32", outers[o], depths[d],
                                      inners[i]});
    check(&(struct plain){"float", "int64", 2, 3, 600});
    check(&(struct plain){"float", "int64", 1, 2, 257});
}

static void test_types(void **state)
{
    static const char *const types[] = {"bool",  "uint8",  "int16",
                                        "half",  "float",  "int32",
                                        "int64", "double", "complex128"};
    static const char *const class_types[] = {"int8", "int32", "int64"};

    (void)state;
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t c = 0; c < 3; c++)
            check(&(struct plain){types[t], class_types[c], 9, 4, 3});
}

static void test_strings_and_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"OneHot",
         "",
         {"uint8[3] 1 255 0", "int32[] 2", "string[] on", "string[] off"},
         {"string[3,2] off on off off on off"}},
        {"OneHot",
         "",
         {"int32[2] 0 1", "int32[] -1", "float[] 1", "float[] 0"},
         {"!INVALID_ARGUMENT depth must be non-negative, got: -1"}},
        {"OneHot",
         "axis=2",
         {"int32[2] 0 1", "int32[] 2", "float[] 1", "float[] 0"},
         {"!INVALID_ARGUMENT Expected axis to be -1 or between [0, 2)"}},
        {"OneHot",
         "",
         {"int32[2] 0 1", "int32[] 0", "float[] 1", "float[] 0"},
         {"float[2,0]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_strings_and_refusals),
    };

    return cmocka_run_group_tests_name("one_hot", tests, krig_setup,
                                       krig_teardown);
}
