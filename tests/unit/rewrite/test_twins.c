/*
 * test_twins.c - daemon/rewrite/twins.c: which nodes become one.
 */
#include "daemon/rewrite/twins.h"

#include "tests/support/planning.h"

static enum tfd_code join(struct tfd_graph *g, struct tfd_pruned *p,
                          struct tfd_arena *arena)
{
    int32_t device_of[NODES_LIST_MAX];

    note_devices(g, 0, device_of);
    return tfd_twins_join(g, device_of, p, arena, NULL);
}

static void check_all(const struct rewriting *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_rewriting(&cases[i], join);
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof((cases)[0]))

static void test_twins_are_joined(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; b Relu a; c Relu a; d Mul b,c", "|d|",
         "a b(a) d(b,b) fetch.d(d)"},
        /* And those that have become twins by that. */
        {"a Const; b Const; c Relu a; d Relu b; e Mul c,d", "|e|",
         "a c(a) e(c,c) fetch.e(e)"},
        {"n ConstI; m ConstI; a Const; s Split n,a; t Split m,a;"
         "x Mul s:1,t:1",
         "|x|", "n a s(n,a) x(s:1,s:1) fetch.x(x)"},
        /* Fetches keep their names. */
        {"a Const; b Relu a; c Relu a; d Const", "|b,c|",
         "a b(a) fetch.b(b) fetch.c(b)"},
        {"p Placeholder; b Relu p; c Relu p; d Mul c,b", "p|d|",
         "feed.p b(feed.p) d(b,b) fetch.d(d)"},
        /* What waits for both waits once; those that wait alike are twins. */
        {"a Const; b Relu a; c Relu a; n NoOp ^b,^c,^a", "||n",
         "a b(a) n(^b,^a)"},
        {"a Const; w NoOp; b Relu a,^w; c Relu a,^w; d Mul b,c", "|d|",
         "a w b(a,^w) d(b,b) fetch.d(d)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_others_are_not(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; b Relu a; c Identity a; d Mul b,c", "|d|",
         "a b(a) c(a) d(b,c) fetch.d(d)"},
        {"a Const; b Placeholder; x Mul a,b; y Mul b,a; z Mul x,y", "b|z|",
         "feed.b a x(a,feed.b) y(feed.b,a) z(x,y) fetch.z(z)"},
        {"n ConstI; a Const; s Split n,a; b Relu s; c Relu s:1; d Mul b,c",
         "|d|", "n a s(n,a) b(s) c(s:1) d(b,c) fetch.d(d)"},
        /* Attributes, and what they wait for. */
        {"a Const; b Const; p Pack a,b; q Pack1 a,b; m Mul p,q", "|m|",
         "a p(a,a) q(a,a) m(p,q) fetch.m(m)"},
        {"a Const; w NoOp; b Relu a,^w; c Relu a; d Mul b,c", "|d|",
         "a w b(a,^w) c(a) d(b,c) fetch.d(d)"},
        /* On two devices. */
        {"a Const; b Relu a 1; c Relu a 2; d Mul b,c", "|d|",
         "a b(a) c(a) d(b,c) fetch.d(d)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_what_does_more_than_compute_is_kept(void **state)
{
    static const struct rewriting cases[] = {
        {"s ConstI; a RandomUniform s; b RandomUniform s; c Mul a,b", "|c|",
         "s a(s) b(s) c(a,b) fetch.c(c)"},
        {"a Placeholder; b Placeholder; c Mul a,b; d Relu c", "|d|",
         "a b c(a,b) d(c) fetch.d(d)"},
        {"v VariableV2; b Relu v; c Relu v; d Mul b,c", "|d|",
         "v b(v) c(v) d(b,c) fetch.d(d)"},
        {"v VarHandleOp; b ReadVariableOp v; c ReadVariableOp v; d Mul b,c",
         "|d|", "v b(v) c(v) d(b,c) fetch.d(d)"},
        {"a Const; b PlaceholderB; s Switch a,b; t Switch a,b; c Mul s,t",
         "|c|", "a b s(a,b) t(a,b) c(s,t) fetch.c(c)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_what_somebody_names_is_kept(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; b Relu a; c Relu a; d Mul b,c", "|d|c",
         "a b(a) c(a) d(b,c) fetch.d(d)"},
        /* Fed: readers read the feed, and there is one of it. */
        {"a Const; b Relu a; c Relu a; d Mul b,c; n NoOp ^c", "c|d|n",
         "feed.c a b(a) c(a) d(b,feed.c) n(^c) fetch.d(d)"},
        /* A tiny graph. */
        {"a Const; b Relu a; c Relu a", "|b,c|",
         "a b(a) c(a) fetch.b(b) fetch.c(c)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_an_arena_that_is_too_small_is_a_failure(void **state)
{
    struct tfd_graph *g = new_graph("a Const; b Relu a; c Relu a; d Mul b,c");
    enum tfd_code rc = TFD_RESOURCE_EXHAUSTED;
    struct signature s;

    (void)state;
    parse(&s, "|d|");
    for (size_t max = 0; max < 8000; max += 16) {
        struct tfd_arena arena;
        struct tfd_pruned p;

        tfd_arena_init(&arena, max);
        rc = tfd_prune(g, &s.sig, &arena, &p, NULL);
        if (rc == TFD_OK)
            rc = join(g, &p, &arena);
        assert_true(rc == TFD_OK || rc == TFD_RESOURCE_EXHAUSTED);
        tfd_arena_deinit(&arena);
    }
    assert_int_equal(rc, TFD_OK);
    tfd_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twins_are_joined),
        cmocka_unit_test(test_others_are_not),
        cmocka_unit_test(test_what_does_more_than_compute_is_kept),
        cmocka_unit_test(test_what_somebody_names_is_kept),
        cmocka_unit_test(test_an_arena_that_is_too_small_is_a_failure),
    };

    return cmocka_run_group_tests_name("twins", tests, setup_registry,
                                       teardown_registry);
}
