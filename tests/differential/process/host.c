/*
 * A program with several libcryptos: it is linked with one, and loads driver
 * libraries, each linked with another, by dlopen(RTLD_LOCAL) as interpreters
 * load their extension modules.
 *
 *     host DRIVER-LIBRARY SCRIPT [DRIVER-LIBRARY SCRIPT ...]
 *
 * Before each it uses the libcrypto it is linked with itself.
 */
#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

static void use_own_library(const char *file)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    int loaded = SSL_CTX_load_verify_locations(ctx, file, NULL);
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));

    printf("host: loaded %d, %d objects\n", loaded, sk_X509_OBJECT_num(objects));
    SSL_CTX_free(ctx);
}

int main(int argc, char **argv)
{
    int i;

    for (i = 1; i + 1 < argc; i += 2) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*run)(int, char **);
        char *words[] = { argv[i], argv[i + 1], NULL };

        use_own_library("roots.pem");
        if (library == NULL) {
            printf("host: %s\n", dlerror());
            return 3;
        }
        run = (int (*)(int, char **))dlsym(library, "driver_main");
        printf("host: driver %d of %d gives %d\n", i / 2 + 1, argc / 2, run(2, words));
        fflush(stdout);
        use_own_library("other.pem");
    }
    return 0;
}
