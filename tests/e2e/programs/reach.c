/* reach WHAT: parts of libcrypto and libssl that the real programs of these tests don't reach. Prints what it saw. */
#include "reach.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void objects(void) {
    X509_STORE *store = X509_STORE_new();
    printf("set_default_paths: %d\n", X509_STORE_set_default_paths(store));
    print_objects("defaults", store);
    printf("after verify: %d ok\n", verify(store, 1));
    print_objects("defaults, after verify", store);
    X509_STORE_free(store);
    store = X509_STORE_new();
    X509_STORE_set_default_paths(store);
    verify(store, 1);
    print_objects("verify first", store);
    printf("load_path: %d\n", X509_STORE_load_path(store, path_of("CAPATH")));
    printf("load_locations: %d\n", X509_STORE_load_locations(store, path_of("TWIN"), path_of("CAPATH")));
    print_objects("with more", store);
    verify(store, 1);
    X509_STORE_free(store);
}

static void print_certs(const char *title, X509_STORE_CTX *ctx, const X509_NAME *name) {
    STACK_OF(X509) *found = X509_STORE_CTX_get1_certs(ctx, name);
    printf("%s: %d\n", title, found ? sk_X509_num(found) : -1);
    for (int i = 0; found && i < sk_X509_num(found); i++)
        print_name("  ", X509_get_subject_name(sk_X509_value(found, i)));
    sk_X509_pop_free(found, X509_free);
}

static void certs_by_subject(void) {
    X509_STORE *store = loaded("BUNDLE");
    X509_STORE_load_file(store, path_of("TWIN"));
    X509 *root = certificate("ROOT"), *leaf = certificate("LEAF"), *intermediate = certificate("INTERMEDIATE");
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    print_certs("get1_certs", ctx, X509_get_subject_name(root));
    print_certs("get1_certs of an unknown name", ctx, X509_get_subject_name(leaf));
    X509_OBJECT *object = X509_OBJECT_new();
    printf("get_by_subject: %d\n",
           X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, X509_get_subject_name(root), object));
    printf("serial %lx\n", ASN1_INTEGER_get(X509_get0_serialNumber(X509_OBJECT_get0_X509(object))) & 0xffff);
    X509 *issuer = NULL;
    printf("get1_issuer: %d\n", X509_STORE_CTX_get1_issuer(&issuer, ctx, intermediate));
    printf("issued by %s\n", issuer && X509_cmp(issuer, root) == 0 ? "the root" : "another");
    printf("unknown: %d\n", X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, X509_get_subject_name(leaf), object));
    X509_free(issuer);
    X509_OBJECT_free(object);
    X509_STORE_CTX_free(ctx);
    X509_free(root);
    X509_free(leaf);
    X509_free(intermediate);
    print_objects("afterwards", store);
    X509_STORE_free(store);
}

static void duplicates(void) {
    X509_STORE *store = X509_STORE_new();
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    printf("once: %d\n", X509_load_cert_crl_file(lookup, path_of("ROOT"), X509_FILETYPE_PEM));
    printf("twice: %d\n", X509_load_cert_crl_file(lookup, path_of("ROOT"), X509_FILETYPE_PEM));
    printf("bundle: %d\n", X509_load_cert_crl_file(lookup, path_of("BUNDLE"), X509_FILETYPE_PEM));
    printf("bundle, one by one: %d\n", X509_load_cert_file(lookup, path_of("BUNDLE"), X509_FILETYPE_PEM));
    printf("ctrl: %d\n", X509_LOOKUP_load_file(lookup, path_of("BUNDLE"), X509_FILETYPE_PEM));
    print_objects("collapsed", store);
    X509_STORE_free(store);
    print_errors("queue");
}

/* A certificate of the same subject, added by the program before or after the load. */
static void shadowing(void) {
    for (int first = 0; first < 2; first++) {
        X509_STORE *store = X509_STORE_new();
        X509 *twin = certificate("TWIN");
        if (first)
            X509_STORE_add_cert(store, twin);
        printf("load: %d\n", X509_STORE_load_file(store, path_of("BUNDLE")));
        if (!first)
            X509_STORE_add_cert(store, twin);
        printf("own twin %s: ", first ? "first" : "last");
        verify(store, 1);
        X509_STORE_free(store);
        X509_free(twin);
    }
}

/* A handshake in memory; returns the client's side for looking at. */
static SSL *handshake(SSL_CTX *server_ctx, SSL_CTX *client_ctx, int version, SSL **server_out) {
    SSL *server = SSL_new(server_ctx), *client = SSL_new(client_ctx);
    BIO *a, *b;
    BIO_new_bio_pair(&a, 1 << 20, &b, 1 << 20);
    SSL_set_bio(server, a, a);
    SSL_set_bio(client, b, b);
    SSL_set_max_proto_version(client, version);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    for (int i = 0; i < 20; i++) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    *server_out = server;
    return client;
}

