/* A libcurl program that attaches Windlass when it starts: libcurl's OpenSSL or GnuTLS is served from then on.
 *
 *     cc attach_curl.c $(pkg-config --cflags --libs windlass libcurl)
 *     ./a.out https://localhost:8443/ [CAFILE] */
#include <curl/curl.h>
#include <stdio.h>
#include <windlass.h>

int main(int count, char **arguments)
{
    windlass_error error;
    char status[4096];
    /* Before the program's first context. Whatever comes of it, the program works as before. */
    int state = windlass_attach(&error);
    if (state == WINDLASS_FAILED || state == WINDLASS_UNAVAILABLE)
        fprintf(stderr, "without Windlass: %s\n", error.text);

    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = 0;
    for (int transfer = 0; transfer < 3 && !failed; transfer++) {
        CURL *curl = curl_easy_init(); /* a TLS context of its own each time */
        curl_easy_setopt(curl, CURLOPT_URL, count > 1 ? arguments[1] : "https://localhost/");
        if (count > 2)
            curl_easy_setopt(curl, CURLOPT_CAINFO, arguments[2]);
        CURLcode code = curl_easy_perform(curl);
        if (code != CURLE_OK) {
            fprintf(stderr, "%s\n", curl_easy_strerror(code));
            failed = code;
        }
        curl_easy_cleanup(curl);
    }
    curl_global_cleanup();

    printf("attach: %s\n", windlass_state_text(state));
    if (windlass_status(status, sizeof status) < sizeof status)
        fputs(status, stdout);
    return failed;
}
