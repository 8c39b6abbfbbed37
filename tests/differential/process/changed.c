/*
 * changed HOW BUNDLE LEAF ...: what works with keys, or reads them, changes between a load and a verification.
 */
#include "pki.h"
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <string.h>
#if OPENSSL_VERSION_NUMBER < 0x40000000L
#include <openssl/engine.h>
#endif

static const char *bundle;
static X509 *leaves[8];
static int count;

static void verify_all(const char *when, X509_STORE *store)
{
    for (int i = 0; i < count; i++)
        printf("%s, leaf %d: %d\n", when, i, verified(store, leaves[i]));
}

static int no_rsa(int length, const unsigned char *from, unsigned char *to, RSA *key, int padding)
{
    (void)length, (void)from, (void)to, (void)key, (void)padding;
    return -1;
}

static int no_ec(int type, const unsigned char *digest, int length, const unsigned char *signature, int size,
                 EC_KEY *key)
{
    (void)type, (void)digest, (void)length, (void)signature, (void)size, (void)key;
    return 0;
}

static int no_signature(const unsigned char *digest, int length, const ECDSA_SIG *signature, EC_KEY *key)
{
    (void)digest, (void)length, (void)signature, (void)key;
    return 0;
}

static RSA_METHOD *rsa_that_fails(void)
{
    RSA_METHOD *method = RSA_meth_dup(RSA_get_default_method());

    RSA_meth_set_pub_dec(method, no_rsa);
    return method;
}

/* Methods that accept nothing, for keys that are read from now on. */
static void methods(void)
{
    X509_STORE *store = loaded(bundle), *other;
    const RSA_METHOD *rsa = RSA_get_default_method();
    const EC_KEY_METHOD *ec = EC_KEY_get_default_method();
    EC_KEY_METHOD *failing = EC_KEY_METHOD_new(ec);

    EC_KEY_METHOD_set_verify(failing, no_ec, no_signature);
    RSA_set_default_method(rsa_that_fails());
    EC_KEY_set_default_method(failing);
    verify_all("loaded before", store);
    other = loaded(bundle);
    RSA_set_default_method(rsa);
    EC_KEY_set_default_method(ec);
    verify_all("loaded meanwhile", other);
    verify_all("loaded after", loaded(bundle));
}

/* A method goes when the keys have gone that it was for. */
static void freed(void)
{
    const RSA_METHOD *rsa = RSA_get_default_method();
    RSA_METHOD *mine = RSA_meth_dup(rsa);
    X509_STORE *store;

    RSA_set_default_method(mine);
    store = loaded(bundle);
    verify_all("with a method", store);
    X509_STORE_free(store);
    RSA_set_default_method(rsa);
    RSA_meth_free(mine);
    for (int i = 0; i < 200; i++)
        memset(malloc(112), 0x41, 112);
    verify_all("without", loaded(bundle));
}

static void engine(void)
{
#if OPENSSL_VERSION_NUMBER < 0x40000000L
    X509_STORE *store = loaded(bundle), *other;
    ENGINE *engine = ENGINE_new();

    ENGINE_set_id(engine, "failing");
    ENGINE_set_name(engine, "failing");
    ENGINE_set_RSA(engine, rsa_that_fails());
    printf("default %d\n", ENGINE_set_default_RSA(engine));
    verify_all("loaded before", store);
    other = loaded(bundle);
    ENGINE_unregister_RSA(engine);
    verify_all("loaded meanwhile", other);
    verify_all("loaded after", loaded(bundle));
#endif
}

/* A certificate is handed out when no key can be read any more. */
static void properties(void)
{
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    X509_STORE *store = loaded(bundle), *other = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *root;

    X509_STORE_CTX_init(ctx, store, leaves[0], NULL);
    X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(ctx), X509_V_FLAG_NO_CHECK_TIME);
    printf("verified %d\n", X509_verify_cert(ctx));
    EVP_set_default_properties(NULL, "provider=none");
    root = sk_X509_value(X509_STORE_CTX_get1_chain(ctx), 1);
    printf("key %d, flags %x\n", X509_get0_pubkey(root) != NULL, X509_get_extension_flags(root));
    EVP_set_default_properties(NULL, "");
    X509_STORE_add_cert(other, root);
    verify_all("in another store", other);
    verify_all("in its own", store);
#endif
}

static void cleanup(void)
{
    X509_STORE *store = loaded(bundle);

    verify_all("before", store);
    OPENSSL_cleanup();
    printf("%d objects\n", sk_X509_OBJECT_num(X509_STORE_get0_objects(store)));
    X509_STORE_free(store);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"methods", methods}, {"freed", freed}, {"engine", engine}, {"properties", properties},
                {"cleanup", cleanup}};

    if (argc < 4 || argc - 3 > 8)
        return 2;
    bundle = argv[2];
    for (count = 0; count < argc - 3; count++)
        leaves[count] = read_certificate(argv[3 + count]);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    printf("done\n");
    return 0;
}
