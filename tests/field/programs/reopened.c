/* reopened GNUTLS [cleared]: GnuTLS is closed while a list of it is left behind, and comes to lie somewhere else. With
 * -DUSES_ENVIRON the program has the C library's environ in itself (R_*_COPY); `cleared`: it empties its
 * environment. */
#include "linker.h"

#include <sys/mman.h>

#ifdef USES_ENVIRON
extern char **environ;
#endif

static int (*allocate)(void **), (*load)(void *, const char *, int);

static void *find(void *library, const char *bundle) {
    void *credentials = NULL;
    allocate = dlsym(library, "gnutls_certificate_allocate_credentials");
    load = dlsym(library, "gnutls_certificate_set_x509_trust_file");
    allocate(&credentials);
    printf("loaded: %d\n", load(credentials, bundle, 1));
    return credentials;
}

int main(int argc, char **argv) {
    begin();
    if (argc < 2)
        return 2;
    char *bundle = strdup(getenv("FIELD_BUNDLE"));
#ifdef USES_ENVIRON
    printf("environment: %d\n", environ != NULL);
#endif
    if (argc > 2)
        clearenv();
    void *library = opened(argv[1], RTLD_NOW), *session = NULL;
    find(library, bundle);
    dlclose(library);
    /* Where it was is taken: by something small. */
    for (int i = 0; i < 3; i++)
        mmap(NULL, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    library = opened(argv[1], RTLD_NOW);
    int (*init)(void **, unsigned) = dlsym(library, "gnutls_init");
    init(&session, 1);
    find(library, bundle);
    void (*request)(void *, int) = dlsym(library, "gnutls_certificate_server_set_request");
    request(session, 1);
    puts("end");
    return 0;
}
