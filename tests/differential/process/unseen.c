/*
 * A certificate that is added by a function pointer which nobody else has
 * seen: what was loaded before counts all the same.
 *
 *     unseen FOLDER
 *
 * FOLDER holds bundle.pem, twin.pem with a root of the same subject as one of
 * the bundle, and leaf.pem of that one.
 */
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

static X509 *read_certificate(const char *path)
{
    FILE *in = fopen(path, "re");
    X509 *x = in == NULL ? NULL : PEM_read_X509(in, NULL, NULL, NULL);

    if (x == NULL) {
        fprintf(stderr, "unseen: cannot read %s\n", path);
        exit(3);
    }
    fclose(in);
    return x;
}

/* Read from libcrypto's own symbol table: no function of the linker is asked. */
static int look(struct dl_phdr_info *info, size_t size, void *found)
{
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Dyn) *entry = NULL;
    const uint32_t *hash = NULL;
    uint32_t i, count = 0;

    (void)size;
    if (strstr(info->dlpi_name, "libcrypto") == NULL)
        return 0;
    for (i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            names = (const char *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_GNU_HASH)
            hash = (const uint32_t *)entry->d_un.d_ptr;
    }
    if (symbols == NULL || names == NULL || hash == NULL)
        return 0;
    /* The chains of the last bucket end where the table does. */
    {
        const uint32_t *buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / 4), *chains = buckets + hash[0];

        for (i = 0; i < hash[0]; i++)
            if (buckets[i] > count)
                count = buckets[i];
        while (count >= hash[1] && !(chains[count - hash[1]] & 1))
            count++;
    }
    for (i = 0; i <= count; i++)
        if (symbols[i].st_value != 0 && strcmp(names + symbols[i].st_name, "X509_STORE_add_cert") == 0)
            *(void **)found = (void *)(info->dlpi_addr + symbols[i].st_value);
    return 1;
}

int main(int argc, char **argv)
{
    int (*add)(X509_STORE *, X509 *) = NULL;
    X509_STORE *store;
    X509_STORE_CTX *ctx;
    X509 *twin, *leaf;
    int turn;

    if (argc != 2 || chdir(argv[1]) != 0) {
        fprintf(stderr, "use: unseen FOLDER\n");
        return 2;
    }
    dl_iterate_phdr(look, &add);
    if (add == NULL)
        return 4;
    twin = read_certificate("twin.pem");
    leaf = read_certificate("leaf.pem");
    for (turn = 0; turn < 2; turn++) {
        store = X509_STORE_new();
        ctx = X509_STORE_CTX_new();
        printf("loaded %d\n", X509_STORE_load_locations(store, "bundle.pem", NULL));
        printf("added %d\n", add(store, twin));
        X509_STORE_CTX_init(ctx, store, leaf, NULL);
        X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(ctx), NOW);
        printf("verified %d", X509_verify_cert(ctx));
        printf(", %s\n", X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
        X509_STORE_CTX_free(ctx);
        X509_STORE_free(store);
    }
    X509_free(twin);
    X509_free(leaf);
    return 0;
}
