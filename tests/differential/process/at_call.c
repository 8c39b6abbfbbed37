/*
 * Preloaded into a program: something happens at exactly its Nth call of the C
 * library that touches files. The harness goes through all N, so that every
 * moment between two calls had its turn.
 *
 *     AT_CALL=N       counted from the first call that names a path with
 *     AT_AFTER=TEXT   this in it
 *     AT_DO=kill                  SIGKILL instead of the call
 *     AT_DO=fail:ERRNO            the call fails, if it is one that writes
 *     AT_DO=rename:FROM:TO        before the call
 *     AT_DO=copy:FROM:TO          before the call, written into the file that is there
 *     AT_DO=truncate:PATH         before the call
 *     AT_MARK=PATH    removed when it has happened; if a call failed, renamed
 *                     to PATH.failed
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int started, calls;

/* By system call: these must not be counted themselves. */
static void copy(const char *from, const char *to)
{
    char buffer[65536];
    int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY, 0);
    int out = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_TRUNC | O_CREAT, 0644);
    long n;

    while ((n = syscall(SYS_read, in, buffer, sizeof(buffer))) > 0)
        syscall(SYS_write, out, buffer, n);
    syscall(SYS_close, in);
    syscall(SYS_close, out);
}

static void act(const char *what)
{
    char words[8192], *rest = words, *verb, *from, *to;

    snprintf(words, sizeof(words), "%s", what);
    verb = strtok_r(rest, ":", &rest);
    from = strtok_r(rest, ":", &rest);
    to = strtok_r(rest, ":", &rest);
    if (strcmp(verb, "kill") == 0)
        syscall(SYS_kill, (long)getpid(), (long)SIGKILL);
    else if (strcmp(verb, "rename") == 0)
        syscall(SYS_rename, from, to);
    else if (strcmp(verb, "copy") == 0)
        copy(from, to);
    else if (strcmp(verb, "truncate") == 0)
        syscall(SYS_truncate, from, 0L);
}

/* Whether the call is to fail, with errno set. */
static int before(const char *path, int writes)
{
    const char *after = getenv("AT_AFTER"), *number = getenv("AT_CALL"), *what = getenv("AT_DO");
    const char *mark = getenv("AT_MARK");
    char failed[4096];
    int error = errno;

    if (number == NULL || what == NULL)
        return 0;
    if (path != NULL && (after == NULL || strstr(path, after) != NULL))
        atomic_store(&started, 1);
    if (!atomic_load(&started) || atomic_fetch_add(&calls, 1) + 1 != atoi(number))
        return 0;
    if (mark != NULL && writes && strncmp(what, "fail:", 5) == 0) {
        snprintf(failed, sizeof(failed), "%s.failed", mark);
        syscall(SYS_rename, mark, failed);
    } else if (mark != NULL) {
        syscall(SYS_unlink, mark);
    }
    if (strncmp(what, "fail:", 5) == 0) {
        errno = atoi(what + 5);
        return writes;
    }
    act(what);
    errno = error;
    return 0;
}

/* The definitions below have the types of the C library's own. Rust's std calls those with 64-bit offsets, and the
 * preload library has them go to the ones without, where a long has 64 bits anyway. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        __builtin_va_list ap; \
        mode_t mode; \
        \
        __builtin_va_start(ap, flags); \
        mode = flags & O_CREAT ? __builtin_va_arg(ap, mode_t) : 0; \
        __builtin_va_end(ap); \
        return before(path, flags & O_CREAT) ? -1 : NEXT(name)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

int openat64(int directory, const char *path, int flags, ...)
{
    __builtin_va_list ap;
    mode_t mode;

    __builtin_va_start(ap, flags);
    mode = flags & O_CREAT ? __builtin_va_arg(ap, mode_t) : 0;
    __builtin_va_end(ap);
    return before(path, flags & O_CREAT) ? -1 : NEXT(openat64)(directory, path, flags, mode);
}

#define STAT(name, type) \
    int name(const char *path, type *out) \
    { \
        before(path, 0); \
        return NEXT(name)(path, out); \
    }
STAT(stat, struct stat)
STAT(stat64, struct stat64)

#define FSTAT(name, type) \
    int name(int fd, type *out) \
    { \
        before(NULL, 0); \
        return NEXT(name)(fd, out); \
    }
FSTAT(fstat, struct stat)
FSTAT(fstat64, struct stat64)

int faccessat(int directory, const char *path, int mode, int flags)
{
    before(path, 0);
    return NEXT(faccessat)(directory, path, mode, flags);
}

ssize_t read(int fd, void *out, size_t n)
{
    before(NULL, 0);
    return NEXT(read)(fd, out, n);
}

int close(int fd)
{
    before(NULL, 0);
    return NEXT(close)(fd);
}

ssize_t write(int fd, const void *in, size_t n)
{
    return fd > 2 && before(NULL, 1) ? -1 : NEXT(write)(fd, in, n);
}

int fsync(int fd)
{
    return before(NULL, 1) ? -1 : NEXT(fsync)(fd);
}

int fchmod(int fd, mode_t mode)
{
    return before(NULL, 1) ? -1 : NEXT(fchmod)(fd, mode);
}

int flock(int fd, int operation)
{
    return before(NULL, 1) ? -1 : NEXT(flock)(fd, operation);
}

int rename(const char *from, const char *to)
{
    return before(from, 1) ? -1 : NEXT(rename)(from, to);
}
