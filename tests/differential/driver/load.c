/* Every way to load trust into an X509_STORE. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

static int file_type(const args *a, int i)
{
    const char *type = str(a, i);

    if (strcmp(type, "pem") == 0)
        return X509_FILETYPE_PEM;
    if (strcmp(type, "asn1") == 0)
        return X509_FILETYPE_ASN1;
    if (strcmp(type, "default") == 0)
        return X509_FILETYPE_DEFAULT;
    return atoi(type);
}

/* Null where this release has no such lookup; the callers then say so. */
static X509_LOOKUP *lookup_at(const args *a, int i)
{
    X509_LOOKUP *lookup = lookups[slot(a, i)];

    if (lookup == NULL)
        say("lookup slot %ld is empty", num(a, i));
    return lookup;
}

static void store_default(args *a)
{
    say("set_default_paths %d", X509_STORE_set_default_paths(store_at(a, 1)));
}

static void store_locations(args *a)
{
    say("load_locations %d", X509_STORE_load_locations(store_at(a, 1), str(a, 2), str(a, 3)));
}

/* lookup SLOT STORE file|dir|store */
static void lookup_add(args *a)
{
    const char *kind = str(a, 3);
    X509_LOOKUP_METHOD *method = NULL;

    if (strcmp(kind, "file") == 0)
        method = X509_LOOKUP_file();
    else if (strcmp(kind, "dir") == 0)
        method = X509_LOOKUP_hash_dir();
#if V3
    else if (strcmp(kind, "store") == 0)
        method = X509_LOOKUP_store();
#endif
    lookups[slot(a, 1)] = method == NULL ? NULL : X509_STORE_add_lookup(store_at(a, 2), method);
    say("add_lookup %d", lookups[slot(a, 1)] != NULL);
}

/* The raw X509_LOOKUP_ctrl behind X509_LOOKUP_load_file, _add_dir and friends. */
static int ctrl_code(const char *name)
{
    if (strcmp(name, "file") == 0)
        return X509_L_FILE_LOAD;
    if (strcmp(name, "dir") == 0)
        return X509_L_ADD_DIR;
#if V3
    if (strcmp(name, "store") == 0)
        return X509_L_ADD_STORE;
    if (strcmp(name, "load-store") == 0)
        return X509_L_LOAD_STORE;
#endif
    return atoi(name);
}

/* ctrl LOOKUP COMMAND PATH TYPE */
static void lookup_ctrl(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("ctrl %d", X509_LOOKUP_ctrl(lookup, ctrl_code(str(a, 2)), str(a, 3),
                                        file_type(a, 4), NULL));
}

static void cert_file(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("load_cert_file %d", X509_load_cert_file(lookup, str(a, 2), file_type(a, 3)));
}

static void crl_file(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("load_crl_file %d", X509_load_crl_file(lookup, str(a, 2), file_type(a, 3)));
}

static void cert_crl_file(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("load_cert_crl_file %d",
            X509_load_cert_crl_file(lookup, str(a, 2), file_type(a, 3)));
}

#if V3
static void store_default_ex(args *a)
{
    say("set_default_paths_ex %d",
        X509_STORE_set_default_paths_ex(store_at(a, 1), libctx, propq));
}

static void store_file(args *a)
{
    say("load_file %d", X509_STORE_load_file(store_at(a, 1), str(a, 2)));
}

static void store_file_ex(args *a)
{
    say("load_file_ex %d", X509_STORE_load_file_ex(store_at(a, 1), str(a, 2), libctx, propq));
}

static void store_path(args *a)
{
    say("load_path %d", X509_STORE_load_path(store_at(a, 1), str(a, 2)));
}

static void store_uri(args *a)
{
    say("load_store %d", X509_STORE_load_store(store_at(a, 1), str(a, 2)));
}

static void store_uri_ex(args *a)
{
    say("load_store_ex %d", X509_STORE_load_store_ex(store_at(a, 1), str(a, 2), libctx, propq));
}

static void store_locations_ex(args *a)
{
    say("load_locations_ex %d", X509_STORE_load_locations_ex(store_at(a, 1), str(a, 2),
                                                             str(a, 3), libctx, propq));
}

static void lookup_ctrl_ex(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("ctrl_ex %d", X509_LOOKUP_ctrl_ex(lookup, ctrl_code(str(a, 2)), str(a, 3),
                                              file_type(a, 4), NULL, libctx, propq));
}

static void cert_file_ex(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("load_cert_file_ex %d", X509_load_cert_file_ex(lookup, str(a, 2), file_type(a, 3),
                                                           libctx, propq));
}

static void cert_crl_file_ex(args *a)
{
    X509_LOOKUP *lookup = lookup_at(a, 1);

    if (lookup != NULL)
        say("load_cert_crl_file_ex %d", X509_load_cert_crl_file_ex(lookup, str(a, 2),
                                                                   file_type(a, 3), libctx, propq));
}
#endif

const command load_commands[] = {
    { "default", store_default },
    { "locations", store_locations },
    { "lookup", lookup_add },
    { "ctrl", lookup_ctrl },
    { "certfile", cert_file },
    { "crlfile", crl_file },
    { "certcrlfile", cert_crl_file },
#if V3
    { "default_ex", store_default_ex },
    { "file", store_file },
    { "file_ex", store_file_ex },
    { "path", store_path },
    { "uri", store_uri },
    { "uri_ex", store_uri_ex },
    { "locations_ex", store_locations_ex },
    { "ctrl_ex", lookup_ctrl_ex },
    { "certfile_ex", cert_file_ex },
    { "certcrlfile_ex", cert_crl_file_ex },
#endif
    { NULL, NULL },
};
