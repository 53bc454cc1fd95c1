/*
 * test_bitwise.c - bitwise.c: every type and every length around the vectors'
 * lanes, beside a plain loop; shifts by less than nothing and by too much.
 */
#include "tests/support/kernel_rig.h"

#include <inttypes.h>

#define LENGTH_MAX 70

static const struct type {
    const char *name;
    int bits;
    bool is_signed;
} types[] = {{"int8", 8, true},     {"int16", 16, true},  {"int32", 32, true},
             {"int64", 64, true},   {"uint8", 8, false},  {"uint16", 16, false},
             {"uint32", 32, false}, {"uint64", 64, false}};

/* The low bits of u, as the type has them. */
static int64_t as_type(const struct type *t, uint64_t u)
{
    const int unused = 64 - t->bits;

    return t->is_signed ? (int64_t)(u << unused) >> unused
                        : (int64_t)(u << unused >> unused);
}

/* Any bits, by splitmix64. */
static int64_t value_at(const struct type *t, int i)
{
    uint64_t z = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return as_type(t, z ^ (z >> 31));
}

/* From -3 to three more than there are bits; unsigned ones from 0. */
static int64_t shift_at(const struct type *t, int i)
{
    const int64_t by = i % (t->bits + 7) - 3;

    return t->is_signed || by > 0 ? by : 0;
}

static uint64_t one(const struct type *t, char op, int64_t a, int64_t b)
{
    const int64_t most = t->bits - 1;
    const int64_t by = b < 0 ? 0 : b > most ? most : b;

    switch (op) {
    case '&':
        return (uint64_t)(a & b);
    case '|':
        return (uint64_t)(a | b);
    case '^':
        return (uint64_t)(a ^ b);
    case '<':
        return (uint64_t)a << by;
    case '>':
        return t->is_signed ? (uint64_t)(a >> by) : (uint64_t)a >> by;
    default:
        return ~(uint64_t)a;
    }
}

static uint64_t count(const struct type *t, int64_t a)
{
    uint64_t bits = 0;

    for (int i = 0; i < t->bits; i++)
        bits += (uint64_t)a >> i & 1;
    return bits;
}

static void put(char *text, size_t room, size_t *used, const struct type *t,
                int64_t value)
{
    *used += (size_t)(t->is_signed ? snprintf(text + *used, room - *used,
                                              " %" PRId64, value)
                                   : snprintf(text + *used, room - *used,
                                              " %" PRIu64, (uint64_t)value));
    assert_true(*used < room);
}

static void check(const struct type *t, const char *name, char op, int n)
{
    static const struct type byte = {"uint8", 8, false};
    static char text[3][LENGTH_MAX * 22 + 40];
    const struct type *to = op == '#' ? &byte : t;
    const bool unary = op == '~' || op == '#';
    const struct krig_case c = {
        name, "", {text[0], unary ? NULL : text[1]}, {text[2]}};
    size_t used[3];

    for (int i = 0; i < 3; i++)
        used[i] = (size_t)snprintf(text[i], sizeof(text[i]), "%s[%d]",
                                   i == 2 ? to->name : t->name, n);
    for (int i = 0; i < n; i++) {
        const int64_t a = value_at(t, i);
        const int64_t b =
            op == '<' || op == '>' ? shift_at(t, i) : value_at(t, i + 1000);

        put(text[0], sizeof(text[0]), &used[0], t, a);
        put(text[1], sizeof(text[1]), &used[1], t, b);
        put(text[2], sizeof(text[2]), &used[2], to,
            op == '#' ? (int64_t)count(t, a) : as_type(t, one(t, op, a, b)));
    }
    krig_check(&c);
}

static void test_every_type_and_length(void **state)
{
    static const struct {
        const char *name;
        char op;
    } ops[] = {{"BitwiseAnd", '&'},     {"BitwiseOr", '|'},
               {"BitwiseXor", '^'},     {"LeftShift", '<'},
               {"RightShift", '>'},     {"Invert", '~'},
               {"PopulationCount", '#'}};

    (void)state;
    for (int t = 0; t < TFD_COUNT(types); t++)
        for (int o = 0; o < TFD_COUNT(ops); o++)
            for (int n = 0; n <= LENGTH_MAX; n++)
                check(&types[t], ops[o].name, ops[o].op, n);
}

static void test_refusals(void **state)
{
    static const struct krig_case cases[] = {
        {"BitwiseAnd",
         "",
         {"int32[2] 1", "int32[3] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2] vs. [3]"}},
        {"LeftShift",
         "",
         {"int64[2,2] 1", "int64[3] 1"},
         {"!INVALID_ARGUMENT Incompatible shapes: [2,2] vs. [3]"}},
    };

    (void)state;
    KRIG_CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_and_length),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests_name("bitwise", tests, krig_setup,
                                       krig_teardown);
}
