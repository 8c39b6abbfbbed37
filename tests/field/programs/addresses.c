/* addresses [libcrypto]: one function has one address in a process (C11 6.5.9), and in an executable whose code has
 * the address as a constant that is its own entry of the procedure linkage table: the linker gives it to everybody
 * else, too (st_value of an undefined symbol, elf/dl-lookup.c). Asked are the program itself, code in it that takes
 * the address from the global offset table, a library (LIBRARY), dlsym, and, if that is wanted, libcrypto: to it the
 * function is its own where the executable has no such entry (ARCHITECTURE.md, Known differences). */
void *X509_STORE_CTX_get1_issuer(void), *X509_STORE_CTX_get1_certs(void);

#ifdef LIBRARY
void *address_in_library(void) { return X509_STORE_CTX_get1_issuer; }
#else
#include "linker.h"

void *address_in_library(void);
void *X509_STORE_new(void), *X509_STORE_CTX_new(void);
int X509_STORE_CTX_init(void *, void *, void *, void *);
void *X509_STORE_CTX_get_get_issuer(void *), *X509_STORE_CTX_get_lookup_certs(void *);
void *X509_STORE_get_get_issuer(void *);
void X509_STORE_set_get_issuer(void *, void *);

static void *from_table(void) {
    void *address;
    __asm__("movq X509_STORE_CTX_get1_issuer@GOTPCREL(%%rip), %0" : "=r"(address));
    return address;
}

static void *volatile in_data = X509_STORE_CTX_get1_issuer;

static void same(const char *title, void *one, void *other) {
    printf("%s: %s\n", title, one == other ? "same" : "another");
}

int main(int argc, char **argv) {
    (void)argv;
    begin();
    void *own = X509_STORE_CTX_get1_issuer, *store = X509_STORE_new(), *context = X509_STORE_CTX_new();
    X509_STORE_CTX_init(context, store, NULL, NULL);
    same("in data", own, in_data);
    same("from the table", own, from_table());
    same("library's", own, address_in_library());
    same("default", own, dlsym(RTLD_DEFAULT, "X509_STORE_CTX_get1_issuer"));
    same("next", own, dlsym(RTLD_NEXT, "X509_STORE_CTX_get1_issuer"));
    if (argc > 1) {
        same("libcrypto's for issuers", own, X509_STORE_CTX_get_get_issuer(context));
        same("libcrypto's for certificates", X509_STORE_CTX_get1_certs, X509_STORE_CTX_get_lookup_certs(context));
    }
    X509_STORE_set_get_issuer(store, own);
    same("set and got", own, X509_STORE_get_get_issuer(store));
    return 0;
}
#endif
