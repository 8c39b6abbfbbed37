/* A TLS handshake between two contexts over a pair of memory BIOs. */
#include "driver.h"
#include <string.h>

#define NOW 1780315200L

/* One side's certificate, key and the chain it got from the other. */
static void fix_time(SSL *ssl)
{
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), NOW);
}

/* identity CTX CERTIFICATE-FILE KEY-FILE: what the context presents */
static void identity(args *a)
{
    SSL_CTX *ctx = ctx_at(a, 1);
    int cert = SSL_CTX_use_certificate_file(ctx, str(a, 2), SSL_FILETYPE_PEM);
    int key = SSL_CTX_use_PrivateKey_file(ctx, str(a, 3), SSL_FILETYPE_PEM);

    say("identity %d %d", cert, key);
}

/* extra CTX CERT: one more certificate to send */
static void extra(args *a)
{
    X509 *x = cert_at(str(a, 2));

    X509_up_ref(x);
    say("add_extra_chain_cert %d", (int)SSL_CTX_add_extra_chain_cert(ctx_at(a, 1), x));
}

/* client_names CTX SLOT: the CA names the server asks for */
static void client_names(args *a)
{
    SSL_CTX_set_client_CA_list(ctx_at(a, 1), SSL_dup_CA_list(names[slot(a, 2)]));
    say("client_names");
}

static void say_ca_list(SSL *client)
{
    const STACK_OF(X509_NAME) *list = SSL_get0_peer_CA_list(client);
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    int i;

    EVP_DigestInit_ex(md, EVP_sha1(), NULL);
    for (i = 0; i < sk_X509_NAME_num(list); i++) {
        unsigned char *der = NULL;
        int length = i2d_X509_NAME(sk_X509_NAME_value(list, i), &der);

        EVP_DigestUpdate(md, der, length < 0 ? 0 : (size_t)length);
        OPENSSL_free(der);
    }
    EVP_DigestFinal_ex(md, digest, NULL);
    EVP_MD_CTX_free(md);
    say("client sees %d CA names %02x%02x%02x%02x", sk_X509_NAME_num(list), digest[0],
        digest[1], digest[2], digest[3]);
}

/* handshake CLIENT SERVER [host=NAME] [mutual=1] [version=772] */
static void handshake(args *a)
{
    SSL *client = SSL_new(ctx_at(a, 1)), *server = SSL_new(ctx_at(a, 2));
    BIO *near_end = NULL, *far_end = NULL;
    int turn, c = 0, s = 0;
    X509 *peer;

    if (client == NULL || server == NULL || !BIO_new_bio_pair(&near_end, 0, &far_end, 0))
        die("SSL_new");
    SSL_set_bio(client, near_end, near_end);
    SSL_set_bio(server, far_end, far_end);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    SSL_set_verify(client, SSL_VERIFY_PEER, NULL);
    if (option(a, "mutual") != NULL)
        SSL_set_verify(server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (option(a, "host") != NULL)
        SSL_set1_host(client, option(a, "host"));
    if (option(a, "tls12") != NULL)
        SSL_set_max_proto_version(client, TLS1_2_VERSION);
    fix_time(client);
    fix_time(server);
    for (turn = 0; turn < 40 && (c <= 0 || s <= 0); turn++) {
        if (c <= 0)
            c = SSL_do_handshake(client);
        if (s <= 0)
            s = SSL_do_handshake(server);
        if (c <= 0 && SSL_get_error(client, c) == SSL_ERROR_SSL)
            break;
        if (s <= 0 && SSL_get_error(server, s) == SSL_ERROR_SSL)
            break;
    }
    say("handshake client %d server %d verify %ld/%ld", c, s, SSL_get_verify_result(client),
        SSL_get_verify_result(server));
    say_certs("server sent", SSL_get_peer_cert_chain(client));
    say_certs("client verified", SSL_get0_verified_chain(client));
    say_certs("server verified", SSL_get0_verified_chain(server));
    say_ca_list(client);
    peer = SSL_get_peer_certificate(server);
    say("client presented %s", print_of(peer));
    X509_free(peer);
    SSL_free(client);
    SSL_free(server);
}

/* build_chain CTX FLAGS */
static void build_chain(args *a)
{
    STACK_OF(X509) *chain = NULL;
    int done = (int)SSL_CTX_build_cert_chain(ctx_at(a, 1), num(a, 2));

    SSL_CTX_get0_chain_certs(ctx_at(a, 1), &chain);
    say("build_cert_chain %d", done);
    say_certs("built", chain);
}

static void ctx_time(args *a)
{
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(ctx_at(a, 1)), NOW);
    say("ctx_time");
}

const command tls_commands[] = {
    { "identity", identity },
    { "extra", extra },
    { "client_names", client_names },
    { "handshake", handshake },
    { "build_chain", build_chain },
    { "ctx_time", ctx_time },
    { NULL, NULL },
};
