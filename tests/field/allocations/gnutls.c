/* What the children do with GnuTLS. */
#include "children.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOW 1780315200L /* 2026-06-01 12:00:00 UTC */

enum { GOOD, GOOD_TOO, IN_DIRECTORY, ADDED, UNKNOWN, IMPOSTOR, LEAVES };
static const char *const leaf_files[] = { "good.pem", "good-too.pem", "in-directory.pem", "added.pem", "unknown.pem",
                                         "impostor.pem" };

static gnutls_datum_t leaf_pem[LEAVES], added_pem, bundle;

const char *const served[] = { "served/gnutls_x509_trust_list_add_trust_file",
                              "served/gnutls_x509_trust_list_add_trust_mem",
                               "gnutls/verifications", NULL };
/* asn1_create_element and asn1_der_decoding2 write to what they did not get; GMP aborts. */
const char *const reliant[] = { "libtasn1.so", "libgmp.so", NULL };
/* A list of the program's that could not grow counts more certificates than it has (add_cas in verify-high.c). */
const char *const fragile[] = { "libtasn1.so", "libgmp.so", "(gnutls_x509_trust_list_deinit", NULL };
const char *const not_served[] = { "bypass/out-of-memory", "bypass/gnutls-hidden-calls", "bypass/unknown-store", NULL };

static gnutls_datum_t read_file(const char *path)
{
    gnutls_datum_t datum;

    if (gnutls_load_file(path, &datum) < 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    return datum;
}

static gnutls_x509_crt_t certificate(const gnutls_datum_t *pem)
{
    gnutls_x509_crt_t crt = NULL;

    if (gnutls_x509_crt_init(&crt) < 0)
        return NULL;
    if (gnutls_x509_crt_import(crt, pem, GNUTLS_X509_FMT_PEM) < 0) {
        gnutls_x509_crt_deinit(crt);
        return NULL;
    }
    return crt;
}

void warm(void)
{
    gnutls_x509_crt_t leaf, root;
    char some[16];
    int at;

    for (at = 0; at < LEAVES; at++)
        leaf_pem[at] = read_file(leaf_files[at]);
    added_pem = read_file("added-root.pem");
    bundle = read_file("bundle.pem");
    gnutls_rnd(GNUTLS_RND_NONCE, some, sizeof some);
    leaf = certificate(&leaf_pem[ADDED]);
    root = certificate(&added_pem);
    if (leaf == NULL || root == NULL)
        exit(2);
    gnutls_x509_crt_check_issuer(leaf, root);
    gnutls_x509_crt_deinit(leaf);
    gnutls_x509_crt_deinit(root);
}

static time_t now(time_t *where)
{
    if (where != NULL)
        *where = NOW;
    return NOW;
}

/* The status of a leaf, 0 if it is trusted; with the highest bit if it could not be asked. */
static unsigned int verify(gnutls_x509_trust_list_t list, int which)
{
    gnutls_x509_crt_t leaf = certificate(&leaf_pem[which]);
    unsigned int status = 1u << 31;

    gnutls_global_set_time_function(now);
    if (leaf != NULL && gnutls_x509_trust_list_verify_crt2(list, &leaf, 1, NULL, 0, 0, &status, NULL) < 0)
        status = 1u << 31;
    if (leaf != NULL)
        gnutls_x509_crt_deinit(leaf);
    return status;
}

enum { STORES = 4 };
static struct kept {
    gnutls_x509_trust_list_t list;
    int loaded, has_added;
} kept[STORES];

static int trusts(struct kept *one, int which)
{
    if (one->list == NULL)
        return 0;
    if (verify(one->list, which) == 0 && (which >= UNKNOWN || (which == ADDED && !one->has_added))) {
        fprintf(stderr, "%s was accepted\n", leaf_files[which]);
        return 1;
    }
    return 0;
}

static void *load_in_thread(void *argument)
{
    struct kept *one = argument;

    one->loaded |= gnutls_x509_trust_list_add_trust_file(one->list, "bundle.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0) > 0;
    return NULL;
}

static void *verify_in_thread(void *argument)
{
    static char bad;
    struct kept *one = argument;

    return trusts(one, IMPOSTOR) || trusts(one, GOOD) ? &bad : NULL;
}

static int in_thread(struct kept *one, void *(*work)(void *))
{
    pthread_t thread;
    void *bad = NULL;

    if (pthread_create(&thread, NULL, work, one) == 0)
        pthread_join(thread, &bad);
    return bad != NULL;
}

static int in_child(struct kept *one)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        load_in_thread(one);
        _exit(trusts(one, IMPOSTOR) || trusts(one, GOOD_TOO));
    }
    if (child > 0 && waitpid(child, &status, 0) == child) {
        if (WIFSIGNALED(status))
            raise(WTERMSIG(status));
        if (WEXITSTATUS(status) > 1)
            _exit(WEXITSTATUS(status));
    }
    return child > 0 && status != 0;
}

static void issuer(struct kept *one, int which)
{
    gnutls_x509_crt_t leaf = certificate(&leaf_pem[which]), found = NULL;

    if (leaf != NULL && gnutls_x509_trust_list_get_issuer(one->list, leaf, &found, GNUTLS_TL_GET_COPY) == 0)
        gnutls_x509_crt_deinit(found);
    if (leaf != NULL)
        gnutls_x509_crt_deinit(leaf);
}

