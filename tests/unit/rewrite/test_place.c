/*
 * test_place.c - daemon/rewrite/place.c, place_groups.c and specs.c
 * against placements that TensorFlow 2.21 made, with four tasks of two CPUs
 * each: the master is /job:worker/task:1.
 */
#include "daemon/rewrite/specs.h"
#include "tests/support/place_rig.h"

static const struct placement placements[] = {
    {"nothing asked for", false, "c Const", NULL, "c=worker1:0"},
    {"only the job", false, "c Const - /job:ps", NULL, "c=ps0:0"},
    {"only the task", false, "c Const - /task:0", NULL, "c=ps0:0"},
    {"job and task", false, "c Const - /job:ps/task:1", NULL, "c=ps1:0"},
    {"only the device", false, "c Const - /device:CPU:1", NULL, "c=worker1:1"},
    {"the old spelling", false, "c Const - /cpu:1", NULL, "c=worker1:1"},
    {"job, any CPU", false, "c Const - /job:ps/device:CPU:*", NULL, "c=ps0:0"},
    {"parts in another order", false, "c Const - /device:CPU:1/task:1/job:ps",
     NULL, "c=ps1:1"},
    {"replica", false, "c Const - /job:worker/replica:0", NULL, "c=worker1:0"},
    {"a source joins its consumer", false,
     "c Const; i Identity c /job:ps/task:1", NULL, "c=ps1:0 i=ps1:0"},
    {"a source joins two consumers on one device", false,
     "c Const; i Identity c /job:ps/task:1; k Relu c /job:ps/task:1", NULL,
     "c=ps1:0 i=ps1:0 k=ps1:0"},
    {"a source with two consumers on two devices", false,
     "c Const; i Identity c /job:ps/task:1; k Relu c /job:ps/task:0", NULL,
     "c=worker1:0 i=ps1:0 k=ps0:0"},
    {"a source asks for its job", false,
     "c Const - /job:ps; i Identity c /job:ps/task:1/cpu:1", NULL,
     "c=ps1:1 i=ps1:1"},
    {"a source asks for another job than its consumer", false,
     "c Const - /job:ps; i Identity c /job:worker", NULL,
     "c=ps0:0 i=worker1:0"},
    {"a source with a fetching and a placed consumer", false,
     "c Const; i Identity c /job:ps; k Relu i", NULL,
     "c=ps0:0 i=ps0:0 k=worker1:0"},
    {"a source with control consumers", false, "c Const; n NoOp ^c /job:ps",
     NULL, "c=ps0:0 n=ps0:0"},
    {"a source consumed twice by one node, once by control", false,
     "c Const; i Add c,c,^d /job:ps; d Const", NULL, "c=ps0:0 i=ps0:0 d=ps0:0"},
    {"a source with a control input", false,
     "v Const - /job:ps/cpu:1; c Const ^v; i Identity c /job:ps/task:1", NULL,
     "v=ps0:1 c=ps1:0 i=ps1:0"},
    {"a placeholder is a source", false,
     "p Placeholder; i Identity p /job:ps/cpu:1", NULL, "p=ps0:1 i=ps0:1"},
    {"sources do not join through other nodes", false,
     "c Const; i Identity c; k Relu i /job:ps", NULL,
     "c=worker1:0 i=worker1:0 k=ps0:0"},
    {"a source with a consumer that is colocated", false,
     "v VariableV2 - /job:ps/task:1; c Const; a Assign v,c", NULL,
     "v=ps1:0 c=ps1:0 a=ps1:0"},
    {"metadata follows its input", false,
     "v VariableV2 - /job:ps/cpu:1; s Shape v", NULL, "v=ps0:1 s=ps0:1"},
    {"size follows its input", false,
     "c Relu d /job:ps/cpu:1; d Const; s Size c", NULL,
     "c=ps0:1 d=ps0:1 s=ps0:1"},
    {"rank follows its input", false,
     "d Const - /job:ps/cpu:1; c Relu d /job:ps/cpu:1; s Rank c", NULL,
     "d=ps0:1 c=ps0:1 s=ps0:1"},
    {"metadata that asks for its job", false,
     "d Const - /job:ps/task:1; c Relu d /job:ps/task:1; s Shape c /job:ps",
     NULL, "d=ps1:0 c=ps1:0 s=ps1:0"},
    {"metadata that asks for another job", false,
     "d Const - /job:ps/task:1; c Relu d /job:ps/task:1; s Shape c /job:worker",
     NULL, "d=ps1:0 c=ps1:0 s=worker1:0"},
    {"metadata of a source", false, "c Const; s Shape c", NULL,
     "c=worker1:0 s=worker1:0"},
    {"metadata of a source that joins", false,
     "c Const; s Shape c; i Identity c /job:ps", NULL,
     "c=worker1:0 s=worker1:0 i=ps0:0"},
    {"metadata of metadata", false,
     "d Const - /job:ps/task:1; c Relu d /job:ps/task:1; s Shape c; t ShapeI s",
     NULL, "d=ps1:0 c=ps1:0 s=ps1:0 t=ps1:0"},
    {"metadata before its input", false,
     "s Shape c; c Relu d /job:ps/task:1; d Const", NULL,
     "s=ps1:0 c=ps1:0 d=ps1:0"},
    {"a reference op moves to its variable", false,
     "v VariableV2 - /job:ps/task:1; c Const - /job:worker/task:0; a Assign "
     "v,c /job:worker/task:0",
     NULL, "v=ps1:0 c=worker0:0 a=ps1:0"},
    {"a variable goes where its user wants", false,
     "v VariableV2; c Const; a Assign v,c /job:ps/task:1", NULL,
     "v=ps1:0 c=ps1:0 a=ps1:0"},
    {"a variable with a job, its user with a task", false,
     "v VariableV2 - /job:ps; c Const; a Assign v,c /job:ps/task:1", NULL,
     "v=ps1:0 c=ps1:0 a=ps1:0"},
    {"a variable with a job, its user with another", false,
     "v VariableV2 - /job:ps; c Const; a Assign v,c /job:worker/task:0", NULL,
     "v=ps0:0 c=ps0:0 a=ps0:0"},
    {"two users of a variable disagree", false,
     "v VariableV2; c Const; a Assign v,c /job:ps/task:1; b Assign v,c "
     "/job:worker/task:0",
     NULL, "v=ps1:0 c=ps1:0 a=ps1:0 b=ps1:0"},
    {"a reader of a reference may be elsewhere", false,
     "v VariableV2 - /job:ps; i Identity v /job:worker/task:0", NULL,
     "v=ps0:0 i=worker0:0"},
    {"a device number of a variable wins", false,
     "v VariableV2 - /job:ps/cpu:1; c Const; a Assign v,c /job:ps/cpu:0", NULL,
     "v=ps0:1 c=ps0:1 a=ps0:1"},
    {"references are passed on", false,
     "v VariableV2 - /job:ps/cpu:1; c Const; a Assign v,c; b AssignAdd a,c",
     NULL, "v=ps0:1 c=ps0:1 a=ps0:1 b=ps0:1"},
    {"handle ops move to the variable", false,
     "h VarHandleOp - /job:ps/task:1; r ReadVariableOp h /job:worker/task:0",
     NULL, "h=ps1:0 r=ps1:0"},
    {"a handle goes where its user wants", false,
     "h VarHandleOp; r ReadVariableOp h /job:ps/task:1", NULL,
     "h=ps1:0 r=ps1:0"},
    {"a handle with a job, its user with a task", false,
     "h VarHandleOp - /job:ps; r ReadVariableOp h /job:ps/task:1", NULL,
     "h=ps1:0 r=ps1:0"},
    {"handle: two users disagree", false,
     "h VarHandleOp; r ReadVariableOp h /job:ps/task:1; q ReadVariableOp h "
     "/job:ps/task:0",
     NULL, "h=ps1:0 r=ps1:0 q=ps1:0"},
    {"a handle through identity", false,
     "h VarHandleOp - /job:ps/task:1; i IdentityR h /job:worker/task:0; r "
     "ReadVariableOp i",
     NULL, "h=ps1:0 i=ps1:0 r=ps1:0"},
    {"a handle through identity, reader elsewhere", false,
     "h VarHandleOp - /job:ps/task:1; i IdentityR h; r ReadVariableOp i "
     "/job:worker/task:0",
     NULL, "h=ps1:0 i=ps1:0 r=ps1:0"},
    {"handle and value", false,
     "h VarHandleOp - /job:ps/cpu:1; c Const; a AssignVariableOp h,c", NULL,
     "h=ps0:1 c=ps0:1 a=ps0:1"},
    {"two handles, one placed", false,
     "h VarHandleOp; g VarHandleOp - /job:ps/task:1; c Const; m "
     "ResourceApplyMomentum h,g,c,c,c",
     NULL, "h=ps1:0 g=ps1:0 c=ps1:0 m=ps1:0"},
    {"colocated with a node", false, "a Const - /job:ps/cpu:1; b Const - - a",
     NULL, "a=ps0:1 b=ps0:1"},
    {"colocated with a node that asks for less", false,
     "a Const - /job:ps; b Const - /task:1 a", NULL, "a=ps1:0 b=ps1:0"},
    {"colocated with a later node", false,
     "b Const - - a; a Const - /job:ps/cpu:1", NULL, "b=ps0:1 a=ps0:1"},
    {"a name of a group that is no node", false,
     "a Const - - g; b Const - /job:ps/task:1 g", NULL, "a=ps1:0 b=ps1:0"},
    {"a chain of colocations", false,
     "a Const - /job:ps; b Const - /task:1 a; c Const - /cpu:1 b", NULL,
     "a=ps1:1 b=ps1:1 c=ps1:1"},
    {"colocated with a variable, consumer elsewhere", false,
     "v VariableV2 - /job:ps/task:1; c Const - - v; i Identity c "
     "/job:worker/task:0",
     NULL, "v=ps1:0 c=ps1:0 i=worker0:0"},
    {"two classes", false,
     "a Const - /job:ps; b Const - /task:1; c Const - - a,b", NULL,
     "a=ps1:0 b=ps1:0 c=ps1:0"},
    {"colocated sources follow a consumer of one", false,
     "a Const; b Const - - a; i Identity a /job:ps", NULL,
     "a=ps0:0 b=ps0:0 i=ps0:0"},
    {"colocation of a source with a placed node", false,
     "b Const - - i; i Identity c /job:ps/task:1; c Const", NULL,
     "b=ps1:0 i=ps1:0 c=ps1:0"},
    {"a reference op asks for what is not there", false,
     "v VariableV2 - /job:ps/task:1; c Const; a Assign v,c /job:nosuch", NULL,
     "v=ps1:0 c=ps1:0 a=ps1:0"},
    {"a switch of a reference", false,
     "v VariableV2 - /job:ps/task:1; p PlaceholderB; s RefSwitch v,p; c Const; "
     "a Assign s,c",
     NULL, "v=ps1:0 p=ps1:0 s=ps1:0 c=ps1:0 a=ps1:0"},
    {"extend: a variable stays", false, "v VariableV2",
     "c Const; a Assign v,c /job:ps", "v=worker1:0 c=worker1:0 a=worker1:0"},
    {"extend: a handle stays", false, "h VarHandleOp",
     "r ReadVariableOp h /job:ps", "h=worker1:0 r=worker1:0"},
    {"extend: a stateless source moves", false, "c Const",
     "i Identity c /job:ps", "c=ps0:0 i=ps0:0"},
    {"extend: colocated with what stays", false,
     "v VariableV2 - /job:ps/task:1", "c Const - - v", "v=ps1:0 c=ps1:0"},
    {"one of two users", false,
     "v VariableV2; c Const; a Assign v,c /cpu:0; b Assign v,c /job:ps/cpu:1",
     NULL, "v=worker1:0 c=worker1:0 a=worker1:0 b=worker1:0"},
    {"a handle joins a group with an owner", false,
     "h VarHandleOp - /job:ps; g VarHandleOp; c Const; m ResourceApplyMomentum "
     "h,g,c,c,c /job:ps/cpu:1; r ReadVariableOp g /cpu:0",
     NULL, "h=ps0:1 g=ps0:1 c=ps0:1 m=ps0:1 r=ps0:1"},
    {"the consumer's group owns a task", false,
     "h VarHandleOp - /cpu:0; g VarHandleOp - /job:ps; c Const; m "
     "ResourceApplyMomentum g,h,c,c,c /job:ps/cpu:1",
     NULL, "h=ps0:0 g=ps0:0 c=ps0:0 m=ps0:0"},
    {"a source consumed by a source", false,
     "c Const; d Const ^c; i Identity c /job:ps", NULL,
     "c=worker1:0 d=worker1:0 i=ps0:0"},
    {"a source consumed by a placed source", false,
     "c Const; d Const ^c /job:ps; i Identity c /job:ps", NULL,
     "c=worker1:0 d=ps0:0 i=ps0:0"},
    {"in a group with itself", false, "a Const - /job:ps a", NULL, "a=ps0:0"},
    {"shape of many", false,
     "d Const - /job:ps/task:1; c Relu d /job:ps/task:1; s ShapeN c,c", NULL,
     "d=ps1:0 c=ps1:0 s=worker1:0"},
    {"metadata in a group", false,
     "d Const - /job:ps/task:1; c Relu d /job:ps/task:1; s Shape c - g; k "
     "Const - - g",
     NULL, "d=ps1:0 c=ps1:0 s=ps1:0 k=ps1:0"},
    {"metadata with control input", false,
     "d Const - /job:ps/task:1; c Relu d /job:ps/task:1; k Relu d "
     "/job:ps/task:0; s Shape c,^k",
     NULL, "d=ps1:0 c=ps1:0 k=ps0:0 s=ps1:0"},
    {"merge and switch", false,
     "p PlaceholderB; c Const; s Switch c,p /job:ps/task:1; m Merge s,s:1",
     NULL, "p=ps1:0 c=ps1:0 s=ps1:0 m=worker1:0"},
    {"the master is preferred among workers", false,
     "c Const - /job:worker/device:CPU:1", NULL, "c=worker1:1"},
    {"the group's job, another's number", false,
     "a Const - /job:ps; b Const - /cpu:1 a; c Relu b /job:ps/task:1", NULL,
     "a=ps0:1 b=ps0:1 c=ps1:0"},
    {"random numbers", false,
     "s ConstI; r RandomUniform s; i Identity r /job:ps", NULL,
     "s=worker1:0 r=worker1:0 i=ps0:0"},
    {"fed source of a loop", false, "c Const; e Enter c; i Identity e /job:ps",
     NULL, "c=worker1:0 e=worker1:0 i=ps0:0"},
    {"a source with no consumer", false, "c Const - /task:1; i Const", NULL,
     "c=worker1:0 i=worker1:0"},
    {"the same device asked for by many", false,
     "a Const - /job:ps/cpu:1; b Relu a /job:ps/cpu:1; c Relu b "
     "/job:ps/device:CPU:1; d Relu c /job:ps/task:0/cpu:1",
     NULL, "a=ps0:1 b=ps0:1 c=ps0:1 d=ps0:1"},
    {"extend: a user asks for another number of what stays", false,
     "v VariableV2 - /job:ps/cpu:1", "c Const; a Assign v,c /job:worker/cpu:0",
     "v=ps0:1 c=ps0:1 a=ps0:1"},
};

