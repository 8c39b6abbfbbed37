/* guest WHAT [N]: what a guest in a process must bear with: changing roots, users and files, forks, threads. */
#define _GNU_SOURCE
#include "reach.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char live[512];
static atomic_int stop, wrong;
static int whole; /* certificates in the bundle with the test root */

static const char *in_place(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", path_of("PLACE"), name);
    return path;
}

/* The content of `from`, into a new file that is renamed, or into the file itself; at most `limit` bytes. */
static void put(const char *from, const char *to, int renamed, size_t limit) {
    char temporary[600], *content = malloc(1 << 22);
    FILE *in = fopen(from, "rb");
    size_t length = in ? fread(content, 1, 1 << 22, in) : 0;
    if (length == 0)
        exit(2);
    fclose(in);
    snprintf(temporary, sizeof temporary, "%s%s", to, renamed ? ".new" : "");
    FILE *out = fopen(temporary, "wb");
    if (out == NULL || fwrite(content, 1, length < limit ? length : limit, out) == 0 || fclose(out) != 0)
        exit(2);
    if (renamed && rename(temporary, to) != 0)
        exit(2);
    free(content);
}

/* Return value of a load, number of certificates, verdict. */
static int print_load(const char *title, const char *path) {
    X509_STORE *store = X509_STORE_new();
    ERR_clear_error();
    int loaded = X509_STORE_load_file(store, path);
    print_errors(title);
    int verdict = verify(store, 0);
    int count = sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
    printf("%s: %d, %d objects, verdict %d\n", title, loaded, count, verdict);
    X509_STORE_free(store);
    return count;
}

/* The same path names another file inside. */
static void in_chroot(void) {
    mkdir(in_place("inner"), 0755);
    put(path_of("BUNDLE"), in_place("trust.pem"), 0, -1);
    put("/etc/ssl/certs/ca-certificates.crt", in_place("inner/trust.pem"), 0, -1);
    if (chdir(path_of("PLACE")) != 0)
        exit(2);
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0)
        perror("unshare");
    /* verify() reads the leaf by its path, so the chain is read before. */
    X509 *leaf = certificate("LEAF"), *intermediate = certificate("INTERMEDIATE");
    print_load("outside", in_place("trust.pem"));
    const char *steps[] = {".", "inner"};
    for (int i = 0; i < 2; i++) {
        if (chroot(steps[i]) != 0)
            perror("chroot");
        if (i == 1 && chdir("/") != 0)
            exit(2);
        for (int turn = 0; turn < 2; turn++) {
            X509_STORE *store = X509_STORE_new();
            int loaded = X509_STORE_load_file(store, "/trust.pem");
            STACK_OF(X509) *untrusted = sk_X509_new_null();
            sk_X509_push(untrusted, intermediate);
            X509_STORE_CTX *ctx = X509_STORE_CTX_new();
            X509_STORE_CTX_init(ctx, store, leaf, untrusted);
            printf("in %s: %d, verdict %d\n", steps[i], loaded, X509_verify_cert(ctx));
            X509_STORE_CTX_free(ctx);
            sk_X509_free(untrusted);
            X509_STORE_free(store);
        }
    }
    X509_free(leaf);
    X509_free(intermediate);
}

/* A file that the process may no longer read. */
static void privileges(void) {
    put(path_of("BUNDLE"), in_place("trust.pem"), 0, -1);
    snprintf(live, sizeof live, "%s", in_place("trust.pem"));
    print_load("may read", live);
    if (chmod(live, 0) != 0)
        exit(2);
    uid_t before = geteuid();
    if (before == 0 && seteuid(65534) != 0)
        exit(2);
    X509_STORE *store = X509_STORE_new();
    printf("may not read: %d\n", X509_STORE_load_file(store, live));
    print_errors("may not read");
    X509_STORE_free(store);
    if (before == 0 && seteuid(0) != 0)
        exit(2);
    chmod(live, 0644);
    print_load("may read again", live);
}

/* Started by a set-user-ID copy of this program. */
static void secure(void) {
    printf("secure execution: %lu\n", getauxval(AT_SECURE));
    X509_STORE *store = X509_STORE_new();
    printf("defaults: %d, ", X509_STORE_set_default_paths(store));
    printf("%d objects\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    X509_STORE_free(store);
}

/* Only whole files are ever seen: with the test root and trusted, or without it and not. */
static void *load_whole_files(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        X509_STORE *store = X509_STORE_new();
        int loaded = X509_STORE_load_file(store, live), verdict = verify(store, 0);
        int count = sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
        if (loaded != 1 || count != (verdict == 1 ? whole : whole - 1))
            atomic_fetch_add(&wrong, 1);
        X509_STORE_free(store);
    }
    return NULL;
}

