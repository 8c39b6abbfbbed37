/* A plugin with a function whose resolver (STT_GNU_IFUNC) calls back into the program, which calls dlsym: the linker
 * runs it in the middle of this object's relocation (elf/dl-reloc.c), which it may write until it has locked it. Who
 * goes through the slots then, and locks the pages as if the object were done, has the linker end by SIGSEGV. FUNCTION
 * is what it imports of those that matter. */
#include <stdio.h>

void *FUNCTION(void *, const char *);
void *asks_the_linker(void);

static int chosen(void) { return 5; }

static int (*resolve(void))(void) {
    asks_the_linker();
    return chosen;
}

static int choice(void) __attribute__((ifunc("resolve")));

int act(void) {
    printf("called: %d\n", FUNCTION(NULL, "getpid") != NULL);
    printf("chosen: %d\n", choice());
    return 0;
}
