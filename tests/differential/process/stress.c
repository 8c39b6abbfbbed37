/*
 * Threads that make contexts and verify while the source changes under them,
 * and processes forked while another thread loads.
 *
 *     stress FOLDER threads ROUNDS   bundle replaced, extended, truncated, removed
 *     stress FOLDER fork ROUNDS      fork while threads load
 *     stress FOLDER pinned ROUNDS    contexts keep what they loaded
 *
 * FOLDER holds root-a.pem, root-b.pem, leaf-a.pem, leaf-b.pem and a hashed
 * directory dir/. Prints one line, and nothing that depends on timing. Exit
 * status 1 if anything happened that the stock library rules out.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 64
#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static X509 *leaf_a, *leaf_b;
static int rounds, only_renames;
static atomic_int wrong, stop;
/* Odd while the bundle is only replaced by rename; goes up with each change. */
static atomic_int phase;

static void fail(const char *what)
{
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "stress: %s\n", what);
}

static X509 *read_leaf(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "stress: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

static int trusts(X509_STORE *store, X509 *leaf)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int good = 0;

    if (ctx != NULL && X509_STORE_CTX_init(ctx, store, leaf, NULL)) {
        X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
        good = X509_verify_cert(ctx) == 1;
    }
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* One context: what it was able to load, and which of the two roots it trusts. */
static int load(SSL_CTX **out, const char *file, const char *path, int *a, int *b)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    int loaded;

    if (ctx == NULL) {
        fail("SSL_CTX_new");
        return 0;
    }
    loaded = SSL_CTX_load_verify_locations(ctx, file, path);
    *a = trusts(SSL_CTX_get_cert_store(ctx), leaf_a);
    *b = trusts(SSL_CTX_get_cert_store(ctx), leaf_b);
    if (out != NULL)
        *out = ctx;
    else
        SSL_CTX_free(ctx);
    ERR_clear_error();
    return loaded;
}

/* While the bundle is only ever replaced by rename, each context sees exactly
 * one of the two files. */
static void *worker(void *arg)
{
    int n, a, b, loaded;
    (void)arg;

    for (n = 0; n < rounds; n++) {
        int before = atomic_load(&phase);

        loaded = load(NULL, "live.pem", NULL, &a, &b);
        if (before % 2 && before == atomic_load(&phase) && (!loaded || a + b != 1))
            fail("a context saw something other than one whole file");
        if (!loaded && a + b != 0)
            fail("a failed load left trust behind");
        if (n % 8 == 0) {
            load(NULL, NULL, "dir", &a, &b);
            if (!a)
                fail("the directory lost a root");
        }
    }
    return NULL;
}

static void copy(const char *from, const char *to, int flags)
{
    char buffer[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    ssize_t n = in < 0 ? -1 : read(in, buffer, sizeof(buffer));

    if (n < 0 || out < 0 || write(out, buffer, (size_t)n) != n)
        fail("copying a file");
    close(in);
    close(out);
}

static void replace(const char *from)
{
    copy(from, "fresh.pem", O_TRUNC);
    if (rename("fresh.pem", "live.pem") != 0)
        fail("rename");
}

static void *changer(void *arg)
{
    int n;
    (void)arg;

    for (n = 0; !atomic_load(&stop); n++) {
        if (n % 200 < 100 || only_renames) {
            replace(n % 2 ? "root-a.pem" : "root-b.pem");
            if (n % 200 == 0)
                atomic_store(&phase, n / 100 + 1);
        } else {
            if (n % 200 == 100)
                atomic_store(&phase, n / 100 + 1);
            switch (n % 5) {
            case 0: copy("root-a.pem", "live.pem", O_APPEND); break;
            case 1: if (truncate("live.pem", 200) != 0 && errno != ENOENT) fail("truncate"); break;
            case 2: copy("root-b.pem", "live.pem", O_TRUNC); break;
            case 3: unlink("live.pem"); break;
            default: replace("both.pem");
            }
        }
        usleep(200);
    }
    return NULL;
}

static void start(pthread_t *threads, int count, void *(*run)(void *))
{
    int i;

    for (i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, NULL) != 0) {
            perror("stress: pthread_create");
            exit(3);
        }
}

