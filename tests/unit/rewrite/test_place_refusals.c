/*
 * test_place_refusals.c - daemon/rewrite/place.c, place_groups.c and
 * specs.c against TensorFlow 2.21's texts where a graph cannot be placed, and
 * its placements where devices are asked for softly.
 */
#include "tests/support/place_rig.h"

static const struct placement placements[] = {
    {"two handles on two devices", false,
     "h VarHandleOp - /job:ps/task:0; g VarHandleOp - /job:ps/task:1; c Const; "
     "m ResourceApplyMomentum h,g,c,c,c",
     NULL,
     "!Cannot place the graph because a reference or resource edge connects "
     "colocation groups with incompatible resource devices: /job:ps/task:1 vs "
     "/job:ps/task:0. The edge src node is name='g' (op='VarHandleOp'), and "
     "the dst node is name='m' (op='ResourceApplyMomentum')."},
    {"two references on two devices", false,
     "h VariableV2 - /job:ps/task:0; g VariableV2 - /job:ps/task:1; c Const; m "
     "ApplyMomentum h,g,c,c,c",
     NULL,
     "!Cannot place the graph because a reference or resource edge connects "
     "colocation groups with incompatible resource devices: /job:ps/task:1 vs "
     "/job:ps/task:0. The edge src node is name='g' (op='VariableV2'), and the "
     "dst node is name='m' (op='ApplyMomentum')."},
    {"two references on two numbers, softly", true,
     "h VariableV2 - /job:ps/cpu:0; g VariableV2 - /job:ps/cpu:1; c Const; m "
     "ApplyMomentum h,g,c,c,c",
     NULL,
     "!Cannot place the graph because a reference or resource edge connects "
     "colocation groups with incompatible resource devices: "
     "/job:ps/device:CPU:1 vs /job:ps/device:CPU:0. The edge src node is "
     "name='g' (op='VariableV2'), and the dst node is name='m' "
     "(op='ApplyMomentum')."},
    {"colocation that cannot be", false,
     "a Const - /job:ps; b Const - /job:worker a", NULL,
     "!Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: "
     "Cannot merge devices with incompatible jobs: '/job:worker' and "
     "'/job:ps'\n\t [[{{node b}}]]"},
    {"colocation with another number", false,
     "a Const - /job:ps/cpu:0; b Const - /job:ps/cpu:1 a", NULL,
     "!Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: "
     "Cannot merge devices with incompatible ids: '/job:ps/device:CPU:1' and "
     "'/job:ps/device:CPU:0'\n\t [[{{node b}}]]"},
    {"colocation with another number, softly", true,
     "a Const - /job:ps/cpu:1; b Const - /job:ps/cpu:0 a", NULL,
     "a=ps0:0 b=ps0:0"},
    {"colocation that cannot be, softly", true,
     "a Const - /job:ps; b Const - /job:worker a", NULL, "a=ps0:0 b=worker1:0"},
    {"colocation of three, one cannot be, softly", true,
     "a Const - /job:ps; b Const - /job:worker a; c Const - /task:1 a", NULL,
     "a=ps1:0 b=worker1:0 c=ps1:0"},
    {"no such job", false, "c Const - /job:nosuch/task:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /job:nosuch/task:0 but available devices are [ @ ]. Make "
     "sure the device specification refers to a valid device.\n\t [[c]]"},
    {"no such job, softly", true, "c Const - /job:nosuch/task:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /job:nosuch/task:0 but available devices are [ @ ]. Make "
     "sure the device specification refers to a valid device.\n\t [[c]]"},
    {"no such task", false, "c Const - /job:ps/task:7", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /job:ps/task:7 but available devices are [ @ ]. Make sure "
     "the device specification refers to a valid device.\n\t [[c]]"},
    {"no such number", false, "c Const - /job:ps/task:1/cpu:7", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /job:ps/task:1/cpu:7 but available devices are [ @ ]. Make "
     "sure the device specification refers to a valid device.\n\t [[c]]"},
    {"no such number, softly", true, "c Const - /job:ps/task:1/cpu:7", NULL,
     "c=ps1:0"},
    {"no GPU here", false, "c Const - /job:ps/task:1/device:GPU:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /job:ps/task:1/device:GPU:0 but available devices are [ @ ]. "
     "Make sure the device specification refers to a valid device. The "
     "requested device appears to be a GPU, but CUDA is not enabled.\n\t "
     "[[c]]"},
    {"no GPU here, softly", true, "c Const - /job:ps/task:1/device:GPU:0", NULL,
     "c=ps1:0"},
    {"a variable on a GPU, softly", true,
     "v VariableV2 - /job:ps/task:1/gpu:0; c Const; a Assign v,c /job:worker",
     NULL, "v=ps1:0 c=ps1:0 a=ps1:0"},
    {"a type that nobody knows", false, "c Const - /device:TPU:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /device:TPU:0 but available devices are [ @ ]. Make sure the "
     "device specification refers to a valid device.\n\t [[c]]"},
    {"lower case type", false, "c Const - /device:cpu:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /device:cpu:0 but available devices are [ @ ]. Make sure the "
     "device specification refers to a valid device.\n\t [[c]]"},
    {"malformed", false, "c Const - /job:ps/taks:0", NULL,
     "!Malformed device specification '/job:ps/taks:0' in node: "},
    {"a source of a missing consumer device", false,
     "c Const; i Identity c /job:nosuch", NULL,
     "!Cannot assign a device for operation i: {{node i}} was explicitly "
     "assigned to /job:nosuch but available devices are [ @ ]. Make sure the "
     "device specification refers to a valid device.\n\t [[i]]"},
    {"error in the second of two", false, "a Const; b Const - /job:ps/task:7",
     NULL,
     "!Cannot assign a device for operation b: {{node b}} was explicitly "
     "assigned to /job:ps/task:7 but available devices are [ @ ]. Make sure "
     "the device specification refers to a valid device.\n\t [[b]]"},
    {"grouped, no such device", false,
     "a Const - /job:ps/task:7; b Const - - a", NULL,
     "!Cannot assign a device for operation a: {{node a}} was explicitly "
     "assigned to /job:ps/task:7 but available devices are [ @ ]. Make sure "
     "the device specification refers to a valid device.\n\t [[a]]"},
    {"a GPU for the op, not for the variable, softly", true,
     "v VariableV2 - /job:ps/task:1/cpu:1; c Const; a Assign v,c /device:GPU:0",
     NULL, "v=ps1:1 c=ps1:1 a=ps1:1"},
    {"a number that is not there for the op, softly", true,
     "v VariableV2 - /job:ps/task:1; c Const; a Assign v,c /cpu:7", NULL,
     "v=ps1:0 c=ps1:0 a=ps1:0"},
    {"extend: a conflict with what stays", false,
     "v VariableV2 - /job:ps/task:1", "c Const - /job:worker v",
     "!Cannot colocate nodes {{colocation_node c}} and {{colocation_node v}}: "
     "Cannot merge devices with incompatible jobs: '/job:worker' and "
     "'/job:ps/replica:0/task:1/device:CPU:0'\n\t [[{{node c}}]]"},
    {"grouped, the device asked for later does not exist", false,
     "b Const - - a; a Const - /job:ps/task:7", NULL,
     "!Cannot assign a device for operation b: Could not satisfy explicit "
     "device specification '' because the node {{colocation_node b}} was "
     "colocated with a group of nodes that required incompatible device "
     "'/job:ps/task:7'."},
    {"grouped, both ask, together for nothing", false,
     "a Const - /job:ps; b Const - /task:7 a", NULL,
     "!Cannot assign a device for operation a: Could not satisfy explicit "
     "device specification '/job:ps' because the node {{colocation_node a}} "
     "was colocated with a group of nodes that required incompatible device "
     "'/job:ps/task:7'."},
    {"grouped, an op asks, the variable is nowhere", false,
     "v VariableV2 - /job:ps/task:7; c Const; a Assign v,c", NULL,
     "!Cannot assign a device for operation v: {{node v}} was explicitly "
     "assigned to /job:ps/task:7 but available devices are [ @ ]. Make sure "
     "the device specification refers to a valid device.\n\t [[v]]"},
    {"lower case gpu", false, "c Const - /job:ps/device:gpu:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /job:ps/device:gpu:0 but available devices are [ @ ]. Make "
     "sure the device specification refers to a valid device. The requested "
     "device appears to be a GPU, but CUDA is not enabled.\n\t [[c]]"},
    {"gpu of the master", false, "c Const - /gpu:0", NULL,
     "!Cannot assign a device for operation c: {{node c}} was explicitly "
     "assigned to /gpu:0 but available devices are [ @ ]. Make sure the device "
     "specification refers to a valid device. The requested device appears to "
     "be a GPU, but CUDA is not enabled.\n\t [[c]]"},
    {"a handle with a number, a reader with another, softly", true,
     "h VarHandleOp - /job:ps/cpu:1; r ReadVariableOp h /job:ps/cpu:0", NULL,
     "h=ps0:1 r=ps0:1"},
    {"variables colocated, softly", true,
     "v VariableV2 - /job:ps/cpu:0; w VariableV2 - /job:ps/cpu:1 v", NULL,
     "v=ps0:0 w=ps0:1"},
    {"variables colocated", false,
     "v VariableV2 - /job:ps/cpu:0; w VariableV2 - /job:ps/cpu:1 v", NULL,
     "!Cannot colocate nodes {{colocation_node w}} and {{colocation_node v}}: "
     "Cannot merge devices with incompatible ids: '/job:ps/device:CPU:1' and "
     "'/job:ps/device:CPU:0'\n\t [[{{node w}}]]"},
    {"a group of three, the error's order", false,
     "a Const - /job:ps; b Const - - a; c Const - /job:worker a", NULL,
     "!Cannot colocate nodes {{colocation_node c}} and {{colocation_node a}}: "
     "Cannot merge devices with incompatible jobs: '/job:ps' and "
     "'/job:worker'\n\t [[{{node c}}]]"},
    {"a group of two groups", false,
     "a Const - /job:ps; b Const - - a; c Const - /job:worker; d Const - - c; "
     "e Const - - b,d",
     NULL,
     "!Cannot colocate nodes {{colocation_node e}} and {{colocation_node d}}: "
     "Cannot merge devices with incompatible jobs: '/job:ps' and "
     "'/job:worker'\n\t [[{{node e}}]]"},
    {"metadata of what is not here, softly", true,
     "d Const - /job:ps/cpu:1; c Relu d /job:ps/cpu:1; s Shape c /gpu:0", NULL,
     "d=ps0:1 c=ps0:1 s=ps0:1"},
    {"a source of what is not here, softly", true,
     "c Const - /gpu:0; i Identity c /job:ps/cpu:1", NULL, "c=ps0:1 i=ps0:1"},
    {"a source of what is not there, softly", true,
     "c Const - /job:worker/gpu:0; i Identity c /job:ps/cpu:1", NULL,
     "c=worker1:0 i=ps0:1"},
    {"a source of a group of what is not here, softly", true,
     "c Const - /gpu:0; b Const - /cpu:1 c; i Identity c /job:ps/cpu:1", NULL,
     "c=ps0:1 b=ps0:1 i=ps0:1"},
    {"extend: an owner moves nothing", false, "v VariableV2; i Identity v",
     "w VariableV2 - /job:ps; c Const; m ApplyMomentum v,w,c,c,c",
     "!Nodes were connected by a reference or resource connection (requiring "
     "them to be on the same device), but the two nodes were assigned two "
     "different devices: Cannot colocate nodes {{colocation_node w}} and "
     "{{colocation_node m}}: Cannot merge devices with incompatible jobs: "
     "'/job:worker/replica:0/task:1/device:CPU:0' and '/job:ps'\n\t [[{{node "
     "m}}]]"},
};

