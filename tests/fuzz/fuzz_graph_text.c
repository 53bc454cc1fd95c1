/*
 * fuzz_graph_text.c - libFuzzer target: any bytes as the text of a graph.
 *
 *     clang-14 -fsanitize=fuzzer,address,undefined -I. ... fuzz_graph_text.c
 *     ./fuzz_graph_text -max_total_time=30 tests/fuzz/corpus/graph_text
 *
 * Beyond "no crash, no leak, no hang": what is refused has a line and a column,
 * and what is taken is a whole message.
 */
#include "common/base/pbio.h"
#include "common/proto/graph_text.h"

#include <assert.h>
#include <string.h>

#define OUT_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(struct tfd_str message)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(message);
    struct tfd_pb_field f;
    enum tfd_code rc;

    while (tfd_pb_next(&r, &f))
        assert(f.tag > 0 && f.tag < 8);
    rc = tfd_pb_end(&r, "what was text", NULL);
    assert(rc == TFD_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str text = {(const char *)data, size};
    struct tfd_status st = TFD_STATUS_INIT;
    enum tfd_graph_form form;
    struct tfd_bytes out;

    tfd_bytes_init(&out, OUT_MAX);
    if (tfd_graph_text_read(text, &form, &out, &st) == TFD_OK)
        check_message(tfd_bytes_view(&out));
    else
        assert(st.code == TFD_RESOURCE_EXHAUSTED ||
               (st.code == TFD_INVALID_ARGUMENT && strstr(st.text, "line ") &&
                strstr(st.text, ", column ")));
    tfd_bytes_deinit(&out);
    return 0;
}
