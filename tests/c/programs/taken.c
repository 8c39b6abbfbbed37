/* taken attach|early FILE: takes addresses of OpenSSL's functions, attaches, and mixes them with calls of now. Prints
 * the status, and how often a store of now is found to hold a certificate that was added through an old address. */
#include <dlfcn.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <windlass.h>

int main(int count, char **arguments)
{
    int (*add)(X509_STORE *, X509 *);
    char status[8192];
    FILE *file = count > 2 ? fopen(arguments[2], "r") : NULL;
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    int early = count > 1 && strcmp(arguments[1], "early") == 0;

    if (certificate == NULL)
        return 2;
    *(void **)&add = early ? NULL : dlsym(RTLD_DEFAULT, "X509_STORE_add_cert");
    if ((early ? windlass_attach_early(NULL) : windlass_attach(NULL)) != WINDLASS_ATTACHED)
        return 3;
    X509_STORE *store = X509_STORE_new();
    int loaded = X509_STORE_set_default_paths(store), added = (add ? add : X509_STORE_add_cert)(store, certificate);
    printf("%d %d %d\n", loaded, added, sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    X509_STORE_free(store);
    X509_free(certificate);
    fclose(file);
    windlass_status(status, sizeof status);
    fputs(status, stdout);
    return 0;
}
