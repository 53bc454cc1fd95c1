/*
 * test_resource.c - containers, handles, variables, cancellation lists:
 * daemon/worker/state/containers.c, handle.c, cancel.c,
 * kernels/state/variable_core.c.
 */
#include "daemon/worker/state/containers.h"

#include "common/base/alloc.h"
#include "daemon/worker/run/step.h"
#include "kernels/state/variable.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEVICE "/job:ps/replica:0/task:0/device:CPU:0"

static struct tfd_rt rt;
static struct tfd_status st;

static int setup(void **state)
{
    (void)state;
    tfd_status_clear(&st);
    rt = (struct tfd_rt){.device = DEVICE, .container = "ps"};
    rt.containers = tfd_containers_new(&st);
    return rt.containers ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tfd_containers_free(rt.containers);
    tfd_alloc_trim();
    return 0;
}

static struct tfd_variable *make(const char *container, const char *name)
{
    struct tfd_variable_spec spec = {
        &tfd_variable_type, tfd_str_of(name), TFD_FLOAT, {0, {0}}};
    struct tfd_resource *r = NULL;

    assert_int_equal(tfd_rt_find_or_make(&rt, tfd_str_of(container),
                                         tfd_str_of(name), &tfd_variable_type,
                                         tfd_variable_make, &spec, &r, &st),
                     TFD_OK);
    return (struct tfd_variable *)r;
}

static void drop(struct tfd_variable *v)
{
    tfd_resource_unref(&v->resource);
}

static enum tfd_code find(const char *container, const char *name)
{
    struct tfd_resource *r;

    tfd_status_clear(&st);
    if (tfd_rt_find(&rt, tfd_str_of(container), tfd_str_of(name),
                    &tfd_variable_type, &r, &st) == TFD_OK)
        tfd_resource_unref(r);
    return st.code;
}

static struct tfd_tensor scalar(float v)
{
    const struct tfd_shape s = {0, {0}};
    struct tfd_tensor t;

    assert_int_equal(tfd_tensor_new(&t, TFD_FLOAT, &s, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&t) = v;
    return t;
}

/* ---- Containers ---------------------------------------------------------- */

static void test_a_name_is_one_resource(void **state)
{
    struct tfd_variable *a = make("", "v"), *b = make("ps", "v");
    struct tfd_variable *c = make("other", "v"), *d = make("", "");

    (void)state;
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(tfd_containers_count(rt.containers), 3);
    drop(a);
    drop(b);
    drop(c);
    drop(d);
    assert_int_equal(find("", "v"), TFD_OK);
}

static void test_what_is_missing_is_named(void **state)
{
    (void)state;
    assert_int_equal(find("", "v"), TFD_NOT_FOUND);
    assert_string_equal(st.text, "Container ps does not exist. (Could not find "
                                 "resource: ps/v)");
    drop(make("", "w"));
    assert_int_equal(find("", "v"), TFD_NOT_FOUND);
    assert_string_equal(st.text,
                        "Resource ps/v/N10tensorflow3VarE does not exist.");
}

static void test_bad_containers_are_refused(void **state)
{
    static const char *const bad[] = {"_x", "a b", "-a", "a:b", "\xc3\xa4"};
    struct tfd_variable_spec spec = {
        &tfd_variable_type, TFD_STR("v"), TFD_FLOAT, {0, {0}}};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tfd_resource *r;

        tfd_status_clear(&st);
        assert_int_equal(tfd_rt_find_or_make(&rt, tfd_str_of(bad[i]),
                                             TFD_STR("v"), &tfd_variable_type,
                                             tfd_variable_make, &spec, &r, &st),
                         TFD_INVALID_ARGUMENT);
        assert_non_null(strstr(st.text, "container contains invalid"));
    }
    drop(make("a.b/c-d_e9", "v"));
}

static void free_other(struct tfd_resource *r)
{
    free(r);
}

static const struct tfd_resource_type other_type = {
    .name = "other", .what = "thing", .free = free_other};

static enum tfd_code make_other(void *arg, struct tfd_resource **out,
                                struct tfd_status *status)
{
    (void)arg;
    (void)status;
    *out = calloc(1, sizeof(**out));
    tfd_resource_init(*out, &other_type);
    return TFD_OK;
}

