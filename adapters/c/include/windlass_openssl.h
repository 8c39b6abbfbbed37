/* windlass_openssl.h: a windlass_store as the root store of an X509_STORE.
 *
 * For programs that have OpenSSL linked in, so that Windlass can't come between. Everything here is compiled against
 * the OpenSSL whose headers the program includes, and calls nothing but its public functions and libwindlass:
 *
 * - OpenSSL 1.1.1, 3.x and 4.x: certificates are parsed and added to a store when a verification asks for their
 *   subject.
 * - BoringSSL, AWS-LC and LibreSSL have no lookup methods for others to write. There, all certificates are parsed when
 *   the first store gets them, and added to each store by reference.
 *
 * CRLs of the file are parsed once, and added to each store by reference.
 *
 * Parsed certificates and CRLs belong to the windlass_store and are shared by all X509_STOREs that got it. Don't change
 * one that you get from a store or a chain. docs/c.md says which verdicts are as after X509_STORE_load_locations. */
#ifndef WINDLASS_OPENSSL_H
#define WINDLASS_OPENSSL_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <stdlib.h>
#include <string.h>

#include "windlass.h"

#if defined OPENSSL_IS_BORINGSSL || defined OPENSSL_IS_AWSLC || defined LIBRESSL_VERSION_NUMBER
#define WINDLASS_OPENSSL_HAS_LOOKUPS 0
#else
#define WINDLASS_OPENSSL_HAS_LOOKUPS 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Names that end in an underscore are not for programs. */

static inline void windlass_openssl_free_anchor_(void *anchor) { X509_free((X509 *)anchor); }
static inline void windlass_openssl_free_crl_(void *crl) { X509_CRL_free((X509_CRL *)crl); }

/* Tells copies of OpenSSL in one process apart. */
static inline const void *windlass_openssl_key_(void) { return (const void *)(uintptr_t)&X509_free; }

/* Whether OpenSSL has read what it needs of a new certificate. Without memory it notes in the certificate that the
 * extensions can't be read, and never looks again: such a certificate must not be shared. */
static inline int windlass_openssl_is_whole_(X509 *certificate)
{
#if WINDLASS_OPENSSL_HAS_LOOKUPS
    return !(X509_get_extension_flags(certificate) & EXFLAG_INVALID);
#else
    (void)certificate;
    return 1;
#endif
}

/* The certificate at a place, which belongs to the state. NULL if it can't be parsed. */
static inline X509 *windlass_openssl_anchor_(windlass_store *state, size_t place)
{
    const void *key = windlass_openssl_key_();
    X509 *known = (X509 *)windlass_store_object(state, key, WINDLASS_ANCHOR, place);
    windlass_anchor anchor;
    if (known || windlass_store_anchor(state, place, &anchor, sizeof anchor) != WINDLASS_OK)
        return known;
    const unsigned char *at = anchor.der.bytes;
    X509 *fresh = d2i_X509(NULL, &at, (long)anchor.der.length);
    if (fresh && windlass_openssl_is_whole_(fresh))
        known = (X509 *)windlass_store_share(state, key, WINDLASS_ANCHOR, place, fresh, windlass_openssl_free_anchor_);
    if (!known)
        X509_free(fresh);
    return known;
}

/* The same for a CRL. */
static inline X509_CRL *windlass_openssl_crl_(windlass_store *state, size_t place)
{
    const void *key = windlass_openssl_key_();
    X509_CRL *known = (X509_CRL *)windlass_store_object(state, key, WINDLASS_CRL, place);
    windlass_crl crl;
    if (known || windlass_store_crl(state, place, &crl, sizeof crl) != WINDLASS_OK)
        return known;
    const unsigned char *at = crl.der.bytes;
    X509_CRL *fresh = d2i_X509_CRL(NULL, &at, (long)crl.der.length);
    if (fresh)
        known = (X509_CRL *)windlass_store_share(state, key, WINDLASS_CRL, place, fresh, windlass_openssl_free_crl_);
    if (!known)
        X509_CRL_free(fresh);
    return known;
}

/* Adds the certificate at a place to the store. Sets *first if it is NULL. */
static inline int windlass_openssl_add_(X509_STORE *store, windlass_store *state, size_t place, X509 **first)
{
    X509 *anchor = windlass_openssl_anchor_(state, place);
    if (!anchor || X509_STORE_add_cert(store, anchor) != 1)
        return 0;
    if (!*first)
        *first = anchor;
    return 1;
}

/* Adds all certificates of a subject, in the order of the file. Sets *first to the first of them, if there is one.
 * Returns 0 if not all could be added. */
