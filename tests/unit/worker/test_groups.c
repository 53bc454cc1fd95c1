/*
 * test_groups.c - groups of collectives, who is which rank, the source of a
 * broadcast; and values that meet (buf_rendezvous.h), from two threads.
 */
#include "common/base/container.h"
#include "config/limits.h"
#include "daemon/worker/collective/buf_rendezvous.h"
#include "daemon/worker/collective/groups.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- Groups -------------------------------------------------------------- */

static struct tfd_device_attributes device(const char *job, int task, int cpu)
{
    struct tfd_device_attributes d = {.incarnation = 7};

    snprintf(d.name, sizeof(d.name), "/job:%s/replica:0/task:%d/device:CPU:%d",
             job, task, cpu);
    return d;
}

static enum tfd_code join(struct tfd_groups *g, int32_t key, int32_t size,
                          struct tfd_device_attributes d,
                          struct tfd_group **out)
{
    return tfd_groups_join(g, key, size, &d, TFD_STR("op"), out, NULL);
}

struct waiter {
    struct tfd_group_wait wait;
    int ready, failed;
};

static void count_ready(struct tfd_group_wait *w, const struct tfd_status *st)
{
    struct waiter *x = TFD_CONTAINER_OF(w, struct waiter, wait);

    x->ready++;
    x->failed += st != NULL;
}

static void ranks_are_by_names(void **state)
{
    static const int order[] = {10, 2, 0, 11, 1};
    struct tfd_groups g = {.groups = {NULL, 0, 0}};
    struct waiter w = {.wait = {.ready = count_ready}};
    struct tfd_group *group;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(TFD_OK,
                         join(&g, 3, 7, device("w", order[i], 0), &group));
        assert_false(tfd_group_complete(group));
    }
    tfd_group_wait_for(&group->waits, &w.wait);
    assert_int_equal(TFD_OK, join(&g, 3, 7, device("w", 2, 1), &group));
    assert_int_equal(0, w.ready);
    assert_int_equal(TFD_OK, join(&g, 3, 7, device("ps", 4, 0), &group));
    assert_int_equal(1, w.ready);
    assert_int_equal(0, w.failed);
    assert_int_equal(6, group->tasks);
    assert_string_equal("/job:ps/replica:0/task:4/device:CPU:0",
                        group->member[0].name);
    assert_string_equal("/job:w/replica:0/task:2/device:CPU:1",
                        group->member[4].name);
    assert_int_equal(3, group->task[3]);
    assert_int_equal(3, group->task[4]);
    assert_int_equal(5, group->task[6]);
    assert_int_equal(
        6, tfd_group_rank(group, TFD_STR("/job:w/replica:0/task:11/device:"
                                         "CPU:0")));
    assert_int_equal(-1, tfd_group_rank(group, TFD_STR_EMPTY));
    tfd_groups_deinit(&g);
}

static void what_is_no_group(void **state)
{
    struct tfd_groups g = {.groups = {NULL, 0, 0}};
    struct tfd_group *group;

    (void)state;
    assert_int_equal(TFD_INVALID_ARGUMENT,
                     join(&g, 1, 0, device("w", 0, 0), &group));
    assert_int_equal(
        TFD_INVALID_ARGUMENT,
        join(&g, 1, TFD_COLLECTIVE_GROUP_MAX + 1, device("w", 0, 0), &group));
    assert_int_equal(TFD_OK, join(&g, 1, 1, device("w", 0, 0), &group));
    assert_int_equal(TFD_OK, join(&g, 1, 1, device("w", 0, 0), &group));
    assert_int_equal(TFD_INTERNAL, join(&g, 1, 2, device("w", 0, 0), &group));
    assert_int_equal(TFD_INTERNAL, join(&g, 1, 1, device("w", 1, 0), &group));
    tfd_groups_deinit(&g);
}

/* Groups from first on, of one member each or of two; in which this task's
 * collectives meet or not. */
static void fill(struct tfd_groups *g, int32_t first, int size, bool own)
{
    struct tfd_group *group;

    for (int i = 0; i < TFD_COLLECTIVE_GROUPS_MAX; i++) {
        if (tfd_groups_find(g, first + i))
            continue;
        assert_int_equal(TFD_OK,
                         join(g, first + i, size, device("w", 0, 0), &group));
        group->own = own;
        group->used_us = i; /* whatever the clock's grain */
    }
}