static void add_root(struct kept *one)
{
    gnutls_x509_crt_t root = certificate(&added_pem);

    one->has_added = 1;
    if (root != NULL && gnutls_x509_trust_list_add_cas(one->list, &root, 1, GNUTLS_TL_NO_DUPLICATES) != 1)
        gnutls_x509_crt_deinit(root);
}

static void remove_root(struct kept *one)
{
    gnutls_x509_crt_t root = certificate(&added_pem);

    if (root != NULL) {
        gnutls_x509_trust_list_remove_cas(one->list, &root, 1);
        gnutls_x509_crt_deinit(root);
    }
}

static void credentials(int which)
{
    gnutls_certificate_credentials_t made;

    if (gnutls_certificate_allocate_credentials(&made) < 0)
        return;
    if (which % 2 == 0)
        gnutls_certificate_set_x509_trust_file(made, "bundle.pem", GNUTLS_X509_FMT_PEM);
    else
        gnutls_certificate_set_x509_trust_dir(made, "dir", GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(made);
}

static void iterate(struct kept *one)
{
    gnutls_x509_trust_list_iter_t at = NULL;
    gnutls_x509_crt_t crt;

    while (gnutls_x509_trust_list_iter_get_ca(one->list, &at, &crt) == 0)
        gnutls_x509_crt_deinit(crt);
    /* Where it fails in the middle it leaves the iterator behind. */
    if (at != NULL)
        gnutls_x509_trust_list_iter_deinit(at);
}

int act(uint64_t number)
{
    struct kept *one = &kept[number % STORES];
    int which = number / STORES % LEAVES, bad = 0;

    if (one->list == NULL && gnutls_x509_trust_list_init(&one->list, 0) < 0) {
        one->list = NULL;
        return 0;
    }
    switch (number / (STORES * LEAVES) % 16) {
    case 0:
    case 1:
        load_in_thread(one);
        break;
    case 2:
        gnutls_x509_trust_list_add_trust_mem(one->list, &bundle, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        break;
    case 3:
        gnutls_x509_trust_list_add_trust_dir(one->list, "dir", NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        break;
    case 4:
        gnutls_x509_trust_list_add_trust_file(one->list, "large.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        break;
    case 5:
        issuer(one, which);
        break;
    case 6:
        add_root(one);
        break;
    case 7:
        remove_root(one);
        break;
    case 8:
        credentials(which);
        break;
    case 9:
        iterate(one);
        break;
    case 10:
        bad = in_thread(one, load_in_thread);
        break;
    case 11:
        bad = in_thread(one, verify_in_thread);
        break;
    case 12:
        bad = in_child(one);
        break;
    case 13:
        gnutls_x509_trust_list_deinit(one->list, 1);
        memset(one, 0, sizeof *one);
        return 0;
    default:
        break;
    }
    return bad || trusts(one, which) || trusts(one, IMPOSTOR);
}

int act_of_scene(int number)
{
    static const int kinds[] = { 0, 14, 3, 5, 6, 9, 2, 11, 8, 10, 12, 13 };

    return act(((uint64_t)kinds[number] * LEAVES + number % LEAVES) * STORES + (number < 6 ? 0 : 1));
}

int look_back(int *asked)
{
    int at, refused = 0;

    *asked = 0;
    for (at = 0; at < STORES; at++) {
        if (kept[at].list == NULL)
            continue;
        if (kept[at].loaded) {
            ++*asked;
            refused += verify(kept[at].list, GOOD) != 0 || verify(kept[at].list, GOOD_TOO) != 0;
        }
        if (trusts(&kept[at], IMPOSTOR) || trusts(&kept[at], UNKNOWN))
            _exit(1);
        gnutls_x509_trust_list_deinit(kept[at].list, 1);
    }
    memset(kept, 0, sizeof kept);
    return refused;
}

static size_t used, size;

static void say(char *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    used += vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    if (used > size)
        used = size;
}

static void verdicts(char *text, gnutls_x509_trust_list_t list, const char *what)
{
    gnutls_x509_trust_list_iter_t at = NULL;
    gnutls_x509_crt_t crt;
    int which, count = 0;

    say(text, "%s:", what);
    for (which = 0; which < LEAVES; which++)
        say(text, " %x", verify(list, which));
    while (gnutls_x509_trust_list_iter_get_ca(list, &at, &crt) == 0) {
        gnutls_x509_crt_deinit(crt);
        count++;
    }
    say(text, "; %d certificates\n", count);
}

int judge(char *text, size_t room)
{
    gnutls_x509_trust_list_t list;
    struct kept one = { 0 };

    used = 0, size = room;
    if (gnutls_x509_trust_list_init(&list, 0) < 0)
        return 0;
    say(text, "file: %d\n", gnutls_x509_trust_list_add_trust_file(list, "bundle.pem", NULL, GNUTLS_X509_FMT_PEM, 0, 0));
    say(text, "directory: %d\n", gnutls_x509_trust_list_add_trust_dir(list, "dir", NULL, GNUTLS_X509_FMT_PEM, 0, 0));
    verdicts(text, list, "file and directory");
    gnutls_x509_trust_list_deinit(list, 1);
    if (gnutls_x509_trust_list_init(&one.list, 0) < 0)
        return 0;
    say(text, "memory: %d\n", gnutls_x509_trust_list_add_trust_mem(one.list, &bundle, NULL, GNUTLS_X509_FMT_PEM, 0, 0));
    verdicts(text, one.list, "memory");
    add_root(&one);
    verdicts(text, one.list, "and added");
    gnutls_x509_trust_list_deinit(one.list, 1);
    return 1;
}
