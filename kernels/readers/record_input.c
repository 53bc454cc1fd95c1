/*
 * record_input.c - RecordInput: batches of records of many TFRecord files, in
 * another order each time, epoch after epoch.
 *
 *     files, shuffled:  c a e b d
 *     file_parallelism  [ c e d ]  [ a b ]      each in turn, some records
 *                            \      /
 *     held back          [ r r r r r r ]        a new one trades places with
 *                                   |           one of them
 *                                 batch
 *
 * The step that takes a batch reads what it needs, on a thread that may wait
 * for a disk: there are no threads that go on without a step.  When less than
 * half of file_buffer_size is held back, it is filled up; at the end of an
 * epoch it is emptied before the files are begun again.
 */
#include "common/base/alloc.h"
#include "common/thread/halt.h"
#include "common/thread/lock.h"
#include "config/limits.h"
#include "kernels/core/check.h"
#include "kernels/core/families.h"
#include "kernels/core/runtime.h"
#include "kernels/data_sources/record_file.h"
#include "kernels/io/file_check.h"
#include "kernels/io/file_glob.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_IN_TURN 16

/* Every n-th file, from one on. */
struct part {
    struct tfd_record_file file;
    bool open;
    size_t next; /* the file that is to be read next */
};

struct record_input {
    struct tfd_str pattern;
    enum tfd_data_compression compression;
    int64_t buffer_max, parallelism, batch;
    float shift;

    struct tfd_lock lock;      /* of what follows */
    struct tfd_status failure; /* for good */
    uint64_t random, seed, epoch;
    struct tfd_bytes names;
    struct tfd_str *files;
    size_t file_count;
    struct part *parts;
    int part_count, turn, in_turn;
    bool reading; /* an epoch's files have not come to their end */
    struct tfd_tensor held;
    int64_t held_count;
    size_t held_bytes;
    struct tfd_buffer *counted; /* what of them --memory_limit knows */
};

/* ---- Attributes ---------------------------------------------------------- */

static enum tfd_code check_numbers(const struct record_input *r,
                                   struct tfd_status *st)
{
    if (r->parallelism < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "file_parallelism should >= 0, got %lld",
                        (long long)r->parallelism);
    if (r->batch < 0)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "batch_size must be non-negative but got %lld",
                        (long long)r->batch);
    return TFD_OK;
}

static int64_t within(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

/* A word for a compression that there is not means none, as in TensorFlow. */
static enum tfd_code input_prepare(const struct tfd_prepare *p, void *state,
                                   struct tfd_status *st)
{
    struct record_input *r = state;
    struct tfd_str compression;
    int64_t seed;

    tfd_lock_init(&r->lock, TFD_LOCK_RESOURCE);
    tfd_bytes_init(&r->names, TFD_RECORD_INPUT_NAMES_SIZE_MAX);
    TFD_TRY(tfd_node_str(p->node, "file_pattern", &r->pattern, st));
    TFD_TRY(tfd_node_int(p->node, "file_random_seed", &seed, st));
    TFD_TRY(tfd_node_float(p->node, "file_shuffle_shift_ratio", &r->shift, st));
    TFD_TRY(tfd_node_int(p->node, "file_buffer_size", &r->buffer_max, st));
    TFD_TRY(tfd_node_int(p->node, "file_parallelism", &r->parallelism, st));
    TFD_TRY(tfd_node_int(p->node, "batch_size", &r->batch, st));
    TFD_TRY(tfd_node_str(p->node, "compression_type", &compression, st));
    if (tfd_data_file_compression(compression, &r->compression, NULL) != TFD_OK)
        r->compression = TFD_DATA_PLAIN;
    r->seed = r->random = (uint64_t)seed;
    TFD_TRY(check_numbers(r, st));
    r->parallelism = within(r->parallelism, 1, TFD_RECORD_INPUT_FILES_MAX);
    r->buffer_max = within(r->buffer_max, 1, TFD_RECORD_INPUT_RECORDS_MAX);
    return TFD_OK;
}

static void close_files(struct record_input *r)
{
    for (int i = 0; i < r->part_count; i++)
        if (r->parts[i].open)
            tfd_record_file_close(&r->parts[i].file);
    free(r->parts);
    free(r->files);
    r->parts = NULL;
    r->files = NULL;
    r->part_count = 0;
    r->file_count = 0;
    tfd_bytes_clear(&r->names);
}

static void input_release(void *state)
{
    struct record_input *r = state;

    close_files(r);
    tfd_bytes_deinit(&r->names);
    tfd_tensor_unref(&r->held);
    tfd_buffer_unref(r->counted);
    tfd_lock_deinit(&r->lock);
}

/* ---- Files --------------------------------------------------------------- */

/* Steele, Lea and Flood's SplitMix: all 64 bits are good. */
static uint64_t draw_bits(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7815);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static enum tfd_code check_pattern_count(const struct record_input *r,
                                         struct tfd_status *st)
{
    size_t count = 1;

    for (size_t i = 0; i < r->pattern.size; i++)
        count += r->pattern.data[i] == ',';
    if (count <= TFD_RECORD_INPUT_PATTERNS_MAX)
        return TFD_OK;
    return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                    "file_pattern has %zu patterns with commas between them; "
                    "the limit is %d",
                    count, TFD_RECORD_INPUT_PATTERNS_MAX);
}

