/*
 * Roots that share one subject: whoever searches a store for it finds all of
 * them, or asks further, however many threads search at the same moment.
 *
 *     shared FOLDER STORES SAME ALL
 *
 * FOLDER holds bundle.pem with ALL certificates, SAME of them of that subject,
 * first.pem with the first of these, leaf-0.pem to leaf-4.pem of different ones
 * of them, other.pem, a leaf of another root, and extra.pem, one more root of
 * that subject. Each store is fresh; what else happens to it goes in turn.
 * Prints one line, and nothing that depends on timing. Exit status 1 if
 * anything happened that the stock library rules out.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 12
#define LEAVES 5
#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

/* What a thread does to the store besides verifying. */
enum { NOTHING, LISTS, ADDS, ASKS_FOR_CRLS, TURNS };

static X509 *leaves[LEAVES], *other, *first_root, *extra;
static X509_STORE *store;
static pthread_barrier_t begin, end;
static int stores, same, all, number;
/* How many objects come of adding one certificate twice with no search in between: 3.5 looks at the first of a subject
 * in an unsorted stack only (X509_OBJECT_retrieve_match, x509_lu.c), and two threads may come one right after the
 * other. */
static int twice;
static atomic_int wrong;

static void fail(const char *what, int seen)
{
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "shared: %s (%d, store %d)\n", what, seen, number);
}

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "shared: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

/* In some turns one more is added meanwhile. */
static int is_full(int count)
{
    return count == same || (number % TURNS == ADDS && count > same && count <= same + twice);
}

/* In a store that holds nothing but what is added one by one. */
static int added_twice(void)
{
    X509_STORE *own = X509_STORE_new();
    FILE *in = fopen("bundle.pem", "re");
    int before, after;
    X509 *x;

    while ((x = PEM_read_X509(in, NULL, NULL, NULL)) != NULL) {
        X509_STORE_add_cert(own, x);
        X509_free(x);
    }
    ERR_clear_error();
    fclose(in);
    before = sk_X509_OBJECT_num(X509_STORE_get0_objects(own));
    X509_STORE_add_cert(own, extra);
    X509_STORE_add_cert(own, extra);
    after = sk_X509_OBJECT_num(X509_STORE_get0_objects(own));
    X509_STORE_free(own);
    return after - before;
}

static void list_subject(X509_STORE_CTX *ctx, X509 *leaf)
{
    STACK_OF(X509) *found = X509_STORE_CTX_get1_certs(ctx, X509_get_issuer_name(leaf));

    if (!is_full(sk_X509_num(found)))
        fail("X509_STORE_CTX_get1_certs", sk_X509_num(found));
    sk_X509_pop_free(found, X509_free);
}

static void find_subject(X509_STORE_CTX *ctx, X509 *leaf)
{
    X509_OBJECT *object = X509_OBJECT_new();

    if (!X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, X509_get_issuer_name(leaf), object))
        fail("X509_STORE_CTX_get_by_subject", 0);
    else if (X509_cmp(X509_OBJECT_get0_X509(object), first_root) != 0)
        fail("X509_STORE_CTX_get_by_subject found another than the first", 0);
    X509_OBJECT_free(object);
}

static void ask_for_crls(X509_STORE_CTX *ctx, X509 *leaf)
{
    STACK_OF(X509_CRL) *found = X509_STORE_CTX_get1_crls(ctx, X509_get_issuer_name(leaf));

    if (sk_X509_CRL_num(found) > 0)
        fail("X509_STORE_CTX_get1_crls", sk_X509_CRL_num(found));
    sk_X509_CRL_pop_free(found, X509_CRL_free);
}

/* Before 3.0 no function lists a store under its lock. */
static void list_store(void)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    STACK_OF(X509) *found = X509_STORE_get1_all_certs(store);

    if (sk_X509_num(found) != all)
        fail("X509_STORE_get1_all_certs", sk_X509_num(found));
    sk_X509_pop_free(found, X509_free);
#endif
}

/* The first two threads do what it is the store's turn for, some of the others search before they verify. */
static void look(X509_STORE_CTX *ctx, X509 *leaf, int me)
{
    if (me < 2 && number % TURNS == LISTS)
        list_store();
    else if (me < 2 && number % TURNS == ADDS && !X509_STORE_add_cert(store, extra))
        fail("X509_STORE_add_cert", me);
    else if (me < 2 && number % TURNS == ASKS_FOR_CRLS)
        ask_for_crls(ctx, leaf);
    else if (me % 4 == 1)
        list_subject(ctx, leaf);
    else if (me % 4 == 2)
        find_subject(ctx, leaf);
}

static void verify(int me)
{
    X509 *leaf = me == THREADS - 1 ? other : leaves[(me + number) % LEAVES];
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    /* Now and then what begins at the same moment is the context as well. */
    int early = number / TURNS % 2;

    if (!early)
        pthread_barrier_wait(&begin);
    if (!X509_STORE_CTX_init(ctx, store, leaf, NULL))
        fail("X509_STORE_CTX_init", me);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    if (early)
        pthread_barrier_wait(&begin);
    if (leaf != other)
        look(ctx, leaf, me);
    if (X509_verify_cert(ctx) != 1)
        fail("X509_verify_cert", X509_STORE_CTX_get_error(ctx));
    if (me % 2 && leaf != other)
        list_subject(ctx, leaf);
    pthread_barrier_wait(&end);
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
}

static void *worker(void *me)
{
    int n;

    for (n = 0; n < stores; n++) {
        pthread_barrier_wait(&end); /* the store is there */
        verify((int)(size_t)me);
        pthread_barrier_wait(&end); /* all contexts are gone */
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    char name[16];
    size_t i;
    int held;

    if (argc != 5 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: shared FOLDER STORES SAME ALL\n");
        return 2;
    }
    stores = atoi(argv[2]);
    same = atoi(argv[3]);
    all = atoi(argv[4]);
    for (i = 0; i < LEAVES; i++) {
        snprintf(name, sizeof(name), "leaf-%zu.pem", i);
        leaves[i] = read_certificate(name);
    }
    other = read_certificate("other.pem");
    first_root = read_certificate("first.pem");
    extra = read_certificate("extra.pem");
    twice = added_twice();
    alarm(600);
    pthread_barrier_init(&begin, NULL, THREADS);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, worker, (void *)i) != 0) {
            perror("shared: pthread_create");
            return 3;
        }
    for (number = 0; number < stores; number++) {
        store = X509_STORE_new();
        if (!X509_STORE_load_locations(store, "bundle.pem", NULL))
            fail("X509_STORE_load_locations", 0);
        pthread_barrier_wait(&end);
        pthread_barrier_wait(&end); /* all have verified */
        pthread_barrier_wait(&end);
        held = sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
        if (number % TURNS == ADDS ? held <= all || held > all + twice : held != all)
            fail("X509_STORE_get0_objects", held);
        X509_STORE_free(store);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < LEAVES; i++)
        X509_free(leaves[i]);
    X509_free(other);
    X509_free(first_root);
    X509_free(extra);
    printf("%d stores, %d wrong\n", stores, atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
