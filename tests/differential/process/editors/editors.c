/*
 * editors FOLDER SETTER CASE ...: a program edits a root that it got from one store, while another store was made
 * before and a third comes after it. Each CASE is GETTER:EDIT and runs in a child of its own. SETTER says where the
 * edits come from:
 *
 *     here          in the program, linked (or by dlsym at the call, if so built)
 *     first PATH    in a plugin that is loaded before the first store
 *     second PATH   in a plugin that is loaded after it, before the program has a certificate
 *     last PATH     in a plugin that is loaded when the program holds the certificate
 *
 * Printed are the verdicts of all three stores, and what each one's root looks like.
 */
#include "edits.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */
#define LOCAL_NAME(x) ((X509_NAME *)(uintptr_t)X509_get_issuer_name(x))

#ifdef ASKED
/* The getters are found by dlsym at each call: anywhere, or in libssl and what that is linked with, as ctypes asks a
 * library that it has opened. */
static void *by_name(const char *name)
{
    void *where = RTLD_DEFAULT, *found;
#ifdef ASKED_OF_LIBSSL
    Dl_info libssl;

    if (!dladdr(dlsym(RTLD_DEFAULT, "OPENSSL_init_ssl"), &libssl))
        abort();
    where = dlopen(libssl.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
#endif
    found = dlsym(where, name);
    if (found == NULL)
        abort();
    return found;
}
#define ASK(function) ((__typeof__(&function))by_name(#function))
#define X509_STORE_CTX_get0_chain ASK(X509_STORE_CTX_get0_chain)
#define X509_STORE_CTX_get1_chain ASK(X509_STORE_CTX_get1_chain)
#define X509_STORE_CTX_get1_certs ASK(X509_STORE_CTX_get1_certs)
#define X509_STORE_CTX_get_current_cert ASK(X509_STORE_CTX_get_current_cert)
#define X509_STORE_CTX_get0_current_issuer ASK(X509_STORE_CTX_get0_current_issuer)
#define X509_STORE_CTX_get1_issuer ASK(X509_STORE_CTX_get1_issuer)
#define X509_STORE_CTX_get_by_subject ASK(X509_STORE_CTX_get_by_subject)
#define X509_STORE_CTX_get_obj_by_subject ASK(X509_STORE_CTX_get_obj_by_subject)
#define X509_STORE_CTX_get_get_issuer ASK(X509_STORE_CTX_get_get_issuer)
#define X509_STORE_CTX_set_verify_cb ASK(X509_STORE_CTX_set_verify_cb)
#define X509_STORE_set_check_issued ASK(X509_STORE_set_check_issued)
#define X509_STORE_get0_objects ASK(X509_STORE_get0_objects)
#define SSL_get0_verified_chain ASK(SSL_get0_verified_chain)
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#define X509_STORE_get1_all_certs ASK(X509_STORE_get1_all_certs)
#define X509_build_chain ASK(X509_build_chain)
#endif
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
#define X509_STORE_get1_objects ASK(X509_STORE_get1_objects)
#endif
#endif

static const char *folder, *late_plugin;
static edit_fn *edits;
static X509 *leaf, *other, *held;
static const char *edit_in_callback;

static void fail(const char *what)
{
    fprintf(stderr, "editors: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(3);
}

static const char *in_folder(const char *name)
{
    static char path[4][4096];
    static int next;

    next = (next + 1) % 4;
    snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
    return path[next];
}

static X509 *read_certificate(const char *name)
{
    FILE *in = fopen(in_folder(name), "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL)
        fail(name);
    fclose(in);
    return x;
}

static edit_fn *plugin(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    edit_fn *found = library == NULL ? NULL : (edit_fn *)dlsym(library, "edit");

    if (found == NULL)
        fail(dlerror());
    return found;
}

static X509_STORE *new_store(const char *bundle)
{
    X509_STORE *store = X509_STORE_new();

    if (!X509_STORE_load_locations(store, in_folder(bundle), NULL))
        fail(bundle);
    return store;
}

static void show(const char *who, X509 *x)
{
    BIO *out = BIO_new_fp(stdout, BIO_NOCLOSE);
    int length = 0;
    const unsigned char *text = X509_alias_get0(x, &length);
    ASN1_TIME *end = ASN1_STRING_dup(X509_get0_notAfter(x));

    printf("  %s: ", who);
    fflush(stdout);
    X509_NAME_print_ex(out, X509_get_subject_name(x), 0, XN_FLAG_ONELINE);
    BIO_printf(out, " of ");
    X509_NAME_print_ex(out, X509_get_issuer_name(x), 0, XN_FLAG_ONELINE);
    BIO_printf(out, ", ends %.*s, serial %ld", ASN1_STRING_length(end), ASN1_STRING_get0_data(end),
               ASN1_INTEGER_get(X509_get_serialNumber(x)));
    BIO_printf(out, ", version %ld, %d extensions, alias %.*s", X509_get_version(x), X509_get_ext_count(x), length,
               text == NULL ? (const unsigned char *)"" : text);
    text = X509_keyid_get0(x, &length);
    BIO_printf(out, ", key id %.*s, ex data %p", length, text == NULL ? (const unsigned char *)"" : text,
               X509_get_ex_data(x, 0));
    BIO_printf(out, ", flags %x", X509_get_extension_flags(x));
    BIO_printf(out, ", key of leaf's issuer %d\n", X509_verify(leaf, X509_get0_pubkey(x)));
    ERR_clear_error();
    BIO_free(out);
    ASN1_STRING_free(end);
}

static int is_root(X509 *x)
{
    char name[256];

    X509_NAME_oneline(X509_get_subject_name(x), name, sizeof(name));
    return strstr(name, "CN=Root 0") != NULL;
}

static void hold(X509 *x)
{
    if (held == NULL && x != NULL && is_root(x)) {
        X509_up_ref(x);
        held = x;
    }
}

static X509_STORE_CTX *verified(X509_STORE *store, int *result, X509_STORE_CTX_verify_cb callback)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();

    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_SERVER);
    if (callback != NULL)
        X509_STORE_CTX_set_verify_cb(ctx, callback);
    *result = X509_verify_cert(ctx);
    return ctx;
}

static void verify(const char *who, X509_STORE *store)
{
    int result;
    X509_STORE_CTX *ctx = verified(store, &result, NULL);

    printf("  %s: %d, error %d at %d\n", who, result, X509_STORE_CTX_get_error(ctx),
           X509_STORE_CTX_get_error_depth(ctx));
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
}

static void show_root(const char *who, X509_STORE *store)
{
    STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);

    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        X509 *x = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));

        if (x != NULL && (is_root(x) || x == held)) {
            show(who, x);
            printf("  %s holds the edited one: %d\n", who, x == held);
        }
    }
}