static void join(pthread_t *threads, int count)
{
    int i;

    for (i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void run_threads(void)
{
    pthread_t workers[THREADS], change;
    int a, b;

    replace("root-a.pem");
    start(&change, 1, changer);
    start(workers, THREADS, worker);
    join(workers, THREADS);
    atomic_store(&stop, 1);
    join(&change, 1);
    /* After the storm: removed is removed, added is added, at once. */
    replace("root-b.pem");
    if (!load(NULL, "live.pem", NULL, &a, &b) || a || !b)
        fail("the next context did not follow the file");
    unlink("live.pem");
    if (load(NULL, "live.pem", NULL, &a, &b) || a || b)
        fail("a removed file was still trusted");
}

/* Loads and nothing else: a verification takes the C library's time zone lock,
 * and a child forked while that is held hangs in its own verification with or
 * without us. */
static void *loader(void *arg)
{
    (void)arg;

    while (!atomic_load(&stop)) {
        X509_STORE *store = X509_STORE_new();

        if (store == NULL || !X509_STORE_load_locations(store, "live.pem", "dir"))
            fail("load while forking");
        X509_STORE_free(store);
    }
    return NULL;
}

enum { HANGS = 3, HANGS_IN_OPENSSL = 4 };

/*
 * A child hangs, and this says where: in the first object above the C library
 * that waits. OpenSSL's own locks (extra data, engines) may be held by a thread
 * that the child does not have, with or without us: such a child is counted
 * apart, and another one is forked in its place. It is the other ones that must
 * not be; these get more time, as they may only be slow.
 */
static void hangs(int number)
{
    static int calls;
    void *frames[64];
    int i, count = backtrace(frames, 64);
    Dl_info info;

    (void)number;
    /* The first two are this function and the kernel's return from it. */
    for (i = 2; i < count; i++) {
        if (dladdr(frames[i], &info) == 0 || strstr(info.dli_fname, "libc.so") != NULL
            || strstr(info.dli_fname, "ld-linux") != NULL)
            continue;
        if (strstr(info.dli_fname, "libcrypto") || strstr(info.dli_fname, "libssl"))
            _exit(HANGS_IN_OPENSSL);
        break;
    }
    if (calls++ > 0)
        _exit(HANGS);
    alarm(300);
}

/* The child finds whatever state the other threads left, and must get along. */
static void run_fork(void)
{
    pthread_t threads[8], change;
    void *frame;
    int n, status, a, b, in_openssl = 0;

    replace("root-a.pem");
    /* What is set up once, OpenSSL and the stack walk, is not what is tested. */
    if (!load(NULL, "root-a.pem", "dir", &a, &b) || backtrace(&frame, 1) != 1)
        fail("the first load");
    signal(SIGALRM, hangs);
    start(threads, 8, loader);
    start(&change, 1, changer);
    for (n = 0; n < rounds && in_openssl <= 4 + rounds / 10; n++) {
        pid_t pid = fork();

        if (pid == 0) {
            char own[64];
            alarm(20); /* a deadlock ends the test instead of stopping it */
            snprintf(own, sizeof(own), "own-%d.pem", (int)getpid());
            copy("root-b.pem", own, O_TRUNC);
            int good = load(NULL, own, NULL, &a, &b) && b && !a
                    && load(NULL, "root-a.pem", "dir", &a, &b) && a;
            unlink(own);
            _exit(good ? 0 : 1);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            fail("fork");
        else if (WIFEXITED(status) && WEXITSTATUS(status) == HANGS_IN_OPENSSL)
            in_openssl++, n--;
        else if (WIFEXITED(status) && WEXITSTATUS(status) == HANGS) {
            fail("a forked child waits for a thread that it does not have");
            break; /* each takes minutes */
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail("a forked child could not load and verify");
    }
    signal(SIGALRM, SIG_DFL);
    /* Rare in stock: were it common, it would hide what this is about. */
    if (in_openssl > 4 + rounds / 10)
        fail("too many children wait for OpenSSL's own locks");
    if (in_openssl > 0)
        fprintf(stderr, "stress: %d children waited for OpenSSL's own locks\n", in_openssl);
    atomic_store(&stop, 1);
    join(threads, 8);
    join(&change, 1);
}

/* A context keeps what it loaded, whatever happens to the file. */
static void run_pinned(void)
{
    SSL_CTX *kept[64];
    int n, i, a, b;

    for (n = 0; n < rounds; n++) {
        for (i = 0; i < 64; i++) {
            replace(i % 2 ? "root-a.pem" : "root-b.pem");
            if (!load(&kept[i], "live.pem", NULL, &a, &b) || a != i % 2 || b == i % 2)
                fail("a fresh context has the wrong root");
        }
        unlink("live.pem");
        for (i = 0; i < 64; i++) {
            X509_STORE *store = SSL_CTX_get_cert_store(kept[i]);

            if (trusts(store, leaf_a) != i % 2 || trusts(store, leaf_b) == i % 2)
                fail("a context changed what it trusts");
            SSL_CTX_free(kept[i]);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: stress FOLDER threads|fork|pinned ROUNDS\n");
        return 2;
    }
    rounds = atoi(argv[3]);
    leaf_a = read_leaf("leaf-a.pem");
    leaf_b = read_leaf("leaf-b.pem");
    alarm(6000);
    if (strcmp(argv[2], "threads") == 0)
        run_threads();
    else if (strcmp(argv[2], "fork") == 0) {
        only_renames = 1; /* a load must never fail here */
        run_fork();
    } else
        run_pinned();
    X509_free(leaf_a);
    X509_free(leaf_b);
    printf("%s: %d rounds, %d wrong\n", argv[2], rounds, atomic_load(&wrong));
    return atomic_load(&wrong) != 0;
}
