/* What all programs of these tests share: a table of functions, filled in one way or another, and a script that uses
 * it. */
#ifndef FIELD_H
#define FIELD_H
#include FUNCTIONS /* made by harness/functions.py: struct functions, EACH_FUNCTION, EACH_PRESENT, prototypes */
#include <stdio.h>
#include <stdlib.h>

/* Does everything, through these functions, and prints what came of it. */
void script(const struct functions *f);
/* Stores of the program's own libcrypto, by its own calls (own.c); nothing where it has none. */
void own_stores(const char *when);
/* The same, of this object's static data, which the dynamic linker fills. */
extern const struct functions static_functions;
void find_functions(struct functions *f, void *(*find)(void *, const char *), void *handle, const char *prefix);

static inline const char *path_of(const char *name) {
    char variable[64];
    snprintf(variable, sizeof variable, "FIELD_%s", name);
    const char *value = getenv(variable);
    if (value == NULL) {
        fprintf(stderr, "%s is not set\n", variable);
        exit(2);
    }
    return value;
}
#endif
