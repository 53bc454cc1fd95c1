/*
 * fuzz_json_example.c - libFuzzer target: any bytes as an Example in JSON.
 *
 * Beyond "no crash, no leak": a failure has words, which are UTF-8, and what is
 * made is a message whose fields all have an end.
 */
#include "kernels/parse/json_to_example.h"

#include "common/base/pbio.h"
#include "common/base/unicode.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(struct tfd_str example)
{
    struct tfd_pb_reader r = tfd_pb_reader_of(example);
    struct tfd_pb_field f;

    while (tfd_pb_next(&r, &f)) {
        struct tfd_pb_reader features = tfd_pb_reader_of(f.bytes);
        struct tfd_pb_field entry;

        assert(f.tag == 1 && f.wire == TFD_PB_BYTES);
        while (tfd_pb_next(&features, &entry)) {
            struct tfd_pb_entry pair;

            assert(entry.tag == 1 && entry.wire == TFD_PB_BYTES);
            assert(tfd_pb_map_entry(entry.bytes, &pair));
            assert(tfd_unicode_is_utf8(pair.key));
        }
        assert(!features.failed);
    }
    assert(!r.failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_bytes out;

    tfd_bytes_init(&out, (size_t)1 << 24);
    if (tfd_json_to_example((struct tfd_str){(const char *)data, size}, &out,
                            &st) == TFD_OK)
        check_message(tfd_bytes_view(&out));
    else
        assert(st.text[0] != '\0' && tfd_unicode_is_utf8(tfd_str_of(st.text)));
    tfd_bytes_deinit(&out);
    return 0;
}