/* The patterns have commas between them. */
static enum tfd_code match_files(struct record_input *r,
                                 struct tfd_file_access *access,
                                 struct tfd_status *st)
{
    struct tfd_str rest = r->pattern, names, name;

    TFD_TRY(check_pattern_count(r, st));
    for (bool more = true; more;) {
        const char *comma =
            rest.size ? memchr(rest.data, ',', rest.size) : NULL;
        size_t size = comma ? (size_t)(comma - rest.data) : rest.size;

        if (tfd_halted())
            return tfd_halt_fail(st);
        TFD_TRY(tfd_file_glob(access, (struct tfd_str){rest.data, size},
                              &r->names, st));
        more = comma != NULL;
        if (more)
            rest = (struct tfd_str){comma + 1, rest.size - size - 1};
    }
    TFD_TRY(tfd_bytes_ok(&r->names, "names of record files", st));
    names = tfd_bytes_view(&r->names);
    while (tfd_file_glob_next(&names, &name))
        r->file_count++;
    if (r->file_count == 0)
        return tfd_fail(st, TFD_NOT_FOUND, "Found no files at " TFD_STR_FMT,
                        TFD_STR_ARG(r->pattern));
    r->files = calloc(r->file_count, sizeof(*r->files));
    return r->files ? TFD_OK
                    : tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                               "no memory for the names of record files");
}

static int compare_file_names(const void *a, const void *b)
{
    return tfd_str_cmp(*(const struct tfd_str *)a, *(const struct tfd_str *)b);
}

static void swap_files(struct record_input *r, size_t a, size_t b)
{
    struct tfd_str name = r->files[a];

    r->files[a] = r->files[b];
    r->files[b] = name;
}

static void reverse_files(struct record_input *r, size_t begin, size_t end)
{
    for (; begin + 1 < end; begin++, end--)
        swap_files(r, begin, end - 1);
}

/* By the seed and the epoch alone; then those at the front go to the end. */
static void shuffle_files(struct record_input *r)
{
    struct tfd_str names = tfd_bytes_view(&r->names), name;
    uint64_t state = r->seed + r->epoch * UINT64_C(0x2545f4914f6cdd1d);
    size_t n = 0, shift = 0;

    while (tfd_file_glob_next(&names, &name))
        r->files[n++] = name;
    qsort(r->files, n, sizeof(*r->files), compare_file_names);
    for (size_t i = n; i > 1; i--)
        swap_files(r, i - 1, (size_t)(draw_bits(&state) % i));
    if (r->shift >= 0 && r->shift < 1)
        shift = (size_t)(r->shift * (float)n);
    reverse_files(r, 0, shift < n ? shift : n);
    reverse_files(r, shift < n ? shift : n, n);
    reverse_files(r, 0, n);
}