static SSL_CTX *server_context(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int ok = SSL_CTX_use_PrivateKey_file(ctx, path_of("KEY"), SSL_FILETYPE_PEM);
    X509 *leaf = certificate("LEAF");
    ok &= SSL_CTX_use_certificate(ctx, leaf);
    X509_free(leaf);
    if (!ok)
        exit(2);
    return ctx;
}

static void client_ca_names(void) {
    for (int how = 0; how < 3; how++) {
        SSL_CTX *server_ctx = server_context(), *client_ctx = SSL_CTX_new(TLS_client_method());
        STACK_OF(X509_NAME) *names = how == 0 ? SSL_load_client_CA_file(path_of("BUNDLE")) : sk_X509_NAME_new_null();
        if (how == 1)
            printf("file_to_stack: %d\n", SSL_add_file_cert_subjects_to_stack(names, path_of("BUNDLE")));
        if (how == 2)
            printf("dir_to_stack: %d\n", SSL_add_dir_cert_subjects_to_stack(names, path_of("CAPATH")));
        printf("again: %d, now %d\n", SSL_add_file_cert_subjects_to_stack(names, path_of("ROOT")),
               sk_X509_NAME_num(names));
        SSL_CTX_set_client_CA_list(server_ctx, names);
        SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, NULL);
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            SSL *server, *client = handshake(server_ctx, client_ctx, version, &server);
            STACK_OF(X509_NAME) *seen = SSL_get_client_CA_list(client);
            printf("%s: %d names\n", SSL_get_version(client), sk_X509_NAME_num(seen));
            for (int i = 0; i < sk_X509_NAME_num(seen); i++)
                print_name("  ", sk_X509_NAME_value(seen, i));
            SSL_free(server);
            SSL_free(client);
        }
        SSL_CTX_free(server_ctx);
        SSL_CTX_free(client_ctx);
    }
    print_errors("queue");
    ERR_raise(ERR_LIB_USER, 1);
    printf("missing: %p\n", (void *)SSL_load_client_CA_file("/nowhere/bundle.pem"));
    STACK_OF(X509_NAME) *broken = SSL_load_client_CA_file(path_of("BROKEN"));
    printf("broken: %d\n", broken ? sk_X509_NAME_num(broken) : -1);
    print_errors("failures");
}

/* A server with no extra certificates sends what it finds in its own store. */
static void server_chain(void) {
    SSL_CTX *server_ctx = server_context(), *client_ctx = SSL_CTX_new(TLS_client_method());
    printf("intermediate: %d\n", SSL_CTX_load_verify_locations(server_ctx, path_of("INTERMEDIATE"), NULL));
    printf("bundle: %d\n", SSL_CTX_load_verify_locations(server_ctx, path_of("BUNDLE"), NULL));
    for (int turn = 0; turn < 2; turn++) {
        SSL *server, *client = handshake(server_ctx, client_ctx, TLS1_3_VERSION, &server);
        STACK_OF(X509) *sent = SSL_get_peer_cert_chain(client);
        printf("sent: %d certificates\n", sk_X509_num(sent));
        for (int i = 0; i < sk_X509_num(sent); i++)
            print_name("  ", X509_get_subject_name(sk_X509_value(sent, i)));
        SSL_free(server);
        SSL_free(client);
    }
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
}

/* What a program does to a certificate of its store must stay in that store. */
static void own_objects(void) {
    X509_STORE *first = loaded("BUNDLE"), *second = loaded("BUNDLE");
    printf("before: %d\n", verify(first, 0));
    X509 *root = certificate("ROOT");
    STACK_OF(X509) *all = X509_STORE_get1_all_certs(first);
    for (int i = 0; i < sk_X509_num(all); i++) {
        X509 *held = sk_X509_value(all, i);
        if (X509_cmp(held, root) == 0) {
            X509_alias_set1(held, (const unsigned char *)"mine", 4);
            X509_add1_reject_object(held, OBJ_nid2obj(NID_anyExtendedKeyUsage));
            X509_add1_reject_object(held, OBJ_nid2obj(NID_server_auth));
        }
    }
    sk_X509_pop_free(all, X509_free);
    all = X509_STORE_get1_all_certs(second);
    for (int i = 0; i < sk_X509_num(all); i++) {
        int length = 0;
        unsigned char *alias = X509_alias_get0(sk_X509_value(all, i), &length);
        if (X509_cmp(sk_X509_value(all, i), root) == 0)
            printf("alias: %.*s\n", alias ? length : 4, alias ? (char *)alias : "none");
    }
    sk_X509_pop_free(all, X509_free);
    X509_free(root);
    for (int turn = 0; turn < 2; turn++) {
        X509_STORE *store = turn ? second : first;
        X509_STORE_set_purpose(store, X509_PURPOSE_SSL_SERVER);
        printf("%s: %d\n", turn ? "next store" : "rejected here", verify(store, 1));
        X509_STORE_free(store);
    }
    X509_STORE *third = loaded("BUNDLE");
    X509_STORE_set_purpose(third, X509_PURPOSE_SSL_SERVER);
    printf("third store: %d\n", verify(third, 1));
    X509_STORE_free(third);
}

