/*
 * test_cuda_choose.c - cuda/device/choose.c: which GPUs a task takes.
 */
#include "cuda/device/choose.h"

#include "tests/support/fake_cuda.h"

static const struct {
    const char *environment;
    bool hides;
} environments[] = {
    {NULL, false},    {"0", false},         {"7", false},
    {"0,1", false},   {" 1", false},        {"GPU-8932f937", false},
    {"MIG-1", false}, {"", true},           {"-1", true},
    {"-1,0", true},   {"garbage", true},    {",0", true},
    {" ", true},      {"NoDevFiles", true}, {"gpu-1", true},
};

static void test_visible_devices_may_hide_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(environments) / sizeof(environments[0]); i++)
        assert_int_equal(tfd_cuda_hides_all(environments[i].environment),
                         environments[i].hides);
}

static struct tfd_cuda_options options(void)
{
    return (struct tfd_cuda_options){.count_max = -1};
}

static void choose(const struct tfd_cuda_options *o,
                   struct tfd_cuda_choices *out)
{
    struct tfd_status st = TFD_STATUS_INIT;

    assert_int_equal(tfd_cuda_choose(&fake_driver, o, out, &st), TFD_OK);
}

static void test_all_cards_are_taken_with_nearly_all_that_is_free(void **state)
{
    struct tfd_cuda_options o = options();
    struct tfd_cuda_choices c;

    (void)state;
    fake_init();
    fake.total[0] = 16384 * FAKE_MIB;
    fake.used[0] = 1024 * FAKE_MIB;
    fake.total[1] = 1024 * FAKE_MIB;
    fake.total[2] = 4096 * FAKE_MIB;
    fake.total[3] = 100 * FAKE_MIB;
    fake.devices = 4;
    choose(&o, &c);
    assert_int_equal(c.count, 4);
    assert_int_equal(c.choice[0].memory_limit, 14592 * FAKE_MIB);
    assert_int_equal(c.choice[1].memory_limit, 799 * FAKE_MIB);
    assert_int_equal(c.choice[2].memory_limit, 3796 * FAKE_MIB);
    assert_int_equal(c.choice[3].memory_limit, 0);
}

static void test_memory_is_what_was_asked_for(void **state)
{
    struct tfd_cuda_options o = options();
    struct tfd_cuda_choices c;

    (void)state;
    fake_init();
    o.memory_fraction = 0.25;
    choose(&o, &c);
    assert_int_equal(c.choice[1].memory_limit, 16 * FAKE_MIB);
    o.memory_limit = 12345678;
    choose(&o, &c);
    assert_int_equal(c.choice[1].memory_limit, 12345678);
}

static const struct {
    int count_max;
    const char *visible, *limits;
    int count;
    int ordinals[4];
} lists[] = {
    {-1, NULL, NULL, 3, {0, 1, 2}},      {-1, "", "", 3, {0, 1, 2}},
    {-1, "2,0", NULL, 2, {2, 0}},        {-1, " 1 , 2", NULL, 2, {1, 2}},
    {2, NULL, NULL, 2, {0, 1}},          {1, "2,1", NULL, 1, {2}},
    {9, "2,1", NULL, 2, {2, 1}},         {-1, NULL, "16,8;4", 3, {0, 0, 1}},
    {-1, "2,1", "16,8;4", 3, {2, 2, 1}}, {-1, NULL, "16", 1, {0}},
    {1, NULL, "16,8", 2, {0, 0}},        {2, "2,1", "16,8;4", 3, {2, 2, 1}},
};

static void test_lists_choose_and_order(void **state)
{
    (void)state;
    fake_init();
    fake.devices = 3;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct tfd_cuda_options o = options();
        struct tfd_cuda_choices c;

        o.count_max = lists[i].count_max;
        o.visible = lists[i].visible;
        o.virtual_limits = lists[i].limits;
        choose(&o, &c);
        assert_int_equal(c.count, lists[i].count);
        for (int j = 0; j < c.count; j++)
            assert_int_equal(c.choice[j].ordinal, lists[i].ordinals[j]);
    }
}

static void test_virtual_devices_share_a_card(void **state)
{
    struct tfd_cuda_options o = options();
    struct tfd_cuda_choices c;

    (void)state;
    fake_init();
    o.virtual_limits = "16,8;4";
    choose(&o, &c);
    assert_int_equal(c.choice[0].memory_limit, 16 * FAKE_MIB);
    assert_int_equal(c.choice[1].memory_limit, 8 * FAKE_MIB);
    assert_int_equal(c.choice[2].memory_limit, 4 * FAKE_MIB);
}

