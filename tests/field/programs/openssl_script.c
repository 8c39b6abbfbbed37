/* Loads, verifications, additions, enumerations and CA names, each through the table: what a program does with
 * stores. */
#include "field.h"

#include <string.h>

static const struct functions *f;

static void errors(void) {
    unsigned long code;
    while ((code = f->ERR_get_error()) != 0) {
        char text[256];
        f->ERR_error_string_n(code, text, sizeof text);
        printf("    %s\n", text);
    }
}

/* The n-th certificate of a file. */
static void *certificate(const char *name, int n) {
    void *bio = f->BIO_new_file(path_of(name), "r"), *read = NULL;
    for (int i = 0; i <= n; i++) {
        f->X509_free(read);
        read = f->PEM_read_bio_X509(bio, NULL, NULL, NULL);
    }
    f->BIO_free(bio);
    return read;
}

static unsigned long hash(unsigned long digest, const unsigned char *bytes, int length) {
    for (int i = 0; i < length; i++)
        digest = digest * 33 + bytes[i];
    return digest;
}

static unsigned long add_to_digest(unsigned long digest, const void *cert) {
    unsigned char *der = NULL;
    int length = cert ? f->i2d_X509(cert, &der) : 0;
    digest = hash(digest, der, length);
    f->CRYPTO_free(der, "", 0);
    return digest;
}

static void print_certificates(const char *title, void *stack, int are_objects) {
    unsigned long digest = 5381;
    for (int i = 0; i < f->OPENSSL_sk_num(stack); i++) {
        void *item = f->OPENSSL_sk_value(stack, i);
        digest = add_to_digest(digest, are_objects ? f->X509_OBJECT_get0_X509(item) : item);
    }
    printf("  %s: %d, %lx\n", title, f->OPENSSL_sk_num(stack), digest);
}

static void verify(const char *title, void *store, const char *chain, int print_by_callback) {
    void *leaf = certificate(chain, 0), *untrusted = f->OPENSSL_sk_new_null(),
        *intermediate = certificate("INTERMEDIATE", 0);
    f->OPENSSL_sk_push(untrusted, intermediate);
    void *ctx = f->X509_STORE_CTX_new();
    int begun = f->X509_STORE_CTX_init(ctx, store, leaf, untrusted);
    if (print_by_callback)
        f->X509_STORE_CTX_set_verify_cb(ctx, f->X509_STORE_CTX_print_verify_cb);
    int verdict = f->X509_verify_cert(ctx);
    printf("  %s: %d %d error %d depth %d\n", title, begun, verdict, f->X509_STORE_CTX_get_error(ctx),
           f->X509_STORE_CTX_get_error_depth(ctx));
    void *built = f->X509_STORE_CTX_get0_chain(ctx);
    if (built)
        print_certificates("chain", built, 0);
    errors();
    f->X509_STORE_CTX_free(ctx);
    f->OPENSSL_sk_free(untrusted);
    f->X509_free(intermediate);
    f->X509_free(leaf);
}

static void enumerate(void *store) {
    int locked = f->X509_STORE_lock(store);
    void *objects = f->X509_STORE_get0_objects(store);
    print_certificates("objects", objects, 1);
    printf("  lock %d unlock %d\n", locked, f->X509_STORE_unlock(store));
    if (f->X509_STORE_get1_objects) {
        void *copy = f->X509_STORE_get1_objects(store);
        print_certificates("copies", copy, 1);
        f->OPENSSL_sk_pop_free(copy, f->X509_OBJECT_free);
    }
    if (f->X509_STORE_get1_all_certs) {
        void *all = f->X509_STORE_get1_all_certs(store);
        print_certificates("certificates", all, 0);
        f->OPENSSL_sk_pop_free(all, f->X509_free);
    }
}

static void search(void *store) {
    void *leaf = certificate("CHAIN", 0), *intermediate = certificate("INTERMEDIATE", 0),
        *root = certificate("ROOT", 0);
    void *ctx = f->X509_STORE_CTX_new(), *object = f->X509_OBJECT_new(), *issuer = NULL;
    f->X509_STORE_CTX_init(ctx, store, leaf, NULL);
    printf("  by_subject: %d %d\n", f->X509_STORE_CTX_get_by_subject(ctx, 1, f->X509_get_subject_name(root), object),
           f->X509_STORE_CTX_get_by_subject(ctx, 1, f->X509_get_subject_name(leaf), object));
    printf("  issuer: %d", f->X509_STORE_CTX_get1_issuer(&issuer, ctx, intermediate));
    printf(" %d\n", issuer ? f->X509_cmp(issuer, root) : 99);
    void *found = f->X509_STORE_CTX_get1_certs(ctx, f->X509_get_subject_name(root));
    print_certificates("get1_certs", found, 0);
    f->OPENSSL_sk_pop_free(found, f->X509_free);
    f->X509_free(issuer);
    f->X509_OBJECT_free(object);
    f->X509_STORE_CTX_free(ctx);
    f->X509_free(root);
    f->X509_free(intermediate);
    f->X509_free(leaf);
    errors();
}

