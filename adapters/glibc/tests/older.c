/* Calls what shim.c has, linked without --wrap: nothing is then bound to the names of today, as on an older glibc. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct found {
    unsigned long long flags;
    void *start, *end, *map, *eh_frame;
    unsigned long long reserved[7];
};
int __wrap__dl_find_object(void *, struct found *);
void *__wrap_dlopen(const char *, int);
void *__wrap_dlsym(void *, const char *);
int __wrap_pthread_key_create(unsigned *, void (*)(void *));
int __wrap_pthread_setspecific(unsigned, const void *);
int __wrap_pthread_sigmask(int, const sigset_t *, sigset_t *);
int __wrap_memfd_create(const char *, unsigned);
int __wrap_stat64(const char *, struct stat *);
int __wrap_lstat(const char *, struct stat *);
int __wrap_fstat(int, struct stat *);
int __wrap_fstatat(int, const char *, struct stat *, int);

static int same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode
        && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec;
}

int main(int argc, char **argv)
{
    (void)argc;
    /* This program, libc, and an address that no object has. glibc's own answer is there since 2.35. */
    int (*real)(void *, struct found *) = (int (*)(void *, struct found *))dlsym(RTLD_DEFAULT, "_dl_find_object");
    int heap_like;
    void *places[] = {(void *)main, dlsym(RTLD_DEFAULT, "strlen"), &heap_like};
    for (int at = 0; at < 3; at++) {
        struct found ours, theirs;
        memset(&ours, 0xff, sizeof ours);
        int answer = __wrap__dl_find_object(places[at], &ours);
        assert(answer == (at == 2 ? -1 : 0));
        if (real)
            assert(real(places[at], &theirs) == answer && (answer || ours.eh_frame == theirs.eh_frame));
    }
    assert(!__wrap_dlopen("libc.so.6", RTLD_NOW) && !__wrap_dlsym(RTLD_DEFAULT, "strlen"));
    unsigned key = 0;
    assert(__wrap_pthread_key_create(&key, NULL) == 0 && key != 0 && __wrap_pthread_setspecific(key, &key) == 0);
    sigset_t usr1, before, now;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert(__wrap_pthread_sigmask(SIG_BLOCK, &usr1, &before) == 0 && !sigismember(&before, SIGUSR1));
    assert(__wrap_pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1));
    assert(__wrap_pthread_sigmask(1000, &usr1, NULL) == EINVAL);
    int memory = __wrap_memfd_create("older", MFD_CLOEXEC);
    assert(memory >= 0 && write(memory, "four", 4) == 4);
    struct stat a, b;
    assert(__wrap_fstat(memory, &a) == 0 && fstat(memory, &b) == 0 && same(&a, &b) && a.st_size == 4);
    assert(__wrap_stat64(argv[0], &a) == 0 && stat(argv[0], &b) == 0 && same(&a, &b));
    assert(__wrap_lstat("/proc/self/exe", &a) == 0 && lstat("/proc/self/exe", &b) == 0 && S_ISLNK(a.st_mode));
    assert(__wrap_fstatat(AT_FDCWD, argv[0], &a, 0) == 0 && stat(argv[0], &b) == 0 && same(&a, &b));
    errno = 0;
    assert(__wrap_stat64("/nowhere/at/all", &a) == -1 && errno == ENOENT);
    puts("as today");
    return 0;
}
