/*
 * configured HOW BUNDLE LEAF: libcrypto reads its configuration ($OPENSSL_CONF) when it first needs something of a
 * provider, once.
 */
#include "pki.h"
#include <openssl/crypto.h>
#include <openssl/objects.h>
#include <string.h>

int main(int argc, char **argv)
{
    X509_STORE *store;
    STACK_OF(X509_OBJECT) *objects;
    X509 *leaf;

    if (argc != 4)
        return 2;
    store = loaded(argv[2]);
    if (strcmp(argv[1], "other") == 0)
        setenv("OPENSSL_CONF", "/dev/null", 1);
    if (strcmp(argv[1], "none") == 0)
        OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    leaf = read_certificate(argv[3]);
    printf("verified %d\n", verified(store, leaf));
    printf("oid %d\n", OBJ_sn2nid("configuredOid") != NID_undef);
    objects = X509_STORE_get0_objects(store);
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        X509 *x = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));

        printf("key %d, flags %x\n", X509_get0_pubkey(x) != NULL, X509_get_extension_flags(x));
    }
    return 0;
}
