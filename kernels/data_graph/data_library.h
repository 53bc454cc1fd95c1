/*
 * data_library.h - collects the functions that the nodes of a dataset call, and
 * those that these call in turn, so that a dataset can be written as a graph.
 *
 * Ownership: as for the nodes (data_nodes.h).  Threads: one at a time.
 */
#ifndef TFD_KERNELS_DATA_GRAPH_DATA_LIBRARY_H
#define TFD_KERNELS_DATA_GRAPH_DATA_LIBRARY_H

#include "kernels/data_graph/data_nodes.h"

struct tfd_data_function {
    const struct tfd_function *function;
    const struct tfd_graph *library; /* that it is of */
    struct tfd_data_function *next;
};

struct tfd_data_library {
    struct tfd_arena arena;
    struct tfd_map by_name;
    struct tfd_data_function *first, *last;
};

void tfd_data_library_init(struct tfd_data_library *l);
void tfd_data_library_deinit(struct tfd_data_library *l);
/* Of all nodes with a dataset.  Names that no library has stay out. */
enum tfd_code tfd_data_library_fill(struct tfd_data_library *l,
                                    const struct tfd_data_nodes *g,
                                    struct tfd_status *st) TFD_MUST_USE;
const struct tfd_function *
tfd_data_library_find(const struct tfd_data_library *l, struct tfd_str name);
/* FAILED_PRECONDITION "X is stateful." for what a function keeps. */
enum tfd_code tfd_data_library_check(const struct tfd_data_library *l,
                                     struct tfd_status *st) TFD_MUST_USE;
/* Appends a GraphDef's library and versions. */
void tfd_data_library_put(const struct tfd_data_library *l,
                          struct tfd_bytes *out);
/* The function that an attribute names; "" when it names none. */
struct tfd_str tfd_data_library_name(struct tfd_str attr);

/* Is handed the nodes of a dataset and their functions for the call. */
typedef enum tfd_code tfd_data_library_fn(void *arg,
                                          const struct tfd_data_nodes *g,
                                          const struct tfd_data_library *l,
                                          struct tfd_status *st);

/* Collects those of the dataset in the tensor, and what fn makes of them. */
enum tfd_code tfd_data_library_use(const struct tfd_tensor *dataset,
                                   tfd_data_library_fn *fn, void *arg,
                                   struct tfd_status *st) TFD_MUST_USE;

#endif