static void add(const char *title, void *store, const char *name) {
    void *cert = certificate(name, 0);
    printf("  add %s: %d\n", title, f->X509_STORE_add_cert(store, cert));
    f->X509_free(cert);
}

static void add_crl(void *store) {
    void *bio = f->BIO_new_file(path_of("CRL"), "r"), *crl = f->PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL);
    printf("  add_crl: %d\n", f->X509_STORE_add_crl(store, crl));
    f->X509_CRL_free(crl);
    f->BIO_free(bio);
}

enum { PEM = 1, FILE_LOAD = 1, ADD_DIR = 2, STORE_LOAD = 4 };

static void *by_file(void *store) { return f->X509_STORE_add_lookup(store, f->X509_LOOKUP_file()); }
static void *by_dir(void *store) { return f->X509_STORE_add_lookup(store, f->X509_LOOKUP_hash_dir()); }

/* Each function that brings certificates in, with a file that it takes, and -1 where this version has none such. */
#define BUNDLE path_of("BUNDLE")
#define CAPATH path_of("CAPATH")
#define LOADERS(L) \
    L(X509_STORE_set_default_paths, (store)) \
    L(X509_STORE_set_default_paths_ex, (store, NULL, NULL)) \
    L(X509_STORE_load_file, (store, BUNDLE)) \
    L(X509_STORE_load_file_ex, (store, BUNDLE, NULL, NULL)) \
    L(X509_load_cert_file, (by_file(store), BUNDLE, PEM)) \
    L(X509_load_cert_file_ex, (by_file(store), BUNDLE, PEM, NULL, NULL)) \
    L(X509_load_crl_file, (by_file(store), path_of("CRL"), PEM)) \
    L(X509_load_cert_crl_file, (by_file(store), BUNDLE, PEM)) \
    L(X509_load_cert_crl_file_ex, (by_file(store), BUNDLE, PEM, NULL, NULL)) \
    L(X509_STORE_load_path, (store, CAPATH)) \
    L(X509_STORE_load_locations, (store, BUNDLE, CAPATH)) \
    L(X509_STORE_load_locations_ex, (store, BUNDLE, NULL, NULL, NULL)) \
    L(X509_STORE_load_store, (store, path_of("URI"))) \
    L(X509_STORE_load_store_ex, (store, path_of("URI"), NULL, NULL)) \
    L(X509_LOOKUP_ctrl, (by_file(store), FILE_LOAD, BUNDLE, PEM, NULL)) \
    L(X509_LOOKUP_ctrl_ex, (by_file(store), FILE_LOAD, BUNDLE, PEM, NULL, NULL, NULL))

#define LOADER(name, arguments) \
    static int load_by_##name(void *store) { return f->name ? f->name arguments : -1; }
LOADERS(LOADER)
#define ENTRY(name, arguments) {#name, load_by_##name},
static const struct loader {
    const char *name;
    int (*load)(void *);
} loaders[] = {LOADERS(ENTRY)};

static void loads(void) {
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++) {
        for (int order = 0; order < 3; order++) {
            void *store = f->X509_STORE_new();
            printf("%s, order %d\n", loaders[i].name, order);
            if (order == 2)
                add("a twin", store, "TWIN");
            printf("  load: %d\n", loaders[i].load(store));
            errors();
            if (order == 1)
                enumerate(store);
            verify("good", store, "CHAIN", 0);
            verify("untrusted", store, "UNTRUSTED", 0);
            search(store);
            add("a twin afterwards", store, "TWIN");
            add_crl(store);
            printf("  load again: %d\n", loaders[i].load(store));
            verify("good again", store, "CHAIN", 0);
            enumerate(store);
            if (f->X509_STORE_CTX_print_verify_cb)
                verify("untrusted, printed", store, "UNTRUSTED", 1);
            f->X509_STORE_free(store);
        }
    }
}

