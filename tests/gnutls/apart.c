/*
 * A libgnutls whose calls of itself come to no other library, because the process has opened it with RTLD_DEEPBIND, and
 * a module that is linked against it.
 *
 *     apart LIBGNUTLS MODULE PATH-A PATH-BOTH LEAF-A      (the module is this file, compiled with -DMODULE)
 */
#ifdef MODULE
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>

int use(const char *root_a, const char *both, const char *leaf_a);

int use(const char *root_a, const char *both, const char *leaf_a)
{
    gnutls_x509_trust_list_t list;
    gnutls_certificate_credentials_t credentials;
    gnutls_x509_crt_t leaf, found = NULL;
    gnutls_datum_t text;
    unsigned status = 0;

    if (gnutls_load_file(leaf_a, &text) < 0 || gnutls_x509_crt_init(&leaf) < 0
            || gnutls_x509_crt_import(leaf, &text, GNUTLS_X509_FMT_PEM) < 0 || gnutls_x509_trust_list_init(&list, 0) < 0
            || gnutls_certificate_allocate_credentials(&credentials) < 0)
        return 3;
    printf("add %d\n", gnutls_x509_trust_list_add_trust_file(list, both, NULL, GNUTLS_X509_FMT_PEM, 0, 0));
    printf("remove %d\n", gnutls_x509_trust_list_remove_trust_file(list, root_a, GNUTLS_X509_FMT_PEM));
    printf("verify %d", gnutls_x509_trust_list_verify_crt2(list, &leaf, 1, NULL, 0, GNUTLS_VERIFY_DISABLE_TIME_CHECKS,
                                                           &status, NULL));
    printf(" %#x\n", status);
    gnutls_x509_trust_list_deinit(list, 1);
    printf("add %d\n", gnutls_certificate_set_x509_trust_file(credentials, both, GNUTLS_X509_FMT_PEM));
    printf("issuer %d\n", gnutls_certificate_get_issuer(credentials, leaf, &found, 0));
    gnutls_certificate_free_credentials(credentials);
    return 0;
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*use)(const char *, const char *, const char *);
    void *module;

    if (argc != 6 || dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) == NULL
            || (module = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) == NULL
            || (*(void **)&use = dlsym(module, "use")) == NULL) {
        fprintf(stderr, "apart: %s\n", dlerror());
        return 3;
    }
    return use(argv[3], argv[4], argv[5]);
}
#endif
