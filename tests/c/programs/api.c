/* api BUNDLE: every certificate and CRL of a store, against what libcrypto reads in the same file, and every search for
 * it. Then what the functions do with arguments that are not allowed. */
#include <errno.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windlass_openssl.h>

#define CHECK(good)                                                                                                    \
    do {                                                                                                               \
        if (!(good)) {                                                                                                 \
            fprintf(stderr, "line %d: %s\n", __LINE__, #good);                                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static int is_same(windlass_span span, const void *bytes, size_t length)
{
    return span.length == length && memcmp(span.bytes, bytes, length) == 0;
}

static int is_time(const ASN1_TIME *time, int64_t seconds)
{
    int days, rest;
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    CHECK(ASN1_TIME_diff(&days, &rest, epoch, time) == 1);
    ASN1_TIME_free(epoch);
    return (int64_t)days * 86400 + rest == seconds;
}

static int has(const size_t *places, size_t count, size_t place)
{
    for (size_t at = 0; at < count; at++)
        if (places[at] == place)
            return 1;
    return 0;
}

static void check_anchor(windlass_store *store, size_t place, X509 *certificate)
{
    windlass_anchor anchor;
    unsigned char *der = NULL;
    const unsigned char *name;
    size_t length, found[64], count;
    const ASN1_OCTET_STRING *key_id = X509_get0_subject_key_id(certificate);
    const ASN1_INTEGER *serial = X509_get0_serialNumber(certificate);
    CHECK(windlass_store_anchor(store, place, &anchor, sizeof anchor) == WINDLASS_OK);
    length = (size_t)i2d_X509(certificate, &der);
    CHECK(is_same(anchor.der, der, length));
    OPENSSL_free(der);
    CHECK(X509_NAME_get0_der((X509_NAME *)X509_get_subject_name(certificate), &name, &length) == 1);
    CHECK(is_same(anchor.subject, name, length));
    CHECK(windlass_store_by_subject(store, name, length, found, 64, &count) == WINDLASS_OK && has(found, count, place));
    CHECK(X509_NAME_get0_der((X509_NAME *)X509_get_issuer_name(certificate), &name, &length) == 1);
    CHECK(is_same(anchor.issuer, name, length));
    CHECK(is_same(anchor.subject_key_id, key_id ? ASN1_STRING_get0_data(key_id) : anchor.der.bytes,
                  key_id ? (size_t)ASN1_STRING_length(key_id) : 0));
    if (key_id) {
        CHECK(windlass_store_by_key_id(store, anchor.subject_key_id.bytes, anchor.subject_key_id.length, found, 64,
                                       &count) == WINDLASS_OK);
        CHECK(has(found, count, place));
    }
    /* A positive serial number may begin with a zero byte in DER. */
    length = (size_t)ASN1_STRING_length(serial);
    CHECK(anchor.serial.length >= length && anchor.serial.length <= length + 1);
    CHECK(memcmp(anchor.serial.bytes + anchor.serial.length - length, ASN1_STRING_get0_data(serial), length) == 0);
    CHECK(windlass_store_by_issuer_and_serial(store, anchor.issuer.bytes, anchor.issuer.length, anchor.serial.bytes,
                                              anchor.serial.length, found, 64, &count) == WINDLASS_OK);
    CHECK(has(found, count, place));
    CHECK(is_time(X509_get0_notBefore(certificate), anchor.not_before));
    CHECK(is_time(X509_get0_notAfter(certificate), anchor.not_after));
    der = NULL;
    length = (size_t)i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
    CHECK(is_same(anchor.public_key_info, der, length));
    OPENSSL_free(der);
}

static void check_crl(windlass_store *store, size_t place, X509_CRL *list)
{
    windlass_crl crl;
    unsigned char *der = NULL;
    size_t length = (size_t)i2d_X509_CRL(list, &der), found[64], count;
    CHECK(windlass_store_crl(store, place, &crl, sizeof crl) == WINDLASS_OK);
    CHECK(is_same(crl.der, der, length));
    OPENSSL_free(der);
    CHECK(is_time(X509_CRL_get0_lastUpdate(list), crl.this_update));
    CHECK(X509_CRL_get0_nextUpdate(list) ? is_time(X509_CRL_get0_nextUpdate(list), crl.next_update)
                                         : crl.next_update == INT64_MAX);
    CHECK(windlass_store_crls_by_issuer(store, crl.issuer.bytes, crl.issuer.length, found, 64, &count) == WINDLASS_OK);
    CHECK(has(found, count, place));
}

static void check_content(windlass_store *store, const char *path)
{
    BIO *file = BIO_new_file(path, "r");
    STACK_OF(X509_INFO) *all = PEM_X509_INFO_read_bio(file, NULL, NULL, NULL);
    size_t anchors = 0, crls = 0;
    for (int at = 0; at < sk_X509_INFO_num(all); at++) {
        X509_INFO *info = sk_X509_INFO_value(all, at);
        if (info->x509)
            check_anchor(store, anchors++, info->x509);
        if (info->crl)
            check_crl(store, crls++, info->crl);
    }
    CHECK(anchors == windlass_store_anchor_count(store) && crls == windlass_store_crl_count(store));
    sk_X509_INFO_pop_free(all, X509_INFO_free);
    BIO_free(file);
    printf("%zu certificates, %zu CRLs\n", anchors, crls);
}

static void check_arguments(windlass_trust *trust, windlass_store *store)
{
    windlass_error error;
    windlass_trust *no_trust = NULL;
    windlass_store *no_store = NULL;
    struct {
        windlass_anchor anchor;
        unsigned char behind;
    } room;
    size_t places[2] = {77, 77}, count = 77;
    const uint8_t name[] = {0x30, 0x00}, odd[] = {0x30, 0x05, 0x31};
    errno = 4711;
    memset(&error, 1, sizeof error);
    CHECK(windlass_trust_open("/nonexistent/bundle.pem", 2, &no_trust, &error) == WINDLASS_E_ARGUMENT && !no_trust);
    CHECK(error.code == WINDLASS_E_ARGUMENT && error.path[0] == 0 && error.text[0] != 0);
    CHECK(windlass_trust_open(NULL, 0, NULL, NULL) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_trust_store(NULL, &no_store, &error) == WINDLASS_E_ARGUMENT && !no_store);
    CHECK(windlass_trust_store(trust, NULL, NULL) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_trust_retain(NULL) == NULL && windlass_store_retain(NULL) == NULL);
    windlass_trust_release(NULL);
    windlass_store_release(NULL);
    CHECK(windlass_store_anchor_count(NULL) == 0 && windlass_store_crl_count(NULL) == 0);
    CHECK(windlass_store_anchor(store, windlass_store_anchor_count(store), &room.anchor, sizeof room.anchor) ==
          WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_anchor(store, (size_t)-1, &room.anchor, sizeof room.anchor) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_anchor(NULL, 0, &room.anchor, sizeof room.anchor) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_anchor(store, 0, NULL, 0) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_crl(store, windlass_store_crl_count(store), NULL, 0) == WINDLASS_E_ARGUMENT);
    /* A caller that knows fewer fields, and one that knows more. */
    memset(&room, 0xA5, sizeof room);
    CHECK(windlass_store_anchor(store, 0, &room.anchor, sizeof(windlass_span)) == WINDLASS_OK);
    CHECK(((unsigned char *)&room)[sizeof(windlass_span)] == 0xA5);
    CHECK(windlass_store_anchor(store, 0, &room.anchor, sizeof room) == WINDLASS_OK && room.behind == 0xA5);
    /* Without room, only the number. */
    CHECK(windlass_store_by_subject(store, room.anchor.subject.bytes, room.anchor.subject.length, NULL, 0, &count) ==
          WINDLASS_OK);
    CHECK(count >= 1 && count < 77);
    CHECK(windlass_store_by_subject(store, room.anchor.subject.bytes, room.anchor.subject.length, NULL, 1, &count) ==
          WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_by_subject(store, NULL, 0, places, 2, &count) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_by_subject(store, name, (size_t)-1, places, 2, &count) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_by_subject(store, name, sizeof name, places, 2, NULL) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_by_subject(NULL, name, sizeof name, places, 2, &count) == WINDLASS_E_ARGUMENT);
    CHECK(windlass_store_by_subject(store, name, sizeof name, places, 2, &count) == WINDLASS_OK && count == 0);
    CHECK(windlass_store_by_subject(store, odd, sizeof odd, places, 2, &count) == WINDLASS_E_NAME);
    CHECK(windlass_store_by_subject(store, name, 1, places, 2, &count) == WINDLASS_E_NAME);
    CHECK(windlass_store_crls_by_issuer(store, odd, sizeof odd, places, 2, &count) == WINDLASS_E_NAME);
    CHECK(windlass_store_by_issuer_and_serial(store, odd, sizeof odd, name, 1, places, 2, &count) == WINDLASS_E_NAME);
    CHECK(places[0] == 77 && places[1] == 77);
    CHECK(!windlass_store_object(store, name, WINDLASS_ANCHOR, 0) && !windlass_store_object(store, NULL, 7, 0));
    CHECK(!windlass_store_share(store, name, WINDLASS_ANCHOR, (size_t)-1, &room, free));
    CHECK(!windlass_store_share(store, name, -1, 0, &room, free));
    CHECK(!windlass_store_share(store, name, WINDLASS_ANCHOR, 0, NULL, free));
    CHECK(!windlass_store_share(store, name, WINDLASS_ANCHOR, 0, &room, NULL));
    CHECK(!windlass_openssl_install(NULL, store, &error) && error.code == WINDLASS_E_ARGUMENT);
    for (int code = -3; code < 40; code++)
        CHECK(windlass_error_text(code)[0] != 0 && windlass_state_text(code)[0] != 0);
    CHECK(strcmp(windlass_error_text(WINDLASS_E_INTERNAL), windlass_error_text(99)) != 0);
    CHECK(strcmp(windlass_version(), WINDLASS_VERSION) == 0);
    CHECK(windlass_state() == WINDLASS_NOT_LOADED && windlass_detach() == WINDLASS_NOT_LOADED);
    char text[12] = "###########";
    CHECK(windlass_status(NULL, 0) == windlass_status(text, sizeof text) && strlen(text) == sizeof text - 1);
    CHECK(errno == 4711);
}

int main(int count, char **arguments)
{
    windlass_trust *trust;
    windlass_store *store, *again;
    windlass_error error;
    if (count != 2 || windlass_trust_open(arguments[1], WINDLASS_CRLS, &trust, &error) != WINDLASS_OK)
        return 2;
    CHECK(windlass_trust_store(trust, &store, &error) == WINDLASS_OK);
    CHECK(windlass_trust_store(trust, &again, &error) == WINDLASS_OK && again == store);
    windlass_store_release(again);
    /* A store outlives its trust. */
    windlass_trust_release(windlass_trust_retain(trust));
    check_arguments(trust, store);
    windlass_trust_release(trust);
    check_content(store, arguments[1]);
    windlass_store_release(store);
    return 0;
}
