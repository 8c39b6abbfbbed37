/*
 * resumed: a client with one context, and its last session, in a folder with the files of pki.py. After the root of
 * the server has gone no session helps.
 */
#include "pki.h"
#include <openssl/ssl.h>
#include <string.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static SSL_SESSION *last;

static int keep(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(last);
    last = session;
    return 1;
}

static void connect_to(SSL_CTX *server_ctx, SSL_CTX *client_ctx, const char *when)
{
    SSL *client = SSL_new(client_ctx), *server = SSL_new(server_ctx);
    BIO *there, *back;
    char byte;
    int done;

    BIO_new_bio_pair(&there, 0, &back, 0);
    SSL_set_bio(client, there, there);
    SSL_set_bio(server, back, back);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(client), NOW);
    printf("%s: set %d, ", when, last == NULL ? -1 : SSL_set_session(client, last));
    for (int i = 0; i < 20; i++) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    done = SSL_is_init_finished(client);
    SSL_write(server, "x", 1);
    SSL_read(client, &byte, 1); /* takes the tickets */
    printf("%s, %s, %ld\n", done ? "accepted" : "refused", SSL_session_reused(client) ? "resumed" : "full",
           SSL_get_verify_result(client));
    /* A connection that was not shut down takes its session with it. */
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(client);
    SSL_free(server);
    ERR_clear_error();
}

static void put(const char *from)
{
    unlink("new");
    if (symlink(from, "new") != 0 || rename("new", "bundle.pem") != 0)
        exit(4);
}

int main(void)
{
    SSL_CTX *server = SSL_CTX_new(TLS_server_method()), *client;
    char bundle[4096];

    if (getcwd(bundle, 2048) == NULL)
        return 2;
    strcat(bundle, "/bundle.pem");
    SSL_CTX_use_certificate_file(server, "leaf0.pem", SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(server, "leaf.key", SSL_FILETYPE_PEM);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        put("roots.pem");
        client = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_min_proto_version(client, version);
        SSL_CTX_set_max_proto_version(client, version);
        SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
        SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
        SSL_CTX_sess_set_new_cb(client, keep);
        SSL_CTX_load_verify_locations(client, bundle, NULL);
        connect_to(server, client, "first");
        connect_to(server, client, "again");
        put("one.pem");
        connect_to(server, client, "without the root");
        put("inter.pem");
        connect_to(server, client, "with it");
        connect_to(server, client, "with it again");
        SSL_CTX_free(client);
        SSL_SESSION_free(last);
        last = NULL;
    }
    SSL_CTX_free(server);
    return 0;
}
