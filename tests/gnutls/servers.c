/*
 * Threads of a server, each with a session of its own and all with the same credentials, that begin to ask for client
 * certificates at the same time.
 *
 *     servers BUNDLE
 *
 * Prints how many certificates were loaded, and how many CA names each client was sent.
 */
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSIONS 8

static gnutls_certificate_credentials_t of_server, of_client;
static pthread_barrier_t begin;
static int sockets[SESSIONS][2], names[SESSIONS];

static void must(int status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "servers: %s: %s\n", what, gnutls_strerror(status));
        exit(3);
    }
}

static int count_names(gnutls_session_t session, const gnutls_datum_t *dn, int n,
                       const gnutls_pk_algorithm_t *algorithms,
                       int algorithms_n, gnutls_pcert_st **chain, unsigned *length, gnutls_privkey_t *key)
{
    (void)dn, (void)algorithms, (void)algorithms_n;
    *(int *)gnutls_session_get_ptr(session) = n;
    *chain = NULL;
    *length = 0;
    *key = NULL;
    return 0;
}

static void shake(gnutls_session_t session)
{
    int status;

    do
        status = gnutls_handshake(session);
    while (status < 0 && !gnutls_error_is_fatal(status));
}

static gnutls_session_t session_on(int socket, unsigned flags, gnutls_certificate_credentials_t credentials)
{
    gnutls_session_t session;

    must(gnutls_init(&session, flags), "gnutls_init");
    must(gnutls_set_default_priority(session), "gnutls_set_default_priority");
    must(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials), "gnutls_credentials_set");
    gnutls_transport_set_int(session, socket);
    return session;
}

static void *serve(void *number)
{
    long n = (long)number;
    gnutls_session_t session = session_on(sockets[n][0], GNUTLS_SERVER, of_server);

    pthread_barrier_wait(&begin);
    usleep(n * 500); /* some when the first has just begun, some at once */
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    shake(session);
    gnutls_deinit(session);
    close(sockets[n][0]);
    return NULL;
}

static void *ask(void *number)
{
    long n = (long)number;
    gnutls_session_t session = session_on(sockets[n][1], GNUTLS_CLIENT, of_client);

    gnutls_session_set_ptr(session, &names[n]);
    shake(session);
    gnutls_deinit(session);
    close(sockets[n][1]);
    return NULL;
}

/* A key and a certificate for it. */
static void identify(void)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;

    must(gnutls_x509_privkey_init(&key), "gnutls_x509_privkey_init");
    must(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
         "generate");
    must(gnutls_x509_crt_init(&crt), "gnutls_x509_crt_init");
    must(gnutls_x509_crt_set_version(crt, 3), "version");
    must(gnutls_x509_crt_set_serial(crt, "\1", 1), "serial");
    must(gnutls_x509_crt_set_activation_time(crt, 1), "activation");
    must(gnutls_x509_crt_set_expiration_time(crt, 4000000000L), "expiration");
    must(gnutls_x509_crt_set_dn(crt, "CN=server", NULL), "name");
    must(gnutls_x509_crt_set_key(crt, key), "key");
    must(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), "sign");
    must(gnutls_certificate_set_x509_key(of_server, &crt, 1, key), "gnutls_certificate_set_x509_key");
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

int main(int argc, char **argv)
{
    pthread_t threads[2 * SESSIONS];
    long n;

    if (argc != 2)
        return 3;
    alarm(600);
    must(gnutls_certificate_allocate_credentials(&of_server), "credentials");
    must(gnutls_certificate_allocate_credentials(&of_client), "credentials");
    identify();
    printf("loaded %d\n", gnutls_certificate_set_x509_trust_file(of_server, argv[1], GNUTLS_X509_FMT_PEM));
    gnutls_certificate_set_retrieve_function2(of_client, count_names);
    pthread_barrier_init(&begin, NULL, SESSIONS);
    for (n = 0; n < SESSIONS; n++) {
        names[n] = -1;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[n]) != 0)
            return 3;
        if (pthread_create(&threads[n], NULL, serve, (void *)n)
            || pthread_create(&threads[SESSIONS + n], NULL, ask, (void *)n))
            return 3;
    }
    for (n = 0; n < 2 * SESSIONS; n++)
        pthread_join(threads[n], NULL);
    for (n = 0; n < SESSIONS; n++)
        printf("session %ld: %d names\n", n, names[n]);
    gnutls_certificate_free_credentials(of_server);
    gnutls_certificate_free_credentials(of_client);
    return 0;
}
