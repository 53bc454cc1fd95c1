/*
 * c_api_buffer.c - TF_Buffer (serialised messages), TF_TString (elements of
 * string tensors) and TF_Version().
 */
#include "client/c_api/capi.h"

#include <stdlib.h>
#include <string.h>

const char *TF_Version(void)
{
    return "2.21.0";
}

/* ---- Buffers ------------------------------------------------------------- */

static void free_data(void *data, size_t length)
{
    (void)length;
    free(data);
}

TF_Buffer *TF_NewBuffer(void)
{
    return calloc(1, sizeof(TF_Buffer));
}

TF_Buffer *TF_NewBufferFromString(const void *proto, size_t length)
{
    TF_Buffer *b = TF_NewBuffer();
    void *copy = malloc(length ? length : 1);

    if (!b || !copy) {
        free(b);
        free(copy);
        return NULL;
    }
    if (length)
        memcpy(copy, proto, length);
    *b = (TF_Buffer){copy, length, free_data};
    return b;
}

void TF_DeleteBuffer(TF_Buffer *b)
{
    if (!b)
        return;
    if (b->data_deallocator)
        b->data_deallocator((void *)(uintptr_t)b->data, b->length);
    free(b);
}

TF_Buffer TF_GetBuffer(TF_Buffer *b)
{
    return *b;
}

enum tfd_code tfd_capi_give(TF_Buffer *out, struct tfd_bytes *take_bytes,
                            struct tfd_status *st)
{
    enum tfd_code rc = tfd_bytes_ok(take_bytes, "the message", st);

    if (rc == TFD_OK && out->data)
        rc = tfd_fail(st, TFD_INVALID_ARGUMENT,
                      "Passing non-empty TF_Buffer is invalid.");
    if (rc != TFD_OK) {
        tfd_bytes_deinit(take_bytes);
        return rc;
    }
    if (!take_bytes->data) /* an empty message is a message */
        take_bytes->data = malloc(1);
    *out = (TF_Buffer){take_bytes->data, take_bytes->size, free_data};
    *take_bytes = (struct tfd_bytes){.max = take_bytes->max};
    return TFD_OK;
}

/* ---- Strings ------------------------------------------------------------- */

_Static_assert(sizeof(TF_TString) == sizeof(struct tfd_tstring) &&
                   _Alignof(TF_TString) == _Alignof(struct tfd_tstring),
               "TF_TString is struct tfd_tstring under its public name");

static struct tfd_tstring *of(TF_TString *t)
{
    return (struct tfd_tstring *)(void *)t;
}

static const struct tfd_tstring *value_of(const TF_TString *t)
{
    return (const struct tfd_tstring *)(const void *)t;
}

void TF_StringInit(TF_TString *t)
{
    *t = (TF_TString){0};
}

void TF_StringCopy(TF_TString *t, const char *src, size_t size)
{
    /* Without memory the old value stays; the API has no way to say so. */
    (void)!tfd_tstring_set(of(t), (struct tfd_str){src, size}, NULL);
}

void TF_StringAssignView(TF_TString *t, const char *src, size_t size)
{
    tfd_tstring_borrow(of(t), (struct tfd_str){src, size});
}

const char *TF_StringGetDataPointer(const TF_TString *t)
{
    return tfd_tstring_view(value_of(t)).data;
}

size_t TF_StringGetSize(const TF_TString *t)
{
    return tfd_tstring_view(value_of(t)).size;
}

size_t TF_StringGetCapacity(const TF_TString *t)
{
    return tfd_tstring_capacity(value_of(t));
}

void TF_StringDealloc(TF_TString *t)
{
    tfd_tstring_deinit(of(t));
}
