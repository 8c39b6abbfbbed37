/*
 * narrow WHAT BUNDLE DIRECTORY LEAF [KIB]: a thread with the smallest stack there is
 * (PTHREAD_STACK_MIN, 16 KiB) is the first that loads, looks up or verifies. With
 * KIB the stack has that many, and what was used of it is told.
 */
#include "pki.h"
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static const char *what, *bundle, *directory;
static X509 *leaf;
static SSL_CTX *context;

static int is(const char *name)
{
    return strcmp(what, name) == 0;
}

static void *work(void *unused)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);

    (void)unused;
    if (is("store"))
        store = X509_STORE_new();
    if (is("load") || is("verify") || is("objects"))
        printf("load %d\n", SSL_CTX_load_verify_locations(context, bundle, NULL));
    if (is("store"))
        printf("load %d\n", X509_STORE_load_locations(store, bundle, NULL));
    if (is("default"))
        printf("default %d\n", SSL_CTX_set_default_verify_paths(context));
    if (is("directory"))
        printf("directory %d\n", SSL_CTX_load_verify_locations(context, NULL, directory));
    if (is("verify") || is("store") || is("default") || is("directory"))
        printf("verify %d\n", verified(store, leaf));
    if (is("objects"))
        printf("objects %d\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    if (is("names"))
        printf("names %d\n", sk_X509_NAME_num(SSL_load_client_CA_file(bundle)));
    if (is("file"))
        printf("file %d\n", X509_LOOKUP_load_file(X509_STORE_add_lookup(store, X509_LOOKUP_file()), bundle,
                                                  X509_FILETYPE_PEM));
    return NULL;
}

int main(int argc, char **argv)
{
    size_t size = PTHREAD_STACK_MIN, room = 1 << 20, unused = 0;
    pthread_attr_t narrow;
    pthread_t thread;
    char *stack;

    if (argc < 5)
        return 2;
    what = argv[1], bundle = argv[2], directory = argv[3], leaf = read_certificate(argv[4]);
    if (argc > 5)
        size = (size_t)atoi(argv[5]) << 10;
    setenv("SSL_CERT_FILE", bundle, 1);
    setenv("SSL_CERT_DIR", directory, 1);
    context = SSL_CTX_new(TLS_client_method());
    /* Below it nothing can be written. */
    stack = (char *)mmap(NULL, room + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + room;
    mprotect(stack, size, PROT_READ | PROT_WRITE);
    memset(stack, 0x5a, size);
    pthread_attr_init(&narrow);
    pthread_attr_setstack(&narrow, stack, size);
    if (pthread_create(&thread, &narrow, work, NULL) != 0)
        return 3;
    pthread_join(thread, NULL);
    while (argc > 5 && unused < size && stack[unused] == 0x5a)
        unused++;
    if (argc > 5)
        printf("used %zu\n", size - unused);
    return 0;
}
