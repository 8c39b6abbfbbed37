/* Runs the script with GnuTLS's idea of the time fixed. */
#include "driver.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

bag bags[SLOTS];
gnutls_x509_trust_list_t lists[SLOTS];
int borrowed[SLOTS];
gnutls_certificate_credentials_t credentials[SLOTS];

static const command *const tables[] = {
    list_commands, search_commands, verify_commands, credential_commands, handshake_commands,
    ocsp_commands, file_commands, NULL,
};

gnutls_x509_trust_list_t list_at(const args *a, int i)
{
    gnutls_x509_trust_list_t list = lists[slot(a, i)];

    if (list == NULL)
        die("list slot %ld is empty", num(a, i));
    return list;
}

gnutls_certificate_credentials_t credential_at(const args *a, int i)
{
    gnutls_certificate_credentials_t credential = credentials[slot(a, i)];

    if (credential == NULL)
        die("credential slot %ld is empty", num(a, i));
    return credential;
}

gnutls_x509_crt_t cert_at(const char *reference)
{
    int bag, index;

    if (reference == NULL || sscanf(reference, "%d:%d", &bag, &index) != 2 || bag < 0
            || bag >= SLOTS || index < 0 || index >= (int)bags[bag].n)
        die("no certificate %s", reference == NULL ? "-" : reference);
    return bags[bag].cert[index];
}

long number(const char *s, long otherwise)
{
    return s == NULL ? otherwise : strtol(s, NULL, 0);
}

gnutls_datum_t contents(const char *path)
{
    gnutls_datum_t out = { NULL, 0 };

    if (path != NULL && gnutls_load_file(path, &out) < 0)
        die("cannot read %s", path);
    return out;
}

void take_list(int at, gnutls_x509_trust_list_t list, int of_credential)
{
    free_iterators(); /* an error leaves them in the middle of a list */
    if (lists[at] != NULL && !borrowed[at])
        gnutls_x509_trust_list_deinit(lists[at], 1);
    lists[at] = list;
    borrowed[at] = of_credential;
}

static void on_audit(gnutls_session_t session, const char *text)
{
    (void)session;
    printf("%d audit %s", line, text);
}

static time_t fixed_time(time_t *out)
{
    if (out != NULL)
        *out = NOW;
    return NOW;
}

/* audit 1|0: whether messages of gnutls_global_set_audit_log_function are shown */
static void audit(args *a)
{
    gnutls_global_set_audit_log_function(num(a, 1) ? on_audit : NULL);
}

static void on_log(int level, const char *text)
{
    printf("%d log %d %s", line, level, text);
}

/* log LEVEL|-: what gnutls_global_set_log_function is told, or "-" for no function */
static void log_level(args *a)
{
    gnutls_global_set_log_function(str(a, 1) != NULL ? on_log : NULL);
    gnutls_global_set_log_level(str(a, 1) != NULL ? (int)num(a, 1) : 0);
}

static const command main_commands[] = { { "audit", audit }, { "log", log_level }, { NULL, NULL } };

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    const command *all[16] = { main_commands };
    FILE *script = argc > 1 ? fopen(argv[1], "re") : stdin;
    int i;

    if (script == NULL) {
        perror(argv[1]);
        return 3;
    }
    memcpy(all + 1, tables, sizeof(tables));
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    gnutls_global_init();
    gnutls_global_set_time_function(fixed_time);
    run_script(script, all, nothing);
    fclose(script);
    for (i = 0; i < SLOTS; i++) {
        unsigned n;

        take_list(i, NULL, 0);
        if (credentials[i] != NULL)
            gnutls_certificate_free_credentials(credentials[i]);
        for (n = 0; n < bags[i].n; n++)
            gnutls_x509_crt_deinit(bags[i].cert[n]);
        free(bags[i].cert);
    }
    gnutls_global_deinit();
    printf("end after %d lines\n", line);
    return 0;
}
