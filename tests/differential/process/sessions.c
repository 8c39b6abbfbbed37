/*
 * sessions: every way in which a client comes to offer a session, before the server's root has left the client's bundle
 * and afterwards, in a folder with the files of pki.py. One line for each way, version of TLS and state of the bundle.
 */
#include "pki.h"
#include <openssl/ssl.h>
#include <string.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static SSL_SESSION *last;
static SSL_CTX *server_ctx, *client_ctx;

static int keep(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(last);
    last = session;
    return 1;
}

static int offer(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *len, SSL_SESSION **session)
{
    size_t size = 0;

    (void)ssl;
    (void)digest;
    *session = NULL;
    *id = NULL;
    *len = 0;
    if (last != NULL && SSL_SESSION_get_protocol_version(last) == TLS1_3_VERSION) {
        SSL_SESSION_up_ref(last);
        *session = last;
        SSL_SESSION_get0_ticket(last, id, &size);
        *len = size;
    }
    return 1;
}

/* The server's side: the identity of a pre-shared key is a ticket here, so the client's key is asked for as such. */
static int find(SSL *ssl, const unsigned char *id, size_t len, SSL_SESSION **session)
{
    const unsigned char *ticket = NULL;
    size_t size = 0;

    (void)ssl;
    *session = NULL;
    if (last != NULL)
        SSL_SESSION_get0_ticket(last, &ticket, &size);
    if (size == len && memcmp(ticket, id, len) == 0)
        *session = SSL_SESSION_dup(last);
    return 1;
}

static void put(const char *from)
{
    unlink("new");
    if (symlink(from, "new") != 0 || rename("new", "bundle.pem") != 0)
        exit(4);
}

static SSL *connection(SSL_CTX *ctx)
{
    SSL *ssl = SSL_new(ctx);

    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), NOW);
    return ssl;
}

static SSL *answering(SSL *client)
{
    SSL *server = SSL_new(server_ctx);
    BIO *there, *back;

    BIO_new_bio_pair(&there, 0, &back, 0);
    SSL_set_bio(client, there, there);
    SSL_set_bio(server, back, back);
    SSL_set_accept_state(server);
    return server;
}

static const char *const BEGINNINGS[] = {"connect", "do_handshake", "read", "read_ex", "peek", "peek_ex", "write",
                                         "write_ex", "accept", "early"};
enum { CONNECT, EARLY = 9 };

static int begin(SSL *client, int how)
{
    size_t size;
    char byte;

    switch (how) {
    case 0: return SSL_connect(client);
    case 1: return SSL_do_handshake(client);
    case 2: return SSL_read(client, &byte, 1);
    case 3: return SSL_read_ex(client, &byte, 1, &size);
    case 4: return SSL_peek(client, &byte, 1);
    case 5: return SSL_peek_ex(client, &byte, 1, &size);
    case 6: return SSL_write(client, "x", 1);
    case 7: return SSL_write_ex(client, "x", 1, &size);
    case 8: return SSL_accept(client);
    default: return SSL_write_early_data(client, "early", 5, &size);
    }
}

/* Goes on until both sides are done or have failed, and reports. */
static void shake(SSL *client, SSL *server, int how)
{
    char bytes[16];
    size_t size;
    int early = how == EARLY ? begin(client, how) : -1, done;

    if (how == EARLY)
        for (int i = 0; i < 5; i++)
            if (SSL_read_early_data(server, bytes, sizeof(bytes), &size) == SSL_READ_EARLY_DATA_FINISH)
                break;
    for (int i = 0; i < 20 && !(SSL_is_init_finished(client) && SSL_is_init_finished(server)); i++) {
        if (how == EARLY)
            SSL_do_handshake(client);
        else
            begin(client, how);
        SSL_do_handshake(server);
    }
    done = SSL_is_init_finished(client);
    SSL_write(server, "x", 1);
    SSL_read(client, bytes, 1); /* takes the tickets */
    printf("%s, %s, %ld", done ? "accepted" : "refused", SSL_session_reused(client) ? "resumed" : "full",
           SSL_get_verify_result(client));
    if (how == EARLY)
        printf(", sent %d: %s", early,
               SSL_get_early_data_status(client) == SSL_EARLY_DATA_ACCEPTED ? "taken"
               : SSL_get_early_data_status(client) == SSL_EARLY_DATA_REJECTED ? "refused" : "not sent");
    printf("\n");
    /* A connection that was not shut down takes its session with it. */
    SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(server);
    ERR_clear_error();
}

static void make_context(int version, int tickets)
{
    char bundle[4096];

    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    SSL_SESSION_free(last);
    last = NULL;
    put("roots.pem");
    server_ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_file(server_ctx, "leaf0.pem", SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(server_ctx, "leaf.key", SSL_FILETYPE_PEM);
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"x", 1);
    SSL_CTX_set_max_early_data(server_ctx, 1000);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_ANTI_REPLAY | (tickets ? 0 : SSL_OP_NO_TICKET));
    client_ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(client_ctx, version);
    SSL_CTX_set_max_proto_version(client_ctx, version);
    SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(client_ctx, keep);
    if (getcwd(bundle, 2048) == NULL)
        exit(5);
    strcat(bundle, "/bundle.pem");
    SSL_CTX_load_verify_locations(client_ctx, bundle, NULL);
}

