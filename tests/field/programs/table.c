/* The table: static data with the functions' addresses (R_X86_64_64, or the executable's own PLT entries), or what
 * `find` finds. */
#include "field.h"

#ifdef STATIC_TABLE
#define ADDRESS_OF(name) .name = STATIC_TABLE(name),
const struct functions static_functions = {EACH_PRESENT(ADDRESS_OF)};
#else
const struct functions static_functions;
#endif

void find_functions(struct functions *f, void *(*find)(void *, const char *), void *handle, const char *prefix) {
    char name[128];
#define FIND(function) \
    snprintf(name, sizeof name, "%s%s", prefix, #function); \
    *(void **)&f->function = find(handle, name);
    EACH_FUNCTION(FIND)
}
