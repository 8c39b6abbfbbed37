/* A TLS client with OpenSSL linked in, which no preloaded library can serve: it asks Windlass for its roots itself.
 *
 *     cc static_openssl.c $(pkg-config --cflags --libs windlass) -l:libssl.a -l:libcrypto.a -ldl -pthread
 *     ./a.out localhost 8443 [CAFILE] */
#include <openssl/ssl.h>
#include <stdio.h>
#include <windlass_openssl.h>

/* One for the program, opened once. */
static windlass_trust *trust;

/* A context that trusts the present state of the bundle. Each connection may have its own: this takes microseconds. */
static SSL_CTX *new_context(void)
{
    windlass_error error = {0};
    windlass_store *state = NULL;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return NULL;
    if (windlass_trust_store(trust, &state, &error) != WINDLASS_OK ||
        !windlass_openssl_install(SSL_CTX_get_cert_store(context), state, &error)) {
        fprintf(stderr, "%s\n", error.text);
        SSL_CTX_free(context);
        context = NULL;
    }
    /* The context has a reference of its own. */
    windlass_store_release(state);
    if (context)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return context;
}

/* Connects and prints what came of the verification. */
static int connect_to(const char *host, const char *port)
{
    char address[300];
    SSL *ssl = NULL;
    int connected = 0;
    SSL_CTX *context = new_context();
    BIO *bio = context ? BIO_new_ssl_connect(context) : NULL;
    if (bio) {
        snprintf(address, sizeof address, "%s:%s", host, port);
        BIO_set_conn_hostname(bio, address);
        BIO_get_ssl(bio, &ssl);
        SSL_set1_host(ssl, host);
        SSL_set_tlsext_host_name(ssl, host);
        connected = BIO_do_connect(bio) == 1;
        printf("verified: %s\n", X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
    }
    BIO_free_all(bio);
    SSL_CTX_free(context);
    return connected;
}

int main(int count, char **arguments)
{
    windlass_error error;
    if (count < 3)
        return 2;
    /* Without a path: the bundle of this machine. */
    if (windlass_trust_open(count > 3 ? arguments[3] : NULL, 0, &trust, &error) != WINDLASS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    int connected = 1;
    for (int connection = 0; connection < 3 && connected; connection++)
        connected = connect_to(arguments[1], arguments[2]);
    windlass_trust_release(trust);
    return !connected;
}