static int used[TFD_CUDA_DEVICES_MAX], used_count;

static int note_use(int device)
{
    used[used_count++] = device;
    return fake_use(device);
}

static const struct {
    int count_max;
    const char *visible;
    int count;
    int used[4];
} openings[] = {
    {-1, NULL, 4, {0, 1, 2, 3}}, {1, NULL, 1, {0}}, {2, "3,0,1", 2, {3, 0}},
    {4, NULL, 4, {0, 1, 2, 3}},  {0, NULL, 0, {0}}, {1, "2", 1, {2}},
    {9, "2,1", 2, {2, 1}},
};

/* A context on a card takes some of its memory. */
static void test_cards_that_are_not_taken_are_not_opened(void **state)
{
    struct tfd_cuda_driver driver = fake_driver;

    (void)state;
    fake_init();
    fake.devices = 4;
    driver.use = note_use;
    for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
        struct tfd_cuda_options o = options();
        struct tfd_cuda_choices c;

        used_count = 0;
        o.count_max = openings[i].count_max;
        o.visible = openings[i].visible;
        assert_int_equal(tfd_cuda_choose(&driver, &o, &c, NULL), TFD_OK);
        assert_int_equal(c.count, openings[i].count);
        assert_int_equal(used_count, openings[i].count);
        assert_memory_equal(used, openings[i].used,
                            sizeof(*used) * (size_t)used_count);
    }
}

static const struct {
    const char *visible, *limits;
    double fraction;
    int64_t limit;
    const char *text;
} wrong[] = {
    {"2", NULL, 0, 0,
     "'visible_device_list' listed an invalid GPU id '2' but visible device "
     "count is 2"},
    {"0,0", NULL, 0, 0, "visible_device_list contained a duplicate entry: 0"},
    {"x", NULL, 0, 0,
     "Could not parse entry in 'visible_device_list': 'x'. "
     "visible_device_list = x"},
    {"0,", NULL, 0, 0, "Could not parse entry"},
    {"0;1", NULL, 0, 0, "Could not parse entry"},
    {"-1", NULL, 0, 0, "Could not parse entry"},
    {"99999999999999999999999", NULL, 0, 0, "listed an invalid GPU id"},
    {NULL, "16,", 0, 0, "not memory in MiB"},
    {NULL, "16x", 0, 0, "not memory in MiB"},
    {NULL, "0", 0, 0, "not memory in MiB"},
    {NULL, ";", 0, 0, "not memory in MiB"},
    {NULL, "18446744073709551615", 0, 0, "not memory in MiB"},
    {NULL, "1;1;1", 0, 0, "are of more GPUs than the 2 that may be taken"},
    {NULL, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
     0, 0, "more than 32"},
    {NULL, "16", 0.5, 0, "when virtual_devices is set"},
    {NULL, "16", 0, 7, "when virtual_devices is set"},
    {NULL, NULL, 1.5, 0, "a GPU memory fraction of 1.5"},
    {NULL, NULL, -0.5, 0, "a GPU memory fraction of -0.5"},
    {NULL, NULL, 0, -1, "a GPU memory limit of -1 bytes"},
};

static void test_wrong_options_are_named(void **state)
{
    (void)state;
    fake_init();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct tfd_cuda_options o = options();
        struct tfd_status st = TFD_STATUS_INIT;
        struct tfd_cuda_choices c;

        o.visible = wrong[i].visible;
        o.virtual_limits = wrong[i].limits;
        o.memory_fraction = wrong[i].fraction;
        o.memory_limit = wrong[i].limit;
        assert_int_equal(tfd_cuda_choose(&fake_driver, &o, &c, &st),
                         TFD_INVALID_ARGUMENT);
        if (!strstr(st.text, wrong[i].text))
            fail_msg("%zu: %s", i, st.text);
    }
}

static void test_virtual_devices_are_of_cards_that_are_taken(void **state)
{
    struct tfd_cuda_options o = options();
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_choices c;

    (void)state;
    fake_init();
    o.count_max = 1;
    o.virtual_limits = "16,8;4";
    assert_int_equal(tfd_cuda_choose(&fake_driver, &o, &c, &st),
                     TFD_INVALID_ARGUMENT);
    assert_string_equal(st.text, "virtual devices \"16,8;4\" are of more GPUs "
                                 "than the 1 that may be taken");
}

