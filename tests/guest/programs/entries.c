/* Each entry point of OpenSSL that loads, searches, enumerates or verifies, in each state of its source, between marks.

     entries ENTRY PLACE       PLACE holds bundle.pem, next.pem, hashed/, secret.pem, empty.pem, leaf.pem
     entries --list

   What the calls return goes to standard output. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/cmp.h>
#endif

#include "mark.h"

typedef int Load(X509_STORE *store, const char *file, const char *folder);

#define LOOKUP(store) X509_STORE_add_lookup(store, X509_LOOKUP_file())
#define ENTRY(name, call)                                                                    \
    static int name(X509_STORE *store, const char *file, const char *folder)                 \
    {                                                                                        \
        (void)store, (void)file, (void)folder;                                               \
        return call;                                                                         \
    }

/* The variables are read at each call; setenv makes no system call. */
static const char *as_default(const char *file, const char *folder)
{
    if (file)
        setenv("SSL_CERT_FILE", file, 1);
    else
        unsetenv("SSL_CERT_FILE");
    if (folder)
        setenv("SSL_CERT_DIR", folder, 1);
    else
        unsetenv("SSL_CERT_DIR");
    return file;
}

static int with_context(X509_STORE *store, const char *file, int defaults)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    X509_STORE_up_ref(store);
    SSL_CTX_set_cert_store(context, store);
    int result = defaults ? (as_default(file, "/proc/none"), SSL_CTX_set_default_verify_paths(context))
                          : SSL_CTX_load_verify_locations(context, file, NULL);
    SSL_CTX_free(context);
    return result;
}

static int count_names(STACK_OF(X509_NAME) *names)
{
    int count = names ? sk_X509_NAME_num(names) : -1;
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return count;
}

static int add_names(const char *file, const char *folder)
{
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    int done = file ? SSL_add_file_cert_subjects_to_stack(names, file)
        : SSL_add_dir_cert_subjects_to_stack(names, folder);
    return done ? count_names(names) : (count_names(names), -1);
}

static int read_one(const char *file)
{
    BIO *bio = BIO_new_file(file, "r");
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    int found = certificate != NULL;
    X509_free(certificate);
    BIO_free(bio);
    return found;
}

ENTRY(load_locations, X509_STORE_load_locations(store, file, NULL))
ENTRY(load_locations_both, X509_STORE_load_locations(store, file, folder))
ENTRY(load_locations_directory, X509_STORE_load_locations(store, NULL, folder))
ENTRY(default_paths, (as_default(file, "/proc/none"), X509_STORE_set_default_paths(store)))
ENTRY(default_paths_directory, (as_default("/proc/none", folder), X509_STORE_set_default_paths(store)))
ENTRY(default_paths_both, (as_default(file, folder), X509_STORE_set_default_paths(store)))
ENTRY(load_cert_file, X509_load_cert_file(LOOKUP(store), file, X509_FILETYPE_PEM))
ENTRY(load_cert_file_asn1, X509_load_cert_file(LOOKUP(store), file, X509_FILETYPE_ASN1))
ENTRY(load_crl_file, X509_load_crl_file(LOOKUP(store), file, X509_FILETYPE_PEM))
ENTRY(load_cert_crl_file, X509_load_cert_crl_file(LOOKUP(store), file, X509_FILETYPE_PEM))
ENTRY(lookup_load_file, X509_LOOKUP_load_file(LOOKUP(store), file, X509_FILETYPE_PEM))
ENTRY(lookup_load_default, (as_default(file, NULL), X509_LOOKUP_load_file(LOOKUP(store), NULL, X509_FILETYPE_DEFAULT)))
ENTRY(lookup_add_dir, X509_LOOKUP_add_dir(X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir()), folder,
                                          X509_FILETYPE_PEM))
ENTRY(context_locations, with_context(store, file, 0))
ENTRY(context_defaults, with_context(store, file, 1))
ENTRY(client_ca, count_names(SSL_load_client_CA_file(file)))
ENTRY(file_subjects, add_names(file, NULL))
ENTRY(directory_subjects, add_names(NULL, folder))
ENTRY(read_bio, read_one(file))
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
ENTRY(load_locations_ex, X509_STORE_load_locations_ex(store, file, NULL, NULL, NULL))
ENTRY(default_paths_ex, (as_default(file, folder), X509_STORE_set_default_paths_ex(store, NULL, NULL)))
ENTRY(load_file, X509_STORE_load_file(store, file))
ENTRY(load_file_ex, X509_STORE_load_file_ex(store, file, NULL, NULL))
ENTRY(load_path, X509_STORE_load_path(store, folder))
ENTRY(load_store, X509_STORE_load_store(store, file))
ENTRY(load_store_ex, X509_STORE_load_store_ex(store, file, NULL, NULL))
ENTRY(load_store_directory, X509_STORE_load_store(store, folder))
ENTRY(load_cert_file_ex, X509_load_cert_file_ex(LOOKUP(store), file, X509_FILETYPE_PEM, NULL, NULL))
ENTRY(load_cert_crl_file_ex, X509_load_cert_crl_file_ex(LOOKUP(store), file, X509_FILETYPE_PEM, NULL, NULL))
ENTRY(lookup_load_file_ex, X509_LOOKUP_load_file_ex(LOOKUP(store), file, X509_FILETYPE_PEM, NULL, NULL))
ENTRY(client_ca_ex, count_names(SSL_load_client_CA_file_ex(file, NULL, NULL)))
#endif

