/*
 * handed FOLDER MODE ROUNDS: what a program has of a store's certificates lives as long as in stock, whoever asks for
 * it, and when.
 *
 *     after       a context is asked when its store is gone
 *     authority   so is a connection, for the certificate that a TLSA record has matched
 *     contexts    several threads ask one context for its chain
 *     connections several threads ask one connection
 *     locked      a thread asks a context, and holds its store locked, which others add to
 *     issued      so does a function that libcrypto calls with the store locked
 */
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW 1780315200L   /* 2026-06-01 12:00:00 UTC */
#define LATER 4000000000L /* everything has expired */
#define THREADS 3

static X509 *leaf, *root;
static X509_STORE *store;
static X509_STORE_CTX *context;
static SSL *client, *server;
static pthread_barrier_t begin;
static atomic_int stop, added;

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL)
        exit(3);
    fclose(in);
    return x;
}

static int verify(const char *bundle, long when)
{
    int result;

    if (store == NULL) {
        store = X509_STORE_new();
        X509_STORE_load_locations(store, bundle, NULL);
    }
    context = X509_STORE_CTX_new();
    X509_STORE_CTX_init(context, store, leaf, NULL);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context), when);
    result = X509_verify_cert(context);
    return result == 1 ? 0 : X509_STORE_CTX_get_error(context);
}

static void give_back(void)
{
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    store = NULL;
}

static void print_name(const char *who, X509 *x)
{
    char name[256];

    printf("%s: %s\n", who, x == NULL ? "none" : X509_NAME_oneline(X509_get_subject_name(x), name, sizeof(name)));
}

/* Takes what memory was freed. */
static void fill_memory(void)
{
    for (int i = 0; i < 50; i++)
        X509_set_version(X509_dup(root), 0);
}

static void after(int rounds)
{
    X509 *current, *issuer;
    size_t before;

    printf("verified: %d\n", verify("bundle.pem", LATER));
    current = X509_STORE_CTX_get_current_cert(context);
    X509_STORE_free(store);
    fill_memory();
    print_name("current", current);
    issuer = X509_STORE_CTX_get0_current_issuer(context);
    print_name("issuer", issuer);
    printf("the same: %d %d\n", current == X509_STORE_CTX_get_current_cert(context),
           issuer == X509_STORE_CTX_get0_current_issuer(context));
    printf("in the chain: %d\n", current == sk_X509_value(X509_STORE_CTX_get0_chain(context), 1));
    before = mallinfo2().uordblks;
    for (int i = 0; i < rounds; i++)
        X509_STORE_CTX_get_current_cert(context);
    printf("grows: %d\n", mallinfo2().uordblks > before + (64 << 10));
    X509_STORE_CTX_free(context);
}

static void connect_to_server(SSL_CTX *client_ctx, SSL_CTX *server_ctx)
{
    BIO *near_end = NULL, *far_end = NULL;

    client = client == NULL ? SSL_new(client_ctx) : client;
    server = SSL_new(server_ctx);
    BIO_new_bio_pair(&near_end, 0, &far_end, 0);
    SSL_set_bio(client, near_end, near_end);
    SSL_set_bio(server, far_end, far_end);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    for (int i = 0; i < 20; i++) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    if (!SSL_is_init_finished(client))
        exit(3);
}

static SSL_CTX *new_server(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (SSL_CTX_use_certificate_file(ctx, "leaf.pem", SSL_FILETYPE_PEM) != 1
        || SSL_CTX_use_PrivateKey_file(ctx, "leaf.key", SSL_FILETYPE_PEM) != 1)
        exit(3);
    return ctx;
}

static SSL_CTX *new_client(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(ctx), NOW);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_load_verify_locations(ctx, "bundle.pem", NULL);
    return ctx;
}

static void authority(void)
{
    SSL_CTX *server_ctx = new_server(), *ctx = new_client();
    X509 *matched = NULL, *again = NULL;
    unsigned char *der = NULL;
    int length = i2d_X509(root, &der), depth;

    SSL_CTX_dane_enable(ctx);
    client = SSL_new(ctx);
    SSL_dane_enable(client, "good.test");
    /* PKIX-TA, the whole certificate. */
    printf("record: %d\n", SSL_dane_tlsa_add(client, 0, 0, 0, der, length));
    connect_to_server(ctx, server_ctx);
    depth = SSL_get0_dane_authority(client, &matched, NULL);
    printf("verified: %ld, at %d\n", SSL_get_verify_result(client), depth);
    SSL_CTX_set_cert_store(ctx, X509_STORE_new());
    fill_memory();
    print_name("matched", matched);
    SSL_get0_dane_authority(client, &again, NULL);
    printf("the same: %d\n", matched == again);
    printf("in the chain: %d\n", matched == sk_X509_value(SSL_get0_verified_chain(client), 1));
    OPENSSL_free(der);
    SSL_free(client);
    SSL_free(server);
    SSL_CTX_free(ctx);
    SSL_CTX_free(server_ctx);
}

