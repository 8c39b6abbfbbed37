/* Stands in front of one of OpenSSL's functions, as a library that is preloaded or linked in front of libssl. */
#define _GNU_SOURCE
#include <dlfcn.h>

int SSL_CTX_set_default_verify_paths(void *context) {
    int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "SSL_CTX_set_default_verify_paths");
    return next(context) + 41;
}
