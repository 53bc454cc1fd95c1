/*
 * c_api_status.c - TF_Status is a struct tfd_status on the heap.
 */
#include "client/c_api/capi.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

TF_Status *TF_NewStatus(void)
{
    return calloc(1, sizeof(TF_Status));
}

void TF_DeleteStatus(TF_Status *s)
{
    free(s);
}

void TF_SetStatus(TF_Status *s, TF_Code code, const char *message)
{
    tfd_status_clear(&s->st);
    if (code != TF_OK)
        tfd_fail(&s->st, (enum tfd_code)code, "%s", message ? message : "");
}

TF_Code TF_GetCode(const TF_Status *s)
{
    return (TF_Code)s->st.code;
}

const char *TF_Message(const TF_Status *s)
{
    return s->st.text;
}

struct tfd_status *tfd_capi_status(TF_Status *status)
{
    assert(status);
    tfd_status_clear(&status->st);
    return &status->st;
}