static void test_placements_are_those_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(placements) / sizeof(placements[0]); i++)
        check(&placements[i], NULL);
}

/* ---- Large graphs -------------------------------------------------------- */

/* Groups are as long as the graph, names all the same. */
static void test_a_long_chain_is_placed(void **state)
{
    enum { COUNT = 20000 };
    struct tfd_graph *g = new_graph("v VariableV2 - /job:ps/task:1; c Const");
    struct tfd_place_request r = {.graph = g, .registry = &registry};
    int32_t *device_of = calloc(COUNT + 2, sizeof(*device_of));
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_device_set set;
    struct tfd_bytes b;
    char line[100];

    (void)state;
    tfd_bytes_init(&b, 64 << 20);
    for (int i = 0; i < COUNT; i++) {
        if (i == 0)
            snprintf(line, sizeof(line), "a0 AssignAdd v,c");
        else
            snprintf(line, sizeof(line),
                     "a%d AssignAdd a%d,c /job:worker/task:%d/cpu:%d v", i,
                     i - 1, i % 2, i % 2);
        nodes_put(&b, line);
    }
    {
        int32_t first;

        assert_int_equal(
            tfd_graphdef_import(g, tfd_bytes_view(&b), NULL, &first, &st),
            TFD_OK);
    }
    make_devices(&set, NULL);
    r.devices = &set;
    assert_int_equal(tfd_place(&r, device_of, &st), TFD_OK);
    for (int32_t i = 0; i < g->count; i++) {
        const struct tfd_device *d = &set.devices[device_of[i]];

        assert_string_equal(d->attributes.name,
                            "/job:ps/replica:0/task:1/device:CPU:0");
    }
    free(device_of);
    tfd_bytes_deinit(&b);
    tfd_device_set_deinit(&set);
    tfd_graph_unref(g);
}

