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

/* Has the connection check the certificate against this host, and connects to it. */
static int connect_and_verify(BIO *bio, SSL *ssl, const char *host, const char *port)
{
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1 &&
           BIO_set_conn_hostname(bio, host) == 1 && BIO_set_conn_port(bio, port) == 1 && BIO_do_connect(bio) == 1;
}

/* Connects and prints what came of it. Returns 1 if the server is who it should be. */
static int connect_to(const char *host, const char *port)
{
    SSL *ssl = NULL;
    int verified = 0;
    SSL_CTX *context = new_context();
    BIO *bio = context ? BIO_new_ssl_connect(context) : NULL;
    if (bio && BIO_get_ssl(bio, &ssl) == 1)
        verified = connect_and_verify(bio, ssl, host, port);
    /* The result of the verification is X509_V_OK as well if there was none, because there is no such host, say. So it
     * only tells why a connection was refused, or refuses one itself. */
    long result = ssl ? SSL_get_verify_result(ssl) : X509_V_OK;
    if (result != X509_V_OK) {
        fprintf(stderr, "%s: refused: %s\n", host, X509_verify_cert_error_string(result));
        verified = 0;
    } else if (!verified) {
        fprintf(stderr, "%s: not connected\n", host);
        ERR_print_errors_fp(stderr);
    } else {
        printf("%s: connected and verified\n", host);
    }
    BIO_free_all(bio);
    SSL_CTX_free(context);
    return verified;
}

int main(int count, char **arguments)
{
    windlass_error error;
    /* To SSL_set1_host, an empty host means that any name will do. */
    if (count < 3 || *arguments[1] == '\0') {
        fprintf(stderr, "usage: %s HOST PORT [CAFILE]\n", count ? arguments[0] : "static_openssl");
        return 2;
    }
    /* Without a path: the bundle of this machine. */
    if (windlass_trust_open(count > 3 ? arguments[3] : NULL, 0, &trust, &error) != WINDLASS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    int verified = 1;
    for (int connection = 0; connection < 3 && verified; connection++)
        verified = connect_to(arguments[1], arguments[2]);
    windlass_trust_release(trust);
    return !verified;
}
