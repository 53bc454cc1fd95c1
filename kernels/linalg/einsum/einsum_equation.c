/*
 * einsum_equation.c - see einsum_equation.h.
 */
#include "kernels/linalg/einsum/einsum_equation.h"

#include <string.h>

bool tfd_einsum_has(const struct tfd_einsum_side *s, char label)
{
    return memchr(s->label, label, (size_t)s->count) != NULL;
}

/* How often `part` is in the text. */
static int times_in(struct tfd_str text, const char *part)
{
    const size_t size = strlen(part);
    int n = 0;

    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.data + i, part, size) == 0) {
            n++;
            i += size - 1;
        }
    return n;
}

/* Where `part` begins, which is there. */
static size_t place_of(struct tfd_str text, const char *part)
{
    const size_t size = strlen(part);
    size_t i = 0;

    while (memcmp(text.data + i, part, size) != 0)
        i++;
    return i;
}

static struct tfd_str part_of(struct tfd_str text, size_t from, size_t to)
{
    return (struct tfd_str){.data = text.data + from, .size = to - from};
}

static enum tfd_code read_side(struct tfd_str text, struct tfd_einsum_side *s,
                               struct tfd_status *st)
{
    const int periods = times_in(text, ".");

    *s = (struct tfd_einsum_side){.ellipsis = -1};
    if (periods != 0 && (periods != 3 || times_in(text, "...") != 1))
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected at most one ellipsis (...), but found %d "
                        "periods (.) in the input subscript: " TFD_STR_FMT,
                        periods, TFD_STR_ARG(text));
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '.') {
            s->ellipsis = s->count;
            i += 2;
            continue;
        }
        if (s->count == TFD_EINSUM_LABELS_MAX)
            return tfd_fail(st, TFD_INVALID_ARGUMENT,
                            "Einsum subscripts have more than %d labels",
                            TFD_EINSUM_LABELS_MAX);
        s->label[s->count++] = text.data[i];
    }
    return TFD_OK;
}

/* Every label of the output comes from an input. */
static enum tfd_code check_output(struct tfd_str text,
                                  const struct tfd_einsum_equation *e,
                                  struct tfd_status *st)
{
    for (int i = 0; i < e->out.count; i++) {
        bool found = false;

        for (int k = 0; k < e->in_count; k++)
            found = found || tfd_einsum_has(&e->in[k], e->out.label[i]);
        if (!found)
            return tfd_fail(
                st, TFD_INVALID_ARGUMENT,
                "Einsum output subscripts for equation '" TFD_STR_FMT
                "' has label '%c' which is not present in the input "
                "subscripts",
                TFD_STR_ARG(text), e->out.label[i]);
    }
    return TFD_OK;
}

enum tfd_code tfd_einsum_parse(struct tfd_str text, int in_count,
                               struct tfd_einsum_equation *out,
                               struct tfd_status *st)
{
    struct tfd_str inputs;
    size_t arrow, comma;
    int commas;

    if (times_in(text, "->") != 1)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Expecting exactly one '->' in einsum equation: " TFD_STR_FMT,
            TFD_STR_ARG(text));
    arrow = place_of(text, "->");
    inputs = part_of(text, 0, arrow);
    commas = times_in(inputs, ",");
    if (commas > 1)
        return tfd_fail(
            st, TFD_INVALID_ARGUMENT,
            "Expecting 1 or 2 input subscripts in equation '" TFD_STR_FMT
            "' but got: %d",
            TFD_STR_ARG(text), commas + 1);
    if (commas + 1 != in_count)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Expected %d inputs for equation " TFD_STR_FMT
                        " but got: %d",
                        commas + 1, TFD_STR_ARG(text), in_count);
    out->in_count = in_count;
    comma = commas ? place_of(inputs, ",") : inputs.size;
    TFD_TRY(read_side(part_of(inputs, 0, comma), &out->in[0], st));
    if (commas)
        TFD_TRY(read_side(part_of(inputs, comma + 1, inputs.size), &out->in[1],
                          st));
    TFD_TRY(read_side(part_of(text, arrow + 2, text.size), &out->out, st));
    return check_output(text, out, st);
}
