/* host WAY [FILE] [FLAG…]: the program that runs the script with functions that it got in the given way.
 *
 *   static            addresses in its static data: the library's, or wrappers'
 *   plugin FILE …     wrappers, found by dlsym in a shared object that it opens
 *   handle FILE …     the library's own functions, found by dlsym in a handle
 *   default, next     the same, by dlsym(RTLD_DEFAULT) and dlsym(RTLD_NEXT)
 *   versioned VERSION… by dlvsym(RTLD_DEFAULT): the first of the versions that it has
 *   mixed FILE HOW NAME…   as static, but for these functions: HOW is dlsym, or raw (from the library's symbol table,
 *                          past the linker)
 *   except FILE HOW NAME…  the other way round: only these are from static data
 *   sequence FILE…  as plugin, one after another, each closed before the next is opened
 *
 * FLAGs: now, lazy, local, global, deepbind, newlm. */
#include "field.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static void *wanted(void *found, const char *what) {
    if (found == NULL) {
        fprintf(stderr, "host: %s: %s\n", what, dlerror());
        exit(2);
    }
    return found;
}

static int has(int argc, char **argv, const char *flag) {
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], flag) == 0)
            return 1;
    return 0;
}

static void *open_with(int argc, char **argv) {
    int mode = (has(argc, argv, "lazy") ? RTLD_LAZY : RTLD_NOW) | (has(argc, argv, "global") ? RTLD_GLOBAL : 0) |
               (has(argc, argv, "deepbind") ? RTLD_DEEPBIND : 0);
    return wanted(has(argc, argv, "newlm") ? dlmopen(LM_ID_NEWLM, argv[0], mode) : dlopen(argv[0], mode), argv[0]);
}

static void *by_handle(void *handle, const char *name) { return dlsym(handle, name); }

/* The versions of NULL-terminated `handle`, in turn. */
static void *by_version(void *handle, const char *name) {
    void *found = NULL;
    for (char **version = handle; found == NULL && *version != NULL; version++)
        found = dlvsym(RTLD_DEFAULT, name, *version);
    return found;
}

/* The symbol table ends where the strings begin, as the linkers lay them out. */
static void *in_table(const struct link_map *object, const char *name) {
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB)
            strings = (const char *)entry->d_un.d_ptr;
    }
    for (; (const char *)symbols < strings; symbols++)
        if (symbols->st_shndx != SHN_UNDEF && strcmp(strings + symbols->st_name, name) == 0)
            return (char *)object->l_addr + symbols->st_value;
    return NULL;
}

/* As a program does that reads the library's tables by itself. */
static void *by_table(void *handle, const char *name) {
    struct link_map *object = NULL;
    dlinfo(handle, RTLD_DI_LINKMAP, &object);
    const char *end = strrchr(object->l_name, '/');
    size_t folder = end ? (size_t)(end - object->l_name) : 0;
    void *found = in_table(object, name);
    /* libcrypto lies beside libssl. */
    for (struct link_map *other = object; found == NULL && other != NULL; other = other->l_prev)
        if (strncmp(other->l_name, object->l_name, folder) == 0 && strstr(other->l_name + folder, "libcrypto"))
            found = in_table(other, name);
    for (struct link_map *other = object; found == NULL && other != NULL; other = other->l_next)
        if (strncmp(other->l_name, object->l_name, folder) == 0 && strstr(other->l_name + folder, "libcrypto"))
            found = in_table(other, name);
    return found;
}

/* Those that are named, and those that are not, come from different tables. */
static void mix(struct functions *f, const struct functions *named, const struct functions *others, int argc,
                char **argv) {
#define CHOOSE(name) f->name = has(argc, argv, #name) ? named->name : others->name;
    EACH_FUNCTION(CHOOSE)
}

int main(int argc, char **argv) {
    struct functions f = static_functions, found;
    const char *way = argc > 1 ? argv[1] : "";
    own_stores("before");
    if (strcmp(way, "plugin") == 0 || strcmp(way, "handle") == 0)
        find_functions(&f, by_handle, open_with(argc - 2, argv + 2), strcmp(way, "plugin") == 0 ? "wrap_" : "");
    else if (strcmp(way, "default") == 0)
        find_functions(&f, by_handle, RTLD_DEFAULT, "");
    else if (strcmp(way, "next") == 0)
        find_functions(&f, by_handle, RTLD_NEXT, "");
    else if (strcmp(way, "versioned") == 0)
        find_functions(&f, by_version, argv + 2, "");
    else if ((strcmp(way, "mixed") == 0 || strcmp(way, "except") == 0) && argc > 4) {
        find_functions(&found, strcmp(argv[3], "raw") == 0 ? by_table : by_handle, open_with(1, argv + 2), "");
        if (strcmp(way, "mixed") == 0)
            mix(&f, &found, &static_functions, argc - 4, argv + 4);
        else
            mix(&f, &static_functions, &found, argc - 4, argv + 4);
    } else if (strcmp(way, "sequence") == 0) {
        for (int i = 2; i < argc; i++) {
            void *plugin = open_with(1, argv + i);
            find_functions(&f, by_handle, plugin, "wrap_");
            script(&f);
            printf("closed: %d\n", dlclose(plugin));
        }
        return 0;
    } else if (strcmp(way, "static") != 0)
        return 2;
    script(&f);
    own_stores("after");
    return 0;
}
