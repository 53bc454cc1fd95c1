/*
 * fuzz_picture.c - libFuzzer target: any bytes as a picture's file, or a WAV
 * file's, through the ops that decode them.
 *
 * The first byte says which op; the rest is its input.  Beyond "no crash, no
 * leak, an end that comes": a failure has words, and a small file takes no more
 * memory than the limit.
 */
#include "tests/support/kernel_rig.h"

#include "common/base/alloc.h"

#include <assert.h>

#define MEMORY_MAX ((size_t)256 << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct krig_case rows[] = {
    {.op = "DecodeImage", .attrs = ""},
    {.op = "DecodeImage", .attrs = "channels=3 expand_animations=false"},
    {.op = "DecodePng", .attrs = "channels=1"},
    {.op = "DecodePng", .attrs = "dtype=uint16"},
    {.op = "DecodeJpeg", .attrs = "ratio=2 try_recover_truncated=true"},
    {.op = "DecodeJpeg",
     .attrs = "channels=1 fancy_upscaling=false dct_method=INTEGER_FAST"},
    {.op = "ExtractJpegShape", .attrs = ""},
    {.op = "DecodeGif", .attrs = ""},
    {.op = "DecodeBmp", .attrs = ""},
    {.op = "DecodeWebP", .attrs = ""},
    {.op = "DecodeWav", .attrs = "desired_channels=2"},
    {.op = "DecodeJxl", .attrs = ""},
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    tfd_alloc_limit(MEMORY_MAX);
    return krig_setup(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct krig_case *row;
    struct tfd_str file;

    if (size == 0)
        return 0;
    row = &rows[data[0] % (sizeof(rows) / sizeof(rows[0]))];
    file = (struct tfd_str){(const char *)data + 1, size - 1};
    krig.in_count = 1;
    krig.in[0] = krig_tensor("string[]");
    assert(tfd_tstring_set(tfd_tensor_data(&krig.in[0]), file, NULL) == TFD_OK);
    if (krig_run(row, KRIG_SHARED) != TFD_OK)
        assert(krig.st.text[0] != '\0');
    krig_end();
    return 0;
}