/* More groups on one node than Python ever writes. */
static void test_a_node_may_be_in_many_groups(void **state)
{
    char line[1024] = "b Const - - ";
    struct placement c = {"many groups", false, line, NULL, "a=ps1:0 b=ps1:0"};

    (void)state;
    for (int i = 0; i < 70; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "g%d,", i);
    snprintf(line + strlen(line), sizeof(line) - strlen(line),
             "a; a Const - /job:ps/task:1");
    check(&c, NULL);
}

/* ---- Names --------------------------------------------------------------- */

static void test_names_are_kept_once(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_device_set set;
    struct tfd_specs s;
    int32_t a = -1, b = -1, c = -1;

    (void)state;
    make_devices(&set, NULL);
    assert_int_equal(tfd_specs_init(&s, &set, &st), TFD_OK);
    assert_int_equal(tfd_specs_parse(&s, TFD_STR(""), &a, &st), TFD_OK);
    assert_int_equal(a, 0);
    assert_int_equal(tfd_specs_parse(&s, TFD_STR("/job:ps/cpu:1"), &a, &st),
                     TFD_OK);
    assert_int_equal(
        tfd_specs_parse(&s, TFD_STR("/device:CPU:1/job:ps"), &b, &st), TFD_OK);
    assert_int_equal(a, b);
    assert_int_equal(tfd_specs_task(&s, a, &b, &st), TFD_OK);
    assert_int_equal(tfd_specs_parse(&s, TFD_STR("/job:ps"), &c, &st), TFD_OK);
    assert_int_equal(b, c);
    assert_int_equal(tfd_specs_override(&s, a, 0, &c, &st), TFD_OK);
    assert_int_equal(c, a);
    assert_int_equal(tfd_specs_device(&s, a, 0), -1);
    assert_int_equal(tfd_specs_device(&s, a, 1u << TFD_GPU), -1);
    assert_int_equal(tfd_specs_parse(&s, TFD_STR("ps"), &c, &st),
                     TFD_INVALID_ARGUMENT);
    tfd_specs_deinit(&s);
    tfd_device_set_deinit(&set);
}

static void test_devices_that_are_not_whole_are_refused(void **state)
{
    static const char *const names[] = {"", "/job:ps", "/job:ps/task:0/cpu:0",
                                        "/job:ps/replica:0/task:0/device:CPU",
                                        "nonsense"};
    struct tfd_device_set set;

    (void)state;
    tfd_device_set_init(&set);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct tfd_device_attributes a = {.type = "CPU"};
        bool added = true;

        snprintf(a.name, sizeof(a.name), "%s", names[i]);
        assert_true(tfd_device_set_add(&set, &a, 0, &added, NULL) != TFD_OK);
        assert_false(added);
    }
    assert_int_equal(set.count, 0);
    tfd_device_set_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placements_are_those_of_tensorflow),
        cmocka_unit_test(test_a_long_chain_is_placed),
        cmocka_unit_test(test_a_node_may_be_in_many_groups),
        cmocka_unit_test(test_names_are_kept_once),
        cmocka_unit_test(test_devices_that_are_not_whole_are_refused),
    };

    return cmocka_run_group_tests_name("place", tests, setup_registry,
                                       teardown_registry);
}
