/*
 * shortage BUNDLE LEAF-A LEAF-B: in each of many processes, which have read nothing of BUNDLE before, another
 * allocation of the first verification fails. That one may end as it likes; those after it must accept both leaves,
 * whose roots share a subject: the store has both or asks again, but never one of them. BUNDLE begins with the root of
 * LEAF-A. Exit status 1 if one was not accepted.
 *
 * What libcrypto could not read of a certificate for want of memory (its key, its extensions, that it signed itself) it
 * does not read later: in this store a root that was made or checked at that moment may stay without. A store that is
 * loaded afterwards must be right.
 */
#include <link.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */
#ifdef EXFLAG_NO_FINGERPRINT
#define UNREAD (EXFLAG_INVALID | EXFLAG_NO_FINGERPRINT)
#else
#define UNREAD EXFLAG_INVALID
#endif

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);

static long left = -1; /* so many succeed before the one that fails; negative: none fails */

static uintptr_t start, end; /* of libcrypto */

/* libcrypto's allocations alone: to give it an allocator would make it one that is not served. */
static int fails(void *caller)
{
    return (uintptr_t)caller >= start && (uintptr_t)caller < end && left >= 0 && left-- == 0;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *realloc(void *old, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

static int meet(struct dl_phdr_info *object, size_t size, void *unused)
{
    int i;

    (void)size, (void)unused;
    if (strstr(object->dlpi_name, "libcrypto") == NULL)
        return 0;
    start = object->dlpi_addr;
    for (i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type == PT_LOAD)
            end = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "shortage: cannot read %s\n", path);
        exit(9);
    }
    fclose(in);
    return x;
}

/* A certificate that was checked while memory was short may remember that it is not good: each verification has its own
 * leaf. */
static int verify(X509_STORE *store, const char *path, long before)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *leaf = read_certificate(path);
    int result;

    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
    left = before;
    result = X509_verify_cert(ctx);
    X509_STORE_CTX_free(ctx);
    X509_free(leaf);
    ERR_clear_error();
    return result;
}

/* What libcrypto makes once in a process is there, and nothing of a file is. */
static void warm(const char *root, const char *leaf)
{
    X509_STORE *store = X509_STORE_new();
    X509 *x = read_certificate(root);

    X509_STORE_add_cert(store, x);
    if (verify(store, leaf, -1) != 1)
        exit(9);
    X509_free(x);
    X509_STORE_free(store);
}

static int is_read(X509_STORE *store)
{
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    int i, good = 1;

    for (i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        X509 *root = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));

        good &= X509_get0_pubkey(root) != NULL && (X509_get_extension_flags(root) & (UNREAD | EXFLAG_SS)) == EXFLAG_SS;
    }
    return good;
}

enum { GOOD, SPOILT, WRONG, ENOUGH };

static X509_STORE *load(const char *bundle)
{
    X509_STORE *store = X509_STORE_new();

    X509_STORE_load_locations(store, bundle, NULL);
    return store;
}

static int one(char **argv, long before)
{
    X509_STORE *store = load(argv[1]);
    int has_failed, first, second;

    verify(store, argv[2], before);
    has_failed = left < 0;
    left = -1;
    first = verify(store, argv[2], -1);
    second = verify(store, argv[3], -1);
    if (first == 1 && second == 1)
        return has_failed ? GOOD : ENOUGH;
    if (has_failed && !is_read(store)) {
        store = load(argv[1]);
        if (verify(store, argv[2], -1) == 1 && verify(store, argv[3], -1) == 1)
            return SPOILT;
    }
    fprintf(stderr, "shortage: after %ld allocations one failed: %d %d\n", before, first, second);
    return WRONG;
}

int main(int argc, char **argv)
{
    int count[ENOUGH + 1] = { 0 }, status = 0;
    long before;

    if (argc != 4 || !dl_iterate_phdr(meet, NULL))
        return 2;
    alarm(600);
    warm(argv[1], argv[2]);
    for (before = 0; !count[ENOUGH] && count[WRONG] < 20; before++) {
        pid_t child = fork();

        if (child == 0)
            _exit(one(argv, before));
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) > ENOUGH)
            return 9;
        count[WEXITSTATUS(status)]++;
    }
    printf("of %ld allocations: %d good, %d spoilt a root, %d wrong\n", before - 1, count[GOOD], count[SPOILT],
           count[WRONG]);
    return count[GOOD] == 0 || count[WRONG] != 0;
}
