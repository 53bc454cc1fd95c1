/*
 * specs.h - the device names that a placement meets, each kept once.
 *
 * Graphs have a million nodes and a handful of different device names, so nodes
 * hold numbers: names are parsed, merged and looked up among the devices once.
 * Number 0 says nothing.
 *
 * Ownership: texts given to parse() are borrowed for the table's life.
 * Threads: one at a time.
 */
#ifndef TFD_DAEMON_REWRITE_SPECS_H
#define TFD_DAEMON_REWRITE_SPECS_H

#include "common/base/arena.h"
#include "common/base/map.h"
#include "daemon/rewrite/devices.h"

struct tfd_spec;

struct tfd_specs {
    const struct tfd_device_set *devices;
    struct tfd_arena arena;
    struct tfd_map by_text; /* as nodes spell it -> number + 1 */
    struct tfd_map by_name; /* bytes of a tfd_device_name -> number + 1 */
    struct tfd_spec **specs;
    int32_t count, capacity;
};

/* Kinds of devices are bits of enum tfd_device_kind. */
#define TFD_SPEC_KINDS (1u << TFD_CPU | 1u << TFD_GPU)

enum tfd_code tfd_specs_init(struct tfd_specs *s,
                             const struct tfd_device_set *devices,
                             struct tfd_status *st) TFD_MUST_USE;
void tfd_specs_deinit(struct tfd_specs *s);

/* INVALID_ARGUMENT for what is no device name. */
enum tfd_code tfd_specs_parse(struct tfd_specs *s, struct tfd_str text,
                              int32_t *out, struct tfd_status *st) TFD_MUST_USE;
enum tfd_code tfd_specs_add(struct tfd_specs *s,
                            const struct tfd_device_name *name, int32_t *out,
                            struct tfd_status *st) TFD_MUST_USE;
const struct tfd_device_name *tfd_specs_name(const struct tfd_specs *s,
                                             int32_t spec);

/* What both say; INVALID_ARGUMENT in TensorFlow's words when they disagree. */
enum tfd_code tfd_specs_merge(struct tfd_specs *s, int32_t into, int32_t from,
                              enum tfd_device_merge mode, int32_t *out,
                              struct tfd_status *st) TFD_MUST_USE;
/* What `over` says, and `under` for the parts it does not say. */
enum tfd_code tfd_specs_override(struct tfd_specs *s, int32_t under,
                                 int32_t over, int32_t *out,
                                 struct tfd_status *st) TFD_MUST_USE;
/* Without type and number of the device. */
enum tfd_code tfd_specs_task(struct tfd_specs *s, int32_t spec, int32_t *out,
                             struct tfd_status *st) TFD_MUST_USE;

/* The best device of one of these kinds that the name covers, or -1. */
int tfd_specs_device(struct tfd_specs *s, int32_t spec, uint32_t kinds);

#endif