static void test_types_share_a_name(void **state)
{
    struct tfd_variable *v = make("", "x");
    struct tfd_resource *r;

    (void)state;
    assert_int_equal(tfd_rt_find_or_make(&rt, TFD_STR(""), TFD_STR("x"),
                                         &other_type, make_other, NULL, &r,
                                         &st),
                     TFD_OK);
    assert_ptr_not_equal(&v->resource, r);
    assert_int_equal(tfd_containers_count(rt.containers), 2);
    tfd_resource_unref(r);
    drop(v);
    assert_int_equal(tfd_rt_destroy(&rt, TFD_STR(""), TFD_STR("x"), false, &st),
                     TFD_OK);
    assert_int_equal(tfd_containers_count(rt.containers), 0);
}

static void test_who_holds_a_resource_keeps_it(void **state)
{
    struct tfd_variable *v = make("", "v"), *w = make("", "w");

    (void)state;
    tfd_containers_clear(rt.containers, TFD_STR("ps"));
    tfd_containers_clear(rt.containers, TFD_STR("nosuch"));
    assert_int_equal(v->resource.removed, 1);
    assert_string_equal(v->name, "v");
    assert_int_equal(find("", "v"), TFD_NOT_FOUND);
    assert_int_equal(tfd_containers_count(rt.containers), 0);
    drop(v);
    drop(w);
}

static void test_destroying_what_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(tfd_rt_destroy(&rt, TFD_STR(""), TFD_STR("v"), true, &st),
                     TFD_OK);
    assert_int_equal(tfd_rt_destroy(&rt, TFD_STR(""), TFD_STR("v"), false, &st),
                     TFD_NOT_FOUND);
}

static void *make_many(void *arg)
{
    struct tfd_variable **out = arg;
    char name[16];

    for (int i = 0; i < 500; i++) {
        struct tfd_variable_spec spec = {
            &tfd_variable_type, {name, 0}, TFD_FLOAT, {0, {0}}};
        struct tfd_resource *r = NULL;

        spec.name.size = (size_t)snprintf(name, sizeof(name), "v%d", i);
        if (tfd_rt_find_or_make(&rt, TFD_STR(""), spec.name, &tfd_variable_type,
                                tfd_variable_make, &spec, &r, NULL) == TFD_OK)
            out[i] = (struct tfd_variable *)r;
    }
    return NULL;
}

static void test_threads_that_make_the_same_share_it(void **state)
{
    static struct tfd_variable *made[2][500];
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, make_many, made[0]), 0);
    make_many(made[1]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 500; i++) {
        assert_non_null(made[0][i]);
        assert_ptr_equal(made[0][i], made[1][i]);
        drop(made[0][i]);
        drop(made[1][i]);
    }
    assert_int_equal(tfd_containers_count(rt.containers), 500);
}

/* ---- Handles ------------------------------------------------------------- */

static struct tfd_handle *handle_of(const char *device, const char *name,
                                    const char *type)
{
    struct tfd_handle *h =
        tfd_handle_new(tfd_str_of(device), TFD_STR("ps"), tfd_str_of(name),
                       tfd_str_of(type), 42, &st);

    assert_non_null(h);
    return h;
}

static enum tfd_code resolve(struct tfd_handle *h, struct tfd_resource **out)
{
    const struct tfd_shape one = {0, {0}};
    struct tfd_node n = {.name = TFD_STR("n")};
    struct tfd_tensor in;
    struct tfd_kctx k = {.in = &in, .in_count = 1, .node = &n, .rt = &rt};
    enum tfd_code rc;

    tfd_status_clear(&st);
    assert_int_equal(tfd_tensor_new(&in, TFD_RESOURCE, &one, NULL), TFD_OK);
    *(struct tfd_handle **)tfd_tensor_data(&in) = h;
    rc = tfd_kctx_resource(&k, 0, &tfd_variable_type, out, &st);
    *(struct tfd_handle **)tfd_tensor_data(&in) = NULL;
    tfd_tensor_unref(&in);
    return rc;
}