static const struct {
    int error, devices, count_max;
    const char *environment, *why;
    bool asks;
} nothings[] = {
    {0, 2, 0, NULL, "switched off by --device_count or the role", false},
    {0, 2, -1, "", "switched off by CUDA_VISIBLE_DEVICES=", false},
    {0, 2, -1, "-1", "switched off by CUDA_VISIBLE_DEVICES=-1", false},
    {0, 0, -1, "7", "no card that the driver shows", true},
    {TFD_CUDA_NO_DEVICE, 0, -1, NULL, "no card that the driver shows", true},
    {TFD_CUDA_OLD_DRIVER, 0, -1, NULL,
     "no driver, or one too old for this build", true},
    {999, 0, -1, NULL, "the driver answers: some error", true},
};

static void test_no_card_has_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(nothings) / sizeof(nothings[0]); i++) {
        struct tfd_cuda_options o = options();
        struct tfd_cuda_choices c;

        fake_init();
        fake.devices = nothings[i].devices;
        fake.count_error = nothings[i].error;
        o.count_max = nothings[i].count_max;
        o.environment = nothings[i].environment;
        choose(&o, &c);
        assert_int_equal(c.count, 0);
        assert_string_equal(c.why, nothings[i].why);
        if (!nothings[i].asks)
            assert_int_equal(fake.asked, 0);
    }
}

/* Cards of the rows below. */
static int capabilities[FAKE_DEVICES], processors[FAKE_DEVICES];

static int some_properties(int device, struct tfd_cuda_properties *out)
{
    int error = fake_properties(device, out);

    out->major = capabilities[device] / 10;
    out->minor = capabilities[device] % 10;
    out->processors = processors[device];
    return error;
}

#define OLD(device, capability)                                             \
    "Ignoring visible gpu device (device: " #device ", name: Fake " #device \
    ", pci bus id: " BUS_##device                                           \
        ", compute capability: " capability                                 \
        ") with Cuda compute capability " capability                        \
        ". The minimum required Cuda capability is 7.5."
#define SMALL(device, count, least)                                         \
    "Ignoring visible gpu device (device: " #device ", name: Fake " #device \
    ", pci bus id: " BUS_##device                                           \
        ", compute capability: 9.0) "                                       \
        "with core count: " count ". The minimum required count is " least  \
        ". You can adjust this requirement with the env var "               \
        "TF_MIN_GPU_MULTIPROCESSOR_COUNT."
#define INVALID(text, least)                                           \
    "Invalid minimum GPU multiprocessor count: [" text "]. Using the " \
    "default value: " least
#define BUS_0 "0000:01:00.0"
#define BUS_1 "0000:02:00.0"

static const struct {
    int capability[FAKE_DEVICES], processors[FAKE_DEVICES];
    const char *visible, *least;
    int count;
    int ordinals[FAKE_DEVICES];
    const char *why;
} sizes[] = {
    {{75, 90}, {40, 132}, NULL, NULL, 2, {0, 1}, ""},
    {{75, 120}, {40, 132}, NULL, "", 2, {0, 1}, ""},
    {{61, 90}, {20, 132}, NULL, NULL, 1, {1}, OLD(0, "6.1")},
    {{74, 70}, {20, 132}, NULL, NULL, 0, {0}, OLD(0, "7.4") " " OLD(1, "7.0")},
    {{90, 61}, {20, 20}, "1", NULL, 0, {0}, OLD(1, "6.1")},
    {{61, 90}, {20, 20}, "1", NULL, 1, {1}, ""},
    /* Screens: at least 8, or as many as the largest that is visible. */
    {{90, 90}, {8, 132}, NULL, NULL, 2, {0, 1}, ""},
    {{90, 90}, {7, 132}, NULL, NULL, 1, {1}, SMALL(0, "7", "8")},
    {{90, 90}, {132, 7}, "1,0", NULL, 1, {0}, SMALL(1, "7", "8")},
    {{90, 90}, {7, 132}, "0", NULL, 1, {0}, ""},
    {{90, 90}, {2, 6}, NULL, NULL, 1, {1}, SMALL(0, "2", "6")},
    {{90, 90}, {2, 132}, NULL, "2", 2, {0, 1}, ""},
    {{90, 90}, {2, 132}, NULL, " 3 ", 1, {1}, SMALL(0, "2", "3")},
    {{90, 90}, {2, 132}, NULL, "0", 2, {0, 1}, ""},
    {{90, 61},
     {100, 132},
     NULL,
     "133",
     0,
     {0},
     SMALL(0, "100", "133") " " OLD(1, "6.1")},
    {{90, 90}, {9, 132}, NULL, "-1", 2, {0, 1}, INVALID("-1", "8")},
    {{90, 90}, {9, 132}, NULL, "8x", 2, {0, 1}, INVALID("8x", "8")},
    {{90, 90}, {9, 132}, NULL, "x", 2, {0, 1}, INVALID("x", "8")},
    {{90, 90}, {9, 132}, NULL, " ", 2, {0, 1}, INVALID(" ", "8")},
    {{90, 90},
     {7, 132},
     NULL,
     "4294967297",
     1,
     {1},
     INVALID("4294967297", "8") " " SMALL(0, "7", "8")},
};