#define ROW(name) { #name, name }
static const struct {
    const char *name;
    Load *load;
} ENTRIES[] = {
    ROW(load_locations), ROW(load_locations_both), ROW(load_locations_directory), ROW(default_paths),
        ROW(default_paths_directory),
    ROW(default_paths_both), ROW(load_cert_file), ROW(load_cert_file_asn1), ROW(load_crl_file), ROW(load_cert_crl_file),
    ROW(lookup_load_file), ROW(lookup_load_default), ROW(lookup_add_dir), ROW(context_locations), ROW(context_defaults),
    ROW(client_ca), ROW(file_subjects), ROW(directory_subjects), ROW(read_bio),
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    ROW(load_locations_ex), ROW(default_paths_ex), ROW(load_file), ROW(load_file_ex), ROW(load_path), ROW(load_store),
    ROW(load_store_ex), ROW(load_store_directory), ROW(load_cert_file_ex), ROW(load_cert_crl_file_ex),
    ROW(lookup_load_file_ex),
    ROW(client_ca_ex),
#endif
};

static const char *entry, *place;
static Load *load;
static X509 *leaf, *other;

static int objects(X509_STORE *store)
{
#if OPENSSL_VERSION_NUMBER >= 0x40000000L
    STACK_OF(X509_OBJECT) *all = X509_STORE_get1_objects(store);
    int count = sk_X509_OBJECT_num(all);
    sk_X509_OBJECT_pop_free(all, X509_OBJECT_free);
    return count;
#else
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
#endif
}

/* The name of a step with a letter behind it. */
#define STEP(letter) (snprintf(name, sizeof name, "%s-%s", step, letter), name)

static void use(const char *step, const char *file, const char *folder)
{
    char name[64];
    X509_STORE *store = NULL;
    int result = 0, verdict = 0, error = 0, count = 0, again = 0;
    BETWEEN_MARKS(entry, STEP("new"), store = X509_STORE_new());
    BETWEEN_MARKS(entry, STEP("load"), result = load(store, file, folder));
    unsigned long code = ERR_peek_error();
    ERR_clear_error();
    BETWEEN_MARKS(entry, STEP("verify"), {
        X509_STORE_CTX *context = X509_STORE_CTX_new();
        X509_STORE_CTX_init(context, store, leaf, NULL);
        verdict = X509_verify_cert(context);
        error = X509_STORE_CTX_get_error(context);
        X509_STORE_CTX_free(context);
    });
    BETWEEN_MARKS(entry, STEP("unknown"), {
        X509_STORE_CTX *context = X509_STORE_CTX_new();
        X509_STORE_CTX_init(context, store, other, NULL);
        again = X509_verify_cert(context);
        X509_STORE_CTX_free(context);
    });
    BETWEEN_MARKS(entry, STEP("add"), again += 10 * X509_STORE_add_cert(store, other));
    BETWEEN_MARKS(entry, STEP("enumerate"), count = objects(store));
    BETWEEN_MARKS(entry, STEP("lock"), (X509_STORE_lock(store), X509_STORE_unlock(store)));
    BETWEEN_MARKS(entry, STEP("free"), X509_STORE_free(store));
    ERR_clear_error();
    printf("%s/%s: %d %lx, verdict %d %d, %d, %d objects\n", entry, step, result, code, verdict, error, again, count);
    fflush(stdout);
}

static void *in_thread(void *step)
{
    for (int round = 0; round < 3; round++)
        use(step, in(place, "bundle.pem"), in(place, "hashed"));
    return NULL;
}

static void replace(const char *name, const char *with)
{
    if (rename(in(place, with), in(place, name)))
        abort();
}

static X509 *read_leaf(const char *name)
{
    FILE *file = fopen(in(place, name), "r");
    X509 *found = PEM_read_X509(file, NULL, NULL, NULL);
    if (!found)
        abort();
    fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    size_t at = 0, all = sizeof ENTRIES / sizeof *ENTRIES;
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        while (at < all)
            puts(ENTRIES[at++].name);
        return 0;
    }
    while (at < all && (argc != 3 || strcmp(ENTRIES[at].name, argv[1])))
        at++;
    if (at == all)
        return 2;
    entry = ENTRIES[at].name, load = ENTRIES[at].load, place = argv[2];
    become_nobody();
    /* libcrypto sets itself up: without Windlass this, too, would be the first load. */
    OPENSSL_init_ssl(0, NULL);
    leaf = read_leaf("leaf.pem"), other = read_leaf("other.pem");
    const char *good = in(place, "bundle.pem"), *folder = in(place, "hashed");
    unsigned char random[16];
    RAND_bytes(random, sizeof random);
    printf("%s/warm: %d %d\n", entry, X509_verify(leaf, X509_get0_pubkey(leaf)), X509_cmp(leaf, other) != 0);
    use("first", good, folder);
    use("hit", good, folder);
    use("hit", good, folder);
    use("missing", in(place, "none.pem"), in(place, "none"));
    use("unreadable", in(place, "secret.pem"), in(place, "locked"));
    use("empty", in(place, "empty.pem"), in(place, "empty"));
    use("kind", place, good);
    use("null-file", "", "");
    pid_t child = fork();
    if (!child) {
        use("child", good, folder);
        use("child-hit", good, folder);
        _exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status)
        abort();
    replace("bundle.pem", "next.pem");
    replace("hashed", "hashed.next");
    use("changed", good, folder);
    replace("hashed", "none.dir");
    use("gone", good, folder);
    pthread_t threads[2];
    for (int n = 0; n < 2; n++)
        pthread_create(&threads[n], NULL, in_thread, "thread");
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], NULL);
    return 0;
}
