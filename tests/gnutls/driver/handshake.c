/* Real handshakes between two credentials over a socket pair, in one thread. */
#include "driver.h"
#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What one side of the handshake is asked to do, and what it said. */
typedef struct {
    const char *who, *verify, *host;
    int result, shown, events;
} side;

/* The names of CAs that the server sent, as the client's choice of a certificate is given them. */
static int choose(gnutls_session_t session, const gnutls_datum_t *names, int count, const gnutls_pk_algorithm_t *algos,
                  int algo_count, gnutls_pcert_st **pcert, unsigned *pcert_length, gnutls_privkey_t *key)
{
    int i;

    (void)session, (void)algos, (void)algo_count, (void)pcert;
    printf("%d asked for a certificate of %d CAs:", line, count);
    for (i = 0; i < count; i++)
        printf(" %s", print_datum(&names[i]));
    putchar('\n');
    *pcert_length = 0;
    *key = NULL;
    return 0;
}

/* CertificateRequest as it is on the wire. */
static int on_message(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                      const gnutls_datum_t *message)
{
    side *s = gnutls_session_get_ptr(session);

    (void)when;
    if (incoming && type == GNUTLS_HANDSHAKE_CERTIFICATE_REQUEST)
        printf("%d %s received CertificateRequest of %u bytes %s\n", line, s->who, message->size, print_datum(message));
    return 0;
}

static void say_verification(side *s, const char *how, int result, unsigned status)
{
    say("%s %s %d status %x events%s", s->who, how, result, result < 0 ? 0 : status, events());
}

static int verify_in_handshake(gnutls_session_t session)
{
    side *s = gnutls_session_get_ptr(session);
    unsigned status = 0;
    gnutls_typed_vdata_st data[2] = {
        { GNUTLS_DT_DNS_HOSTNAME, (unsigned char *)(size_t)s->host, 0 },
        { GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)(size_t)GNUTLS_KP_TLS_WWW_SERVER, 0 },
    };
    int result;

    forget_events();
    if (strcmp(s->verify, "peers2") == 0)
        result = gnutls_certificate_verify_peers2(session, &status);
    else if (strcmp(s->verify, "peers3") == 0)
        result = gnutls_certificate_verify_peers3(session, s->host, &status);
    else
        result = gnutls_certificate_verify_peers(session, s->host ? data : data + 1, s->host ? 2 : 1, &status);
    say_verification(s, s->verify, result, status);
    return result < 0 || status != 0 ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

/* Verification "auto" is the library's; "late" is after the handshake; others run in its callback. */
static gnutls_session_t start(side *s, unsigned flags, gnutls_certificate_credentials_t credential,
                              const char *priority,
                              int fd)
{
    gnutls_session_t session;

    if (gnutls_init(&session, flags) < 0 || gnutls_priority_set_direct(session, priority, NULL) < 0
            || gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credential) < 0)
        die("starting a session");
    gnutls_session_set_ptr(session, s);
    if (s->events)
        gnutls_session_set_verify_output_function(session, on_output);
    gnutls_transport_set_int(session, fd);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_CERTIFICATE_REQUEST, GNUTLS_HOOK_POST, on_message);
    if (strcmp(s->verify, "auto") == 0)
        gnutls_session_set_verify_cert(session, s->host, 0);
    else if (strcmp(s->verify, "late") != 0)
        gnutls_session_set_verify_function(session, verify_in_handshake);
    s->result = GNUTLS_E_AGAIN;
    return session;
}

static int goes_on(int result)
{
    return result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED
        || (result < 0 && !gnutls_error_is_fatal(result) && result != GNUTLS_E_GOT_APPLICATION_DATA);
}

/* One side after the other, until neither has anything left to do. */
static void both(gnutls_session_t client, side *c, gnutls_session_t server, side *s)
{
    int turns;

    for (turns = 0; turns < 200 && (goes_on(c->result) || goes_on(s->result)); turns++) {
        forget_events();
        if (goes_on(c->result))
            c->result = gnutls_handshake(client);
        if (!goes_on(c->result) && !c->shown++)
            say("client handshake %d events%s", c->result, events());
        forget_events();
        if (goes_on(s->result))
            s->result = gnutls_handshake(server);
        if (!goes_on(s->result) && !s->shown++)
            say("server handshake %d events%s", s->result, events());
        if ((c->result < 0 && !goes_on(c->result)) || (s->result < 0 && !goes_on(s->result)))
            break; /* the other one would wait for ever */
    }
}

