/* A function that is passed on by dlsym, in ways in which the linker looks at who asks (elf/dl-sym.c: RTLD_DEFAULT and
 * RTLD_NEXT mean the caller's scope). The answer is the function itself, whose calls nobody sees.
 *
 * PROGRAM_OWN   the program defines X509_STORE_get0_objects, in front of the library, and passes on by RTLD_NEXT.
 *               In an executable that is not position-independent its own calls have no slot at all
 * LIBRARY       a library passes on by RTLD_NEXT; with FOUND by a dlsym that it found by RTLD_NEXT, called as its own
 * otherwise     the program lists by `listed` of that library, or by its own function */
#include "linker.h"

typedef void *(*objects_function)(void *store);

#ifdef LIBRARY
void *listed(void *store) {
#ifdef FOUND
    void *(*find)(void *, const char *) = dlsym(RTLD_NEXT, "dlsym");
    return ((objects_function)find(RTLD_DEFAULT, "X509_STORE_get0_objects"))(store);
#else
    return ((objects_function)dlsym(RTLD_NEXT, "X509_STORE_get0_objects"))(store);
#endif
}
#else
#include "late.h"

#ifdef PROGRAM_OWN
void *X509_STORE_get0_objects(void *store) {
    return ((objects_function)dlsym(RTLD_NEXT, "X509_STORE_get0_objects"))(store);
}
#define listed X509_STORE_get0_objects
#else
void *listed(void *store);
#endif

int main(void) {
    begin();
    for (int i = 0; i < 2; i++) {
        void *store = X509_STORE_new();
        printf("load: %d\n", X509_STORE_load_locations(store, path_of("BUNDLE"), NULL));
        printf("all: %d objects\n", OPENSSL_sk_num(listed(store)));
        verify("good", store, "CHAIN");
    }
    return 0;
}
#endif
