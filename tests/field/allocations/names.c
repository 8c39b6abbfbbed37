/*
 * names FILE COUNT [once]: lists the CA names of FILE, of which there are COUNT, again and again, and each time a read
 * fails at another place, or the memory for what was read. libssl reads by lines, which does not fail here; who reads
 * the file in another way must come to all names, too, or leave them to libssl.
 */
#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static int reads, failing_read = -1;

/* What libcrypto's BIO_read calls. */
size_t fread(void *to, size_t size, size_t count, FILE *from)
{
    static size_t (*original)(void *, size_t, size_t, FILE *);

    if (original == NULL)
        original = (size_t(*)(void *, size_t, size_t, FILE *))dlsym(RTLD_NEXT, "fread");
    if (failing_read >= 0 && reads++ >= failing_read) {
        errno = EIO;
        from->_flags |= 0x20; /* ferror() says so (glibc, _IO_ERR_SEEN) */
        return 0;
    }
    return original(to, size, count, from);
}

static int list(const char *file)
{
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(file);
    int count = sk_X509_NAME_num(names);

    sk_X509_NAME_pop_free(names, X509_NAME_free);
    ERR_clear_error();
    return count;
}

int main(int argc, char **argv)
{
    int wanted, bad = 0, found, at;

    if (argc < 3)
        return 2;
    wanted = atoi(argv[2]);
    bad += (found = list(argv[1])) != wanted;
    printf("%d\n", found);
    if (argc > 3)
        return bad != 0;
    for (at = 0; at < 6; at++) {
        reads = 0, failing_read = at;
        bad += (found = list(argv[1])) != wanted;
        printf("read %d fails: %d\n", at, found);
        failing_read = -1;
    }
    /* What is read is more than any line, name or certificate of the file. */
    for (at = 10; at <= 26; at++) {
        set_plan((struct plan){ LARGE, 1ul << at, 0 });
        arm_failing(1);
        found = list(argv[1]);
        arm_failing(0);
        bad += at >= 15 && found != wanted;
        if (at >= 15)
            printf("memory for %d bytes fails: %d\n", 1 << at, found);
    }
    return bad != 0;
}
