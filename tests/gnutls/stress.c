/*
 * Threads that load, verify and look up while sources change under them, and processes forked meanwhile.
 *
 *     stress FOLDER threads ROUNDS   64 threads share credentials and lists; others load a file that is replaced,
 *                                    extended, removed
 *     stress FOLDER fork ROUNDS      fork while threads load and verify
 *
 * FOLDER holds root-a.pem, root-b.pem, leaf-a.pem, leaf-b.pem and both.pem. Prints one line, and nothing that depends
 * on timing. Exit status 1 if anything happened that the stock library rules out.
 */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
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

static gnutls_x509_crt_t leaf_a, leaf_b;
static int rounds;
static atomic_int wrong, stop;
/* Odd while the file is only replaced by rename; goes up with each change. */
static atomic_int phase;

static void fail(const char *what)
{
    if (atomic_fetch_add(&wrong, 1) < 10)
        fprintf(stderr, "stress: %s\n", what);
}

static time_t fixed_time(time_t *out)
{
    if (out != NULL)
        *out = NOW;
    return NOW;
}

static gnutls_x509_crt_t read_leaf(const char *path)
{
    gnutls_datum_t text;
    gnutls_x509_crt_t x;

    if (gnutls_load_file(path, &text) < 0 || gnutls_x509_crt_init(&x) < 0
            || gnutls_x509_crt_import(x, &text, GNUTLS_X509_FMT_PEM) < 0) {
        fprintf(stderr, "stress: cannot read %s\n", path);
        exit(3);
    }
    gnutls_free(text.data);
    return x;
}

static int trusts(gnutls_x509_trust_list_t list, gnutls_x509_crt_t leaf)
{
    unsigned status = 0;

    return gnutls_x509_trust_list_verify_crt2(list, &leaf, 1, NULL, 0, 0, &status, NULL) == 0 && status == 0;
}

static int listed(gnutls_x509_trust_list_t list)
{
    gnutls_x509_trust_list_iter_t iterator = NULL;
    gnutls_x509_crt_t x;
    int n = 0;

    for (; gnutls_x509_trust_list_iter_get_ca(list, &iterator, &x) == 0; n++)
        gnutls_x509_crt_deinit(x);
    return n;
}

/* A list of a credential, which is as lazy as it can be; the credential owns it. */
static gnutls_certificate_credentials_t credential(const char *path, int *loaded)
{
    gnutls_certificate_credentials_t c;

    if (gnutls_certificate_allocate_credentials(&c) < 0)
        exit(3);
    *loaded = gnutls_certificate_set_x509_trust_file(c, path, GNUTLS_X509_FMT_PEM);
    return c;
}

/* What all threads use at once. */
static gnutls_x509_trust_list_t shared_list;
static gnutls_certificate_credentials_t shared_credential;
static pthread_barrier_t begin, end;

/* Each round has a new list and credential, on which all threads do everything that does not change them. */
static void use_shared(int me, int n)
{
    gnutls_x509_crt_t found = NULL;
    gnutls_x509_trust_list_t own;

    if (!trusts(shared_list, me % 2 ? leaf_a : leaf_b))
        fail("a shared list lost a root");
    switch ((me + n) % 8) {
    case 0:
        if (listed(shared_list) != 2)
            fail("a shared list does not have its two certificates");
        break;
    case 1:
        if (gnutls_x509_trust_list_get_issuer(shared_list, leaf_a, &found, 0) != 0)
            fail("no issuer in the shared list");
        break;
    case 2:
        if (gnutls_x509_trust_list_get_issuer(shared_list, leaf_b, &found, GNUTLS_TL_GET_COPY) != 0)
            fail("no copy of an issuer from the shared list");
        gnutls_x509_crt_deinit(found);
        break;
    case 3:
        gnutls_certificate_get_trust_list(shared_credential, &own);
        if (!trusts(own, leaf_a) || listed(own) != 2)
            fail("a shared credential's list");
        break;
    default:
        if (gnutls_certificate_get_issuer(shared_credential, leaf_b, &found, GNUTLS_TL_GET_COPY) != 0)
            fail("no issuer in the shared credential");
        gnutls_x509_crt_deinit(found);
    }
    if (!trusts(shared_list, leaf_a) || !trusts(shared_list, leaf_b))
        fail("a shared list lost a root after it was looked at");
}

static void load_own(void)
{
    int before = atomic_load(&phase), loaded, a, b;
    gnutls_certificate_credentials_t c = credential("live.pem", &loaded);
    gnutls_x509_trust_list_t list;

    a = b = 0;
    if (loaded > 0) {
        gnutls_x509_crt_t found;

        a = gnutls_certificate_get_issuer(c, leaf_a, &found, GNUTLS_TL_GET_COPY) == 0;
        if (a)
            gnutls_x509_crt_deinit(found);
        b = gnutls_certificate_get_issuer(c, leaf_b, &found, GNUTLS_TL_GET_COPY) == 0;
        if (b)
            gnutls_x509_crt_deinit(found);
    }
    if (before % 2 && before == atomic_load(&phase) && (loaded != 1 || a + b != 1))
        fail("a credential saw something other than one whole file");
    gnutls_certificate_get_trust_list(c, &list);
    if (listed(list) != a + b || (loaded > 0) != (a + b > 0))
        fail("a list has other certificates than those that were found in it");
    gnutls_certificate_free_credentials(c);
}

