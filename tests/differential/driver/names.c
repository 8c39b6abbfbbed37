/* Lists of CA names, as servers send them. */
#include "driver.h"
#include <stdio.h>

void name_free(void)
{
    int i;

    for (i = 0; i < SLOTS; i++)
        sk_X509_NAME_pop_free(names[i], X509_NAME_free);
}

static void say_names(int i)
{
    STACK_OF(X509_NAME) *list = names[i];
    int n;

    if (list == NULL) {
        say("names null");
        return;
    }
    printf("%d names %d:", line, sk_X509_NAME_num(list));
    for (n = 0; n < sk_X509_NAME_num(list); n++) {
        unsigned char *der = NULL, digest[EVP_MAX_MD_SIZE];
        int length = i2d_X509_NAME(sk_X509_NAME_value(list, n), &der);

        if (length < 0 || !EVP_Digest(der, (size_t)length, digest, NULL, EVP_sha1(), NULL))
            die("i2d_X509_NAME");
        OPENSSL_free(der);
        printf(" %02x%02x%02x%02x", digest[0], digest[1], digest[2], digest[3]);
    }
    putchar('\n');
}

static void replace(int i, STACK_OF(X509_NAME) *list)
{
    sk_X509_NAME_pop_free(names[i], X509_NAME_free);
    names[i] = list;
}

/* ca_file SLOT PATH */
static void ca_file(args *a)
{
    int i = slot(a, 1);

    replace(i, SSL_load_client_CA_file(str(a, 2)));
    say_names(i);
}

#if V3
static void ca_file_ex(args *a)
{
    int i = slot(a, 1);

    replace(i, SSL_load_client_CA_file_ex(str(a, 2), libctx, propq));
    say_names(i);
}

static void subjects_store(args *a)
{
    int i = slot(a, 1);

    say("add_store_cert_subjects %d", SSL_add_store_cert_subjects_to_stack(names[i], str(a, 2)));
    say_names(i);
}
#endif

/* names SLOT [CERT ...]: a stack, filled with the subjects of certificates */
static void names_new(args *a)
{
    int i = slot(a, 1), n;

    replace(i, sk_X509_NAME_new_null());
    for (n = 2; n < a->n; n++)
        sk_X509_NAME_push(names[i], X509_NAME_dup(X509_get_subject_name(cert_at(str(a, n)))));
    say_names(i);
}

static void subjects_file(args *a)
{
    int i = slot(a, 1);

    say("add_file_cert_subjects %d", SSL_add_file_cert_subjects_to_stack(names[i], str(a, 2)));
    say_names(i);
}

static void subjects_dir(args *a)
{
    int i = slot(a, 1);

    say("add_dir_cert_subjects %d", SSL_add_dir_cert_subjects_to_stack(names[i], str(a, 2)));
    say_names(i);
}

/* names_find SLOT CERT: both sort or search with the stack's comparison function */
static void names_find(args *a)
{
    int i = slot(a, 1);
    X509_NAME *name = (X509_NAME *)X509_get_subject_name(cert_at(str(a, 2)));

    say("find %d sorted %d", sk_X509_NAME_find(names[i], name),
        sk_X509_NAME_is_sorted(names[i]));
}

const command name_commands[] = {
    { "ca_file", ca_file },
#if V3
    { "ca_file_ex", ca_file_ex },
    { "subjects_store", subjects_store },
#endif
    { "names", names_new },
    { "subjects_file", subjects_file },
    { "subjects_dir", subjects_dir },
    { "names_find", names_find },
    { NULL, NULL },
};