static void the_oldest_group_goes_where_all_are_full(void **state)
{
    struct tfd_groups g = {.idle_us = INT64_C(1) << 60};
    struct tfd_group *group;

    (void)state;
    fill(&g, 1, 1, false);
    tfd_groups_find(&g, 1)->own = true;
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(TFD_OK,
                         join(&g, -1 - i, 1, device("w", 0, 0), &group));
        assert_int_equal(TFD_COLLECTIVE_GROUPS_MAX, g.groups.count);
        assert_non_null(tfd_groups_find(&g, 1));
        if (i + 2 <= TFD_COLLECTIVE_GROUPS_MAX)
            assert_null(tfd_groups_find(&g, i + 2));
    }
    tfd_groups_drop_all(&g);
    assert_int_equal(0, g.groups.count);
    tfd_groups_deinit(&g);
}

static void groups_in_use_stay(void **state)
{
    struct tfd_groups g = {.idle_us = INT64_C(1) << 60};
    struct tfd_group *group;

    (void)state;
    fill(&g, 1, 1, true);
    assert_int_equal(TFD_RESOURCE_EXHAUSTED,
                     join(&g, -1, 1, device("w", 0, 0), &group));
    /* One of which nobody knows all members goes at once. */
    tfd_groups_find(&g, 700)->size = 2;
    assert_int_equal(TFD_OK, join(&g, -1, 1, device("w", 0, 0), &group));
    group->own = true;
    assert_null(tfd_groups_find(&g, 700));
    assert_int_equal(TFD_RESOURCE_EXHAUSTED,
                     join(&g, -2, 1, device("w", 0, 0), &group));
    g.idle_us = 0;
    assert_int_equal(TFD_OK, join(&g, -2, 1, device("w", 0, 0), &group));
    assert_null(tfd_groups_find(&g, 1));
    tfd_groups_deinit(&g);
}

/* Groups that wait for a member, and a broadcast that waits for its source. */
static void groups_that_are_waited_for_stay(void **state)
{
    static struct waiter w[TFD_COLLECTIVE_GROUPS_MAX];
    struct tfd_groups g = {.idle_us = 0};
    struct tfd_group_instance *i;
    struct tfd_group *group;

    (void)state;
    assert_int_equal(TFD_OK, join(&g, 1, 2, device("w", 0, 0), &group));
    assert_int_equal(TFD_OK, join(&g, 1, 2, device("w", 1, 0), &group));
    assert_int_equal(TFD_OK,
                     tfd_groups_broadcast(&g, group, 5, 0, false, &i, NULL));
    w[0].wait.ready = count_ready;
    tfd_group_wait_for(&i->waits, &w[0].wait);
    fill(&g, 1, 2, false);
    for (int n = 1; n < TFD_COLLECTIVE_GROUPS_MAX; n++) {
        w[n].wait.ready = count_ready;
        tfd_group_wait_for(&tfd_groups_find(&g, n + 1)->waits, &w[n].wait);
    }
    assert_int_equal(TFD_RESOURCE_EXHAUSTED,
                     join(&g, -1, 1, device("w", 0, 0), &group));
    tfd_group_wait_end(&w[900].wait);
    assert_int_equal(TFD_OK, join(&g, -1, 1, device("w", 0, 0), &group));
    assert_null(tfd_groups_find(&g, 901));
    tfd_groups_drop(&g, -1);
    tfd_group_wait_end(&w[0].wait);
    assert_int_equal(TFD_OK, join(&g, -1, 1, device("w", 0, 0), &group));
    assert_int_equal(TFD_OK, join(&g, -2, 1, device("w", 0, 0), &group));
    assert_int_equal(TFD_COLLECTIVE_GROUPS_MAX, g.groups.count);
    for (int n = 1; n < TFD_COLLECTIVE_GROUPS_MAX; n++)
        tfd_group_wait_end(&w[n].wait);
    tfd_groups_deinit(&g);
}

static void sources(void **state)
{
    struct tfd_groups g = {.groups = {NULL, 0, 0}};
    struct waiter w = {.wait = {.ready = count_ready}};
    struct tfd_group_instance *i;
    struct tfd_group *group;

    (void)state;
    assert_int_equal(TFD_OK, join(&g, 1, 2, device("w", 0, 0), &group));
    assert_int_equal(TFD_OK, join(&g, 1, 2, device("w", 1, 0), &group));
    assert_int_equal(TFD_OK,
                     tfd_groups_broadcast(&g, group, 5, 0, false, &i, NULL));
    assert_false(tfd_group_instance_ready(i));
    tfd_group_wait_for(&i->waits, &w.wait);
    assert_int_equal(TFD_OK,
                     tfd_groups_broadcast(&g, group, 5, 1, true, &i, NULL));
    assert_true(tfd_group_instance_ready(i));
    assert_int_equal(1, i->source);
    assert_int_equal(1, w.ready);
    assert_int_equal(TFD_INTERNAL,
                     tfd_groups_broadcast(&g, group, 5, 0, true, &i, NULL));
    assert_int_equal(TFD_OK,
                     tfd_groups_broadcast(&g, group, 6, 0, false, &i, NULL));
    tfd_group_wait_for(&i->waits, &w.wait);
    assert_int_equal(TFD_INTERNAL,
                     tfd_groups_broadcast(&g, group, 6, 1, false, &i, NULL));
    assert_int_equal(2, w.ready);
    assert_int_equal(1, w.failed);
    for (int key = 10; key < 10 + 2 * TFD_COLLECTIVE_INSTANCES_MAX; key++)
        assert_int_equal(
            TFD_OK, tfd_groups_broadcast(&g, group, key, 0, false, &i, NULL));
    assert_true(g.instances.count <= TFD_COLLECTIVE_INSTANCES_MAX);
    tfd_groups_deinit(&g);
}

