/*
 * test_sets.c - sets.c beside a plain loop: many groups of few members, few of
 * many, with repetitions, however threads share them.
 */
#include "tests/support/kernel_rig.h"

#define TOP 40 /* values are below it */
#define ROOM 200000

static char text[6][ROOM];
static size_t used[6];

static void put(int which, const char *format, int value)
{
    used[which] += (size_t)snprintf(text[which] + used[which],
                                    ROOM - used[which], format, value);
    assert_true(used[which] < ROOM);
}

static int value_at(int set, int group, int i)
{
    return (group * 7 + i * (set ? 11 : 29) + i * i * 3) % TOP;
}

static bool has(int set, int group, int inner, int value)
{
    for (int i = 0; i < inner; i++)
        if (value_at(set, group, i) == value)
            return true;
    return false;
}

/* Values are so many apart. */
static void check(const char *type, const char *operation, int groups,
                  int inner, int apart)
{
    char attrs[60], shape[60];
    const struct krig_case c = {"DenseToDenseSetOperation",
                                attrs,
                                {text[0], text[1]},
                                {text[4], text[5], shape}};
    int count = 0, largest = 0;

    memset(used, 0, sizeof(used));
    snprintf(attrs, sizeof(attrs), "set_operation=%s", operation);
    for (int set = 0; set < 2; set++) {
        used[set] =
            (size_t)snprintf(text[set], ROOM, "%s[%d,%d]", type, groups, inner);
        for (int i = 0; i < groups * inner; i++)
            put(set, " %d", apart * value_at(set, i / inner, i % inner));
    }
    text[2][0] = text[3][0] = '\0';
    for (int group = 0; group < groups; group++) {
        int place = 0;

        for (int value = 0; value < TOP; value++) {
            const bool a = has(0, group, inner, value);
            const bool b = has(1, group, inner, value);

            if (operation[0] == 'u'   ? a || b
                : operation[0] == 'i' ? a && b
                                      : a && !b) {
                put(2, " %d", group);
                put(2, " %d", place++);
                put(3, " %d", apart * value);
                count++;
            }
        }
        largest = place > largest ? place : largest;
    }
    snprintf(text[4], ROOM, "int64[%d,2]%.*s", count, (int)used[2], text[2]);
    snprintf(text[5], ROOM, "%s[%d]%.*s", type, count, (int)used[3], text[3]);
    snprintf(shape, sizeof(shape), "int64[2] %d %d", groups, largest);
    krig_check(&c);
}

static void test_groups_of_all_sizes(void **state)
{
    static const char *const operations[] = {"a-b", "intersection", "union"};
    static const int sizes[][2] = {{1, 1},  {1, 7},   {300, 3}, {70, 17},
                                   {9, 64}, {3, 256}, {3, 257}, {1, 1000}};

    (void)state;
    for (int o = 0; o < TFD_COUNT(operations); o++)
        for (int i = 0; i < TFD_COUNT(sizes); i++) {
            check("int64", operations[o], sizes[i][0], sizes[i][1], 1);
            check("int16", operations[o], sizes[i][0], sizes[i][1], 1);
            check("int64", operations[o], sizes[i][0], sizes[i][1], 1 << 25);
            check("int16", operations[o], sizes[i][0], sizes[i][1], 700);
        }
}

/* A group may come in parts where nobody asks for order. */
static void test_groups_in_parts(void **state)
{
    static const struct krig_case cases[] = {
        {"SetSize",
         "validate_indices=false",
         {"int64[4,2] 1 0 0 0 1 1 1 2", "int64[4] 5 5 5 6", "int64[2] 2 3"},
         {"int32[2] 1 2"}},
        {"SetSize",
         "validate_indices=false",
         {"int64[3,2] 2 0 2 1 0 1", "int8[3] -5 5 5", "int64[2] 3 3"},
         {"int32[3] 1 0 2"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"DenseToDenseSetOperation",
         "set_operation=union",
         {"int32[2,2] 1", "int32[3,2] 1"},
         {"!INVALID_ARGUMENT Mismatched shapes [2] vs [3]"}},
        {"DenseToDenseSetOperation",
         "set_operation=union",
         {"int32[2] 1", "int32[2] 1"},
         {"!INVALID_ARGUMENT Shape [2] has rank 1 < 2"}},
        {"SetSize",
         "",
         {"int64[1,2] 0 5", "int32[1] 1", "int64[2] 2 3"},
         {"!INVALID_ARGUMENT out of bounds"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_all_sizes),
        cmocka_unit_test(test_groups_in_parts),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("sets", tests, krig_setup,
                                       krig_teardown);
}
