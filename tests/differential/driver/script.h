/*
 * The scripts that the drivers run: one command a line, words separated by
 * blanks. "-" is a null pointer, "%xx" an escaped byte and "%" alone the empty
 * string. Objects live in numbered slots; "B:I" is certificate I of bag B.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdio.h>

#define SLOTS 512

typedef struct {
    int n;
    char *word[64]; /* NULL for "-" */
} args;

typedef struct {
    const char *name;
    void (*run)(args *a);
} command;

extern int line;
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
int slot(const args *a, int i);              /* word i as a slot number */
const char *str(const args *a, int i);       /* word i, NULL allowed */
long num(const args *a, int i);              /* word i as a number */
const char *option(const args *a, const char *name); /* value of NAME=..., or NULL */

/* Runs every line; `after` follows each command that does not begin with "keep". */
void run_script(FILE *script, const command *const *tables, void (*after)(void));

extern const command file_commands[]; /* files.c */

#endif
