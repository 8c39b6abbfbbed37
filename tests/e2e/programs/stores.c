/* stores WHAT: what programs do with a store's lock, its live objects and lookup methods of their own. */
#include "reach.h"
#include <errno.h>
#include <openssl/provider.h>
#include <pthread.h>

/* Deleting a certificate from the live stack is how programs distrust a root. */
static void deleted_root(void) {
    X509_STORE *store = loaded("BUNDLE");
    X509 *root = certificate("ROOT");
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        X509 *held = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
        if (held != NULL && X509_cmp(held, root) == 0)
            X509_OBJECT_free(sk_X509_OBJECT_delete(objects, i--));
    }
    printf("deleted: verdict %d\n", verify(store, 1));
    X509_free(root);
    X509_STORE_free(store);
}

/* The stack that a program holds on to shows what is loaded later. */
static void live_stack(void) {
    X509_STORE *store = X509_STORE_new();
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    printf("empty: %d\n", sk_X509_OBJECT_num(objects));
    printf("load: %d\n", X509_STORE_load_file(store, path_of("BUNDLE")));
    printf("seen later: %d\n", sk_X509_OBJECT_num(objects));
    X509_STORE_free(store);
}

/* Copying into one store while another is locked. */
static void two_locks(void) {
    X509_STORE *from = loaded("TWIN"), *to = loaded("BUNDLE");
    X509 *twin = certificate("TWIN");
    X509_STORE_lock(from);
    printf("add: %d\n", X509_STORE_add_cert(to, twin));
    X509_STORE_unlock(from);
    printf("root beside its twin: verdict %d\n", verify(to, 1));
    X509_STORE *other = loaded("BUNDLE");
    X509_STORE_lock(from);
    X509_STORE_lock(other);
    printf("both locked: %d objects\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(other)));
    X509_STORE_unlock(other);
    X509_STORE_unlock(from);
    X509_free(twin);
    X509_STORE_free(from);
    X509_STORE_free(to);
    X509_STORE_free(other);
}

static int load_twin(X509_LOOKUP *lookup, int command, const char *path, long number, char **ret) {
    X509 *twin = certificate("TWIN");
    int added = X509_STORE_add_cert(X509_LOOKUP_get_store(lookup), twin);
    (void)command, (void)path, (void)number, (void)ret;
    X509_free(twin);
    return added;
}

/* A lookup method of the program's own may load certificates when it is told to. */
static void own_method(void) {
    X509_STORE *store = loaded("BUNDLE");
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("loads a twin");
    X509_LOOKUP_meth_set_ctrl(method, load_twin);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, method);
    printf("ctrl: %d\n", X509_LOOKUP_ctrl(lookup, 77, "", 0, NULL));
    printf("root beside its twin: verdict %d\n", verify(store, 1));
    X509_STORE_free(store);
    X509_LOOKUP_meth_free(method);
}

/* A method of the program's own loads files by libcrypto's functions: they go into the same store. */
static void own_method_file(void) {
    X509_STORE *store = loaded("BUNDLE");
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("loads a twin file");
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, method);
    printf("load: %d\n", X509_load_cert_file(lookup, path_of("TWIN"), X509_FILETYPE_PEM));
    printf("root beside its twin: verdict %d\n", verify(store, 1));
    printf("load again: %d\n", X509_load_cert_crl_file(lookup, path_of("TWIN"), X509_FILETYPE_PEM));
    printf("objects: %d\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    X509_STORE_free(store);
    X509_LOOKUP_meth_free(method);
}

/* CPython takes errno for the reason of a failure. */
static void errno_of_failure(void) {
    X509_STORE *store = X509_STORE_new();
    errno = 0;
    int broken = X509_STORE_load_file(store, path_of("BROKEN"));
    printf("broken: %d errno %d\n", broken, errno);
    errno = 0;
    int missing = X509_STORE_load_file(store, "missing.pem");
    printf("missing: %d errno %d\n", missing, errno);
    X509_STORE_free(store);
}

/* What the root itself has signed. */
static int verify_intermediate(X509_STORE *store) {
    X509 *intermediate = certificate("INTERMEDIATE");
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_STORE_CTX_init(ctx, store, intermediate, NULL);
    int verdict = X509_verify_cert(ctx), error = X509_STORE_CTX_get_error(ctx);
    printf("error %d ", error);
    X509_STORE_CTX_free(ctx);
    X509_free(intermediate);
    return verdict;
}

/* A root's key can only be read when a provider for it is there: stores made after that must be able to. */
static void late_provider(void) {
    OSSL_PROVIDER *null = OSSL_PROVIDER_load(NULL, "null");
    X509_STORE *before = loaded("BUNDLE");
    printf("without a provider: verdict %d\n", verify_intermediate(before));
    OSSL_PROVIDER *usual = OSSL_PROVIDER_load(NULL, "default");
    X509_STORE *after = loaded("BUNDLE");
    printf("with one: verdict %d\n", verify_intermediate(after));
    printf("again: verdict %d\n", verify_intermediate(after));
    X509_STORE_free(before);
    X509_STORE_free(after);
    OSSL_PROVIDER_unload(usual);
    OSSL_PROVIDER_unload(null);
}

enum { VERIFIERS = 8, STORES = 400 };

static struct {
    X509_STORE *store;
    pthread_barrier_t start, end;
    int good[VERIFIERS];
} first;

static void *verifier(void *number) {
    for (int i = 0; i < STORES; i++) {
        pthread_barrier_wait(&first.start);
        first.good[(size_t)number] += verify(first.store, 0) == 1;
        pthread_barrier_wait(&first.end);
    }
    return NULL;
}

/* The first verifications with a store, all at once, need the second of two roots with one name: nobody may see the
 * first of them alone. */
static void first_verifications(void) {
    pthread_t threads[VERIFIERS];
    pthread_barrier_init(&first.start, NULL, VERIFIERS + 1);
    pthread_barrier_init(&first.end, NULL, VERIFIERS + 1);
    for (size_t i = 0; i < VERIFIERS; i++) pthread_create(&threads[i], NULL, verifier, (void *)i);
    for (int i = 0; i < STORES; i++) {
        first.store = loaded("TWINS");
        pthread_barrier_wait(&first.start);
        pthread_barrier_wait(&first.end);
        X509_STORE_free(first.store);
    }
    int good = 0;
    for (size_t i = 0; i < VERIFIERS; i++) {
        pthread_join(threads[i], NULL);
        good += first.good[i];
    }
    printf("first verifications: %d of %d\n", good, VERIFIERS * STORES);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"deleted_root", deleted_root}, {"live_stack", live_stack}, {"two_locks", two_locks},
                 {"own_method", own_method},
                 {"own_method_file", own_method_file}, {"late_provider", late_provider},
                 {"errno_of_failure", errno_of_failure},
                 {"first_verifications", first_verifications}};
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    }
    fprintf(stderr, "stores WHAT\n");
    return 2;
}
