/* One verification with everything that can be observed of it. */
#include "driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2026-06-01 12:00:00 UTC: "now" in every test, whatever the clock says. */
#define NOW 1780315200L

static char events[1 << 16];
static int forgiving;

static int on_event(int ok, X509_STORE_CTX *ctx)
{
    size_t used = strlen(events);

    snprintf(events + used, sizeof(events) - used, " %d/%d@%d:%s", ok,
             X509_STORE_CTX_get_error(ctx), X509_STORE_CTX_get_error_depth(ctx),
             print_of(X509_STORE_CTX_get_current_cert(ctx)));
    return ok || forgiving;
}

static STACK_OF(X509) *certs_of(const char *list)
{
    STACK_OF(X509) *certs = sk_X509_new_null();
    char *copy, *word, *rest;

    if (list == NULL || *list == '\0')
        return certs;
    rest = copy = strdup(list);
    while ((word = strtok_r(rest, ",", &rest)) != NULL)
        sk_X509_push(certs, cert_at(word));
    free(copy);
    return certs;
}

static long number(const char *s, long otherwise)
{
    return s == NULL ? otherwise : strtol(s, NULL, 0);
}

/*
 * verify STORE LEAF [via=B:I,...] [flags=N] [purpose=N] [trust=N] [depth=N]
 *        [time=N] [host=NAME] [cb=1] [trusted=B:I,...] [seclevel=N]
 * via: untrusted certificates. cb=1: the callback forgives everything.
 * trusted: X509_STORE_CTX_set0_trusted_stack instead of the store's lookups.
 */
static void verify(args *a)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    STACK_OF(X509) *via = certs_of(option(a, "via"));
    STACK_OF(X509) *trusted = certs_of(option(a, "trusted"));
    X509_VERIFY_PARAM *param;
    int result;

    events[0] = '\0';
    forgiving = option(a, "cb") != NULL;
    if (ctx == NULL || !X509_STORE_CTX_init(ctx, store_at(a, 1), cert_at(str(a, 2)), via)) {
        say("X509_STORE_CTX_init failed");
        return;
    }
    param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(param, number(option(a, "time"), NOW));
    X509_VERIFY_PARAM_set_flags(param, (unsigned long)number(option(a, "flags"), 0));
    if (option(a, "purpose") != NULL)
        X509_STORE_CTX_set_purpose(ctx, (int)number(option(a, "purpose"), 0));
    if (option(a, "trust") != NULL)
        X509_STORE_CTX_set_trust(ctx, (int)number(option(a, "trust"), 0));
    if (option(a, "depth") != NULL)
        X509_VERIFY_PARAM_set_depth(param, (int)number(option(a, "depth"), 0));
    if (option(a, "seclevel") != NULL)
        X509_VERIFY_PARAM_set_auth_level(param, (int)number(option(a, "seclevel"), 0));
    if (option(a, "host") != NULL)
        X509_VERIFY_PARAM_set1_host(param, option(a, "host"), 0);
    if (option(a, "trusted") != NULL)
        X509_STORE_CTX_set0_trusted_stack(ctx, trusted);
    X509_STORE_CTX_set_verify_cb(ctx, on_event);
    result = X509_verify_cert(ctx);
    say("verify %d error %d depth %d untrusted %d events%s", result,
        X509_STORE_CTX_get_error(ctx), X509_STORE_CTX_get_error_depth(ctx),
        X509_STORE_CTX_get_num_untrusted(ctx), events);
    say_certs("chain", X509_STORE_CTX_get0_chain(ctx));
    X509_STORE_CTX_free(ctx);
    sk_X509_free(via);
    sk_X509_free(trusted);
}

const command verify_commands[] = {
    { "verify", verify },
    { NULL, NULL },
};
