/* gnutls_client HOW PATH PORT: trust from every file of a directory, one call each ("files"), from one file ("file"),
 * from a directory ("dir"), from memory ("mem") or of the system ("system"); then a verified handshake with localhost
 * on PORT. Prints the number of certificates, what GnuTLS says of the server, and the server's greeting. Exit status 1
 * when it is refused. */
#include <arpa/inet.h>
#include <dirent.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static gnutls_certificate_credentials_t credentials;

static int each_file(const char *folder) {
    struct dirent **all;
    int n = scandir(folder, &all, NULL, alphasort), loaded = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, all[i]->d_name);
        int one = gnutls_certificate_set_x509_trust_file(credentials, path, GNUTLS_X509_FMT_PEM);
        loaded += one > 0 ? one : 0;
        free(all[i]);
    }
    free(all);
    return loaded;
}

static int load(const char *how, const char *path) {
    gnutls_datum_t text;
    if (strcmp(how, "files") == 0)
        return each_file(path);
    if (strcmp(how, "file") == 0)
        return gnutls_certificate_set_x509_trust_file(credentials, path, GNUTLS_X509_FMT_PEM);
    if (strcmp(how, "dir") == 0)
        return gnutls_certificate_set_x509_trust_dir(credentials, path, GNUTLS_X509_FMT_PEM);
    if (strcmp(how, "system") == 0)
        return gnutls_certificate_set_x509_system_trust(credentials);
    if (gnutls_load_file(path, &text) < 0)
        return -1;
    int loaded = gnutls_certificate_set_x509_trust_mem(credentials, &text, GNUTLS_X509_FMT_PEM);
    gnutls_free(text.data);
    return loaded;
}

static int greet(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), result;
    static const char request[] = "GET / HTTP/1.0\r\n\r\n";
    char answer[4096], *body;
    gnutls_session_t session;
    gnutls_datum_t text;

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return 2;
    gnutls_init(&session, GNUTLS_CLIENT);
    gnutls_set_default_priority(session);
    gnutls_server_name_set(session, GNUTLS_NAME_DNS, "localhost", 9);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_session_set_verify_cert(session, "localhost", 0);
    gnutls_transport_set_int(session, fd);
    do
        result = gnutls_handshake(session);
    while (result < 0 && !gnutls_error_is_fatal(result));
    gnutls_certificate_verification_status_print(gnutls_session_get_verify_cert_status(session), GNUTLS_CRT_X509, &text,
                                                 0);
    printf("%s: %s\n", gnutls_strerror(result), text.data);
    gnutls_free(text.data);
    if (result == 0) {
        ssize_t n, used = 0;
        gnutls_record_send(session, request, sizeof request - 1);
        /* Not every record has data: TLS 1.3 sends tickets first. */
        while (used < (ssize_t)sizeof answer - 1
               && ((n = gnutls_record_recv(session, answer + used, sizeof answer - 1 - (size_t)used)) > 0
                   || (n < 0 && !gnutls_error_is_fatal((int)n))))
            used += n > 0 ? n : 0;
        answer[used] = '\0';
        body = strstr(answer, "\r\n\r\n");
        printf("%s", body != NULL ? body + 4 : answer);
    }
    gnutls_deinit(session);
    close(fd);
    return result == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    gnutls_certificate_allocate_credentials(&credentials);
    printf("%s: %d certificates\n", argv[1], load(argv[1], argv[2]));
    int refused = greet(atoi(argv[3]));
    gnutls_certificate_free_credentials(credentials);
    return refused;
}
