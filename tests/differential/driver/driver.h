/*
 * The differential driver: an interpreter for scripts of OpenSSL calls that
 * prints everything a program could see of them. The harness runs the same
 * script with and without the preload library and compares line by line.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/x509_vfy.h>

#include "script.h"

#define V3 (OPENSSL_VERSION_NUMBER >= 0x30000000L)
#define V33 (OPENSSL_VERSION_NUMBER >= 0x30300000L)
#define V4 (OPENSSL_VERSION_NUMBER >= 0x40000000L)

/* Slots. Freed at exit, so that leak checkers only see real leaks. */
extern X509_STORE *stores[SLOTS];
extern SSL_CTX *contexts[SLOTS];
extern X509_LOOKUP *lookups[SLOTS]; /* owned by their store */
extern STACK_OF(X509) *bags[SLOTS];
extern STACK_OF(X509_CRL) *crls[SLOTS];
extern STACK_OF(X509_NAME) *names[SLOTS];
extern void *libctx; /* OSSL_LIB_CTX in use by the "_ex" commands, or NULL */
extern char *propq;

/* main.c */
X509_STORE *store_at(const args *a, int i);
SSL_CTX *ctx_at(const args *a, int i);
X509 *cert_at(const char *reference);        /* "B:I" */

/* report.c */
void drain_errors(void);
const char *print_of(X509 *x);               /* short fingerprint plus trust settings */
const char *crl_print_of(X509_CRL *crl);
void say_certs(const char *what, STACK_OF(X509) *certs);
void say_objects(const char *what, const STACK_OF(X509_OBJECT) *objects);

extern const command load_commands[];   /* load.c */
extern const command ssl_commands[];    /* ssl.c */
extern const command store_commands[];  /* store.c */
extern const command verify_commands[]; /* verify.c */
extern const command name_commands[];   /* names.c */
extern const command tls_commands[];    /* tls.c */
extern const command custom_commands[]; /* custom.c */
extern const command lookup_commands[]; /* lookup.c */
void custom_free(void);
void name_free(void);

#endif