static inline int windlass_openssl_add_subject_(X509_STORE *store, windlass_store *state, const X509_NAME *subject,
                                                X509 **first)
{
    const unsigned char *der;
    size_t length, count, few[8], *places = few, *many = NULL;
    int code, added = 1;
    *first = NULL;
    if (X509_NAME_get0_der((X509_NAME *)subject, &der, &length) != 1)
        return 0;
    code = windlass_store_by_subject(state, der, length, few, sizeof few / sizeof *few, &count);
    if (code == WINDLASS_E_NAME) {
        /* OpenSSL may know how to compare it. */
        count = windlass_store_anchor_count(state);
        for (size_t place = 0; added && place < count; place++) {
            X509 *anchor = windlass_openssl_anchor_(state, place);
            if (!anchor)
                return 0;
            if (X509_NAME_cmp(X509_get_subject_name(anchor), subject) == 0)
                added = windlass_openssl_add_(store, state, place, first);
        }
        return added;
    }
    if (code != WINDLASS_OK)
        return 0;
    if (count > sizeof few / sizeof *few) {
        places = many = (size_t *)malloc(count * sizeof *many);
        if (!many || windlass_store_by_subject(state, der, length, many, count, &count) != WINDLASS_OK)
            added = 0;
    }
    for (size_t at = 0; added && at < count; at++)
        added = windlass_openssl_add_(store, state, places[at], first);
    free(many);
    return added;
}

static inline int windlass_openssl_fail_(windlass_error *error, int code, const char *text)
{
    if (error) {
        memset(error, 0, sizeof *error);
        error->code = code;
        strncpy(error->text, text, sizeof error->text - 1);
    }
    return 0;
}

#if WINDLASS_OPENSSL_HAS_LOOKUPS

struct windlass_openssl_lookup_ {
    windlass_store *state;
    X509_LOOKUP_METHOD *method;
};

#if OPENSSL_VERSION_NUMBER < 0x30000000L
typedef X509_NAME windlass_openssl_name_;
#else
typedef const X509_NAME windlass_openssl_name_;
#endif

/* OpenSSL asks this if the store has no certificate of that subject in memory. */
static inline int windlass_openssl_by_subject_(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type,
                                               windlass_openssl_name_ *subject, X509_OBJECT *found)
{
    struct windlass_openssl_lookup_ *data = (struct windlass_openssl_lookup_ *)X509_LOOKUP_get_method_data(lookup);
    X509 *first = NULL;
    int added = 0;
    /* CRLs are in memory. */
    if (type != X509_LU_X509 || !data || !subject)
        return 0;
    ERR_set_mark();
    added = windlass_openssl_add_subject_(X509_LOOKUP_get_store(lookup), data->state, subject, &first);
    /* The object gets no reference from the built-in methods: OpenSSL takes one itself. */
    added = added && first && X509_OBJECT_set1_X509(found, first) == 1;
    if (added)
        X509_free(first);
    ERR_pop_to_mark();
    return added;
}

/* The store is being freed. OpenSSL does not look at the method again. */
static inline void windlass_openssl_free_lookup_(X509_LOOKUP *lookup)
{
    struct windlass_openssl_lookup_ *data = (struct windlass_openssl_lookup_ *)X509_LOOKUP_get_method_data(lookup);
    if (!data)
        return;
    windlass_store_release(data->state);
    X509_LOOKUP_meth_free(data->method);
    free(data);
}

static inline int windlass_openssl_add_lookup_(X509_STORE *store, windlass_store *state)
{
    struct windlass_openssl_lookup_ *data = (struct windlass_openssl_lookup_ *)malloc(sizeof *data);
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("Windlass: shared root stores");
    X509_LOOKUP *lookup = NULL;
    if (data && method && X509_LOOKUP_meth_set_get_by_subject(method, windlass_openssl_by_subject_) == 1 &&
        X509_LOOKUP_meth_set_free(method, windlass_openssl_free_lookup_) == 1)
        lookup = X509_STORE_add_lookup(store, method);
    if (!lookup) {
        X509_LOOKUP_meth_free(method);
        free(data);
        return 0;
    }
    data->state = windlass_store_retain(state);
    data->method = method;
    X509_LOOKUP_set_method_data(lookup, data);
    return 1;
}

/* The certificates that the store has in memory, with a reference to each. */
static inline STACK_OF(X509) *windlass_openssl_present_(X509_STORE *store)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    return X509_STORE_get1_all_certs(store);
#else
    STACK_OF(X509) *all = sk_X509_new_null();
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    for (int at = 0; all && at < sk_X509_OBJECT_num(objects); at++) {
        X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, at));
        if (!certificate)
            continue;
        X509_up_ref(certificate);
        if (sk_X509_push(all, certificate) <= 0) {
            X509_free(certificate);
            sk_X509_pop_free(all, X509_free);
            return NULL;
        }
    }
    return all;