/* Getters. */

static int in_callback(int ok, X509_STORE_CTX *ctx)
{
    hold(X509_STORE_CTX_get_current_cert(ctx));
    if (held != NULL && edit_in_callback != NULL) {
        if (edits == NULL)
            edits = plugin(late_plugin);
        printf("  edits: %d\n", edits(edit_in_callback, held, other));
        edit_in_callback = NULL;
    }
    return ok;
}

static int issuer_in_callback(int ok, X509_STORE_CTX *ctx)
{
    hold(X509_STORE_CTX_get0_current_issuer(ctx));
    return ok;
}

static int check_issued(X509_STORE_CTX *ctx, X509 *x, X509 *issuer)
{
    int result = X509_check_issued((X509 *)(uintptr_t)issuer, (X509 *)(uintptr_t)x);

    (void)ctx;
    hold((X509 *)(uintptr_t)issuer);
    return result == X509_V_OK;
}

static int in_extension(SSL *ssl, unsigned int type, unsigned int context, const unsigned char **out, size_t *length,
                        X509 *x,
                        size_t at, int *alert, void *server)
{
    (void)ssl, (void)type, (void)context, (void)at, (void)alert;
    if (server != NULL)
        hold(x);
    *out = (const unsigned char *)"";
    *length = 0;
    return 1;
}

