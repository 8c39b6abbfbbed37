/* Certificate credentials: every way to give them trust, and what they tell of it. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

static void credential_new(args *a)
{
    int i = slot(a, 1), result;

    if (credentials[i] != NULL)
        gnutls_certificate_free_credentials(credentials[i]);
    result = gnutls_certificate_allocate_credentials(&credentials[i]);
    say_result("allocate_credentials", result);
}

static void credential_free(args *a)
{
    gnutls_certificate_free_credentials(credential_at(a, 1));
    credentials[slot(a, 1)] = NULL;
    say("free_credentials");
}

/* c_file CREDENTIAL FILE TYPE */
static void trust_file(args *a)
{
    say_result("set_x509_trust_file",
               gnutls_certificate_set_x509_trust_file(credential_at(a, 1), str(a, 2), format_of(a, 3)));
}

static void trust_dir(args *a)
{
    say_result("set_x509_trust_dir",
               gnutls_certificate_set_x509_trust_dir(credential_at(a, 1), str(a, 2), format_of(a, 3)));
}

static void trust_mem(args *a)
{
    gnutls_datum_t text = contents(str(a, 2));

    say_result("set_x509_trust_mem",
               gnutls_certificate_set_x509_trust_mem(credential_at(a, 1), &text, format_of(a, 3)));
    memset(text.data, 'x', text.size);
    gnutls_free(text.data);
}

static void trust_system(args *a)
{
    say_result("set_x509_system_trust", gnutls_certificate_set_x509_system_trust(credential_at(a, 1)));
}

/* c_trust CREDENTIAL B:I,B:I */
static void trust_certs(args *a)
{
    bag b = copies(str(a, 2));
    unsigned i;

    say_result("set_x509_trust", gnutls_certificate_set_x509_trust(credential_at(a, 1), b.cert, (int)b.n));
    for (i = 0; i < b.n; i++)
        gnutls_x509_crt_deinit(b.cert[i]);
    free(b.cert);
}

static void crl_file(args *a)
{
    say_result("set_x509_crl_file",
               gnutls_certificate_set_x509_crl_file(credential_at(a, 1), str(a, 2), format_of(a, 3)));
}

static void crl_mem(args *a)
{
    gnutls_datum_t text = contents(str(a, 2));

    say_result("set_x509_crl_mem", gnutls_certificate_set_x509_crl_mem(credential_at(a, 1), &text, format_of(a, 3)));
    gnutls_free(text.data);
}

/* c_list CREDENTIAL LIST: the credential's own list, from then on in that slot */
static void get_list(args *a)
{
    gnutls_x509_trust_list_t list = NULL;

    gnutls_certificate_get_trust_list(credential_at(a, 1), &list);
    take_list(slot(a, 2), list, 1);
    say("get_trust_list %d", list != NULL);
}

/* c_set_list CREDENTIAL LIST: hands the list over */
static void set_list(args *a)
{
    gnutls_certificate_set_trust_list(credential_at(a, 1), list_at(a, 2), 0);
    borrowed[slot(a, 2)] = 1;
    say("set_trust_list");
}

/* c_issuer CREDENTIAL B:I FLAGS */
static void get_issuer(args *a)
{
    unsigned flags = (unsigned)num(a, 3);
    gnutls_x509_crt_t found = NULL;
    int result = gnutls_certificate_get_issuer(credential_at(a, 1), cert_at(str(a, 2)), &found, flags);

    say("certificate_get_issuer %d %s", result, result == 0 ? print_of(found) : "-");
    if (result == 0 && (flags & GNUTLS_TL_GET_COPY))
        gnutls_x509_crt_deinit(found);
}

static void free_cas(args *a)
{
    gnutls_certificate_free_cas(credential_at(a, 1));
    say("free_cas");
}

static void free_ca_names(args *a)
{
    gnutls_certificate_free_ca_names(credential_at(a, 1));
    say("free_ca_names");
}

static void free_crls(args *a)
{
    gnutls_certificate_free_crls(credential_at(a, 1));
    say("free_crls");
}

static void verify_flags(args *a)
{
    gnutls_certificate_set_verify_flags(credential_at(a, 1), (unsigned)num(a, 2));
}

/* c_identity CREDENTIAL CHAIN KEY [STAPLE] */
static void identity(args *a)
{
    say_result("set_x509_key_file", gnutls_certificate_set_x509_key_file(credential_at(a, 1), str(a, 2), str(a, 3),
                                                                         GNUTLS_X509_FMT_PEM));
    if (a->n > 4)
        say_result("set_ocsp_status_request_file",
                   gnutls_certificate_set_ocsp_status_request_file(credential_at(a, 1), str(a, 4), 0));
}

const command credential_commands[] = {
    { "cred", credential_new },
    { "cred_free", credential_free },
    { "c_file", trust_file },
    { "c_dir", trust_dir },
    { "c_mem", trust_mem },
    { "c_system", trust_system },
    { "c_trust", trust_certs },
    { "c_crl_file", crl_file },
    { "c_crl_mem", crl_mem },
    { "c_list", get_list },
    { "c_set_list", set_list },
    { "c_issuer", get_issuer },
    { "c_free_cas", free_cas },
    { "c_free_ca_names", free_ca_names },
    { "c_free_crls", free_crls },
    { "c_flags", verify_flags },
    { "c_identity", identity },
    { NULL, NULL },
};
