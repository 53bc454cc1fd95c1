/*
 * base64_text.c - see base64_text.h.
 *
 *     bytes   [aaaaaaaa][bbbbbbbb][cccccccc]
 *     letters [aaaaaa][aabbbb][bbbbcc][cccccc]
 */
#include "kernels/parse/base64_text.h"

#include <string.h>

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Up to three bytes, the first one highest. */
static uint32_t gather(const char *from, size_t count)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < 3; i++)
        bits = bits << 8 | (i < count ? (uint8_t)from[i] : 0u);
    return bits;
}

void tfd_base64_encode(struct tfd_bytes *out, struct tfd_str bytes, bool pad)
{
    for (size_t at = 0; at < bytes.size; at += 3) {
        size_t count = bytes.size - at < 3 ? bytes.size - at : 3;
        uint32_t bits = gather(bytes.data + at, count);
        char text[] = "====";

        for (size_t i = 0; i <= count; i++)
            text[i] = letters[bits >> (18 - 6 * i) & 63];
        tfd_bytes_add(out, text, pad ? 4 : count + 1);
    }
}

static int bits_of(char c, bool both)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '-' || (both && c == '+'))
        return 62;
    return c == '_' || (both && c == '/') ? 63 : -1;
}

/* Two to four letters, which are one byte less. */
static bool decode_some(const char *from, size_t count, bool both,
                        struct tfd_bytes *out)
{
    uint32_t bits = 0;
    char bytes[3];

    for (size_t i = 0; i < 4; i++) {
        int value = i < count ? bits_of(from[i], both) : 0;

        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    for (size_t i = 0; i < 3; i++)
        bytes[i] = (char)(uint8_t)(bits >> (16 - 8 * i));
    tfd_bytes_add(out, bytes, count - 1);
    return true;
}

/* One or two '=' where they fill up a length of fours. */
static size_t without_padding(struct tfd_str text)
{
    size_t size = text.size;

    if (size == 0 || size % 4)
        return size;
    for (int i = 0; i < 2 && text.data[size - 1] == '='; i++)
        size--;
    return size;
}

enum tfd_code tfd_base64_decode(struct tfd_bytes *out, struct tfd_str text,
                                bool both, struct tfd_status *st)
{
    const size_t size = without_padding(text);

    if (size % 4 == 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Base64 string length cannot be 1 modulo 4.");
    for (size_t at = 0; at < size; at += 4)
        if (!decode_some(text.data + at, size - at < 4 ? size - at : 4, both,
                         out))
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Invalid character found in base64.");
    return TFD_OK;
}
