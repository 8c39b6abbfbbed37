/* Each entry point of GnuTLS that loads, searches, enumerates or verifies, in each state of its source, between marks.

     entries_gnutls ENTRY PLACE
     entries_gnutls --list

   As entries.c does for OpenSSL. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "mark.h"

typedef struct {
    gnutls_certificate_credentials_t credentials;
    gnutls_x509_trust_list_t list;
} Trust;
typedef int Load(Trust *trust, const char *file, const char *folder);

#define PEM GNUTLS_X509_FMT_PEM
#define ENTRY(name, call)                                                    \
    static int name(Trust *trust, const char *file, const char *folder)      \
    {                                                                        \
        (void)trust, (void)file, (void)folder;                               \
        return call;                                                         \
    }

static int from_memory(Trust *trust, const char *file)
{
    gnutls_datum_t data;
    if (gnutls_load_file(file, &data) < 0)
        return -1;
    int count = gnutls_x509_trust_list_add_trust_mem(trust->list, &data, NULL, PEM, 0, 0);
    gnutls_free(data.data);
    return count;
}

ENTRY(trust_file, gnutls_certificate_set_x509_trust_file(trust->credentials, file, PEM))
ENTRY(trust_file_der, gnutls_certificate_set_x509_trust_file(trust->credentials, file, GNUTLS_X509_FMT_DER))
ENTRY(trust_dir, gnutls_certificate_set_x509_trust_dir(trust->credentials, folder, PEM))
ENTRY(system_trust, gnutls_certificate_set_x509_system_trust(trust->credentials))
ENTRY(crl_file, gnutls_certificate_set_x509_crl_file(trust->credentials, file, PEM))
ENTRY(list_file, gnutls_x509_trust_list_add_trust_file(trust->list, file, NULL, PEM, 0, 0))
ENTRY(list_file_and_crl, gnutls_x509_trust_list_add_trust_file(trust->list, file, file, PEM, 0, 0))
ENTRY(list_dir, gnutls_x509_trust_list_add_trust_dir(trust->list, folder, NULL, PEM, 0, 0))
ENTRY(list_system, gnutls_x509_trust_list_add_system_trust(trust->list, 0, 0))
ENTRY(list_memory, from_memory(trust, file))

#define ROW(name) { #name, name }
static const struct {
    const char *name;
    Load *load;
} ENTRIES[] = {
    ROW(trust_file), ROW(trust_file_der), ROW(trust_dir), ROW(system_trust), ROW(crl_file), ROW(list_file),
        ROW(list_file_and_crl),
    ROW(list_dir), ROW(list_system), ROW(list_memory),
};

static const char *entry, *place;
static Load *load;
static gnutls_x509_crt_t leaf, other;

#define STEP(letter) (snprintf(name, sizeof name, "%s-%s", step, letter), name)

static void use(const char *step, const char *file, const char *folder)
{
    char name[64];
    Trust trust = { NULL, NULL };
    int result = 0, count = 0, found = 0;
    unsigned verdict = 0, again = 0;
    gnutls_x509_crt_t issuer = NULL;
    BETWEEN_MARKS(entry, STEP("new"), {
        gnutls_certificate_allocate_credentials(&trust.credentials);
        gnutls_x509_trust_list_init(&trust.list, 0);
    });
    BETWEEN_MARKS(entry, STEP("load"), result = load(&trust, file, folder));
    gnutls_x509_trust_list_t of_credentials = NULL;
    BETWEEN_MARKS(entry, STEP("verify"), gnutls_x509_trust_list_verify_crt(trust.list, &leaf, 1, 0, &verdict, NULL));
    BETWEEN_MARKS(entry, STEP("unknown"),
                  gnutls_x509_trust_list_verify_crt2(trust.list, &other, 1, NULL, 0, 0, &again, NULL));
    BETWEEN_MARKS(entry, STEP("issuer"),
                  found = gnutls_x509_trust_list_get_issuer(trust.list, leaf, &issuer, GNUTLS_TL_GET_COPY));
    if (found == 0)
        gnutls_x509_crt_deinit(issuer);
    BETWEEN_MARKS(entry, STEP("list"), {
        gnutls_certificate_get_trust_list(trust.credentials, &of_credentials);
        gnutls_x509_trust_list_verify_crt(of_credentials, &leaf, 1, 0, &again, NULL);
    });
    BETWEEN_MARKS(entry, STEP("iterate"), {
        gnutls_x509_trust_list_iter_t at = NULL;
        gnutls_x509_crt_t one;
        while (gnutls_x509_trust_list_iter_get_ca(trust.list, &at, &one) == 0) {
            gnutls_x509_crt_deinit(one);
            count++;
        }
    });
    BETWEEN_MARKS(entry, STEP("free"), {
        gnutls_x509_trust_list_deinit(trust.list, 1);
        gnutls_certificate_free_credentials(trust.credentials);
    });
    printf("%s/%s: %d, verdict %x %x, issuer %d, %d\n", entry, step, result, verdict, again, found, count);
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

static gnutls_x509_crt_t read_leaf(const char *name)
{
    gnutls_datum_t data;
    gnutls_x509_crt_t found;
    if (gnutls_load_file(in(place, name), &data) < 0 || gnutls_x509_crt_init(&found) < 0 ||
        gnutls_x509_crt_import(found, &data, PEM) < 0)
        abort();
    gnutls_free(data.data);
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
    gnutls_global_init();
    leaf = read_leaf("leaf.pem"), other = read_leaf("other.pem");
    const char *good = in(place, "bundle.pem"), *folder = in(place, "hashed");
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
