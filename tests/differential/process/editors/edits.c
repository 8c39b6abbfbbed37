/*
 * Edits of a certificate in place. With -DBY_NAME each function that changes something is found by dlsym when it is
 * called, as ctypes, LuaJIT and cffi do it. With -DFEW those that change what OpenSSL keeps beside a certificate are
 * left out.
 */
#include "edits.h"

#include <dlfcn.h>
#include <openssl/objects.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BY_NAME
static void *by_name(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (found == NULL) {
        fprintf(stderr, "edits: no %s\n", name);
        exit(3);
    }
    return found;
}
#define CALL(function) ((__typeof__(&function))by_name(#function))
#else
#define CALL(function) function
#endif

static int edit_bytes(X509 *x)
{
    /* The year of a UTCTime, written over without any function: ASN1_STRING was public up to 3.x. */
    unsigned char *bytes = (unsigned char *)(uintptr_t)ASN1_STRING_get0_data(CALL(X509_getm_notAfter)(x));

    memcpy(bytes, "20", 2);
    return 1;
}

static int edit_entry(X509 *x)
{
    X509_NAME *name = (X509_NAME *)(uintptr_t)X509_get_subject_name(x);
    X509_NAME_ENTRY *entry = (X509_NAME_ENTRY *)(uintptr_t)X509_NAME_get_entry(name, 0);

    return CALL(X509_NAME_ENTRY_set_data)(entry, MBSTRING_ASC, (const unsigned char *)"YY", 2);
}

static int edit_extension(X509 *x)
{
    int at = X509_get_ext_by_NID(x, NID_subject_key_identifier, -1);
    X509_EXTENSION *extension = (X509_EXTENSION *)(uintptr_t)X509_get_ext(x, at);
    ASN1_OCTET_STRING *data = (ASN1_OCTET_STRING *)(uintptr_t)X509_EXTENSION_get_data(extension);

    return CALL(ASN1_OCTET_STRING_set)(data, (const unsigned char *)"\4\1\1", 3);
}

static int edit_constraints(X509 *x)
{
    BASIC_CONSTRAINTS *none = BASIC_CONSTRAINTS_new();
    int result = CALL(X509_add1_ext_i2d)(x, NID_basic_constraints, none, 1, X509V3_ADD_REPLACE);

    BASIC_CONSTRAINTS_free(none);
    return result;
}

static int edit_end(X509 *x, const char *end)
{
    ASN1_TIME *time = ASN1_TIME_new();
    int result = ASN1_TIME_set_string(time, end) && CALL(X509_set1_notAfter)(x, time);

    ASN1_TIME_free(time);
    return result;
}

int edit(const char *how, X509 *x, X509 *other)
{
    if (strcmp(how, "expire") == 0)
        return CALL(ASN1_TIME_set_string)(CALL(X509_getm_notAfter)(x), "20200101000000Z");
    if (strcmp(how, "end") == 0)
        return edit_end(x, "20200101000000Z");
    if (strcmp(how, "revive") == 0)
        return edit_end(x, "20400101000000Z");
    if (strcmp(how, "bytes") == 0)
        return edit_bytes(x);
    if (strcmp(how, "pubkey") == 0)
        return CALL(X509_set_pubkey)(x, X509_get0_pubkey(other));
#ifndef FEW
    if (strcmp(how, "reject") == 0)
        return CALL(X509_add1_reject_object)(x, OBJ_nid2obj(NID_anyExtendedKeyUsage));
    if (strcmp(how, "trust") == 0)
        return CALL(X509_add1_trust_object)(x, OBJ_nid2obj(NID_email_protect));
    if (strcmp(how, "alias") == 0)
        return CALL(X509_alias_set1)(x, (const unsigned char *)"edited", 6);
    if (strcmp(how, "keyid") == 0)
        return CALL(X509_keyid_set1)(x, (const unsigned char *)"edited", 6);
#endif
    if (strcmp(how, "name") == 0)
        return CALL(X509_NAME_add_entry_by_txt)((X509_NAME *)(uintptr_t)X509_get_subject_name(x), "CN", MBSTRING_ASC,
                                                (const unsigned char *)"edited", -1, -1, 0);
    if (strcmp(how, "entry") == 0)
        return edit_entry(x);
    if (strcmp(how, "issuer") == 0)
        return CALL(X509_set_issuer_name)(x, X509_get_subject_name(other));
    if (strcmp(how, "serial") == 0)
        return CALL(ASN1_INTEGER_set)(X509_get_serialNumber(x), 77);
    if (strcmp(how, "extension") == 0)
        return edit_extension(x);
    if (strcmp(how, "constraints") == 0)
        return edit_constraints(x);
    if (strcmp(how, "delete") == 0) {
        X509_EXTENSION *gone = CALL(X509_delete_ext)(x, 0);

        X509_EXTENSION_free(gone);
        return gone != NULL;
    }
#ifndef FEW
    if (strcmp(how, "ex-data") == 0)
        return CALL(X509_set_ex_data)(x, 0, (void *)(uintptr_t)77);
    if (strcmp(how, "proxy") == 0) {
        CALL(X509_set_proxy_flag)(x);
        return 1;
    }
#endif
    if (strcmp(how, "version") == 0)
        return CALL(X509_set_version)(x, 0);
    return -1;
}
