/* What the children do with OpenSSL. */
#include "children.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

/* GOOD are below roots of bundle.pem, IN_DIRECTORY below one in dir, ADDED below one that is added, NEVER below
 * none. */
enum { GOOD, GOOD_TOO, GOOD_TWIN, IN_DIRECTORY, ADDED, UNKNOWN, IMPOSTOR, LEAVES };
static const char *const leaf_files[] = { "good.pem", "good-too.pem", "good-twin.pem", "in-directory.pem", "added.pem",
                                         "unknown.pem",
                                          "impostor.pem" };

static X509 *added_root;
static unsigned char *leaf_der[LEAVES];
static int leaf_length[LEAVES];

const char *const served[] = { "served/X509_STORE_load_locations", "served/X509_STORE_set_default_paths",
                              "served/ca-name-list",
                               "served/X509_LOOKUP_ctrl", NULL };
const char *const reliant[] = { NULL }, *const fragile[] = { NULL };
const char *const not_served[] = { "bypass/", NULL };

static X509 *read_certificate(const char *path)
{
    BIO *in = BIO_new_file(path, "r");
    char *name, *header;
    unsigned char *data;
    const unsigned char *at;
    long length;
    X509 *x = NULL;

    /* Not by PEM_read_bio_X509, which is hooked. */
    if (in != NULL && PEM_read_bio(in, &name, &header, &data, &length)) {
        at = data;
        x = d2i_X509(NULL, &at, length);
    }
    if (x == NULL) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    BIO_free(in);
    return x;
}

void warm(void)
{
    unsigned char some[16];
    int at;

    OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, NULL);
    SSL_get_ex_data_X509_STORE_CTX_idx();
    /* Both generators: one that could not be made is never made again. */
    if (RAND_bytes(some, sizeof some) != 1 || RAND_priv_bytes(some, sizeof some) != 1)
        exit(2);
    added_root = read_certificate("added-root.pem");
    /* Algorithms are fetched, purposes looked at, errors made. */
    X509_verify(added_root, X509_get0_pubkey(added_root));
    X509_check_ca(added_root);
    for (at = 0; at < LEAVES; at++) {
        X509 *leaf = read_certificate(leaf_files[at]);

        leaf_length[at] = i2d_X509(leaf, &leaf_der[at]);
        X509_check_purpose(leaf, X509_PURPOSE_SSL_SERVER, 0);
        X509_verify(leaf, X509_get0_pubkey(added_root));
        X509_free(leaf);
    }
    ERR_clear_error();
}

/* What is said of a leaf: 1, 0 and less as X509_verify_cert has it; -2 if it could not be asked. */
static int verify(X509_STORE *store, int which, int *error)
{
    const unsigned char *der = leaf_der[which];
    X509 *leaf = d2i_X509(NULL, &der, leaf_length[which]);
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int result = -2;

    if (leaf != NULL && ctx != NULL && X509_STORE_CTX_init(ctx, store, leaf, NULL)) {
        X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
        result = X509_verify_cert(ctx);
        if (error != NULL)
            *error = X509_STORE_CTX_get_error(ctx);
    }
    X509_STORE_CTX_free(ctx);
    X509_free(leaf);
    ERR_clear_error();
    return result;
}

enum { STORES = 4 };
static struct kept {
    X509_STORE *store;
    int loaded, has_added;
} kept[STORES];

static int is_bad(struct kept *one, int which)
{
    return which >= UNKNOWN || (which == ADDED && !one->has_added);
}

static int trusts(struct kept *one, int which)
{
    if (one->store == NULL)
        return 0;
    if (verify(one->store, which, NULL) == 1 && is_bad(one, which)) {
        fprintf(stderr, "%s was accepted\n", leaf_files[which]);
        return 1;
    }
    return 0;
}

/* OpenSSL 4.0.3 recurses without end where it has no memory for it (ossl_err_get_state_int,
 * CRYPTO_THREAD_set_local_ex). */
static void make_error_queue(void)
{
    spare_this_thread(1);
    ERR_clear_error();
    spare_this_thread(0);
}

static void *load_in_thread(void *argument)
{
    struct kept *one = argument;

    make_error_queue();
    one->loaded |= X509_STORE_load_locations(one->store, "bundle.pem", NULL) == 1;
    ERR_clear_error();
    return NULL;
}

static void *verify_in_thread(void *argument)
{
    static char bad;
    struct kept *one = argument;

    make_error_queue();
    return trusts(one, IMPOSTOR) || trusts(one, GOOD) ? &bad : NULL;
}

static int in_thread(struct kept *one, void *(*work)(void *))
{
    pthread_t thread;
    void *bad = NULL;

    if (pthread_create(&thread, NULL, work, one) == 0)
        pthread_join(thread, &bad);
    return bad != NULL;
}

static int in_child(struct kept *one)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        load_in_thread(one);
        _exit(trusts(one, IMPOSTOR) || trusts(one, GOOD_TWIN));
    }
    if (child > 0 && waitpid(child, &status, 0) == child) {
        if (WIFSIGNALED(status))
            raise(WTERMSIG(status));
        /* It has said what it died of. */
        if (WEXITSTATUS(status) > 1)
            _exit(WEXITSTATUS(status));
    }
    return child > 0 && status != 0;
}

static void by_lookup(X509_STORE *store)
{
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

    if (lookup != NULL)
        X509_LOOKUP_load_file(lookup, "bundle.pem", X509_FILETYPE_PEM);
}

