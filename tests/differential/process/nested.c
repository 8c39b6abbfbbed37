/*
 * nested HOW BUNDLE IMPOSTOR LEAF OTHER: code of the program runs in the middle of one of its calls, and adds IMPOSTOR,
 * a certificate of LEAF's issuer's name that has not signed it, to another store that holds BUNDLE.
 *
 *     constructor   of the ex_data of a certificate that a verification of OTHER needs
 *     loader        of a URI (3.0 and later)
 *     jump          as constructor, and leaves the verification by longjmp; the addition comes after
 *
 * With "-ssl" behind it the addition is a load by libssl.
 */
#include "pki.h"
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <string.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/store.h>
#endif

static X509_STORE *target;
static SSL_CTX *by_ssl;
static const char *impostor_path;
static X509 *impostor, *leaf;
static int is_armed, is_jump;
static jmp_buf back;

static void add(void)
{
    if (by_ssl != NULL)
        printf("loaded %d\n", SSL_CTX_load_verify_locations(by_ssl, impostor_path, NULL));
    else
        printf("added %d\n", X509_STORE_add_cert(target, impostor));
    printf("verified %d\n", verified(target, leaf));
}

static void construct(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *argument)
{
    (void)parent, (void)value, (void)data, (void)index, (void)number, (void)argument;
    if (!is_armed)
        return;
    is_armed = 0;
    if (is_jump)
        longjmp(back, 1);
    add();
}

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
static OSSL_STORE_LOADER_CTX *open_it(const OSSL_STORE_LOADER *loader, const char *uri, const UI_METHOD *method,
                                      void *data)
{
    (void)loader, (void)uri, (void)method, (void)data;
    if (is_armed)
        add();
    is_armed = 0;
    return (OSSL_STORE_LOADER_CTX *)&is_armed;
}

static OSSL_STORE_INFO *load_it(OSSL_STORE_LOADER_CTX *ctx, const UI_METHOD *method, void *data)
{
    (void)ctx, (void)method, (void)data;
    return NULL;
}

static int yes(OSSL_STORE_LOADER_CTX *ctx)
{
    (void)ctx;
    return 1;
}

static int no(OSSL_STORE_LOADER_CTX *ctx)
{
    (void)ctx;
    return 0;
}
#endif

int main(int argc, char **argv)
{
    X509_STORE *store;
    X509 *other;

    if (argc != 6)
        return 2;
    impostor = read_certificate(impostor_path = argv[3]);
    leaf = read_certificate(argv[4]);
    other = read_certificate(argv[5]);
    target = loaded(argv[2]);
    store = loaded(argv[2]);
    if (strstr(argv[1], "-ssl") != NULL) {
        by_ssl = SSL_CTX_new(TLS_method());
        X509_STORE_up_ref(target);
        SSL_CTX_set_cert_store(by_ssl, target);
    }
    is_jump = strncmp(argv[1], "jump", 4) == 0;
    if (strncmp(argv[1], "loader", 6) == 0) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
        OSSL_STORE_LOADER *loader = OSSL_STORE_LOADER_new(NULL, "nested");

        OSSL_STORE_LOADER_set_open(loader, open_it);
        OSSL_STORE_LOADER_set_load(loader, load_it);
        OSSL_STORE_LOADER_set_eof(loader, yes);
        OSSL_STORE_LOADER_set_error(loader, no);
        OSSL_STORE_LOADER_set_close(loader, yes);
        OSSL_STORE_register_loader(loader);
        is_armed = 1;
        X509_STORE_load_store(X509_STORE_new(), "nested:it");
#endif
    } else {
        X509_get_ex_new_index(0, NULL, construct, NULL, NULL);
        is_armed = 1;
        if (setjmp(back) == 0)
            verified(store, other);
        /* Where all was read at the load, nothing is constructed any more. */
        is_jump |= is_armed;
        is_armed = 0;
        if (is_jump)
            add();
    }
    printf("at last %d\n", verified(target, leaf));
    return 0;
}