static void test_what_cannot_be_placed_is_said_as_by_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(placements) / sizeof(placements[0]); i++)
        check(&placements[i], NULL);
}

/* ---- With a GPU that no kernel here uses --------------------------------- */

static void test_a_kernel_is_needed_where_the_device_is(void **state)
{
    static const struct placement cases[] = {
        {"not the default", false, "c Const", NULL, "c=worker1:0"},
        {"not the job's default", false, "c Const - /job:ps", NULL, "c=ps0:0"},
        {"asked for", false, "c Const - /job:ps/gpu:0", NULL,
         "!Cannot assign a device for operation c: Could not satisfy explicit "
         "device specification '/job:ps/gpu:0' because no supported kernel for "
         "GPU devices is available."},
        {"asked for, softly", true, "c Const - /job:ps/gpu:0", NULL, "c=ps0:0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i], "GPU");
}

static void test_devices_of_other_types_are_left_out(void **state)
{
    static const struct placement c = {"a TPU", false,
                                       "c Const - /device:TPU:0", NULL,
                                       "!Cannot assign a device for operation "
                                       "c: {{node c}} was explicitly assigned "
                                       "to /device:TPU:0 but available devices "
                                       "are [ @ ]."};

    (void)state;
    check(&c, "TPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_cannot_be_placed_is_said_as_by_tensorflow),
        cmocka_unit_test(test_a_kernel_is_needed_where_the_device_is),
        cmocka_unit_test(test_devices_of_other_types_are_left_out),
    };

    return cmocka_run_group_tests_name("place_refusals", tests, setup_registry,
                                       teardown_registry);
}
