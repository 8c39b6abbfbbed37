/* A plugin with a constant in a packed struct: its slot (R_X86_64_64) is not aligned, and lies in two pages of what is
 * read-only after relocation (PT_GNU_RELRO; elf/dl-reloc.c, _dl_protect_relro). Both have to be unlocked to write it:
 * with one, the store ends by SIGSEGV. */
void *X509_STORE_new(void);

#define PAGE 4096

struct __attribute__((packed)) crossing {
    char before[PAGE - 3];
    void *(*make)(void);
    char behind[PAGE];
};

__attribute__((aligned(PAGE))) const struct crossing crossing = {{1}, X509_STORE_new, {0}};
const struct crossing *volatile table = &crossing;

void *act(void) { return table->make(); }
