/* A TLS client with mbedTLS 2.28 or 3.x, which gets only the roots that a verification needs.
 *
 *     cc mbedtls_client.c $(pkg-config --cflags --libs windlass) -lmbedtls -lmbedx509 -lmbedcrypto
 *     ./a.out localhost 8443 [CAFILE]
 *
 * mbedtls_ssl_conf_ca_cb asks for them in the middle of the handshake. It is there only if mbedTLS was built with
 * MBEDTLS_X509_TRUSTED_CERTIFICATE_CALLBACK, which Debian's is not. Without it, the roots are looked up after the
 * handshake, from the chain that the server sent, and before anything else is read or written. */
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windlass.h>

/* Appends the anchors that may have issued a certificate. Names are compared as OpenSSL does, which finds all that
 * mbedTLS takes for equal; mbedTLS then looks at each. Returns 0 or an error of mbedTLS. */
static int add_issuers(windlass_store *state, const mbedtls_x509_crt *child, mbedtls_x509_crt *anchors)
{
    size_t places[16], count;
    windlass_anchor anchor;
    int code = windlass_store_by_subject(state, child->issuer_raw.p, child->issuer_raw.len, places, 16, &count);
    if (code == WINDLASS_E_NAME)
        return 0; /* such a name has no anchor here */
    if (code != WINDLASS_OK || count > 16)
        return MBEDTLS_ERR_X509_FATAL_ERROR; /* a part of them would be no answer */
    for (size_t at = 0; at < count; at++) {
        if (windlass_store_anchor(state, places[at], &anchor, sizeof anchor) != WINDLASS_OK)
            return MBEDTLS_ERR_X509_BAD_INPUT_DATA;
        int failed = mbedtls_x509_crt_parse_der(anchors, anchor.der.bytes, anchor.der.length);
        if (failed)
            return failed;
    }
    return 0;
}

#ifdef MBEDTLS_X509_TRUSTED_CERTIFICATE_CALLBACK

/* mbedTLS frees the list. */
static int issuers_of(void *state, mbedtls_x509_crt const *child, mbedtls_x509_crt **found)
{
    mbedtls_x509_crt *anchors = malloc(sizeof *anchors);
    if (!anchors)
        return MBEDTLS_ERR_X509_ALLOC_FAILED;
    mbedtls_x509_crt_init(anchors);
    int failed = add_issuers(state, child, anchors);
    if (failed || anchors->raw.p == NULL) {
        mbedtls_x509_crt_free(anchors);
        free(anchors);
        anchors = NULL;
    }
    *found = anchors;
    return failed;
}

static void trust(mbedtls_ssl_config *config, windlass_store *state)
{
    mbedtls_ssl_conf_ca_cb(config, issuers_of, state);
    mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_REQUIRED);
}

static uint32_t verdict(const mbedtls_ssl_context *ssl, windlass_store *state, const char *host)
{
    (void)state, (void)host;
    return mbedtls_ssl_get_verify_result(ssl);
}

#else

static void trust(mbedtls_ssl_config *config, windlass_store *state)
{
    (void)state;
    mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_OPTIONAL);
}

static uint32_t verdict(const mbedtls_ssl_context *ssl, windlass_store *state, const char *host)
{
    mbedtls_x509_crt anchors, *chain = (mbedtls_x509_crt *)mbedtls_ssl_get_peer_cert(ssl);
    uint32_t flags = MBEDTLS_X509_BADCERT_NOT_TRUSTED;
    mbedtls_x509_crt_init(&anchors);
    int failed = chain == NULL;
    for (mbedtls_x509_crt *child = chain; child && !failed; child = child->next)
        failed = add_issuers(state, child, &anchors);
    if (!failed && anchors.raw.p != NULL)
        failed = mbedtls_x509_crt_verify(chain, &anchors, NULL, host, &flags, NULL, NULL);
    if (failed && flags == 0)
        flags = MBEDTLS_X509_BADCERT_NOT_TRUSTED;
    mbedtls_x509_crt_free(&anchors);
    /* The handshake has looked at the usage, which the function above does not do. */
    return flags | (mbedtls_ssl_get_verify_result(ssl) &
                    (MBEDTLS_X509_BADCERT_KEY_USAGE | MBEDTLS_X509_BADCERT_EXT_KEY_USAGE));
}

#endif

/* Connects and prints what came of it. Returns 1 if the server is who it should be. */
static int connect_to(mbedtls_ssl_context *ssl, mbedtls_net_context *net, windlass_store *state, const char *host,
                      const char *port)
{
    char why[2048];
    int failed = mbedtls_ssl_set_hostname(ssl, host);
    if (!failed)
        failed = mbedtls_net_connect(net, host, port, MBEDTLS_NET_PROTO_TCP);
    mbedtls_ssl_set_bio(ssl, net, mbedtls_net_send, mbedtls_net_recv, NULL);
    if (!failed)
        failed = mbedtls_ssl_handshake(ssl);
    /* Without a verification the flags are 0 or all set. */
    uint32_t flags = failed ? mbedtls_ssl_get_verify_result(ssl) : verdict(ssl, state, host);
    if (!failed && flags == 0) {
        printf("%s: connected and verified\n", host);
        return 1;
    }
    if ((!failed || (flags != 0 && flags != UINT32_MAX)) &&
        mbedtls_x509_crt_verify_info(why, sizeof why, "", flags) >= 0) {
        fprintf(stderr, "%s: refused: %s", host, why);
    } else {
        mbedtls_strerror(failed, why, sizeof why);
        fprintf(stderr, "%s: not connected: %s\n", host, why);
    }
    return 0;
}

int main(int count, char **arguments)
{
    windlass_trust *roots;
    windlass_store *state;
    windlass_error error;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_net_context net;
    mbedtls_ssl_config config;
    mbedtls_ssl_context ssl;
    if (count < 3 || *arguments[1] == '\0') {
        fprintf(stderr, "usage: %s HOST PORT [CAFILE]\n", count ? arguments[0] : "mbedtls_client");
        return 2;
    }
    if (windlass_trust_open(count > 3 ? arguments[3] : NULL, 0, &roots, &error) != WINDLASS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    if (windlass_trust_store(roots, &state, &error) != WINDLASS_OK) {
        fprintf(stderr, "%s\n", error.text);
        windlass_trust_release(roots);
        return 2;
    }
    mbedtls_entropy_init(&entropy);
    mbedtls_ctr_drbg_init(&random);
    mbedtls_net_init(&net);
    mbedtls_ssl_config_init(&config);
    mbedtls_ssl_init(&ssl);
    int verified = 0;
    int failed = mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, NULL, 0);
    if (!failed)
        failed = mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                             MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random);
    trust(&config, state);
    if (!failed)
        failed = mbedtls_ssl_setup(&ssl, &config);
    if (failed)
        fprintf(stderr, "mbedTLS can't be set up: -0x%x\n", (unsigned)-failed);
    else
        verified = connect_to(&ssl, &net, state, arguments[1], arguments[2]);

    mbedtls_ssl_free(&ssl);
    mbedtls_ssl_config_free(&config);
    mbedtls_net_free(&net);
    mbedtls_ctr_drbg_free(&random);
    mbedtls_entropy_free(&entropy);
    windlass_store_release(state);
    windlass_trust_release(roots);
    return !verified;
}
