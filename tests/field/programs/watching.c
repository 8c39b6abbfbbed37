/* A preloaded library that stands in front of what others stand in front of (fakeroot, fakechroot, cowdancer), and
 * says which of it was called before the C library was ready: while `environ` is still NULL (csu/init-first.c sets it,
 * as the first of all constructors but one with -z initfirst). Such libraries read their settings at the first call;
 * made that early it finds none, and they go by that from then on. The calls go to the kernel by themselves. The
 * constructor reports: programs may have closed standard error at their end. */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static char early[1000];

static void note(const char *name) {
    if (environ == NULL && strlen(early) + strlen(name) + 2 < sizeof early)
        strcat(strcat(early, " "), name);
}

__attribute__((constructor)) static void report(void) {
    char line[sizeof early + 20] = "early:";
    strcat(strcat(line, early[0] != 0 ? early : " none"), "\n");
    syscall(SYS_write, 2, line, strlen(line));
}

#define STANDS_IN(type, name, number, parameters, ...) \
    type name parameters { \
        note(#name); \
        return (type)syscall(number, __VA_ARGS__); \
    }

STANDS_IN(int, stat, SYS_newfstatat, (const char *path, struct stat *out), AT_FDCWD, path, out, 0)
STANDS_IN(int, stat64, SYS_newfstatat, (const char *path, struct stat64 *out), AT_FDCWD, path, out, 0)
STANDS_IN(int, lstat, SYS_newfstatat, (const char *path, struct stat *out), AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW)
STANDS_IN(int, lstat64, SYS_newfstatat, (const char *path, struct stat64 *out),
          AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW)
STANDS_IN(int, fstat, SYS_newfstatat, (int file, struct stat *out), file, "", out, AT_EMPTY_PATH)
STANDS_IN(int, fstat64, SYS_newfstatat, (int file, struct stat64 *out), file, "", out, AT_EMPTY_PATH)
STANDS_IN(int, fstatat, SYS_newfstatat, (int folder, const char *path, struct stat *out, int flags),
          folder, path, out, flags)
STANDS_IN(int, fstatat64, SYS_newfstatat, (int folder, const char *path, struct stat64 *out, int flags),
          folder, path, out, flags)
STANDS_IN(int, statx, SYS_statx, (int folder, const char *path, int flags, unsigned mask, struct statx *out),
          folder, path, flags, mask, out)
STANDS_IN(int, statfs, SYS_statfs, (const char *path, struct statfs *out), path, out)
STANDS_IN(int, statfs64, SYS_statfs, (const char *path, struct statfs64 *out), path, out)
STANDS_IN(int, fstatfs, SYS_fstatfs, (int file, struct statfs *out), file, out)
STANDS_IN(int, fstatfs64, SYS_fstatfs, (int file, struct statfs64 *out), file, out)
STANDS_IN(int, access, SYS_faccessat, (const char *path, int mode), AT_FDCWD, path, mode)
STANDS_IN(ssize_t, readlink, SYS_readlinkat, (const char *path, char *out, size_t size), AT_FDCWD, path, out, size)
STANDS_IN(int, close, SYS_close, (int file), file)
STANDS_IN(uid_t, getuid, SYS_getuid, (void), 0)
STANDS_IN(uid_t, geteuid, SYS_geteuid, (void), 0)
STANDS_IN(gid_t, getgid, SYS_getgid, (void), 0)
STANDS_IN(gid_t, getegid, SYS_getegid, (void), 0)

#define OPENS(name, folder_parameter, folder) \
    int name(folder_parameter const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        note(#name); \
        return (int)syscall(SYS_openat, folder, path, flags, mode); \
    }

#define FOLDER int folder,
OPENS(open, , AT_FDCWD)
OPENS(open64, , AT_FDCWD)
OPENS(openat, FOLDER, folder)
OPENS(openat64, FOLDER, folder)