#ifdef SECURITY
static int on_security(const SSL *ssl, const SSL_CTX *ctx, int what, int bits, int nid, void *with, void *data)
{
    (void)ssl, (void)ctx, (void)bits, (void)nid, (void)data;
    if ((what & SSL_SECOP_OTHER_TYPE) == SSL_SECOP_OTHER_CERT)
        hold(with);
    return 1;
}
#endif

/* How the store comes to the one that verifies, or sends, and what changes before it is asked. */
static void by_connection(const char *how, X509_STORE *store)
{
    SSL_CTX *near_ctx = SSL_CTX_new(TLS_client_method()), *far_ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX *next_ctx = SSL_CTX_new(TLS_client_method());
    BIO *near_end = NULL, *far_end = NULL;
    SSL *client, *server;
    STACK_OF(X509) *chain;
    X509_STORE *next = new_store("roots.pem");

    SSL_CTX_set1_cert_store(next_ctx, next);
    if (strcmp(how, "verify-store") == 0)
        SSL_CTX_set1_verify_cert_store(near_ctx, store);
    else if (strcmp(how, "sent") == 0 || strcmp(how, "security") == 0)
        SSL_CTX_set1_cert_store(far_ctx, store);
    else if (strcmp(how, "own-verify-store") != 0)
        SSL_CTX_set1_cert_store(near_ctx, store);
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(near_ctx), NOW);
    SSL_CTX_set_verify(near_ctx, SSL_VERIFY_NONE, NULL);
    if (SSL_CTX_use_certificate_file(far_ctx, in_folder("leaf.pem"), SSL_FILETYPE_PEM) != 1
        || SSL_CTX_use_PrivateKey_file(far_ctx, in_folder("leaf.key"), SSL_FILETYPE_PEM) != 1)
        fail("server");
    if (strcmp(how, "sent") == 0) {
        unsigned int where = SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_CERTIFICATE;

        SSL_CTX_add_custom_ext(near_ctx, 1000, where, in_extension, NULL, NULL, NULL, NULL);
        SSL_CTX_add_custom_ext(far_ctx, 1000, where, in_extension, NULL, far_ctx, NULL, NULL);
    }
#ifdef SECURITY
    SSL_CTX_set_security_callback(far_ctx, on_security);
#endif
    client = SSL_new(near_ctx);
    server = SSL_new(far_ctx);
    if (strcmp(how, "own-verify-store") == 0)
        SSL_set1_verify_cert_store(client, store);
    BIO_new_bio_pair(&near_end, 0, &far_end, 0);
    SSL_set_bio(client, near_end, near_end);
    SSL_set_bio(server, far_end, far_end);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    for (int i = 0; i < 20; i++) {
        SSL_do_handshake(client);
        SSL_do_handshake(server);
    }
    printf("  connection: %d, verified %ld\n", SSL_is_init_finished(client), SSL_get_verify_result(client));
    if (strcmp(how, "other-context") == 0)
        SSL_set_SSL_CTX(client, next_ctx);
    else if (strcmp(how, "other-store") == 0)
        SSL_CTX_set1_cert_store(near_ctx, next);
    else if (strcmp(how, "other-verify-store") == 0)
        SSL_set1_verify_cert_store(client, next);
    chain = SSL_get0_verified_chain(client);
    for (int i = 0; i < sk_X509_num(chain); i++)
        hold(sk_X509_value(chain, i));
    for (int i = 0; i < sk_X509_num(SSL_get0_verified_chain(client)); i++)
        printf("  again: %d\n", sk_X509_value(SSL_get0_verified_chain(client), i) == held);
    ERR_clear_error();
    SSL_free(client);
    SSL_free(server);
    SSL_CTX_free(near_ctx);
    SSL_CTX_free(far_ctx);
    SSL_CTX_free(next_ctx);
    X509_STORE_free(next);
}

