/*
 * dataset.h - datasets and their iterators.
 *
 * A dataset is a value: the object in a variant, made by one kernel and never
 * changed.  It holds its inputs, so a pipeline is a chain of them.  What it
 * yields are elements: `count` tensors.  An iterator goes through a dataset
 * once; it pulls from iterators of the dataset's inputs.
 *
 *     Range <-- Map <-- Batch        datasets: each holds the one before
 *       |        |        |
 *     [it] <-- [it] <-- [it] <-- next()
 *
 * A kind of dataset embeds struct tfd_dataset and struct tfd_data_iterator
 * first in structs of its own; the rows of struct tfd_dataset_kind say what it
 * does.  next() may block, so it runs on threads of the crew (data_scope.h)
 * only.
 *
 * Ownership: a dataset is counted, with its variant object; an iterator belongs
 * to who made it, holds its dataset, and frees the iterators it pulls from.
 * Threads: datasets any; an iterator one at a time, its scope's.  Freeing an
 * iterator does not wait.
 */
#ifndef TFD_KERNELS_DATA_DATASET_H
#define TFD_KERNELS_DATA_DATASET_H

#include "common/base/variant.h"
#include "kernels/data/data_scope.h"
#include "kernels/data_saved/recipe.h"

struct tfd_dataset;
struct tfd_data_iterator;

#define TFD_CARDINALITY_INFINITE (-1)
#define TFD_CARDINALITY_UNKNOWN (-2)

struct tfd_dataset_kind {
    const char *name; /* "BatchV2": of its stage, for messages; NULL: none */
    size_t iterator_size; /* of the struct that embeds an iterator */
    bool opens_input;     /* it->input is open before begin() */
    bool same_elements;   /* as those of its inputs: types are compared */
    /* The struct is zeroed but for its head.  NULL: nothing to do. */
    enum tfd_code (*begin)(struct tfd_data_iterator *it, struct tfd_status *st);
    /* An element into the empty tensors of out; or *end, and they stay empty,
     * and the same from then on.  After a failure it may be called again. */
    enum tfd_code (*next)(struct tfd_data_iterator *it, struct tfd_tensor *out,
                          bool *end, struct tfd_status *st);
    /* Element `index`, whatever was asked for before; *end: there is none, as
     * for TFD_DATA_BEYOND.  NULL: elements come one after the other only. */
    enum tfd_code (*at)(struct tfd_data_iterator *it, int64_t index,
                        struct tfd_tensor *out, bool *end,
                        struct tfd_status *st);
    /* Fails with why a dataset has no elements by number; NULL: it is since
     * its op is none that has. */
    enum tfd_code (*sequential)(const struct tfd_dataset *d,
                                struct tfd_status *st);
    void (*end)(struct tfd_data_iterator *it); /* frees its own; NULL */
    int64_t (*cardinality)(const struct tfd_dataset *d); /* NULL: unknown */
    void (*release)(struct tfd_dataset *d); /* its own fields; NULL */
};

#define TFD_DATASET_INPUTS_MAX 1024

struct tfd_dataset {
    struct tfd_variant_object object;
    const struct tfd_dataset_kind *kind;
    struct tfd_data_task task;
    int32_t count; /* tensors of an element */
    enum tfd_dtype *types;
    struct tfd_shape *shapes; /* partial */
    struct tfd_dataset **inputs;
    int input_count;
    /* Itself, or the first that it is made of, which has no elements by
     * number; NULL: there is none. */
    const struct tfd_dataset *sequential;
    char *name; /* that its program knows it by: "MapDataset:3"; "" */
    struct tfd_str options; /* of OptionsDataset; "" where there are none */
    /* The op that made it, and what that was given: datasets, too.  NULL: no op
     * did. */
    struct tfd_data_recipe *recipe;
    struct tfd_tensor *args;
    int arg_count;
    /* Where its passes and those of its inputs have their seeds from, each
     * once; counted. */
    struct tfd_resource **seeds;
    int seed_count;
};

