/* What the programs about the dynamic linker share. */
#ifndef LINKER_H
#define LINKER_H
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *opened(const char *path, int flags) {
    void *handle = dlopen(path, flags);
    if (handle == NULL) {
        printf("%s\n", dlerror());
        exit(2);
    }
    return handle;
}

/* Where FIELD_ATTACH names a library, it was not preloaded, and is loaded now. */
static inline void attach(void) {
    const char *library = getenv("FIELD_ATTACH");
    if (library != NULL)
        opened(library, RTLD_NOW);
}

/* First in main. No buffer: the program may end early, or fork. */
static inline void begin(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    attach();
}

/* The import slot by which an object's procedure linkage table calls a function. */
static inline void **slot_of(void *handle, const char *name) {
    struct link_map *object = handle;
    const ElfW(Rela) *slots = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_JMPREL)
            slots = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_PLTRELSZ)
            size = entry->d_un.d_val;
        if (entry->d_tag == DT_SYMTAB)
            symbols = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB)
            strings = (const void *)entry->d_un.d_ptr;
    }
    for (size_t i = 0; i < size / sizeof *slots; i++)
        if (strcmp(strings + symbols[ELF64_R_SYM(slots[i].r_info)].st_name, name) == 0)
            return (void **)(object->l_addr + slots[i].r_offset);
    printf("no slot for %s\n", name);
    exit(2);
}
#endif
