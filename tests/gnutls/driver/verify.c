/* One verification with everything that can be observed of it. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

static char seen[1 << 15];

void forget_events(void) { seen[0] = '\0'; }
const char *events(void) { return seen; }

int on_output(gnutls_x509_crt_t cert, gnutls_x509_crt_t issuer, gnutls_x509_crl_t crl, unsigned output)
{
    size_t used = strlen(seen);

    snprintf(seen + used, sizeof(seen) - used, " %s<%s/%s:%x", print_of(cert), print_of(issuer),
             print_crl(crl), output);
    return 0;
}

/*
 * verify LIST B:I,B:I… [flags=N] [host=NAME] [ip=HEX] [email=NAME] [purpose=OID]
 *        [old=1] [events=1]
 * old: gnutls_x509_trust_list_verify_crt. events: with an output function.
 */
static void verify(args *a)
{
    bag chain = copies(str(a, 2));
    gnutls_typed_vdata_st data[4];
    unsigned elements = 0, status = 0x77777777, flags = (unsigned)number(option(a, "flags"), 0), i;
    gnutls_verify_output_function *function = option(a, "events") != NULL ? on_output : NULL;
    const char *names[] = { option(a, "host"), option(a, "ip"), option(a, "email"), option(a, "purpose") };
    const unsigned types[] = { GNUTLS_DT_DNS_HOSTNAME, GNUTLS_DT_IP_ADDRESS, GNUTLS_DT_RFC822NAME,
                               GNUTLS_DT_KEY_PURPOSE_OID };
    unsigned char address[4] = { 127, 0, 0, 1 };
    int result;

    forget_events();
    for (i = 0; i < 4; i++)
        if (names[i] != NULL) {
            data[elements].type = types[i];
            data[elements].data = i == 1 ? address : (unsigned char *)(size_t)names[i];
            data[elements++].size = i == 1 ? 4 : 0;
        }
    if (option(a, "old") != NULL)
        result = gnutls_x509_trust_list_verify_crt(list_at(a, 1), chain.cert, chain.n, flags, &status, function);
    else
        result = gnutls_x509_trust_list_verify_crt2(list_at(a, 1), chain.cert, chain.n, data, elements, flags, &status,
                                                    function);
    say("verify %d status %x events%s", result, status, seen);
    for (i = 0; i < chain.n; i++) /* a list that took one of them for its own would free it twice */
        gnutls_x509_crt_deinit(chain.cert[i]);
    free(chain.cert);
}

/* verify_named LIST B:I NAME [flags=N] */
static void verify_named(args *a)
{
    unsigned status = 0x77777777;
    int result;

    forget_events();
    result = gnutls_x509_trust_list_verify_named_crt(list_at(a, 1), cert_at(str(a, 2)), str(a, 3), strlen(str(a, 3)),
                                                     (unsigned)number(option(a, "flags"), 0), &status, on_output);
    say("verify_named %d status %x events%s", result, status, seen);
}

const command verify_commands[] = {
    { "verify", verify },
    { "verify_named", verify_named },
    { NULL, NULL },
};
