/* What glibc 2.17 has in other places, or under other names, than the glibc of today.
 *
 * The linker sends each reference to NAME here, as __wrap_NAME, and takes __real_NAME for NAME itself (ld(1),
 * --wrap). All of those are weak and without a version: bound where a libc has them, null elsewhere. */

#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(result, name, ...) extern __attribute__((weak, visibility("default"))) result __real_##name(__VA_ARGS__)

/* dlopen and its kind are in libdl.so.2 before 2.34. To need that library would have every program of the machine
 * load it. Where it is not, no library can be loaded, nor was any: there is nothing to be found. */
REAL(void *, dlopen, const char *, int);
REAL(int, dlclose, void *);
REAL(char *, dlerror, void);
REAL(void *, dlsym, void *, const char *);
REAL(void *, dlvsym, void *, const char *, const char *);
REAL(int, dladdr, const void *, void *);
REAL(int, dladdr1, const void *, void *, void **, int);

void *__wrap_dlopen(const char *file, int mode) { return __real_dlopen ? __real_dlopen(file, mode) : NULL; }
int __wrap_dlclose(void *handle) { return __real_dlclose ? __real_dlclose(handle) : -1; }
char *__wrap_dlerror(void) { return __real_dlerror ? __real_dlerror() : NULL; }
/* resident.c has another. */
__attribute__((weak)) void *__wrap_dlsym(void *handle, const char *name)
{
    return __real_dlsym ? __real_dlsym(handle, name) : NULL;
}
void *__wrap_dlvsym(void *handle, const char *name, const char *version)
{
    return __real_dlvsym ? __real_dlvsym(handle, name, version) : NULL;
}
int __wrap_dladdr(const void *address, void *info) { return __real_dladdr ? __real_dladdr(address, info) : 0; }
int __wrap_dladdr1(const void *address, void *info, void **extra, int flags)
{
    return __real_dladdr1 ? __real_dladdr1(address, info, extra, flags) : 0;
}

/* Keys are in libpthread.so.0 before 2.34. Rust's std wants one to run destructors at a thread's end. Where that
 * library is not, there is one thread, and its end is the process's: a number that is not 0, which std would take
 * for "not yet". */
REAL(int, pthread_key_create, unsigned *, void (*)(void *));
REAL(int, pthread_key_delete, unsigned);
REAL(int, pthread_setspecific, unsigned, const void *);

int __wrap_pthread_key_create(unsigned *key, void (*destructor)(void *))
{
    if (__real_pthread_key_create)
        return __real_pthread_key_create(key, destructor);
    *key = 1;
    return 0;
}
int __wrap_pthread_key_delete(unsigned key) { return __real_pthread_key_delete ? __real_pthread_key_delete(key) : 0; }
int __wrap_pthread_setspecific(unsigned key, const void *value)
{
    return __real_pthread_setspecific ? __real_pthread_setspecific(key, value) : 0;
}

/* In libpthread.so.0 before 2.32. What sigprocmask changes is the calling thread's as well; POSIX leaves that open,
 * glibc does not. */
REAL(int, pthread_sigmask, int, const sigset_t *, sigset_t *);
int __wrap_pthread_sigmask(int how, const sigset_t *wanted, sigset_t *previous)
{
    if (__real_pthread_sigmask)
        return __real_pthread_sigmask(how, wanted, previous);
    return sigprocmask(how, wanted, previous) ? errno : 0;
}

/* Since 2.27. */
REAL(int, memfd_create, const char *, unsigned);
int __wrap_memfd_create(const char *name, unsigned flags)
{
    return __real_memfd_create ? __real_memfd_create(name, flags) : (int)syscall(SYS_memfd_create, name, flags);
}

/* stat and its kind are functions since 2.33. Before that, headers made them calls of these, with the version of the
 * structure. Where both are, the new ones are taken, as they make the system calls that other libraries' make. */
#if defined __x86_64__
#define STAT_VERSION 1
#elif defined __aarch64__
#define STAT_VERSION 0
#else
#error "the version of struct stat is not known here"
#endif
extern __attribute__((weak, visibility("default"))) int __xstat(int, const char *, struct stat *);
extern __attribute__((weak, visibility("default"))) int __lxstat(int, const char *, struct stat *);
extern __attribute__((weak, visibility("default"))) int __fxstat(int, int, struct stat *);
extern __attribute__((weak, visibility("default"))) int __fxstatat(int, int, const char *, struct stat *, int);
#define STAT(name, old, parameters, ...)                                                             \
    REAL(int, name, parameters);                                                                     \
    int __wrap_##name(parameters)                                                                    \
    {                                                                                                \
        if (__real_##name)                                                                           \
            return __real_##name(__VA_ARGS__);                                                       \
        return old(STAT_VERSION, __VA_ARGS__);                                                       \
    }
#define BY_PATH const char *path, struct stat *buffer
#define BY_DESCRIPTOR int descriptor, struct stat *buffer
#define BY_DIRECTORY int directory, const char *path, struct stat *buffer, int flags
STAT(stat, __xstat, BY_PATH, path, buffer)
STAT(lstat, __lxstat, BY_PATH, path, buffer)
STAT(fstat, __fxstat, BY_DESCRIPTOR, descriptor, buffer)
STAT(fstatat, __fxstatat, BY_DIRECTORY, directory, path, buffer, flags)

/* Where pointers have 64 bits, these are the functions of the same name without the number. Each name that is looked
 * up costs every program at its start. */
int __wrap_stat64(BY_PATH) { return __wrap_stat(path, buffer); }
int __wrap_lstat64(BY_PATH) { return __wrap_lstat(path, buffer); }
int __wrap_fstat64(BY_DESCRIPTOR) { return __wrap_fstat(descriptor, buffer); }
int __wrap_fstatat64(BY_DIRECTORY) { return __wrap_fstatat(directory, path, buffer, flags); }
int __wrap_open64(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
void *__wrap_mmap64(void *address, size_t size, int access, int flags, int descriptor, off_t offset)
{
    return mmap(address, size, access, flags, descriptor, offset);
}

/* The unwinder (libgcc_eh, since GCC 12) finds an object's unwind tables by a function of 2.35, and by nothing else
 * if it was built where that is. It reads one field of the answer (unwind-dw2-fde-dip.c, _Unwind_Find_FDE). */
struct found {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    void *eh_frame;
    unsigned long long reserved[7];
};
REAL(int, _dl_find_object, void *, struct found *);

struct search {
    ElfW(Addr) address;
    struct found *found;
};

static int look(struct dl_phdr_info *object, size_t size, void *data)
{
    struct search *search = data;
    const ElfW(Phdr) *tables = NULL;
    int is_here = 0;
    (void)size;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[at];
        ElfW(Addr) start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && search->address - start < segment->p_memsz) {
            is_here = 1;
            search->found->start = (void *)start;
            search->found->end = (void *)(start + segment->p_memsz);
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            tables = segment;
        }
    }
    if (!is_here)
        return 0;
    if (tables)
        search->found->eh_frame = (void *)(object->dlpi_addr + tables->p_vaddr);
    return 1;
}

int __wrap__dl_find_object(void *address, struct found *found)
{
    if (__real__dl_find_object)
        return __real__dl_find_object(address, found);
    struct search search = {(ElfW(Addr))address, found};
    *found = (struct found){0};
    return dl_iterate_phdr(look, &search) == 1 && found->eh_frame ? 0 : -1;
}
