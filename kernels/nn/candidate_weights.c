/*
 * candidate_weights.c - see candidate_weights.h.
 */
#include "kernels/nn/candidate_weights.h"

#include "config/limits.h"
#include "kernels/io/file_check.h"

#include <math.h>
#include <stdlib.h>

struct weights {
    float *kept; /* room for `range` */
    int64_t count, range;
    int64_t next; /* number of the next word, kept or not */
    int64_t shards, shard;
    float distortion;
};

static enum tfd_code fail_count(const struct weights *w, struct tfd_status *st)
{
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "range is %lld must be equal to weights size %lld",
                    (long long)w->range, (long long)w->count);
}

static enum tfd_code add_word(struct weights *w, float weight,
                              struct tfd_status *st)
{
    if (w->next++ % w->shards != w->shard)
        return TFD_OK;
    if (w->count == w->range)
        return fail_count(w, st);
    w->kept[w->count++] = weight;
    return TFD_OK;
}

static enum tfd_code add_reserved(struct weights *w, int64_t reserved,
                                  struct tfd_status *st)
{
    int64_t mine = 0;

    if (reserved > w->shard && w->shard < w->shards)
        mine = (reserved - w->shard - 1) / w->shards + 1;
    if (mine > w->range) {
        w->count = mine;
        return fail_count(w, st);
    }
    for (w->count = 0; w->count < mine; w->count++)
        w->kept[w->count] = 0;
    w->next = w->count;
    return TFD_OK;
}

/* ---- Sources ------------------------------------------------------------- */

static enum tfd_code add_unigrams(const struct tfd_node *n, struct weights *w,
                                  struct tfd_str list, struct tfd_status *st)
{
    int max = (int)(list.size / sizeof(float)), count; /* on the wire */
    float *values = malloc(((size_t)max + 1) * sizeof(*values));
    enum tfd_code code;

    if (!values)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "OOM for %d weights", max);
    code = tfd_node_floats(n, "unigrams", values, max, &count, st);
    for (int i = 0; code == TFD_OK && i < count; i++)
        code = add_word(w, powf(values[i], w->distortion), st);
    free(values);
    return code;
}

#define NUMBER_MAX 64 /* characters that a weight may have */

static enum tfd_code add_line(struct weights *w, struct tfd_str line,
                              struct tfd_status *st)
{
    char text[NUMBER_MAX + 1], *end = text;
    size_t start = line.size;
    float weight = 0;

    if (line.size == 0)
        return TFD_OK;
    while (start > 0 && line.data[start - 1] != ',')
        start--;
    if (line.size - start <= NUMBER_MAX) {
        memcpy(text, line.data + start, line.size - start);
        text[line.size - start] = '\0';
        weight = strtof(text, &end);
        while (*end == ' ' || *end == '\r' || *end == '\t')
            end++;
    }
    if (end == text || *end)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Wrong vocabulary format at line: %.*s",
                        (int)(line.size < 200 ? line.size : 200), line.data);
    return add_word(w, powf(weight, w->distortion), st);
}

static enum tfd_code add_lines(struct weights *w, struct tfd_str text,
                               struct tfd_status *st)
{
    while (text.size > 0) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;

        TFD_TRY(add_line(w, (struct tfd_str){text.data, size}, st));
        size += end != NULL;
        text.data += size;
        text.size -= size;
    }
    return TFD_OK;
}

static enum tfd_code add_file(const struct tfd_kctx *k, struct weights *w,
                              struct tfd_str name, struct tfd_status *st)
{
    struct tfd_file_access *access;
    struct tfd_bytes contents;
    enum tfd_code code;

    TFD_TRY(tfd_file_check(k, &access, st));
    tfd_bytes_init(&contents, (size_t)TFD_FILE_READ_SIZE_MAX);
    code = tfd_file_read_all(access, name, &contents, st);
    if (code == TFD_OK)
        code = add_lines(w, tfd_bytes_view(&contents), st);
    tfd_bytes_deinit(&contents);
    return code;
}

/* ---- Public -------------------------------------------------------------- */

static enum tfd_code read_all(const struct tfd_kctx *k, struct weights *w,
                              struct tfd_status *st)
{
    struct tfd_str file, list;
    int64_t reserved;
    int none;

    TFD_TRY(tfd_node_str(k->node, "vocab_file", &file, st));
    TFD_TRY(tfd_node_int(k->node, "num_reserved_ids", &reserved, st));
    TFD_TRY(tfd_node_int(k->node, "num_shards", &w->shards, st));
    TFD_TRY(tfd_node_int(k->node, "shard", &w->shard, st));
    TFD_TRY(tfd_node_float(k->node, "distortion", &w->distortion, st));
    if (!tfd_node_attr(k->node, "unigrams", &list) ||
        tfd_node_floats(k->node, "unigrams", NULL, 0, &none, NULL) == TFD_OK)
        list.size = 0;
    if ((file.size > 0) == (list.size > 0))
        return tfd_fail(st, TFD_INVALID_ARGUMENT, "%s",
                        file.size ? "Must only provide one of vocab_file and "
                                    "unigrams."
                                  : "Must provide either vocab_file or "
                                    "unigrams.");
    TFD_TRY(add_reserved(w, reserved, st));
    TFD_TRY(file.size ? add_file(k, w, file, st)
                      : add_unigrams(k->node, w, list, st));
    return w->count == w->range ? TFD_OK : fail_count(w, st);
}

enum tfd_code tfd_candidate_weights_read(const struct tfd_kctx *k,
                                         int64_t range,
                                         struct tfd_candidate_sampler *out,
                                         struct tfd_status *st)
{
    struct weights w = {.range = range};
    enum tfd_code code;

    tfd_candidate_sampler_init(out, TFD_CANDIDATE_WEIGHTS, 0);
    if (range > TFD_CANDIDATE_WEIGHTS_MAX)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "range_max is %lld; at most %lld weights are supported",
                        (long long)range, (long long)TFD_CANDIDATE_WEIGHTS_MAX);
    w.kept = malloc((size_t)range * sizeof(float));
    if (!w.kept)
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED, "OOM for %lld weights",
                        (long long)range);
    code = read_all(k, &w, st);
    if (code == TFD_OK)
        return tfd_candidate_sampler_weights(out, w.kept, range, st);
    free(w.kept);
    return code;
}