static void test_cards_that_are_too_small_are_left_out(void **state)
{
    struct tfd_cuda_driver driver = fake_driver;

    (void)state;
    fake_init();
    driver.properties = some_properties;
    driver.capability_min = 75;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct tfd_cuda_options o = options();
        struct tfd_cuda_choices c;

        memcpy(capabilities, sizes[i].capability, sizeof(capabilities));
        memcpy(processors, sizes[i].processors, sizeof(processors));
        o.visible = sizes[i].visible;
        o.processors_min = sizes[i].least;
        assert_int_equal(tfd_cuda_choose(&driver, &o, &c, NULL), TFD_OK);
        assert_int_equal(c.count, sizes[i].count);
        for (int j = 0; j < c.count; j++)
            assert_int_equal(c.choice[j].ordinal, sizes[i].ordinals[j]);
        assert_string_equal(c.why, sizes[i].why);
    }
}

static void test_many_cards_left_out_fill_the_reason(void **state)
{
    struct tfd_cuda_driver driver = fake_driver;
    struct tfd_cuda_options o = options();
    struct tfd_cuda_choices c;

    (void)state;
    fake_init();
    fake.devices = TFD_CUDA_DEVICES_MAX;
    driver.capability_min = 200;
    assert_int_equal(tfd_cuda_choose(&driver, &o, &c, NULL), TFD_OK);
    assert_int_equal(c.count, 0);
    assert_int_equal(strlen(c.why), sizeof(c.why) - 1);
}

/* Options are looked at first, and no card is opened. */
static void test_no_card_is_taken_without_the_libraries(void **state)
{
    struct tfd_cuda_options o = options();
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_cuda_choices c;

    (void)state;
    fake_init();
    fake.missing = "cuDNN cannot be opened";
    choose(&o, &c);
    assert_int_equal(c.count, 0);
    assert_string_equal(c.why, "Cannot dlopen some GPU libraries: cuDNN cannot "
                               "be opened");
    assert_int_equal(fake.asked, 1);
    o.virtual_limits = "16,8;4";
    choose(&o, &c);
    assert_int_equal(c.count, 0);
    o.visible = "2";
    assert_int_equal(tfd_cuda_choose(&fake_driver, &o, &c, &st),
                     TFD_INVALID_ARGUMENT);
}

static void test_build_without_cuda_says_so(void **state)
{
    struct tfd_cuda_options o = options();
    struct tfd_cuda_choices c;

    (void)state;
    assert_int_equal(tfd_cuda_choose(NULL, &o, &c, NULL), TFD_OK);
    assert_int_equal(c.count, 0);
    assert_string_equal(c.why, "built without CUDA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visible_devices_may_hide_all),
        cmocka_unit_test(test_all_cards_are_taken_with_nearly_all_that_is_free),
        cmocka_unit_test(test_memory_is_what_was_asked_for),
        cmocka_unit_test(test_lists_choose_and_order),
        cmocka_unit_test(test_virtual_devices_share_a_card),
        cmocka_unit_test(test_cards_that_are_not_taken_are_not_opened),
        cmocka_unit_test(test_virtual_devices_are_of_cards_that_are_taken),
        cmocka_unit_test(test_wrong_options_are_named),
        cmocka_unit_test(test_no_card_has_a_reason),
        cmocka_unit_test(test_cards_that_are_too_small_are_left_out),
        cmocka_unit_test(test_many_cards_left_out_fill_the_reason),
        cmocka_unit_test(test_no_card_is_taken_without_the_libraries),
        cmocka_unit_test(test_build_without_cuda_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