/* ---- Values -------------------------------------------------------------- */

struct end {
    struct tfd_buf_end end;
    struct tfd_tensor value;
    int met;
};

static void met(struct tfd_buf_end *e, struct tfd_tensor *take_value)
{
    struct end *x = TFD_CONTAINER_OF(e, struct end, end);

    x->value = *take_value;
    x->met++;
}

static struct end end_of(int64_t step, const char *key)
{
    return (struct end){
        .end = {.step = step, .key = tfd_str_of(key), .met = met}};
}

static struct tfd_tensor number(float x)
{
    const struct tfd_shape shape = {1, {1}};
    struct tfd_tensor t;

    assert_int_equal(TFD_OK, tfd_tensor_new(&t, TFD_FLOAT, &shape, NULL));
    *(float *)tfd_tensor_data(&t) = x;
    return t;
}

static void values_meet(void **state)
{
    struct tfd_tensor v = number(2.5F);
    struct end offer = end_of(1, "a"), want = end_of(1, "a"),
               other = end_of(2, "a"), twice = end_of(1, "a");
    struct tfd_buf_rendezvous b;

    (void)state;
    tfd_buf_rendezvous_init(&b);
    for (int first = 0; first < 2; first++) {
        offer.met = want.met = 0;
        if (first == 0)
            assert_int_equal(TFD_OK, tfd_buf_offer(&b, &offer.end, &v, NULL));
        assert_int_equal(TFD_OK, tfd_buf_want(&b, &other.end, NULL));
        assert_int_equal(0, offer.met + other.met);
        assert_int_equal(TFD_OK, tfd_buf_want(&b, &want.end, NULL));
        if (first == 1) {
            assert_int_equal(TFD_INTERNAL, tfd_buf_want(&b, &twice.end, NULL));
            assert_int_equal(TFD_OK, tfd_buf_offer(&b, &offer.end, &v, NULL));
        }
        assert_int_equal(1, offer.met);
        assert_int_equal(1, want.met);
        assert_true(tfd_tensor_data(&want.value) == tfd_tensor_data(&v));
        tfd_tensor_unref(&want.value);
        assert_false(tfd_buf_forget(&b, &want.end));
        assert_true(tfd_buf_forget(&b, &other.end));
    }
    assert_int_equal(TFD_OK, tfd_buf_offer(&b, &offer.end, &v, NULL));
    assert_int_equal(TFD_INTERNAL, tfd_buf_offer(&b, &twice.end, &v, NULL));
    assert_true(tfd_buf_forget(&b, &offer.end));
    tfd_buf_rendezvous_deinit(&b);
    tfd_tensor_unref(&v);
}

#define ROUNDS 2000

static void *offer_all(void *arg)
{
    struct tfd_buf_rendezvous *b = arg;
    static struct end ends[ROUNDS];
    struct tfd_tensor v = number(1);

    for (int i = 0; i < ROUNDS; i++) {
        ends[i] = end_of(i, "key");
        assert_int_equal(TFD_OK, tfd_buf_offer(b, &ends[i].end, &v, NULL));
    }
    tfd_tensor_unref(&v);
    return NULL;
}

static void values_meet_between_threads(void **state)
{
    static struct end ends[ROUNDS];
    struct tfd_buf_rendezvous b;
    pthread_t thread;

    (void)state;
    tfd_buf_rendezvous_init(&b);
    assert_int_equal(0, pthread_create(&thread, NULL, offer_all, &b));
    for (int i = 0; i < ROUNDS; i++) {
        ends[i] = end_of(i, "key");
        assert_int_equal(TFD_OK, tfd_buf_want(&b, &ends[i].end, NULL));
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(1, ends[i].met);
        tfd_tensor_unref(&ends[i].value);
    }
    tfd_buf_rendezvous_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_by_names),
        cmocka_unit_test(what_is_no_group),
        cmocka_unit_test(the_oldest_group_goes_where_all_are_full),
        cmocka_unit_test(groups_in_use_stay),
        cmocka_unit_test(groups_that_are_waited_for_stay),
        cmocka_unit_test(sources),
        cmocka_unit_test(values_meet),
        cmocka_unit_test(values_meet_between_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
