/* A plugin, or a program (PROGRAM), that calls toys (toy.c), and says who it was.
 *
 * OWN            it defines X509_STORE_add_cert itself, and exports it: its own calls go through its slot OWN_IFUNC
 * the same by an STT_GNU_IFUNC OWN_PROTECTED  the same with protected visibility PROGRAM_OWN    the program defines
 * both, without symbol versions */
#include <stdio.h>

const char *X509_STORE_new(void);
int X509_STORE_add_cert(void *store, void *certificate);

#if defined(OWN) || defined(OWN_IFUNC) || defined(OWN_PROTECTED) || defined(PROGRAM_OWN)
#ifdef OWN_IFUNC
static int own_add(void *store, void *certificate) {
#else
#ifdef OWN_PROTECTED
__attribute__((visibility("protected")))
#endif
int X509_STORE_add_cert(void *store, void *certificate) {
#endif
    (void)store, (void)certificate;
    puts("caller's own: add");
    return 3;
}
#endif
#ifdef OWN_IFUNC
static int (*resolve(void))(void *, void *) { return own_add; }
int X509_STORE_add_cert(void *, void *) __attribute__((ifunc("resolve")));
#endif
#ifdef PROGRAM_OWN
const char *X509_STORE_new(void) {
    puts("caller's own: new");
    return "caller";
}
#endif

int act(void) {
    const char *maker = X509_STORE_new();
    printf("made by %s\n", maker ? maker : "nobody");
    printf("added: %d\n", X509_STORE_add_cert(NULL, NULL));
    return 0;
}

#ifdef PROGRAM
#include "linker.h"

int main(int argc, char **argv) {
    begin();
    act();
    if (argc > 1)
        ((int (*)(void))dlsym(opened(argv[1], RTLD_LAZY), "act"))();
    act();
    return 0;
}
#endif