static void test_a_handle_finds_its_resource(void **state)
{
    struct tfd_handle *h = handle_of(DEVICE, "v", "N10tensorflow3VarE");
    struct tfd_resource *r;

    (void)state;
    assert_int_equal(resolve(h, &r), TFD_NOT_FOUND);
    drop(make("", "v"));
    for (int i = 0; i < 3; i++) { /* the second time by the pointer it keeps */
        assert_int_equal(resolve(h, &r), TFD_OK);
        tfd_resource_unref(r);
    }
    tfd_containers_clear(rt.containers, TFD_STR("ps"));
    assert_int_equal(resolve(h, &r), TFD_NOT_FOUND);
    drop(make("", "v")); /* another of the same name */
    assert_int_equal(resolve(h, &r), TFD_OK);
    assert_ptr_not_equal(r, h->cached);
    tfd_resource_unref(r);
    tfd_handle_unref(h);
}

static void test_handles_of_others_are_refused(void **state)
{
    struct tfd_handle *h = handle_of("/job:w/replica:0/task:0/device:CPU:0",
                                     "v", "N10tensorflow3VarE");
    struct tfd_resource *r;

    (void)state;
    assert_int_equal(resolve(h, &r), TFD_INVALID_ARGUMENT);
    assert_string_equal(
        st.text, "Trying to access resource v located in device "
                 "/job:w/replica:0/task:0/device:CPU:0 from device " DEVICE);
    tfd_handle_unref(h);
    h = handle_of(DEVICE, "v", "queue");
    assert_int_equal(resolve(h, &r), TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "using the wrong type"));
    tfd_handle_unref(h);
    assert_int_equal(resolve(NULL, &r), TFD_INVALID_ARGUMENT);
    assert_non_null(strstr(st.text, "must be one resource handle"));
}

static void test_a_handle_survives_its_encoding(void **state)
{
    struct tfd_handle *h = handle_of(DEVICE, "v", "N10tensorflow3VarE");
    struct tfd_handle *copy = NULL;
    struct tfd_bytes b;

    (void)state;
    h->dtype = TFD_FLOAT;
    h->shape = (struct tfd_shape){2, {3, -1}};
    tfd_bytes_init(&b, 4096);
    tfd_handle_encode(&b, h);
    assert_int_equal(tfd_handle_decode(tfd_bytes_view(&b), (void **)&copy, &st),
                     TFD_OK);
    assert_true(tfd_str_eq(copy->device, h->device));
    assert_true(tfd_str_eq(copy->container, h->container));
    assert_true(tfd_str_eq(copy->name, h->name));
    assert_true(tfd_str_eq(copy->type_name, h->type_name));
    assert_int_equal(copy->hash_code, 42);
    assert_int_equal(copy->dtype, TFD_FLOAT);
    assert_true(copy->shape.rank == 2 && copy->shape.dim[1] == -1);
    tfd_handle_unref(copy);
    for (size_t n = 0; n < b.size; n++) /* cut anywhere: no crash, no leak */
        if (tfd_handle_decode((struct tfd_str){b.data, n}, (void **)&copy,
                              NULL) == TFD_OK)
            tfd_handle_unref(copy);
    tfd_bytes_deinit(&b);
    tfd_handle_unref(tfd_handle_ref(h));
    tfd_handle_unref(h);
}

/* ---- Variables ----------------------------------------------------------- */

static void test_a_value_that_was_read_never_changes(void **state)
{
    struct tfd_variable *v = make("", "v");
    struct tfd_tensor t = scalar(1), read;

    (void)state;
    assert_int_equal(tfd_variable_read(v, &read, &st), TFD_FAILED_PRECONDITION);
    assert_string_equal(st.text, "Attempting to use uninitialized value v");
    assert_int_equal(tfd_variable_writable(v, &st), TFD_FAILED_PRECONDITION);
    tfd_variable_set(v, &t);
    assert_null(t.buffer);
    tfd_variables_lock(&v, 1);
    assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
    tfd_variables_unlock(&v, 1);
    assert_int_equal(tfd_variable_read(v, &read, NULL), TFD_OK);
    tfd_variables_lock(&v, 1);
    assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
    *(float *)tfd_tensor_data(&v->value) = 2;
    tfd_variables_unlock(&v, 1);
    assert_true(*(float *)tfd_tensor_data(&read) == 1);
    tfd_tensor_unref(&read);
    drop(v);
}

