/*
 * The GnuTLS driver: an interpreter for scripts of GnuTLS calls that prints
 * everything a program could see of them, as tests/differential/driver does
 * for OpenSSL. The harness runs the same script with and without the preload
 * library and compares line by line.
 */
#ifndef GNUTLS_DRIVER_H
#define GNUTLS_DRIVER_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "script.h"

/* 2026-06-01 12:00:00 UTC: "now" in every test, whatever the clock says. */
#define NOW 1780315200L

typedef struct {
    unsigned n;
    gnutls_x509_crt_t *cert;
} bag;

/* Slots. Freed at exit, so that leak checkers only see real leaks. */
extern bag bags[SLOTS];
extern gnutls_x509_trust_list_t lists[SLOTS];
extern int borrowed[SLOTS]; /* the list belongs to a credential */
extern gnutls_certificate_credentials_t credentials[SLOTS];

/* main.c */
gnutls_x509_trust_list_t list_at(const args *a, int i);
gnutls_certificate_credentials_t credential_at(const args *a, int i);
gnutls_x509_crt_t cert_at(const char *reference); /* "B:I" */
long number(const char *s, long otherwise);
gnutls_datum_t contents(const char *path);        /* to be freed with gnutls_free */
void take_list(int slot, gnutls_x509_trust_list_t list, int of_credential);

/* report.c */
const char *print_datum(const gnutls_datum_t *d); /* short hash */
const char *print_of(gnutls_x509_crt_t cert);
const char *print_crl(gnutls_x509_crl_t crl);
void say_result(const char *what, int result);
unsigned format_of(const args *a, int i);         /* pem or der */
bag copies(const char *references);               /* fresh certificates of "B:I,B:I" */

/* verify.c: what gnutls_verify_output_function was called with */
void forget_events(void);
int on_output(gnutls_x509_crt_t cert, gnutls_x509_crt_t issuer, gnutls_x509_crl_t crl, unsigned output);
const char *events(void);

extern const command list_commands[];       /* lists.c */
extern const command search_commands[];     /* search.c */
extern const command verify_commands[];     /* verify.c */
extern const command credential_commands[]; /* credentials.c */
extern const command handshake_commands[];  /* handshake.c */
extern const command ocsp_commands[];       /* ocsp.c */
void free_iterators(void);

#endif
