/*
 * The differential driver: an interpreter for scripts of OpenSSL calls that
 * prints everything a program could see of them. The harness runs the same
 * script with and without the preload library and compares line by line.
 *
 * One command a line, words separated by blanks. "-" is a null pointer, "%xx"
 * an escaped byte and "%" alone the empty string. Objects live in numbered
 * slots; "B:I" is certificate I of bag B.
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

#define V3 (OPENSSL_VERSION_NUMBER >= 0x30000000L)
#define V33 (OPENSSL_VERSION_NUMBER >= 0x30300000L)
#define V4 (OPENSSL_VERSION_NUMBER >= 0x40000000L)

#define SLOTS 512

typedef struct {
    int n;
    char *word[64]; /* NULL for "-" */
} args;

typedef struct {
    const char *name;
    void (*run)(args *a);
} command;

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
extern int line;
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
int slot(const args *a, int i);              /* word i as a slot number */
const char *str(const args *a, int i);       /* word i, NULL allowed */
long num(const args *a, int i);              /* word i as a number */
const char *option(const args *a, const char *name); /* value of NAME=..., or NULL */
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
extern const command file_commands[];   /* files.c */
extern const command custom_commands[]; /* custom.c */
void custom_free(void);
void name_free(void);

#endif
