/* Loads, verifications, additions, removals and enumerations of GnuTLS' trust lists, each through the table. */
#include "field.h"

static const struct functions *f;

struct datum { /* gnutls_datum_t */
    unsigned char *data;
    unsigned size;
};
enum { PEM = 1, SHA256 = 6, GET_COPY = 1 << 4, SERVER = 1, REQUIRE = 2 };

/* What libgnutls allocates here is left to it: in a namespace of its own the memory is that of another libc. */
static struct datum contents(const char *name) {
    struct datum read = {NULL, 0};
    if (f->gnutls_load_file(path_of(name), &read) < 0)
        exit(2);
    return read;
}

static void *certificate(const char *name) {
    struct datum pem = contents(name);
    void *cert;
    f->gnutls_x509_crt_init(&cert);
    f->gnutls_x509_crt_import(cert, &pem, PEM);
    return cert;
}

static unsigned long print_of(void *cert) {
    unsigned char bytes[32] = {0};
    size_t size = sizeof bytes;
    unsigned long print = 5381;
    if (cert == NULL || f->gnutls_x509_crt_get_fingerprint(cert, SHA256, bytes, &size) < 0)
        return 0;
    for (size_t i = 0; i < size; i++)
        print = print * 33 + bytes[i];
    return print;
}

static void verify(const char *title, void *list, const char *leaf) {
    void *chain[2] = {certificate(leaf), certificate("INTERMEDIATE")};
    unsigned status = 0x77777777, again = 0x77777777;
    int first = f->gnutls_x509_trust_list_verify_crt2(list, chain, 2, NULL, 0, 0, &status, NULL);
    int second = f->gnutls_x509_trust_list_verify_crt(list, chain, 2, 0, &again, NULL);
    printf("  %s: %d %x, %d %x\n", title, first, status, second, again);
    again = 0x77777777;
    first = f->gnutls_x509_trust_list_verify_named_crt(list, chain[0], "good", 4, 0, &again, NULL);
    printf("  named: %d %x\n", first, again);
    f->gnutls_x509_crt_deinit(chain[0]);
    f->gnutls_x509_crt_deinit(chain[1]);
}

static void search(void *list) {
    void *intermediate = certificate("INTERMEDIATE"), *root = certificate("ROOT"), *issuer = NULL;
    int found = f->gnutls_x509_trust_list_get_issuer(list, intermediate, &issuer, GET_COPY);
    printf("  issuer: %d %d\n", found, found == 0 && print_of(issuer) == print_of(root));
    if (found == 0)
        f->gnutls_x509_crt_deinit(issuer);
    f->gnutls_x509_crt_deinit(intermediate);
    f->gnutls_x509_crt_deinit(root);
}

static void ocsp(void *list) {
    struct datum der = contents("OCSP");
    void *response;
    unsigned status = 0x77777777;
    f->gnutls_ocsp_resp_init(&response);
    printf("  ocsp: %d", f->gnutls_ocsp_resp_import(response, &der));
    printf(" %d", f->gnutls_ocsp_resp_verify(response, list, &status, 0));
    printf(" %x\n", status);
    f->gnutls_ocsp_resp_deinit(response);

}

static void search_by_name(void *list) {
    void *root = certificate("ROOT"), *issuer = NULL;
    struct datum dn = {NULL, 0};
    unsigned char id[64];
    size_t size = sizeof id;
    f->gnutls_x509_crt_get_raw_dn(root, &dn);
    f->gnutls_x509_crt_get_subject_key_id(root, id, &size, NULL);
    struct datum key = {id, (unsigned)size};
    int found = f->gnutls_x509_trust_list_get_issuer_by_dn(list, &dn, &issuer, GET_COPY);
    printf("  by dn: %d %d\n", found, found == 0 && print_of(issuer) == print_of(root));
    if (found == 0)
        f->gnutls_x509_crt_deinit(issuer);
    found = f->gnutls_x509_trust_list_get_issuer_by_subject_key_id(list, &dn, &key, &issuer, GET_COPY);
    printf("  by key: %d %d\n", found, found == 0 && print_of(issuer) == print_of(root));
    if (found == 0)
        f->gnutls_x509_crt_deinit(issuer);

    f->gnutls_x509_crt_deinit(root);
}

