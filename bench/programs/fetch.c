/* fetch URL CAFILE KIND N: the program of row E. N HTTPS GETs with libcurl, each over a connection of its own. KIND is
 * "fresh" (an easy handle for each) or "reused" (one easy handle, which keeps the X509_STORE of the first GET). */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

static size_t drop(char *bytes, size_t size, size_t count, void *nothing) {
    (void)bytes;
    (void)nothing;
    return size * count;
}

/* libcurl keeps a store only if it was made of a CAfile alone. No session is kept: a resumed one verifies nothing. */
static CURL *handle(const char *url, const char *cafile) {
    CURL *easy = curl_easy_init();
    must(easy != NULL, "curl_easy_init");
    must(curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_CAINFO, cafile) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_IPRESOLVE, CURL_IPRESOLVE_V4) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop) == CURLE_OK,
         "curl_easy_setopt");
    return easy;
}

static void get(CURL *easy) {
    long status = 0;
    CURLcode code = curl_easy_perform(easy);
    must(code == CURLE_OK, curl_easy_strerror(code));
    must(curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK && status == 200,
         "a GET with status 200");
}

int main(int argc, char **argv) {
    must(argc == 5, "reading URL, CAFILE, KIND and N");
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "curl_global_init");
    const curl_version_info_data *about = curl_version_info(CURLVERSION_NOW);
    must(strncmp(about->ssl_version, "OpenSSL/", 8) == 0, "finding a libcurl that uses OpenSSL");
    must(about->version_num >= 0x075700, "finding libcurl 7.87 or newer, which keeps the store of an easy handle");
    int fresh = strcmp(argv[3], "fresh") == 0;
    CURL *kept = fresh ? NULL : handle(argv[1], argv[2]);
    for (int i = atoi(argv[4]); i > 0; i--) {
        CURL *easy = fresh ? handle(argv[1], argv[2]) : kept;
        get(easy);
        if (fresh)
            curl_easy_cleanup(easy);
    }
    if (!fresh)
        curl_easy_cleanup(kept);
    curl_global_cleanup();
    return 0;
}
