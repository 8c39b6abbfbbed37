/* pointers LIBRARY: one function has one address, in whatever way a program comes by it (C11 6.5.9). Prints how many
 * differ. */
#include "field.h"

#include <dlfcn.h>

#define ADDRESS(name) (void *)name,
static void *const in_data[] = {EACH_PRESENT(ADDRESS)};
#define NAME(name) #name,
static const char *const names[] = {EACH_PRESENT(NAME)};

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    void *handle = dlopen(argv[1], RTLD_NOW), *self = dlopen(NULL, RTLD_NOW);
    int differing = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found[] = {in_data[i], dlsym(RTLD_DEFAULT, names[i]), dlsym(handle, names[i]), dlsym(self, names[i]),
                         dlsym(RTLD_NEXT, names[i]),
                         dlsym(RTLD_DEFAULT, names[i])};
        for (size_t k = 1; k < sizeof found / sizeof *found; k++) {
            if (found[k] != found[0]) {
                printf("%s: way %zu\n", names[i], k);
                differing++;
            }
        }
    }
    printf("differing: %d\n", differing);
    /* An error stays one. */
    printf("missing: %d\n", dlsym(handle, "X509_STORE_no_such_function") == NULL);
    const char *error = dlerror();
    printf("%s\n", error ? error : "none");
    printf("%d\n", dlerror() == NULL);
    return 0;
}
