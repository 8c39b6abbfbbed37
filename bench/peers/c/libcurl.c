/* An HTTPS GET with a fresh libcurl easy handle, over a connection of its own (row E). The fifth argument is the URL,
 * the sixth the file of CAs, the seventh "fresh" or "reused": one handle, which keeps its X509_STORE. */
#include <curl/curl.h>

#include "peer.h"

static const char *url, *bundle;
static CURL *kept;

static size_t ignore(char *bytes, size_t size, size_t count, void *nothing) {
    (void)bytes;
    (void)nothing;
    return size * count;
}

static void *handle(void) {
    CURL *easy = curl_easy_init();
    must(easy != NULL && curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_CAINFO, bundle) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_IPRESOLVE, CURL_IPRESOLVE_V4) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
             curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore) == CURLE_OK,
         "making an easy handle");
    return easy;
}

static void *get(void) {
    CURL *easy = kept != NULL ? kept : handle();
    CURLcode code = curl_easy_perform(easy);
    must(code == CURLE_OK, curl_easy_strerror(code));
    return easy;
}

/* The GET has verified. */
static void verify(void *easy) { (void)easy; }

static void drop(void *easy) {
    if (easy != kept)
        curl_easy_cleanup(easy);
}

int main(int argc, char **argv) {
    must(argc == 8, "reading MODE, N, ROOT, LEAF, URL, CAFILE and KIND");
    const struct peer peer = {get, verify, drop};
    must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "curl_global_init");
    const char *backend = curl_version_info(CURLVERSION_NOW)->ssl_version;
    must(strncmp(backend, "OpenSSL/", 8) == 0, "finding a libcurl with OpenSSL");
    url = argv[5];
    bundle = argv[6];
    if (strcmp(argv[7], "reused") == 0)
        kept = handle();
    measure(&peer, argv[1], atoi(argv[2]));
    curl_easy_cleanup(kept);
    curl_global_cleanup();
    return 0;
}