static void names(int which)
{
    STACK_OF(X509_NAME) *stack;

    if (which % 2 == 0) {
        sk_X509_NAME_pop_free(SSL_load_client_CA_file("bundle.pem"), X509_NAME_free);
    } else if ((stack = sk_X509_NAME_new_null()) != NULL) {
        if (which % 4 == 1)
            SSL_add_file_cert_subjects_to_stack(stack, "bundle.pem");
        else
            SSL_add_dir_cert_subjects_to_stack(stack, "dir");
        sk_X509_NAME_pop_free(stack, X509_NAME_free);
    }
}

static void context(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (ctx != NULL) {
        SSL_CTX_set_default_verify_paths(ctx);
        SSL_CTX_load_verify_locations(ctx, "bundle.pem", "dir");
    }
    SSL_CTX_free(ctx);
}

int act(uint64_t number)
{
    struct kept *one = &kept[number % STORES];
    int which = number / STORES % LEAVES, bad = 0;

    if (one->store == NULL && (one->store = X509_STORE_new()) == NULL)
        return 0;
    switch (number / (STORES * LEAVES) % 18) {
    case 0:
    case 1:
        one->loaded |= X509_STORE_load_locations(one->store, "bundle.pem", NULL) == 1;
        break;
    case 2:
        X509_STORE_set_default_paths(one->store);
        break;
    case 3:
        X509_STORE_load_locations(one->store, NULL, "dir");
        break;
    case 4:
        by_lookup(one->store);
        break;
    case 5:
        X509_STORE_load_locations(one->store, "large.pem", NULL);
        break;
    case 6:
        X509_STORE_load_locations(one->store, "bundle.pem", "dir");
        break;
    case 7:
        sk_X509_OBJECT_num(X509_STORE_get0_objects(one->store));
        break;
#if OPENSSL_VERSION_NUMBER >= 0x30000000
    case 8:
        sk_X509_pop_free(X509_STORE_get1_all_certs(one->store), X509_free);
        break;
#endif
    case 9:
        one->has_added = 1;
        X509_STORE_add_cert(one->store, added_root);
        break;
    case 10:
        names(which);
        break;
    case 11:
        context();
        break;
    case 12:
        bad = in_thread(one, load_in_thread);
        break;
    case 13:
        bad = in_thread(one, verify_in_thread);
        break;
    case 14:
        bad = in_child(one);
        break;
    case 15:
        X509_STORE_free(one->store);
        memset(one, 0, sizeof *one);
        return 0;
    default:
        break;
    }
    ERR_clear_error();
    return bad || trusts(one, which) || trusts(one, IMPOSTOR);
}

int act_of_scene(int number)
{
    /* Loads, with searches between them; the directory's; an enumeration, and the same with one added; names; all of it
     * in a context, a thread and a child. */
    static const int kinds[] = { 0, 16, 3, 7, 9, 2, 8, 10, 11, 12, 14, 15 };

    return act(((uint64_t)kinds[number] * LEAVES + number % LEAVES) * STORES + (number < 5 ? 0 : 1));
}

int look_back(int *asked)
{
    int at, refused = 0;

    *asked = 0;
    for (at = 0; at < STORES; at++) {
        if (kept[at].store == NULL)
            continue;
        if (kept[at].loaded) {
            ++*asked;
            refused += verify(kept[at].store, GOOD, NULL) != 1 || verify(kept[at].store, GOOD_TWIN, NULL) != 1;
        }
        if (trusts(&kept[at], IMPOSTOR) || trusts(&kept[at], UNKNOWN))
            _exit(1);
        X509_STORE_free(kept[at].store);
    }
    memset(kept, 0, sizeof kept);
    return refused;
}

static size_t used, size;

static void say(char *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    used += vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    if (used > size)
        used = size;
}

static void verdicts(char *text, X509_STORE *store, const char *what)
{
    int which, result, error = 0;

    say(text, "%s:", what);
    for (which = 0; which < LEAVES; which++) {
        result = verify(store, which, &error);
        say(text, " %d/%d", result, error);
    }
    say(text, "; %d objects\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
}

static void listed(char *text, STACK_OF(X509_NAME) *stack)
{
    unsigned long sum = 0;
    int at;

    for (at = 0; at < sk_X509_NAME_num(stack); at++)
        sum = sum * 31 + X509_NAME_hash(sk_X509_NAME_value(stack, at));
    say(text, "names: %d, %lx\n", sk_X509_NAME_num(stack), sum);
    sk_X509_NAME_pop_free(stack, X509_NAME_free);
}

int judge(char *text, size_t room)
{
    X509_STORE *store = X509_STORE_new();
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    used = 0, size = room;
    if (store == NULL || ctx == NULL) {
        ERR_print_errors_fp(stderr);
        return 0;
    }
    say(text, "locations: %d\n", X509_STORE_load_locations(store, "bundle.pem", "dir"));
    verdicts(text, store, "file and directory");
    X509_STORE_free(store);
    say(text, "default: %d\n", SSL_CTX_set_default_verify_paths(ctx));
    verdicts(text, SSL_CTX_get_cert_store(ctx), "default paths");
    SSL_CTX_free(ctx);
    store = X509_STORE_new();
    by_lookup(store);
    X509_STORE_add_cert(store, added_root);
    verdicts(text, store, "lookup and added");
    X509_STORE_free(store);
    listed(text, SSL_load_client_CA_file("bundle.pem"));
    say(text, "errors: %lu\n", ERR_get_error());
    return 1;
}