static void by_server(X509_STORE *store)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    STACK_OF(X509) *chain = NULL;
    X509_VERIFY_PARAM *param = X509_VERIFY_PARAM_new();

    X509_VERIFY_PARAM_set_time(param, NOW);
    X509_STORE_set1_param(store, param);
    SSL_CTX_set1_chain_cert_store(ctx, store);
    SSL_CTX_use_certificate(ctx, leaf);
    printf("  builds: %d\n", (int)SSL_CTX_build_cert_chain(ctx, 0));
    SSL_CTX_get0_chain_certs(ctx, &chain);
    for (int i = 0; i < sk_X509_num(chain); i++)
        hold(sk_X509_value(chain, i));
    ERR_clear_error();
    X509_VERIFY_PARAM_free(param);
    SSL_CTX_free(ctx);
}

static void by_context(const char *how, X509_STORE *store)
{
    int result;
    X509_STORE_CTX *ctx = verified(store, &result, NULL);
    STACK_OF(X509) *chain = NULL;
    X509_NAME *name = LOCAL_NAME(leaf);
    X509_OBJECT *object = NULL;
    X509 *issuer = NULL;

    printf("  gets after: %d\n", result);
    if (strcmp(how, "chain") == 0) {
        for (int i = 0; i < sk_X509_num(X509_STORE_CTX_get0_chain(ctx)); i++)
            hold(sk_X509_value(X509_STORE_CTX_get0_chain(ctx), i));
    } else if (strcmp(how, "chain1") == 0) {
        chain = X509_STORE_CTX_get1_chain(ctx);
    } else if (strcmp(how, "current") == 0) {
        hold(X509_STORE_CTX_get_current_cert(ctx));
        hold(sk_X509_value(X509_STORE_CTX_get0_chain(ctx), 1));
    } else if (strcmp(how, "certs") == 0) {
        chain = X509_STORE_CTX_get1_certs(ctx, name);
    } else if (strcmp(how, "subject") == 0) {
        object = X509_OBJECT_new();
        printf("  by subject: %d\n", X509_STORE_CTX_get_by_subject(ctx, X509_LU_X509, name, object));
    } else if (strcmp(how, "object") == 0) {
        object = X509_STORE_CTX_get_obj_by_subject(ctx, X509_LU_X509, name);
    } else if (strcmp(how, "issuer1") == 0) {
        printf("  issuer: %d\n", X509_STORE_CTX_get1_issuer(&issuer, ctx, leaf));
    } else if (strcmp(how, "get-issuer") == 0) {
        printf("  issuer: %d\n", X509_STORE_CTX_get_get_issuer(ctx)(&issuer, ctx, leaf));
    } else {
        fail(how);
    }
    for (int i = 0; i < sk_X509_num(chain); i++)
        hold(sk_X509_value(chain, i));
    if (object != NULL)
        hold(X509_OBJECT_get0_X509(object));
    hold(issuer);
    X509_free(issuer);
    X509_OBJECT_free(object);
    sk_X509_pop_free(chain, X509_free);
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
}

static void get(const char *how, X509_STORE *store)
{
    int result;

    if (strcmp(how, "objects") == 0 || strcmp(how, "objects-at-once") == 0) {
        STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);

        for (int i = 0; i < sk_X509_OBJECT_num(all); i++)
            hold(X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i)));
    } else if (strcmp(how, "locked") == 0) {
        STACK_OF(X509_OBJECT) *all;

        X509_STORE_lock(store);
        all = X509_STORE_get0_objects(store);
        for (int i = 0; i < sk_X509_OBJECT_num(all); i++)
            hold(X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i)));
        X509_STORE_unlock(store);
    } else if (strcmp(how, "objects1") == 0) {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
        STACK_OF(X509_OBJECT) *all = X509_STORE_get1_objects(store);

        for (int i = 0; i < sk_X509_OBJECT_num(all); i++)
            hold(X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i)));
        sk_X509_OBJECT_pop_free(all, X509_OBJECT_free);
#endif
    } else if (strcmp(how, "all") == 0 || strcmp(how, "build") == 0) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
        STACK_OF(X509) *all = strcmp(how, "all") == 0 ? X509_STORE_get1_all_certs(store)
                                                      : X509_build_chain(leaf, NULL, store, 1, NULL, NULL);

        for (int i = 0; i < sk_X509_num(all); i++)
            hold(sk_X509_value(all, i));
        sk_X509_pop_free(all, X509_free);
        ERR_clear_error();