static void *load_anything(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        X509_STORE *store = X509_STORE_new();
        X509_STORE_load_file(store, live);
        verify(store, 0);
        X509_STORE_free(store);
        ERR_clear_error();
    }
    return NULL;
}

/* 64 threads load while the file is replaced; then while it is also cut short, extended, emptied and removed. */
static void changing(void) {
    snprintf(live, sizeof live, "%s", in_place("trust.pem"));
    const char *full = path_of("BUNDLE"), *less = "/etc/ssl/certs/ca-certificates.crt";
    for (int part = 0; part < 2; part++) {
        put(full, live, 1, -1);
        whole = print_load("before", live);
        pthread_t ids[64];
        atomic_store(&stop, 0);
        for (int i = 0; i < 64; i++)
            pthread_create(&ids[i], NULL, part ? load_anything : load_whole_files, NULL);
        for (int turn = 0; turn < 36; turn++) {
            switch (part ? turn % 6 : turn % 2) {
            case 0: put(less, live, 1, -1); break;
            case 1: put(full, live, 1, -1); break;
            case 2: put(full, live, 0, 100000); break;
            case 3: put(full, live, 0, -1); break;
            case 4: if (truncate(live, 0) != 0) exit(2); break;
            case 5: unlink(live); break;
            }
            usleep(20000);
        }
        atomic_store(&stop, 1);
        for (int i = 0; i < 64; i++)
            pthread_join(ids[i], NULL);
        put(less, live, 1, -1);
        print_load("root removed", live);
        put(full, live, 1, -1);
        print_load("root back", live);
        if (part == 0)
            printf("wrong: %d\n", atomic_load(&wrong));
    }
}

/* Forks while `loaders` threads load a file that changes: each child can load, without waiting for a lock that a thread
 * of the parent held. OpenSSL's own locks know no fork (making a store takes one), so a child only does what Windlass
 * serves. */
static void forks_loading(int loaders) {
    snprintf(live, sizeof live, "%s", in_place("trust.pem"));
    put(path_of("BUNDLE"), live, 1, -1);
    X509_STORE *stores[60];
    for (int turn = 0; turn < 60; turn++)
        stores[turn] = X509_STORE_new();
    print_load("before", live);
    pthread_t ids[16];
    for (int i = 0; i < loaders; i++)
        pthread_create(&ids[i], NULL, load_anything, NULL);
    int good = 0;
    for (int turn = 0; turn < 60; turn++) {
        put(path_of("BUNDLE"), live, 1, -1);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(120);
            _exit(X509_STORE_load_file(stores[turn], live) == 1 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < loaders; i++)
        pthread_join(ids[i], NULL);
    for (int turn = 0; turn < 60; turn++)
        X509_STORE_free(stores[turn]);
    printf("children: %d of 60\n", good);
}

/* Leaves nothing behind: descriptors, threads, environment, directory, mask. */
static void manners(void) {
    char before[512], after[512];
    for (int turn = 0; turn < 2; turn++) {
        char *into = turn ? after : before, link[64], target[256];
        int length = 0;
        for (int fd = 0; fd < 64; fd++) {
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            ssize_t size = readlink(link, target, sizeof target);
            length += snprintf(into + length, sizeof before - (size_t)length, size > 0 ? "%d " : "", fd);
        }
        length += snprintf(into + length, sizeof before - (size_t)length, "umask %o", umask(022));
        umask(022);
        if (turn == 0) {
            errno = 1234;
            print_load("bundle", path_of("BUNDLE"));
            print_load("missing", "/nowhere/bundle.pem");
            print_load("broken", path_of("BROKEN"));
        }
    }
    printf("descriptors %s\n", strcmp(before, after) == 0 ? "as before" : after);
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "Threads:", 8) == 0 || strncmp(line, "SigCgt:", 7) == 0 || strncmp(line, "SigBlk:", 7) == 0)
            fputs(line, stdout);
    if (status)
        fclose(status);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "chroot") == 0)
        in_chroot();
    else if (strcmp(what, "privileges") == 0)
        privileges();
    else if (strcmp(what, "secure") == 0)
        secure();
    else if (strcmp(what, "changing") == 0)
        changing();
    else if (strcmp(what, "forks-loading") == 0)
        forks_loading(argc > 2 ? atoi(argv[2]) : 0);
    else if (strcmp(what, "manners") == 0)
        manners();
    else
        return 2;
    return 0;
}
