/*
 * The generator's cryptography, a line at a time on standard input and output:
 *
 *     pub  SCALAR       P-256 public key (uncompressed point)
 *     sign SCALAR DATA  ECDSA with SHA-256, deterministic nonces (RFC 6979)
 *     hash NAME         X509_NAME_hash and X509_NAME_hash_old of a DER name
 *
 * All values are hexadecimal. Deterministic, so that a seed names its files
 * byte by byte; needs OpenSSL 3.2 or later.
 */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *scalar;
    EVP_PKEY *key;
    unsigned char point[65];
} entry;

static entry keys[65536];
static int key_count;

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "signer: %s failed\n", what);
        exit(1);
    }
}

static entry *key_of(const char *scalar)
{
    EC_GROUP *group;
    EC_POINT *point;
    BIGNUM *number = NULL;
    OSSL_PARAM_BLD *builder;
    OSSL_PARAM *params;
    EVP_PKEY_CTX *ctx;
    entry *e;
    int i;

    for (i = 0; i < key_count; i++)
        if (strcmp(keys[i].scalar, scalar) == 0)
            return &keys[i];
    check(key_count < 65536, "too many keys");
    e = &keys[key_count++];
    e->scalar = strdup(scalar);
    group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    point = EC_POINT_new(group);
    check(BN_hex2bn(&number, scalar) > 0
              && EC_POINT_mul(group, point, number, NULL, NULL, NULL)
              && EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, e->point,
                                    sizeof(e->point), NULL) == sizeof(e->point), "public key");
    builder = OSSL_PARAM_BLD_new();
    check(OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0)
              && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number)
              && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, e->point,
                                                  sizeof(e->point)), "parameters");
    params = OSSL_PARAM_BLD_to_param(builder);
    ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    check(EVP_PKEY_fromdata_init(ctx) > 0
              && EVP_PKEY_fromdata(ctx, &e->key, EVP_PKEY_KEYPAIR, params) > 0, "key");
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    BN_free(number);
    EC_POINT_free(point);
    EC_GROUP_free(group);
    return e;
}

static void print_hex(const unsigned char *data, size_t length)
{
    size_t i;

    for (i = 0; i < length; i++)
        printf("%02x", data[i]);
    putchar('\n');
}

static void sign(const char *scalar, const unsigned char *data, size_t length)
{
    unsigned char signature[128];
    size_t signature_length = sizeof(signature);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *ctx = NULL;
    unsigned int deterministic = 1;
    OSSL_PARAM params[2];

    params[0] = OSSL_PARAM_construct_uint(OSSL_SIGNATURE_PARAM_NONCE_TYPE, &deterministic);
    params[1] = OSSL_PARAM_construct_end();
    check(EVP_DigestSignInit(md, &ctx, EVP_sha256(), NULL, key_of(scalar)->key) > 0
              && EVP_PKEY_CTX_set_params(ctx, params) > 0
              && EVP_DigestSign(md, signature, &signature_length, data, length) > 0, "signing");
    EVP_MD_CTX_free(md);
    print_hex(signature, signature_length);
}

static void name_hash(const unsigned char *data, size_t length)
{
    X509_NAME *name = d2i_X509_NAME(NULL, &data, (long)length);
    int ok = 0;

    check(name != NULL, "d2i_X509_NAME");
    printf("%08lx %08lx\n", X509_NAME_hash_ex(name, NULL, NULL, &ok), X509_NAME_hash_old(name));
    X509_NAME_free(name);
}

int main(void)
{
    static char text[1 << 20];

    while (fgets(text, sizeof(text), stdin) != NULL) {
        char *rest = text, *verb = strtok_r(rest, " \n", &rest);
        char *one = strtok_r(rest, " \n", &rest), *two = strtok_r(rest, " \n", &rest);
        char *hex = two != NULL ? two : one;
        unsigned char *data = NULL;
        long length = 0;

        check(verb != NULL && one != NULL, "reading a request");
        if (strcmp(verb, "pub") != 0)
            data = OPENSSL_hexstr2buf(hex, &length);
        if (strcmp(verb, "pub") == 0)
            print_hex(key_of(one)->point, 65);
        else if (strcmp(verb, "sign") == 0 && two != NULL)
            sign(one, data, (size_t)length);
        else if (strcmp(verb, "hash") == 0)
            name_hash(data, (size_t)length);
        else
            check(0, verb);
        fflush(stdout);
        OPENSSL_free(data);
    }
    return 0;
}