/* The ways in which a connection comes to its session. */
static const char *const WAYS[] = {"set", "set before", "cleared", "dup", "copied", "connect state", "psk of context",
                                   "psk"};
enum { SET, SET_BEFORE, CLEARED, DUP, COPIED, CONNECT_STATE, PSK_OF_CONTEXT, PSK, ALL };

static void try(int version, int tickets, int way, int how, const char *change)
{
    SSL *client, *other, *server;

    make_context(version, tickets);
    if (way == PSK_OF_CONTEXT) {
        SSL_CTX_set_psk_use_session_callback(client_ctx, offer);
        SSL_CTX_set_psk_find_session_callback(server_ctx, find);
    }
    client = connection(client_ctx);
    SSL_set_connect_state(client);
    server = answering(client);
    printf("%x%s %s by %s, first: ", version, tickets ? "" : " ids", WAYS[way], BEGINNINGS[how]);
    shake(client, server, CONNECT);
    other = connection(client_ctx);
    SSL_set_connect_state(other);
    if (way == SET_BEFORE || way == DUP)
        SSL_set_session(other, last);
    if (change != NULL)
        put(change);
    printf("   then %s: ", change == NULL ? "unchanged" : change);
    if (way == SET)
        SSL_set_session(other, last);
    else if (way == COPIED) {
        SSL *holder = SSL_new(client_ctx);

        SSL_set_session(holder, last);
        SSL_copy_session_id(other, holder);
        SSL_free(holder);
    } else if (way == DUP) {
        SSL *copy = SSL_dup(other);

        SSL_free(other);
        other = copy;
        SSL_set_connect_state(other);
    } else if (way == PSK) {
        SSL_set_psk_use_session_callback(other, offer);
        SSL_CTX_set_psk_find_session_callback(server_ctx, find);
    } else if (way == CLEARED || way == CONNECT_STATE) {
        SSL_free(other);
        other = client;
        client = NULL;
        SSL_set_session(other, last);
        if (way == CLEARED)
            SSL_clear(other);
        else {
            SSL_set_shutdown(other, 0);
            SSL_set_connect_state(other);
        }
    }
    server = answering(other);
    shake(other, server, how);
    SSL_free(other);
    SSL_free(client);
}

/* The server's certificate comes when the bundle has changed, and then the bundle goes back. */
static void delayed(int version)
{
    SSL *client, *server;

    make_context(version, 1);
    put("one.pem");
    client = connection(client_ctx);
    SSL_set_connect_state(client);
    server = answering(client);
    SSL_do_handshake(client);
    put("roots.pem");
    printf("%x delayed, first: ", version);
    shake(client, server, CONNECT);
    SSL_free(client);
    put("one.pem");
    client = connection(client_ctx);
    SSL_set_connect_state(client);
    SSL_set_session(client, last);
    printf("   then one.pem: ");
    shake(client, answering(client), CONNECT);
    SSL_free(client);
}

/* The server has forgotten a session, so the connection gets another in the middle of the handshake. Then a context is
 * made anew, as curl makes one for each connection. */
static void forgotten(int version)
{
    SSL_SESSION *kept;
    SSL *client;

    make_context(version, 1);
    for (int again = 0; again < 2; again++) {
        client = connection(client_ctx);
        SSL_set_connect_state(client);
        if (again) {
            unsigned char keys[80] = {1};

            SSL_CTX_set_tlsext_ticket_keys(server_ctx, keys, sizeof(keys));
            SSL_set_session(client, last);
        }
        printf("%x forgotten %d, first: ", version, again);
        shake(client, answering(client), CONNECT);
        SSL_free(client);
    }
    kept = last;
    SSL_SESSION_up_ref(kept);
    put("one.pem");
    {
        SSL_CTX *old = client_ctx;
        char bundle[4096];

        client_ctx = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_min_proto_version(client_ctx, version);
        SSL_CTX_set_max_proto_version(client_ctx, version);
        SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
        if (getcwd(bundle, 2048) == NULL)
            exit(5);
        strcat(bundle, "/bundle.pem");
        SSL_CTX_load_verify_locations(client_ctx, bundle, NULL);
        SSL_CTX_free(old);
    }
    client = connection(client_ctx);
    SSL_set_connect_state(client);
    SSL_set_session(client, kept);
    printf("   then one.pem: ");
    shake(client, answering(client), CONNECT);
    SSL_free(client);
    SSL_SESSION_free(kept);
}

int main(void)
{
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        delayed(version);
        forgotten(version);
    }
    for (int way = 0; way < ALL; way++) {
        static const char *const changes[] = {NULL, "one.pem", "inter.pem"};

        for (size_t at = 0; at < 3; at++) {
            if (way < PSK_OF_CONTEXT) {
                try(TLS1_2_VERSION, 0, way, CONNECT, changes[at]);
                try(TLS1_2_VERSION, 1, way, CONNECT, changes[at]);
            }
            try(TLS1_3_VERSION, 1, way, CONNECT, changes[at]);
        }
    }
    for (int how = CONNECT; how <= EARLY; how++)
        for (int changed = 0; changed < 3; changed++)
            try(TLS1_3_VERSION, 1, how % 2 ? SET : SET_BEFORE, how,
                changed == 0 ? NULL : changed == 1 ? "one.pem" : "inter.pem");
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    SSL_SESSION_free(last);
    return 0;
}