static void directories(void) {
    for (int extended = 0; extended < 2; extended++) {
        if (extended && !f->X509_LOOKUP_by_subject_ex)
            continue;
        void *store = f->X509_STORE_new(), *lookup = by_dir(store), *object = f->X509_OBJECT_new(),
            *root = certificate("ROOT", 0);
        printf("directory: %d\n", f->X509_LOOKUP_ctrl(lookup, ADD_DIR, CAPATH, PEM, NULL));
        const void *name = f->X509_get_subject_name(root);
        printf("  by_subject: %d\n", extended ? f->X509_LOOKUP_by_subject_ex(lookup, 1, name, object, NULL, NULL)
                                              : f->X509_LOOKUP_by_subject(lookup, 1, name, object));
        printf("  it: %d\n", f->X509_cmp(f->X509_OBJECT_get0_X509(object), root));
        verify("good", store, "CHAIN", 0);
        enumerate(store);
        f->CRYPTO_free(object, "", 0); /* what it holds belongs to the store (by_dir.c takes no reference) */
        f->X509_free(root);
        f->X509_STORE_free(store);
    }
}

static void contexts(void) {
    for (int how = 0; how < 3; how++) {
        void *ctx = f->SSL_CTX_new(f->TLS_client_method());
        printf("context %d: %d\n", how, how == 0 ? f->SSL_CTX_set_default_verify_paths(ctx)
                                                 : f->SSL_CTX_load_verify_locations(ctx, how == 1 ? BUNDLE : NULL,
                                                                                    how == 2 ? CAPATH : NULL));
        void *store = f->SSL_CTX_get_cert_store(ctx);
        verify("good", store, "CHAIN", 0);
        f->X509_STORE_up_ref(store);
        f->SSL_CTX_free(ctx);
        verify("untrusted", store, "UNTRUSTED", 0);
        enumerate(store);
        f->X509_STORE_free(store);
    }
}

static void names(const char *title, void *stack, int result) {
    unsigned long digest = 5381;
    for (int i = 0; i < f->OPENSSL_sk_num(stack); i++) {
        char text[512];
        f->X509_NAME_oneline(f->OPENSSL_sk_value(stack, i), text, sizeof text);
        digest = hash(digest, (unsigned char *)text, (int)strlen(text));
    }
    printf("%s: %d, %d names, %lx\n", title, result, f->OPENSSL_sk_num(stack), digest);
    errors();
    f->OPENSSL_sk_pop_free(stack, f->X509_NAME_free);
}

static void ca_names(void) {
    names("SSL_load_client_CA_file", f->SSL_load_client_CA_file(BUNDLE), 0);
    names("SSL_load_client_CA_file, broken", f->SSL_load_client_CA_file(path_of("BROKEN")), 0);
    if (f->SSL_load_client_CA_file_ex)
        names("SSL_load_client_CA_file_ex", f->SSL_load_client_CA_file_ex(BUNDLE, NULL, NULL), 0);
    void *stack = f->OPENSSL_sk_new_null();
    names("SSL_add_file_cert_subjects_to_stack", stack, f->SSL_add_file_cert_subjects_to_stack(stack, BUNDLE));
    stack = f->OPENSSL_sk_new_null();
    names("SSL_add_dir_cert_subjects_to_stack", stack, f->SSL_add_dir_cert_subjects_to_stack(stack, CAPATH));
}

static void reading(void) {
    void *bio = f->BIO_new_file(BUNDLE, "r"), *read;
    unsigned long digest = 5381;
    int count = 0;
    for (; (read = f->PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL; count++) {
        digest = add_to_digest(digest, read);
        f->X509_free(read);
    }
    printf("PEM_read_bio_X509: %d, %lx\n", count, digest);
    errors();
    f->BIO_free(bio);
}

static void cmp(void) {
    if (!f->OSSL_CMP_CTX_set0_trustedStore)
        return;
    void *store = f->X509_STORE_new(), *ctx = f->OSSL_CMP_CTX_new(NULL, NULL);
    printf("CMP: %d", f->X509_STORE_load_locations(store, BUNDLE, NULL));
    printf(" %d", f->OSSL_CMP_CTX_set0_trustedStore(ctx, store));
    printf(" %d\n", f->OSSL_CMP_CTX_get0_trustedStore(ctx) == store);
    verify("good", store, "CHAIN", 0);
    enumerate(store);
    f->OSSL_CMP_CTX_free(ctx);
}

void script(const struct functions *functions) {
    f = functions;
#define SAY(name) if (!f->name) printf("no " #name "\n");
    EACH_FUNCTION(SAY)
    loads();
    directories();
    contexts();
    ca_names();
    reading();
    cmp();
    fflush(stdout);
}
