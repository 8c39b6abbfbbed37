/* A library with a table of functions (LIBRARY), and the program that uses it. The executable's code has the table's
 * address as that of a variable of its own, so the linker copies the library's relocated table there (R_X86_64_COPY,
 * sysdeps/x86_64/dl-machine.h): there the functions have no import slot. Nobody sees calls through the copy; who still
 * puts off the load of a file lists no objects there. */
struct table {
    void *(*make)(void);
    void *(*objects)(void *store);
};

#ifdef LIBRARY
void *X509_STORE_new(void), *X509_STORE_get0_objects(void *);

const struct table table = {X509_STORE_new, X509_STORE_get0_objects};
#else
#include "late.h"
#include "linker.h"

extern const struct table table;

int main(void) {
    begin();
    void *made[] = {X509_STORE_new(), table.make()};
    for (int i = 0; i < 2; i++) {
        printf("load: %d\n", X509_STORE_load_locations(made[i], path_of("BUNDLE"), NULL));
        printf("all: %d objects\n", OPENSSL_sk_num(table.objects(made[i])));
        verify("good", made[i], "CHAIN");
    }
    return 0;
}
#endif