static void test_strings_are_copied_one_by_one(void **state)
{
    const struct tfd_shape two = {1, {2}};
    struct tfd_variable *v = make("", "v");
    struct tfd_tensor t, read;

    (void)state;
    assert_int_equal(tfd_tensor_new(&t, TFD_STRING, &two, NULL), TFD_OK);
    assert_int_equal(
        tfd_tstring_set(tfd_tensor_data(&t), TFD_STR("a string"), NULL),
        TFD_OK);
    tfd_variable_set(v, &t);
    assert_int_equal(tfd_variable_read(v, &read, NULL), TFD_OK);
    assert_int_equal(tfd_variable_writable(v, NULL), TFD_OK);
    assert_true(
        tfd_str_is(tfd_tstring_view(tfd_tensor_data(&v->value)), "a string"));
    assert_ptr_not_equal(v->value.buffer, read.buffer);
    tfd_tensor_unref(&read);
    drop(v);
}

struct locker {
    struct tfd_variable *v[3];
    int64_t *count;
};

static void *lock_often(void *arg)
{
    struct locker *l = arg;

    for (int i = 0; i < 20000; i++) {
        tfd_variables_lock(l->v, 3);
        ++*l->count;
        tfd_variables_unlock(l->v, 3);
    }
    return NULL;
}

static void test_locks_are_taken_in_one_order(void **state)
{
    struct tfd_variable *a = make("", "a"), *b = make("", "b");
    struct tfd_variable *none = NULL;
    int64_t count = 0;
    struct locker one = {{a, b, a}, &count}, two = {{b, a, b}, &count};
    pthread_t thread;

    (void)state;
    tfd_variables_lock(&none, 0);
    tfd_variables_unlock(&none, 0);
    assert_int_equal(pthread_create(&thread, NULL, lock_often, &one), 0);
    lock_often(&two);
    pthread_join(thread, NULL);
    assert_int_equal(count, 40000);
    drop(a);
    drop(b);
}

/* ---- Cancellation -------------------------------------------------------- */

struct listener {
    struct tfd_cancel cancel;
    int count;
};

static void heard(struct tfd_cancel *c)
{
    ((struct listener *)c)->count++;
}

static void test_everybody_hears_of_a_cancellation_once(void **state)
{
    struct tfd_step *s = calloc(1, sizeof(*s));
    struct listener l[4] = {{{heard, NULL, NULL, false}, 0}};

    (void)state;
    tfd_lock_init(&s->cancel_lock, TFD_LOCK_CANCEL);
    tfd_cond_init(&s->cancel_left);
    for (int i = 0; i < 4; i++) {
        l[i].cancel.fn = heard;
        if (i < 3)
            assert_true(tfd_step_on_cancel(s, &l[i].cancel));
    }
    assert_true(tfd_step_off_cancel(s, &l[1].cancel));
    assert_false(tfd_step_off_cancel(s, &l[1].cancel));
    tfd_step_cancel_all(s);
    tfd_step_cancel_all(s);
    assert_true(l[0].count == 1 && l[1].count == 0 && l[2].count == 1);
    assert_false(tfd_step_off_cancel(s, &l[0].cancel));
    assert_false(tfd_step_on_cancel(s, &l[3].cancel));
    tfd_cond_deinit(&s->cancel_left);
    tfd_lock_deinit(&s->cancel_lock);
    free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_name_is_one_resource),
        TEST(test_what_is_missing_is_named),
        TEST(test_bad_containers_are_refused),
        TEST(test_types_share_a_name),
        TEST(test_who_holds_a_resource_keeps_it),
        TEST(test_destroying_what_is_not_there),
        TEST(test_threads_that_make_the_same_share_it),
        TEST(test_a_handle_finds_its_resource),
        TEST(test_handles_of_others_are_refused),
        TEST(test_a_handle_survives_its_encoding),
        TEST(test_a_value_that_was_read_never_changes),
        TEST(test_strings_are_copied_one_by_one),
        TEST(test_locks_are_taken_in_one_order),
        TEST(test_everybody_hears_of_a_cancellation_once),
    };

    return cmocka_run_group_tests_name("resource", tests, NULL, NULL);
}