static void enumerate(void *list) {
    void *iterator = NULL, *cert;
    unsigned long digest = 5381;
    int count = 0, result;
    while ((result = f->gnutls_x509_trust_list_iter_get_ca(list, &iterator, &cert)) == 0) {
        digest = digest * 33 + print_of(cert);
        f->gnutls_x509_crt_deinit(cert);
        count++;
    }
    printf("  objects: %d, %lx, %d\n", count, digest, result);
}

static void change(void *list) {
    void *twin = certificate("TWIN"), *leaf = certificate("CHAIN"), *crl;
    struct datum pem = contents("CRL");
    f->gnutls_x509_crl_init(&crl);
    f->gnutls_x509_crl_import(crl, &pem, PEM);
    printf("  add_cas: %d\n", f->gnutls_x509_trust_list_add_cas(list, &twin, 1, 0));
    printf("  add_named: %d\n", f->gnutls_x509_trust_list_add_named_crt(list, leaf, "good", 4, 0));
    printf("  add_crls: %d\n", f->gnutls_x509_trust_list_add_crls(list, &crl, 1, 0, 0));
}

/* Once each, as the list then owns what it was given. */
static int add_file(void *list) {
    return f->gnutls_x509_trust_list_add_trust_file(list, path_of("BUNDLE"), NULL, PEM, 0, 0);
}
static int add_mem(void *list) {
    struct datum pem = contents("BUNDLE");
    int added = f->gnutls_x509_trust_list_add_trust_mem(list, &pem, NULL, PEM, 0, 0);
    return added;
}
static int add_dir(void *list) {
    return f->gnutls_x509_trust_list_add_trust_dir(list, path_of("CAPATH"), NULL, PEM, 0, 0);
}
static int add_system(void *list) { return f->gnutls_x509_trust_list_add_system_trust(list, 0, 0); }
static const struct loader {
    const char *name;
    int (*load)(void *);
} loaders[] = {{"file", add_file}, {"mem", add_mem}, {"dir", add_dir}, {"system", add_system}};

static void use(void *list, int order) {
    if (order == 1)
        enumerate(list);
    verify("good", list, "CHAIN");
    verify("untrusted", list, "UNTRUSTED");
    search(list);
    ocsp(list);
    if (order == 2)
        search_by_name(list);
    if (order == 3)
        f->gnutls_x509_trust_list_set_getissuer_function(list, NULL);
    change(list);
    verify("good again", list, "CHAIN");
    void *root = certificate("ROOT");
    printf("  remove: %d\n", f->gnutls_x509_trust_list_remove_cas(list, &root, 1));
    f->gnutls_x509_crt_deinit(root);
    printf("  remove file: %d\n", f->gnutls_x509_trust_list_remove_trust_file(list, path_of("CAPATH_FILE"), PEM));
    verify("good without", list, "CHAIN");
    enumerate(list);
}

static void lists(void) {
    for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++) {
        for (int order = 0; order < 4; order++) {
            void *list;
            printf("%s, order %d: %d\n", loaders[i].name, order, f->gnutls_x509_trust_list_init(&list, 0));
            printf("  load: %d\n", loaders[i].load(list));
            use(list, order);
            f->gnutls_x509_trust_list_deinit(list, 1);
        }
    }
}

static void credentials(void) {
    for (int how = 0; how < 3; how++) {
        void *credentials, *list = NULL, *session;
        f->gnutls_certificate_allocate_credentials(&credentials);
        printf("credentials %d: %d\n", how,
               how == 0   ? f->gnutls_certificate_set_x509_system_trust(credentials)
               : how == 1 ? f->gnutls_certificate_set_x509_trust_file(credentials, path_of("BUNDLE"), PEM)
                          : f->gnutls_certificate_set_x509_trust_dir(credentials, path_of("CAPATH"), PEM));
        f->gnutls_init(&session, SERVER);
        if (how == 2)
            f->gnutls_certificate_server_set_request(session, REQUIRE);
        f->gnutls_deinit(session);
        if (how == 1)
            f->gnutls_certificate_free_ca_names(credentials);
        f->gnutls_certificate_get_trust_list(credentials, &list);
        use(list, 0);
        f->gnutls_certificate_free_credentials(credentials);
    }
}

void script(const struct functions *functions) {
    f = functions;
#define SAY(name) if (!f->name) printf("no " #name "\n");
    EACH_FUNCTION(SAY)
    lists();
    f->gnutls_global_set_audit_log_function(NULL);
    f->gnutls_global_set_log_function(NULL);
    credentials();
    fflush(stdout);
}
