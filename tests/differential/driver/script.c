/* Reads a script and dispatches. */
#include "script.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int line;

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

static void run(char *text, const command *const *tables, void (*after)(void))
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
    for (t = 0; tables[t] != NULL; t++) {
        const command *c;

        for (c = tables[t]; c->name != NULL; c++)
            if (strcmp(c->name, a.word[0]) == 0) {
                c->run(&a);
                if (!keep)
                    after();
                return;
            }
    }
    /* A call this release does not have: said, so that a misspelt one shows up. */
    say("no command %s", a.word[0]);
}

void run_script(FILE *script, const command *const *tables, void (*after)(void))
{
    static char buffer[65536];

    while (fgets(buffer, sizeof(buffer), script) != NULL) {
        line++;
        run(buffer, tables, after);
    }
}
