/* Reads the script, dispatches, and prints the error queue after each command. */
#include "driver.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

X509_STORE *stores[SLOTS];
SSL_CTX *contexts[SLOTS];
X509_LOOKUP *lookups[SLOTS];
STACK_OF(X509) *bags[SLOTS];
STACK_OF(X509_CRL) *crls[SLOTS];
STACK_OF(X509_NAME) *names[SLOTS];
void *libctx;
char *propq;
int line;

static const command *const tables[] = {
    load_commands, ssl_commands, store_commands, verify_commands, name_commands,
    tls_commands, file_commands, custom_commands,
};

void say(const char *format, ...)
{
    va_list ap;

    printf("%d ", line);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    putchar('\n');
}

void die(const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "driver: line %d: ", line);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(3);
}

const char *str(const args *a, int i)
{
    if (i >= a->n)
        die("word %d is missing", i);
    return a->word[i];
}

long num(const args *a, int i)
{
    const char *s = str(a, i);

    if (s == NULL)
        die("word %d is no number", i);
    return strtol(s, NULL, 0);
}

int slot(const args *a, int i)
{
    long n = num(a, i);

    if (n < 0 || n >= SLOTS)
        die("slot %ld", n);
    return (int)n;
}

const char *option(const args *a, const char *name)
{
    size_t length = strlen(name);
    int i;

    for (i = 1; i < a->n; i++)
        if (a->word[i] != NULL && strncmp(a->word[i], name, length) == 0
                && a->word[i][length] == '=')
            return a->word[i] + length + 1;
    return NULL;
}

X509_STORE *store_at(const args *a, int i)
{
    X509_STORE *store = stores[slot(a, i)];

    if (store == NULL)
        die("store slot %ld is empty", num(a, i));
    return store;
}

SSL_CTX *ctx_at(const args *a, int i)
{
    SSL_CTX *ctx = contexts[slot(a, i)];

    if (ctx == NULL)
        die("context slot %ld is empty", num(a, i));
    return ctx;
}

X509 *cert_at(const char *reference)
{
    int bag, index;

    if (reference == NULL || sscanf(reference, "%d:%d", &bag, &index) != 2 || bag < 0
            || bag >= SLOTS || index < 0 || index >= sk_X509_num(bags[bag]))
        die("no certificate %s", reference == NULL ? "-" : reference);
    return sk_X509_value(bags[bag], index);
}

/* "%41" -> "A", in place; "%" alone -> "". */
static char *unescape(char *s)
{
    char *in = s, *out = s;
    unsigned byte;

    if (strcmp(s, "-") == 0)
        return NULL;
    while (*in != '\0') {
        if (*in == '%' && sscanf(in + 1, "%2x", &byte) == 1) {
            *out++ = (char)byte;
            in += 3;
        } else if (*in == '%') {
            in++;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
    return s;
}

static void run(char *text)
{
    args a = { 0 };
    char *word, *rest = text;
    int keep = 0;
    size_t t;

    while ((word = strtok_r(rest, " \n", &rest)) != NULL) {
        if (a.n == 0 && strcmp(word, "keep") == 0) { /* leave the error queue as it is */
            keep = 1;
            continue;
        }
        if (a.n == (int)(sizeof(a.word) / sizeof(a.word[0])))
            die("too many words");
        a.word[a.n++] = unescape(word);
    }
    if (a.n == 0 || a.word[0][0] == '#')
        return;
    for (t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        const command *c;

        for (c = tables[t]; c->name != NULL; c++)
            if (strcmp(c->name, a.word[0]) == 0) {
                c->run(&a);
                if (!keep)
                    drain_errors();
                return;
            }
    }
    /* A call this release does not have: said, so that a misspelt one shows up. */
    say("no command %s", a.word[0]);
}

static void free_all(void)
{
    int i;

    custom_free();
    name_free();
    for (i = 0; i < SLOTS; i++) {
        SSL_CTX_free(contexts[i]);
        X509_STORE_free(stores[i]);
        sk_X509_pop_free(bags[i], X509_free);
        sk_X509_CRL_pop_free(crls[i], X509_CRL_free);
    }
#if V3
    OSSL_LIB_CTX_free(libctx);
#endif
    free(propq);
}

int main(int argc, char **argv)
{
    static char buffer[65536];
    FILE *script = argc > 1 ? fopen(argv[1], "re") : stdin;

    if (script == NULL) {
        perror(argv[1]);
        return 3;
    }
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    while (fgets(buffer, sizeof(buffer), script) != NULL) {
        line++;
        run(buffer);
    }
    fclose(script);
    free_all();
    printf("end after %d lines\n", line);
    return 0;
}
