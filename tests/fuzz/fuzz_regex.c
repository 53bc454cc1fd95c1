/*
 * fuzz_regex.c - libFuzzer target: a pattern, a rewrite and a text, apart at
 * newlines.
 *
 * Beyond "no crash, no leak": a second match says the same, and what was
 * replaced is no larger than it may be.
 */
#include "kernels/text/pattern.h"
#include "kernels/text/replace.h"

#include <assert.h>
#include <string.h>

#define OUT_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What stands before the next newline; *rest begins behind that. */
static struct tfd_str line_of(struct tfd_str *rest)
{
    const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    struct tfd_str line = {rest->data, size};

    size += end != NULL;
    rest->data += size;
    rest->size -= size;
    return line;
}

static void check_match(const struct tfd_re2 *r, struct tfd_str text)
{
    bool once, again;

    assert(tfd_re2_full_match(r, text, &once, NULL) == TFD_OK);
    assert(tfd_re2_full_match(r, text, &again, NULL) == TFD_OK);
    assert(once == again);
}

static void check_replace(const struct tfd_re2 *r, struct tfd_str rewrite,
                          struct tfd_str text, bool all)
{
    struct tfd_replace replace;
    struct tfd_bytes out;
    bool changed;

    tfd_bytes_init(&out, OUT_MAX);
    tfd_replace_init(&replace, r, rewrite, all);
    assert(tfd_replace(&replace, text, &out, &changed, NULL) == TFD_OK);
    assert(out.size <= OUT_MAX);
    tfd_bytes_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfd_str text = {(const char *)data, size};
    struct tfd_str pattern = line_of(&text), rewrite = line_of(&text);
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_pattern_cache cache;
    struct tfd_pattern *p;

    tfd_pattern_cache_init(&cache);
    if (tfd_pattern_get(&cache, pattern, &p, &st) == TFD_OK) {
        check_match(p->re2, text);
        check_replace(p->re2, rewrite, text, true);
        check_replace(p->re2, rewrite, text, false);
        tfd_pattern_unref(p);
    } else {
        assert(st.text[0] != '\0');
    }
    tfd_pattern_cache_deinit(&cache);
    return 0;
}
