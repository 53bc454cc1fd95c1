/*
 * grpc_wire.c - the tables of gRPC's status codes and units of time, and the
 * functions that read them: see grpc_wire.h.
 */
#include "rpc/grpc/grpc_wire.h"

#include <inttypes.h>
#include <stdio.h>

#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_VALUE_MAX 99999999u

/* Coarsest last: printing takes the first whose number is short enough. */
static const struct {
    char letter;
    uint64_t us;
} units[] = {
    {'u', 1},
    {'m', 1000},
    {'S', UINT64_C(1000000)},
    {'M', UINT64_C(60000000)},
    {'H', UINT64_C(3600000000)},
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool apply_unit(char letter, uint64_t value, uint64_t *timeout_us)
{
    if (letter == 'n') {
        *timeout_us = (value + 999) / 1000;
        return true;
    }
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (units[i].letter == letter) {
            *timeout_us = value * units[i].us; /* < 3.6e17 */
            return true;
        }
    return false;
}

bool tfd_grpc_timeout_parse(struct tfd_str text, uint64_t *timeout_us)
{
    uint64_t value = 0;

    if (text.size < 2 || text.size > TIMEOUT_DIGITS_MAX + 1)
        return false;
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    return apply_unit(text.data[text.size - 1], value, timeout_us);
}

const char *tfd_grpc_timeout_text(uint64_t timeout_us,
                                  char text[TFD_GRPC_TIMEOUT_TEXT_MAX])
{
    uint64_t value = TIMEOUT_VALUE_MAX;
    char letter = 'H'; /* 11,000 years */

    for (size_t i = 0; i < UNIT_COUNT; i++) {
        uint64_t n = timeout_us / units[i].us + (timeout_us % units[i].us != 0);

        if (n <= TIMEOUT_VALUE_MAX) {
            value = n;
            letter = units[i].letter;
            break;
        }
    }
    snprintf(text, TFD_GRPC_TIMEOUT_TEXT_MAX, "%" PRIu64 "%c", value, letter);
    return text;
}

enum tfd_code tfd_grpc_code_parse(struct tfd_str text)
{
    int value = 0;

    if (text.size == 0 || text.size > 2)
        return TFD_UNKNOWN;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return TFD_UNKNOWN;
        value = value * 10 + (text.data[i] - '0');
    }
    return value > TFD_UNAUTHENTICATED ? TFD_UNKNOWN : (enum tfd_code)value;
}

enum tfd_code tfd_grpc_code_of_http(int status)
{
    static const struct {
        int status;
        enum tfd_code code;
    } table[] = {
        {400, TFD_INTERNAL},          {401, TFD_UNAUTHENTICATED},
        {403, TFD_PERMISSION_DENIED}, {404, TFD_UNIMPLEMENTED},
        {429, TFD_UNAVAILABLE},       {502, TFD_UNAVAILABLE},
        {503, TFD_UNAVAILABLE},       {504, TFD_UNAVAILABLE},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].status == status)
            return table[i].code;
    return TFD_UNKNOWN;
}

enum tfd_code tfd_grpc_code_of_reset(uint32_t error)
{
    static const enum tfd_code table[] = {
        [7] = TFD_UNAVAILABLE,         /* REFUSED_STREAM: never begun */
        [8] = TFD_CANCELLED,           /* CANCEL */
        [11] = TFD_RESOURCE_EXHAUSTED, /* ENHANCE_YOUR_CALM */
        [12] = TFD_PERMISSION_DENIED,  /* INADEQUATE_SECURITY */
    };

    if (error < sizeof(table) / sizeof(table[0]) && table[error] != TFD_OK)
        return table[error];
    return TFD_INTERNAL;
}

bool tfd_grpc_is_content_type(struct tfd_str value)
{
    static const size_t size = sizeof("application/grpc") - 1;

    if (!tfd_str_starts(value, "application/grpc"))
        return false;
    return value.size == size || value.data[size] == '+' ||
           value.data[size] == ';';
}
