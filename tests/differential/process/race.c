/*
 * A store that one thread verifies with for the first time, while another does
 * something to it that changes no verdict.
 *
 *     race FOLDER STORES
 *
 * FOLDER holds bundle.pem, leaf.pem of one of its roots, alone.pem with that
 * root, and other.pem with a root that is not in the bundle. Each kind of
 * company is tried with STORES fresh stores. Prints one line a kind. Exit
 * status 1 if a good chain was refused.
 *
 * 4.0 rebuilds a store in X509_STORE_get0_objects without a lock, so there no
 * program can call that while it verifies: it lists by X509_STORE_get1_objects.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static X509 *leaf, *root, *other;
static X509_STORE *store;
static pthread_barrier_t begin, end;
static int stores, number, refused, last_error;
static volatile int spun;

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "race: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

#if OPENSSL_VERSION_NUMBER >= 0x40000000L
static void list(void)
{
    sk_X509_OBJECT_pop_free(X509_STORE_get1_objects(store), X509_OBJECT_free);
}

static void lock_and_list(void)
{
    X509_STORE_lock(store);
    X509_STORE_unlock(store);
    list();
}
#else
static void list(void)
{
    X509_STORE_get0_objects(store);
}

static void lock_and_list(void)
{
    const STACK_OF(X509_OBJECT) *objects;
    int i, found = 0;

    X509_STORE_lock(store);
    objects = X509_STORE_get0_objects(store);
    for (i = 0; i < sk_X509_OBJECT_num(objects); i++)
        found += X509_cmp(X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i)), root) == 0;
    X509_STORE_unlock(store);
    if (found != 1) {
        fprintf(stderr, "race: the root is listed %d times (store %d)\n", found, number);
        refused++;
    }
}
#endif

static void list_certificates(void)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    sk_X509_pop_free(X509_STORE_get1_all_certs(store), X509_free);
#else
    list();
#endif
}

static void add_the_root(void)
{
    X509_STORE_add_cert(store, root);
}

static void add_another(void)
{
    X509_STORE_add_cert(store, other);
}

static void list_and_add(void)
{
    list();
    X509_STORE_add_cert(store, other);
}

static void load_again(void)
{
    X509_STORE_load_locations(store, "alone.pem", NULL);
}

static void hold_and_let_go(void)
{
    X509_STORE_up_ref(store);
    X509_STORE_free(store);
}

static void give_to_a_context(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    X509_STORE_up_ref(store);
    SSL_CTX_set_cert_store(ctx, store);
    SSL_CTX_free(ctx);
}

static const struct {
    const char *name;
    void (*act)(void);
} kinds[] = {
    {"list", list},
    {"lock and list", lock_and_list},
    {"list certificates", list_certificates},
    {"add the root", add_the_root},
    {"add another", add_another},
    {"list and add", list_and_add},
    {"load again", load_again},
    {"hold and let go", hold_and_let_go},
    {"give to a context", give_to_a_context},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* The other thread is to come at every moment of the verification. */
static void wait_a_little(void)
{
    int i, turns = number * 7919 % 4096 * 4;

    for (i = 0; i < turns; i++)
        spun = i;
}

static void *company(void *unused)
{
    size_t kind;
    int n;

    for (kind = 0; kind < KINDS; kind++)
        for (n = 0; n < stores; n++) {
            pthread_barrier_wait(&begin);
            wait_a_little();
            kinds[kind].act();
            ERR_clear_error();
            pthread_barrier_wait(&end);
        }
    return unused;
}

static void verify(X509_STORE_CTX *ctx)
{
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    if (X509_verify_cert(ctx) == 1)
        return;
    refused++;
    last_error = X509_STORE_CTX_get_error(ctx);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    X509_STORE_CTX *ctx;
    int all = 0, early;
    size_t kind;

    if (argc != 3 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: race FOLDER STORES\n");
        return 2;
    }
    stores = atoi(argv[2]);
    leaf = read_certificate("leaf.pem");
    root = read_certificate("alone.pem");
    other = read_certificate("other.pem");
    alarm(900);
    pthread_barrier_init(&begin, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    if (pthread_create(&thread, NULL, company, NULL) != 0) {
        perror("race: pthread_create");
        return 3;
    }
    for (kind = 0; kind < KINDS; kind++) {
        refused = 0;
        for (number = 0; number < stores; number++) {
            store = X509_STORE_new();
            if (!X509_STORE_load_locations(store, "bundle.pem", NULL))
                refused++;
            ctx = X509_STORE_CTX_new();
            early = number % 2;
            if (early)
                X509_STORE_CTX_init(ctx, store, leaf, NULL);
            pthread_barrier_wait(&begin);
            if (!early)
                X509_STORE_CTX_init(ctx, store, leaf, NULL);
            verify(ctx);
            pthread_barrier_wait(&end);
            X509_STORE_CTX_free(ctx);
            X509_STORE_free(store);
            ERR_clear_error();
        }
        printf("%s: %d of %d refused\n", kinds[kind].name, refused, stores);
        if (refused > 0)
            fprintf(stderr, "race: the last error is %s\n", X509_verify_cert_error_string(last_error));
        all += refused;
    }
    pthread_join(thread, NULL);
    X509_free(leaf);
    X509_free(root);
    X509_free(other);
    return all != 0;
}