#endif
    } else if (strcmp(how, "lookup") == 0) {
        X509_OBJECT *object = X509_OBJECT_new();
        X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());

        X509_LOOKUP_add_dir(lookup, in_folder("dir"), X509_FILETYPE_PEM);
        if (X509_LOOKUP_by_subject(lookup, X509_LU_X509, LOCAL_NAME(leaf), object) == 1) {
            hold(X509_OBJECT_get0_X509(object));
            /* by_dir.c passes no reference on. */
            X509_up_ref(X509_OBJECT_get0_X509(object));
        }
        X509_OBJECT_free(object);
    } else if (strcmp(how, "callback") == 0 || strcmp(how, "in-callback") == 0) {
        X509_STORE_CTX_free(verified(store, &result, in_callback));
        printf("  called back: %d\n", result);
    } else if (strcmp(how, "callback-issuer") == 0) {
        X509_STORE_CTX_free(verified(store, &result, issuer_in_callback));
        printf("  called back: %d\n", result);
    } else if (strcmp(how, "check-issued") == 0) {
        X509_STORE_set_check_issued(store, (X509_STORE_CTX_check_issued_fn)(uintptr_t)check_issued);
        X509_STORE_CTX_free(verified(store, &result, NULL));
        printf("  called back: %d\n", result);
    } else if (strcmp(how, "connection") == 0 || strcmp(how, "sent") == 0 || strcmp(how, "security") == 0
               || strstr(how, "verify-store") != NULL || strncmp(how, "other-", 6) == 0) {
        by_connection(how, store);
    } else if (strcmp(how, "server") == 0) {
        by_server(store);
    } else {
        by_context(how, store);
    }
}

static void run(char *one, const char *setter, const char *path)
{
    char *how = strchr(one, ':'), *both;
    const char *bundle;
    X509_STORE *before, *edited, *after;
    X509 *theirs = NULL;

    *how++ = 0;
    bundle = strcmp(how, "revive") == 0 ? "expired.pem" : "roots.pem";
    if (strcmp(setter, "first") == 0)
        edits = plugin(path);
    leaf = read_certificate("leaf.pem");
    other = read_certificate("other.pem");
    before = new_store(bundle);
    verify("before", before);
    edited = new_store(bundle);
    /* The program may have had the same root of the other store, too. */
    both = strchr(one, '+');
    if (both != NULL) {
        *both = 0;
        get(one, before);
        theirs = held;
        held = NULL;
    } else if (strcmp(one, "objects-at-once") != 0) {
        verify("edited", edited);
    }
    if (strcmp(setter, "second") == 0)
        edits = plugin(path);
    if (strcmp(one, "in-callback") == 0)
        late_plugin = path, edit_in_callback = how;
    get(one, edited);
    printf("  holds %d, the same of both %d\n", held != NULL, held != NULL && held == theirs);
    if (strcmp(setter, "last") == 0 && edits == NULL)
        edits = plugin(path);
    if (held != NULL && strcmp(one, "in-callback") != 0)
        printf("  edits: %d\n", edits(how, held, other));
    ERR_clear_error();
    verify("edited", edited);
    verify("before", before);
    after = new_store(bundle);
    verify("after", after);
    show_root("edited", edited);
    show_root("before", before);
    show_root("after", after);
    if (theirs != NULL)
        show("theirs", theirs);
    X509_free(theirs);
    X509_free(held);
    X509_STORE_free(before);
    X509_STORE_free(edited);
    X509_STORE_free(after);
    X509_free(leaf);
    X509_free(other);
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int at = 3, failed = 0;

    if (argc < 4)
        return 2;
    folder = argv[1];
    if (strcmp(argv[2], "here") == 0) {
#ifndef NO_EDITS
        edits = edit;
#endif
    } else {
        path = argv[at++];
    }
    for (; at < argc; at++) {
        int status;
        pid_t child;

        printf("%s\n", argv[at]);
        fflush(stdout);
        child = fork();
        if (child == 0) {
            run(argv[at], argv[2], path);
            fflush(stdout);
            exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0) {
            printf("  ended with %x\n", status);
            failed = 1;
        }
    }
    return failed;
}
