/* An auditing library (LD_AUDIT) that is told of each symbol when it is bound, and gives the program another function
 * for one (la_symbind64, elf/dl-runtime.c). A slot that is bound at the first call must still be bound by the linker,
 * or nobody asks the auditor. */
#include <link.h>
#include <stdio.h>
#include <string.h>

static int (*original)(void *store, const char *file, const char *path);

static int audited(void *store, const char *file, const char *path) {
    puts("audited");
    fflush(stdout);
    return original(store, file, path);
}

unsigned la_version(unsigned version) {
    (void)version;
    return LAV_CURRENT;
}

unsigned la_objopen(struct link_map *object, Lmid_t namespace, uintptr_t *cookie) {
    (void)namespace, (void)cookie;
    return object->l_name[0] == 0 ? LA_FLG_BINDFROM : strstr(object->l_name, "libcrypto") != NULL ? LA_FLG_BINDTO : 0;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name) {
    (void)number, (void)from, (void)to, (void)flags;
    if (strcmp(name, "X509_STORE_load_locations") != 0)
        return symbol->st_value;
    original = (int (*)(void *, const char *, const char *))symbol->st_value;
    return (uintptr_t)audited;
}
