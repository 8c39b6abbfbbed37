/* Stands in front of one function, which -DFUNCTION names: passes the call on, or with -DFAILS lets it fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUNCTION_dlopen 1
#define FUNCTION_dlsym 2
#define FUNCTION_dl_iterate_phdr 3
#define FUNCTION_X509_STORE_new 4
#define FUNCTION_mprotect 5
#define NUMBER_(name) FUNCTION_##name
#define NUMBER(name) NUMBER_(name)
#define WHICH NUMBER(FUNCTION)
#ifdef FAILS
#define IS_TO_FAIL 1
#else
#define IS_TO_FAIL 0
#endif

#if WHICH == FUNCTION_dlopen
void *dlopen(const char *path, int mode) {
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return IS_TO_FAIL && path && strstr(path, "windlass") ? NULL : next(path, mode);
}
#elif WHICH == FUNCTION_dlsym
void *dlsym(void *library, const char *name) {
    void *(*next)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    /* A name that nobody has leaves the text that dlerror returns. */
    return next(library, IS_TO_FAIL && strstr(name, "windlass") ? "" : name);
}
#elif WHICH == FUNCTION_dl_iterate_phdr
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data) {
    int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
        (int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return IS_TO_FAIL ? 0 : next(each, data);
}
#elif WHICH == FUNCTION_X509_STORE_new
void *X509_STORE_new(void) {
    /* libcrypto is not in the scope of RTLD_NEXT if a module of Python has brought it. */
    void *libcrypto = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD);
    if (!libcrypto)
        libcrypto = dlopen("libcrypto.so.1.1", RTLD_LAZY | RTLD_NOLOAD);
    return ((void *(*)(void))dlsym(libcrypto, "X509_STORE_new"))();
}
#elif WHICH == FUNCTION_mprotect
int mprotect(void *start, size_t size, int access) {
    if (IS_TO_FAIL && access & PROT_WRITE) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, start, size, access);
}
#else
#error "no such function"
#endif
