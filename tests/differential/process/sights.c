/*
 * sights ONE TWO: a store that is kept, of two files, whose process can't always look at them; in a folder with the
 * files of pki.py. Reads commands, and answers each with a line:
 *
 *     load             a new store of both files
 *     verify           whether the chains of both roots are good
 *     nofiles, files   no free descriptors, and again
 *     user UID, root   the effective user
 *     chroot FOLDER    another root directory
 *     mounts FOLDER    another mount namespace, with FOLDER where the first file's folder is
 *     pivot FOLDER     another mount namespace with another root directory
 *     home             back from these three
 *     errors N, good   opening the files fails with this error, and again not
 */
#include "pki.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *files[2];
static int failing, root_directory, mounts;

/* Stands in front of the C library's: a file system that does not answer, or a kernel without memory. */
int open(const char *path, int flags, ...)
{
    static int (*original)(const char *, int, mode_t);
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (failing != 0 && (strcmp(path, files[0]) == 0 || strcmp(path, files[1]) == 0)) {
        errno = failing;
        return -1;
    }
    if (original == NULL)
        *(void **)&original = dlsym(RTLD_NEXT, "open");
    return original(path, flags, mode);
}

static void need(int good, const char *what)
{
    if (!good) {
        printf("%s: %s\n", what, strerror(errno));
        exit(4);
    }
}

static void namespace(void)
{
    need(unshare(CLONE_NEWNS) == 0, "unshare");
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private");
}

static void home(void)
{
    need(setns(mounts, CLONE_NEWNS) == 0, "setns");
    need(fchdir(root_directory) == 0 && chroot(".") == 0, "chroot");
}

static void pivot(const char *folder)
{
    namespace();
    need(mount(folder, folder, NULL, MS_BIND, NULL) == 0, "bind");
    need(chdir(folder) == 0 && syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
    need(umount2(".", MNT_DETACH) == 0 && chdir("/") == 0, "umount");
}

int main(int argc, char **argv)
{
    X509 *leaves[2] = {read_certificate("leaf0.pem"), read_certificate("leaf1.pem")};
    X509_STORE *store = NULL;
    struct rlimit limit, none;
    char line[4096], *value;

    if (argc != 3)
        return 2;
    files[0] = argv[1];
    files[1] = argv[2];
    root_directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        value = strchr(line, ' ');
        if (value != NULL)
            *value++ = 0;
        if (strcmp(line, "load") == 0) {
            X509_STORE_free(store);
            store = X509_STORE_new();
            for (int at = 0; at < 2; at++)
                printf("%d ", X509_STORE_load_locations(store, files[at], NULL));
            ERR_clear_error();
        } else if (strcmp(line, "verify") == 0)
            printf("%d %d", verified(store, leaves[0]), verified(store, leaves[1]));
        else if (strcmp(line, "nofiles") == 0)
            need(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
        else if (strcmp(line, "files") == 0)
            need(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
        else if (strcmp(line, "user") == 0)
            need(seteuid(atoi(value)) == 0, "seteuid");
        else if (strcmp(line, "root") == 0)
            need(seteuid(0) == 0, "seteuid");
        else if (strcmp(line, "chroot") == 0)
            need(chdir(value) == 0 && chroot(".") == 0, "chroot");
        else if (strcmp(line, "mounts") == 0) {
            char folder[4096];

            strcpy(folder, files[0]);
            namespace();
            need(mount(value, dirname(folder), NULL, MS_BIND, NULL) == 0, "bind");
        } else if (strcmp(line, "pivot") == 0)
            pivot(value);
        else if (strcmp(line, "home") == 0)
            home();
        else if (strcmp(line, "errors") == 0)
            failing = atoi(value);
        else if (strcmp(line, "good") == 0)
            failing = 0;
        else
            return 2;
        printf("\n");
        fflush(stdout);
    }
    X509_STORE_free(store);
    X509_free(leaves[0]);
    X509_free(leaves[1]);
    return 0;
}
