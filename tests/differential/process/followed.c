/*
 * followed HOW LOAD: verdicts while the sources of a store change, in a folder with the files of pki.py.
 *
 * HOW is `anew` (a store for each step), `kept` (one for all steps), or a store that is kept and not followed: `added`,
 * `listed`, `function`, `relative`, `method`, `chroot`. LOAD is how a store is loaded.
 */
#include "pki.h"
#include <openssl/ssl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static char bundle[4096], second[4096], hashed[4096];
static STACK_OF(X509) *all;
static const char *how, *way;
static int wrong_stores, in_store;

static int on_verify(int ok, X509_STORE_CTX *ctx)
{
    X509_STORE *store = X509_STORE_CTX_get0_store(ctx);

    if (X509_STORE_get_ex_data(store, in_store) != store)
        wrong_stores++;
    return ok;
}

static int own_check(X509_STORE_CTX *ctx)
{
    (void)ctx;
    return 1;
}

static void load(X509_STORE *store)
{
    X509_LOOKUP *lookup;
    const char *file = strcmp(how, "relative") == 0 ? "bundle.pem" : bundle;
    int result = 1;

    if (strcmp(how, "method") == 0)
        result = X509_load_cert_file(X509_STORE_add_lookup(store, X509_LOOKUP_file()), file, X509_FILETYPE_PEM);
    else if (strcmp(way, "file") == 0)
        result = X509_STORE_load_locations(store, file, NULL);
    else if (strcmp(way, "both") == 0)
        result = X509_STORE_load_locations(store, file, hashed);
    else if (strcmp(way, "context") == 0) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

        X509_STORE_up_ref(store);
        SSL_CTX_set_cert_store(ctx, store);
        result = SSL_CTX_load_verify_locations(ctx, file, hashed);
        SSL_CTX_free(ctx);
    } else if (strcmp(way, "directory") == 0)
        result = X509_STORE_load_locations(store, NULL, hashed);
    else if (strcmp(way, "defaults") == 0)
        result = X509_STORE_set_default_paths(store);
    else if (strcmp(way, "two") == 0)
        result = X509_STORE_load_locations(store, second, NULL) == 1
            && X509_STORE_load_locations(store, file, NULL) == 1;
    else if ((lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file())) != NULL)
        result = X509_LOOKUP_load_file(lookup, file, X509_FILETYPE_PEM);
    ERR_clear_error();
    (void)result;
}

static X509_STORE *made(void)
{
    X509_STORE *store = X509_STORE_new();

    load(store);
    X509_STORE_set_ex_data(store, in_store, store);
    X509_STORE_set_verify_cb(store, on_verify);
    if (strcmp(how, "added") == 0) {
        X509 *x = read_certificate("one.pem");

        X509_STORE_add_cert(store, x);
        X509_free(x);
    } else if (strcmp(how, "listed") == 0) {
        X509_STORE_lock(store);
        X509_STORE_get0_objects(store);
        X509_STORE_unlock(store);
    } else if (strcmp(how, "function") == 0)
        X509_STORE_set_check_revocation(store, own_check);
    return store;
}

static void say_name(X509 *x)
{
    char name[256];

    X509_NAME_oneline(X509_get_subject_name(x), name, sizeof(name));
    printf(" %s#%ld", name, ASN1_INTEGER_get(X509_get0_serialNumber(x)));
}

static void verify(X509_STORE *store, X509 *leaf, X509 *between)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    STACK_OF(X509) *chain, *untrusted = sk_X509_new_null();
    X509 *issuer = NULL;
    int ok, found;

    sk_X509_push(untrusted, between);
    ERR_clear_error();
    ok = X509_STORE_CTX_init(ctx, store, leaf, untrusted);
    if (X509_STORE_CTX_get0_store(ctx) != store)
        wrong_stores++;
    if (ERR_peek_error() != 0)
        printf("an error is left\n");
    ok = ok == 1 ? X509_verify_cert(ctx) : -2;
    printf("%d %d at %d:", ok, X509_STORE_CTX_get_error(ctx), X509_STORE_CTX_get_error_depth(ctx));
    chain = X509_STORE_CTX_get1_chain(ctx);
    for (int i = 0; i < sk_X509_num(chain); i++)
        say_name(sk_X509_value(chain, i));
    sk_X509_pop_free(chain, X509_free);
    found = X509_STORE_CTX_get1_issuer(&issuer, ctx, leaf);
    printf(" by %d", found);
    if (found == 1)
        say_name(issuer);
    if (found == 1)
        X509_free(issuer);
    printf("\n");
    X509_STORE_CTX_free(ctx);
    sk_X509_free(untrusted);
}

