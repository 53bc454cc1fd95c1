/*
 * test_server_config.c - client/session/server_config.c: what of a ConfigProto
 * a server is started with.
 */
#include "client/session/server_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }

/* MiB as floats: 1024, 2048.5, 4096, -1, a NaN. */
#define F1024 "\x00\x00\x80\x44"
#define F2048 "\x00\x08\x00\x45"
#define F4096 "\x00\x00\x80\x45"
#define FMINUS "\x00\x00\x80\xbf"
#define FNAN "\x00\x00\xc0\x7f"

static void test_gpu_options_are_the_servers(void **state)
{
    static const struct {
        struct tfd_str config;
        double fraction;
        bool grows;
        const char *visible, *limits;
    } cases[] = {
        {BYTES(""), 0, false, NULL, NULL},
        {BYTES("\x32\x00"), 0, false, NULL, NULL},
        {BYTES("\x32\x09\x09\x00\x00\x00\x00\x00\x00\xd0\x3f"), 0.25, false,
         NULL, NULL},
        {BYTES("\x32\x07\x20\x01\x2a\x03"
               "1,0"),
         0, true, "1,0", NULL},
        {BYTES("\x32\x04\x20\x01\x20\x00"), 0, false, NULL, NULL},
        /* what is only named: the allocator, an option of experimental */
        {BYTES("\x32\x09\x12\x03"
               "BFC\x4a\x02\x10\x01"),
         0, false, NULL, NULL},
        /* virtual devices: packed, one by one, of two GPUs */
        {BYTES("\x32\x0e\x4a\x0c\x0a\x0a\x0a\x08" F1024 F2048), 0, false, NULL,
         "1024,2048"},
        {BYTES("\x32\x10\x4a\x0e\x0a\x0c\x0d" F1024 "\x0d" F4096 "\x10\x00"), 0,
         false, NULL, "1024,4096"},
        {BYTES("\x32\x16\x4a\x14\x0a\x0a\x0a\x08" F1024 F2048
               "\x0a\x06\x0a\x04" F4096),
         0, false, NULL, "1024,2048;4096"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_config c;

        if (tfd_server_config_local(cases[i].config, &c, &st) != TFD_OK)
            fail_msg("%zu: %s", i, st.text);
        assert_true(c.gpu_memory_fraction == cases[i].fraction);
        assert_int_equal(c.gpu_allow_growth, cases[i].grows);
        assert_string_equal(c.gpu_visible ? c.gpu_visible : "none",
                            cases[i].visible ? cases[i].visible : "none");
        assert_string_equal(c.gpu_virtual ? c.gpu_virtual : "none",
                            cases[i].limits ? cases[i].limits : "none");
        tfd_config_deinit(&c);
    }
}

static void test_bad_gpu_options_are_refused(void **state)
{
    static const struct {
        struct tfd_str config;
        const char *text;
    } cases[] = {
        {BYTES("\x32\x7f"), "Unable to parse"},
        {BYTES("\x32\x02\x09\x00"), "Unable to parse"},
        {BYTES("\x32\x02\x4a\x7f"), "Unable to parse"},
        {BYTES("\x32\x04\x4a\x02\x0a\x7f"), "Unable to parse"},
        {BYTES("\x32\x06\x4a\x04\x0a\x02\x0a\x7f"), "Unable to parse"},
        {BYTES("\x32\x08\x4a\x06\x0a\x04\x0a\x02\x00\x00"), "memory_limit_mb"},
        {BYTES("\x32\x04\x4a\x02\x0a\x00"), "memory_limit_mb"},
        {BYTES("\x32\x09\x09\x00\x00\x00\x00\x00\x00\x00\x40"),
         "gpu_memory_fraction"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_config c;

        assert_int_equal(tfd_server_config_local(cases[i].config, &c, &st),
                         TFD_INVALID_ARGUMENT);
        if (!strstr(st.text, cases[i].text))
            fail_msg("%zu: %s", i, st.text);
        tfd_config_deinit(&c);
    }
}

/* What is no memory is left to those who choose the devices. */
static void test_bad_limits_reach_who_refuses_them(void **state)
{
    static const struct {
        struct tfd_str config;
        const char *limits;
    } cases[] = {
        {BYTES("\x32\x0a\x4a\x08\x0a\x06\x0a\x04" FMINUS), "-1"},
        {BYTES("\x32\x0a\x4a\x08\x0a\x06\x0a\x04" FNAN), "nan"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_config c;

        assert_int_equal(tfd_server_config_local(cases[i].config, &c, &st),
                         TFD_OK);
        assert_string_equal(c.gpu_virtual, cases[i].limits);
        tfd_config_deinit(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_options_are_the_servers),
        cmocka_unit_test(test_bad_gpu_options_are_refused),
        cmocka_unit_test(test_bad_limits_reach_who_refuses_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