static void *ask_context(void *unused)
{
    pthread_barrier_wait(&begin);
    sk_X509_num(X509_STORE_CTX_get0_chain(context));
    X509_STORE_CTX_get_current_cert(context);
    sk_X509_pop_free(X509_STORE_CTX_get1_chain(context), X509_free);
    return unused;
}

static void *ask_connection(void *unused)
{
    char name[256];

    pthread_barrier_wait(&begin);
    X509_NAME_oneline(X509_get_subject_name(sk_X509_value(SSL_get0_verified_chain(client), 1)), name, sizeof(name));
    return unused;
}

static void in_threads(void *(*work)(void *))
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void contexts(int rounds)
{
    int wrong = 0;

    for (int i = 0; i < rounds; i++) {
        wrong += verify("bundle.pem", NOW);
        in_threads(ask_context);
        give_back();
    }
    printf("wrong: %d\n", wrong);
}

static void connections(int rounds)
{
    SSL_CTX *server_ctx = new_server(), *ctx;

    for (int i = 0; i < rounds; i++) {
        ctx = new_client();
        connect_to_server(ctx, server_ctx);
        in_threads(ask_connection);
        SSL_free(client);
        SSL_free(server);
        SSL_CTX_free(ctx);
        client = NULL;
    }
    SSL_CTX_free(server_ctx);
    printf("connected\n");
}

static void *add(void *unused)
{
    while (!stop) {
        X509_STORE_add_cert(store, root);
        added++;
    }
    return unused;
}

static void locked(int rounds)
{
    pthread_t thread;
    int wrong = 0;

    for (int i = 0; i < rounds; i++) {
        wrong += verify("bundle.pem", NOW);
        stop = added = 0;
        pthread_create(&thread, NULL, add, NULL);
        while (added < 100)
            usleep(10);
        X509_STORE_lock(store);
        usleep(1000);
        wrong += sk_X509_num(X509_STORE_CTX_get0_chain(context)) != 2;
        X509_STORE_unlock(store);
        stop = 1;
        pthread_join(thread, NULL);
        give_back();
    }
    printf("wrong: %d\n", wrong);
}

static int check_issued(X509_STORE_CTX *ctx, X509 *x, X509 *issuer)
{
    (void)ctx;
    sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
    return X509_check_issued(issuer, x) == X509_V_OK;
}

/* With several of one subject, of which the first is not the issuer. */
static void issued(int rounds)
{
    pthread_t threads[2];
    int wrong = 0;

    store = X509_STORE_new();
    X509_STORE_set_check_issued(store, (X509_STORE_CTX_check_issued_fn)(uintptr_t)check_issued);
    X509_STORE_load_locations(store, "twins.pem", NULL);
    X509_STORE_get0_objects(store);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < rounds; i++) {
        wrong += verify(NULL, NOW);
        X509_STORE_CTX_free(context);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    X509_STORE_free(store);
    printf("wrong: %d\n", wrong);
}

int main(int argc, char **argv)
{
    int rounds = argc != 4 ? 0 : atoi(argv[3]);

    if (rounds == 0 || chdir(argv[1]) != 0)
        return 2;
    alarm(120);
    leaf = read_certificate("leaf.pem");
    root = read_certificate("root.pem");
    pthread_barrier_init(&begin, NULL, THREADS);
    if (strcmp(argv[2], "after") == 0)
        after(rounds);
    else if (strcmp(argv[2], "authority") == 0)
        authority();
    else if (strcmp(argv[2], "contexts") == 0)
        contexts(rounds);
    else if (strcmp(argv[2], "connections") == 0)
        connections(rounds);
    else if (strcmp(argv[2], "locked") == 0)
        locked(rounds);
    else if (strcmp(argv[2], "issued") == 0)
        issued(rounds);
    X509_free(leaf);
    X509_free(root);
    return 0;
}
