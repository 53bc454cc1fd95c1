/*
 * fuzz_proto.c - libFuzzer target: any bytes as a FileDescriptorSet, and as a
 * message of its first type, binary and text.
 *
 * The first two bytes say how long the set is; the rest is the message.  Beyond
 * "no crash, no leak": what was put in order stays as it is when it is put in
 * order again.
 */
#include "kernels/proto/canonical.h"
#include "kernels/proto/text.h"

#include <assert.h>
#include <string.h>

#define OUT_SIZE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tfd_proto_message *
first_message(const struct tfd_proto_pool *p)
{
    const struct tfd_proto_message *first = NULL;
    const struct tfd_map_entry *e;
    size_t at = 0;

    while (tfd_map_next(&p->symbols, &at, &e)) {
        const struct tfd_proto_symbol *s =
            (const struct tfd_proto_symbol *)e->value;

        if (s->kind == TFD_PROTO_IS_MESSAGE &&
            (!first || tfd_str_cmp(s->name, first->symbol.name) < 0))
            first = (const struct tfd_proto_message *)s;
    }
    return first;
}

/* The order of a message in order is the same. */
static void order_twice(const struct tfd_proto_pool *p,
                        const struct tfd_proto_message *m, struct tfd_str bytes,
                        bool is_text)
{
    struct tfd_bytes once, twice;

    tfd_bytes_init(&once, OUT_SIZE_MAX);
    tfd_bytes_init(&twice, 2 * OUT_SIZE_MAX);
    if (tfd_proto_canonical(p, m, bytes, is_text, &once, NULL) == TFD_OK) {
        assert(tfd_proto_canonical(p, m, tfd_bytes_view(&once), true, &twice,
                                   NULL) == TFD_OK);
        assert(tfd_str_eq(tfd_bytes_view(&once), tfd_bytes_view(&twice)));
    }
    tfd_bytes_deinit(&once);
    tfd_bytes_deinit(&twice);
}

static void read_both(const struct tfd_proto_pool *p,
                      const struct tfd_proto_message *m, struct tfd_str bytes)
{
    struct tfd_bytes binary;

    order_twice(p, m, bytes, false);
    tfd_bytes_init(&binary, OUT_SIZE_MAX);
    if (tfd_proto_text_read(p, m, bytes, &binary, NULL) == TFD_OK)
        order_twice(p, m, tfd_bytes_view(&binary), true);
    tfd_bytes_deinit(&binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfd_proto_message *m = NULL;
    struct tfd_proto_pool pool;
    size_t set_size;

    if (size < 2)
        return 0;
    set_size = (size_t)data[0] | (size_t)data[1] << 8;
    data += 2;
    size -= 2;
    if (set_size > size)
        set_size = size;
    if (tfd_proto_pool_read(&pool,
                            (struct tfd_str){(const char *)data, set_size},
                            NULL) == TFD_OK)
        m = first_message(&pool);
    if (m)
        read_both(
            &pool, m,
            (struct tfd_str){(const char *)data + set_size, size - set_size});
    tfd_proto_pool_deinit(&pool);
    return 0;
}
