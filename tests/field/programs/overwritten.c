/* overwritten HOW OTHER [PLUGIN]: a program, or a plugin of it (PLUGIN), that sets what the dynamic linker has
 * written. The linker relocates an object once (elf/dl-reloc.c), and from then on the variable, or the slot, is the
 * program's. Whoever goes through the slots later and takes it for one that is still to be bound writes over the
 * program's own value.
 *
 *   own      a variable that began as the address of the function NAME (R_X86_64_64, R_X86_64_RELATIVE) is set to
 *            another function
 *   null     it is set to NULL
 *   patched  the slot of the procedure linkage table (R_X86_64_JUMP_SLOT) is set to another function (PATCHED: there
 *            is no variable)
 *
 * Where the library is not preloaded, it is loaded after that. Then all objects are gone through once more, as OTHER
 * was closed, and the store that libssl has made is enumerated: whatever was decided about the variable, that must be
 * seen. */
#include "late.h"
#include "linker.h"

const void *TLS_method(void);
void *target(void *one, void *two) __asm__(NAME);

#ifndef PATCHED
static void *(*volatile variable)(void *, void *) = target;
#endif

static void *mine(void *one, void *two) {
    (void)one, (void)two;
    puts("the program's own");
    return NULL;
}

static void set(const char *how, void *self) {
#ifdef PATCHED
    (void)how;
    *slot_of(self, NAME) = (void *)mine;
#else
    (void)self;
    variable = strcmp(how, "null") == 0 ? NULL : mine;
#endif
}

static void use(void *store) {
#ifdef PATCHED
    target(NULL, "getpid");
#else
    if (variable != NULL)
        variable(NULL, "getpid");
    else
        puts("NULL");
#endif
    count("all", store);
}

#ifdef PLUGIN
extern void (*plugin_use)(void *store);

__attribute__((constructor)) static void start(void) {
    Dl_info here;
    dladdr((void *)use, &here);
    set(getenv("FIELD_HOW"), dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD));
    plugin_use = use;
}
#else
void (*plugin_use)(void *store);

/* Not dlsym: that may be what is patched. The slots are gone through all the same. */
static void ask(void) { printf("asked: %d\n", dlvsym(RTLD_DEFAULT, "getpid", "NONE") != NULL); }

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    setenv("FIELD_HOW", argv[1], 1);
    void *other = opened(argv[2], RTLD_LAZY);
    if (argc > 3)
        opened(argv[3], RTLD_LAZY);
    else
        set(argv[1], dlopen(NULL, RTLD_NOW));
    attach();
    ask();
    dlclose(other);
    ask();
    void *context = SSL_CTX_new(TLS_method());
    printf("load: %d\n", SSL_CTX_load_verify_locations(context, path_of("BUNDLE"), NULL));
    (plugin_use != NULL ? plugin_use : use)(SSL_CTX_get_cert_store(context));
    return 0;
}
#endif
