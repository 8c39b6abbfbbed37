/* Linked into the differential driver (tests/differential/driver) with --wrap: its loads of a file and its additions of
 * certificates go through windlass_openssl.h. Notes what was served in the file that INSTEAD_COUNTS names. */
#include <stdio.h>
#include <stdlib.h>
#include <windlass_openssl.h>

int __real_X509_STORE_load_locations(X509_STORE *store, const char *file, const char *directory);
int __real_X509_STORE_add_cert(X509_STORE *store, X509 *certificate);
int __wrap_X509_STORE_load_locations(X509_STORE *store, const char *file, const char *directory);
int __wrap_X509_STORE_add_cert(X509_STORE *store, X509 *certificate);

/* Set while windlass_openssl.h adds certificates. */
static int within;

static void note(const char *what)
{
    FILE *counts = getenv("INSTEAD_COUNTS") ? fopen(getenv("INSTEAD_COUNTS"), "a") : NULL;
    if (counts) {
        fprintf(counts, "%s\n", what);
        fclose(counts);
    }
}

static void free_state(void *parent, void *state, CRYPTO_EX_DATA *data, int index, long number, void *pointer)
{
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    windlass_store_release((windlass_store *)state);
}

/* Where a store keeps the state that it was given. */
static int place(void)
{
    static int index = -1;
    if (index < 0)
        index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_X509_STORE, 0, NULL, NULL, NULL, free_state);
    return index;
}

static windlass_store *state_of(const char *file)
{
    windlass_trust *trust = NULL;
    windlass_store *state = NULL;
    windlass_error error;
    if (windlass_trust_open(file, WINDLASS_CRLS, &trust, &error) != WINDLASS_OK ||
        windlass_trust_store(trust, &state, &error) != WINDLASS_OK)
        note(error.text);
    windlass_trust_release(trust);
    return state;
}

int __wrap_X509_STORE_load_locations(X509_STORE *store, const char *file, const char *directory)
{
    windlass_store *state = file && !X509_STORE_get_ex_data(store, place()) ? state_of(file) : NULL;
    windlass_error error;
    int installed;
    if (!state)
        return __real_X509_STORE_load_locations(store, file, directory);
    within = 1;
    installed = windlass_openssl_install(store, state, &error);
    within = 0;
    X509_STORE_set_ex_data(store, place(), state);
    note(installed ? "served" : error.text);
    return installed && directory ? __real_X509_STORE_load_locations(store, NULL, directory) : installed;
}

int __wrap_X509_STORE_add_cert(X509_STORE *store, X509 *certificate)
{
    windlass_store *state = within ? NULL : (windlass_store *)X509_STORE_get_ex_data(store, place());
    int added;
    if (!state)
        return __real_X509_STORE_add_cert(store, certificate);
    within = 1;
    added = windlass_openssl_add_cert(store, state, certificate);
    within = 0;
    return added;
}
