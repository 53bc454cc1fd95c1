/*
 * test_native_guard.c - rpc/native/native_guard.c: what honest callers send
 * passes, and one more than that does not.
 */
#include "rpc/native/native_guard.h"

#include "config/limits.h"

#include "tests/support/fake_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000)

static struct {
    struct tfd_loop net;
    struct tfd_native_guard guard;
    struct tfd_status st;
} rig;

static void rig_open(void)
{
    memset(&rig, 0, sizeof(rig));
    net_open(&rig.net);
    net_advance(&rig.net, 100 * SECOND);
}

static enum tfd_code frames(enum tfd_frame_kind kind, uint32_t length,
                            bool ends, uint32_t open, int count)
{
    struct tfd_frame_header h = {kind, 0, 0, 1, length};

    tfd_status_clear(&rig.st);
    for (int i = 0; i < count; i++)
        if (tfd_native_guard_frame(&rig.guard, &h, ends, open, &rig.net,
                                   &rig.st) != TFD_OK)
            return rig.st.code;
    return TFD_OK;
}

static void test_each_kind_has_its_number(void **state)
{
    static const struct {
        enum tfd_frame_kind kind;
        uint32_t length;
        bool ends;
        int most;
        const char *what;
    } cases[] = {
        {TFD_FRAME_PING, 8, true, TFD_PINGS_MAX, "PINGs"},
        {TFD_FRAME_PONG, 8, true, TFD_PINGS_MAX, "PINGs"},
        {TFD_FRAME_CANCEL, 0, true, TFD_CANCELS_MAX, "CANCELs"},
        {TFD_FRAME_REQUEST, 1, false, TFD_SMALL_PARTS_MAX, "small parts"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_open();
        assert_int_equal(frames(cases[i].kind, cases[i].length, cases[i].ends,
                                0, cases[i].most),
                         TFD_OK);
        assert_int_equal(
            frames(cases[i].kind, cases[i].length, cases[i].ends, 0, 1),
            TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(rig.st.text, cases[i].what));
        net_advance(&rig.net, 11 * SECOND); /* another window */
        assert_int_equal(frames(cases[i].kind, cases[i].length, cases[i].ends,
                                0, cases[i].most),
                         TFD_OK);
        net_close(&rig.net);
    }
}

static void test_large_and_last_parts_are_free(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(frames(TFD_FRAME_REQUEST, TFD_SMALL_PART_SIZE, false, 0,
                            2 * TFD_SMALL_PARTS_MAX),
                     TFD_OK);
    assert_int_equal(
        frames(TFD_FRAME_REQUEST, 1, true, 0, 2 * TFD_SMALL_PARTS_MAX), TFD_OK);
    net_close(&rig.net);
}

static void test_each_call_may_be_cancelled(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(frames(TFD_FRAME_CANCEL, 0, true, 0, 1), TFD_OK);
    assert_int_equal(frames(TFD_FRAME_REQUEST, 100, true, 0, 3000), TFD_OK);
    assert_int_equal(
        frames(TFD_FRAME_CANCEL, 0, true, 0, 3000 + TFD_CANCELS_MAX - 1),
        TFD_OK);
    assert_int_equal(frames(TFD_FRAME_CANCEL, 0, true, 0, 1),
                     TFD_RESOURCE_EXHAUSTED);
    net_close(&rig.net);
}

/* A step of many calls fails long after they were made. */
static void test_old_calls_may_be_cancelled_all_at_once(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(frames(TFD_FRAME_REQUEST, 100, true, 0, 3000), TFD_OK);
    net_advance(&rig.net, 60 * SECOND);
    assert_int_equal(
        frames(TFD_FRAME_CANCEL, 0, true, 3000, 3000 + TFD_CANCELS_MAX),
        TFD_OK);
    assert_int_equal(frames(TFD_FRAME_CANCEL, 0, true, 3000, 1),
                     TFD_RESOURCE_EXHAUSTED);
    net_close(&rig.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_has_its_number),
        cmocka_unit_test(test_large_and_last_parts_are_free),
        cmocka_unit_test(test_each_call_may_be_cancelled),
        cmocka_unit_test(test_old_calls_may_be_cancelled_all_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
