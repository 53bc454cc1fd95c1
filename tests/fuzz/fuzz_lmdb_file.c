/*
 * fuzz_lmdb_file.c - LMDB databases from any bytes: no crash, no leak, no read
 * past a page, and an end that comes.
 *
 * clang -fsanitize=fuzzer,address,undefined
 */
#include "tests/support/memory_files.h"

#include "kernels/io/lmdb_file.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

/* So that every byte of it is read. */
static void touch(struct tfd_str s)
{
    for (size_t i = 0; i < s.size; i++)
        sink ^= (unsigned char)s.data[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_files m;
    struct tfd_lmdb_file l;
    struct tfd_str key, value;
    bool end = false;

    memory_files_init(&m);
    memory_put(&m, "d", data, size);
    if (tfd_lmdb_open(&l, &m.access, TFD_STR("d"), NULL) == TFD_OK) {
        while (!end && tfd_lmdb_next(&l, &key, &value, &end, NULL) == TFD_OK)
            if (!end) {
                touch(key);
                touch(value);
            }
        tfd_lmdb_close(&l);
    }
    memory_files_deinit(&m);
    return 0;
}
