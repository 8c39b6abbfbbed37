/* curl_gnutls URL TIMES [cafile|capath PATH]: libcurl's build for GnuTLS, a fresh handle each time. Prints libcurl's
 * messages and what the server sends. Exit status: libcurl's last code. Declared here, because its header can't be
 * installed beside OpenSSL's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void CURL;
extern CURL *curl_easy_init(void);
extern int curl_easy_setopt(CURL *, int, ...);
extern int curl_easy_perform(CURL *);
extern void curl_easy_cleanup(CURL *);
extern const char *curl_easy_strerror(int);
extern char *curl_version(void);
enum { URL = 10002, ERRORBUFFER = 10010, CAINFO = 10065, CAPATH = 10097, NOSIGNAL = 99 };

int main(int argc, char **argv) {
    int code = 2;
    if (argc < 3)
        return 2;
    if (strstr(curl_version(), "GnuTLS") == NULL) {
        fprintf(stderr, "not libcurl for GnuTLS: %s\n", curl_version());
        return 3;
    }
    for (int i = atoi(argv[2]); i > 0; i--) {
        char message[256] = "";
        CURL *handle = curl_easy_init();
        curl_easy_setopt(handle, URL, argv[1]);
        curl_easy_setopt(handle, NOSIGNAL, 1L);
        curl_easy_setopt(handle, ERRORBUFFER, message);
        if (argc == 5)
            curl_easy_setopt(handle, strcmp(argv[3], "capath") == 0 ? CAPATH : CAINFO, argv[4]);
        code = curl_easy_perform(handle);
        printf("%d %s: %s\n", code, curl_easy_strerror(code), message);
        fflush(stdout);
        curl_easy_cleanup(handle);
    }
    return code;
}
