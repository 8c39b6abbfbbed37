/* trust_files PATH: the program of row D. One call of gnutls_certificate_set_x509_trust_file for PATH, or for every
 * file of it if it is a directory. Prints how many certificates GnuTLS says it has loaded. */
#include <dirent.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    gnutls_certificate_credentials_t credentials;
    struct dirent *entry;
    int loaded = 0;
    if (argc != 2 || gnutls_certificate_allocate_credentials(&credentials) < 0)
        return 1;
    DIR *folder = opendir(argv[1]);
    if (folder == NULL)
        loaded = gnutls_certificate_set_x509_trust_file(credentials, argv[1], GNUTLS_X509_FMT_PEM);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        int one = gnutls_certificate_set_x509_trust_file(credentials, path, GNUTLS_X509_FMT_PEM);
        loaded += one > 0 ? one : 0;
    }
    if (folder != NULL)
        closedir(folder);
    gnutls_certificate_free_credentials(credentials);
    printf("%d\n", loaded);
    return loaded > 0 ? 0 : 1;
}
