/* Work with GnuTLS before and after the process has shut itself into a system call filter.

     filtered_gnutls PLACE before|after deny|allow|writing ACTION NAME...

   "before": the first load is behind the filter. "after": a load, the filter, the same again, and a changed file. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "mark.h"
#include "filter.h"

static const char *place;
static gnutls_x509_crt_t leaf, other;

static unsigned verify(gnutls_x509_trust_list_t list, gnutls_x509_crt_t certificate)
{
    unsigned verdict = 0;
    gnutls_x509_trust_list_verify_crt(list, &certificate, 1, 0, &verdict, NULL);
    return verdict;
}

static void work(const char *when)
{
    static char line[256];
    const char *file = in(place, "bundle.pem"), *folder = in(place, "hashed");
    for (int round = 0; round < 2; round++) {
        gnutls_certificate_credentials_t credentials;
        gnutls_x509_trust_list_t list, of_folder;
        gnutls_certificate_allocate_credentials(&credentials);
        int loaded = gnutls_certificate_set_x509_trust_file(credentials, file, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_get_trust_list(credentials, &list);
        unsigned known = verify(list, leaf), unknown = verify(list, other);
        gnutls_certificate_free_credentials(credentials);
        gnutls_x509_trust_list_init(&list, 0);
        int files = gnutls_x509_trust_list_add_trust_file(list, file, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        unsigned again = verify(list, leaf);
        gnutls_x509_trust_list_deinit(list, 1);
        gnutls_x509_trust_list_init(&of_folder, 0);
        int listed = gnutls_x509_trust_list_add_trust_dir(of_folder, folder, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        unsigned third = verify(of_folder, leaf);
        gnutls_x509_trust_list_deinit(of_folder, 1);
        int n = snprintf(line, sizeof line, "%s: %d %x %x, %d %x, %d %x, %d trapped\n", when, loaded, known, unknown,
                         files, again, listed,
                         third, trapped);
        if (write(1, line, (size_t)n) != n)
            abort();
    }
}

static gnutls_x509_crt_t read_leaf(const char *name)
{
    gnutls_datum_t data;
    gnutls_x509_crt_t found;
    if (gnutls_load_file(in(place, name), &data) < 0 || gnutls_x509_crt_init(&found) < 0 ||
        gnutls_x509_crt_import(found, &data, GNUTLS_X509_FMT_PEM) < 0)
        abort();
    gnutls_free(data.data);
    return found;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    place = argv[1];
    int before = !strcmp(argv[2], "before");
    become_nobody();
    gnutls_global_init();
    leaf = read_leaf("leaf.pem"), other = read_leaf("other.pem");
    unsigned self;
    gnutls_x509_crt_verify(leaf, &leaf, 1, 0, &self);
    free(malloc(64 << 10));
    if (!before)
        work("before");
    install(argv + 3);
    mark("begin", "filtered", argv[2]);
    work("behind");
    if (!rename(in(place, "next.pem"), in(place, "bundle.pem")))
        work("changed");
    mark("end", "filtered", argv[2]);
    if (trapped)
        fprintf(stderr, "trapped: %s\n", seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, first_trapped));
    _exit(0);
}
