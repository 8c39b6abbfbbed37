/* For a library that every program of a machine loads, and that stays loaded. Each function that it takes from
 * another costs each program a search through all of its libraries (elf/dl-lookup.c). */

#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

/* What the compiler's crtbeginS.o has. Its other parts are for a library that is unloaded, and for a C library
 * without init_array. */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

/* What Rust's std prints the message of a panic with, and uses for nothing else. Our panic hook prints none, and
 * these keep the library from printing at all. */
int __wrap___xpg_strerror_r(int error, char *buffer, size_t size)
{
    (void)error;
    if (size)
        *buffer = 0;
    return 0;
}
char *__wrap_getcwd(char *buffer, size_t size)
{
    (void)buffer, (void)size;
    errno = ENOSYS;
    return NULL;
}
char *__wrap_getenv(const char *name)
{
    (void)name;
    return NULL;
}
pid_t __wrap_gettid(void) { return 0; }
off_t __wrap_lseek64(int descriptor, off_t offset, int whence)
{
    (void)descriptor, (void)offset, (void)whence;
    errno = ENOSYS;
    return -1;
}
ssize_t __wrap_readlink(const char *path, char *buffer, size_t size)
{
    (void)path, (void)buffer, (void)size;
    errno = ENOSYS;
    return -1;
}
char *__wrap_realpath(const char *path, char *resolved)
{
    (void)path, (void)resolved;
    errno = ENOSYS;
    return NULL;
}
ssize_t __wrap_write(int descriptor, const void *bytes, size_t count)
{
    (void)descriptor, (void)bytes, (void)count;
    errno = ENOSYS;
    return -1;
}

/* std asks for a file's state with statx where there is one, and with stat, as the stock libraries do, where it
 * fails like this. */
int __wrap_statx(int directory, const char *path, int flags, unsigned mask, void *state)
{
    (void)directory, (void)path, (void)flags, (void)mask, (void)state;
    errno = ENOSYS;
    return -1;
}

/* The unwinder comes compiled in a way by which each of these would be looked up a second time. */
extern void *__real_malloc(size_t);
extern void __real_free(void *);
extern size_t __real_strlen(const char *);
extern _Noreturn void __real_abort(void);

void *__wrap_malloc(size_t size) { return __real_malloc(size); }
void __wrap_free(void *memory) { __real_free(memory); }
size_t __wrap_strlen(const char *string) { return __real_strlen(string); }
_Noreturn void __wrap_abort(void) { __real_abort(); }

/* The unwinder takes a process without __pthread_key_create for one without threads, and calls none of these. All
 * that it would use them for is to fill a table at its first use, which is when the way in has met a library
 * (unwinding.rs), and to register tables, which nobody asks of it. */
int __wrap_pthread_once(void *once, void (*function)(void))
{
    (void)once;
    function();
    return 0;
}
int __wrap_pthread_mutex_lock(void *mutex)
{
    (void)mutex;
    return 0;
}
int __wrap_pthread_mutex_unlock(void *mutex)
{
    (void)mutex;
    return 0;
}

/* rustix looks newer functions up before it makes their system calls itself. That would wait for a thread that loads
 * a library. */
void *__wrap_dlsym(void *handle, const char *name)
{
    (void)handle, (void)name;
    return NULL;
}