static void *worker(void *arg)
{
    int me = (int)(size_t)arg, n;

    for (n = 0; n < rounds; n++) {
        pthread_barrier_wait(&begin);
        use_shared(me, n);
        load_own();
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void copy(const char *from, const char *to, const char *mode)
{
    char buffer[65536];
    FILE *in = fopen(from, "re"), *out = fopen(to, mode);
    size_t n = in == NULL || out == NULL ? 0 : fread(buffer, 1, sizeof(buffer), in);

    if (n == 0 || fwrite(buffer, 1, n, out) != n)
        fail("copying a file");
    if (in != NULL)
        fclose(in);
    if (out != NULL)
        fclose(out);
}

static void replace(const char *from)
{
    copy(from, "fresh.pem", "we");
    if (rename("fresh.pem", "live.pem") != 0)
        fail("rename");
}

static void *changer(void *arg)
{
    int n;
    (void)arg;

    for (n = 0; !atomic_load(&stop); n++) {
        if (n % 200 < 100) {
            replace(n % 2 ? "root-a.pem" : "root-b.pem");
            if (n % 200 == 0)
                atomic_store(&phase, n / 100 + 1);
        } else {
            if (n % 200 == 100)
                atomic_store(&phase, n / 100 + 1);
            if (n % 4 == 0)
                copy("root-a.pem", "live.pem", "ae");
            else if (n % 4 == 1 && truncate("live.pem", 100) != 0)
                continue;
            else if (n % 4 == 2)
                unlink("live.pem");
            else
                copy("both.pem", "live.pem", "we");
        }
        usleep(50);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS], other;
    int n, loaded;

    pthread_barrier_init(&begin, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    replace("root-a.pem");
    pthread_create(&other, NULL, changer, NULL);
    for (n = 0; n < THREADS; n++)
        pthread_create(&all[n], NULL, worker, (void *)(size_t)n);
    for (n = 0; n < rounds; n++) {
        gnutls_x509_trust_list_init(&shared_list, n % 3 ? 0 : 1);
        if (gnutls_x509_trust_list_add_trust_file(shared_list, "both.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0) != 2)
            fail("loading the shared list");
        shared_credential = credential("both.pem", &loaded);
        pthread_barrier_wait(&begin);
        pthread_barrier_wait(&end);
        gnutls_x509_trust_list_deinit(shared_list, 1);
        gnutls_certificate_free_credentials(shared_credential);
    }
    for (n = 0; n < THREADS; n++)
        pthread_join(all[n], NULL);
    atomic_store(&stop, 1);
    pthread_join(other, NULL);
}

/* Threads of a process that forks: each with lists of its own, made, verified with, completed and freed. */
static void *busy(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) {
        gnutls_x509_trust_list_t list;

        gnutls_x509_trust_list_init(&list, 0);
        gnutls_x509_trust_list_add_trust_file(list, "both.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        if (!trusts(list, leaf_a) || listed(list) != 2)
            fail("a list of a busy thread");
        gnutls_x509_trust_list_deinit(list, 1);
    }
    return NULL;
}

/*
 * GnuTLS and malloc survive a fork at any time; a child that used a list of the
 * parent's, or could not load or verify any more, would not end by itself.
 */
static int child(void)
{
    gnutls_x509_trust_list_t list;
    int good = trusts(shared_list, leaf_a) && trusts(shared_list, leaf_b) && listed(shared_list) == 2;

    gnutls_x509_trust_list_init(&list, 0);
    good = good && gnutls_x509_trust_list_add_trust_file(list, "both.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0) == 2
        && trusts(list, leaf_b) && trusts(list, leaf_a) && listed(list) == 2;
    gnutls_x509_trust_list_deinit(list, 1);
    return good ? 0 : 1;
}

static void forks(void)
{
    pthread_t all[8];
    int n, status;

    for (n = 0; n < 8; n++)
        pthread_create(&all[n], NULL, busy, NULL);
    for (n = 0; n < rounds; n++) {
        pid_t pid;

        gnutls_x509_trust_list_init(&shared_list, 0);
        if (gnutls_x509_trust_list_add_trust_file(shared_list, "both.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0) != 2)
            fail("loading the shared list");
        if (n % 2 && !trusts(shared_list, leaf_a))
            fail("the parent's list");
        pid = fork();
        if (pid == 0) {
            alarm(60); /* for a child that waits for ever */
            _exit(child());
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            fail("a forked child could not load and verify");
        if (!trusts(shared_list, leaf_b))
            fail("the parent's list after a fork");
        gnutls_x509_trust_list_deinit(shared_list, 1);
    }
    atomic_store(&stop, 1);
    for (n = 0; n < 8; n++)
        pthread_join(all[n], NULL);
}

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[1]) != 0)
        return 3;
    rounds = atoi(argv[3]);
    gnutls_global_init();
    gnutls_global_set_time_function(fixed_time);
    leaf_a = read_leaf("leaf-a.pem");
    leaf_b = read_leaf("leaf-b.pem");
    if (strcmp(argv[2], "threads") == 0)
        threads();
    else
        forks();
    gnutls_x509_crt_deinit(leaf_a);
    gnutls_x509_crt_deinit(leaf_b);
    printf("%s: %s\n", argv[2], atomic_load(&wrong) ? "WRONG" : "ok");
    return atomic_load(&wrong) != 0;
}
