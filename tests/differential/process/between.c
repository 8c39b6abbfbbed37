/*
 * between WHAT BUNDLE LEAF: libcrypto's memory is shared by processes, as kamailio's
 * tls module has it (CRYPTO_set_mem_functions). One process makes, loads or frees a
 * store, and another one works with it.
 */
#include "pki.h"
#include <openssl/crypto.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 28, HEAD = 16 };

static char *memory;
static size_t *used;
static const char *bundle;
static X509_STORE **store;
static X509 *leaf;

static void *allocate(size_t size, const char *file, int line)
{
    size_t at = __atomic_fetch_add(used, (size + HEAD + 15) & ~(size_t)15, __ATOMIC_SEQ_CST);

    (void)file;
    (void)line;
    if (size == 0 || at + size + HEAD > SIZE)
        return NULL;
    memcpy(memory + at, &size, sizeof size);
    return memory + at + HEAD;
}

/* Whatever is used after it was freed is no pointer. */
static void release(void *block, const char *file, int line)
{
    size_t size;

    (void)file;
    (void)line;
    if (block == NULL)
        return;
    memcpy(&size, (char *)block - HEAD, sizeof size);
    memset(block, 0xdd, size);
}

static void *reallocate(void *block, size_t size, const char *file, int line)
{
    void *next = allocate(size, file, line);
    size_t before;

    if (block == NULL || next == NULL)
        return next;
    memcpy(&before, (char *)block - HEAD, sizeof before);
    memcpy(next, block, before < size ? before : size);
    release(block, file, line);
    return next;
}

static void load(void)
{
    printf("load %d\n", X509_STORE_load_locations(*store, bundle, NULL));
}

static void make(void)
{
    *store = X509_STORE_new();
}

static void make_and_load(void)
{
    make();
    load();
}

static void verify(void)
{
    printf("verify %d\n", verified(*store, leaf));
}

static void end(void)
{
    X509_STORE_free(*store);
}

static void in_child(void (*work)(void))
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        work();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    bundle = argv[2];
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 3;
    used = (size_t *)memory;
    store = (X509_STORE **)(memory + 64);
    *used = 4096;
    if (!CRYPTO_set_mem_functions(allocate, reallocate, release))
        return 4;
    leaf = read_certificate(argv[3]);
    if (strcmp(argv[1], "made") == 0) {
        X509_STORE_free(X509_STORE_new());
        in_child(make_and_load);
        verify();
        in_child(verify);
        printf("objects %d\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(*store)));
        in_child(end);
    } else if (strcmp(argv[1], "loaded") == 0) {
        make();
        in_child(load);
        verify();
        in_child(verify);
        end();
    } else if (strcmp(argv[1], "forked") == 0) {
        make_and_load();
        in_child(verify);
        verify();
        end();
    } else if (strcmp(argv[1], "freed") == 0) {
        make_and_load();
        in_child(end);
        OPENSSL_cleanup();
    } else {
        return 2;
    }
    puts("done");
    return 0;
}