#endif
}

/* Adds what must be in memory before the first verification. OpenSSL asks a lookup only for subjects that are not in
 * memory, so those that are there must be complete. And a subject that several certificates share must not be seen
 * half-added by another thread. */
static inline int windlass_openssl_add_anchors_(X509_STORE *store, windlass_store *state)
{
    X509 *first = NULL;
    size_t count, *places = NULL;
    STACK_OF(X509) *present = windlass_openssl_present_(store);
    int added = present != NULL;
    for (int at = 0; added && at < sk_X509_num(present); at++)
        added = windlass_openssl_add_subject_(store, state, X509_get_subject_name(sk_X509_value(present, at)), &first);
    sk_X509_pop_free(present, X509_free);
    if (!added || windlass_store_shared_subjects(state, NULL, 0, &count) != WINDLASS_OK)
        return 0;
    if (count) {
        places = (size_t *)malloc(count * sizeof *places);
        added = places && windlass_store_shared_subjects(state, places, count, &count) == WINDLASS_OK;
    }
    for (size_t at = 0; added && at < count; at++)
        added = windlass_openssl_add_(store, state, places[at], &first);
    free(places);
    return added && windlass_openssl_add_lookup_(store, state);
}

#else

static inline int windlass_openssl_add_anchors_(X509_STORE *store, windlass_store *state)
{
    X509 *first = NULL;
    size_t count = windlass_store_anchor_count(state);
    for (size_t place = 0; place < count; place++)
        if (!windlass_openssl_add_(store, state, place, &first))
            return 0;
    return 1;
}

#endif

/* Gives a store all certificates and CRLs of a state, in place of X509_STORE_load_locations(store, FILE, NULL).
 * Verifications accept and refuse the same as after that. The store holds a reference to the state until it is freed.
 *
 * Call it once for a store, before other threads use it and before it gets other lookups (directories). Certificates
 * that the store has already come first, as in OpenSSL. For those that it gets later, see windlass_openssl_add_cert.
 * X509_STORE_get0_objects and its kind see only the certificates that were needed so far.
 *
 * Returns 1, or 0 and sets the error, if it is not NULL: WINDLASS_E_UNSUPPORTED if this OpenSSL can't parse a CRL of
 * the file (or, without lookup methods, a certificate), else WINDLASS_E_MEMORY. In the second case the store may have
 * a part of the file: free it. */
static inline int windlass_openssl_install(X509_STORE *store, windlass_store *state, windlass_error *error)
{
    size_t crls = windlass_store_crl_count(state);
    int added = 1;
    if (!store || !state)
        return windlass_openssl_fail_(error, WINDLASS_E_ARGUMENT, windlass_error_text(WINDLASS_E_ARGUMENT));
    ERR_set_mark();
    /* Either all can be parsed, or nothing is added. */
    for (size_t place = 0; added && place < crls; place++)
        added = windlass_openssl_crl_(state, place) != NULL;
#if !WINDLASS_OPENSSL_HAS_LOOKUPS
    for (size_t place = 0; added && place < windlass_store_anchor_count(state); place++)
        added = windlass_openssl_anchor_(state, place) != NULL;
#endif
    if (!added) {
        ERR_pop_to_mark();
        return windlass_openssl_fail_(error, WINDLASS_E_UNSUPPORTED, "this OpenSSL can't parse all of the file");
    }
    added = windlass_openssl_add_anchors_(store, state);
    for (size_t place = 0; added && place < crls; place++)
        added = X509_STORE_add_crl(store, windlass_openssl_crl_(state, place)) == 1;
    ERR_pop_to_mark();
    return added ? 1 : windlass_openssl_fail_(error, WINDLASS_E_MEMORY, windlass_error_text(WINDLASS_E_MEMORY));
}

/* X509_STORE_add_cert for a store that has this state: the certificates of the same subject that are in the file stay
 * before it. Added by X509_STORE_add_cert, it would hide those that were not needed so far. Returns 1 or 0. */
static inline int windlass_openssl_add_cert(X509_STORE *store, windlass_store *state, X509 *certificate)
{
    X509 *first = NULL;
    return store && state && certificate &&
           windlass_openssl_add_subject_(store, state, X509_get_subject_name(certificate), &first) &&
           X509_STORE_add_cert(store, certificate) == 1;
}

#ifdef __cplusplus
}
#endif

#endif
