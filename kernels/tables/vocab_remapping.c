/*
 * vocab_remapping.c - GenerateVocabRemapping: where the words of a vocabulary
 * were in the one before it, for who goes on with a model that was trained with
 * that.
 */
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/io/file_check.h"
#include "kernels/tables/table_store.h"
#include "kernels/tables/text_lines.h"

struct state {
    int64_t offset, count; /* lines of the new one that are asked for */
    int64_t old_max;
};

static enum tfd_code remapping_prepare(const struct tfd_prepare *p, void *state,
                                       struct tfd_status *st)
{
    struct state *s = state;

    TFD_TRY(tfd_node_int(p->node, "new_vocab_offset", &s->offset, st));
    TFD_TRY(tfd_node_int(p->node, "num_new_vocab", &s->count, st));
    return tfd_node_int(p->node, "old_vocab_size", &s->old_max, st);
}

/* ---- Reading ------------------------------------------------------------- */

static enum tfd_code count_words(const struct state *s,
                                 struct tfd_text_lines *words,
                                 struct tfd_status *st)
{
    bool more = true;

    for (;; words->count++) {
        TFD_TRY(tfd_text_lines_next(words, &more, st));
        if (!more)
            break;
    }
    if (s->offset <= words->count && s->count <= words->count - s->offset)
        return TFD_OK;
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "lookup table size must be larger than last new vocab "
                    "entry's line");
}

static struct tfd_table_key word_key(struct tfd_str word)
{
    static const struct tfd_shape scalar = {0, {0}};
    struct tfd_tstring text = {0};
    struct tfd_buffer holder = {.refs = 1, .data = &text};
    const struct tfd_tensor t = {TFD_STRING, scalar, &holder};
    struct tfd_table_key key;

    holder.size = sizeof(text);
    tfd_tstring_borrow(&text, word);
    key = tfd_table_key_at(&t, 0);
    key.text = word;
    return key;
}

static enum tfd_code add_word(struct tfd_table_store *store,
                              struct tfd_str word, int64_t line,
                              struct tfd_status *st)
{
    int64_t number, have;
    bool is_new;

    TFD_TRY(tfd_table_store_add(store, word_key(word), &number, &is_new, st));
    if (is_new)
        return tfd_table_store_set(store, number, &line, st);
    have = *(const int64_t *)tfd_table_store_value(store, number);
    return tfd_fail(
        st, TFD_FAILED_PRECONDITION,
        "HashTable has different value for same key. Key " TFD_STR_FMT
        " has %lld and trying to add value %lld",
        TFD_STR_ARG(word), (long long)have, (long long)line);
}

static enum tfd_code read_old(struct tfd_text_lines *words,
                              struct tfd_table_store *store,
                              struct tfd_status *st)
{
    bool more = true;

    for (;; words->count++) {
        TFD_TRY(tfd_text_lines_next(words, &more, st));
        if (!more)
            return TFD_OK;
        TFD_TRY(add_word(store, words->line, words->count, st));
    }
}

/* ---- The outputs --------------------------------------------------------- */

static enum tfd_code give_places(struct tfd_kctx *k,
                                 struct tfd_text_lines *words,
                                 const struct tfd_table_store *store,
                                 struct tfd_status *st)
{
    static const struct tfd_shape scalar = {0, {0}};
    const struct state *s = k->state;
    int64_t *places, found = 0;
    struct tfd_shape shape;
    bool more;

    TFD_TRY(tfd_shape_make(&shape, &s->count, 1, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_INT64, &shape, st));
    TFD_TRY(tfd_kctx_output(k, 1, TFD_INT32, &scalar, st));
    places = tfd_tensor_data(&k->out[0]);
    tfd_text_lines_rewind(words);
    for (; words->count < s->offset + s->count; words->count++) {
        int64_t number;

        TFD_TRY(tfd_text_lines_next(words, &more, st));
        if (words->count < s->offset)
            continue;
        number = tfd_table_store_find(store, word_key(words->line));
        found += number >= 0;
        *places++ =
            number < 0 ? -1
                       : *(const int64_t *)tfd_table_store_value(store, number);
    }
    *(int32_t *)tfd_tensor_data(&k->out[1]) = (int32_t)found;
    return TFD_OK;
}

static enum tfd_code remap(struct tfd_kctx *k, struct tfd_file_access *access,
                           struct tfd_text_lines *fresh,
                           struct tfd_table_store *store, struct tfd_status *st)
{
    const struct state *s = k->state;
    struct tfd_text_lines old;
    struct tfd_str name;
    enum tfd_code rc;

    TFD_TRY(count_words(s, fresh, st));
    TFD_TRY(tfd_check_str(k, 1, &name, st));
    rc = tfd_text_lines_open(&old, access, name, s->old_max, st);
    if (rc == TFD_OK)
        rc = read_old(&old, store, st);
    if (rc == TFD_OK)
        rc = give_places(k, fresh, store, st);
    tfd_text_lines_close(&old);
    return rc;
}

static enum tfd_code read_files(const struct tfd_kctx *k, struct tfd_str *fresh,
                                struct tfd_status *st)
{
    struct tfd_str old;

    TFD_TRY(tfd_check_str(k, 0, fresh, st));
    TFD_TRY(tfd_check_str(k, 1, &old, st));
    if (fresh->size == 0 || old.size == 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "new vocab filename cannot be empty.");
    return TFD_OK;
}

static enum tfd_code remapping_compute(struct tfd_kctx *k,
                                       struct tfd_status *st)
{
    struct tfd_file_access *access;
    struct tfd_table_store store;
    struct tfd_text_lines fresh;
    struct tfd_str name;
    enum tfd_code rc;

    TFD_TRY(read_files(k, &name, st));
    TFD_TRY(tfd_file_check(k, &access, st));
    tfd_table_store_init(&store, TFD_STRING, TFD_INT64, 1);
    rc = tfd_text_lines_open(&fresh, access, name, -1, st);
    if (rc == TFD_OK)
        rc = remap(k, access, &fresh, &store, st);
    tfd_text_lines_close(&fresh);
    tfd_table_store_clear(&store);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static enum tfd_code remapping_shape(struct tfd_shape_ctx *s,
                                     struct tfd_status *st)
{
    int64_t count;

    TFD_TRY(tfd_node_int(s->node, "num_new_vocab", &count, st));
    s->out[0] = (struct tfd_shape){1, {count}};
    s->out[1] = (struct tfd_shape){0, {0}};
    return TFD_OK;
}

static const struct tfd_opdef ops[] = {
    {
        .name = "GenerateVocabRemapping",
        .inputs = "new_vocab_file: string, old_vocab_file: string",
        .outputs = "remapping: int64, num_present: int32",
        .attrs = "new_vocab_offset: int >= 0; num_new_vocab: int >= 0; "
                 "old_vocab_size: int >= -1 = -1",
        .checks = "new_vocab_file: scalar 'new_vocab_file should be a single "
                  "string, but got %s'; old_vocab_file: scalar 'old_vocab_file "
                  "should be a single string, but got %s'",
        .shape = remapping_shape,
        .flags = TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("GenerateVocabRemapping", remapping_compute,
                   .prepare = remapping_prepare,
                   .state_size = sizeof(struct state),
                   .flags = TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_vocab_remapping = {
    .name = "vocab_remapping",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