static void say_session(gnutls_session_t session, side *s)
{
    unsigned count = 0, i, status;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    char *text = gnutls_session_get_desc(session);

    printf("%d %s has %s, verified %x, peer's chain:", line, s->who, text == NULL ? "-" : text,
           gnutls_session_get_verify_cert_status(session));
    for (i = 0; i < count; i++)
        printf(" %s", print_datum(&chain[i]));
    putchar('\n');
    gnutls_free(text);
    if (strcmp(s->verify, "late") == 0) {
        int result;

        forget_events();
        status = 0;
        result = gnutls_certificate_verify_peers3(session, s->host, &status);
        say_verification(s, "peers3", result, status);
    }
}

/* The server asks once more, after the handshake (TLS 1.3). */
static void ask_again(gnutls_session_t client, gnutls_session_t server, gnutls_certificate_request_t how)
{
    char byte;
    int asked = GNUTLS_E_AGAIN, answered = GNUTLS_E_AGAIN, turns;

    gnutls_certificate_server_set_request(server, how);
    for (turns = 0; turns < 50 && goes_on(asked); turns++) {
        asked = gnutls_reauth(server, 0);
        if (goes_on(answered) || answered == GNUTLS_E_REAUTH_REQUEST) {
            answered = (int)gnutls_record_recv(client, &byte, 1);
            if (answered == GNUTLS_E_REAUTH_REQUEST)
                answered = gnutls_reauth(client, 0);
        }
    }
    say("reauth: server %d, client %d", asked, answered);
}

/*
 * handshake CLIENT SERVER [tls=1.2] [host=NAME] [client=auto|peers|peers2|peers3|late]
 *           [server=…] [request=1|2] [names=1] [again=1] [events=1]
 * request: the server asks for a certificate (2 = requires it). names: the
 * client chooses by the CAs' names. again: the server asks after the handshake.
 * events: with output functions for the verifications.
 */
static void handshake(args *a)
{
    const char *tls = option(a, "tls"), *request = option(a, "request");
    char priority[80];
    side c = { "client", "auto", option(a, "host"), 0, 0, option(a, "events") != NULL };
    side s = { "server", "peers2", NULL, 0, 0, c.events };
    gnutls_certificate_credentials_t credential = credential_at(a, 1);
    gnutls_session_t client, server;
    int fds[2];

    if (option(a, "client") != NULL)
        c.verify = option(a, "client");
    if (option(a, "server") != NULL)
        s.verify = option(a, "server");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
        die("socketpair");
    snprintf(priority, sizeof(priority), "NORMAL:-VERS-ALL:+VERS-TLS%s", tls == NULL ? "1.3" : tls);
    gnutls_certificate_set_retrieve_function2(credential, option(a, "names") != NULL ? choose : NULL);
    client = start(&c, GNUTLS_CLIENT | GNUTLS_POST_HANDSHAKE_AUTH | GNUTLS_NONBLOCK, credential, priority, fds[0]);
    server = start(&s, GNUTLS_SERVER | GNUTLS_POST_HANDSHAKE_AUTH | GNUTLS_NONBLOCK, credential_at(a, 2), priority,
                   fds[1]);
    if (c.host != NULL)
        gnutls_server_name_set(client, GNUTLS_NAME_DNS, c.host, strlen(c.host));
    if (request != NULL)
        gnutls_certificate_server_set_request(server, atoi(request) == 2 ? GNUTLS_CERT_REQUIRE : GNUTLS_CERT_REQUEST);
    both(client, &c, server, &s);
    if (c.result == 0)
        say_session(client, &c);
    if (s.result == 0)
        say_session(server, &s);
    if (c.result == 0 && s.result == 0 && option(a, "again") != NULL)
        ask_again(client, server, GNUTLS_CERT_REQUEST);
    gnutls_certificate_set_retrieve_function2(credential, NULL);
    gnutls_deinit(client);
    gnutls_deinit(server);
    close(fds[0]);
    close(fds[1]);
}

const command handshake_commands[] = {
    { "handshake", handshake },
    { NULL, NULL },
};