static enum tfd_code begin_epoch(struct record_input *r,
                                 struct tfd_file_access *access,
                                 struct tfd_status *st)
{
    close_files(r);
    r->epoch++;
    TFD_TRY(match_files(r, access, st));
    shuffle_files(r);
    r->part_count = (int)within((int64_t)r->file_count, 1, r->parallelism);
    r->parts = calloc((size_t)r->part_count, sizeof(*r->parts));
    if (!r->parts) {
        r->part_count = 0;
        return tfd_fail(st, TFD_RESOURCE_EXHAUSTED,
                        "no memory to read record files");
    }
    for (int i = 0; i < r->part_count; i++)
        r->parts[i].next = (size_t)i;
    r->turn = r->in_turn = 0;
    r->reading = true;
    return TFD_OK;
}

/* ---- Memory -------------------------------------------------------------- */

/* Room by which what counts grows at least. */
#define COUNTED_STEP ((size_t)1 << 16)

/* So many bytes of records count against --memory_limit; false when it has no
 * room for them.  Nothing is written to the buffer: only its accounting is
 * wanted, as strings have memory of their own. */
static bool count_held(struct record_input *r, size_t bytes)
{
    if (!r->counted || bytes > r->counted->size) {
        tfd_buffer_unref(r->counted);
        r->counted = tfd_buffer_new_empty(bytes + bytes / 4 + COUNTED_STEP);
    }
    return r->counted && tfd_buffer_charge(r->counted, bytes);
}

/* ---- Records ------------------------------------------------------------- */

/* The part's next record; *end: all of its files were read. */
static enum tfd_code next_of_part(struct record_input *r, struct part *p,
                                  struct tfd_file_access *access,
                                  struct tfd_str *out, bool *end,
                                  struct tfd_status *st)
{
    for (;;) {
        bool file_end = true;

        if (tfd_halted())
            return tfd_halt_fail(st);
        if (p->open)
            TFD_TRY(tfd_record_file_next(&p->file, out, &file_end, st));
        *end = false;
        if (!file_end)
            return TFD_OK;
        if (p->open)
            tfd_record_file_close(&p->file);
        p->open = false;
        *end = p->next >= r->file_count;
        if (*end)
            return TFD_OK;
        memset(&p->file, 0, sizeof(p->file));
        TFD_TRY(tfd_record_file_open(&p->file, access, r->files[p->next],
                                     r->compression, st));
        p->open = true;
        p->next += (size_t)r->part_count;
    }
}

/* Some records of each part in turn; *end: none has any more. */
static enum tfd_code next_of_epoch(struct record_input *r,
                                   struct tfd_file_access *access,
                                   struct tfd_str *out, bool *end,
                                   struct tfd_status *st)
{
    for (int ended = 0; ended < r->part_count;) {
        if (r->in_turn++ < RECORDS_IN_TURN) {
            TFD_TRY(next_of_part(r, &r->parts[r->turn], access, out, end, st));
            if (!*end)
                return TFD_OK;
            ended++;
        }
        r->turn = (r->turn + 1) % r->part_count;
        r->in_turn = 0;
    }
    *end = true;
    return TFD_OK;
}

/* It trades places with one that is there, or with none. */
static enum tfd_code hold_back(struct record_input *r, struct tfd_str record,
                               struct tfd_status *st)
{
    struct tfd_tstring *held = tfd_tensor_data(&r->held), moved;
    int64_t last = r->held_count,
            at = (int64_t)(draw_bits(&r->random) % (uint64_t)(last + 1));

    TFD_TRY(tfd_tstring_set(&held[last], record, st));
    moved = held[at];
    held[at] = held[last];
    held[last] = moved;
    r->held_count++;
    r->held_bytes += record.size;
    return TFD_OK;
}

/* Reads ahead no further than the limit on memory has room; the record that
 * finds none is taken yet, since it has been read. */
static enum tfd_code fill_up(struct record_input *r,
                             struct tfd_file_access *access,
                             struct tfd_status *st)
{
    struct tfd_str record;
    bool end = false, room = true;

