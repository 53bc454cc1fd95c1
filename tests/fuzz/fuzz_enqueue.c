/*
 * fuzz_enqueue.c - libFuzzer target: any bytes as an EnqueueRequest of
 * EagerService, alone and in a stream of them, and, first of all, as a
 * RunComponentFunctionRequest, in a context.  There is
 *
 *     value 1      a float, and function "f" and component "f": x -> Square(x)
 *     function "g" (v on the ps, x) -> v += x, which is cut for two tasks
 */
#include "tests/fuzz/eager_calls.h"

#define QUEUE tensorflow_eager_EnqueueRequest_queue_tag
#define ITEM(field) tensorflow_eager_QueueItem_##field##_tag
#define FUNCTION(field) tensorflow_FunctionDef_##field##_tag

/* ---- Functions ----------------------------------------------------------- */

static void put_arg(struct tfd_bytes *b, uint32_t tag, const char *name,
                    int type)
{
    size_t mark = tfd_pb_begin(b, tag);

    tfd_pb_put_str(b, 1, tfd_str_of(name));
    tfd_pb_put_int(b, 3, type);
    tfd_pb_finish(b, mark);
}

static void put_node(struct tfd_bytes *b, const char *op, const char *attr,
                     const char *x, const char *y)
{
    struct tfd_str in[2] = {tfd_str_of(x), tfd_str_of(y)};
    struct tfd_bytes type, node;
    struct tfd_attr list;
    struct tfd_nodedef def = {
        .name = TFD_STR("n"),
        .op = tfd_str_of(op),
        .device = TFD_STR_EMPTY,
        .in = in,
        .in_count = y[0] ? 2 : 1,
        .attrs = &list,
        .attr_count = 1,
    };
    struct tfd_pb_reader r;
    struct tfd_pb_field f;

    tfd_bytes_init(&type, 100);
    tfd_bytes_init(&node, 1000);
    tfd_attr_put_type(&type, TFD_FLOAT);
    list = (struct tfd_attr){tfd_str_of(attr), tfd_bytes_view(&type)};
    tfd_graphdef_put(&node, &def);
    r = tfd_pb_reader_of(tfd_bytes_view(&node));
    while (tfd_pb_next(&r, &f))
        tfd_pb_put_str(b, FUNCTION(node_def), f.bytes);
    tfd_bytes_deinit(&node);
    tfd_bytes_deinit(&type);
}

static void put_result(struct tfd_bytes *b, const char *from)
{
    size_t mark = tfd_pb_begin(b, FUNCTION(ret));

    tfd_pb_put_str(b, 1, TFD_STR("y"));
    tfd_pb_put_str(b, 2, tfd_str_of(from));
    tfd_pb_finish(b, mark);
}

static void put_function(struct tfd_bytes *b, bool spans)
{
    size_t function =
        tfd_pb_begin(b, tensorflow_eager_RegisterFunctionOp_function_def_tag);
    size_t signature = tfd_pb_begin(b, FUNCTION(signature));

    tfd_pb_put_str(b, tensorflow_OpDef_name_tag, tfd_str_of(spans ? "g" : "f"));
    if (spans)
        put_arg(b, tensorflow_OpDef_input_arg_tag, "v", TFD_RESOURCE);
    put_arg(b, tensorflow_OpDef_input_arg_tag, "x", TFD_FLOAT);
    put_arg(b, tensorflow_OpDef_output_arg_tag, "y", TFD_FLOAT);
    tfd_pb_finish(b, signature);
    if (spans)
        put_node(b, "AssignAddVariableOp", "dtype", "v", "x");
    else
        put_node(b, "Square", "T", "x", "");
    put_result(b, spans ? "x" : "n:y:0");
    tfd_pb_finish(b, function);
}

static void put_register(struct tfd_bytes *b, bool spans, bool component)
{
    size_t item = tfd_pb_begin(b, QUEUE);
    size_t mark = tfd_pb_begin(b, ITEM(register_function));

    put_function(b, spans);
    tfd_pb_put_bool(
        b, tensorflow_eager_RegisterFunctionOp_is_component_function_tag,
        component);
    tfd_pb_finish(b, mark);
    tfd_pb_finish(b, item);
}

static void put_value(struct tfd_bytes *b)
{
    static const char half[] = {8, TFD_FLOAT, 18, 0, 42, 4, 0, 0, 0, 63};
    size_t item = tfd_pb_begin(b, QUEUE);
    size_t mark = tfd_pb_begin(b, ITEM(send_tensor));

    tfd_pb_put_int(b, tensorflow_eager_SendTensorOp_op_id_tag, 1);
    tfd_pb_put_str(b, tensorflow_eager_SendTensorOp_tensors_tag,
                   (struct tfd_str){half, sizeof(half)});
    tfd_pb_finish(b, mark);
    tfd_pb_finish(b, item);
}

static void fill_context(void)
{
    struct tfd_bytes b;

    tfd_bytes_init(&b, 10000);
    put_value(&b);
    put_register(&b, false, false);
    put_register(&b, false, true);
    put_register(&b, true, false);
    tfd_pb_put_fixed64(&b, tensorflow_eager_EnqueueRequest_context_id_tag,
                       EAGER_CONTEXT);
    calls_must(TFD_METHOD_Enqueue, tfd_bytes_view(&b), NULL);
    tfd_bytes_deinit(&b);
}

/* A context of the same number takes the place of the one before. */
static void open_context(void)
{
    static unsigned used;

    if (used++ % 64)
        return;
    eager_create_context();
    fill_context();
}

/* In a stream: one that is served, then this, then its first half. */
static void ask_stream(const struct tfd_bytes *request, size_t size)
{
    struct tfd_bytes half, good;
    struct tfd_str messages[3];

    tfd_bytes_init(&half, size + 100);
    tfd_bytes_init(&good, 1000);
    tfd_bytes_add(&half, request->data, size / 2);
    tfd_pb_put_fixed64(&half, tensorflow_eager_EnqueueRequest_context_id_tag,
                       EAGER_CONTEXT);
    put_value(&good);
    tfd_pb_put_fixed64(&good, tensorflow_eager_EnqueueRequest_context_id_tag,
                       EAGER_CONTEXT);
    messages[0] = tfd_bytes_view(&good);
    messages[1] = tfd_bytes_view(request);
    messages[2] = tfd_bytes_view(&half);
    (void)calls_stream(TFD_METHOD_StreamingEnqueue, messages, 3);
    tfd_bytes_deinit(&half);
    tfd_bytes_deinit(&good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str bytes = {(const char *)data, size};
    struct tfd_bytes b;

    (void)calls_server();
    open_context();
    tfd_bytes_init(&b, size + 100);
    tfd_bytes_add_str(&b, bytes);
    tfd_pb_put_fixed64(&b, tensorflow_eager_EnqueueRequest_context_id_tag,
                       EAGER_CONTEXT);
    (void)calls_ask(TFD_METHOD_RunComponentFunction, tfd_bytes_view(&b), false,
                    NULL);
    (void)calls_ask(TFD_METHOD_Enqueue, tfd_bytes_view(&b), false, NULL);
    ask_stream(&b, size);
    tfd_bytes_deinit(&b);
    return 0;
}
