/*
 * mixture LENGTH old|new [LIBRARY]: every sequence of so many calls, on a store from before the library was attached
 * (up to a length of 3) or of now. `old`: each call through a pointer that was taken before, or through one of now.
 * `new`: only through those of now, and the library is told so.
 *
 * Reads bundle.pem; twin.pem, with another root of a subject in it, which the hashed directory "dir" has, too; leaf.pem
 * and twin-leaf.pem, issued by either; and stranger.pem, issued by neither.
 */
#include "pki.h"
#include <dlfcn.h>

#define FUNCTIONS(F) \
    F(X509_STORE_new) \
    F(X509_STORE_free) \
    F(X509_STORE_load_locations) \
    F(X509_STORE_add_cert) \
    F(X509_STORE_get0_objects) \
    F(X509_STORE_CTX_new) \
    F(X509_STORE_CTX_init) \
    F(X509_STORE_CTX_free) \
    F(X509_STORE_CTX_get0_chain) \
    F(X509_verify_cert)

#define MEMBER(name) __typeof__(&name) name;
static struct {
    FUNCTIONS(MEMBER)
} before;

/* The compiler reads the address from the program's import slot at each use. */
#define CALL(is_old, name) (*((is_old) ? before.name : &name))

static X509 *twin, *leaves[3];

static int error_of(X509_STORE *store, X509 *leaf, int is_old)
{
    X509_STORE_CTX *context = CALL(is_old, X509_STORE_CTX_new)();
    int error;

    CALL(is_old, X509_STORE_CTX_init)(context, store, leaf, NULL);
    X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), X509_V_FLAG_NO_CHECK_TIME);
    error = CALL(is_old, X509_verify_cert)(context) == 1 ? 0 : X509_STORE_CTX_get_error(context);
    CALL(is_old, X509_STORE_CTX_free)(context);
    ERR_clear_error();
    return error;
}

/* The program gets a root of the store, and refuses it from now on. */
static int reject(X509_STORE *store, X509 *leaf, int is_old)
{
    X509_STORE_CTX *context = CALL(is_old, X509_STORE_CTX_new)();
    ASN1_OBJECT *any = OBJ_nid2obj(NID_anyExtendedKeyUsage);
    STACK_OF(X509) *chain;
    int count;

    CALL(is_old, X509_STORE_CTX_init)(context, store, leaf, NULL);
    X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), X509_V_FLAG_NO_CHECK_TIME);
    CALL(is_old, X509_verify_cert)(context);
    chain = CALL(is_old, X509_STORE_CTX_get0_chain)(context);
    if ((count = sk_X509_num(chain)) > 1)
        X509_add1_reject_object(sk_X509_value(chain, count - 1), any);
    CALL(is_old, X509_STORE_CTX_free)(context);
    ERR_clear_error();
    return count;
}

static int step(X509_STORE *store, int what, int is_old)
{
    switch (what) {
    case 0:
        return CALL(is_old, X509_STORE_load_locations)(store, "bundle.pem", NULL);
    case 1:
        return CALL(is_old, X509_STORE_load_locations)(store, "twin.pem", NULL);
    case 2:
        return CALL(is_old, X509_STORE_load_locations)(store, NULL, "dir");
    case 3:
        return CALL(is_old, X509_STORE_add_cert)(store, twin);
    case 4:
        return sk_X509_OBJECT_num(CALL(is_old, X509_STORE_get0_objects)(store));
    case 5:
        return reject(store, leaves[0], is_old);
    case 6:
        return CALL(is_old, X509_STORE_add_cert)(store, leaves[2]);
    case 7: {
        STACK_OF(X509_OBJECT) *objects = CALL(is_old, X509_STORE_get0_objects)(store);

        X509_OBJECT_free(sk_X509_OBJECT_pop(objects));
        return sk_X509_OBJECT_num(objects);
    }
    default:
        return error_of(store, leaves[what - 8], is_old);
    }
}

enum { STEPS = 11 };

int main(int argc, char **argv)
{
    int length, first, has_old, choices, count = 1;
    /* From before and empty, from before and loaded, then through the old pointer and through the new one. */
    X509_STORE *(*stores)[2];

    if (argc < 3 || (length = atoi(argv[1])) < 1 || length > 6)
        return 2;
    has_old = strcmp(argv[2], "old") == 0;
    choices = has_old ? 2 * STEPS : STEPS;
    for (int i = 0; i < length; i++)
        count *= choices;
#define FIND(name) before.name = (__typeof__(before.name))dlsym(RTLD_DEFAULT, #name);
    FUNCTIONS(FIND)
    twin = read_certificate("twin.pem");
    leaves[0] = read_certificate("leaf.pem");
    leaves[1] = read_certificate("twin-leaf.pem");
    leaves[2] = read_certificate("stranger.pem");
    stores = calloc(count, sizeof *stores);
    first = length > 3 ? 2 : 0;
    for (int i = 0; i < count && first == 0; i++) {
        stores[i][0] = X509_STORE_new();
        stores[i][1] = loaded("bundle.pem");
    }
    if (argc == 4) {
        void *library = dlopen(argv[3], RTLD_NOW);
        int (*excuse)(int) = library ? (int (*)(int))dlsym(library, "windlass_preload_excuse") : NULL;

        if (excuse == NULL || (!has_old && excuse(1) != 1))
            return 3;
    }
    for (int i = 0; i < count; i++)
        for (int how = first; how < 4; how++) {
            X509_STORE *store = how < 2 ? stores[i][how] : CALL(how == 2 && has_old, X509_STORE_new)();

            printf("%d:", how);
            for (int k = 0, rest = i; k < length; k++, rest /= choices)
                printf(" %c%d=%d", "lkdanruxvts"[rest % STEPS], rest % choices / STEPS,
                       step(store, rest % STEPS, rest % choices / STEPS));
            puts("");
            CALL(how == 2 && has_old, X509_STORE_free)(store);
        }
    free(stores);
    X509_free(twin);
    for (int i = 0; i < 3; i++)
        X509_free(leaves[i]);
    return 0;
}