    tfd_buffer_unref(r->counted); /* what was taken since counts no more */
    r->counted = NULL;
    while (room && r->held_count < r->buffer_max &&
           (r->held_count == 0 || r->held_bytes < TFD_RECORD_INPUT_SIZE_MAX)) {
        TFD_TRY(next_of_epoch(r, access, &record, &end, st));
        if (end)
            break;
        room = count_held(r, r->held_bytes + record.size);
        TFD_TRY(hold_back(r, record, st));
    }
    r->reading = !end;
    return TFD_OK;
}

static enum tfd_code yield_one(struct record_input *r,
                               struct tfd_file_access *access,
                               struct tfd_tstring *out, struct tfd_status *st)
{
    struct tfd_tstring *held;

    if (r->reading && r->held_count < within(r->buffer_max / 2, 1, INT64_MAX))
        TFD_TRY(fill_up(r, access, st));
    if (r->held_count == 0) {
        TFD_TRY(begin_epoch(r, access, st));
        TFD_TRY(fill_up(r, access, st));
    }
    if (r->held_count == 0)
        return tfd_fail(st, TFD_OUT_OF_RANGE,
                        "the %zu files at " TFD_STR_FMT " have no records",
                        r->file_count, TFD_STR_ARG(r->pattern));
    held = tfd_tensor_data(&r->held);
    held += --r->held_count;
    r->held_bytes -= tfd_tstring_view(held).size;
    *out = *held;
    memset(held, 0, sizeof(*held));
    return TFD_OK;
}

/* ---- Kernel -------------------------------------------------------------- */

static enum tfd_code take_batch(struct record_input *r, struct tfd_kctx *k,
                                struct tfd_file_access *access,
                                struct tfd_status *st)
{
    struct tfd_tstring *out = tfd_tensor_data(&k->out[0]);
    struct tfd_shape shape = {1, {r->buffer_max}};

    if (r->failure.code != TFD_OK)
        return tfd_status_copy(st, &r->failure);
    if (r->held.dtype == TFD_DTYPE_INVALID)
        TFD_TRY(tfd_tensor_new(&r->held, TFD_STRING, &shape, st));
    for (int64_t i = 0; i < r->batch; i++) {
        struct tfd_status why = TFD_STATUS_INIT;

        if (yield_one(r, access, &out[i], &why) == TFD_OK)
            continue;
        if (why.code != TFD_CANCELLED && !tfd_halted())
            r->failure = why;
        return tfd_status_copy(st, &why);
    }
    return TFD_OK;
}

static enum tfd_code input_compute(struct tfd_kctx *k, struct tfd_status *st)
{
    struct record_input *r = k->state;
    struct tfd_shape shape = {1, {r->batch}};
    struct tfd_file_access *access;
    enum tfd_code rc;

    TFD_TRY(tfd_file_check(k, &access, st));
    TFD_TRY(tfd_kctx_output(k, 0, TFD_STRING, &shape, st));
    tfd_lock(&r->lock);
    rc = take_batch(r, k, access, st);
    tfd_unlock(&r->lock);
    return rc;
}

/* ---- Tables -------------------------------------------------------------- */

static const struct tfd_opdef ops[] = {
    {
        .name = "RecordInput",
        .inputs = "",
        .outputs = "records: string",
        .attrs = "file_pattern: string; file_random_seed: int = 301; "
                 "file_shuffle_shift_ratio: float = 0; "
                 "file_buffer_size: int = 10000; file_parallelism: int = 16; "
                 "batch_size: int = 32; compression_type: string = ''",
        .flags = TFD_OP_STATEFUL | TFD_OP_NO_GRADIENT,
    },
};

static const struct tfd_kernel kernels[] = {
    TFD_KERNEL_ANY("RecordInput", input_compute, .prepare = input_prepare,
                   .release = input_release,
                   .state_size = sizeof(struct record_input),
                   .flags = TFD_KERNEL_SHARED | TFD_KERNEL_BLOCKS),
};

const struct tfd_family tfd_family_record_input = {
    .name = "record_input",
    .ops = ops,
    .op_count = TFD_COUNT(ops),
    .kernels = kernels,
    .kernel_count = TFD_COUNT(kernels),
};
