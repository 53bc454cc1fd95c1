/*
 * fuzz_regex.c - libFuzzer target: a pattern and a text, apart at the first
 * newline.
 *
 * Beyond "no crash, no leak": every jump of a program stays inside it, and a
 * second match says the same.
 */
#include "kernels/text/regex.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_target(const struct tfd_regex *r, int32_t to)
{
    assert(to >= 0 && to < r->step_count);
}

static void check_program(const struct tfd_regex *r)
{
    assert(r->step_count <= TFD_REGEX_STEPS_MAX);
    for (int32_t i = 0; i < r->step_count; i++) {
        const struct tfd_regex_step *s = &r->steps[i];

        if (s->op == TFD_REGEX_JUMP || s->op == TFD_REGEX_SPLIT)
            check_target(r, i + s->x);
        if (s->op == TFD_REGEX_SPLIT)
            check_target(r, i + s->y);
        if (s->op == TFD_REGEX_CLASS)
            assert(s->x >= 0 && s->y >= 0 && s->x + s->y <= r->range_count);
    }
    assert(r->steps[r->step_count - 1].op == TFD_REGEX_MATCH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t cut = line ? (size_t)(line - data) : size;
    struct tfd_str pattern = {(const char *)data, cut};
    struct tfd_str text = {(const char *)data + cut, size - cut};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_regex_matcher m;
    struct tfd_regex r;

    if (tfd_regex_compile(&r, pattern, &st) != TFD_OK) {
        assert(st.text[0] != '\0');
        return 0;
    }
    check_program(&r);
    if (tfd_regex_matcher_init(&m, &r, &st) == TFD_OK) {
        bool once = tfd_regex_matches(&m, text);

        assert(tfd_regex_matches(&m, text) == once);
        tfd_regex_matcher_deinit(&m);
    }
    tfd_regex_deinit(&r);
    return 0;
}
