/* taken attach|early FILE [PLUGIN]: takes the address of a function of OpenSSL in the way that TAKE names, attaches,
 * and adds a certificate by that address to a store of now. Prints what became of it, and the status. With -DPLUGIN:
 * the plugin, which hands the address to the program and is closed before that attaches. */
#include <dlfcn.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <windlass.h>

#define DLSYM 1
#define LIBCRYPTO 2
#define COPY 3
#define THREAD 4
#define CLOSED 5

typedef int adder(X509_STORE *, X509 *);
adder *kept;

#ifdef PLUGIN
__attribute__((constructor)) static void take(void) { *(void **)&kept = dlsym(RTLD_DEFAULT, "X509_STORE_add_cert"); }
#else
#if TAKE == LIBCRYPTO
void *DSO_global_lookup(const char *);
#elif TAKE == THREAD
static _Thread_local adder *volatile own = X509_STORE_add_cert;
#endif

static void take(const char *plugin)
{
    (void)plugin;
#if TAKE == DLSYM
    *(void **)&kept = dlsym(RTLD_DEFAULT, "X509_STORE_add_cert");
#elif TAKE == LIBCRYPTO
    *(void **)&kept = DSO_global_lookup("X509_STORE_add_cert");
#elif TAKE == COPY
    kept = X509_STORE_add_cert;
#elif TAKE == THREAD
    kept = own;
#elif TAKE == CLOSED
    dlclose(dlopen(plugin, RTLD_NOW));
#endif
}

int main(int count, char **arguments)
{
    char status[8192];
    FILE *file = count > 2 ? fopen(arguments[2], "r") : NULL;
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    int early = count > 1 && strcmp(arguments[1], "early") == 0;

    if (certificate == NULL)
        return 2;
    take(count > 3 ? arguments[3] : NULL);
    if ((early ? windlass_attach_early(NULL) : windlass_attach(NULL)) != WINDLASS_ATTACHED)
        return 3;
    X509_STORE *store = X509_STORE_new();
    int loaded = X509_STORE_set_default_paths(store), added = kept ? kept(store, certificate) : 1;
    printf("%d %d %d\n", loaded, added, sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    X509_STORE_free(store);
    X509_free(certificate);
    fclose(file);
    windlass_attach(NULL); /* changes nothing */
    windlass_status(status, sizeof status);
    fputs(status, stdout);
    return 0;
}
#endif
