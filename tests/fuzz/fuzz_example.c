/*
 * fuzz_example.c - libFuzzer target: any bytes as Examples and as
 * SequenceExamples, of which features of every form are wanted.
 *
 * Bits of the first byte say whether there is one of them or a batch of two,
 * which are the halves of the rest.  Beyond "no crash, no leak": a failure
 * leaves every value empty and has words.
 */
#include "kernels/parse/sequence.h"

#include <assert.h>
#include <string.h>

#define WANTS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tfd_tensor no_floats, one_string;

/* "a" to "e": sparse, fixed, of any length, ragged, and a list of numbers. */
static void wants_of(struct tfd_example_want w[WANTS])
{
    static const enum tfd_dtype types[WANTS] = {
        TFD_STRING, TFD_FLOAT, TFD_STRING, TFD_INT64, TFD_INT64};
    static const enum tfd_example_form forms[WANTS] = {
        TFD_EXAMPLE_SPARSE, TFD_EXAMPLE_DENSE, TFD_EXAMPLE_DENSE,
        TFD_EXAMPLE_RAGGED, TFD_EXAMPLE_SPARSE};

    memset(w, 0, WANTS * sizeof(*w));
    for (int i = 0; i < WANTS; i++) {
        w[i].key = (struct tfd_str){&"abcde"[i], 1};
        w[i].form = forms[i];
        w[i].dtype = types[i];
        w[i].splits = TFD_INT32;
    }
    w[1].shape = (struct tfd_shape){.rank = 1, .dim = {2}};
    w[1].absent = &no_floats;
    w[2].shape = (struct tfd_shape){.rank = 1, .dim = {TFD_DIM_UNKNOWN}};
    w[2].absent = &one_string;
}

static void check_dropped(const struct tfd_example_value *v,
                          const struct tfd_status *st)
{
    assert(st->text[0] != '\0');
    assert(!v->values.buffer && !v->indices.buffer && !v->extent.buffer);
}

static void drop(struct tfd_example_value *v)
{
    tfd_tensor_unref(&v->values);
    tfd_tensor_unref(&v->indices);
    tfd_tensor_unref(&v->extent);
}

static void parse_examples(const struct tfd_example_batch *b)
{
    struct tfd_example_value values[WANTS] = {0};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_example_want wants[WANTS];
    struct tfd_example_spec spec;
    enum tfd_code rc;

    wants_of(wants);
    assert(tfd_example_spec_init(&spec, wants, b->is_single ? 3 : WANTS,
                                 NULL) == TFD_OK);
    rc = tfd_example_parse(&spec, b, values, &st);
    for (int i = 0; i < WANTS; i++) {
        if (rc != TFD_OK)
            check_dropped(&values[i], &st);
        drop(&values[i]);
    }
    tfd_example_spec_deinit(&spec);
}

static void parse_sequences(const struct tfd_sequence_batch *b)
{
    struct tfd_sequence_value parts[2][WANTS] = {0};
    struct tfd_sequence_value *values[2] = {parts[0], parts[1]};
    struct tfd_status st = TFD_STATUS_INIT;
    struct tfd_example_want wants[WANTS];
    const struct tfd_sequence_spec spec = {{wants, wants}, {2, WANTS}};
    enum tfd_code rc;

    wants_of(wants);
    /* A row of a list has a shape that is known. */
    wants[2].shape = (struct tfd_shape){.rank = 0};
    rc = tfd_sequence_parse(&spec, b, values, &st);
    for (int i = 0; i < 2 * WANTS; i++) {
        struct tfd_sequence_value *v = &parts[i / WANTS][i % WANTS];

        if (rc != TFD_OK)
            check_dropped(&v->of, &st);
        drop(&v->of);
        tfd_tensor_unref(&v->inner);
    }
}

static void init_absent(void)
{
    const struct tfd_shape none = {.rank = 1, .dim = {0}}, one = {.rank = 0};

    if (one_string.buffer)
        return;
    assert(tfd_tensor_new(&no_floats, TFD_FLOAT, &none, NULL) == TFD_OK);
    assert(tfd_tensor_new(&one_string, TFD_STRING, &one, NULL) == TFD_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tfd_shape two = {.rank = 1, .dim = {2}};
    struct tfd_sequence_batch b = {.is_alone = false};
    struct tfd_tensor texts;
    struct tfd_tstring *s;
    size_t half;

    if (size == 0)
        return 0;
    init_absent();
    assert(tfd_tensor_new(&texts, TFD_STRING, &two, NULL) == TFD_OK);
    s = tfd_tensor_data(&texts);
    b.examples.is_single = data[0] & 1;
    b.is_alone = b.examples.is_single && (data[0] & 2);
    b.examples.count = 2 - b.examples.is_single;
    b.examples.serialized = s;
    half = (size - 1) / (size_t)b.examples.count;
    for (int i = 0; i < b.examples.count; i++)
        assert(tfd_tstring_set(
                   &s[i],
                   (struct tfd_str){(const char *)data + 1 + i * half, half},
                   NULL) == TFD_OK);
    parse_examples(&b.examples);
    parse_sequences(&b);
    tfd_tensor_unref(&texts);
    return 0;
}
