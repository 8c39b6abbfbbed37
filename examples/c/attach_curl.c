/* A libcurl program that attaches Windlass when it starts: libcurl's OpenSSL or GnuTLS is served from then on.
 *
 *     cc attach_curl.c $(pkg-config --cflags --libs windlass libcurl)
 *     ./a.out https://localhost:8443/ [CAFILE] */
#include <curl/curl.h>
#include <stdio.h>
#include <windlass.h>

/* One transfer, with a TLS context of its own. An option that was not set must not go unnoticed: without its CAINFO a
 * transfer would trust what libcurl trusts by itself. */
static CURLcode get(const char *url, const char *cafile)
{
    CURL *curl = curl_easy_init();
    if (!curl)
        return CURLE_FAILED_INIT;
    CURLcode failed = curl_easy_setopt(curl, CURLOPT_URL, url);
    if (failed == CURLE_OK && cafile)
        failed = curl_easy_setopt(curl, CURLOPT_CAINFO, cafile);
    if (failed == CURLE_OK)
        failed = curl_easy_perform(curl);
    curl_easy_cleanup(curl);
    return failed;
}

int main(int count, char **arguments)
{
    windlass_error error;
    char status[4096];
    /* Before the program's first context. Whatever comes of it, the program works as before. */
    int state = windlass_attach(&error);
    if (state == WINDLASS_FAILED || state == WINDLASS_UNAVAILABLE)
        fprintf(stderr, "without Windlass: %s\n", error.text);

    CURLcode failed = curl_global_init(CURL_GLOBAL_DEFAULT);
    for (int transfer = 0; transfer < 3 && failed == CURLE_OK; transfer++)
        failed = get(count > 1 ? arguments[1] : "https://localhost/", count > 2 ? arguments[2] : NULL);
    if (failed != CURLE_OK)
        fprintf(stderr, "%s\n", curl_easy_strerror(failed));
    curl_global_cleanup();

    printf("attach: %s\n", windlass_state_text(state));
    if (windlass_status(status, sizeof status) < sizeof status)
        fputs(status, stdout);
    return (int)failed;
}
