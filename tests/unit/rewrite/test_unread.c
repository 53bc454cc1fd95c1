/*
 * test_unread.c - daemon/rewrite/unread.c: which ops become NoOps, and
 * what those wait for.
 */
#include "daemon/rewrite/unread.h"

#include "tests/support/planning.h"

static enum tfd_code drop(struct tfd_graph *g, struct tfd_pruned *p,
                          struct tfd_arena *arena)
{
    return tfd_unread_drop(g, p, arena, NULL);
}

static void check_all(const struct rewriting *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_rewriting(&cases[i], drop);
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof((cases)[0]))

#define CHAIN "a Const; b Relu a; c Relu b; d Relu c; n NoOp ^d"

static void test_what_is_only_waited_for_is_not_computed(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; b Relu a; c Relu a,^b; x Const", "|c|",
         "a ~b(^a) c(a,^b) fetch.c(c)"},
        /* Those that only it read come next. */
        {CHAIN, "||n", "a ~b(^a) ~c(^b) ~d(^c) n(^d)"},
        /* One that is read besides is computed. */
        {CHAIN, "|b|n", "a b(a) ~c(^b) ~d(^c) n(^d) fetch.b(b)"},
        /* What it waited for, it waits for still, each once. */
        {"a Const; b Const; m Mul a,a,^b; r Relu a,^m,^a; n NoOp ^r", "||n",
         "a b ~m(^a,^b) ~r(^a,^m) n(^r)"},
        {"p Placeholder; q Placeholder; m Mul p,q; n NoOp ^m", "p,q||n",
         "feed.p feed.q ~m(^feed.p,^feed.q) n(^m)"},
        {"a Const; n ConstI; s Split n,a; c Relu s:1; r Relu a,^c", "|r|",
         "a n ~s(^n,^a) ~c(^s) r(a,^c) fetch.r(r)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_what_somebody_wants_is_computed(void **state)
{
    static const struct rewriting cases[] = {
        {CHAIN, "|d|", "a b(a) c(b) d(c) fetch.d(d)"},
        {CHAIN, "||d", "a b(a) c(b) d(c)"},
        {CHAIN, "||d,n", "a b(a) c(b) d(c) n(^d)"},
        {CHAIN, "||d:0", "a b(a) c(b) d(c)"},
        /* Fed, and waited for all the same. */
        {CHAIN, "d||n", "feed.d a b(a) c(b) d(c) n(^d)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_what_does_more_than_compute_is_kept(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; c CheckNumerics a; x Const; n NoOp ^c", "||n",
         "a c(a) n(^c)"},
        {"v VariableV2; c Const; a Assign v,c; n NoOp ^a", "||n",
         "v c a(v,c) n(^a)"},
        /* A reference is read when its reader runs. */
        {"v VariableV2; r Relu v; s Relu r; n NoOp ^s", "||n",
         "v r(v) ~s(^r) n(^s)"},
        {"p Placeholder; q Placeholder; x Const; n NoOp ^p", "||n", "p n(^p)"},
        {"a Const; x Const; y Const; n NoOp ^a", "||n", "a n(^a)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_dead_branches_stay_dead(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; b PlaceholderB; s Switch a,b; r Relu s:1; n NoOp ^r", "||n",
         "a b s(a,b) r(s:1) n(^r)"},
        {"a Const; b PlaceholderB; s Switch a,b; i Identity s:1; c Const ^i;"
         "r Relu c",
         "|r|", "a b s(a,b) i(s:1) c(^i) r(c) fetch.r(r)"},
        /* Behind what keeps it the op is dead as the NoOp is. */
        {"a Const; b PlaceholderB; s Switch a,b; i Identity s:1; r Relu i;"
         "n NoOp ^r",
         "||n", "a b s(a,b) i(s:1) ~r(^i) n(^r)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_tiny_graphs_stay_as_they_are(void **state)
{
    static const struct rewriting cases[] = {
        {"a Const; b Relu a; n NoOp ^b", "||n", "a b(a) n(^b)"},
        {"a Const; b Relu a; n NoOp ^b; x Const", "||n", "a ~b(^a) n(^b)"},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void test_an_arena_that_is_too_small_is_a_failure(void **state)
{
    struct tfd_graph *g = new_graph(CHAIN);
    enum tfd_code rc = TFD_RESOURCE_EXHAUSTED;
    struct signature s;

    (void)state;
    parse(&s, "||n");
    for (size_t max = 0; max < 4000; max += 16) {
        struct tfd_arena arena;
        struct tfd_pruned p;

        tfd_arena_init(&arena, max);
        rc = tfd_prune(g, &s.sig, &arena, &p, NULL);
        if (rc == TFD_OK)
            rc = tfd_unread_drop(g, &p, &arena, NULL);
        assert_true(rc == TFD_OK || rc == TFD_RESOURCE_EXHAUSTED);
        tfd_arena_deinit(&arena);
    }
    assert_int_equal(rc, TFD_OK);
    tfd_graph_unref(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_only_waited_for_is_not_computed),
        cmocka_unit_test(test_what_somebody_wants_is_computed),
        cmocka_unit_test(test_what_does_more_than_compute_is_kept),
        cmocka_unit_test(test_dead_branches_stay_dead),
        cmocka_unit_test(test_tiny_graphs_stay_as_they_are),
        cmocka_unit_test(test_an_arena_that_is_too_small_is_a_failure),
    };

    return cmocka_run_group_tests_name("unread", tests, setup_registry,
                                       teardown_registry);
}