static void error_queue(void) {
    const char *bad[] = {"/nowhere/bundle.pem", path_of("BROKEN"), path_of("EMPTY"), path_of("CAPATH"), "/dev/null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        ERR_clear_error();
        ERR_raise(ERR_LIB_SYS, 5);
        printf("%s: %d\n", i ? "unusable" : "missing", SSL_CTX_load_verify_locations(ctx, bad[i], path_of("CAPATH")));
        print_errors("left");
        printf("count %d\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx))));
        SSL_CTX_free(ctx);
    }
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    ERR_raise(ERR_LIB_SYS, 5);
    printf("both NULL: %d\n", SSL_CTX_load_verify_locations(ctx, NULL, NULL));
    print_errors("both NULL");
    ERR_raise(ERR_LIB_SYS, 5);
    printf("good file: %d\n", SSL_CTX_load_verify_locations(ctx, path_of("BUNDLE"), NULL));
    print_errors("good file");
    ERR_raise(ERR_LIB_SYS, 5);
    printf("missing directory: %d\n", SSL_CTX_load_verify_locations(ctx, NULL, "/nowhere"));
    print_errors("missing directory");
    ERR_raise(ERR_LIB_SYS, 5);
    printf("default file: %d\n", SSL_CTX_set_default_verify_file(ctx));
    print_errors("default file");
    ERR_raise(ERR_LIB_SYS, 5);
    printf("default dir: %d\n", SSL_CTX_set_default_verify_dir(ctx));
    print_errors("default dir");
    ERR_raise(ERR_LIB_SYS, 5);
    printf("defaults: %d\n", SSL_CTX_set_default_verify_paths(ctx));
    print_errors("defaults");
    SSL_CTX_free(ctx);
}

static void shared_store(void) {
    SSL_CTX *first = SSL_CTX_new(TLS_client_method()), *second = SSL_CTX_new(TLS_client_method());
    SSL_CTX_load_verify_locations(first, path_of("BUNDLE"), NULL);
    SSL_CTX_set1_cert_store(second, SSL_CTX_get_cert_store(first));
    SSL_CTX_free(first);
    printf("second context: %d\n", verify(SSL_CTX_get_cert_store(second), 1));
    X509_STORE *kept = SSL_CTX_get_cert_store(second);
    X509_STORE_up_ref(kept);
    SSL_CTX_free(second);
    print_objects("kept", kept);
    X509_STORE_free(kept);
}

static void forks(void) {
    X509_STORE *store = loaded("BUNDLE");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        X509_STORE *fresh = X509_STORE_new();
        X509_STORE_set_default_paths(fresh);
        printf("child: %d %d\n", verify(store, 0), verify(fresh, 0));
        print_objects("child", fresh);
        exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child ended with %d\nparent: %d\n", WEXITSTATUS(status), verify(store, 1));
    X509_STORE_free(store);
}

static void *one_thread(void *unused) {
    (void)unused;
    for (int turn = 0; turn < 2; turn++) {
        X509_STORE *store = X509_STORE_new();
        int ok = X509_STORE_set_default_paths(store) == 1 && verify(store, 0) == 1;
        X509_STORE_free(store);
        if (!ok)
            return NULL;
    }
    return (void *)1;
}

static void threads(void) {
    pthread_t ids[64];
    size_t good = 0;
    for (int i = 0; i < 64; i++)
        pthread_create(&ids[i], NULL, one_thread, NULL);
    for (int i = 0; i < 64; i++) {
        void *result;
        pthread_join(ids[i], &result);
        good += (size_t)result;
    }
    printf("threads: %zu of 64\n", good);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"objects", objects}, {"certs_by_subject", certs_by_subject}, {"duplicates", duplicates},
                 {"shadowing", shadowing}, {"client_ca_names", client_ca_names}, {"server_chain", server_chain},
                 {"own_objects", own_objects}, {"error_queue", error_queue}, {"shared_store", shared_store},
                 {"forks", forks}, {"threads", threads}};
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    }
    fprintf(stderr, "reach WHAT\n");
    return 2;
}
