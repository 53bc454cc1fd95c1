/*
 * test_gif.c - that frames of a GIF count against the memory limit while it is
 * decoded; what they look like is compared with TensorFlow's answers.
 */
#include "common/base/alloc.h"
#include "kernels/codec/gif.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SIDE 64
#define PIXELS ((size_t)SIDE * SIDE)
#define FRAMES 3
/* A code of 3 bits, "forget all", before each pixel's keeps codes so short. */
#define FORGET 4
#define END 5

struct file {
    uint8_t data[8 * FRAMES * PIXELS];
    size_t size;
};

static void put_bytes(struct file *f, const char *bytes, size_t size)
{
    memcpy(f->data + f->size, bytes, size);
    f->size += size;
}

/* Colour 1 everywhere, in blocks of one byte each. */
static void put_pixels(struct file *f)
{
    uint32_t bits = 0;
    int count = 0;

    for (size_t i = 0; i < 2 * PIXELS + 2; i++) {
        uint32_t code = i == 2 * PIXELS ? END : i % 2 ? 1 : FORGET;

        bits |= code << count;
        count += 3;
        for (; count >= 8 || (i > 2 * PIXELS && count > 0); count -= 8) {
            const char block[2] = {1, (char)(bits & 0xff)};

            put_bytes(f, block, 2);
            bits >>= 8;
        }
    }
    put_bytes(f, "", 1);
}

static void make_file(struct file *f, bool interlaced)
{
    const char head[] = {',', 0, 0, 0, 0, SIDE, 0, SIDE, 0, 0, 2};

    f->size = 0;
    put_bytes(f, "GIF89a\x40\0\x40\0\x81\0\0", 13);
    put_bytes(f, "\0\0\0abcdefghi", 12);
    for (int i = 0; i < FRAMES; i++) {
        put_bytes(f, head, sizeof(head));
        f->data[f->size - 2] = interlaced ? 0x40 : 0;
        put_pixels(f);
    }
    put_bytes(f, ";", 1);
}

struct room {
    struct tfd_picture_sink sink;
    struct tfd_picture_size size;
    uint8_t pixels[3 * FRAMES * PIXELS];
};

static enum tfd_code room_for(struct tfd_picture_sink *s,
                              const struct tfd_picture_size *size,
                              uint8_t **out, struct tfd_status *st)
{
    struct room *r = (struct room *)s;

    (void)st;
    r->size = *size;
    *out = r->pixels;
    return TFD_OK;
}

static struct file file;
static struct room room;

static enum tfd_code decode(size_t more, struct tfd_status *st)
{
    struct tfd_alloc_stats before, after;
    enum tfd_code rc;

    memset(&room, 0, sizeof(room));
    room.sink.room = room_for;
    tfd_alloc_stats(&before);
    tfd_alloc_limit(more ? before.in_use + more : 0);
    rc = tfd_gif_decode((struct tfd_str){(const char *)file.data, file.size},
                        true, &room.sink, st);
    tfd_alloc_limit(0);
    tfd_alloc_stats(&after);
    assert_int_equal(after.in_use, before.in_use);
    return rc;
}

static void test_frames_are_drawn(void **state)
{
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        struct tfd_status st = TFD_STATUS_INIT;

        make_file(&file, interlaced);
        assert_int_equal(decode(0, &st), TFD_OK);
        assert_int_equal(room.size.frames, FRAMES);
        for (size_t i = 0; i < sizeof(room.pixels); i++)
            assert_int_equal(room.pixels[i], "abc"[i % 3]);
    }
}

static void test_frames_count_against_the_limit(void **state)
{
    (void)state;
    for (size_t some = 0; some < FRAMES; some++) {
        struct tfd_status st = TFD_STATUS_INIT;

        make_file(&file, false);
        assert_int_equal(decode(some * PIXELS + PIXELS / 2, &st),
                         TFD_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(st.text, "a frame of a GIF of 4096 pixels"));
        assert_int_equal(room.size.frames, 0);
    }
}

static void test_rows_in_another_order_take_a_frame_more(void **state)
{
    struct tfd_status st = TFD_STATUS_INIT;

    (void)state;
    make_file(&file, true);
    assert_int_equal(decode(FRAMES * PIXELS + PIXELS / 2, &st),
                     TFD_RESOURCE_EXHAUSTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_drawn),
        cmocka_unit_test(test_frames_count_against_the_limit),
        cmocka_unit_test(test_rows_in_another_order_take_a_frame_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