/* The ways in which a file changes: replaced, in place, and as the kubelet does it (atomic_writer.go). */
static void change(int at, const char *from)
{
    static char buffer[1 << 20], folder[64], link[128];
    FILE *in, *out;
    size_t size = 0;

    if (rmdir("bundle.pem") != 0)
        errno = 0;
    if (from == NULL || strcmp(from, "/") == 0) {
        unlink("bundle.pem");
        if (from != NULL)
            mkdir("bundle.pem", 0755);
        return;
    }
    if ((in = fopen(from, "re")) == NULL)
        exit(4);
    size = fread(buffer, 1, sizeof(buffer), in);
    fclose(in);
    if (at % 3 == 2) {
        snprintf(folder, sizeof(folder), "..%d", at);
        mkdir(folder, 0755);
        snprintf(link, sizeof(link), "%s/bundle.pem", folder);
    }
    if (at % 3 == 1)
        unlink("bundle.pem"); /* it may be a link by now */
    out = fopen(at % 3 == 2 ? link : at % 3 == 1 ? "bundle.pem" : "bundle.new", "we");
    fwrite(buffer, 1, size, out);
    fclose(out);
    if (at % 3 == 0)
        rename("bundle.new", "bundle.pem");
    if (at % 3 == 2) {
        unlink("..data_tmp");
        if (symlink(folder, "..data_tmp") != 0 || rename("..data_tmp", "..data") != 0)
            exit(5);
        unlink("bundle.pem");
        if (symlink("..data/bundle.pem", "bundle.pem") != 0)
            exit(6);
    }
}

int main(int argc, char **argv)
{
    static const char *files[] = {
        "roots.pem", "roots.pem", "other.pem", "one.pem", "relatives.pem", "with-crl.pem", "same.pem", "crl-only.pem",
        "roots.pem", "trusted.pem", "rejected.pem", "comments.pem", "broken.pem", "empty.pem", "one.der", "key.pem",
        "inter.pem", NULL, "roots.pem", "/", "other.pem", "roots.pem", "one.pem", "roots.pem",
    };
    static const char *folders[] = {"dir", "dir", "strays", "bare", "gaps", "crldir", "dir", "nowhere"};
    X509_STORE *kept = NULL;
    BIO *in;
    X509 *x, *between = NULL;

    if (argc != 3 || getcwd(bundle, 2048) == NULL)
        return 2;
    how = argv[1];
    way = argv[2];
    snprintf(hashed, sizeof(hashed), "%.2000s/hashed", bundle);
    snprintf(second, sizeof(second), "%.2000s/comments.pem", bundle);
    strcat(bundle, "/bundle.pem");
    setenv("SSL_CERT_FILE", bundle, 1);
    setenv("SSL_CERT_DIR", hashed, 1);
    OPENSSL_init_ssl(0, NULL);
    in_store = X509_STORE_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    all = sk_X509_new_null();
    for (in = BIO_new_file("all.pem", "r"); (x = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL;)
        sk_X509_push(all, x);
    BIO_free(in);
    between = read_certificate("inter.pem");
    usleep(200000); /* a directory that has just been changed may change again without a new time */
    for (int i = 0; i < (int)(sizeof(files) / sizeof(*files)); i++) {
        X509_STORE *store;

        change(i, files[i]);
        unlink("hashed");
        if (symlink(folders[i % 8], "hashed") != 0)
            return 7;
        printf("step %d: %s %s\n", i, files[i] ? files[i] : "nothing", folders[i % 8]);
        store = kept != NULL ? kept : made();
        /* Settings come at any time, and count at once. */
        X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), NOW);
        X509_VERIFY_PARAM_clear_flags(X509_STORE_get0_param(store), ~0UL);
        if (i % 2)
            X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
        if (i % 4 == 2)
            X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_USE_CHECK_TIME);
        for (int at = 0; at < sk_X509_num(all); at++)
            verify(store, sk_X509_value(all, at), between);
        if (strcmp(how, "anew") == 0)
            X509_STORE_free(store);
        else
            kept = store;
        /* The file is out of reach, which is no change. */
        if (i == 0 && strcmp(how, "chroot") == 0) {
            if (unlink("bundle.pem") != 0 || chroot("bare") != 0)
                return 8;
            for (int at = 0; at < sk_X509_num(all); at++)
                verify(store, sk_X509_value(all, at), between);
            break;
        }
    }
    printf("%d wrong stores\n", wrong_stores);
    X509_STORE_free(kept);
    X509_free(between);
    sk_X509_pop_free(all, X509_free);
    return 0;
}