struct tfd_data_iterator {
    const struct tfd_dataset_kind *kind;
    struct tfd_dataset *dataset;
    struct tfd_data_scope *scope;
    struct tfd_data_iterator *input; /* of the first of the dataset's */
    char *path;                      /* "Iterator::Root::Prefetch::Map" */
    int depth;                       /* 1: nobody's but the program's */
    bool by_number;                  /* tfd_data_at() is called, not next */
};

/* ---- Datasets ------------------------------------------------------------ */

extern const struct tfd_variant_object_type tfd_dataset_type;

struct tfd_dataset *tfd_dataset_ref(struct tfd_dataset *d);
void tfd_dataset_unref(struct tfd_dataset *d);
/* The dataset in a variant, borrowed; INVALID_ARGUMENT in TensorFlow's words
 * when there is none. */
enum tfd_code tfd_dataset_of(const struct tfd_tensor *t,
                             struct tfd_dataset **out,
                             struct tfd_status *st) TFD_MUST_USE;
/* Elements; TFD_CARDINALITY_*. */
int64_t tfd_dataset_cardinality(const struct tfd_dataset *d);
/* Whether it has elements by number: FAILED_PRECONDITION, or UNIMPLEMENTED,
 * naming the op that has none. */
enum tfd_code tfd_dataset_check_by_number(const struct tfd_dataset *d,
                                          struct tfd_status *st) TFD_MUST_USE;
/* "int64, string": the types of its elements, in `text`. */
const char *tfd_dataset_types_text(const struct tfd_dataset *d, char *text,
                                   size_t size);

/* ---- Iterators ----------------------------------------------------------- */

/* path and depth are those of who pulls from it: TFD_DATA_ROOT and 0 for a
 * program.  INVALID_ARGUMENT beyond TFD_VARIANT_DEPTH_MAX iterators within each
 * other, as a function may make a dataset that calls the same function. */
enum tfd_code tfd_data_open(struct tfd_dataset *d, struct tfd_data_scope *s,
                            const char *path, int depth,
                            struct tfd_data_iterator **out,
                            struct tfd_status *st) TFD_MUST_USE;
#define TFD_DATA_ROOT "Iterator::Root"
/* The same within `it`, for a dataset that is its number-th there. */
enum tfd_code tfd_data_open_within(struct tfd_data_iterator *it,
                                   struct tfd_dataset *d, int64_t number,
                                   struct tfd_data_iterator **out,
                                   struct tfd_status *st) TFD_MUST_USE;
/* The same for one of its dataset's inputs, the only one. */
enum tfd_code tfd_data_open_input(struct tfd_data_iterator *it, int input,
                                  struct tfd_data_iterator **out,
                                  struct tfd_status *st) TFD_MUST_USE;
/* The same, to be asked by number, as are the iterators that it opens. */
enum tfd_code tfd_data_open_by_number(struct tfd_data_iterator *it, int input,
                                      struct tfd_data_iterator **out,
                                      struct tfd_status *st) TFD_MUST_USE;
void tfd_data_close(struct tfd_data_iterator *it); /* NULL is nothing */
/* CANCELLED before it does anything when the scope is.  What comes is of the
 * dataset's types, whatever its kind did; after a failure *end is false. */
enum tfd_code tfd_data_next(struct tfd_data_iterator *it,
                            struct tfd_tensor *out, bool *end,
                            struct tfd_status *st) TFD_MUST_USE;

#define TFD_DATA_BEYOND (-1)
/* The same for element `index`, or for what is behind the last one. */
enum tfd_code tfd_data_at(struct tfd_data_iterator *it, int64_t index,
                          struct tfd_tensor *out, bool *end,
                          struct tfd_status *st) TFD_MUST_USE;

/* The function that the iterator calls has failed: puts before the text in
 * which stage of the pipeline that was. */
void tfd_data_failed(const struct tfd_data_iterator *it, struct tfd_status *st);

/* ---- Elements ------------------------------------------------------------ */

/* Of `count` empty tensors; free() frees. */
struct tfd_tensor *tfd_data_element_new(int32_t count, struct tfd_status *st);
void tfd_data_element_drop(struct tfd_tensor *e, int32_t count);
void tfd_data_element_move(struct tfd_tensor *to, struct tfd_tensor *from,
                           int32_t count);

#endif
